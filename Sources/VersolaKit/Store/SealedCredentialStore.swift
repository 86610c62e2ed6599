// SPDX-License-Identifier: Apache-2.0

/// The rules of keeping a session, once for every place where bytes can lie.
///
/// Grant, requests and handed-over redirects are sealed; the counters are plain. Whatever depends on more than one entry
/// happens under the write lock.
final class SealedCredentialStore: CredentialStore {
    /// How long another process is waited for.
    struct LockWaits: Sendable {
        var millis: Int64 = 5_000
        /// By a logout, which then goes on without the lock.
        var erasingMillis: Int64 = 2_000
    }

    /// Room for a grant: a refresh token and two signed tokens of the usual few KiB, several times over.
    private static let reservedSpace = 32 << 10

    private let records: any RecordStore
    private let vault: RecordVault
    private let time: any TimeSource
    private let waits: LockWaits
    /// The owner locks of this store's requests, by request id.
    private let owned = Lock<[String: HeldLock]>([:])

    init(
        records: any RecordStore, keys: any KeySource, binding: StoreBinding, time: any TimeSource,
        waits: LockWaits = LockWaits()
    ) {
        self.records = records
        self.time = time
        self.waits = waits
        vault = RecordVault(records: records, keys: keys, binding: binding)
    }

    // MARK: Start and session

    func restore() throws(OAuthError) -> Restored {
        guard let lock = try records.lock(.writeLock, waitMillis: waits.millis) else {
            // Somebody is stuck. A grant can be read all the same; tidying is left to the next start.
            let grant = try grant()
            return Restored(grant: grant?.isUsable(time) == true ? grant : nil, pending: nil)
        }
        defer { lock.release() }
        let entries = try records.entries()
        try records.erase(entries.filter(\.isTemporary))
        let grant = try restoredGrant(under: lock)
        var heir: (request: PendingRequest, owner: HeldLock)?
        for id in Set(entries.compactMap(\.requestID)) {
            // Ours already, or its owner lives: left to it.
            guard let owner = try claim(id) else { continue }
            guard let request = try request(id, under: lock), grant == nil, request.isWaiting(time) else {
                try records.erase(StoreEntry.all(ofRequest: id))
                owner.release()
                continue
            }
            // Of several the latest; an earlier one stays, without an owner, for a redirect that may still be passed on.
            if let other = heir, other.request.startedAt.age(time) <= request.startedAt.age(time) { continue }
            heir = (request, owner)
        }
        if let heir { owned.withLock { $0[heir.request.id] = heir.owner } }
        return Restored(grant: grant, pending: heir?.request)
    }

    /// A grant that can still be used. What is left of another, a raw ID token, is erased (behaviour §1).
    private func restoredGrant(under lock: HeldLock) throws(OAuthError) -> Grant? {
        guard let grant = try grant(under: lock) else { return nil }
        if grant.isUsable(time) { return grant }
        try retire([.grant], generation: grant.generation)
        return nil
    }

    func grant() throws(OAuthError) -> Grant? {
        try grant(under: nil)
    }

    func holdsGrant() throws(OAuthError) -> Bool {
        if case .none = try vault.header(of: .grant) { false } else { true }
    }

    private func grant(under lock: HeldLock?) throws(OAuthError) -> Grant? {
        guard let content = try content(of: .grant, under: lock) else { return nil }
        return try RecordCoding.decode(Grant.self, content)
    }

    func storeLogin(_ grant: Grant, spending id: String, since epoch: Int64) throws(OAuthError) -> StoredLogin {
        try withWriteLock { _ throws(OAuthError) in
            let counters = try counters()
            guard counters.epoch == epoch, try records.read(.pending(id)) != nil else {
                try? eraseRequest(id)
                return .superseded
            }
            var stored: Int64 = 0
            if case .record(let record) = try vault.header(of: .grant) { stored = record.generation }
            let (generation, overflow) = max(counters.generation, stored).addingReportingOverflow(1)
            guard !overflow else { throw .storeUnavailable("the generation cannot be counted up") }
            var grant = grant
            grant.generation = generation
            try vault.save(
                try RecordCoding.encode(grant), as: .grant, generation: generation, using: .reservation(id))
            // A logout that did not get the lock may have come in between: it wins.
            let isSuperseded = try self.counters().epoch != epoch
            if isSuperseded { try records.erase([.grant]) }
            // The grant is kept, or not, whatever becomes of the request: a spent one is dropped at the next start.
            try? eraseRequest(id)
            return isSuperseded ? .superseded : .stored(generation: generation)
        }
    }

