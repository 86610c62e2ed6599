// SPDX-License-Identifier: Apache-2.0

/// A result that is settled once, by whoever is first, and that any number of callers may wait for.
final class Outcome<Value: Sendable>: Sendable {
    typealias Settled = Result<Value, OAuthError>

    private enum State {
        case open([@Sendable (Settled) -> Void])
        case settled(Settled)
    }

    private let state = Lock(State.open([]))

    /// Settles it; false when it was settled before.
    @discardableResult
    func settle(_ result: Settled) -> Bool {
        let waiting: [@Sendable (Settled) -> Void]? = state.withLock { state in
            guard case .open(let waiting) = state else { return nil }
            state = .settled(result)
            return waiting
        }
        waiting?.forEach { $0(result) }
        return waiting != nil
    }

    /// Calls `handler` once with the result: at once when it is there, else on the thread that settles it.
    func whenSettled(_ handler: @escaping @Sendable (Settled) -> Void) {
        let result: Settled? = state.withLock { state in
            switch state {
            case .open(let waiting):
                state = .open(waiting + [handler])
                return nil
            case .settled(let result):
                return result
            }
        }
        if let result { handler(result) }
    }

    var isSettled: Bool {
        state.withLock { if case .settled = $0 { true } else { false } }
    }

    var result: Settled {
        get async {
            await withCheckedContinuation { continuation in
                whenSettled { continuation.resume(returning: $0) }
            }
        }
    }
}
