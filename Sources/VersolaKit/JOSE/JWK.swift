// SPDX-License-Identifier: Apache-2.0

/// A key of a provider's set that signatures can be checked with (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2).
struct JWK: Sendable {
    let keyID: String?
    /// The one algorithm the key is for, if its owner said so.
    let algorithm: String?
    let key: PublicKey

    func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        key.kind == algorithm.keyKind && (self.algorithm.map { $0 == algorithm.rawValue } ?? true)
    }
}

extension JWK: Decodable {
    private enum CodingKeys: String, CodingKey {
        case type = "kty"
        case curve = "crv"
        case keyID = "kid"
        case algorithm = "alg"
        case use
        case operations = "key_ops"
        case modulus = "n"
        case exponent = "e"
        case x, y
    }

    /// Throws for every key that is broken, too weak, of an unknown type, or not for verifying.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        keyID = try members.decodeIfPresent(String.self, forKey: .keyID)
        algorithm = try members.decodeIfPresent(String.self, forKey: .algorithm)
        if let use = try members.decodeIfPresent(String.self, forKey: .use), use != "sig" {
            throw Self.unusable(.use, in: members)
        }
        if let operations = try members.decodeIfPresent([String].self, forKey: .operations),
            !operations.contains("verify")
        {
            throw Self.unusable(.operations, in: members)
        }
        let number = { (name: CodingKeys) in
            guard let bytes = Base64URL.decode(try members.decode(String.self, forKey: name)) else {
                throw Self.unusable(name, in: members)
            }
            return bytes
        }
        let type = try members.decode(String.self, forKey: .type)
        let curve = try members.decodeIfPresent(String.self, forKey: .curve)
        let parsed: PublicKey? =
            switch (type, curve) {
            case ("RSA", _):
                PublicKey(modulus: try number(.modulus), exponent: try number(.exponent))
            case ("EC", let name?):
                try PublicKey.Curve(rawValue: name).flatMap { curve in
                    PublicKey(curve: curve, x: try number(.x), y: try number(.y))
                }
            // To Swift the KELVIN SIGN is a K too.
            case ("OKP", "Ed25519") where type.hasSameBytes(as: "OKP"):
                PublicKey(ed25519: try number(.x))
            default:
                nil
            }
        guard let parsed else { throw Self.unusable(.type, in: members) }
        key = parsed
    }

    private static func unusable(
        _ member: CodingKeys, in members: KeyedDecodingContainer<CodingKeys>
    ) -> DecodingError {
        .dataCorruptedError(forKey: member, in: members, debugDescription: "not a key for verifying signatures")
    }
}
