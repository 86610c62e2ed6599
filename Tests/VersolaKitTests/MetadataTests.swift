// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Discovery and its cache (behaviour §11, §4 step 2).
@Suite(.timeLimit(.minutes(1))) struct MetadataTests {
    private func cache(_ harness: Harness) -> MetadataCache {
        MetadataCache(
            harness.configuration.provider,
            sender: Sender(
                transport: harness.transport, time: harness.time, random: SystemRandom(), pauses: Pauses(),
                closing: Closing()),
            time: harness.time)
    }

    private func load(_ cache: MetadataCache, _ harness: Harness) async throws(OAuthError) -> ProviderMetadata {
        try await cache.metadata(budget: OperationBudget(harness.time, harness.configuration.retryPolicy))
    }

    @Test(arguments: [
        ("https://op.example", "https://op.example"), ("https://op.example/", "https://op.example"),
        ("https://op.example", "https://op.example/"), ("https://op.example/", "https://op.example/"),
        ("https://op.example/a", "https://op.example/a/"), ("https://op.example/a/", "https://op.example/a"),
    ])
    func b01OneFinalSlashIsIgnoredAndTheURLHasNoDoubleSlash(configured: String, published: String) async throws {
        let harness = try Harness(issuer: configured)
        harness.provider.change { $0.discovery["issuer"] = "\"\(published)\"" }
        #expect(try await load(cache(harness), harness).issuer == published)
        let url = try #require(harness.transport.sent(.discovery).first?.request.url)
        #expect(url.hasSuffix("/.well-known/openid-configuration"))
        #expect(!url.dropFirst("https://".count).contains("//"))
        try await harness.close()
    }

    @Test func b01TheIDTokensIssIsByteForByteTheDiscoveredOne() async throws {
        for (iss, error) in [
            ("https://op.example/", nil), ("https://op.example", OAuthError.configuration(.idTokenRejected)),
        ] {
            let harness = try Harness(issuer: "https://op.example")
            harness.provider.change {
                $0.discovery["issuer"] = "\"https://op.example/\""
                $0.claims = ["iss": "\"\(iss)\""]
            }
            let call = try await harness.waitingLogin()
            _ = try harness.listener.navigate(try harness.response())
            #expect(await call.failure() == error)
            try await harness.close()
        }
    }

    @Test(arguments: [
        "https://op.example//", "https://OP.example", "https://op.example/a", "https://{tenant}.example",
        "http://op.example",
    ])
    func anotherIssuerIsAMismatch(published: String) async throws {
        let harness = try Harness()
        harness.provider.change { $0.discovery["issuer"] = "\"\(published)\"" }
        #expect(
            await failure { try await load(cache(harness), harness) } == .configuration(.discoveryIssuerMismatch))
        try await harness.close()
    }

    /// To Swift the KELVIN SIGN and K are the same.
    @Test func theIssuerIsNotNormalized() async throws {
        let harness = try Harness(issuer: "https://op.example/K")
        #expect(try await load(cache(harness), harness).issuer == "https://op.example/K")
        harness.provider.change { $0.discovery["issuer"] = "\"https://op.example/\u{212a}\"" }
        #expect(
            await failure { try await load(cache(harness), harness) } == .configuration(.discoveryIssuerMismatch))
        try await harness.close()
    }

    @Test(arguments: [
        (ScriptedTransport.Answer.json(200, "<!doctype html>"), OAuthError.server(200)), (.json(200, ""), .server(200)),
        (.json(200, "[]"), .server(200)), (.status(404), .server(404)), (.status(500), .server(500)),
        (
            .json(302, "", [HTTPField(name: "Location", value: "https://op.example/x")]),
            .configuration(.endpointRedirected)
        ),
        (
            .json(301, "", [HTTPField(name: "Location", value: "http://op.example/x")]),
            .configuration(.endpointRedirected)
        ),
        (.status(304), .configuration(.endpointRedirected)), (.failure(.connect), .recoverable(.network(.connect))),
        (.json(200, "{}"), .configuration(.providerUnsupported)),
    ])
    func b02AFailureIsTypedAndNotCached(answer: ScriptedTransport.Answer, error: OAuthError) async throws {
        let harness = try Harness()
        let cache = cache(harness)
        harness.transport.next(.discovery, answer)
        #expect(await failure { try await load(cache, harness) } == error)
        #expect(cache.cached == nil)
        #expect(try await load(cache, harness).issuer == "https://op.example")
        #expect(harness.transport.sent(.discovery).count == 2)
        try await harness.close()
    }

    @Test(arguments: ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"])
    func metadataThatLacksAMember(member: String) async throws {
        for value in [nil, "7", "null"] as [String?] {
            let harness = try Harness()
            harness.provider.change { $0.discovery[member] = value }
            #expect(
                await failure { try await load(cache(harness), harness) } == .configuration(.providerUnsupported))
            try await harness.close()
        }
    }

    @Test(arguments: ["authorization_endpoint", "token_endpoint", "jwks_uri", "revocation_endpoint"])
    func endpointsAreHttpsOrLoopback(member: String) async throws {
        for (url, accepted) in [
            ("http://op.example/x", false), ("https://user@op.example/x", false), ("https://op.example/x#f", false),
            ("https://op.example/x#", false),
            ("/relative", false), ("javascript:alert(1)", false), ("http://127.0.0.1:9/x", true),
            ("https://other.example/x?y=1", true),
        ] {
            let harness = try Harness()
            harness.provider.change { $0.discovery[member] = "\"\(url)\"" }
            let error = await failure { try await load(cache(harness), harness) }
            #expect(error == (accepted ? nil : .configuration(.providerUnsupported)), "\(url)")
            try await harness.close()
        }
    }

    @Test(
        arguments: [
            ("code_challenge_methods_supported", "[\"plain\"]", false),
            ("code_challenge_methods_supported", "[]", false),
            ("code_challenge_methods_supported", "[\"plain\",\"S256\"]", true),
            ("code_challenge_methods_supported", nil, true),
            ("id_token_signing_alg_values_supported", "[\"none\",\"HS256\"]", false),
            ("id_token_signing_alg_values_supported", "[\"none\",\"RS256\"]", true),
            ("id_token_signing_alg_values_supported", nil, true),
            ("token_endpoint_auth_methods_supported", "[\"client_secret_basic\"]", true),
        ] as [(String, String?, Bool)])
    func theMinimalContract(member: String, value: String?, accepted: Bool) async throws {
        let harness = try Harness()
        harness.provider.change { $0.discovery[member] = value }
        let error = await failure { try await load(cache(harness), harness) }
        #expect(error == (accepted ? nil : .configuration(.providerUnsupported)))
        try await harness.close()
    }

    // MARK: The cache

    @Test(
        arguments: [
            (nil, 3_600_000), ("max-age=60", 60_000), ("public, max-age=60", 60_000), ("MAX-AGE=60", 60_000),
            ("max-age = 60", 60_000), ("no-store", 0), ("no-cache, max-age=60", 0), ("max-age=0", 0),
            ("max-age=99999999999999999999", 0), ("max-age=-1", 0), ("max-age=x", 0), ("max-age=31536000", 86_400_000),
            ("private", 3_600_000),
        ] as [(String?, Int64)])
    func theProviderSaysHowLongMetadataIsFresh(field: String?, millis: Int64) {
        let fields = field.map { [HTTPField(name: "cache-control", value: $0)] } ?? []
        #expect(MetadataCache.lifetimeMillis(HTTPResponse(status: 200, fields: fields, body: [])) == millis)
    }

    @Test func freshMetadataIsNotAskedForAgain() async throws {
        let harness = try Harness()
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "max-age=60")] }
        let cache = cache(harness)
        _ = try await load(cache, harness)
        harness.time.advance(59_999)
        _ = try await load(cache, harness)
        #expect(harness.transport.sent(.discovery).count == 1)
        harness.time.advance(1)
        _ = try await load(cache, harness)
        #expect(harness.transport.sent(.discovery).count == 2)
        try await harness.close()
    }

    @Test func staleMetadataIsAskedForWithItsETagAndKeptOn304() async throws {
        let harness = try Harness()
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "ETag", value: "\"v1\"")] }
        let cache = cache(harness)
        let first = try await load(cache, harness)
        harness.time.advance(3_600_000)
        harness.transport.next(.discovery, .json(304, "", [HTTPField(name: "Cache-Control", value: "max-age=60")]))
        #expect(try await load(cache, harness) == first)
        let conditional = harness.transport.sent(.discovery).map { sent in
            sent.request.fields.first { $0.name == "If-None-Match" }?.value
        }
        #expect(conditional == [nil, "\"v1\""])
        harness.time.advance(59_999)
        _ = try await load(cache, harness)
        #expect(harness.transport.sent(.discovery).count == 2)
        try await harness.close()
    }

    @Test func aFailureToRefetchIsNotAnsweredWithStaleMetadata() async throws {
        let harness = try Harness()
        let cache = cache(harness)
        _ = try await load(cache, harness)
        harness.time.advance(3_600_000)
        harness.transport.next(.discovery, .failure(.connect))
        #expect(await failure { try await load(cache, harness) } == .recoverable(.network(.connect)))
        #expect(cache.cached != nil)
        try await harness.close()
    }

    @Test func explicitEndpointsNeedNoDiscovery() async throws {
        let endpoints = ProviderEndpoints(
            issuer: "https://op.example", authorizationEndpoint: "https://op.example/authorize?tenant=1",
            tokenEndpoint: "https://op.example/token", jwksUri: "https://op.example/jwks", issInRedirect: true)
        let harness = try Harness(endpoints: endpoints)
        let call = try await harness.waitingLogin()
        #expect(harness.browser.urls[0].hasPrefix("https://op.example/authorize?tenant=1&response_type=code&"))
        _ = try harness.listener.navigate(try harness.response() + "&iss=https%3A%2F%2Fop.example")
        #expect(try await call.value().subject == "alice")
        #expect(harness.transport.sent(.discovery).isEmpty)
        try await harness.close()
    }

    // MARK: Key set

    @Test(arguments: [
        (ScriptedTransport.Answer.status(404), OAuthError.server(404)), (.json(200, "no"), .server(200)),
        (.status(302), .configuration(.endpointRedirected)), (.failure(.timeout), .recoverable(.network(.timeout))),
    ])
    func aKeySetThatCannotBeLoadedEndsTheLoginAndTheNextCanSucceed(
        answer: ScriptedTransport.Answer, error: OAuthError
    ) async throws {
        let harness = try Harness()
        harness.transport.next(.keySet, answer)
        let call = try await harness.waitingLogin()
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == error)
        #expect(try await harness.signIn().subject == "alice")
        try await harness.close()
    }
}

extension OAuthError {
    /// A server's failure at the first attempt, at once.
    static func server(_ status: Int) -> OAuthError {
        .recoverable(.server(status: status, retryAfterMillis: nil, attempts: 1, elapsedMillis: 0))
    }
}
