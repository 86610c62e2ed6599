// SPDX-License-Identifier: Apache-2.0

/// The signature algorithms that are accepted (RFC 7518 §3.1, RFC 8037 §3.1). What is not here, `none` and the HMACs above
/// all, does not exist for the library.
enum SignatureAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"

    enum Scheme: Equatable, Sendable {
        case rsaPKCS1, rsaPSS, ed25519
        case ecdsa(PublicKey.Curve)
    }

    var scheme: Scheme {
        switch self {
        case .rs256, .rs384, .rs512: .rsaPKCS1
        case .ps256, .ps384, .ps512: .rsaPSS
        case .es256: .ecdsa(.p256)
        case .es384: .ecdsa(.p384)
        case .es512: .ecdsa(.p521)
        case .edDSA: .ed25519
        }
    }

    /// The hash of the signature, and of `at_hash` and `c_hash` (OpenID Connect Core §3.1.3.6); for Ed25519, which the text
    /// does not name, the SHA-512 that Ed25519 itself uses.
    var hash: HashFunction {
        switch self {
        case .rs256, .ps256, .es256: .sha256
        case .rs384, .ps384, .es384: .sha384
        case .rs512, .ps512, .es512, .edDSA: .sha512
        }
    }

    var keyKind: PublicKey.Kind {
        switch scheme {
        case .rsaPKCS1, .rsaPSS: .rsa
        case .ecdsa(let curve): .ec(curve)
        case .ed25519: .ed25519
        }
    }
}
