// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// What a record that was tampered with, copied or made elsewhere comes to (docs/store-format.md).
@Suite struct StoreFormatTests {
    /// A store with a grant, closed.
    private func signedIn() throws -> StoreFixture {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        try store.signIn(fixture.time)
        store.close()
        return fixture
    }

    private enum Verdict { case leftAlone, locked, erased }

    /// Where each region of a record begins, and what a changed byte in it means.
    private static let regions: [(range: Range<Int>, verdict: Verdict)] = [
        (0..<8, .erased),  // magic
        (8..<10, .leftAlone),  // format, changed upwards
        (10..<20, .erased),  // kind, reserved, generation
        (20..<36, .locked),  // key check
        (36..<68, .leftAlone),  // binding
        (68..<80, .erased),  // nonce
    ]

    @Test func everyChangedByteIsNoticed() throws {
        let fixture = try signedIn()
        let original = try fixture.bytes("grant")
        for index in original.indices {
            try fixture.overwrite("grant", original)
            var changed = original
            changed[index] ^= 0x80
            try fixture.overwrite("grant", changed)
            let store = try fixture.store()
            let error = storeError { _ = try store.grant() }
            let verdict = Self.regions.first { $0.range.contains(index) }?.verdict ?? .erased
            switch verdict {
            case .leftAlone: #expect(error?.isStoreUnavailable == true, "byte \(index)")
            case .locked: #expect(error?.isUnlockRequired == true, "byte \(index)")
            case .erased: #expect(error?.isInvalidated == true, "byte \(index)")
            }
            #expect(try fixture.files().contains("grant") == (verdict != .erased), "byte \(index)")
            if verdict != .erased { #expect(try fixture.bytes("grant") == changed) }
            // Told once.
            if verdict == .erased { #expect(try store.grant() == nil) }
            store.close()
        }
    }

    @Test func everyTruncationIsNoticed() throws {
        let fixture = try signedIn()
        let original = try fixture.bytes("grant")
        for length in 0..<original.count {
            try fixture.overwrite("grant", Array(original.prefix(length)))
            let store = try fixture.store()
            #expect(storeError { _ = try store.restore() }?.isInvalidated == true, "\(length) bytes")
            #expect(try fixture.files().isDisjoint(with: ["grant"]))
            #expect(try store.restore().grant == nil)
            store.close()
        }
    }

    @Test func aLowerFormatThatNeverWasIsDamage() throws {
        let fixture = try signedIn()
        var bytes = try fixture.bytes("grant")
        bytes[9] = 0
        try fixture.overwrite("grant", bytes)
        #expect(storeError { _ = try fixture.store().grant() }?.isInvalidated == true)
    }

    @Test func damageToOneRecordErasesAllThatLooksLikeACredential() throws {
        let fixture = try signedIn()
        let other = try fixture.store()
        let request = PendingRequest.sample(fixture.time)
        try other.savePending(request)
        try other.handOver(redirect: "http://127.0.0.1/cb?code=x", to: request.id)
        try fixture.overwrite("grant", [1, 2, 3])
        #expect(storeError { _ = try fixture.store().grant() }?.isInvalidated == true)
        #expect(try fixture.files().isDisjoint(with: ["grant", "pending-\(request.id)", "redirect-\(request.id)"]))
        #expect(try fixture.files().contains("key"))
        #expect(try other.epoch() == 0)
        #expect(try other.spendPending(request.id) == .over)
    }

    @Test func theGenerationGoesOnAfterDamage() throws {
        let fixture = try signedIn()
        var bytes = try fixture.bytes("grant")
        bytes[bytes.count - 1] ^= 1
        try fixture.overwrite("grant", bytes)
        let store = try fixture.store()
        #expect(storeError { _ = try store.grant() }?.isInvalidated == true)
        #expect(try store.signIn(fixture.time) == 2)
    }

    @Test func aRecordOfAnotherSessionIsLeftAlone() throws {
        let fixture = try signedIn()
        let elsewhere = try fixture.store(session: "work", in: try fixture.place())
        let before = try fixture.bytes("grant")
        for operation in [
            { _ = try elsewhere.restore() }, { _ = try elsewhere.grant() },
            { try elsewhere.savePending(.sample(fixture.time)) }, { _ = try elsewhere.eraseSession() },
        ] {
            #expect(storeError(operation)?.isStoreUnavailable == true)
        }
        #expect(try fixture.bytes("grant") == before)
        elsewhere.close()
        #expect(try fixture.store().grant()?.refreshToken == "refresh-secret")
    }

    @Test func aRecordOfAnotherIssuerIsLeftAlone() throws {
        let fixture = try signedIn()
        let elsewhere = try fixture.store(issuer: "https://evil.example", in: try fixture.place())
        #expect(storeError { _ = try elsewhere.restore() }?.isStoreUnavailable == true)
        #expect(try fixture.store().restore().grant != nil)
    }

    @Test func aRequestInPlaceOfAnotherIsNoticed() throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        let (first, second) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
        try store.savePending(.sample(fixture.time, id: first))
        try store.savePending(.sample(fixture.time, id: second))
        try fixture.overwrite("pending-\(second)", try fixture.bytes("pending-\(first)"))
        #expect(storeError { _ = try store.pending(state: "x") }?.isInvalidated == true)
    }

    @Test func aSwappedKeyLocksAndErasesNothing() throws {
        let fixture = try signedIn()
        let (grant, key) = (try fixture.bytes("grant"), try fixture.bytes("key"))
        try fixture.overwrite("key", [UInt8](repeating: 7, count: 32))
        let store = try fixture.store()
        for operation in [
            { _ = try store.restore() }, { _ = try store.grant() }, { try store.savePending(.sample(fixture.time)) },
        ] {
            #expect(storeError(operation)?.isUnlockRequired == true)
        }
        #expect(try fixture.bytes("grant") == grant)
        try fixture.overwrite("key", key)
        #expect(try store.grant()?.refreshToken == "refresh-secret")
    }

    @Test func aSwappedKeyAndDamageTogetherEraseNothingThatAnotherKeyCouldOpen() throws {
        let fixture = try signedIn()
        try fixture.overwrite("key", [UInt8](repeating: 7, count: 32))
        let id = String(repeating: "c", count: 32)
        try fixture.overwrite("pending-\(id)", [0])
        #expect(storeError { _ = try fixture.store().pending(state: "x") }?.isUnlockRequired == true)
        #expect(try fixture.files().isSuperset(of: ["grant", "pending-\(id)"]))
    }

    @Test func aMissingKeyLocksAndMakesNoNewOne() throws {
        let fixture = try signedIn()
        let grant = try fixture.bytes("grant")
        #expect(unlink(try fixture.path("key")) == 0)
        let store = try fixture.store()
        #expect(storeError { _ = try store.restore() }?.isUnlockRequired == true)
        #expect(storeError { try store.savePending(.sample(fixture.time)) }?.isUnlockRequired == true)
        #expect(try !fixture.files().contains("key"))
        #expect(try fixture.bytes("grant") == grant)
        // The way out without the key (behaviour §1, logout while Locked).
        #expect(try store.eraseSession() == nil)
        #expect(try store.signIn(fixture.time) == 2)
    }

    @Test func aGrantThatOpensButSaysUnknownThingsIsLeftAlone() throws {
        let fixture = try signedIn()
        let vault = RecordVault(
            records: try fixture.records(), keys: KeyFile(path: try fixture.path("key")), binding: try fixture.binding()
        )
        try vault.save(Secret("{\"v2\":true}"), as: .grant)
        #expect(storeError { _ = try fixture.store().grant() }?.isStoreUnavailable == true)
        #expect(try fixture.files().contains("grant"))
    }

    @Test func noSecretLiesOpenOnDisk() throws {
        let fixture = try signedIn()
        let store = try fixture.store()
        try store.savePending(.sample(fixture.time))
        for name in try fixture.files() {
            let text = String(decoding: try fixture.bytes(name), as: UTF8.self)
            for secret in ["refresh-secret", "verifier", "state-", "nonce", "issuer.example", "client"] {
                #expect(!text.contains(secret), "\(secret) in \(name)")
            }
        }
    }

    @Test func twoSealingsOfOneGrantShareNoNonce() throws {
        let fixture = try signedIn()
        let first = try fixture.bytes("grant")
        try fixture.store().signIn(fixture.time)
        #expect(try fixture.bytes("grant")[68..<80] != first[68..<80])
    }

    @Test func namesOfBindingsDoNotCollide() throws {
        let pairs = [("a", "bc", "d"), ("ab", "c", "d"), ("a", "b", "cd"), ("abc", "", "d"), ("", "abc", "d")]
        let names = try pairs.map { try StoreBinding(issuer: $0.0, clientID: $0.1, session: $0.2).directoryName }
        #expect(Set(names).count == pairs.count)
        #expect(names.allSatisfy { $0.count == 32 && $0.utf8.allSatisfy(Hex.isDigit) })
    }

    @Test func onlyOurNamesAreEntries() {
        for name in [
            "grant", "counters", "write.lock", "refresh.lock", "pending-0a", "owner-0a", "redirect-0a",
            "reserve-0a", "tmp-0a",
        ] {
            #expect(StoreEntry(name: name)?.name == name)
        }
        for name in ["", "key", "pending-", "pending-XY", "pending-../x", "tmp-", "-0a", "grant-0a", "grant~"] {
            #expect(StoreEntry(name: name) == nil, "\(name)")
        }
    }
}
