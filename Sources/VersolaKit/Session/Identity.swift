// SPDX-License-Identifier: Apache-2.0

/// Who is signed in: the claims of the stored, verified ID token.
public struct Identity: Equatable, Sendable {
    /// The `sub` claim.
    public var subject: String
    /// All claims, a JSON object.
    public var claimsJSON: String

    init(_ verified: VerifiedIDToken) {
        subject = verified.login.subject
        claimsJSON = verified.claimsJSON
    }

    /// From a grant, whose ID token was verified before it was stored.
    init?(_ grant: Grant) {
        guard let token = try? JWS(compact: grant.idToken),
            let claims = String(validating: token.payload, as: UTF8.self)
        else { return nil }
        subject = grant.login.subject
        claimsJSON = claims
    }
}

/// What a logout achieved; the session here is gone in any case.
public struct LogoutResult: Equatable, Sendable {
    /// The provider confirmed the revocation.
    public var tokenRevoked = false
    /// The provider's own session was ended, too.
    public var sessionEnded = false
}

/// An access token to send.
public struct Token: Equatable, Sendable {
    public var value: String
    public var type: String
    /// By the wall clock, milliseconds since 1970; `nil` when the provider did not say.
    public var expiresAtMillis: Int64?
    public var scope: String

    init(_ token: AccessToken) {
        value = token.value
        type = token.type
        scope = token.scope
        expiresAtMillis = token.lifetimeMillis.map { lifetime in
            let (sum, overflow) = token.receivedAt.wall.addingReportingOverflow(lifetime)
            return overflow ? .max : sum
        }
    }
}
