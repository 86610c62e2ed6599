// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// The rules of keeping a session, wherever its bytes lie.
@Suite struct StoreRulesTests {
    enum Place: CaseIterable { case disk, memory }

    private let fixture: StoreFixture
    private var time: StoreTestTime { fixture.time }
    private let id = String(repeating: "a1", count: 16)

    init() throws {
        fixture = try StoreFixture()
    }

    private func store(_ place: Place) throws -> SealedCredentialStore {
        switch place {
        case .disk: try fixture.store()
        case .memory: try SealedCredentialStore.inMemory(binding: fixture.binding(), time: fixture.time)
        }
    }

    // MARK: Round trips

    @Test(arguments: Place.allCases) func everyModelComesBackAsItWent(_ place: Place) throws {
        let store = try store(place)
        let request = PendingRequest.sample(time)
        try store.savePending(request)
        #expect(try store.pending(state: request.state)?.request == request)
        #expect(try store.pending(state: request.state)?.owner == .us)

        var grant = Grant.sample(
            accessToken: AccessToken(
                value: "at\"\\\u{0}/é", type: "Bearer", scope: "a b", receivedAt: Moment(time), lifetimeMillis: .max))
        #expect(try store.spendPending(request.id) == .marked)
        #expect(try store.storeLogin(grant, spending: request.id, since: 0) == .stored(generation: 1))
        grant.generation = 1
        #expect(try store.grant() == grant)
        #expect(try store.pending(state: request.state) == nil)

        var bare = Grant.sample(nil)
        bare.login = LoginClaims(issuer: "i", subject: "s", audience: [])
        #expect(try store.signIn(time, bare) == 2)
        bare.generation = 2
        #expect(try store.grant() == bare)
    }

    @Test(arguments: Place.allCases) func anEmptyStoreHoldsNothing(_ place: Place) throws {
        let store = try store(place)
        let found = try store.restore()
        #expect(found.grant == nil && found.pending == nil)
        #expect(try store.grant() == nil)
        #expect(try store.epoch() == 0)
        #expect(try store.pending(state: "x") == nil)
        #expect(try store.takeHandedOver(id) == nil)
        #expect(try store.eraseSession() == nil)
        try store.erasePending(id)
        store.abandonPending(id)
    }

    @Test(arguments: ["", "../x", "ABC", "a b"]) func anIdThatIsNoNameIsRefused(_ id: String) throws {
        let store = try store(.disk)
        #expect(storeError { try store.savePending(.sample(time, id: id)) }?.isStoreUnavailable == true)
    }

    // MARK: The spent mark

    @Test(arguments: Place.allCases) func aCodeIsSentOnce(_ place: Place) throws {
        let store = try store(place)
        try store.savePending(.sample(time))
        #expect(try store.spendPending(id) == .marked)
        #expect(try store.spendPending(id) == .over)
        #expect(try store.pending(state: "state-\(id)")?.request.spent == true)
    }

    @Test(arguments: Place.allCases) func whatIsGoneIsNotSpent(_ place: Place) throws {
        let store = try store(place)
        #expect(try store.spendPending(id) == .over)
        try store.savePending(.sample(time))
        try store.erasePending(id)
        #expect(try store.spendPending(id) == .over)
    }

    @Test func anotherProcessDoesNotSpendWhatItsOwnerWaitsFor() throws {
        let (owner, other) = (try fixture.store(), try fixture.store())
        try owner.savePending(.sample(time))
        #expect(try other.pending(state: "state-\(id)")?.owner == .livingProcess)
        #expect(try other.spendPending(id) == .ownedByAnother)
        #expect(try owner.spendPending(id) == .marked)
    }

    @Test func anOwnerlessRequestIsFinishedByWhoGetsItsRedirect() throws {
        let (owner, other) = (try fixture.store(), try fixture.store())
        try owner.savePending(.sample(time))
        owner.abandonPending(id)
        #expect(try other.pending(state: "state-\(id)")?.owner == .nobody)
        #expect(try other.spendPending(id) == .marked)
        #expect(try owner.pending(state: "state-\(id)")?.owner == .livingProcess)
        #expect(try other.storeLogin(.sample(), spending: id, since: 0) == .stored(generation: 1))
        #expect(try owner.grant()?.refreshToken == "refresh-secret")
    }

