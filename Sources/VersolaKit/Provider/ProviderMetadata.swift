// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// What a login needs to know of the provider: from discovery (OpenID Connect Discovery §3) or from ``ProviderEndpoints``,
/// checked against the minimal contract (behaviour §11) when made.
struct ProviderMetadata: Equatable, Sendable {
    /// Byte for byte as published: what ID tokens and redirects must say.
    var issuer: String
    var authorizationEndpoint: String
    var tokenEndpoint: String
    var jwksURI: String
    var revocationEndpoint: String?
    var userInfoEndpoint: String?
    var endSessionEndpoint: String?
    /// `iss` comes with every redirect (RFC 9207 §3).
    var issPromised: Bool

    init(_ endpoints: ProviderEndpoints) {
        issuer = endpoints.issuer
        authorizationEndpoint = endpoints.authorizationEndpoint
        tokenEndpoint = endpoints.tokenEndpoint
        jwksURI = endpoints.jwksUri
        revocationEndpoint = endpoints.revocationEndpoint
        userInfoEndpoint = endpoints.userInfoEndpoint
        endSessionEndpoint = endpoints.endSessionEndpoint
        issPromised = endpoints.issInRedirect
    }

    /// What a stranger sent, for a log.
    private static func shown(_ issuer: String) -> String {
        let isPlain = issuer.utf8.count <= 200 && issuer.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        return isPlain ? issuer : "another issuer"
    }

    /// Judges a discovery document.
    ///
    /// - Throws: ProviderUnsupported, DiscoveryIssuerMismatch; `undecodable` when it is no JSON object.
    init(_ document: [UInt8], configuredIssuer: String, undecodable: OAuthError) throws(OAuthError) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(document)) else { throw undecodable }
        guard let issuer = members.issuer?.value else { throw Self.unsupported("the metadata lacks issuer") }
        guard Self.withoutFinalSlash(issuer).utf8.elementsEqual(Self.withoutFinalSlash(configuredIssuer).utf8) else {
            throw .configuration(
                .discoveryIssuerMismatch,
                "discovery: the metadata names \(Self.shown(issuer)), but \(configuredIssuer) is configured")
        }
        self.issuer = issuer
        authorizationEndpoint = try Self.required(members.authorization_endpoint, "authorization_endpoint")
        tokenEndpoint = try Self.required(members.token_endpoint, "token_endpoint")
        jwksURI = try Self.required(members.jwks_uri, "jwks_uri")
        revocationEndpoint = try Self.optional(members.revocation_endpoint, "revocation_endpoint")
        userInfoEndpoint = try Self.optional(members.userinfo_endpoint, "userinfo_endpoint")
        endSessionEndpoint = try Self.optional(members.end_session_endpoint, "end_session_endpoint")
        issPromised = members.authorization_response_iss_parameter_supported?.value ?? false
        if let methods = members.code_challenge_methods_supported?.value, !methods.contains("S256") {
            throw Self.unsupported("the provider does not offer PKCE with S256")
        }
        if let algorithms = members.id_token_signing_alg_values_supported?.value,
            !algorithms.contains(where: { SignatureAlgorithm(rawValue: $0) != nil })
        {
            throw Self.unsupported("the provider offers no asymmetric ID-token signature that can be verified")
        }
    }

    /// `{issuer}/.well-known/openid-configuration`, never with `//` (behaviour §11).
    static func wellKnownURL(issuer: String) -> String {
        withoutFinalSlash(issuer) + "/.well-known/openid-configuration"
    }

    private static func withoutFinalSlash(_ text: String) -> Substring {
        text.hasSuffix("/") ? text.dropLast() : text[...]
    }

    private static func required(_ member: Lenient<String>?, _ name: String) throws(OAuthError) -> String {
        guard let url = member?.value else { throw unsupported("the metadata lacks \(name)") }
        return try usable(url, name)
    }

    private static func optional(_ member: Lenient<String>?, _ name: String) throws(OAuthError) -> String? {
        guard let url = member?.value else { return nil }
        return try usable(url, name)
    }

    private static func usable(_ url: String, _ name: String) throws(OAuthError) -> String {
        guard let parts = URLParts(url), parts.isSecure, !parts.hasUserInfo, parts.fragment == nil else {
            throw unsupported("\(name) is not an https URL (http is only for loopback)")
        }
        return url
    }

    private static func unsupported(_ why: String) -> OAuthError {
        .configuration(.providerUnsupported, "discovery: \(why)")
    }

    private struct Members: Decodable {
        var issuer: Lenient<String>?
        var authorization_endpoint: Lenient<String>?
        var token_endpoint: Lenient<String>?
        var jwks_uri: Lenient<String>?
        var revocation_endpoint: Lenient<String>?
        var userinfo_endpoint: Lenient<String>?
        var end_session_endpoint: Lenient<String>?
        var authorization_response_iss_parameter_supported: Lenient<Bool>?
        var code_challenge_methods_supported: Lenient<[String]>?
        var id_token_signing_alg_values_supported: Lenient<[String]>?
    }
}
