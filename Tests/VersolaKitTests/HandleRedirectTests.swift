// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §4, steps 8 and 9, and `handle_redirect` in all its outcomes.
@Suite(.timeLimit(.minutes(1))) struct HandleRedirectTests {
    private static let handled = RedirectHandling(handled: true)
    private static let notOurs = RedirectHandling(handled: false)

    @Test(arguments: [
        "https://elsewhere.example/callback?code=c&state=s", "http://127.0.0.1/other?code=c&state=s", "", "%",
        "callback",
        "com.example.app:/callback",
    ])
    func whatIsNotOurRedirectURIIsNotHandled(url: String) async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        #expect(try await harness.client.handleRedirect(url) == Self.notOurs)
        #expect(!call.isEnded)
        try await harness.close()
    }

    @Test func aRedirectThatIsAwaitedCompletesWithTheLoginsOutcome() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        #expect(try await harness.client.handleRedirect(try harness.redirect()) == Self.handled)
        #expect(call.isEnded)
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test func theErrorOfTheLoginIsTold() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let url = try #require(harness.client.authorizationURL)
        let redirect =
            try harness.parameter("redirect_uri", of: url)
            + "?error=access_denied&error_description=no&state=" + harness.parameter("state", of: url)
        let handling = try await harness.client.handleRedirect(redirect)
        #expect(handling.handled)
        #expect(handling.error?.bare == .reauthenticate(.authorizationDenied))
        #expect(handling.error?.diagnostics.oauthError == "access_denied")
        #expect(handling.error?.diagnostics.errorDescription == "no")
        #expect(await call.failure() == .reauthenticate(.authorizationDenied))
        try await harness.close()
    }

    @Test func aRedirectOfALoginThatIsOverIsNotHandled() async throws {
        let harness = try Harness()
        let first = try await harness.waitingLogin()
        let replaced = try harness.redirect()
        let second = try await harness.waitingLogin()
        _ = await first.failure()
        #expect(try await harness.client.handleRedirect(replaced) == Self.notOurs)
        #expect(!second.isEnded)
        let spent = try harness.redirect()
        #expect(try await harness.client.handleRedirect(spent) == Self.handled)
        #expect(try await harness.client.handleRedirect(spent) == Self.notOurs)
        #expect(harness.transport.sent(.codeExchange).count == 1)
        try await harness.close()
    }

    @Test func b43ARedirectDeliveredTwiceSpendsItsCodeOnce() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let (response, url) = (try harness.response(), try harness.redirect())
        let first = try harness.listener.navigate(response)
        try await exchange.sent()
        // While the code is on its way: spent, so not handled; the browser's repeat gets the same truth.
        #expect(try await harness.client.handleRedirect(url) == Self.notOurs)
        let repeated = try harness.listener.navigate(response)
        await harness.rest()
        #expect(!repeated.isAnswered)
        exchange.release()
        #expect(try await call.value().subject == "alice")
        #expect(try await first.shown() == .signedIn)
        #expect(try await repeated.shown() == .signedIn)
        // After the end.
        #expect(try await harness.listener.navigate(response).shown() == .signedIn)
        #expect(try await harness.client.handleRedirect(url) == Self.notOurs)
        #expect(harness.transport.sent(.codeExchange).count == 1)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test(arguments: [
        "", "?", "?code=c", "?error=access_denied", "?state=", "?code=c&state=s&state=s", "?code=c&state=forged",
    ])
    func b42OnOurRedirectURIAMissingOrUnknownStateEndsTheLoginThatWaits(query: String) async throws {
        let harness = try Harness(redirectURI: "https://app.example/callback")
        let call = try await harness.waitingLogin()
        let handling = try await harness.client.handleRedirect("https://app.example/callback" + query)
        #expect(handling.handled)
        #expect(handling.error?.bare == .configuration(.stateMismatch))
        #expect(await call.failure() == .configuration(.stateMismatch))
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        // When none waits: false.
        #expect(try await harness.client.handleRedirect("https://app.example/callback" + query) == Self.notOurs)
        try await harness.close()
    }

    @Test(arguments: [
        "", "code=c", "error=access_denied", "state=&code=c", "code=c&state=s&state=s", "code=c&state=forged",
    ])
    func b42ANavigationWithAWrongOrMissingStateEndsTheLogin(query: String) async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let page = try harness.listener.navigate(query)
        #expect(await call.failure() == .configuration(.stateMismatch))
        #expect(try await page.shown() == .failed)
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        try await harness.close()
    }

    @Test func aRequestThatWasSpentElsewhereIsNeverExchanged() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        let stored = try #require(try harness.store.store.pending(state: state))
        #expect(try harness.store.store.spendPending(stored.request.id) == .marked)
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .userCancelled)
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        try await harness.close()
    }

    @Test func aForgedStateDoesNotEndALoginWhoseCodeIsOnItsWay() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        #expect(try await harness.listener.navigate("code=c&state=forged").shown() == .failed)
        #expect(!call.isEnded)
        exchange.release()
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test func aRequestFoundTooOldIsHandledAsExpired() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try Harness(place: place, time: time)
        _ = try await first.waitingLogin()
        let url = try first.redirect()
        let second = try Harness(place: place, time: time)
        try await first.close()
        time.sleepThrough(600_000)
        let handling = try await second.client.handleRedirect(url)
        #expect(handling.handled)
        #expect(handling.error?.bare == .recoverable(.pendingRequestExpired))
        #expect(try await second.client.handleRedirect(url) == Self.notOurs)
        #expect(try !place.files().contains { $0.hasPrefix("pending-") })
        try await second.close()
    }

    @Test(arguments: [false, true])
    func aRequestWhoseOwnerLivesIsHandedToIt(overASession: Bool) async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let owner = try Harness(place: place, time: time)
        if overASession { try await owner.signIn() }
        let call = try await owner.waitingLogin()
        let url = try owner.redirect()
        let other = try Harness(place: place, time: time)
        #expect(try await other.client.handleRedirect(url) == Self.handled)
        #expect(other.transport.sent.isEmpty)
        owner.store.tellChange()
        #expect(try await call.value().subject == "alice")
        #expect(owner.states.last?.generation == (overASession ? 2 : 1))
        try await other.close()
        try await owner.close()
    }

    @Test func anOwnerlessRequestIsFinishedByWhoeverGotTheRedirect() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try Harness(place: place, time: time)
        _ = try await first.waitingLogin()
        let url = try first.redirect()
        let second = try Harness(place: place, time: time)
        try await first.close()
        #expect(second.client.state == .unauthenticated)
        #expect(try await second.client.handleRedirect(url) == Self.handled)
        #expect(second.states.states == [.unauthenticated, .authorizing, .authenticated])
        #expect(second.listeners.made.isEmpty)
        try await second.close()
    }

    @Test func anOwnerlessRequestIsLeftAloneWhereThereIsARefreshToken() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let (first, second) = (try Harness(place: place, time: time), try Harness(place: place, time: time))
        _ = try await first.waitingLogin()
        let url = try first.redirect()
        try await second.signIn()
        try await first.close()
        #expect(try await second.client.handleRedirect(url) == Self.notOurs)
        #expect(second.client.state == .authenticated)
        #expect(second.transport.sent(.codeExchange).count == 1)
        try await second.close()
    }

    @Test func endingTheCallerOfHandleRedirectDoesNotEndTheLogin() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let handling = harness.client.startHandleRedirect(try harness.redirect())
        try await exchange.sent()
        handling.cancel(.user)
        #expect(await handling.failure() == .userCancelled)
        exchange.release()
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test(arguments: [
        ("com.example.app:/oauth", "com.example.app:/oauth"), ("https://app.example/cb", "https://app.example/cb"),
        ("https://app.example/cb?tenant=1", "https://app.example/cb?tenant=1"),
    ])
    func b45OtherRedirectURIsAreKeptAsWrittenAndHaveNoListener(uri: String, written: String) async throws {
        let harness = try Harness(redirectURI: uri)
        let call = try await harness.waitingLogin()
        let url = try #require(harness.client.authorizationURL)
        #expect(try harness.parameter("redirect_uri", of: url) == written)
        #expect(harness.listeners.made.isEmpty)
        let separator = uri.contains("?") ? "&" : "?"
        #expect(try await harness.client.handleRedirect(uri + separator + harness.response()) == Self.handled)
        #expect(try await call.value().subject == "alice")
        #expect(harness.transport.sent(.codeExchange).first?["redirect_uri"] == written)
        try await harness.close()
    }

    // MARK: iss

    @Test(
        arguments: [
            (true, "", OAuthError.configuration(.issuerMismatch)),
            (false, "&iss=https%3A%2F%2Fevil.example", .configuration(.issuerMismatch)),
            (true, "&iss=https%3A%2F%2Fop.example%2F", .configuration(.issuerMismatch)),
            (true, "&iss=https%3A%2F%2Fop.example&iss=https%3A%2F%2Fop.example", .configuration(.issuerMismatch)),
            (true, "&iss=https%3A%2F%2Fop.example", nil), (false, "&iss=https%3A%2F%2Fop.example", nil),
            (false, "", nil),
        ] as [(Bool, String, OAuthError?)])
    func b46IssOfTheRedirect(promised: Bool, iss: String, error: OAuthError?) async throws {
        let harness = try Harness()
        if promised {
            harness.provider.change { $0.discovery["authorization_response_iss_parameter_supported"] = "true" }
        }
        let call = try await harness.waitingLogin()
        _ = try harness.listener.navigate(try harness.response() + iss)
        #expect(await call.failure() == error)
        #expect(harness.transport.sent(.codeExchange).count == (error == nil ? 1 : 0))
        try await harness.close()
    }

    @Test func issIsJudgedBeforeTheErrorOfTheRedirect() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        _ = try harness.listener.navigate("error=access_denied&iss=https%3A%2F%2Fevil.example&state=\(state)")
        #expect(await call.failure() == .configuration(.issuerMismatch))
        try await harness.close()
    }
}