    @Test func aSystemCancelledRequestCanBeTakenUpAgainByItsOwnProcess() throws {
        let store = try fixture.store()
        try store.savePending(.sample(time))
        store.abandonPending(id)
        #expect(try store.pending(state: "state-\(id)")?.owner == .nobody)
        #expect(try store.spendPending(id) == .marked)
    }

    // MARK: Start

    @Test func aYoungRequestOfADeadOwnerIsTakenOver() throws {
        let dead = try fixture.store()
        try dead.savePending(.sample(time))
        dead.close()
        time.advance(599_999)
        let store = try fixture.store()
        #expect(try store.restore().pending?.id == id)
        #expect(try store.pending(state: "state-\(id)")?.owner == .us)
        // And is now waited for by a living one.
        #expect(try fixture.store().restore().pending == nil)
    }

    @Test func aRequestOfALivingOwnerIsLeftToIt() throws {
        let owner = try fixture.store()
        try owner.savePending(.sample(time))
        time.advance(700_000)
        let store = try fixture.store()
        #expect(try store.restore().pending == nil)
        #expect(try owner.pending(state: "state-\(id)")?.owner == .us)
    }

    @Test(arguments: [600_000, -1] as [Int64]) func aRequestTooOldOrFromTheFutureIsErased(_ passed: Int64) throws {
        let dead = try fixture.store()
        try dead.savePending(.sample(time))
        dead.close()
        time.advance(passed)
        let store = try fixture.store()
        #expect(try store.restore().pending == nil)
        #expect(try fixture.files() == ["key", "write.lock"])
    }

    @Test(arguments: [(599_999, true), (600_000, false), (-1, false)] as [(Int64, Bool)])
    func afterARebootTheWallClockCounts(_ wall: Int64, _ taken: Bool) throws {
        let dead = try fixture.store()
        try dead.savePending(.sample(time))
        dead.close()
        time.reboot(wall: wall)
        #expect((try fixture.store().restore().pending != nil) == taken)
    }

    @Test func aSpentRequestIsDroppedAtStart() throws {
        let dead = try fixture.store()
        try dead.savePending(.sample(time))
        #expect(try dead.spendPending(id) == .marked)
        dead.close()
        #expect(try fixture.files().contains("reserve-\(id)"))
        #expect(try fixture.store().restore().pending == nil)
        #expect(try fixture.files() == ["key", "write.lock"])
    }

    @Test func withAGrantARequestOfADeadOwnerIsDropped() throws {
        let dead = try fixture.store()
        try dead.signIn(time)
        try dead.savePending(.sample(time))
        dead.close()
        let found = try fixture.store().restore()
        #expect(found.grant?.refreshToken == "refresh-secret" && found.pending == nil)
        #expect(try fixture.files() == ["grant", "key", "write.lock"])
    }

    @Test func ofSeveralOrphansTheLatestIsTakenOver() throws {
        let dead = try fixture.store()
        let ids = (1...3).map { String(repeating: "\($0)", count: 32) }
        for id in [ids[0], ids[2], ids[1]] {
            try dead.savePending(.sample(time, id: id))
            time.advance(1_000)
        }
        dead.close()
        let store = try fixture.store()
        #expect(try store.restore().pending?.id == ids[1])
        #expect(try store.pending(state: "state-\(ids[0])")?.owner == .nobody)
        #expect(try store.pending(state: "state-\(ids[2])")?.owner == .nobody)
    }

    @Test func leftoversAreErasedAtStart() throws {
        let store = try fixture.store()
        try store.signIn(time)
        for name in ["tmp-0123", "owner-\(id)", "redirect-\(id)", "reserve-\(id)"] { try fixture.overwrite(name, [1]) }
        try fixture.overwrite("README", [1])
        _ = try fixture.store().restore()
        #expect(try fixture.files() == ["grant", "key", "write.lock", "README"])
    }

    @Test(arguments: Place.allCases) func aGrantThatCanDoNothingMoreIsNone(_ place: Place) throws {
        let store = try store(place)
        let token = AccessToken(
            value: "at", type: "Bearer", scope: "", receivedAt: Moment(time), lifetimeMillis: 60_000)
        #expect(try store.signIn(time, .sample(nil, accessToken: token)) == 1)
        time.advance(59_999)
        #expect(try store.restore().grant != nil)
        time.advance(1)
        #expect(try store.restore().grant == nil)
        #expect(try store.grant() == nil)
        #expect(try store.signIn(time) == 2)
    }

