// SPDX-License-Identifier: Apache-2.0

/// Everything a client is set up with; validated when made, so that a mistake shows before the first request.
public struct OAuthConfiguration: Sendable {
    /// Where the session is kept (behaviour §9).
    public enum Store: Equatable, Sendable {
        /// A directory below `$XDG_STATE_HOME/versola`, its key in a key file there.
        case auto
        /// The same directory, its key in this file (mode 0600, made when missing).
        case keyFile(path: String)
        /// Nothing is written; the session ends with the client.
        case memory
    }

    /// Where the access token is kept (behaviour §5).
    public enum AccessTokenCache: Equatable, Sendable {
        case memory, sealed
    }

    /// Who opens the browser.
    public enum BrowserChoice: Equatable, Sendable {
        case system, app, none
    }

    /// Where the provider's endpoints come from.
    enum Provider: Equatable, Sendable {
        case discovery(issuer: String)
        case endpoints(ProviderEndpoints)

        /// What the store directory is named after and records are bound to.
        var issuer: String {
            switch self {
            case .discovery(let issuer): issuer
            case .endpoints(let endpoints): endpoints.issuer
            }
        }
    }

    let provider: Provider
    let clientId: String
    let redirectUri: RedirectURI
    /// Without it a logout opens no browser.
    let postLogoutRedirectUri: RedirectURI?
    let scope: Scope
    let session: String
    let store: Store
    let accessTokenCache: AccessTokenCache
    let browser: BrowserChoice
    let transport: TransportSettings
    let clockSkewSeconds: Int64
    let retryPolicy: RetryPolicy

    /// - Parameters:
    ///   - issuer: an https URL (http on loopback); `nil` exactly when `endpoints` are given.
    ///   - scopes: `openid` is always added.
    ///   - proxy: URL of an HTTP or SOCKS proxy, or without a scheme an HTTP one's `host:port`; "" = none, `nil` = the
    ///     environment's. Loopback never uses one.
    ///   - session: accounts of one issuer and client live side by side under different names.
    ///   - requestTimeoutMillis: of one request to the provider, 1 to 300,000.
    ///   - clockSkewSeconds: tolerance when the provider's times are judged, 0 to 300.
    /// - Throws: `configuration(.invalidConfiguration)` with a detail that names the value.
    public init(
        issuer: String?, clientId: String, redirectUri: String, postLogoutRedirectUri: String? = nil,
        scopes: [String] = ["openid"],
        endpoints: ProviderEndpoints? = nil, session: String = "default", store: Store = .auto,
        accessTokenCache: AccessTokenCache = .memory,
        browser: BrowserChoice = .system, caFile: String? = nil, proxy: String? = nil,
        requestTimeoutMillis: Int64 = 15_000, clockSkewSeconds: Int64 = 60,
        retryPolicy: RetryPolicy = .default
    ) throws(OAuthError) {
        func refused(_ why: String) -> OAuthError { .configuration(.invalidConfiguration, Diagnostics(why)) }
        switch (issuer, endpoints) {
        case (let issuer?, nil):
            try Self.check(url: issuer, of: "issuer", queryAllowed: false)
            provider = .discovery(issuer: issuer)
        case (nil, let endpoints?):
            guard !endpoints.issuer.isEmpty else { throw refused("endpoints: the issuer is empty") }
            try Self.check(url: endpoints.authorizationEndpoint, of: "authorization endpoint")
            try Self.check(url: endpoints.tokenEndpoint, of: "token endpoint")
            try Self.check(url: endpoints.jwksUri, of: "jwks_uri")
            if let url = endpoints.revocationEndpoint { try Self.check(url: url, of: "revocation endpoint") }
            if let url = endpoints.userInfoEndpoint { try Self.check(url: url, of: "UserInfo endpoint") }
            if let url = endpoints.endSessionEndpoint { try Self.check(url: url, of: "end-session endpoint") }
            provider = .endpoints(endpoints)
        case (nil, nil): throw refused("an issuer or endpoints are needed")
        case (_?, _?): throw refused("an issuer and endpoints exclude each other")
        }
        guard !clientId.isEmpty, clientId.utf8.count <= 1024, clientId.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
        else { throw refused("client_id must be 1 to 1,024 printable ASCII characters (RFC 6749 §A.1)") }
        guard !session.isEmpty, session.utf8.count <= 255, !session.utf8.contains(0)
        else { throw refused("the session name must have 1 to 255 bytes") }
        guard (1...300_000).contains(requestTimeoutMillis)
        else { throw refused("the request timeout must be 1 to 300,000 ms") }
        guard (0...300).contains(clockSkewSeconds) else { throw refused("the clock skew must be 0 to 300 s") }
        if case .keyFile(let path) = store, !path.hasPrefix("/") {
            throw refused("the key file's path must be absolute")
        }
        if let caFile, caFile.isEmpty { throw refused("the CA file's path is empty") }
        if let proxy, !proxy.isEmpty, !CurlURL.namesProxy(proxy) {
            throw refused("proxy: it is not the URL of an HTTP or SOCKS proxy")
        }
        self.clientId = clientId
        self.redirectUri = try RedirectURI(redirectUri)
        self.postLogoutRedirectUri =
            if let uri = postLogoutRedirectUri { try RedirectURI(uri, "post-logout redirect URI") } else { nil }
        self.accessTokenCache = accessTokenCache
        self.scope = try Scope(scopes)
        self.session = session
        self.store = store
        self.browser = browser
        self.clockSkewSeconds = clockSkewSeconds
        self.retryPolicy = retryPolicy
        transport = TransportSettings(
            requestTimeoutMillis: requestTimeoutMillis, connectTimeoutMillis: min(10_000, requestTimeoutMillis),
            caFile: caFile, proxy: proxy)
    }

    private static func check(url text: String, of what: String, queryAllowed: Bool = true) throws(OAuthError) {
        func refused(_ why: String) -> OAuthError { .configuration(.invalidConfiguration, "\(what): \(why)") }
        guard let url = URLParts(text) else { throw refused("it is not an http or https URL") }
        guard url.isSecure else { throw refused("plain http is only for loopback addresses") }
        guard !url.hasUserInfo, url.fragment == nil else { throw refused("a user name or fragment has no place in it") }
        guard queryAllowed || url.query == nil else { throw refused("a query has no place in it") }
    }
}
