// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct JOSEBase64URLTests {
    @Test func everyLengthComesBack() {
        for count in 0...67 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ 251) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    /// RFC 4648 §10 and RFC 7515 C.
    @Test(arguments: [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")])
    func publishedValues(text: String, encoded: String) {
        #expect(Base64URL.encode(text.utf8) == encoded)
        #expect(Base64URL.decode(encoded) == Array(text.utf8))
    }

    @Test func theAlphabetIsTheOneForURLs() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test(arguments: [
        "A", "Zg==", "Zg=", "Zm8=", "Zm 8", "Zm8\n", " Zm8", "Zm9v=", "Z+8", "Z/8", "Zm9vA", "Zm9ü", "Zm9v.",
        "Zm\u{0}v",
    ])
    func paddingWhiteSpaceAndForeignCharactersAreRefused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["Zh", "Zm9", "AB", "AAB", "__9_AAF"])
    func unusedBitsMustBeZero(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
