// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// The redirect listener on loopback sockets.
///
/// Port scans, silent connections, other paths and methods, and what web pages fetch end here with an error page; a
/// connection that does not say in time what it wants is cut, and when there are too many the one that has kept us waiting
/// longest is. Nothing but a navigation to our path reaches the login.
final class LoopbackListener: RedirectListener {
    struct Limits: Sendable {
        var connections = 32
        /// From connecting to the end of the head.
        var headMillis: Int64 = 10_000
        /// From the redirect to its page.
        var answerMillis: Int64 = 10_000
        /// From the page to the client's end of the connection.
        var closingMillis: Int64 = 2_000
        /// What a client may still send after its page.
        var drainBytes = 256 << 10
        /// Without accepting, after the process ran out of descriptors.
        var pauseMillis: Int64 = 250
    }

    private struct State {
        var sockets: [Int32] = []
        var watches: [IOWatch] = []
        var handler: (@Sendable (RedirectDelivery) -> Void)?
        /// In the order they came.
        var connections: [LoopbackConnection] = []
        var closing: (any Scheduled)?
    }

    let port: UInt16
    private let endpoint: LoopbackEndpoint
    private let limits: Limits
    private let state: Lock<State>

    private init(_ sockets: [LoopbackSocket.Bound], endpoint: LoopbackEndpoint, limits: Limits) {
        port = endpoint.port
        self.endpoint = endpoint
        self.limits = limits
        state = Lock(State(sockets: sockets.map(\.descriptor)))
    }

    deinit {
        close()
    }

    /// Listens from now on; connections wait in the kernel until ``deliver(to:)``.
    ///
    /// - Parameters:
    ///   - host: of the redirect URI: `127.0.0.1`, `::1` (no brackets) or `localhost`, which is both.
    ///   - port: 0 = any that is free.
    ///   - path: of the redirect URI, as written there; empty is `/`.
    static func bind(
        host: String, port: UInt16, path: String, limits: Limits = Limits()
    ) throws(OAuthError) -> LoopbackListener {
        let families: [LoopbackSocket.Family]
        switch host.lowercased() {
        case "127.0.0.1": families = [.v4]
        case "::1": families = [.v6]
        case "localhost": families = [.v4, .v6]
        default: throw .configuration(.invalidConfiguration, "the redirect host is not loopback")
        }
        let sockets: [LoopbackSocket.Bound]
        do throws(LoopbackSocket.Failure) {
            sockets = try LoopbackSocket.listen(families: families, port: port)
        } catch {
            let place = port == 0 ? "any port" : "port \(port)"
            let detail = Diagnostics(
                "cannot listen for the redirect on \(place) of \(host): \(String(cString: strerror(error.code)))")
            // What the process lacks now it may have later; a port that is taken is the configuration's affair.
            throw [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.code)
                ? .recoverable(.network(.connect), detail) : .configuration(.invalidConfiguration, detail)
        }
        let bound = sockets.first?.port ?? port
        let endpoint = LoopbackEndpoint(host: host, port: bound, path: path.isEmpty ? "/" : path)
        return LoopbackListener(sockets, endpoint: endpoint, limits: limits)
    }

    func deliver(to handler: @escaping @Sendable (RedirectDelivery) -> Void) {
        state.withLock { $0.handler = handler }
        IOLoop.shared.perform { [weak self] in self?.startAccepting() }
    }

    /// The port is free again when this returns.
    func close() {
        // In a forked child the sockets are the parent's, and to shut one down here would end its listening.
        guard IOLoop.shared.isRunning else { return }
        let was = state.withLock { exchange(&$0, with: State()) }
        was.closing?.cancel()
        // The I/O thread may be in the middle of one, so they are not closed here but shut down, which ends the listening
        // and, with SO_REUSEADDR, frees the port.
        for socket in was.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        IOLoop.shared.perform {
            for watch in was.watches { watch.cancel() }
            for socket in was.sockets { Glibc.close(socket) }
            for connection in was.connections { connection.close() }
        }
    }

    /// Redirects that have come by then still get their page. A listener that is closing is not to be taken over: close it
    /// and bind another.
    func close(afterMillis milliseconds: Int64) {
        // Keeps the listener alive until then, whoever lets go of it.
        let closing = IOLoop.shared.schedule(at: SystemTime().boot + milliseconds) { [self] in stopAccepting() }
        state.withLock { state in
            state.closing?.cancel()
            state.closing = closing
        }
    }

    private func stopAccepting() {
        let (sockets, watches, undecided) = state.withLock { state in
            // The handler too: it may hold a delivery, which holds its connection, which holds the listener.
            state.handler = nil
            let undecided = state.connections.filter(\.isReadingHead)
            return (exchange(&state.sockets, with: []), exchange(&state.watches, with: []), undecided)
        }
        for watch in watches { watch.cancel() }
        for socket in sockets { Glibc.close(socket) }
        for connection in undecided { connection.close() }
    }

    private func startAccepting() {
        let sockets = state.withLock { $0.watches.isEmpty ? $0.sockets : [] }
        let watches = sockets.map { socket in
            IOLoop.shared.watch(socket, for: .readable) { [weak self] _ in self?.accept(socket) }
        }
        if !watches.isEmpty { state.withLock { $0.watches = watches } }
    }

    /// One at a time: what else waits makes the descriptor ready again, and others get their turn in between.
    private func accept(_ socket: Int32) {
        let descriptor = shim_accept(socket)
        guard descriptor >= 0 else {
            let code = errno
            if ![EAGAIN, EINTR, ECONNABORTED].contains(code) { pauseAccepting() }
            return
        }
        let connection = LoopbackConnection(
            descriptor, to: endpoint, limits: limits,
            // Strong: an answer that is under way outlives whoever lets go of the listener.
            deliver: { [self] delivery in
                let handler = state.withLock { $0.handler }
                handler?(delivery)
            },
            ended: { [self] connection in state.withLock { $0.connections.removeAll { $0 === connection } } })
        let surplus: LoopbackConnection? = state.withLock { state in
            state.connections.append(connection)
            guard state.connections.count > limits.connections else { return nil }
            return state.connections.first(where: \.isReadingHead)
        }
        connection.start()
        surplus?.close()
    }

    /// Out of descriptors or memory: the descriptor stays ready, and asking again at once would keep the thread busy.
    private func pauseAccepting() {
        let watches = state.withLock { exchange(&$0.watches, with: []) }
        for watch in watches { watch.cancel() }
        _ = IOLoop.shared.schedule(at: SystemTime().boot + limits.pauseMillis) { [weak self] in
            self?.startAccepting()
        }
    }
}