    func eraseSession() throws(OAuthError) -> Grant? {
        let lock = try? records.lock(.writeLock, waitMillis: waits.erasingMillis)
        defer { lock?.release() }
        let entries = try records.entries()
        var generation: Int64?
        if case .record(let record) = try vault.header(of: .grant) { generation = record.generation }
        // Locked or damaged: erased without being read.
        var grant: Grant?
        if case .value(let content) = try? vault.load(.grant) {
            grant = try? RecordCoding.decode(Grant.self, content)
        }
        var doomed: [StoreEntry] = [.grant, .refreshNote, .refreshReservation]
        // Without the lock a temporary file may be somebody's write under way.
        if lock != nil { doomed += entries.filter(\.isTemporary) }
        var mine: [HeldLock] = []
        for id in Set(entries.compactMap(\.requestID)) {
            // A request of a living process is left to it, and one of a later version or another client is not ours.
            guard let owner = owned.withLock({ $0[id] }) ?? (try? claim(id)),
                (try? vault.header(of: .pending(id))) != nil
            else { continue }
            mine.append(owner)
            doomed += StoreEntry.all(ofRequest: id)
        }
        try retire(doomed, generation: generation, isLogout: true)
        owned.withLock { $0 = [:] }
        for owner in mine { owner.release() }
        return grant
    }

    func epoch() throws(OAuthError) -> Int64 {
        try counters().epoch
    }

    // MARK: Pending requests

    func savePending(_ request: PendingRequest) throws(OAuthError) {
        // What is stored under another name would not be found again.
        guard StoreEntry(name: StoreEntry.pending(request.id).name) != nil else {
            throw .storeUnavailable("the request's id is not hexadecimal")
        }
        try withWriteLock { _ throws(OAuthError) in
            guard let owner = try claim(request.id) else { throw .storeUnavailable("the request is stored already") }
            do throws(OAuthError) {
                try vault.save(try RecordCoding.encode(request), as: .pending(request.id))
            } catch {
                try? records.erase([.owner(request.id)])
                throw error
            }
            owned.withLock { $0[request.id] = owner }
        }
    }

    func pending(state: String) throws(OAuthError) -> StoredRequest? {
        try withWriteLock { lock throws(OAuthError) in
            var found: PendingRequest?
            for case .pending(let id) in try records.entries() {
                guard let request = try request(id, under: lock) else { continue }
                if equalInConstantTime(request.state, state) { found = request }
            }
            guard let found else { return nil }
            return StoredRequest(request: found, owner: try owner(of: found.id))
        }
    }

    func spendPending(_ id: String) throws(OAuthError) -> SpentRequest {
        try withWriteLock { lock throws(OAuthError) in
            guard var request = try request(id, under: lock), !request.spent else { return .over }
            guard try own(id) else { return .ownedByAnother }
            request.spent = true
            do throws(OAuthError) {
                try records.reserve(Self.reservedSpace, as: .reservation(id))
                try vault.save(try RecordCoding.encode(request), as: .pending(id))
            } catch {
                try? records.erase([.reservation(id)])
                throw error
            }
            return .marked
        }
    }

    func erasePending(_ id: String) throws(OAuthError) {
        if owned.withLock({ $0[id] != nil }) { return try eraseRequest(id) }
        try withWriteLock { _ throws(OAuthError) in
            guard let owner = try claim(id) else { return }
            defer { owner.release() }
            try eraseRequest(id)
        }
    }

    func abandonPending(_ id: String) {
        owned.withLock { $0.removeValue(forKey: id) }?.release()
    }

    // MARK: Refresh

    func lockRefresh() throws(OAuthError) -> HeldLock? {
        try records.lock(.refreshLock, waitMillis: 0)
    }

    func beginRefresh() throws(OAuthError) {
        try vault.prepareKey()
        do throws(OAuthError) {
            try records.reserve(Self.reservedSpace, as: .refreshReservation)
            // A start that tidies up under this lock would take the note that is being written for a leftover.
            try withWriteLock { _ throws(OAuthError) in try records.write([], to: .refreshNote, using: nil) }
        } catch {
            try? records.erase([.refreshReservation])
            throw error
        }
    }

    func endRefresh() throws(OAuthError) {
        try records.erase([.refreshNote, .refreshReservation])
    }

    func storeRefresh(_ grant: Grant) throws(OAuthError) -> Bool {
        try withWriteLock { _ throws(OAuthError) in
            let epoch = try counters().epoch
            guard case .record(let record) = try vault.header(of: .grant), record.generation == grant.generation else {
                return false
            }
            try vault.save(
                try RecordCoding.encode(grant), as: .grant, generation: grant.generation, using: .refreshReservation)
            // As with a login: a logout without the lock wins.
            guard try counters().epoch != epoch else { return true }
            try records.erase([.grant])
            return false
        }
    }

    func eraseGrant(_ rejected: Grant) throws(OAuthError) {
        try withWriteLock { lock throws(OAuthError) in
            guard let stored = try grant(under: lock), stored.generation == rejected.generation,
                stored.refreshToken == rejected.refreshToken
            else { return }
            try retire([.grant], generation: stored.generation)
        }
    }

    // MARK: Between processes

