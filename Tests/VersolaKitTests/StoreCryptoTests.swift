// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct StoreCryptoTests {
    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).map { offset in
            let start = hex.index(hex.startIndex, offsetBy: offset)
            return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16) ?? 0
        }
    }

    @Test func sha256OfTheStandardsExample() throws {
        // FIPS 180-4, example "abc".
        #expect(
            Hex.encode(try HashFunction.sha256.digest(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Hex.encode(try HashFunction.sha256.digest([])).hasPrefix("e3b0c44298fc1c14"))
    }

    @Test func hmacOfRFC4231() throws {
        // RFC 4231 §4.3.
        let code = try HMACSHA256.authenticate(Array("what do ya want for nothing?".utf8), key: Secret("Jefe"))
        #expect(Hex.encode(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func aes256GCMOfTheOriginalSpecification() throws {
        // McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16.
        let key = Secret(bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let nonce = bytes("cafebabefacedbaddecaf888")
        let data = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let plaintext = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                + "b16aedf5aa0de657ba637b39")
        let sealed = try AESGCM.seal(Secret(plaintext), key: key, nonce: nonce, authenticating: data)
        #expect(
            Hex.encode(sealed)
                == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                + "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")
        let opened = try AESGCM.open(sealed[...], key: key, nonce: nonce, authenticating: data)
        #expect(opened?.withBytes(Array.init) == plaintext)
    }

    @Test func anythingChangedDoesNotOpen() throws {
        let key = Secret(try SystemRandom().bytes(32))
        let nonce = try SystemRandom().bytes(12)
        let sealed = try AESGCM.seal(Secret("text"), key: key, nonce: nonce, authenticating: [1, 2])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try AESGCM.open(changed[...], key: key, nonce: nonce, authenticating: [1, 2]) == nil)
        }
        #expect(try AESGCM.open(sealed[...], key: key, nonce: nonce, authenticating: [1, 3]) == nil)
        #expect(
            try AESGCM.open(
                sealed[...], key: Secret([UInt8](repeating: 0, count: 32)), nonce: nonce,
                authenticating: [1, 2]) == nil)
        for length in 0..<sealed.count {
            #expect(try AESGCM.open(sealed.prefix(length), key: key, nonce: nonce, authenticating: [1, 2]) == nil)
        }
    }

    @Test func emptyTextIsSealedToo() throws {
        let key = Secret(try SystemRandom().bytes(32))
        let nonce = try SystemRandom().bytes(12)
        let sealed = try AESGCM.seal(Secret([UInt8]()), key: key, nonce: nonce, authenticating: [])
        #expect(sealed.count == AESGCM.tagSize)
        #expect(try AESGCM.open(sealed[...], key: key, nonce: nonce, authenticating: [])?.count == 0)
    }

    @Test func aKeyOfAnotherSizeIsAFailureNotACrash() throws {
        #expect(throws: OAuthError.cryptoUnavailable("set up AES-GCM")) {
            try AESGCM.seal(
                Secret("x"), key: Secret("short"), nonce: .init(repeating: 0, count: 12), authenticating: [])
        }
    }

    @Test func randomBytesDiffer() throws {
        #expect(try SystemRandom().bytes(32) != SystemRandom().bytes(32))
        #expect(try SystemRandom().bytes(0).isEmpty)
    }

    @Test func constantTimeComparison() {
        #expect(equalInConstantTime("", ""))
        #expect(equalInConstantTime("ab", "ab"))
        #expect(!equalInConstantTime("ab", "ac"))
        #expect(!equalInConstantTime("ab", "a"))
    }
}
