// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Testing

@testable import VersolaKit

@Suite struct JOSEVectorTests {
    @Test(arguments: signatureVectors)
    func publishedSignatures(vector: SignatureVector) throws {
        let keys = try keySet(vector.key)
        #expect((rejection(vector.token, keys) == nil) == vector.accepted)
    }

    @Test(arguments: signatureVectors.filter(\.accepted))
    func oneChangedBitAnywhereIsRefused(vector: SignatureVector) throws {
        let keys = try keySet(vector.key)
        let token = Array(vector.token.utf8)
        for index in stride(from: 0, to: token.count, by: 7) {
            var changed = token
            changed[index] ^= 1
            #expect(rejection(String(decoding: changed, as: UTF8.self), keys) != nil)
        }
    }
}

/// Project Wycheproof (C2SP/wycheproof, testvectors_v1), not part of this project: `VERSOLA_VECTORS` names the folder that
/// holds `wycheproof/`.
@Suite struct JOSEWycheproofTests {
    private static let folder = ProcessInfo.processInfo.environment["VERSOLA_VECTORS"]

    @Test func isSaidLoudlyWhenTheyAreMissing() {
        if Self.folder == nil { print("SKIPPED: Wycheproof vectors. VERSOLA_VECTORS is not set.") }
    }

    @Test(
        .enabled(if: folder != nil),
        arguments: [
            ("ecdsa_secp256r1_sha256_p1363_test", SignatureAlgorithm.es256, 200),
            ("ecdsa_secp384r1_sha384_p1363_test", .es384, 200),
            ("ecdsa_secp521r1_sha512_p1363_test", .es512, 200),
            ("ed25519_test", .edDSA, 100),
        ])
    func rawSignatures(file: String, algorithm: SignatureAlgorithm, atLeast: Int) throws {
        struct Group: Decodable {
            struct Test: Decodable {
                var tcId: Int
                var msg: String
                var sig: String
                var result: String
            }
            struct Key: Decodable {
                var wx: String?
                var wy: String?
                var pk: String?
            }
            var publicKey: Key
            var tests: [Test]
        }
        let document = try Self.read(file, as: Groups<Group>.self)
        var judged = 0
        for group in document.testGroups {
            let key = group.publicKey
            let parsed =
                if case .ecdsa(let curve) = algorithm.scheme {
                    PublicKey(
                        curve: curve, x: Self.coordinate(key.wx, curve), y: Self.coordinate(key.wy, curve))
                } else {
                    PublicKey(ed25519: Self.bytes(key.pk ?? ""))
                }
            for test in group.tests {
                judged += 1
                let verdict =
                    parsed?.verifies(Self.bytes(test.sig), of: Self.bytes(test.msg)[...], by: algorithm) ?? false
                #expect(verdict == (test.result == "valid"), "\(file) \(test.tcId)")
            }
        }
        #expect(judged > atLeast)
    }

    @Test(.enabled(if: folder != nil))
    func tokens() throws {
        struct Group: Decodable {
            struct Test: Decodable {
                var tcId: Int
                var result: String
                var jws: String?

                private enum CodingKeys: CodingKey { case tcId, result, jws }

                init(from decoder: any Decoder) throws {
                    let members = try decoder.container(keyedBy: CodingKeys.self)
                    tcId = try members.decode(Int.self, forKey: .tcId)
                    result = try members.decode(String.self, forKey: .result)
                    // One is the JSON serialization, which is not a compact token.
                    jws = try? members.decode(String.self, forKey: .jws)
                }
            }
            struct Keys: Decodable {
                var kid: String?
                var keys: [[String: String]]?
                var members: [String: String]

                init(from decoder: any Decoder) throws {
                    members = (try? [String: String](from: decoder)) ?? [:]
                    kid = members["kid"]
                    keys = try? [String: [[String: String]]](from: decoder)["keys"]
                }
            }
            var comment: String
            var `private`: Keys
            var `public`: Keys?
            var tests: [Test]
        }
        let document = try Self.read("json_web_crypto_test", as: Groups<Group>.self)
        // The deviations, each with its reason: HMAC does not exist here, and a provider's RSA key is not searched for the
        // weakness of one manufacturer's chips (ROCA).
        let deviating = [1: false, 46: true, 48: false]
        var judged = 0
        for group in document.testGroups where group.comment.hasPrefix("jws") {
            let source = group.public ?? group.private
            let keys = (source.keys ?? [source.members]).map { members in
                "{" + members.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",") + "}"
            }
            let set = try #require(JWKSet(json: Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)))
            for test in group.tests {
                guard let token = test.jws else { continue }
                judged += 1
                let expected = deviating[test.tcId] ?? (test.result == "valid")
                #expect((rejection(token, set) == nil) == expected, "json_web_crypto \(test.tcId)")
            }
        }
        #expect(judged > 40)
    }

    private struct Groups<Group: Decodable>: Decodable {
        var testGroups: [Group]
    }

    private static func read<Document: Decodable>(_ file: String, as type: Document.Type) throws -> Document {
        let path = "\(folder ?? "")/wycheproof/\(file).json"
        return try JSONDecoder().decode(type, from: Data(contentsOf: URL(filePath: path)))
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16)
        }
    }

    /// Wycheproof writes whole hex bytes, sometimes with a sign byte more or leading zeros less.
    private static func coordinate(_ hex: String?, _ curve: PublicKey.Curve) -> [UInt8] {
        Array(bytes(hex ?? "").suffix(curve.fieldLength))
    }
}
