// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §4, step by step.
@Suite(.timeLimit(.minutes(1))) struct LoginTests {
    @Test func theStepsHappenInTheirOrder() async throws {
        let harness = try Harness()
        try await harness.signIn()
        #expect(
            harness.journal.entries == [
                .published(.unauthenticated), .sent(.discovery), .answered(.discovery), .store(.savePending),
                .published(.authorizing), .store(.spendPending), .sent(.codeExchange), .answered(.codeExchange),
                .sent(.keySet), .answered(.keySet), .store(.storeLogin), .store(.erasePending),
                .published(.authenticated),
            ])
        #expect(harness.browser.urls.count == 1)
        try await harness.close()
    }

    @Test func stateIsPublishedBeforeTheOperationCompletes() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        call.whenEnded { [journal = harness.journal] _ in journal.note(.ended) }
        _ = try harness.listener.navigate(try harness.response())
        _ = try await call.value()
        #expect(harness.journal.order(of: .published(.authenticated), .ended) == [.published(.authenticated), .ended])
        try await harness.close()
    }

    @Test func theAuthorizationRequestCarriesPKCEStateNonceAndTheExactRedirectURI() async throws {
        let harness = try Harness(scopes: ["email", "openid"])
        _ = try await harness.waitingLogin()
        let url = try #require(harness.browser.urls.first)
        #expect(url.hasPrefix("https://op.example/authorize?"))
        let fields = FormEncoding.parse(URLParts.split(url).query ?? "")
        #expect(
            fields.map(\.name) == [
                "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
                "code_challenge_method",
            ])
        #expect(try harness.parameter("redirect_uri", of: url) == "http://127.0.0.1:50001/callback")
        #expect(try harness.parameter("scope", of: url) == "email openid")
        #expect(try harness.parameter("state", of: url).count == 43)
        #expect(try harness.parameter("nonce", of: url).count == 43)

        let redirect = try harness.response()
        _ = try harness.listener.navigate(redirect)
        try await harness.states.reach(.authenticated)
        let exchange = try #require(harness.transport.sent(.codeExchange).first)
        #expect(exchange.request.carriesOneTimeCredential)
        #expect(
            Set(exchange.form.map(\.name)) == ["grant_type", "code", "redirect_uri", "client_id", "code_verifier"])
        #expect(exchange["redirect_uri"] == "http://127.0.0.1:50001/callback")
        let verifier = try #require(exchange["code_verifier"])
        #expect(try PKCE.challenge(for: verifier) == harness.parameter("code_challenge", of: url))
        try await harness.close()
    }

    @Test func twoLoginsShareNothing() async throws {
        let harness = try Harness()
        _ = try await harness.waitingLogin()
        _ = try await harness.waitingLogin()
        for name in ["state", "nonce", "code_challenge"] {
            #expect(try Set(harness.browser.urls.map { try harness.parameter(name, of: $0) }).count == 2)
        }
        try await harness.close()
    }

    enum EarlyFailure: CaseIterable {
        case option, discovery, port, store
    }

    @Test(arguments: EarlyFailure.allCases, [false, true])
    func aLoginThatFailsBeforeTheBrowserOpensPublishesNothingAndLeavesAWaitingOneAlone(
        failing: EarlyFailure, overAWaitingOne: Bool
    ) async throws {
        let harness = try Harness(redirectURI: "http://127.0.0.1:4711/callback")
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
        let waiting = overAWaitingOne ? try await harness.waitingLogin() : nil
        harness.states.clear()
        var options = LoginOptions()
        let wanted: OAuthError
        switch failing {
        case .option:
            options.maxAge = -1
            wanted = .configuration(.invalidConfiguration)
        case .discovery:
            harness.transport.next(.discovery, .failure(.connect))
            wanted = .recoverable(.network(.connect))
        case .port:
            // A waiting login's listener is taken over: then nothing has to be bound.
            if overAWaitingOne { options.maxAge = -1 } else { harness.listeners.occupy(4711) }
            wanted = .configuration(.invalidConfiguration)
        case .store:
            harness.store.fail([.savePending])
            wanted = .configuration(.storeUnavailable)
        }
        #expect(await harness.client.startLogin(options).failure() == wanted)
        #expect(harness.states.changes.count == 1)
        #expect(harness.browser.urls.count == (overAWaitingOne ? 1 : 0))
        if let waiting {
            #expect(!waiting.isEnded)
            #expect(try harness.listener.isOpen)
            _ = try harness.listener.navigate(try harness.response())
            #expect(try await waiting.value().subject == "alice")
        } else {
            #expect(harness.listeners.made.filter { !$0.isClosed }.isEmpty)
        }
        try await harness.close()
    }

    @Test func aLoginOnAFixedPortTakesOverTheListenerOfOneWhoseCodeIsOnItsWay() async throws {
        let harness = try Harness(redirectURI: "http://127.0.0.1:4711/callback")
        let first = try await harness.waitingLogin()
        let (early, exchange) = (try harness.response(), harness.transport.hold(.codeExchange))
        let page = try harness.listener.navigate(early)
        try await exchange.sent()
        let second = harness.client.startLogin(LoginOptions())
        await harness.rest()
        try #require(harness.browser.urls.count == 2)
        #expect(harness.listeners.made.count == 1)

        // The browser repeats itself: that is not the new login's affair.
        let again = try harness.listener.navigate(early)
        await harness.rest()
        #expect(!second.isEnded)
        exchange.release()
        #expect(try await first.value().subject == "alice")
        #expect(try await page.shown() == .signedIn)
        #expect(try await again.shown() == .signedIn)
        #expect(try harness.listener.isOpen)
        _ = try harness.listener.navigate(try harness.response(to: harness.browser.urls.last))
        #expect(try await second.value().subject == "alice")
        #expect(harness.states.last?.generation == 2)
        try await harness.close()
    }

    @Test func aFixedPortIsFreeAgainForTheNextLoginWhileTheLastPageLingers() async throws {
        let harness = try Harness(redirectURI: "http://127.0.0.1:4711/callback")
        try await harness.signIn()
        #expect(try harness.listener.lingerMillis == 2_000)
        try await harness.signIn()
        #expect(harness.listeners.made.map(\.port) == [4711, 4711])
        try await harness.close()
    }

    @Test func theBrowserIsOpenedAgainOnlyForALoginThatWaits() async throws {
        let harness = try Harness()
        harness.client.reopenBrowser()
        let call = try await harness.waitingLogin()
        harness.client.reopenBrowser()
        await harness.rest()
        #expect(harness.browser.urls.count == 2)
        #expect(Set(harness.browser.urls).count == 1)
        call.cancel(.user)
        _ = await call.failure()
        harness.client.reopenBrowser()
        await harness.rest()
        #expect(harness.browser.urls.count == 2)
        try await harness.close()
    }

    @Test func withoutABrowserTheURLIsInTheState() async throws {
        let harness = try Harness(withBrowser: false)
        let call = try await harness.waitingLogin()
        #expect(harness.states.last?.authorizationURL == harness.client.authorizationURL)
        #expect(harness.client.authorizationURL != nil)
        #expect(try await harness.client.handleRedirect(try harness.redirect()) == RedirectHandling(handled: true))
        #expect(try await call.value().subject == "alice")
        #expect(harness.client.authorizationURL == nil)
        try await harness.close()
    }

    @Test func b47ABrowserThatCannotBeOpenedEndsNothing() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.browser.report(.failed)
        harness.browser.report(.opened)
        await harness.rest()
        #expect(!call.isEnded)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test(arguments: [BrowserReport.userClosed, .systemClosed])
    func aBrowserThatWasClosedEndsTheWaiting(report: BrowserReport) async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.browser.report(report)
        #expect(await call.failure() == (report == .userClosed ? .userCancelled : .systemCancelled))
        #expect(harness.client.state == .unauthenticated)
        #expect(try harness.listener.isOpen == (report == .systemClosed))
        try await harness.close()
    }

    /// People close the page as soon as they have done their part.
    @Test(arguments: [BrowserReport.userClosed, .systemClosed])
    func aBrowserThatIsClosedAfterTheRedirectEndsNothing(report: BrowserReport) async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.browser.report(report)
        await harness.rest()
        #expect(!call.isEnded)
        exchange.release()
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test func oneLoginUsesOneCopyOfTheMetadata() async throws {
        let harness = try Harness()
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
        let call = try await harness.waitingLogin()
        harness.provider.change { $0.discovery["token_endpoint"] = "\"https://elsewhere.example/token\"" }
        _ = try harness.listener.navigate(try harness.response())
        _ = try await call.value()
        #expect(harness.transport.sent(.codeExchange).map(\.request.url) == ["https://op.example/token"])
        #expect(harness.transport.sent(.discovery).count == 1)
        try await harness.close()
    }

    @Test func aNoticeIsLoggedWhenThereIsNoRefreshToken() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        #expect(harness.logged.withLock { $0.count { $0.contains("no refresh token") } } == 1)
        try await harness.close()
    }

    // MARK: What the exchange may bring

    static let badExchanges: [(ScriptedTransport.Answer, OAuthError)] = [
        (.failure(.timeout), .recoverable(.network(.timeout))),
        (.oauthError("invalid_grant"), .reauthenticate(.grantRejected)),
        (.oauthError("invalid_client", 401), .configuration(.authorizationRejected)),
        (.status(307), .configuration(.endpointRedirected)),
        (.json(200, "{\"access_token\":\"a\",\"token_type\":\"bearer\"}"), .configuration(.idTokenRejected)),
        (
            .json(200, "{\"access_token\":\"a\",\"token_type\":\"mac\",\"id_token\":\"x\"}"),
            .configuration(.providerUnsupported)
        ),
        (
            .json(200, "{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"id_token\":\"x.y.z\"}"),
            .configuration(.idTokenRejected)
        ),
    ]

    @Test(arguments: badExchanges)
    func nothingOfALoginThatFailsAfterTheExchangeIsHandedOut(
        answer: ScriptedTransport.Answer, error: OAuthError
    ) async throws {
        let harness = try Harness()
        harness.transport.next(.codeExchange, answer)
        let call = try await harness.waitingLogin()
        let page = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == error)
        #expect(try await page.shown() == .failed)
        #expect(harness.client.state == .unauthenticated)
        #expect(try harness.store.store.grant() == nil)
        #expect(harness.transport.sent(.codeExchange).count == 1)
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    @Test func aCodeIsNotSentWhenItsMarkCannotBeMadeDurable() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.store.fail([.spendPending])
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .configuration(.storeUnavailable))
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        try await harness.close()
    }

    @Test func aGrantThatCannotBeStoredIsNoLogin() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.store.fail([.storeLogin])
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .configuration(.storeUnavailable))
        #expect(harness.client.state == .unauthenticated)
        try await harness.close()
    }

    @Test func rsaSignedIDTokensAreVerifiedToo() async throws {
        let harness = try Harness()
        let rsa = TestProvider(harness.time, key: .rs256)
        harness.transport.script { rsa.answer($0) }
        #expect(try await harness.signIn().subject == "alice")
        try await harness.close()
    }
}
