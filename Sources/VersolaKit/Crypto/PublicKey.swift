// SPDX-License-Identifier: Apache-2.0
import CShims

/// A public key, parsed and checked once, then used from any thread.
///
/// `@unchecked Sendable`: the `EVP_PKEY` is never changed after `init`, and OpenSSL allows concurrent verification with it.
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
    let pointer: OpaquePointer

    /// Refuses a modulus under 2048 bits (RFC 7518 §3.3), and numbers no honest key has but that cost time: over 8192 bits,
    /// an exponent over 64 bits.
    init?(modulus: [UInt8], exponent: [UInt8]) {
        let modulus = modulus.drop { $0 == 0 }
        let exponent = exponent.drop { $0 == 0 }
        guard let top = modulus.first, let low = modulus.last, let odd = exponent.last else { return nil }
        let bits = modulus.count * 8 - top.leadingZeroBitCount
        guard (2048...8192).contains(bits), low & 1 == 1 else { return nil }
        guard exponent.count <= 8, odd & 1 == 1, !exponent.elementsEqual([1]) else { return nil }
        let key = modulus.withUnsafeBufferPointer { n in
            exponent.withUnsafeBufferPointer { e in
                OpenSSL.quietly { versola_rsa_public_key(n.baseAddress, n.count, e.baseAddress, e.count) }
            }
        }
        guard let key else { return nil }
        kind = .rsa
        pointer = key
    }

    /// A coordinate whose leading zeros were stripped, against RFC 7518 §6.2.1.2, is padded. The point must be on the curve.
    init?(curve: Curve, x: [UInt8], y: [UInt8]) {
        var point: [UInt8] = [4]
        for coordinate in [x, y] {
            guard !coordinate.isEmpty, coordinate.count <= curve.fieldLength else { return nil }
            point += [UInt8](repeating: 0, count: curve.fieldLength - coordinate.count) + coordinate
        }
        let key = OpenSSL.quietly { versola_ec_public_key(curve.rawValue, point, point.count) }
        guard let key else { return nil }
        kind = .ec(curve)
        pointer = key
    }

    init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let key = OpenSSL.quietly { EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) }
        guard let key else { return nil }
        kind = .ed25519
        pointer = key
    }

    deinit {
        EVP_PKEY_free(pointer)
    }
}
