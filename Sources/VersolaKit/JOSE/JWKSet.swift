// SPDX-License-Identifier: Apache-2.0

/// The keys of a provider that signatures can be checked with (RFC 7517 §5).
struct JWKSet: Sendable {
    let keys: [JWK]

    /// `nil` when the document is not a key set. A key that is unknown, broken or for something else is left out: it must
    /// not take the others with it (RFC 7517 §5).
    init?(json: [UInt8]) {
        guard let text = String(validating: json, as: UTF8.self),
            let document = try? StrictJSON.decode(Document.self, from: text)
        else { return nil }
        keys = document.keys.compactMap(\.key)
    }

    /// Checks the signature with the key that the header's `kid` names, or without one with the only key that fits the
    /// algorithm (OpenID Connect Core §10.1). Keys that share a `kid` are tried one after the other.
    func verify(_ token: JWS) throws(IDTokenRejection) {
        let fitting = keys.filter { key in
            guard key.fits(token.header.algorithm) else { return false }
            guard let wanted = token.header.keyID else { return true }
            return key.keyID?.hasSameBytes(as: wanted) ?? false
        }
        guard !fitting.isEmpty else { throw .noFittingKey("No key of the provider's set fits the token.") }
        let named = token.header.keyID != nil
        guard named || fitting.count == 1 else {
            throw .noFittingKey("The token names no key, and several of the provider's set fit it.")
        }
        let verified = fitting.contains { candidate in
            candidate.key.verifies(token.signature, of: token.signingInput, by: token.header.algorithm)
        }
        guard verified else {
            let sentence = "The token's signature does not verify."
            throw named ? .rejected(sentence) : .noFittingKey(sentence)
        }
    }

    private struct Document: Decodable {
        let keys: [Entry]
    }

    private struct Entry: Decodable {
        let key: JWK?

        init(from decoder: any Decoder) {
            key = try? JWK(from: decoder)
        }
    }
}
