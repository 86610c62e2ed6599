// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// Any object.
private struct Anything: Decodable {
    private enum Names: CodingKey {}

    init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: Names.self)
    }
}

/// The claims that are signed, when they can be judged: an object, `nil` for anything else. Skips what only the decoder's
/// limits decide.
private func claims(_ input: [UInt8], _ judge: (Claims?) -> Void) {
    do throws(JSONReader.Fault) {
        judge(Claims(try JSONReader.object(input)))
    } catch {
        if error == .malformed { judge(nil) }
    }
}

/// Text that is to be a JSON object, as the two readers see it.
@Sendable
func fuzzJSON(_ input: [UInt8]) {
    let decoded = String(validating: input, as: UTF8.self).flatMap { try? StrictJSON.decode(Anything.self, from: $0) }
    claims(input) { precondition(($0 == nil) == (decoded == nil)) }
}

/// First line: a header; the rest: a payload. Signed, they are accepted if the header's rules hold, and only then.
@Sendable
func fuzzJWS(_ input: [UInt8]) {
    // Nobody forges a signature: of the tokens that are not signed here only the known ones are good.
    if let jws = try? JWS(compact: text(input)), (try? PublishedTokens.keys.verify(jws)) != nil {
        precondition(PublishedTokens.signingInputs.contains { $0.elementsEqual(jws.signingInput) })
    }
    let parts = parts(input, 2)
    let (header, payload) = (parts[0], parts[1])
    let token = SigningKey.shared.sign(payload, header: header)
    let jws = try? JWS(compact: token)
    if let jws {
        precondition(jws.payload == payload)
        precondition(Base64URL.encode(jws.signature) == String(token.suffix(86)))
    }
    let accepted = jws.map { (try? SigningKey.shared.keys.verify($0)) != nil } ?? false
    guard Base64URL.encode(header).utf8.count <= JWS.longestHeader, token.utf8.count <= JWS.longestToken else {
        return precondition(!accepted)
    }
    claims(header) { claims in
        precondition(accepted == (claims.map(headerHolds) ?? false))
    }
    guard accepted, !payload.isEmpty else { return }
    var forged = Array(token.utf8)
    forged[forged.count - 88] = forged[forged.count - 88] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    precondition((try? SigningKey.shared.keys.verify(JWS(compact: text(forged)))) == nil)
}

/// Behaviour §6: the key has no `kid`, so a header that names one finds none.
private func headerHolds(_ header: Claims) -> Bool {
    guard header.says("alg", "EdDSA"), header.text("kid") == .absent, !header.has("crit") else { return false }
    switch header.text("typ") {
    case .absent: return true
    case .wrong: return false
    case .bytes(let type):
        let name = type.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[0]
            .filter { $0 != 0x20 && $0 != 0x09 }.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        let others = ["at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt"]
        return !others.contains { name == Array($0.utf8) || name == Array("application/\($0)".utf8) }
    }
}

/// The claims of an ID token: accepted if the rules hold, and only then.
@Sendable
func fuzzIDToken(_ input: [UInt8]) {
    let (keys, token) = (SigningKey.shared.keys, SigningKey.shared.sign(input))
    guard token.utf8.count <= JWS.longestToken else { return }
    for maxAge in [nil, 60] as [Int64?] {
        let verdict = IDTokenValidator.validate(
            token, keys: keys, expectations: World.expectations(maxAge: maxAge), now: World.now)
        claims(input) { claims in
            let holds = claims.map { commonRulesHold($0, code: true) && loginRulesHold($0, maxAge: maxAge) } ?? false
            precondition(((try? verdict.get()) != nil) == holds)
        }
        if let verified = try? verdict.get() { precondition(Array(verified.claimsJSON.utf8) == input) }
    }
    let refreshed = IDTokenValidator.validateRefreshed(
        token, keys: keys,
        expectations: .init(login: World.login, clientID: World.clientID, accessToken: World.accessToken),
        now: World.now)
    claims(input) { claims in
        let holds = claims.map { commonRulesHold($0, code: false) && refreshRulesHold($0) } ?? false
        precondition(((try? refreshed.get()) != nil) == holds)
    }
}

private func commonRulesHold(_ claims: Claims, code: Bool) -> Bool {
    guard claims.says("iss", World.issuer), let audience = claims.texts("aud") else { return false }
    guard case .bytes(let subject) = claims.text("sub"), (1...255).contains(subject.count), !subject.contains(0) else {
        return false
    }
    let client = Array(World.clientID.utf8)
    guard audience.contains(client) else { return false }
    switch claims.text("azp") {
    case .wrong: return false
    case .bytes(let party): guard party == client else { return false }
    case .absent: guard audience.allSatisfy({ $0 == client }) else { return false }
    }
    let now = Double(World.now / 1000)
    let dates = 0.0..<253_402_300_800
    guard let exp = claims.number("exp"), dates.contains(exp), exp > now - 60 else { return false }
    guard let iat = claims.number("iat"), dates.contains(iat), iat <= now + 60 else { return false }
    guard claims["auth_time"] == nil || claims.number("auth_time").map(dates.contains) == true else { return false }
    guard claims.text("nonce") != .wrong, claims.text("c_hash") != .wrong else { return false }
    guard claims.text("at_hash") == .absent || claims.says("at_hash", World.accessTokenHash) else { return false }
    return !code || claims.text("c_hash") == .absent || claims.says("c_hash", World.codeHash)
}

private func loginRulesHold(_ claims: Claims, maxAge: Int64?) -> Bool {
    guard claims.says("nonce", World.nonce) else { return false }
    guard let maxAge else { return true }
    return claims.number("auth_time").map { $0 >= Double(World.now / 1000 - maxAge - 60) } ?? false
}

private func refreshRulesHold(_ claims: Claims) -> Bool {
    claims.says("sub", "alice") && claims.text("azp") == .absent
        && (claims.text("nonce") == .absent || claims.says("nonce", World.nonce))
        && (claims.number("auth_time").map { $0 >= Double(World.now / 1000 - 100) } ?? true)
}

/// What the UserInfo endpoint answers, as it is and signed.
@Sendable
func fuzzUserInfo(_ input: [UInt8]) {
    let plain = try? UserInfo.claims(input, subject: "alice")
    let token = SigningKey.shared.sign(input)
    guard token.utf8.count <= JWS.longestToken else { return }
    let signed = UserInfo.verify(
        token, keys: SigningKey.shared.keys, issuer: World.issuer, clientID: World.clientID, clockSkew: 60,
        now: World.now)
    claims(input) { claims in
        precondition((plain != nil) == (claims?.says("sub", "alice") ?? false))
        precondition(((try? signed.get()) != nil) == (claims.map(userInfoHolds) ?? false))
    }
    if let plain { precondition(Array(plain.utf8) == input) }
    if let payload = try? signed.get() { precondition(payload == input) }
}

private func userInfoHolds(_ claims: Claims) -> Bool {
    let now = Double(World.now / 1000)
    return (claims["iss"] == nil || claims.says("iss", World.issuer))
        && (claims["aud"] == nil || claims.texts("aud")?.contains(Array(World.clientID.utf8)) == true)
        && (claims["exp"] == nil || claims.number("exp").map { $0.isFinite && $0 > now - 60 } == true)
        && (claims["nbf"] == nil || claims.number("nbf").map { $0.isFinite && $0 <= now + 60 } == true)
}
