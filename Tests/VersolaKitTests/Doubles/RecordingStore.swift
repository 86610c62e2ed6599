// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// A store whose every step is noted and can be made to fail.
final class RecordingStore: CredentialStore {
    enum Operation: Hashable, Sendable {
        case savePending, erasePending, abandonPending, spendPending, storeLogin, eraseSession
        case lockRefresh, unlockRefresh, beginRefresh, endRefresh, storeRefresh, eraseGrant, readGrant, close
    }

    private struct State {
        var failing: Set<Operation> = []
        /// How often the refresh lock is somebody else's.
        var foreignLocks = 0
        var stored: [Grant] = []
        var changed: (@Sendable () -> Void)?
    }

    let store: any CredentialStore
    private let journal: Journal
    private let state = Lock(State())

    init(_ store: any CredentialStore, _ journal: Journal) {
        self.store = store
        self.journal = journal
    }

    /// Every grant that was stored, in order.
    var stored: [Grant] { state.withLock { $0.stored } }

    func fail(_ operations: Set<Operation>) {
        state.withLock { $0.failing = operations }
    }

    /// Another process holds the refresh lock for so many tries.
    func holdRefreshLock(tries: Int) {
        state.withLock { $0.foreignLocks = tries }
    }

    /// What the I/O thread does when the store's directory changed.
    func tellChange() {
        state.withLock { $0.changed }?()
    }

    private func note(_ operation: Operation) throws(OAuthError) {
        journal.note(.store(operation))
        if state.withLock({ $0.failing.contains(operation) }) { throw .storeUnavailable("made to fail") }
    }

    func restore() throws(OAuthError) -> Restored { try store.restore() }
    func holdsGrant() throws(OAuthError) -> Bool { try store.holdsGrant() }
    func pending(state: String) throws(OAuthError) -> StoredRequest? { try store.pending(state: state) }
    func epoch() throws(OAuthError) -> Int64 { try store.epoch() }

    func grant() throws(OAuthError) -> Grant? {
        try note(.readGrant)
        return try store.grant()
    }

    func savePending(_ request: PendingRequest) throws(OAuthError) {
        try note(.savePending)
        try store.savePending(request)
    }

    func erasePending(_ id: String) throws(OAuthError) {
        try note(.erasePending)
        try store.erasePending(id)
    }

    func abandonPending(_ id: String) {
        journal.note(.store(.abandonPending))
        store.abandonPending(id)
    }

    func spendPending(_ id: String) throws(OAuthError) -> SpentRequest {
        try note(.spendPending)
        return try store.spendPending(id)
    }

    func storeLogin(_ grant: Grant, spending id: String, since epoch: Int64) throws(OAuthError) -> StoredLogin {
        try note(.storeLogin)
        let outcome = try store.storeLogin(grant, spending: id, since: epoch)
        if case .stored = outcome { state.withLock { $0.stored.append(grant) } }
        return outcome
    }

    func eraseSession() throws(OAuthError) -> Grant? {
        try note(.eraseSession)
        return try store.eraseSession()
    }

    func lockRefresh() throws(OAuthError) -> HeldLock? {
        let isForeign = state.withLock { state in
            defer { state.foreignLocks = max(0, state.foreignLocks - 1) }
            return state.foreignLocks > 0
        }
        if isForeign { return nil }
        try note(.lockRefresh)
        guard let lock = try store.lockRefresh() else { return nil }
        return HeldLock { [journal] in
            journal.note(.store(.unlockRefresh))
            lock.release()
        }
    }

    func beginRefresh() throws(OAuthError) {
        try note(.beginRefresh)
        try store.beginRefresh()
    }

    func endRefresh() throws(OAuthError) {
        try note(.endRefresh)
        try store.endRefresh()
    }

    func storeRefresh(_ grant: Grant) throws(OAuthError) -> Bool {
        try note(.storeRefresh)
        let isStored = try store.storeRefresh(grant)
        if isStored { state.withLock { $0.stored.append(grant) } }
        return isStored
    }

    func eraseGrant(_ rejected: Grant) throws(OAuthError) {
        try note(.eraseGrant)
        try store.eraseGrant(rejected)
    }

    func handOver(redirect url: String, to id: String) throws(OAuthError) { try store.handOver(redirect: url, to: id) }
    func takeHandedOver(_ id: String) throws(OAuthError) -> String? { try store.takeHandedOver(id) }

    func watch(_ changed: @escaping @Sendable () -> Void) {
        state.withLock { $0.changed = changed }
        store.watch(changed)
    }

    func close() {
        journal.note(.store(.close))
        store.close()
    }
}
