// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct ConfigurationTests {
    private static let endpoints = ProviderEndpoints(
        issuer: "any name", authorizationEndpoint: "https://op.example/a", tokenEndpoint: "https://op.example/t",
        jwksUri: "https://op.example/j", revocationEndpoint: "https://op.example/r")

    private func isRefused(_ make: () throws(OAuthError) -> OAuthConfiguration) -> Bool {
        failure(make) == .configuration(.invalidConfiguration)
    }

    private func configuration(
        issuer: String? = "https://op.example", clientId: String = "client",
        redirectUri: String = "http://127.0.0.1/cb",
        scopes: [String] = ["openid"], endpoints: ProviderEndpoints? = nil, session: String = "default",
        store: OAuthConfiguration.Store = .memory, caFile: String? = nil, proxy: String? = nil,
        requestTimeoutMillis: Int64 = 15_000, clockSkewSeconds: Int64 = 60
    ) throws(OAuthError) -> OAuthConfiguration {
        try OAuthConfiguration(
            issuer: issuer, clientId: clientId, redirectUri: redirectUri, scopes: scopes, endpoints: endpoints,
            session: session, store: store, caFile: caFile, proxy: proxy,
            requestTimeoutMillis: requestTimeoutMillis, clockSkewSeconds: clockSkewSeconds)
    }

    @Test(arguments: [
        ("https://op.example", true), ("https://op.example/tenant/", true), ("http://127.0.0.1:8080", true),
        ("http://localhost", true), ("http://[::1]:9", true), ("http://op.example", false), ("op.example", false),
        ("", false), ("https://", false), ("https://op.example?x=1", false), ("https://op.example#f", false),
        ("https://user@op.example", false), ("ftp://op.example", false), ("http://127.0.0.1.evil.example", false),
        ("http://localhost.evil.example", false),
    ])
    func issuers(issuer: String, accepted: Bool) {
        #expect(isRefused { () throws(OAuthError) in try configuration(issuer: issuer) } != accepted)
    }

    @Test func issuerAndEndpointsExcludeEachOtherAndOneIsNeeded() throws {
        #expect(isRefused { () throws(OAuthError) in try configuration(issuer: nil) })
        #expect(isRefused { () throws(OAuthError) in try configuration(endpoints: Self.endpoints) })
        #expect(try configuration(issuer: nil, endpoints: Self.endpoints).provider.issuer == "any name")
    }

    @Test(
        arguments: [
            \ProviderEndpoints.authorizationEndpoint, \.tokenEndpoint, \.jwksUri, \.issuer,
        ] as [WritableKeyPath<ProviderEndpoints, String> & Sendable])
    func everyEndpointIsChecked(path: WritableKeyPath<ProviderEndpoints, String> & Sendable) {
        var endpoints = Self.endpoints
        endpoints[keyPath: path] = path == \.issuer ? "" : "http://op.example/x"
        #expect(isRefused { () throws(OAuthError) in try configuration(issuer: nil, endpoints: endpoints) })
    }

    @Test(arguments: [
        ("", true), ("proxy.example", true), ("proxy.example:3128", true), ("http://proxy.example:3128", true),
        ("HTTPS://u:p@proxy.example", true), ("socks5h://[::1]:1080", true), ("socks4a://proxy.example/", true),
        ("ftp://proxy.example", false), ("proxy.example:port", false), ("http://proxy.example:99999", false),
        ("http://[::1", false), ("http://", false), ("http://proxy example", false), (":3128", false),
        ("file:///etc/passwd", false),
    ])
    func proxies(proxy: String, accepted: Bool) {
        #expect(isRefused { () throws(OAuthError) in try configuration(proxy: proxy) } != accepted)
    }

    @Test func aRevocationEndpointIsCheckedToo() {
        var endpoints = Self.endpoints
        endpoints.revocationEndpoint = "http://op.example/x"
        #expect(isRefused { () throws(OAuthError) in try configuration(issuer: nil, endpoints: endpoints) })
    }

    @Test(arguments: ["", "кто", "a\nb", String(repeating: "x", count: 1025)])
    func clientIdsThatAreRefused(id: String) {
        #expect(isRefused { () throws(OAuthError) in try configuration(clientId: id) })
    }

    @Test(arguments: ["", "a\0b", String(repeating: "x", count: 256)])
    func sessionNamesThatAreRefused(name: String) {
        #expect(isRefused { () throws(OAuthError) in try configuration(session: name) })
    }

    @Test func numbersOutsideTheirRangeAreRefused() {
        for timeout in [0, -1, 300_001, .min, .max] as [Int64] {
            #expect(isRefused { () throws(OAuthError) in try configuration(requestTimeoutMillis: timeout) })
        }
        for skew in [-1, 301, .min, .max] as [Int64] {
            #expect(isRefused { () throws(OAuthError) in try configuration(clockSkewSeconds: skew) })
        }
        #expect(isRefused { () throws(OAuthError) in try configuration(store: .keyFile(path: "relative")) })
        #expect(isRefused { () throws(OAuthError) in try configuration(caFile: "") })
    }

    @Test func connectingNeverTakesLongerThanTheRequest() throws {
        #expect(try configuration(requestTimeoutMillis: 4_000).transport.connectTimeoutMillis == 4_000)
        #expect(try configuration(requestTimeoutMillis: 60_000).transport.connectTimeoutMillis == 10_000)
    }

    // MARK: Redirect URIs

    @Test(arguments: [
        ("https://app.example/cb", RedirectURI.Kind.https),
        ("http://127.0.0.1/cb", .loopback(host: "127.0.0.1", port: 0, path: "/cb")),
        ("http://127.0.0.1:0/cb", .loopback(host: "127.0.0.1", port: 0, path: "/cb")),
        ("http://127.0.0.1:80/cb", .loopback(host: "127.0.0.1", port: 80, path: "/cb")),
        ("http://[::1]:4711/cb", .loopback(host: "[::1]", port: 4711, path: "/cb")),
        ("http://[::1]/cb", .loopback(host: "[::1]", port: 0, path: "/cb")),
        ("http://localhost:4711", .loopback(host: "localhost", port: 4711, path: "/")),
        ("com.example.app:/oauth", .privateUseScheme), ("com.example.app://oauth/x", .privateUseScheme),
    ])
    func kindsOfRedirectURIs(text: String, kind: RedirectURI.Kind) throws {
        let uri = try RedirectURI(text)
        #expect(uri.kind == kind)
        #expect(uri.text == text)
    }

    @Test(arguments: [
        "", "callback", "http://app.example/cb", "http://127.0.0.1.evil.example/cb", "app:/cb",
        "https://app.example/cb#f",
        "http://user@127.0.0.1/cb", "https://app.example/a b", "https://", "http://127.0.0.1:99999/cb",
        "com.example.app:/f#", "https://user:pw@app.example/",
    ])
    func redirectURIsThatAreRefused(text: String) {
        #expect(failure { () throws(OAuthError) in try RedirectURI(text) } == .configuration(.invalidConfiguration))
    }

    @Test(arguments: [
        ("http://127.0.0.1/cb", "http://127.0.0.1:5/cb"), ("http://127.0.0.1:0/cb?x=1", "http://127.0.0.1:5/cb?x=1"),
        ("http://[::1]/cb", "http://[::1]:5/cb"), ("http://localhost", "http://localhost:5"),
        ("com.example.app:/oauth", "com.example.app:/oauth"), ("https://app.example/cb", "https://app.example/cb"),
    ])
    func theListenersPortIsFilledIn(text: String, resolved: String) throws {
        #expect(try RedirectURI(text).resolved(port: 5) == resolved)
    }

    @Test(arguments: [
        ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb?code=1", true),
        ("http://127.0.0.1:7/cb", "http://127.0.0.1:7/cb?code=1", true),
        ("http://127.0.0.1:7/cb", "http://127.0.0.1:8/cb?code=1", false),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb/", false), ("http://127.0.0.1/cb", "https://127.0.0.1/cb", false),
        ("http://127.0.0.1/cb", "http://localhost/cb", false), ("https://a.example/cb", "https://A.example/cb?x", true),
        ("https://a.example/cb", "https://a.example:443/cb", true),
        ("https://a.example/cb", "https://b.example/cb", false),
        ("https://a.example/cb", "https://u@a.example/cb", false),
        ("com.example.app:/oauth", "com.example.app:/oauth?code=1#x", true),
        ("com.example.app:/oauth", "com.example.app:/other?code=1", false),
        ("com.example.app:/oauth", "com.example.app:/oauthx", false),
        // U+212A: a K to Swift.
        ("com.example.app:/K", "com.example.app:/\u{212a}?code=1", false),
        ("https://a.example/K", "https://a.example/\u{212a}?code=1", false),
    ])
    func whatIsOurRedirectURI(ours: String, url: String, matches: Bool) throws {
        #expect(try RedirectURI(ours).matches(url) == matches)
    }

    // MARK: Scopes

    @Test(arguments: [
        ([], "openid"), (["openid"], "openid"), (["email"], "openid email"), (["email", "openid"], "email openid"),
        (["a", "a", "b", "a"], "openid a b"), (["https://api.example/x"], "openid https://api.example/x"),
    ])
    func openidIsAlwaysAmongTheScopes(values: [String], text: String) throws {
        #expect(try Scope(values).text == text)
    }

    @Test(arguments: ["", "a b", "a\"", "a\\", "é", "a\n"])
    func scopesThatAreRefused(value: String) {
        #expect(failure { () throws(OAuthError) in try Scope([value]) } == .configuration(.invalidConfiguration))
    }
}
