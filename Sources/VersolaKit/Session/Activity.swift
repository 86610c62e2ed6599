// SPDX-License-Identifier: Apache-2.0

/// Counts what of a client is still running, so that a close can tell when nothing is.
final class Activity: Sendable {
    private struct State {
        var running = 0
        var closed = false
        var whenIdle: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())

    /// False once closed and idle: then nothing new may begin.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.closed || state.running > 0 else { return false }
            state.running += 1
            return true
        }
    }

    func end() {
        settle { $0.running -= 1 }
    }

    func close() {
        settle { $0.closed = true }
    }

    /// Calls `handler` once, when closed and idle.
    func whenIdle(_ handler: @escaping @Sendable () -> Void) {
        settle { $0.whenIdle.append(handler) }
    }

    private func settle(_ change: (inout State) -> Void) {
        let handlers: [@Sendable () -> Void] = state.withLock { state in
            change(&state)
            guard state.closed, state.running == 0 else { return [] }
            return exchange(&state.whenIdle, with: [])
        }
        for handler in handlers { handler() }
    }
}