    // MARK: Login and logout

    @Test(arguments: Place.allCases) func theGenerationRisesAcrossLogouts(_ place: Place) throws {
        let store = try store(place)
        #expect(try store.signIn(time) == 1)
        #expect(try store.signIn(time) == 2)
        #expect(try store.eraseSession()?.refreshToken == "refresh-secret")
        #expect(try store.grant() == nil)
        #expect(try store.eraseSession() == nil)
        #expect(try store.epoch() == 2)
        #expect(try store.signIn(time) == 3)
    }

    @Test(arguments: Place.allCases) func aLoginBegunBeforeALogoutIsNotStored(_ place: Place) throws {
        let store = try store(place)
        try store.savePending(.sample(time))
        let epoch = try store.epoch()
        #expect(try store.spendPending(id) == .marked)
        _ = try store.eraseSession()
        #expect(try store.storeLogin(.sample(), spending: id, since: epoch) == .superseded)
        #expect(try store.grant() == nil)
    }

    @Test func aLogoutElsewhereDuringTheExchangeWins() throws {
        let (login, logout) = (try fixture.store(), try fixture.store())
        try login.savePending(.sample(time))
        let epoch = try login.epoch()
        #expect(try login.spendPending(id) == .marked)
        _ = try logout.eraseSession()
        // Left to its living owner, and worth nothing all the same.
        #expect(try fixture.files().contains("pending-\(id)"))
        #expect(try login.storeLogin(.sample(), spending: id, since: epoch) == .superseded)
        #expect(try fixture.files() == ["counters", "key", "write.lock"])
    }

    @Test func aLoginOfAnErasedSessionDoesNotReplaceTheNextOne() throws {
        let (late, other) = (try fixture.store(), try fixture.store())
        try late.savePending(.sample(time))
        #expect(try late.spendPending(id) == .marked)
        _ = try other.eraseSession()
        #expect(try other.signIn(time, .sample("next")) == 1)
        #expect(try late.storeLogin(.sample("late"), spending: id, since: 0) == .superseded)
        #expect(try other.grant()?.refreshToken == "next")
    }

    @Test func aLogoutThatCouldNotWaitForTheLockWinsAllTheSame() throws {
        let logout = try fixture.store(waits: .init(erasingMillis: 0))
        // Holds the write lock when the logout comes, between the look at the epoch and the grant's rename.
        let login = SealedCredentialStore(
            records: InterruptedRecordStore(try fixture.records()) { _ = try? logout.eraseSession() },
            keys: KeyFile(path: try fixture.path("key")), binding: try fixture.binding(), time: time)
        try login.savePending(.sample(time))
        #expect(try login.spendPending(id) == .marked)
        #expect(try login.storeLogin(.sample(), spending: id, since: 0) == .superseded)
        #expect(try logout.epoch() == 1)
        #expect(try logout.grant() == nil)
    }

    @Test func aLoginWhoseRequestWasErasedIsNotStored() throws {
        let (login, other) = (try fixture.store(), try fixture.store())
        try login.savePending(.sample(time))
        #expect(try login.spendPending(id) == .marked)
        login.abandonPending(id)
        try other.erasePending(id)
        #expect(try login.storeLogin(.sample(), spending: id, since: 0) == .superseded)
        #expect(try other.grant() == nil)
    }

