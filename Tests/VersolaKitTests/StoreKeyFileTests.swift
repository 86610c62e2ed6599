// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Testing

@testable import VersolaKit

@Suite struct StoreKeyFileTests {
    private let fixture: StoreFixture
    private let path: String

    init() throws {
        fixture = try StoreFixture()
        path = "\(fixture.base)/app.key"
    }

    private func bytes(_ key: Secret) -> [UInt8] { key.withBytes(Array.init) }

    @Test func isMadeWhenMissingAndThenStays() throws {
        let key = try KeyFile(path: path).rootKey(mayCreate: true)
        #expect(key.count == 32)
        #expect(bytes(try KeyFile(path: path).rootKey(mayCreate: false)) == bytes(key))
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600 && status.st_nlink == 1 && status.st_size == 32)
    }

    @Test func isNotMadeWhenRecordsNeedAnother() {
        #expect(storeError { _ = try KeyFile(path: path).rootKey(mayCreate: false) }?.isUnlockRequired == true)
        #expect(access(path, F_OK) != 0)
    }

    @Test func twoFilesDiffer() throws {
        let first = try KeyFile(path: path).rootKey(mayCreate: true)
        let second = try KeyFile(path: path + "2").rootKey(mayCreate: true)
        #expect(bytes(first) != bytes(second))
    }

    @Test(arguments: [0, 1, 31, 33, 4_096]) func aWrongSizeIsRefusedAndKept(_ size: Int) throws {
        try Descriptor(path, O_WRONLY | O_CREAT, mode: 0o600).writeAll([UInt8](repeating: 1, count: size))
        #expect(storeError { _ = try KeyFile(path: path).rootKey(mayCreate: true) }?.isStoreUnavailable == true)
        #expect(try Descriptor(path, O_RDONLY).readAll(limit: 10_000).count == size)
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o610] as [mode_t]) func aModeTooOpenIsRefused(_ mode: mode_t) throws {
        _ = try KeyFile(path: path).rootKey(mayCreate: true)
        #expect(chmod(path, mode) == 0)
        #expect(storeError { _ = try KeyFile(path: path).rootKey(mayCreate: true) }?.isStoreUnavailable == true)
    }

    @Test func aLinkIsRefusedEvenADanglingOne() throws {
        #expect(symlink("target", path) == 0)
        #expect(storeError { _ = try KeyFile(path: path).rootKey(mayCreate: true) }?.isStoreUnavailable == true)
        _ = try KeyFile(path: "\(fixture.base)/target").rootKey(mayCreate: true)
        #expect(storeError { _ = try KeyFile(path: path).rootKey(mayCreate: true) }?.isStoreUnavailable == true)
    }

    @Test func aDirectoryThatIsNotThereIsAnError() {
        let missing = KeyFile(path: "\(fixture.base)/none/app.key")
        #expect(storeError { _ = try missing.rootKey(mayCreate: true) }?.isStoreUnavailable == true)
    }

    @Test func manyThatMakeItAtOnceAgree() throws {
        let keys = Lock<Set<[UInt8]>>([])
        let failures = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 32) { _ in
            guard let key = try? KeyFile(path: path).rootKey(mayCreate: true) else {
                return failures.withLock { $0 += 1 }
            }
            let value = key.withBytes(Array.init)
            keys.withLock { _ = $0.insert(value) }
        }
        #expect(keys.withLock { $0.count } == 1)
        #expect(failures.withLock { $0 } == 0)
    }

    @Test func aStoreWithAKeyFileElsewhereHasNoneOfItsOwn() throws {
        let store = try fixture.store(keyFile: path)
        try store.signIn(fixture.time)
        #expect(try !fixture.files().contains("key"))
        #expect(access(path, F_OK) == 0)
        #expect(try fixture.store(keyFile: path).grant() != nil)
        #expect(storeError { _ = try fixture.store().grant() }?.isUnlockRequired == true)
    }

    @Test func theKeyIsNotTheCheck() throws {
        let root = try KeyFile(path: path).rootKey(mayCreate: true)
        let key = try StoreKey(root: root)
        #expect(key.check.count == 16)
        #expect(key.check != Array(bytes(root).prefix(16)) && key.check != Array(bytes(key.recordKey).prefix(16)))
    }
}
