// SPDX-License-Identifier: Apache-2.0

/// Proof Key for Code Exchange with S256 (RFC 7636); `plain` does not exist here.
enum PKCE {
    /// RFC 7636 §4.1: 32 random bytes, 43 characters.
    static func makeVerifier(_ random: some RandomSource) throws(OAuthError) -> String {
        try random.base64url(bytes: 32)
    }

    /// RFC 7636 §4.2.
    static func challenge(for verifier: String) throws(OAuthError) -> String {
        Base64URL.encode(try HashFunction.sha256.digest(verifier.utf8))
    }
}
