// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// A disk of 64 KiB, which runs full and is made read-only. Needs the right to mount: root.
@Suite(.enabled(if: SmallDisk.isPossible, "needs the right to mount a tmpfs")) struct StoreFullDiskTests {
    private let disk: SmallDisk
    private var fixture: StoreFixture { disk.fixture }
    private let id = String(repeating: "a1", count: 16)

    init() throws {
        disk = try SmallDisk()
    }

    @Test func aLoginFitsIntoASmallDisk() throws {
        #expect(try fixture.store().signIn(fixture.time) == 1)
    }

    @Test func aFullDiskShowsBeforeTheBrowserIsOpened() throws {
        let store = try fixture.store()
        _ = try store.restore()
        try disk.fill()
        let error = try #require(storeError { try store.savePending(.sample(fixture.time)) })
        #expect(error.isStoreUnavailable && error.diagnostics.detail.contains("No space left"))
        try disk.empty()
        // Nothing is left of it, not even an owner.
        try store.savePending(.sample(fixture.time))
    }

    @Test func aFullDiskShowsBeforeTheCodeIsSent() throws {
        let store = try fixture.store()
        try store.savePending(.sample(fixture.time))
        try disk.fill()
        #expect(storeError { _ = try store.spendPending(id) }?.isStoreUnavailable == true)
        try disk.empty()
        #expect(try store.spendPending(id) == .marked)
    }

    @Test func onceTheCodeMayBeSentItsAnswerCanBeStored() throws {
        let store = try fixture.store()
        try store.savePending(.sample(fixture.time))
        #expect(try store.spendPending(id) == .marked)
        try disk.fill()
        let large = Grant.sample(String(repeating: "r", count: 20_000))
        #expect(try store.storeLogin(large, spending: id, since: 0) == .stored(generation: 1))
        #expect(try fixture.store().grant()?.refreshToken == large.refreshToken)
    }

    @Test func logoutWorksOnAFullDisk() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        try disk.fill()
        #expect(try store.eraseSession()?.refreshToken == "refresh-secret")
        #expect(try store.grant() == nil)
        #expect(try store.epoch() == 1)
    }

    @Test func whatIsThereSurvivesAFullDisk() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        try disk.fill()
        #expect(storeError { try store.savePending(.sample(fixture.time)) } != nil)
        #expect(try fixture.store().restore().grant?.refreshToken == "refresh-secret")
        #expect(try fixture.files() == ["grant", "key", "write.lock"])
    }

    @Test func aReadOnlyDiskIsAnError() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        try store.savePending(.sample(fixture.time))
        store.close()
        try disk.remount(readOnly: true)
        defer { try? disk.remount(readOnly: false) }
        let fresh = try fixture.store()
        for operation in [
            { _ = try fresh.restore() }, { try fresh.savePending(.sample(fixture.time)) },
            { _ = try fresh.spendPending(id) }, { _ = try fresh.eraseSession() }, { try fresh.erasePending(id) },
        ] {
            #expect(storeError(operation)?.isStoreUnavailable == true)
        }
        // Reading is still possible.
        #expect(try fresh.grant()?.refreshToken == "refresh-secret")
    }
}

/// A fixture on a tmpfs of its own.
private final class SmallDisk: Sendable {
    static let isPossible: Bool = geteuid() == 0 && (try? SmallDisk()) != nil

    let fixture: StoreFixture

    private struct MountFailure: Error {}

    init() throws {
        fixture = try StoreFixture()
        guard mount("tmpfs", fixture.base, "tmpfs", 0, "size=64k,mode=700") == 0 else { throw MountFailure() }
    }

    deinit {
        umount2(fixture.base, Int32(MNT_DETACH))
    }

    func fill() throws {
        let file = try Descriptor("\(fixture.base)/filler", O_WRONLY | O_CREAT, mode: 0o600)
        while (try? file.writeAll([UInt8](repeating: 0, count: 512))) != nil {}
    }

    func empty() throws {
        guard unlink("\(fixture.base)/filler") == 0 else { throw MountFailure() }
    }

    func remount(readOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0)
        guard mount("tmpfs", fixture.base, "tmpfs", flags, "size=64k") == 0 else { throw MountFailure() }
    }
}
