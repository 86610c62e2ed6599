// SPDX-License-Identifier: Apache-2.0

/// The session as this process knows it: the facts, the grant, the access token, and the one place that publishes states.
///
/// Readers on any thread; writers only through ``update(reason:_:)``.
final class Session: Sendable {
    struct Contents {
        var facts = SessionFacts()
        /// Kept in step with the facts: a grant that is locked away is a fact, too, but not here.
        var grant: Grant? {
            didSet { facts.hasGrant = grant != nil }
        }
        var accessToken: AccessToken?
        /// The logins that the state shows, in the order in which they began to wait.
        private var logins: [(id: String, url: String)] = [] {
            didSet {
                facts.loginsWaiting = logins.count
                authorizationURL = logins.last?.url
            }
        }

        /// What the person has to open for the latest login that waits.
        private(set) var authorizationURL: String?

        /// A login waits from now on, in this process.
        mutating func addWaiting(_ request: PendingRequest) {
            logins.append((request.id, request.authorizationURL))
        }

        /// A login is over, or goes on unseen. Nothing when it was not shown.
        mutating func removeWaiting(_ id: String) {
            logins.removeAll { $0.id == id }
        }

        fileprivate func change(_ reason: OAuthError?) -> SessionStateChange {
            let state = SessionState(facts)
            return SessionStateChange(
                state: state, reason: reason, generation: grant?.generation ?? 0,
                authorizationURL: state == .authorizing ? authorizationURL : nil)
        }
    }

    private struct Published {
        var contents: Contents
        var current: SessionStateChange
        var observers: [UInt64: Observer] = [:]
        var nextObserver: UInt64 = 0
        var ended = false
    }

    private struct Observer {
        var change: @Sendable (SessionStateChange) -> Void
        var end: @Sendable () -> Void
    }

    private let published: Lock<Published>

    /// - Parameters:
    ///   - contents: what a start found; the state that follows is the first value an observer sees.
    ///   - reason: why a session that was there is not any more.
    init(_ contents: Contents = Contents(), reason: OAuthError? = nil) {
        published = Lock(Published(contents: contents, current: contents.change(reason)))
    }

    var contents: Contents { published.withLock { $0.contents } }
    var state: SessionState { published.withLock { $0.current.state } }

    /// Changes what holds and publishes the state that follows, if it is another. Observers see every change in order.
    func update(reason: OAuthError? = nil, _ change: (inout Contents) -> Void) {
        published.withLock { published in
            change(&published.contents)
            let next = published.contents.change(reason)
            let current = published.current
            guard
                (next.state, next.generation) != (current.state, current.generation)
                    || next.authorizationURL != current.authorizationURL
            else { return }
            published.current = next
            for observer in published.observers.values { observer.change(next) }
        }
    }

    /// Calls `observer` with the current state and then with every change, under the lock: it may only pass the value on;
    /// then `end`, once, when no change can come any more, unless the observing was stopped before.
    func observe(
        _ observer: @escaping @Sendable (SessionStateChange) -> Void, end: @escaping @Sendable () -> Void = {}
    ) -> UInt64 {
        let (id, hasEnded) = published.withLock { published in
            published.nextObserver += 1
            if !published.ended { published.observers[published.nextObserver] = Observer(change: observer, end: end) }
            observer(published.current)
            return (published.nextObserver, published.ended)
        }
        if hasEnded { end() }
        return id
    }

    /// The client is closed and idle: no change follows.
    func end() {
        let observers = published.withLock { published in
            published.ended = true
            return exchange(&published.observers, with: [:])
        }
        for observer in observers.values { observer.end() }
    }

    func stopObserving(_ id: UInt64) {
        published.withLock { _ = $0.observers.removeValue(forKey: id) }
    }
}
