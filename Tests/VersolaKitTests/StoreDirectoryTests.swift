// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// Where a store lies, and who may come near it (behaviour §9).
@Suite(.serialized) struct StoreDirectoryTests {
    private let fixture: StoreFixture
    private let id = String(repeating: "a1", count: 16)

    init() throws {
        fixture = try StoreFixture()
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        #expect(lstat(path, &status) == 0, "\(path)")
        return status.st_mode & 0o7777
    }

    // MARK: Place

    @Test func theStateHomeIsTheEnvironmentsWhenAbsolute() throws {
        let environment = ["XDG_STATE_HOME": "/state", "HOME": "/home/u"]
        #expect(try StoreDirectory(name: "n") { environment[$0] }.path == "/state/versola/n")
    }

    @Test(arguments: [nil, "", "relative/state"]) func aRelativeStateHomeIsIgnored(_ value: String?) throws {
        let environment = ["XDG_STATE_HOME": value, "HOME": "/home/u"]
        #expect(
            try StoreDirectory(name: "n") { environment[$0] ?? nil }.path == "/home/u/.local/state/versola/n")
    }

    @Test func withoutAHomeThereIsNoStore() {
        #expect(storeError { _ = try StoreDirectory(name: "n") { _ in nil } }?.isStoreUnavailable == true)
        #expect(storeError { _ = try StoreDirectory(name: "n") { _ in "x" } }?.isStoreUnavailable == true)
    }

    @Test func missingParentsAreMade() throws {
        let place = StoreDirectory(base: "\(fixture.base)/a/b", name: "n")
        _ = try fixture.store(in: place).restore()
        for path in ["a", "a/b", "a/b/versola", "a/b/versola/n"] {
            #expect(try mode("\(fixture.base)/\(path)") == 0o700)
        }
    }

    @Test func aSymbolicLinkAboveOurOwnDirectoriesIsTheUsersAffair() throws {
        #expect(mkdir("\(fixture.base)/real", 0o755) == 0)
        #expect(symlink("real", "\(fixture.base)/link") == 0)
        let place = StoreDirectory(base: "\(fixture.base)/link", name: "n")
        _ = try fixture.store(in: place).restore()
        #expect(try mode("\(fixture.base)/real/versola/n") == 0o700)
    }

    // MARK: Modes

    @Test(arguments: [0, 0o777] as [mode_t]) func modesDoNotDependOnTheUmask(_ mask: mode_t) throws {
        // Without root's rights a directory made under 0777 could not be entered.
        if mask != 0, geteuid() != 0 { return }
        let old = umask(mask)
        defer { umask(old) }
        let store = try fixture.store()
        try store.signIn(fixture.time)
        try store.savePending(.sample(fixture.time))
        #expect(try store.spendPending(id) == .marked)
        try store.handOver(redirect: "x", to: id)
        #expect(try fixture.files().count == 7)
        for name in try fixture.files() { #expect(try mode(fixture.path(name)) == 0o600, "\(name)") }
        #expect(try mode(fixture.directory) == 0o700)
        #expect(try mode("\(fixture.base)/versola") == 0o700)
    }

    @Test func aDirectoryOthersCouldReadIsClosed() throws {
        _ = try fixture.store().restore()
        #expect(chmod(try fixture.directory, 0o755) == 0)
        _ = try fixture.store().restore()
        #expect(try mode(fixture.directory) == 0o700)
    }

    @Test(arguments: [0o720, 0o702] as [mode_t]) func aDirectoryOthersCanWriteIsRefused(_ mode: mode_t) throws {
        _ = try fixture.store().restore()
        for path in [try fixture.directory, "\(fixture.base)/versola"] {
            #expect(chmod(path, mode) == 0)
            #expect(storeError { _ = try fixture.store().restore() }?.isStoreUnavailable == true)
            #expect(chmod(path, 0o700) == 0)
        }
        _ = try fixture.store().restore()
    }

    @Test(.enabled(if: geteuid() == 0, "needs root")) func aDirectoryOfAnotherUserIsRefused() throws {
        _ = try fixture.store().restore()
        for path in [try fixture.directory, "\(fixture.base)/versola"] {
            #expect(chown(path, 65_534, 65_534) == 0)
            #expect(storeError { _ = try fixture.store().restore() }?.isStoreUnavailable == true)
            #expect(chown(path, 0, 0) == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"), arguments: ["grant", "key", "counters", "write.lock"])
    func aFileOfAnotherUserIsRefused(_ name: String) throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        _ = try store.eraseSession()
        try store.signIn(fixture.time)
        #expect(chown(try fixture.path(name), 65_534, 65_534) == 0)
        let error = storeError {
            let fresh = try fixture.store()
            _ = try fresh.restore()
            _ = try fresh.epoch()
        }
        #expect(error?.isStoreUnavailable == true)
    }

    // MARK: Links and other traps

    @Test(arguments: ["grant", "key", "counters", "write.lock"]) func aLinkInPlaceOfAFileIsRefused(_ name: String)
        throws
    {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        _ = try store.eraseSession()
        try store.signIn(fixture.time)
        let target = "\(fixture.base)/target"
        #expect(rename(try fixture.path(name), target) == 0)
        #expect(symlink(target, try fixture.path(name)) == 0)
        let error = storeError {
            let fresh = try fixture.store()
            _ = try fresh.restore()
            _ = try fresh.epoch()
        }
        #expect(error?.isStoreUnavailable == true)
    }

    @Test func aLinkInPlaceOfADirectoryIsRefused() throws {
        #expect(mkdir("\(fixture.base)/elsewhere", 0o700) == 0)
        #expect(symlink("elsewhere", "\(fixture.base)/versola") == 0)
        #expect(storeError { _ = try fixture.store().restore() }?.isStoreUnavailable == true)
        #expect(unlink("\(fixture.base)/versola") == 0)
        #expect(mkdir("\(fixture.base)/versola", 0o700) == 0)
        #expect(symlink("../elsewhere", try fixture.directory) == 0)
        #expect(storeError { _ = try fixture.store().restore() }?.isStoreUnavailable == true)
    }

    @Test func aLinkIsReplacedNotWrittenThrough() throws {
        let store = try fixture.store()
        let victim = "\(fixture.base)/victim"
        try Descriptor(victim, O_WRONLY | O_CREAT, mode: 0o644).writeAll([1, 2, 3])
        _ = try store.restore()
        for name in ["pending-\(id)", "redirect-\(id)"] { #expect(symlink(victim, try fixture.path(name)) == 0) }
        #expect(storeError { try store.savePending(.sample(fixture.time)) }?.isStoreUnavailable == true)
        #expect(try Descriptor(victim, O_RDONLY).readAll(limit: 10) == [1, 2, 3])
        #expect(symlink(victim, try fixture.path("reserve-\(id)")) == 0)
        #expect(storeError { try fixture.records().reserve(100, as: .reservation(id)) }?.isStoreUnavailable == true)
        #expect(try Descriptor(victim, O_RDONLY).readAll(limit: 10) == [1, 2, 3])
    }

    @Test func aPipeInPlaceOfARecordDoesNotBlock() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        #expect(unlink(try fixture.path("grant")) == 0)
        #expect(mkfifo(try fixture.path("grant"), 0o600) == 0)
        #expect(storeError { _ = try store.grant() }?.isStoreUnavailable == true)
    }

    @Test func aDirectoryInPlaceOfARecordIsRefused() throws {
        let store = try fixture.store()
        _ = try store.restore()
        #expect(mkdir(try fixture.path("grant"), 0o700) == 0)
        #expect(storeError { _ = try store.grant() }?.isStoreUnavailable == true)
    }

    @Test func aRecordTooLargeToBeOursIsNotSwallowedWhole() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        #expect(truncate(try fixture.path("grant"), 1 << 40) == 0)
        #expect(storeError { _ = try store.grant() }?.isInvalidated == true)
    }

    @Test func descriptorsAreClosedOnExecAndWithTheStore() throws {
        func open() -> Set<Int32> { Set((0..<512).filter { fcntl($0, F_GETFD) >= 0 }) }
        let store = try fixture.store()
        try store.savePending(.sample(fixture.time))
        store.watch {}
        for descriptor in open() where Self.isBelow(fixture.base, descriptor) {
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(open().filter { Self.isBelow(fixture.base, $0) }.count == 2)
        store.close()
        #expect(open().filter { Self.isBelow(fixture.base, $0) }.isEmpty)
        #expect(fixture.watcher.watched == 0)
    }

    private static func isBelow(_ base: String, _ descriptor: Int32) -> Bool {
        var target = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
        guard length > 0 else { return false }
        return String(decoding: target.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self).hasPrefix(base)
    }

    // MARK: A directory that goes away

    @Test func aRemovedDirectoryIsMadeAgain() throws {
        let store = try fixture.store()
        try store.signIn(fixture.time)
        for name in try fixture.files() { #expect(unlink(try fixture.path(name)) == 0) }
        #expect(rmdir(try fixture.directory) == 0)
        #expect(try store.grant() == nil)
        try store.signIn(fixture.time)
        // Under a key that the next process finds.
        #expect(try fixture.store().grant()?.refreshToken == "refresh-secret")
    }

    @Test func errorsNameTheOperationAndNoSecret() throws {
        #expect(symlink("nowhere", "\(fixture.base)/versola") == 0)
        let error = try #require(storeError { _ = try fixture.store().restore() })
        #expect(error.diagnostics.detail.contains("open:"))
    }
}
