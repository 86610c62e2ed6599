// SPDX-License-Identifier: Apache-2.0

/// The time one operation of the app has taken, browser time left out (behaviour §3).
final class OperationBudget: Sendable {
    private struct Spent {
        /// Time that does not count, and since when it is running.
        var excludedMillis: Int64 = 0
        var excludedSince: BootMillis?
    }

    private let time: any TimeSource
    private let startedAt: BootMillis
    private let spent = Lock(Spent())

    init(_ time: any TimeSource) {
        self.time = time
        startedAt = time.boot
    }

    var elapsedMillis: Int64 {
        let now = time.boot
        return spent.withLock { spent in
            max(0, now - startedAt - spent.excludedMillis - (spent.excludedSince.map { now - $0 } ?? 0))
        }
    }

    /// The time of the browser begins; it ends with ``resume()``.
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
