// SPDX-License-Identifier: Apache-2.0

/// What holds for every ID token, of a login or of a refresh.
struct IDTokenRules {
    var issuer: String
    var clientID: String
    var accessToken: String
    var code: String?
    /// Seconds.
    var clockSkew: Double
    /// Seconds since 1970.
    var now: Double

    /// A token all of whose common rules hold.
    struct Judged {
        var claims: IDTokenClaims
        var verified: VerifiedIDToken
    }

    func judge(_ token: String, keys: JWKSet) throws(IDTokenRejection) -> Judged {
        let jws = try JWS(compact: token)
        try keys.verify(jws)
        guard let json = String(validating: jws.payload, as: UTF8.self) else {
            throw .rejected("The ID token's payload is not UTF-8.")
        }
        let claims = try IDTokenClaims(json: json)
        // OpenID Connect Core §3.1.3.7, 2.
        guard claims.issuer.hasSameBytes(as: issuer) else {
            throw .rejected("The ID token's iss is not the discovered issuer.")
        }
        try checkAudience(claims)
        try checkTimes(claims)
        try checkHash(claims.accessTokenHash, of: accessToken, named: "at_hash", by: jws.header.algorithm)
        if let code {
            try checkHash(claims.codeHash, of: code, named: "c_hash", by: jws.header.algorithm)
        }
        // OpenID Connect Core §2: at most 255 characters, ASCII.
        guard (1...255).contains(claims.subject.utf8.count) else {
            throw .rejected("The ID token's sub is empty or longer than 255 bytes.")
        }
        // A C string ends there: two persons would look like one.
        guard !claims.subject.utf8.contains(0) else { throw .rejected("The ID token's sub contains a NUL.") }
        let login = LoginClaims(
            issuer: claims.issuer, subject: claims.subject, audience: claims.audience,
            authorizedParty: claims.authorizedParty,
            nonce: claims.nonce, authTime: claims.authTime.flatMap { Int64(exactly: $0.rounded(.down)) })
        return Judged(
            claims: claims,
            verified: VerifiedIDToken(login: login, claimsJSON: json, acr: claims.contextClass))
    }

    /// OpenID Connect Core §3.1.3.7, 3 to 5.
    private func checkAudience(_ claims: IDTokenClaims) throws(IDTokenRejection) {
        guard claims.audience.contains(where: { $0.hasSameBytes(as: clientID) }) else {
            throw .rejected("The ID token's aud does not contain the client_id.")
        }
        if let party = claims.authorizedParty {
            guard party.hasSameBytes(as: clientID) else { throw .rejected("The ID token's azp is not the client_id.") }
        } else if claims.audience.contains(where: { !$0.hasSameBytes(as: clientID) }) {
            throw .rejected("The ID token has several audiences and no azp.")
        }
    }

    /// OpenID Connect Core §3.1.3.7, 9 and 10; how old `iat` is does not matter, `exp` is the limit.
    private func checkTimes(_ claims: IDTokenClaims) throws(IDTokenRejection) {
        guard claims.expiresAt > now - clockSkew else { throw .rejected("The ID token's exp is past.") }
        guard claims.issuedAt <= now + clockSkew else { throw .rejected("The ID token's iat is in the future.") }
    }

    /// OpenID Connect Core §3.1.3.6 and §3.3.2.11: the left half of the hash of the value's ASCII bytes.
    private func checkHash(
        _ claimed: String?, of value: String, named claim: String, by algorithm: SignatureAlgorithm
    ) throws(IDTokenRejection) {
        guard let claimed else { return }
        let digest: [UInt8]
        do throws(OAuthError) {
            digest = try algorithm.hash.digest(value.utf8)
        } catch {
            throw .rejected(error.diagnostics.detail)
        }
        guard equalInConstantTime(claimed, Base64URL.encode(digest.prefix(digest.count / 2))) else {
            throw .rejected("The ID token's \(claim) is not the hash of what came with it.")
        }
    }
}
