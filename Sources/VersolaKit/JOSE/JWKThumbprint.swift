// SPDX-License-Identifier: Apache-2.0

/// The thumbprint of a public key (RFC 7638, RFC 8037 §2).
enum JWKThumbprint {
    /// - Parameter members: of the key; those that are not required play no part.
    /// - Returns: SHA-256 in base64url; `nil` for an unknown type of key or one that lacks a required member.
    static func sha256(_ members: [String: String]) throws(OAuthError) -> String? {
        guard let canonical = canonical(members) else { return nil }
        return Base64URL.encode(try HashFunction.sha256.digest(canonical.utf8))
    }

    /// The required members in lexicographic order, without white space (§3.2). Their values are base64url and registered
    /// names, which need no escape (§3.3).
    private static func canonical(_ members: [String: String]) -> String? {
        guard let type = members["kty"], let names = required[type] else { return nil }
        var pairs: [String] = []
        for name in names {
            guard let value = members[name] else { return nil }
            pairs.append("\"\(name)\":\"\(value)\"")
        }
        return "{" + pairs.joined(separator: ",") + "}"
    }

    private static let required = [
        "EC": ["crv", "kty", "x", "y"], "OKP": ["crv", "kty", "x"], "RSA": ["e", "kty", "n"],
    ]
}
