// SPDX-License-Identifier: Apache-2.0

/// The verdict on an ID token (OpenID Connect Core §3.1.3.7 and §12.2, behaviour §6). Pure: the same input, the same verdict.
enum IDTokenValidator {
    /// Judges the ID token of a code exchange.
    static func validate(
        _ token: String, keys: JWKSet, expectations: IDTokenExpectations, now: WallMillis
    ) -> Result<VerifiedIDToken, IDTokenRejection> {
        Result { () throws(IDTokenRejection) in
            let rules = IDTokenRules(
                issuer: expectations.issuer, clientID: expectations.clientID, accessToken: expectations.accessToken,
                code: expectations.code, clockSkew: Double(expectations.clockSkew), now: Double(now) / 1000)
            let judged = try rules.judge(token, keys: keys)
            guard let nonce = judged.claims.nonce, equalInConstantTime(nonce, expectations.nonce) else {
                throw .rejected("The ID token's nonce is missing or not the login's.")
            }
            if let maxAge = expectations.maxAge {
                guard let authTime = judged.claims.authTime else {
                    throw .rejected("The ID token has no auth_time, which max_age demands.")
                }
                let earliest = Double(expectations.loginStartedAt) - Double(maxAge) - rules.clockSkew
                guard authTime >= earliest else {
                    throw .rejected("The ID token's auth_time is longer ago than max_age allows.")
                }
            }
            return judged.verified
        }
    }

    /// Judges an ID token that a refresh brought. The result's `login` is the login's, unchanged.
    static func validateRefreshed(
        _ token: String, keys: JWKSet, expectations: RefreshedIDTokenExpectations, now: WallMillis
    ) -> Result<VerifiedIDToken, IDTokenRejection> {
        Result { () throws(IDTokenRejection) in
            let login = expectations.login
            let rules = IDTokenRules(
                issuer: login.issuer, clientID: expectations.clientID, accessToken: expectations.accessToken, code: nil,
                clockSkew: Double(expectations.clockSkew), now: Double(now) / 1000)
            var verified = try rules.judge(token, keys: keys).verified
            let renewed = verified.login
            guard renewed.subject.hasSameBytes(as: login.subject) else {
                throw .rejected("The refreshed ID token's sub is not the login's.")
            }
            guard containsAll(renewed.audience, of: login.audience), containsAll(login.audience, of: renewed.audience)
            else { throw .rejected("The refreshed ID token's aud is not the login's.") }
            // Both, where present, are the client_id already.
            guard (renewed.authorizedParty == nil) == (login.authorizedParty == nil) else {
                throw .rejected("The refreshed ID token's azp is not the login's.")
            }
            if let nonce = renewed.nonce {
                guard let expected = login.nonce, equalInConstantTime(nonce, expected) else {
                    throw .rejected("The refreshed ID token's nonce is not the login's.")
                }
            }
            // It may move forward: the person signed in again in that browser session.
            if let authTime = renewed.authTime, let original = login.authTime, authTime < original {
                throw .rejected("The refreshed ID token's auth_time is before the login's.")
            }
            verified.login = login
            return verified
        }
    }

    private static func containsAll(_ audience: [String], of other: [String]) -> Bool {
        other.allSatisfy { wanted in audience.contains { $0.hasSameBytes(as: wanted) } }
    }
}
