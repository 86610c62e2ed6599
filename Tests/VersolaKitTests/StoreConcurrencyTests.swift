// SPDX-License-Identifier: Apache-2.0
import CShims
import Dispatch
import Glibc
import Testing

@testable import VersolaKit

/// Several processes on one store. Separate store objects are as good as processes: flock belongs to the open file.
@Suite struct StoreConcurrencyTests {
    private let fixture: StoreFixture
    private let id = String(repeating: "a1", count: 16)

    init() throws {
        fixture = try StoreFixture()
    }

    /// B52: 80 writers at once.
    @Test func eightyWritersDoNoDamage() throws {
        let generations = Lock<[Int64]>([])
        let failures = Lock<[String]>([])
        let group = DispatchGroup()
        for number in 1...80 {
            let queue = DispatchQueue(label: "writer \(number)")
            queue.async(group: group) { [fixture] in
                do {
                    let store = try fixture.store()
                    let id = Hex.encode([UInt8](repeating: UInt8(number), count: 16))
                    let generation = try store.signIn(fixture.time, .sample("refresh-\(number)"), id: id)
                    generations.withLock { $0.append(generation) }
                    #expect(try store.grant() != nil)
                    store.close()
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        group.wait()
        #expect(failures.withLock { $0 }.isEmpty)
        #expect(generations.withLock { $0.sorted() } == Array(1...80))
        #expect(try fixture.files() == ["grant", "key", "write.lock"])
        #expect(try fixture.store().restore().grant?.generation == 80)
    }

    @Test func readersNeverSeeHalfARecord() throws {
        let writer = try fixture.store()
        try writer.signIn(fixture.time, .sample(String(repeating: "x", count: 20_000)))
        let isDone = Lock(false)
        let failures = Lock<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<4 {
            DispatchQueue(label: "reader").async(group: group) { [fixture] in
                do {
                    let store = try fixture.store()
                    while !isDone.withLock({ $0 }) {
                        if try store.grant() == nil { failures.withLock { $0.append("none") } }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for number in 0..<40 {
            try writer.signIn(fixture.time, .sample(String(repeating: "y", count: number * 1_000)))
        }
        isDone.withLock { $0 = true }
        group.wait()
        #expect(failures.withLock { $0 } == [])
    }

    @Test func ofManyWhoGetOneOwnerlessRedirectOneSendsTheCode() throws {
        let first = try fixture.store()
        try first.savePending(.sample(fixture.time))
        first.close()
        let outcomes = Lock<[SpentRequest]>([])
        let stores = try (0..<16).map { _ in try fixture.store() }
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            guard let outcome = try? stores[index].spendPending(id) else { return }
            outcomes.withLock { $0.append(outcome) }
        }
        #expect(outcomes.withLock { $0.count } == 16)
        #expect(outcomes.withLock { $0.filter { $0 == .marked }.count } == 1)
    }

    @Test func ofManyStartsOneTakesTheRequestOver() throws {
        let first = try fixture.store()
        try first.savePending(.sample(fixture.time))
        first.close()
        let stores = try (0..<16).map { _ in try fixture.store() }
        let owners = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            if (try? stores[index].restore())?.pending != nil { owners.withLock { $0 += 1 } }
        }
        #expect(owners.withLock { $0 } == 1)
    }

    // MARK: A stuck lock holder

    @Test func whoeverNeedsTheWriteLockWaitsBoundedly() throws {
        let store = try fixture.store(waits: .init(millis: 20, erasingMillis: 20))
        try store.signIn(fixture.time)
        try store.savePending(.sample(fixture.time))
        let lock = try #require(try fixture.records().lock(.writeLock, waitMillis: 0))
        defer { lock.release() }
        for operation in [
            { try store.savePending(.sample(fixture.time, id: String(repeating: "9", count: 32))) },
            { _ = try store.spendPending(id) }, { _ = try store.pending(state: "x") },
            { _ = try store.storeLogin(.sample(), spending: id, since: 0) },
            { try store.handOver(redirect: "x", to: id) },
        ] {
            #expect(storeError(operation)?.isLockTimeout == true)
        }
        // What needs no lock goes on.
        #expect(try store.grant() != nil)
        #expect(try store.restore().grant != nil)
        #expect(try store.epoch() == 0)
        try store.erasePending(id)
        #expect(try !fixture.files().contains("pending-\(id)"))
    }

    @Test func logoutGoesOnWithoutTheLock() throws {
        let store = try fixture.store(waits: .init(millis: 20, erasingMillis: 20))
        try store.signIn(fixture.time)
        let lock = try #require(try fixture.records().lock(.writeLock, waitMillis: 0))
        try fixture.overwrite("tmp-01", [1])
        #expect(try store.eraseSession()?.refreshToken == "refresh-secret")
        #expect(try fixture.files() == ["counters", "key", "write.lock", "tmp-01"])
        #expect(try store.epoch() == 1)
        lock.release()
        #expect(try store.signIn(fixture.time) == 2)
    }

    @Test func theWriteLockIsGivenBackAfterAFailure() throws {
        let store = try fixture.store()
        #expect(try store.spendPending(id) == .over)
        try fixture.overwrite("grant", [0])
        #expect(storeError { _ = try store.restore() } != nil)
        let lock = try fixture.records().lock(.writeLock, waitMillis: 0)
        #expect(lock != nil)
    }

    // MARK: Locks

    @Test func aLockIsHeldUntilReleasedAndNotTwice() throws {
        let (first, second) = (try fixture.records(), try fixture.records())
        let lock = try #require(try first.lock(.refreshLock, waitMillis: 0))
        #expect(try second.lock(.refreshLock, waitMillis: 0) == nil)
        #expect(try second.lock(.writeLock, waitMillis: 0) != nil)
        lock.release()
        lock.release()
        #expect(try second.lock(.refreshLock, waitMillis: 0) != nil)
    }

    @Test func anErasedLockFileIsNotHeldByAnyone() throws {
        let (first, second) = (try fixture.records(), try fixture.records())
        let lock = try #require(try first.lock(.owner(id), waitMillis: 0))
        try first.erase([.owner(id)])
        let other = try #require(try second.lock(.owner(id), waitMillis: 0))
        lock.release()
        #expect(try first.lock(.owner(id), waitMillis: 0) == nil)
        other.release()
    }

    @Test func aLockOnAFileErasedMeanwhileIsNoLock() throws {
        let directory = try fixture.place().open()
        let file = versola_lock_open(directory.raw, "owner-01")
        defer { versola_lock_close(file) }
        #expect(try FileLock.tryLock(file) == .had)
        #expect(unlinkat(directory.raw, "owner-01", 0) == 0)
        #expect(try FileLock.tryLock(file) == .erased)
    }

    /// A forked child must not keep the locks of a parent that dies.
    @Test func aForkedChildHasNoLocks() throws {
        let records = try fixture.records()
        let lock = try #require(try records.lock(.writeLock, waitMillis: 0))
        defer { lock.release() }
        // Swift hides fork, as its runtime does not survive it; the child below does nothing but two system calls.
        typealias Fork = @convention(c) () -> pid_t
        let symbol = try #require(dlsym(nil, "fork"))
        let fork = unsafeBitCast(symbol, to: Fork.self)
        var expected = stat()
        #expect(stat(try fixture.path("write.lock"), &expected) == 0)
        let held = try #require(
            (Int32(3)..<1_024).first { descriptor in
                var file = stat()
                return fstat(descriptor, &file) == 0 && file.st_ino == expected.st_ino
                    && file.st_dev == expected.st_dev
            } as Int32?)
        let child = fork()
        if child == 0 { _exit(fcntl(held, F_GETFD) == -1 ? 7 : 8) }
        #expect(child > 0)
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child)
        #expect((status >> 8) & 0xff == 7)
        // And the parent's lock is as it was.
        #expect(try fixture.records().lock(.writeLock, waitMillis: 0) == nil)
    }
}
