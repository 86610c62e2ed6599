// SPDX-License-Identifier: Apache-2.0

/// The session as this process knows it: the facts, the grant, the access token, and the one place that publishes states.
///
/// Readers on any thread; writers only through ``update(reason:_:)``.
final class Session: Sendable {
    struct Contents {
        var facts = SessionFacts()
        var grant: Grant?
        var accessToken: AccessToken?
        /// The latest waiting login's, for the state and `authorizationURL`.
        var authorizationURL: String?
    }

    private struct Published {
        var contents = Contents()
        var current = SessionStateChange(state: .unauthenticated, reason: nil, generation: 0, authorizationURL: nil)
        var observers: [UInt64: @Sendable (SessionStateChange) -> Void] = [:]
        var nextObserver: UInt64 = 0
    }

    private let published = Lock(Published())

    var contents: Contents { published.withLock { $0.contents } }
    var state: SessionState { published.withLock { $0.current.state } }

    /// Changes what holds and publishes the state that follows, if it is another. Observers see every change in order.
    func update(reason: OAuthError? = nil, _ change: (inout Contents) -> Void) {
        published.withLock { published in
            change(&published.contents)
            published.contents.facts.hasGrant = published.contents.grant != nil
            let state = SessionState(published.contents.facts)
            let next = SessionStateChange(
                state: state, reason: reason, generation: published.contents.grant?.generation ?? 0,
                authorizationURL: state == .authorizing ? published.contents.authorizationURL : nil)
            let current = published.current
            guard
                (next.state, next.generation) != (current.state, current.generation)
                    || next.authorizationURL != current.authorizationURL
            else { return }
            published.current = next
            for observer in published.observers.values { observer(next) }
        }
    }

    /// Calls `observer` with the current state and then with every change, under the lock: it may only pass the value on.
    func observe(_ observer: @escaping @Sendable (SessionStateChange) -> Void) -> UInt64 {
        published.withLock { published in
            published.nextObserver += 1
            published.observers[published.nextObserver] = observer
            observer(published.current)
            return published.nextObserver
        }
    }

    func stopObserving(_ id: UInt64) {
        published.withLock { _ = $0.observers.removeValue(forKey: id) }
    }
}
