// SPDX-License-Identifier: Apache-2.0
import CShims
import Testing

@testable import VersolaKit

/// A key pair made for the test run, and what a provider does with it.
final class TestKey: @unchecked Sendable {
    let algorithm: SignatureAlgorithm
    /// Of PSS signatures; RFC 7518 §3.5 wants it as long as the hash.
    private let saltLength: Int32
    private let pair: OpaquePointer

    static let rs256 = make(.rs256)
    static let es256 = make(.es256)
    static let byAlgorithm = all(rs256)
    /// Of nobody whose key set a test holds.
    static let strangers = all(make(.rs256))

    /// RSA keys take long to make: all its algorithms share one.
    private static func all(_ rsa: TestKey) -> [SignatureAlgorithm: TestKey] {
        Dictionary(
            uniqueKeysWithValues: SignatureAlgorithm.allCases.map { algorithm in
                (algorithm, algorithm.keyKind == .rsa ? rsa.signing(algorithm) : make(algorithm))
            })
    }

    static func make(_ algorithm: SignatureAlgorithm, rsaBits: Int32 = 2048) -> TestKey {
        let type =
            switch algorithm.scheme {
            case .rsaPKCS1, .rsaPSS: "RSA"
            case .ecdsa: "EC"
            case .ed25519: "ED25519"
            }
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        if type == "RSA" { EVP_PKEY_CTX_set_rsa_keygen_bits(context, rsaBits) }
        if case .ecdsa(let curve) = algorithm.scheme { EVP_PKEY_CTX_set_group_name(context, curve.rawValue) }
        var pair: OpaquePointer?
        EVP_PKEY_generate(context, &pair)
        guard let pair else { preconditionFailure("no key") }
        return TestKey(algorithm, RSA_PSS_SALTLEN_DIGEST, pair)
    }

    /// The same pair for another algorithm of its kind.
    func signing(_ algorithm: SignatureAlgorithm, saltLength: Int32 = RSA_PSS_SALTLEN_DIGEST) -> TestKey {
        EVP_PKEY_up_ref(pair)
        return TestKey(algorithm, saltLength, pair)
    }

    private init(_ algorithm: SignatureAlgorithm, _ saltLength: Int32, _ pair: OpaquePointer) {
        self.algorithm = algorithm
        self.saltLength = saltLength
        self.pair = pair
    }

    deinit { EVP_PKEY_free(pair) }

    /// The public key's members, to be changed at will before they become a JWK.
    var members: [String: String] {
        switch algorithm.scheme {
        case .rsaPKCS1, .rsaPSS:
            ["kty": "RSA", "n": Base64URL.encode(number("n")), "e": Base64URL.encode(number("e"))]
        case .ecdsa(let curve):
            [
                "kty": "EC", "crv": curve.rawValue,
                "x": Base64URL.encode(number("qx", curve.fieldLength)),
                "y": Base64URL.encode(number("qy", curve.fieldLength)),
            ]
        case .ed25519:
            ["kty": "OKP", "crv": "Ed25519", "x": Base64URL.encode(raw)]
        }
    }

    func jwk(_ more: [String: String] = [:]) -> String {
        let all = members.merging(more) { _, new in new }
        return "{" + all.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",") + "}"
    }

    /// A compact JWS.
    func sign(header: String, payload: some Collection<UInt8>) -> String {
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload)
        return input + "." + Base64URL.encode(signature(of: Array(input.utf8)))
    }

    func sign(header: String, payload: String) -> String {
        sign(header: header, payload: payload.utf8)
    }

    /// A compact JWS under the plainest header.
    func sign(_ payload: String, kid: String? = nil) -> String {
        sign(payload: Array(payload.utf8), kid: kid)
    }

    func sign(payload: [UInt8], kid: String? = nil) -> String {
        let kid = kid.map { ",\"kid\":\"\($0)\"" } ?? ""
        return sign(header: "{\"alg\":\"\(algorithm.rawValue)\"\(kid)}", payload: payload)
    }

    private func signature(of message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        let digest = algorithm.scheme == .ed25519 ? nil : algorithm.hash.implementation
        EVP_DigestSignInit(context, &parameters, digest, nil, pair)
        if algorithm.scheme == .rsaPSS {
            EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING)
            EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, saltLength)
        }
        var signature = [UInt8](repeating: 0, count: 2048)
        var length = signature.count
        EVP_DigestSign(context, &signature, &length, message, message.count)
        signature = Array(signature.prefix(length))
        guard case .ecdsa(let curve) = algorithm.scheme else { return signature }
        return signature.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            let parsed = d2i_ECDSA_SIG(nil, &cursor, buffer.count)
            defer { ECDSA_SIG_free(parsed) }
            return padded(ECDSA_SIG_get0_r(parsed), curve.fieldLength)
                + padded(ECDSA_SIG_get0_s(parsed), curve.fieldLength)
        }
    }

    private func number(_ name: String, _ length: Int? = nil) -> [UInt8] {
        var value: OpaquePointer?
        EVP_PKEY_get_bn_param(pair, name, &value)
        defer { BN_free(value) }
        return padded(value, length ?? Int(BN_num_bits(value) + 7) / 8)
    }

    private func padded(_ value: OpaquePointer?, _ length: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        BN_bn2binpad(value, &bytes, Int32(length))
        return bytes
    }

    private var raw: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 32)
        var length = bytes.count
        EVP_PKEY_get_raw_public_key(pair, &bytes, &length)
        return bytes
    }
}

func keySet(_ keys: String...) throws -> JWKSet {
    try #require(JWKSet(json: Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)))
}

/// The verdict on a signature alone: `nil` is a valid one.
func rejection(_ token: String, _ keys: JWKSet) -> IDTokenRejection? {
    do throws(IDTokenRejection) {
        try keys.verify(try JWS(compact: token))
        return nil
    } catch {
        return error
    }
}

extension IDTokenRejection {
    var sentence: String {
        switch self {
        case .noFittingKey(let sentence), .rejected(let sentence): sentence
        }
    }

    var isWorthARefetch: Bool {
        if case .noFittingKey = self { true } else { false }
    }
}

/// The host's TLS reads OpenSSL's error queue of its thread: it must find no entry of ours.
func errorQueueIsEmpty() -> Bool {
    ERR_peek_error() == 0
}
