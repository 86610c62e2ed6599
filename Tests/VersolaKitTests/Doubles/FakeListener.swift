// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// Loopback ports without sockets.
final class FakeListeners: Sendable {
    private struct State {
        var taken: Set<UInt16> = []
        var free: UInt16 = 50_001
        var made: [FakeListener] = []
    }

    private let state = Lock(State())

    var made: [FakeListener] { state.withLock { $0.made } }

    /// Another program has the port.
    func occupy(_ port: UInt16) {
        state.withLock { _ = $0.taken.insert(port) }
    }

    func listen(_ port: UInt16) throws(OAuthError) -> FakeListener {
        let listener: FakeListener? = state.withLock { state in
            var port = port
            if port == 0 {
                port = state.free
                state.free += 1
            }
            guard !state.taken.contains(port), !state.made.contains(where: { $0.port == port && !$0.isClosed }) else {
                return nil
            }
            let listener = FakeListener(port)
            state.made.append(listener)
            return listener
        }
        guard let listener else { throw .configuration(.invalidConfiguration, "the port is taken") }
        return listener
    }
}

final class FakeListener: RedirectListener {
    private struct State {
        var handler: (@Sendable (RedirectDelivery) -> Void)?
        var isClosed = false
        var lingerMillis: Int64?
    }

    let port: UInt16
    private let state = Lock(State())

    init(_ port: UInt16) {
        self.port = port
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
    /// Set when it was told to close later.
    var lingerMillis: Int64? { state.withLock { $0.lingerMillis } }
    /// Neither closed nor about to.
    var isOpen: Bool { state.withLock { !$0.isClosed && $0.lingerMillis == nil } }

    func deliver(to handler: @escaping @Sendable (RedirectDelivery) -> Void) {
        state.withLock { $0.handler = handler }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.handler = nil
        }
    }

    func close(afterMillis milliseconds: Int64) {
        state.withLock { $0.lingerMillis = milliseconds }
    }

    /// The browser navigates here; what it is answered, when it is.
    func navigate(_ query: String) -> Page {
        let page = Page()
        let handler = state.withLock { $0.handler }
        handler?(RedirectDelivery(query: query) { page.outcome.settle(.success($0)) })
        return page
    }

    final class Page: Sendable {
        fileprivate let outcome = Outcome<ResultPage>()

        var isAnswered: Bool { outcome.isSettled }
        func shown() async throws -> ResultPage { try await outcome.result.get() }
    }
}

/// A browser that shows nothing and reports what a test wants.
final class FakeBrowser: Browser {
    private let shown = Lock<[(url: String, report: @Sendable (BrowserReport) -> Void)]>([])

    var urls: [String] { shown.withLock { $0.map(\.url) } }

    func open(_ url: String, report: @escaping @Sendable (BrowserReport) -> Void) {
        shown.withLock { $0.append((url, report)) }
    }

    /// About the latest page.
    func report(_ report: BrowserReport) {
        shown.withLock { $0.last }?.report(report)
    }
}