    @Test func logoutErasesRequestsOfOursAndOfTheDead() throws {
        let (ours, dead, living) = (try fixture.store(), try fixture.store(), try fixture.store())
        let ids = (1...3).map { String(repeating: "\($0)", count: 32) }
        for (store, id) in zip([ours, dead, living], ids) { try store.savePending(.sample(time, id: id)) }
        dead.close()
        try fixture.overwrite("tmp-01", [1])
        _ = try ours.eraseSession()
        #expect(
            try fixture.files() == ["counters", "key", "write.lock", "pending-\(ids[2])", "owner-\(ids[2])"])
        #expect(try living.spendPending(ids[2]) == .marked)
    }

    @Test func anErasureLeavesARequestToItsLivingOwner() throws {
        let (owner, other) = (try fixture.store(), try fixture.store())
        try owner.savePending(.sample(time))
        try other.erasePending(id)
        #expect(try owner.spendPending(id) == .marked)
    }

    @Test func aStoreSeesWhatAnotherProcessStored() throws {
        let (first, second) = (try fixture.store(), try fixture.store())
        try first.signIn(time)
        #expect(try second.grant()?.generation == 1)
        #expect(try second.eraseSession() != nil)
        #expect(try first.grant() == nil)
        #expect(try first.epoch() == 1)
    }

    // MARK: Handing over

    @Test func aRedirectIsHandedToItsOwnerOnce() throws {
        let (owner, other) = (try fixture.store(), try fixture.store())
        try owner.signIn(time)
        try owner.savePending(.sample(time))
        let url = "http://127.0.0.1:4711/cb?state=x&code=y"
        try other.handOver(redirect: url, to: id)
        #expect(try owner.takeHandedOver(id) == url)
        #expect(try owner.takeHandedOver(id) == nil)
    }

    @Test func nothingIsHandedToARequestThatEnded() throws {
        let store = try fixture.store()
        try store.handOver(redirect: "http://127.0.0.1/cb", to: id)
        #expect(try store.takeHandedOver(id) == nil)
    }

    // MARK: Counters

    @Test func countersThatMakeNoSenseStartAgain() throws {
        let store = try fixture.store()
        try store.signIn(time)
        _ = try store.eraseSession()
        for text in ["", "{}", "{\"epoch\":-1,\"generation\":1}", "{\"epoch\":1,\"generation\":9223372036854775807}"] {
            try fixture.overwrite("counters", Array(text.utf8))
            #expect(try store.epoch() == 0, "\(text)")
        }
        #expect(try store.signIn(time) == 1)
    }

    @Test func anAbsurdGenerationIsNotCountedOn() {
        let counters = StoreCounters(epoch: 1, generation: 5)
        #expect(counters.afterErasing(generation: .max, isLogout: true) == StoreCounters(epoch: 2, generation: 5))
        #expect(counters.afterErasing(generation: -1, isLogout: true) == StoreCounters(epoch: 2, generation: 5))
        #expect(counters.afterErasing(generation: 7, isLogout: true) == StoreCounters(epoch: 2, generation: 7))
        #expect(counters.afterErasing(generation: 7, isLogout: false) == StoreCounters(epoch: 1, generation: 7))
    }

    // MARK: The end

    @Test func aClosedStoreKeepsItsRecordsAndGivesUpItsRequests() throws {
        let store = try fixture.store()
        try store.savePending(.sample(time))
        store.close()
        #expect(storeError { _ = try store.grant() }?.isStoreUnavailable == true)
        #expect(try fixture.store().restore().pending?.id == id)
    }

    @Test func memoryIsEmptyAfterClose() throws {
        let store = try store(.memory)
        try store.signIn(time)
        store.close()
        #expect(try store.grant() == nil)
        #expect(access(try fixture.directory, F_OK) != 0)
    }
}

/// Lets something happen right before a grant is written.
private struct InterruptedRecordStore: RecordStore {
    let records: any RecordStore
    let interruption: @Sendable () -> Void

    init(_ records: any RecordStore, _ interruption: @escaping @Sendable () -> Void) {
        self.records = records
        self.interruption = interruption
    }

    func entries() throws(OAuthError) -> [StoreEntry] { try records.entries() }
    func read(_ entry: StoreEntry) throws(OAuthError) -> [UInt8]? { try records.read(entry) }
    func write(_ bytes: [UInt8], to entry: StoreEntry, using reservation: StoreEntry?) throws(OAuthError) {
        if entry == .grant { interruption() }
        try records.write(bytes, to: entry, using: reservation)
    }
    func erase(_ entries: [StoreEntry]) throws(OAuthError) { try records.erase(entries) }
    func reserve(_ byteCount: Int, as entry: StoreEntry) throws(OAuthError) {
        try records.reserve(byteCount, as: entry)
    }
    func lock(_ entry: StoreEntry, waitMillis milliseconds: Int64) throws(OAuthError) -> HeldLock? {
        try records.lock(entry, waitMillis: milliseconds)
    }
    func watch(_ changed: @escaping @Sendable () -> Void) { records.watch(changed) }
    func close() { records.close() }
}
