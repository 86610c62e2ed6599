// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// One connection: reads a request head, is answered once, closes. Driven on the I/O thread; `Lock` makes it shareable, nobody
/// waits for it.
final class LoopbackConnection: Sendable {
    private enum Phase {
        case readingHead
        /// Judged a redirect, and the login has been told; the answer is awaited.
        case waiting
        case writing
        /// The answer is out. What the client still sends is read away until it closes: closing over unread bytes would make
        /// the kernel send a reset, which can overtake the page (RFC 9112 §9.6).
        case draining
        case closed
    }

    private struct State {
        var phase = Phase.readingHead
        var received: [UInt8] = []
        var acceptLanguage: String?
        var outgoing: ArraySlice<UInt8> = []
        var drained = 0
        var watch: IOWatch?
        var deadline: (any Scheduled)?
    }

    /// What a readiness leads to, decided under the lock, done without it.
    private enum Step {
        case wait
        case deliver(query: String)
        case answer(ListenerAnswer, withBody: Bool)
        case close
    }

    private let descriptor: Int32
    private let endpoint: LoopbackEndpoint
    private let limits: LoopbackListener.Limits
    private let deliver: @Sendable (RedirectDelivery) -> Void
    private let ended: @Sendable (LoopbackConnection) -> Void
    private let state = Lock(State())

    /// Takes over the descriptor. `ended` is called once, when it is closed.
    init(
        _ descriptor: Int32, to endpoint: LoopbackEndpoint, limits: LoopbackListener.Limits,
        deliver: @escaping @Sendable (RedirectDelivery) -> Void,
        ended: @escaping @Sendable (LoopbackConnection) -> Void
    ) {
        self.descriptor = descriptor
        self.endpoint = endpoint
        self.limits = limits
        self.deliver = deliver
        self.ended = ended
    }

    /// It has not said yet what it wants.
    var isReadingHead: Bool { state.withLock { $0.phase == .readingHead } }

    func start() {
        watch(for: .readable)
        setDeadline(limits.headMillis) { [self] in
            // Silence is a preconnect, which needs no page.
            let isSilent = state.withLock { $0.received.isEmpty }
            if isSilent { close() } else { answer(.refusal(.timeout)) }
        }
    }

    /// At once, whatever it is doing. Twice does nothing.
    func close() {
        let isFirst = state.withLock { state in
            defer { state = State(phase: .closed) }
            state.watch?.cancel()
            state.deadline?.cancel()
            return state.phase != .closed
        }
        guard isFirst else { return }
        Glibc.close(descriptor)
        ended(self)
    }

    private func ready() {
        let step: Step = state.withLock { state in
            switch state.phase {
            case .readingHead: readHead(&state)
            case .writing: write(&state)
            case .draining: drain(&state)
            case .waiting, .closed: .wait
            }
        }
        switch step {
        case .wait: break
        case .close: close()
        case .answer(let answer, let withBody): self.answer(answer, withBody: withBody)
        case .deliver(let query):
            setDeadline(limits.answerMillis) { [self] in answer(.result(.pending)) }
            deliver(
                RedirectDelivery(query: query) { [self] page in
                    IOLoop.shared.perform { [self] in answer(.result(page)) }
                })
        }
    }

    private func readHead(_ state: inout State) -> Step {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return count < 0 && isTransient(errno) ? .wait : .close }
        let scanned = state.received.count
        state.received += chunk.prefix(count)
        switch LoopbackRequest.parse(state.received, scanned: scanned) {
        case .incomplete: return .wait
        case .bad(let refusal): return .answer(.refusal(refusal), withBody: true)
        case .request(let request):
            state.acceptLanguage = request.values("Accept-Language").joined(separator: ",")
            do throws(LoopbackRefusal) {
                let query = try endpoint.query(of: request)
                state.phase = .waiting
                // Nothing more is read before the answer, so nothing that is sent meanwhile wakes the thread.
                state.watch?.cancel()
                state.watch = nil
                return .deliver(query: query)
            } catch {
                return .answer(.refusal(error), withBody: request.method != "HEAD")
            }
        }
    }

    /// The first answer counts.
    private func answer(_ answer: ListenerAnswer, withBody: Bool = true) {
        let step: Step = state.withLock { state in
            guard state.phase == .readingHead || state.phase == .waiting else { return .wait }
            state.phase = .writing
            state.received = []
            state.outgoing =
                ResultPageRenderer.response(to: answer, acceptLanguage: state.acceptLanguage, withBody: withBody)[...]
            return write(&state)
        }
        if case .close = step { return close() }
        setDeadline(limits.closingMillis) { [self] in close() }
        let isWriting = state.withLock { $0.phase == .writing }
        watch(for: isWriting ? .writable : .readable)
    }

    private func write(_ state: inout State) -> Step {
        while !state.outgoing.isEmpty {
            let count = state.outgoing.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count >= 0 else { return isTransient(errno) ? .wait : .close }
            state.outgoing = state.outgoing.dropFirst(count)
        }
        state.phase = .draining
        shutdown(descriptor, Int32(SHUT_WR))
        state.watch?.update(.readable)
        return .wait
    }

    private func drain(_ state: inout State) -> Step {
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return count < 0 && isTransient(errno) ? .wait : .close }
        state.drained += count
        return state.drained < limits.drainBytes ? .wait : .close
    }

    private func isTransient(_ code: Int32) -> Bool {
        code == EAGAIN || code == EINTR
    }

    private func watch(for events: IOEvents) {
        let watch = IOLoop.shared.watch(descriptor, for: events) { [self] _ in ready() }
        state.withLock { state in
            state.watch?.cancel()
            state.watch = watch
        }
    }

    private func setDeadline(_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) {
        let deadline = IOLoop.shared.schedule(at: SystemTime().boot + milliseconds, action)
        state.withLock { state in
            state.deadline?.cancel()
            state.deadline = deadline
        }
    }
}
