// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Options of one login (behaviour §4); what is `nil` is not sent.
public struct LoginOptions: Sendable {
    /// In place of the configured scopes; `openid` is always added.
    public var scopes: [String]?
    public var prompt: String?
    public var loginHint: String?
    public var uiLocales: String?
    public var acrValues: String?
    /// Seconds; with it the ID token's `auth_time` is demanded and checked.
    public var maxAge: Int64?
    /// A JSON object (OpenID Connect Core §5.5).
    public var claims: String?
    /// RFC 8707.
    public var resources: [String] = []
    /// A JSON array (RFC 9396).
    public var authorizationDetails: String?
    /// Other parameters of the authorization request; none that the library sets itself.
    public var parameters: [(name: String, value: String)] = []

    public init() {}

    /// Names that only the library may set; `request`, `request_uri` and `response_mode` would change what it reads.
    private static let ours: Set<String> = [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method",
        "prompt", "login_hint", "ui_locales", "acr_values", "max_age", "claims", "resource", "authorization_details",
        "request", "request_uri", "response_mode", "dpop_jkt",
    ]

    /// The parameters these options stand for, checked.
    ///
    /// - Throws: `configuration(.invalidConfiguration)` with a detail that names the option.
    func requestParameters() throws(OAuthError) -> [FormField] {
        var result: [FormField] = []
        func refused(_ why: String) -> OAuthError { .configuration(.invalidConfiguration, "login options: \(why)") }
        let texts = [
            ("prompt", prompt), ("login_hint", loginHint), ("ui_locales", uiLocales), ("acr_values", acrValues),
            ("claims", claims), ("authorization_details", authorizationDetails),
        ]
        for case (let name, let value?) in texts {
            guard !value.isEmpty else { throw refused("\(name) is empty") }
            result.append((name, value))
        }
        if let maxAge {
            guard maxAge >= 0 else { throw refused("max_age is negative") }
            result.append(("max_age", String(maxAge)))
        }
        if let claims, (try? JSONDecoder().decode([String: AnyJSON].self, from: Data(claims.utf8))) == nil {
            throw refused("claims is not a JSON object (OpenID Connect Core §5.5)")
        }
        if let details = authorizationDetails,
            (try? JSONDecoder().decode([AnyJSON].self, from: Data(details.utf8))) == nil
        {
            throw refused("authorization_details is not a JSON array (RFC 9396 §2)")
        }
        for resource in resources {
            guard URLParts.scheme(of: resource) != nil, !resource.contains("#") else {
                throw refused("a resource is not an absolute URI without a fragment (RFC 8707 §2)")
            }
            result.append(("resource", resource))
        }
        var names = Self.ours
        for (name, value) in parameters {
            guard !name.isEmpty else { throw refused("a parameter has no name") }
            guard names.insert(name).inserted else {
                throw refused("the parameter \(name) is set by the library or repeated")
            }
            result.append((name, value))
        }
        return result
    }

    /// Any JSON value, only looked at for being one.
    private struct AnyJSON: Decodable {
        init(from decoder: any Decoder) throws {}
    }
}
