// SPDX-License-Identifier: Apache-2.0

/// What a login's ID token is held against (OpenID Connect Core §3.1.3.7, behaviour §6).
struct IDTokenExpectations: Equatable, Sendable {
    /// Byte for byte the discovered `issuer`.
    var issuer: String
    var clientID: String
    var nonce: String
    /// For `at_hash`.
    var accessToken: String
    /// For `c_hash`.
    var code: String?
    /// Seconds; with it `auth_time` is demanded.
    var maxAge: Int64?
    /// Wall-clock seconds at the start of the login.
    var loginStartedAt: Int64
    /// Seconds, 0 to 300.
    var clockSkew: Int64 = 60
}

/// What an ID token that a refresh brought is held against (OpenID Connect Core §12.2, behaviour §6).
struct RefreshedIDTokenExpectations: Equatable, Sendable {
    /// Of the grant that was refreshed.
    var login: LoginClaims
    var clientID: String
    /// The new one, for `at_hash`.
    var accessToken: String
    /// Seconds, 0 to 300.
    var clockSkew: Int64 = 60
}

/// A verified ID token.
struct VerifiedIDToken: Equatable, Sendable {
    var login: LoginClaims
    /// All claims, the payload's bytes as signed (a JSON object, valid UTF-8).
    var claimsJSON: String
    /// Authentication context class, reported to the app.
    var acr: String?
}

enum IDTokenRejection: Error, Equatable, Sendable {
    /// No key of the set fits, or (without `kid`) none verifies: the set may be outdated, worth one refetch.
    case noFittingKey(String)
    /// A rule is broken; the sentence names it and holds no claim value.
    case rejected(String)
}
