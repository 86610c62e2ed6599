// SPDX-License-Identifier: Apache-2.0

/// Endpoints given by the app, for a provider without discovery (behaviour §11).
public struct ProviderEndpoints: Equatable, Sendable {
    /// The `iss` expected in ID tokens and redirects, byte for byte.
    public var issuer: String
    public var authorizationEndpoint: String
    public var tokenEndpoint: String
    public var jwksUri: String
    public var revocationEndpoint: String?
    public var userInfoEndpoint: String?
    public var endSessionEndpoint: String?
    /// The provider puts `iss` into every redirect (RFC 9207).
    public var issInRedirect: Bool

    public init(
        issuer: String, authorizationEndpoint: String, tokenEndpoint: String, jwksUri: String,
        revocationEndpoint: String? = nil, userInfoEndpoint: String? = nil, endSessionEndpoint: String? = nil,
        issInRedirect: Bool = false
    ) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.jwksUri = jwksUri
        self.revocationEndpoint = revocationEndpoint
        self.userInfoEndpoint = userInfoEndpoint
        self.endSessionEndpoint = endSessionEndpoint
        self.issInRedirect = issInRedirect
    }
}
