// SPDX-License-Identifier: Apache-2.0
import CShims

@testable import VersolaKit

/// A key that signs what is fuzzed: mutated tokens alone would never get past their signature.
private struct SigningKey: @unchecked Sendable {  // read only
    private let pair: OpaquePointer?
    let keys: JWKSet?

    init() {
        pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, [UInt8](repeating: 7, count: 32), 32)
        var raw = [UInt8](repeating: 0, count: 32)
        var count = raw.count
        EVP_PKEY_get_raw_public_key(pair, &raw, &count)
        let jwk = #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(Base64URL.encode(raw))"}]}"#
        keys = JWKSet(json: Array(jwk.utf8))
    }

    func sign(_ payload: [UInt8]) -> String {
        let input = Base64URL.encode(#"{"alg":"EdDSA"}"#.utf8) + "." + Base64URL.encode(payload)
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        EVP_DigestSignInit(context, nil, nil, nil, pair)
        EVP_DigestSign(context, &signature, &count, Array(input.utf8), input.utf8.count)
        return input + "." + Base64URL.encode(signature)
    }
}

private let key = SigningKey()
private let now: WallMillis = 1_800_000_000_000

private let expectations = IDTokenExpectations(
    issuer: "https://op.example", clientID: "app", nonce: "nonce", accessToken: "token", code: "code", maxAge: 60,
    loginStartedAt: now / 1000)

private let login = LoginClaims(issuer: "https://op.example", subject: "alice", audience: ["app"])

/// First line: a signed token; second: a key set; the rest: claims, as they are and signed.
@Sendable
func fuzzSigned(_ input: [UInt8]) {
    let parts = parts(input, 3)
    if let jws = try? JWS(compact: text(parts[0])), let keys = JWKSet(json: parts[1]) {
        _ = try? keys.verify(jws)
    }
    if let header = Base64URL.decode(parts[0][...]) { precondition(Base64URL.encode(header) == text(parts[0])) }
    let claims = parts[2]
    _ = try? UserInfo.claims(claims, subject: "alice")
    guard let keys = key.keys else { preconditionFailure("no key") }
    let token = key.sign(claims)
    guard (try? keys.verify(JWS(compact: token))) != nil || token.utf8.count > JWS.longestToken else {
        preconditionFailure("the signature is good")
    }
    _ = IDTokenValidator.validate(token, keys: keys, expectations: expectations, now: now)
    _ = IDTokenValidator.validateRefreshed(
        token, keys: keys, expectations: .init(login: login, clientID: "app", accessToken: "token"), now: now)
    _ = UserInfo.verify(
        token, keys: keys, issuer: "https://op.example", clientID: "app", clockSkew: 60, now: now)
}
