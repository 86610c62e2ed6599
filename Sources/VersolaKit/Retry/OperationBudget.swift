// SPDX-License-Identifier: Apache-2.0

/// What one operation of the app may spend on repeating requests, and has spent: failed requests and time, browser time left
/// out (behaviour §3). One for all the requests it causes.
final class OperationBudget: Sendable {
    private struct Spent {
        var failures = 0
        var failuresByOrigin: [String: Int] = [:]
        /// Time that does not count, and since when it is running.
        var excludedMillis: Int64 = 0
        var excludedSince: BootMillis?
        /// By URL, see ``failure(of:)``.
        var failedLoads: [String: OAuthError] = [:]
    }

    let policy: RetryPolicy
    let time: any TimeSource
    private let startedAt: BootMillis
    private let spent = Lock(Spent())
    /// Told by ``abandon()``.
    let abandoned = Closing()

    init(_ time: any TimeSource, _ policy: RetryPolicy) {
        self.time = time
        self.policy = policy
        startedAt = time.boot
    }

    var elapsedMillis: Int64 {
        let now = time.boot
        return spent.withLock { spent in
            max(0, now - startedAt - spent.excludedMillis - (spent.excludedSince.map { now - $0 } ?? 0))
        }
    }

    var leftMillis: Int64 { max(0, policy.totalBudgetMillis - elapsedMillis) }

    /// No repeat follows any more, also none whose wait would have fitted: the machine slept meanwhile. A timer that is late,
    /// as all are, does not make it so.
    var isOver: Bool { elapsedMillis > policy.totalBudgetMillis + 1_000 }

    /// Counts a failed request; whether another one to the origin would still be within the limits.
    func allowsAnother(afterFailureAt origin: String) -> Bool {
        spent.withLock { spent in
            spent.failures += 1
            spent.failuresByOrigin[origin, default: 0] += 1
            return spent.failures < policy.maxTotalAttempts
                && spent.failuresByOrigin[origin, default: 0] < policy.maxAttemptsPerOrigin
        }
    }

    /// Why something that several steps of the operation need could not be had: it was asked for as often as the rules allow.
    func failure(of url: String) -> OAuthError? { spent.withLock { $0.failedLoads[url] } }

    func noteFailure(of url: String, _ error: OAuthError) {
        spent.withLock { $0.failedLoads[url] = error }
    }

    /// Nobody waits for the operation any more: what is on the wire goes on, but no request is repeated.
    func abandon() {
        abandoned.close()
    }

    /// The time of the browser, of another process or of a logout begins, which does not count; it ends with ``resume()``.
    func suspend() {
        let now = time.boot
        spent.withLock { if $0.excludedSince == nil { $0.excludedSince = now } }
    }

    func resume() {
        let now = time.boot
        spent.withLock { spent in
            guard let since = spent.excludedSince else { return }
            spent.excludedMillis += now - since
            spent.excludedSince = nil
        }
    }
}
