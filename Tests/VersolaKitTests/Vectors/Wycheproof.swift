// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

@testable import VersolaKit

/// Project Wycheproof's files, as far as their verdicts need them.
enum Wycheproof {
    static let folder = ProcessInfo.processInfo.environment["VERSOLA_VECTORS"].map { "\($0)/wycheproof" }

    /// The names of all files, sorted.
    static func files() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder ?? "")
        return names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }.sorted()
    }

    struct Document<Group: Decodable>: Decodable {
        var numberOfTests: Int
        var testGroups: [Group]

        init(_ file: String) throws {
            let path = "\(folder ?? "")/\(file).json"
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: path)))
        }
    }

    struct SignatureGroup: Decodable {
        struct Test: Decodable {
            var tcId: Int
            var comment: String
            var msg: String
            var sig: String
            var result: String

            var message: [UInt8] { bytes(msg) }
            var signature: [UInt8] { bytes(sig) }
        }

        struct Key: Decodable {
            var wx: String?
            var wy: String?
            var pk: String?
            var modulus: String?
            var publicExponent: String?

            func parsed(for algorithm: SignatureAlgorithm) -> PublicKey? {
                switch algorithm.scheme {
                case .rsaPKCS1, .rsaPSS: PublicKey(modulus: bytes(modulus), exponent: bytes(publicExponent))
                case .ecdsa(let curve): PublicKey(curve: curve, x: coordinate(wx, curve), y: coordinate(wy, curve))
                case .ed25519: PublicKey(ed25519: bytes(pk))
                }
            }

            /// Sometimes with a sign byte more.
            private func coordinate(_ hex: String?, _ curve: PublicKey.Curve) -> [UInt8] {
                Array(bytes(hex).suffix(curve.fieldLength))
            }
        }

        var publicKey: Key
        var tests: [Test]
    }

    struct TokenGroup: Decodable {
        struct Test: Decodable {
            var tcId: Int
            var comment: String
            var result: String
            /// One is in the JSON serialization. `nil` when the test is about an encrypted token.
            var jws: String?

            private enum CodingKeys: CodingKey { case tcId, comment, result, jws, jwe }

            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: CodingKeys.self)
                tcId = try members.decode(Int.self, forKey: .tcId)
                comment = try members.decode(String.self, forKey: .comment)
                result = try members.decode(String.self, forKey: .result)
                if members.contains(.jwe) {
                    jws = nil
                } else if let compact = try? members.decode(String.self, forKey: .jws) {
                    jws = compact
                } else {
                    let value = try members.decode(JSONValue.self, forKey: .jws)
                    jws = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
                }
            }
        }

        var tests: [Test]
        private var `private`: JSONValue
        private var `public`: JSONValue?

        /// A JWK Set as JSON; a group may have one key alone.
        var keySet: [UInt8] {
            get throws {
                let keys = `public` ?? `private`
                if case .object(let members) = keys, members["keys"] != nil {
                    return Array(try JSONEncoder().encode(keys))
                }
                return Array(try JSONEncoder().encode(["keys": [keys]]))
            }
        }
    }

    private static func bytes(_ hex: String?) -> [UInt8] {
        let digits = Array((hex ?? "").utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16)
        }
    }
}

/// Any JSON value, to be read and written again.
enum JSONValue: Codable {
    case string(String)
    case bool(Bool)
    case number(Double)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let truth = try? value.decode(Bool.self) {
            self = .bool(truth)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let elements = try? value.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .string(let text): try value.encode(text)
        case .bool(let truth): try value.encode(truth)
        case .number(let number): try value.encode(number)
        case .array(let elements): try value.encode(elements)
        case .object(let members): try value.encode(members)
        }
    }
}
