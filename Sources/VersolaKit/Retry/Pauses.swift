// SPDX-License-Identifier: Apache-2.0

/// Until when the provider's origins want to be left alone: for the whole process, in memory, only ever lengthened.
final class Pauses: Sendable {
    struct Pause: Equatable, Sendable {
        var until: BootMillis
        /// Of the answer that started it.
        var status: Int
    }

    /// Every client of the process heeds the same pauses.
    static let shared = Pauses()

    private let pauses = Lock<[String: Pause]>([:])

    func lengthen(_ origin: String, until: BootMillis, status: Int) {
        pauses.withLock { pauses in
            if let known = pauses[origin], known.until >= until { return }
            pauses[origin] = Pause(until: until, status: status)
        }
    }

    /// What is left of the pause that runs at `now`.
    func leftMillis(_ origin: String, now: BootMillis) -> Int64? {
        running(origin, now: now).map { $0.until - now }
    }

    /// The pause that runs at `now`; one that is over is forgotten.
    func running(_ origin: String, now: BootMillis) -> Pause? {
        pauses.withLock { pauses in
            guard let pause = pauses[origin] else { return nil }
            if pause.until > now { return pause }
            pauses[origin] = nil
            return nil
        }
    }
}
