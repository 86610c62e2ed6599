// SPDX-License-Identifier: Apache-2.0
import CShims

/// A public key, parsed and checked once, then used from any thread.
///
/// `@unchecked Sendable`: nothing is changed after `init`. The prepared contexts are only copied from, which reads them and
/// counts references atomically, and OpenSSL allows concurrent verification with one key.
final class PublicKey: @unchecked Sendable {
    enum Kind: Equatable, Sendable {
        case rsa, ed25519
        case ec(Curve)
    }

    enum Curve: String, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"

        /// Bytes of one coordinate, and of each half of a signature (RFC 7518 §3.4, §6.2.1.2).
        var fieldLength: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }
    }

    let kind: Kind
    /// Bytes of a signature as JOSE carries it.
    let signatureLength: Int
    /// For each algorithm of the key an `EVP_MD_CTX` ready to verify: preparing one costs more than ten copies of it.
    private let contexts: [SignatureAlgorithm: OpaquePointer]

    /// Refuses a modulus under 2048 bits (RFC 7518 §3.3) or one that can be factored, and numbers no honest key has but that
    /// cost time: over 8192 bits, an exponent over 64 bits.
    convenience init?(modulus: [UInt8], exponent: [UInt8]) {
        let modulus = modulus.drop { $0 == 0 }
        let exponent = exponent.drop { $0 == 0 }
        guard let top = modulus.first, let low = modulus.last, let odd = exponent.last else { return nil }
        let bits = modulus.count * 8 - top.leadingZeroBitCount
        guard (2048...8192).contains(bits), low & 1 == 1, !ROCA.marks(modulus) else { return nil }
        guard exponent.count <= 8, odd & 1 == 1, !exponent.elementsEqual([1]) else { return nil }
        let key = modulus.withUnsafeBufferPointer { n in
            exponent.withUnsafeBufferPointer { e in
                OpenSSL.quietly { versola_rsa_public_key(n.baseAddress, n.count, e.baseAddress, e.count) }
            }
        }
        self.init(.rsa, signatureLength: modulus.count, consuming: key)
    }

    /// A coordinate whose leading zeros were stripped, against RFC 7518 §6.2.1.2, is padded. The point must be on the curve.
    convenience init?(curve: Curve, x: [UInt8], y: [UInt8]) {
        var point: [UInt8] = [4]
        for coordinate in [x, y] {
            guard !coordinate.isEmpty, coordinate.count <= curve.fieldLength else { return nil }
            point += [UInt8](repeating: 0, count: curve.fieldLength - coordinate.count) + coordinate
        }
        let key = OpenSSL.quietly { versola_ec_public_key(curve.rawValue, point, point.count) }
        self.init(.ec(curve), signatureLength: 2 * curve.fieldLength, consuming: key)
    }

    /// Refuses the points of small order: with such a key anybody can sign, with the neutral one anything by one signature.
    convenience init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32, !Self.isOfSmallOrder(ed25519: bytes) else { return nil }
        let key = OpenSSL.quietly { EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) }
        self.init(.ed25519, signatureLength: 64, consuming: key)
    }

    static func isOfSmallOrder(ed25519 bytes: [UInt8]) -> Bool {
        ordinatesOfSmallOrder.contains(Hex.encode(bytes.dropLast() + bytes.suffix(1).map { $0 & 0x7f }))
    }

    /// Little-endian as in a key, without the sign of x; 0 and 1 also as the prime and its successor (RFC 8032 §5.1).
    private static let ordinatesOfSmallOrder: Set = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]

    private init?(_ kind: Kind, signatureLength: Int, consuming key: OpaquePointer?) {
        guard let key else { return nil }
        // Every context holds a reference of its own.
        defer { OpenSSL.free { EVP_PKEY_free(key) } }
        self.kind = kind
        self.signatureLength = signatureLength
        var contexts: [SignatureAlgorithm: OpaquePointer] = [:]
        for algorithm in SignatureAlgorithm.allCases where algorithm.keyKind == kind {
            contexts[algorithm] = OpenSSL.quietly { Self.preparedContext(for: algorithm, key) }
        }
        self.contexts = contexts
    }

    deinit {
        OpenSSL.free { for context in contexts.values { EVP_MD_CTX_free(context) } }
    }

    /// A context of the caller's own, inside of `OpenSSL.quietly`; `nil` when the key is not for `algorithm`.
    func makeContext(for algorithm: SignatureAlgorithm) -> OpaquePointer? {
        guard let prepared = contexts[algorithm], let copy = EVP_MD_CTX_new() else { return nil }
        // Without this the object, and `prepared` with it, might go right after the look-up above.
        let copied = withExtendedLifetime(self) { EVP_MD_CTX_copy_ex(copy, prepared) }
        guard copied == 1 else {
            EVP_MD_CTX_free(copy)
            return nil
        }
        return copy
    }

    private static func preparedContext(for algorithm: SignatureAlgorithm, _ key: OpaquePointer) -> OpaquePointer? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        // Ed25519 hashes by itself and takes no digest (RFC 8032 §5.1).
        let digest = algorithm.scheme == .ed25519 ? nil : algorithm.hash.implementation
        var parameters: OpaquePointer?
        var ready = EVP_DigestVerifyInit(context, &parameters, digest, nil, key) == 1
        if algorithm.scheme == .rsaPSS {
            // RFC 7518 §3.5: MGF1 with the same hash (OpenSSL's default), the salt as long as the hash.
            ready =
                ready && EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
        }
        guard ready else {
            EVP_MD_CTX_free(context)
            return nil
        }
        return context
    }
}
