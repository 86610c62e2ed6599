// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Every verdict of Project Wycheproof's files (C2SP/wycheproof, testvectors_v1) is compared, and every file must be known
/// here with its number of tests, so that none is skipped in silence. They are no part of this project: `VERSOLA_VECTORS`
/// names the folder that holds `wycheproof/`.
///
/// | files | compared | left out |
/// |---|---|---|
/// | `ecdsa_*_p1363` (3), `ed25519`, `rsa_signature_*` (6), `rsa_pss_*` (6) | every signature, by the key of its group | – |
/// | `json_web_signature`, `json_web_key` | every token, by the key set of its group | – |
/// | `json_web_crypto` | the groups `jws_*` | the groups `jwe_*`, see below |
/// | `json_web_encryption` | – | everything: encrypted tokens do not exist for the library |
///
/// Where a verdict is not Wycheproof's, ``deviations`` says why. All of them are refusals of what is "valid" there.
@Suite(.enabled(if: Wycheproof.folder != nil)) struct JOSEWycheproofTests {
    @Test func everyFileIsKnown() throws {
        let known = Self.signatureFiles.map(\.file) + Self.tokenFiles.map(\.file) + ["json_web_encryption_test"]
        #expect(try Wycheproof.files() == known.sorted())
    }

    // MARK: Signatures

    struct SignatureFile: Sendable, CustomTestStringConvertible {
        let file: String
        let algorithm: SignatureAlgorithm
        let tests: Int

        var testDescription: String { file }
    }

    static let signatureFiles = [
        SignatureFile(file: "ecdsa_secp256r1_sha256_p1363_test", algorithm: .es256, tests: 262),
        SignatureFile(file: "ecdsa_secp384r1_sha384_p1363_test", algorithm: .es384, tests: 280),
        SignatureFile(file: "ecdsa_secp521r1_sha512_p1363_test", algorithm: .es512, tests: 318),
        SignatureFile(file: "ed25519_test", algorithm: .edDSA, tests: 151),
        SignatureFile(file: "rsa_pss_2048_sha256_mgf1_32_test", algorithm: .ps256, tests: 108),
        SignatureFile(file: "rsa_pss_2048_sha384_mgf1_48_test", algorithm: .ps384, tests: 141),
        SignatureFile(file: "rsa_pss_3072_sha256_mgf1_32_test", algorithm: .ps256, tests: 108),
        SignatureFile(file: "rsa_pss_4096_sha256_mgf1_32_test", algorithm: .ps256, tests: 108),
        SignatureFile(file: "rsa_pss_4096_sha384_mgf1_48_test", algorithm: .ps384, tests: 141),
        SignatureFile(file: "rsa_pss_4096_sha512_mgf1_64_test", algorithm: .ps512, tests: 179),
        SignatureFile(file: "rsa_signature_2048_sha256_test", algorithm: .rs256, tests: 259),
        SignatureFile(file: "rsa_signature_2048_sha384_test", algorithm: .rs384, tests: 258),
        SignatureFile(file: "rsa_signature_2048_sha512_test", algorithm: .rs512, tests: 259),
        SignatureFile(file: "rsa_signature_3072_sha256_test", algorithm: .rs256, tests: 259),
        SignatureFile(file: "rsa_signature_4096_sha256_test", algorithm: .rs256, tests: 258),
        SignatureFile(file: "rsa_signature_4096_sha512_test", algorithm: .rs512, tests: 259),
    ]

    @Test(arguments: signatureFiles)
    func signatures(of file: SignatureFile) throws {
        let document = try Wycheproof.Document<Wycheproof.SignatureGroup>(file.file)
        var count = Count()
        for group in document.testGroups {
            let key = group.publicKey.parsed(for: file.algorithm)
            for test in group.tests {
                let accepted = key?.verifies(test.signature, of: test.message[...], by: file.algorithm) ?? false
                // One verdict is "acceptable": a PKCS #1 DigestInfo without its NULL. One spelling is enough.
                count.compare(accepted, with: test.result == "valid", "\(file.file) \(test.tcId): \(test.comment)")
            }
        }
        count.finish(file.file, tests: file.tests, of: document.numberOfTests)
    }

    // MARK: Tokens

    struct TokenFile: Sendable, CustomTestStringConvertible {
        let file: String
        let tests: Int
        var leftOut = 0

        var testDescription: String { file }
    }

    static let tokenFiles = [
        TokenFile(file: "json_web_crypto_test", tests: 49, leftOut: 34),
        TokenFile(file: "json_web_key_test", tests: 26),
        TokenFile(file: "json_web_signature_test", tests: 401),
    ]

    private static let hmac = "HMAC does not exist for the library: its secret would have to be the client's."
    private static let misnamed = "The key's alg is not the token's: PS256 for PS384, and ES521, which does not exist."

    /// By file and `tcId`: what is "valid" there and refused here.
    static let deviations: [String: [Int: String]] = [
        "json_web_crypto_test": [1: hmac, 48: hmac],
        "json_web_key_test": [2: hmac, 13: hmac, 14: hmac, 15: hmac],
        "json_web_signature_test": [
            1: hmac, 346: misnamed, 347: misnamed, 348: hmac, 350: misnamed, 351: misnamed, 352: hmac, 357: hmac,
            358: hmac, 359: hmac, 372: hmac, 373: hmac, 376: hmac, 377: hmac,
        ],
    ]

    @Test(arguments: tokenFiles)
    func tokens(of file: TokenFile) throws {
        let document = try Wycheproof.Document<Wycheproof.TokenGroup>(file.file)
        let deviations = Self.deviations[file.file] ?? [:]
        var count = Count()
        var deviating: Set<Int> = []
        for group in document.testGroups {
            let keys = try #require(JWKSet(json: try group.keySet))
            for test in group.tests {
                guard let token = test.jws else { continue }
                let isDeviation = deviations[test.tcId] != nil
                if isDeviation {
                    #expect(test.result == "valid")
                    deviating.insert(test.tcId)
                }
                count.compare(
                    rejection(token, keys) == nil, with: test.result == "valid" && !isDeviation,
                    "\(file.file) \(test.tcId): \(test.comment)")
            }
        }
        #expect(deviating.count == deviations.count)
        count.finish(file.file, tests: file.tests, of: document.numberOfTests - file.leftOut)
    }

    private struct Count {
        private var accepted = 0
        private var refused = 0

        mutating func compare(_ verdict: Bool, with expected: Bool, _ test: String) {
            if verdict { accepted += 1 } else { refused += 1 }
            #expect(verdict == expected, "\(test)")
        }

        func finish(_ file: String, tests: Int, of declared: Int) {
            print("wycheproof: \(file): \(accepted) accepted, \(refused) refused")
            #expect(accepted + refused == tests)
            #expect(tests == declared)
        }
    }
}

@Suite struct JOSEWycheproofPresence {
    @Test func isSaidLoudlyWhenTheyAreMissing() {
        if Wycheproof.folder == nil { print("SKIPPED: Wycheproof vectors. VERSOLA_VECTORS is not set.") }
    }
}
