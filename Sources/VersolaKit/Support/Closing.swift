// SPDX-License-Identifier: Apache-2.0

/// Tells those who wait that there is nothing to wait for any more: the client was closed, an operation abandoned.
final class Closing: Sendable {
    private struct State {
        var isClosed = false
        var next: UInt64 = 0
        var handlers: [UInt64: @Sendable () -> Void] = [:]
    }

    private let state = Lock(State())

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// Calls `handler` at most once, at once when closed already; ``forget(_:)`` ends that.
    func onClose(_ handler: @escaping @Sendable () -> Void) -> UInt64? {
        let id: UInt64? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
        if id == nil { handler() }
        return id
    }

    func forget(_ id: UInt64?) {
        guard let id else { return }
        state.withLock { _ = $0.handlers.removeValue(forKey: id) }
    }

    func close() {
        let handlers = state.withLock { state in
            state.isClosed = true
            return exchange(&state.handlers, with: [:])
        }
        for handler in handlers.values { handler() }
    }
}