    func handOver(redirect url: String, to id: String) throws(OAuthError) {
        try withWriteLock { _ throws(OAuthError) in
            guard try records.read(.pending(id)) != nil else { return }
            try vault.save(Secret(url), as: .redirect(id))
        }
    }

    func takeHandedOver(_ id: String) throws(OAuthError) -> String? {
        guard let url = try content(of: .redirect(id), under: nil) else { return nil }
        try records.erase([.redirect(id)])
        return url.text
    }

    func watch(_ changed: @escaping @Sendable () -> Void) {
        records.watch(changed)
    }

    func close() {
        owned.withLock { owned in
            for owner in owned.values { owner.release() }
            owned = [:]
        }
        vault.forgetKey()
        records.close()
    }

    // MARK: Locks

    private func withWriteLock<Result>(
        _ body: (HeldLock) throws(OAuthError) -> Result
    ) throws(OAuthError) -> Result {
        guard let lock = try records.lock(.writeLock, waitMillis: waits.millis) else {
            throw .recoverable(.network(.lock), "store: another process holds the write lock")
        }
        defer { lock.release() }
        return try body(lock)
    }

    /// The owner lock of a request whose owner is dead; `nil` when it is ours already or its owner lives. Only under the
    /// write lock: a claim, even one given back at once, looks like a living owner to others.
    private func claim(_ id: String) throws(OAuthError) -> HeldLock? {
        if owned.withLock({ $0[id] != nil }) { return nil }
        return try records.lock(.owner(id), waitMillis: 0)
    }

    /// Whether the request is this store's, from now on if it was nobody's.
    private func own(_ id: String) throws(OAuthError) -> Bool {
        if owned.withLock({ $0[id] != nil }) { return true }
        guard let owner = try claim(id) else { return false }
        owned.withLock { $0[id] = owner }
        return true
    }

    private func owner(of id: String) throws(OAuthError) -> StoredRequest.Owner {
        if owned.withLock({ $0[id] != nil }) { return .us }
        guard let owner = try claim(id) else { return .livingProcess }
        owner.release()
        return .nobody
    }

    // MARK: Entries

    private func request(_ id: String, under lock: HeldLock) throws(OAuthError) -> PendingRequest? {
        guard let content = try content(of: .pending(id), under: lock) else { return nil }
        return try RecordCoding.decode(PendingRequest.self, content)
    }

    /// The content of a sealed entry. A damaged one cannot be told from a forged one: with it goes all that looks like a
    /// credential, once (behaviour §2, CredentialsInvalidated).
    private func content(of entry: StoreEntry, under lock: HeldLock?) throws(OAuthError) -> Secret? {
        switch try vault.load(entry) {
        case .none: return nil
        case .value(let content): return content
        case .damaged:
            guard lock != nil else {
                return try withWriteLock { lock throws(OAuthError) in try content(of: entry, under: lock) }
            }
            try invalidate()
            throw .reauthenticate(.credentialsInvalidated, "store: a record is not as it was sealed; all are erased")
        }
    }

    private func invalidate() throws(OAuthError) {
        var generation: Int64?
        if case .record(let record) = try vault.header(of: .grant) { generation = record.generation }
        try retire(try records.entries().filter(\.isSealed), generation: generation)
    }

    private func eraseRequest(_ id: String) throws(OAuthError) {
        try records.erase(StoreEntry.all(ofRequest: id))
        abandonPending(id)
    }

    /// Erases what makes a session and counts the erasure: the erasure first, for it makes room on a full disk.
    private func retire(_ entries: [StoreEntry], generation: Int64?, isLogout: Bool = false) throws(OAuthError) {
        let counters = try counters().afterErasing(generation: generation, isLogout: isLogout)
        try records.erase(entries)
        let bytes = try RecordCoding.encode(counters).withBytes(Array.init)
        try records.write(bytes, to: .counters, using: nil)
    }

    /// Counters that are missing or make no sense start again: they are no credential, and nothing is lost with them.
    private func counters() throws(OAuthError) -> StoreCounters {
        guard let bytes = try records.read(.counters),
            let counters = try? RecordCoding.decode(StoreCounters.self, Secret(bytes)),
            StoreCounters.plausible.contains(counters.epoch), StoreCounters.plausible.contains(counters.generation)
        else { return StoreCounters() }
        return counters
    }
}

extension StoreEntry {
    fileprivate var isTemporary: Bool {
        if case .temporary = self { true } else { false }
    }

    /// The request it belongs to.
    fileprivate var requestID: String? {
        switch self {
        case .pending(let id), .owner(let id), .redirect(let id), .reservation(let id): id
        case .grant, .counters, .writeLock, .refreshLock, .refreshNote, .refreshReservation, .temporary: nil
        }
    }

    /// The record goes first, and the owner's mark last.
    fileprivate static func all(ofRequest id: String) -> [StoreEntry] {
        [.pending(id), .redirect(id), .reservation(id), .owner(id)]
    }
}
