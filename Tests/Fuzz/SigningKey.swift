// SPDX-License-Identifier: Apache-2.0
import CShims

@testable import VersolaKit

/// A key that signs what is fuzzed: mutated tokens alone would never get past their signature.
struct SigningKey: @unchecked Sendable {  // read only
    private let pair: OpaquePointer?
    /// Its public half, without a `kid`.
    let jwk: String
    let keys: JWKSet

    static let shared = SigningKey()

    private init() {
        pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, [UInt8](repeating: 7, count: 32), 32)
        var raw = [UInt8](repeating: 0, count: 32)
        var count = raw.count
        EVP_PKEY_get_raw_public_key(pair, &raw, &count)
        jwk = #"{"kty":"OKP","crv":"Ed25519","x":"\#(Base64URL.encode(raw))"}"#
        guard let keys = JWKSet(json: Array(#"{"keys":[\#(jwk)]}"#.utf8)) else { preconditionFailure("no key") }
        self.keys = keys
    }

    /// A compact JWS.
    func sign(_ payload: [UInt8], header: [UInt8] = Array(#"{"alg":"EdDSA"}"#.utf8)) -> String {
        let input = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        EVP_DigestSignInit(context, nil, nil, nil, pair)
        EVP_DigestSign(context, &signature, &count, Array(input.utf8), input.utf8.count)
        return input + "." + Base64URL.encode(signature)
    }
}
