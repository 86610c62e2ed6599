// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// What one process is told of another's changes.
@Suite struct StoreWatchTests {
    private let fixture: StoreFixture
    private let store: SealedCredentialStore
    private let other: SealedCredentialStore
    private let calls = Lock(0)
    private let id = String(repeating: "a1", count: 16)

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.store()
        other = try fixture.store()
        _ = try store.restore()
        store.watch { [calls] in calls.withLock { $0 += 1 } }
    }

    private func callsNow() -> Int {
        fixture.watcher.poll()
        return calls.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    @Test func loginAndLogoutElsewhereAreToldOnceEach() throws {
        #expect(callsNow() == 0)
        try other.signIn(fixture.time)
        #expect(callsNow() == 1)
        #expect(callsNow() == 0)
        _ = try other.eraseSession()
        #expect(callsNow() == 1)
    }

    @Test func aRedirectHandedOverIsTold() throws {
        try store.savePending(.sample(fixture.time))
        _ = callsNow()
        try other.handOver(redirect: "http://127.0.0.1/cb", to: id)
        #expect(callsNow() == 1)
        #expect(try store.takeHandedOver(id) != nil)
    }

    @Test func locksAndReadsAreNotTold() throws {
        try other.signIn(fixture.time)
        _ = callsNow()
        _ = try other.grant()
        _ = try other.restore()
        _ = try other.pending(state: "x")
        #expect(callsNow() == 0)
    }

    @Test func aStoreWatchedBeforeItsFirstUseIsWatchedFromThen() throws {
        let early = try fixture.store(session: "early")
        let told = Lock(0)
        early.watch { told.withLock { $0 += 1 } }
        _ = try early.restore()
        try fixture.store(session: "early").signIn(fixture.time)
        fixture.watcher.poll()
        #expect(told.withLock { $0 } == 1)
    }

    @Test func aDirectoryRemovedAndMadeAgainIsTold() throws {
        try store.signIn(fixture.time)
        _ = callsNow()
        for name in try fixture.files() { #expect(unlink(try fixture.path(name)) == 0) }
        #expect(rmdir(try fixture.directory) == 0)
        #expect(callsNow() == 1)
        #expect(try store.grant() == nil)
        try other.signIn(fixture.time)
        #expect(callsNow() == 1)
    }

    @Test func afterCloseNothingIsTold() throws {
        store.close()
        try other.signIn(fixture.time)
        #expect(callsNow() == 0)
        #expect(fixture.watcher.watched == 0)
    }
}
