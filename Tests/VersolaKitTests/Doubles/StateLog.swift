// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Every state a client published, in order.
final class StateLog: Sendable {
    private struct State {
        var changes: [SessionStateChange] = []
        var waiting: [(fits: @Sendable (SessionStateChange) -> Bool, found: Outcome<SessionStateChange>)] = []
    }

    private let state = Lock(State())
    private let journal: Journal

    init(_ journal: Journal) {
        self.journal = journal
    }

    var changes: [SessionStateChange] { state.withLock { $0.changes } }
    var states: [SessionState] { changes.map(\.state) }
    var last: SessionStateChange? { changes.last }

    func note(_ change: SessionStateChange) {
        journal.note(.published(change.state))
        state.withLock { state in
            if let last = state.changes.last { #expect(last != change, "two neighbouring states are equal") }
            state.changes.append(change)
            for waiting in state.waiting where waiting.fits(change) { waiting.found.settle(.success(change)) }
        }
    }

    /// Forgets all but the current state.
    func clear() {
        state.withLock { $0.changes = $0.changes.suffix(1) }
    }

    /// Waits until the current state is this.
    @discardableResult
    func reach(_ wanted: SessionState) async throws -> SessionStateChange {
        let found = Outcome<SessionStateChange>()
        state.withLock { state in
            if let last = state.changes.last, last.state == wanted {
                found.settle(.success(last))
            } else {
                state.waiting.append(({ $0.state == wanted }, found))
            }
        }
        return try await found.result.get()
    }
}
