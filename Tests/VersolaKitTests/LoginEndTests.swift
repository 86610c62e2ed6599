// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §2 and §4: who ends a login, in which phase, and what is left of it.
@Suite(.timeLimit(.minutes(1))) struct LoginEndTests {
    @Test(arguments: CancelReason.allCases)
    func cancelWhilePreparing(reason: CancelReason) async throws {
        let harness = try Harness()
        let discovery = harness.transport.hold(.discovery)
        let call = harness.client.startLogin(LoginOptions())
        try await discovery.sent()
        call.cancel(reason)
        #expect(await call.failure() == reason.error.bare)
        discovery.release()
        await harness.rest()
        #expect(harness.states.states == [.unauthenticated])
        #expect(harness.browser.urls.isEmpty)
        #expect(harness.listeners.made.isEmpty)
        #expect(harness.journal.count(of: .store(.savePending)) == 0)
        try await harness.close()
    }

    @Test(arguments: [true, false])
    func aLogoutEndsALoginInDiscovery(isSignedIn: Bool) async throws {
        let harness = isSignedIn ? try await Harness.signedIn() : try Harness()
        let opened = harness.browser.urls.count
        // The metadata of the first login is fresh for an hour; then the next asks.
        harness.time.advance(3_600_001)
        let discovery = harness.transport.hold(.discovery)
        let login = harness.client.startLogin(LoginOptions())
        try await discovery.sent()
        let result = try await harness.client.logout()
        #expect(result.tokenRevoked == isSignedIn)
        #expect(await login.failure() == .userCancelled)
        discovery.release()
        await harness.rest()
        #expect(harness.browser.urls.count == opened)
        #expect(harness.client.state == .unauthenticated)
        try await harness.close()
    }

    @Test func aLogoutEndsALoginThatWaitsForTheLogoutBefore() async throws {
        let harness = try await Harness.signedIn()
        let opened = harness.browser.urls.count
        let revocation = harness.transport.hold(.revocation)
        let first = harness.client.startLogout()
        try await revocation.sent()
        let login = harness.client.startLogin(LoginOptions())
        await harness.rest()
        let second = harness.client.startLogout()
        #expect(await login.failure() == .userCancelled)
        revocation.release()
        #expect(try await first.value() == second.value())
        await harness.rest()
        #expect(harness.browser.urls.count == opened)
        #expect(harness.states.states == [.authenticated, .loggingOut, .unauthenticated])
        try await harness.close()
    }

    @Test(arguments: [true, false])
    func ofTwoLoginsInDiscoveryTheLaterOneIsLeft(laterIsFaster: Bool) async throws {
        let harness = try Harness()
        var options = LoginOptions()
        options.loginHint = "later"
        let discoveries = [harness.transport.hold(.discovery), harness.transport.hold(.discovery)]
        let earlier = harness.client.startLogin(LoginOptions())
        try await discoveries[0].sent()
        let later = harness.client.startLogin(options)
        try await discoveries[1].sent()
        for discovery in laterIsFaster ? discoveries.reversed() : discoveries {
            discovery.release()
            await harness.rest()
        }
        #expect(await earlier.failure() == .userCancelled)
        #expect(harness.browser.urls.count == (laterIsFaster ? 1 : 2))
        #expect(try harness.parameter("login_hint", of: #require(harness.client.authorizationURL)) == "later")
        _ = try harness.listener.navigate(try harness.response())
        _ = try await later.value()
        try await harness.close()
    }

    @Test func cancelLoginEndsALoginInDiscoveryWhichIsNotRepeated() async throws {
        let harness = try Harness(retryPolicy: RetryPolicy())
        harness.transport.next(.discovery, .failure(.connect))
        let login = harness.client.startLogin(LoginOptions())
        await harness.rest()
        #expect(harness.transport.sent(.discovery).count == 1)
        harness.client.cancelLogin()
        #expect(await login.failure() == .userCancelled)
        await harness.rest()
        #expect(harness.time.timers == 0)
        harness.time.advance(60_000)
        await harness.rest()
        #expect(harness.transport.sent(.discovery).count == 1)
        #expect(harness.states.states == [.unauthenticated])
        try await harness.close()
    }

    @Test func userCancelWhileWaitingErasesTheRequest() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let (state, late) = (try harness.parameter("state", of: harness.browser.urls[0]), try harness.response())
        let url = try harness.redirect()
        call.cancel(.user)
        #expect(await call.failure() == .userCancelled)
        #expect(try harness.store.store.pending(state: state) == nil)
        #expect(try harness.listener.lingerMillis == 2_000)
        #expect(try await harness.listener.navigate(late).shown() == .alreadyUsed)
        #expect(try await harness.client.handleRedirect(url) == RedirectHandling(handled: false))
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        #expect(harness.time.timers == 0)
        try await harness.close()
    }

    @Test func systemCancelWhileWaitingKeepsTheRequestAndTheListener() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        call.cancel(.system)
        #expect(await call.failure() == .systemCancelled)
        #expect(try harness.store.store.pending(state: state)?.request.spent == false)
        #expect(try harness.listener.isOpen)
        #expect(harness.client.authorizationURL == nil)
        try await harness.close()
    }

    @Test(arguments: CancelReason.allCases)
    func cancelWhileSettlingEndsTheCallerNotTheLogin(reason: CancelReason) async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let page = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        call.cancel(reason)
        #expect(await call.failure() == reason.error.bare)
        #expect(harness.client.state == .authorizing)
        #expect(!page.isAnswered)
        exchange.release()
        try await harness.states.reach(.authenticated)
        #expect(try await page.shown() == .signedIn)
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(harness.states.states == [.unauthenticated, .authorizing, .authenticated])
        try await harness.close()
    }

    @Test func aSystemCancelledLoginIsEndedByCancelLogin() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        call.cancel(.system)
        _ = await call.failure()
        // Its call has ended: nothing comes of cancelling that.
        call.cancel(.user)
        await harness.rest()
        #expect(try harness.listener.isOpen)
        harness.client.cancelLogin()
        await harness.rest()
        #expect(try harness.store.store.pending(state: state) == nil)
        #expect(try !harness.listener.isOpen)
        #expect(harness.states.states == [.unauthenticated, .authorizing, .unauthenticated])
        try await harness.close()
    }

    @Test func aSystemCancelledLoginIsEndedByTheNextLogin() async throws {
        let harness = try Harness()
        let first = try await harness.waitingLogin()
        let late = try harness.response()
        first.cancel(.system)
        _ = await first.failure()
        let second = try await harness.waitingLogin()
        #expect(harness.listeners.made.count == 1)
        #expect(try await harness.listener.navigate(late).shown() == .replaced)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await second.value().subject == "alice")
        #expect(
            harness.states.states == [.unauthenticated, .authorizing, .unauthenticated, .authorizing, .authenticated])
        try await harness.close()
    }

    @Test func aSystemCancelledLoginIsEndedByALogout() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        call.cancel(.system)
        _ = await call.failure()
        _ = try await harness.client.logout()
        #expect(try !harness.listener.isOpen)
        #expect(try harness.store.store.pending(state: state) == nil)
        #expect(harness.states.states == [.unauthenticated, .authorizing, .unauthenticated])
        try await harness.close()
    }

    @Test func cancellingTheTaskThatWaitsIsASystemCancel() async throws {
        let harness = try Harness()
        let task = Task { try await harness.client.login() }
        try await harness.states.reach(.authorizing)
        task.cancel()
        #expect(await failure { try await task.value } == .systemCancelled)
        #expect(try harness.listener.isOpen)
        try await harness.close()
    }

    @Test func aCallEndsOnce() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let ends = Lock(0)
        call.whenEnded { _ in ends.withLock { $0 += 1 } }
        let response = try harness.response()
        call.cancel(.user)
        call.cancel(.system)
        harness.client.cancelLogin()
        _ = try harness.listener.navigate(response)
        harness.time.advance(600_000)
        await harness.rest()
        #expect(await call.failure() == .userCancelled)
        try await harness.close()
        #expect(ends.withLock { $0 } == 1)
    }

    // MARK: Ten minutes

    @Test func tenMinutesOnTheBootClockEndALogin() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let state = try harness.parameter("state", of: harness.browser.urls[0])
        harness.time.setWall(by: 86_400_000)
        harness.time.advance(599_999)
        await harness.rest()
        #expect(!call.isEnded)
        harness.time.advance(1)
        #expect(await call.failure() == .recoverable(.pendingRequestExpired))
        #expect(try harness.store.store.pending(state: state) == nil)
        try await harness.close()
    }

    @Test func aRedirectForALoginFoundTooOldIsNotExchanged() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.time.sleepThrough(600_000)
        let page = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .recoverable(.pendingRequestExpired))
        #expect(try await page.shown() == .failed)
        #expect(harness.transport.sent(.codeExchange).isEmpty)
        try await harness.close()
    }

    @Test func theDeadlineEndsWithTheRedirect() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.time.advance(600_000)
        await harness.rest()
        #expect(!call.isEnded)
        harness.provider.change { $0.claims = ["iat": "\(harness.time.wall / 1000)"] }
        exchange.release()
        #expect(try await call.value().subject == "alice")
        try await harness.close()
    }

    @Test func timeInTheBrowserIsNotTimeOfTheOperation() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        harness.time.advance(300_000)
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.time.advance(250)
        exchange.release(.status(503))
        #expect(
            await call.failure()
                == .recoverable(.server(status: 503, retryAfterMillis: nil, attempts: 1, elapsedMillis: 250)))
        try await harness.close()
    }

    // MARK: Logout

    @Test func logoutWhileTheExchangeIsOnTheWireRevokesWhatItBrings() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let page = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        #expect(try await harness.client.logout() == LogoutResult())
        #expect(await call.failure() == .userCancelled)
        #expect(harness.client.state == .unauthenticated)
        exchange.release()
        #expect(try await page.shown() == .alreadyUsed)
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["refresh-1"])
        #expect(try harness.store.store.grant() == nil)
        #expect(harness.states.states == [.unauthenticated, .authorizing, .unauthenticated])
        try await harness.close()
    }

    @Test func logoutWhileTheExchangeIsOnTheWireRevokesAnAccessTokenThatIsAlone() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        _ = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let page = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        _ = try await harness.client.logout()
        exchange.release()
        _ = try await page.shown()
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["access-1"])
        try await harness.close()
    }

    /// The provider's word came for nobody, so it is taken back, even when the rest of it is wrong.
    @Test func logoutRevokesAlsoWhenTheIDTokenIsBad() async throws {
        let harness = try Harness()
        harness.provider.change { $0.claims = ["nonce": "\"forged\""] }
        _ = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        let page = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        _ = try await harness.client.logout()
        exchange.release()
        _ = try await page.shown()
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["refresh-1"])
        try await harness.close()
    }

    // MARK: Close

    @Test func closeWhilePreparing() async throws {
        let harness = try Harness()
        let discovery = harness.transport.hold(.discovery)
        let call = harness.client.startLogin(LoginOptions())
        try await discovery.sent()
        harness.client.close()
        #expect(await call.failure() == .systemCancelled)
        discovery.release()
        try await harness.close()
        #expect(harness.browser.urls.isEmpty)
        #expect(harness.states.states == [.unauthenticated])
        #expect(harness.journal.entries.last == .store(.close))
    }

    @Test func closeWhileWaitingKeepsTheRequestAndStopsListening() async throws {
        let place = try StoreFixture()
        let harness = try Harness(place: place)
        let call = try await harness.waitingLogin()
        try await harness.close()
        #expect(await call.failure() == .systemCancelled)
        #expect(try harness.listener.isClosed)
        #expect(try place.files().contains { $0.hasPrefix("pending-") })
        #expect(harness.time.timers == 0)
        #expect(harness.states.states == [.unauthenticated, .authorizing, .unauthenticated])
    }

    @Test func closeWhileSettlingEndsTheCallerAndStoresTheGrant() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let harness = try Harness(place: place, time: time)
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.client.close()
        #expect(await call.failure() == .systemCancelled)
        exchange.release()
        try await harness.close()
        #expect(harness.states.states.last == .authenticated)
        #expect(harness.time.timers == 0)
        let next = try Harness(place: place, time: time)
        #expect(next.client.state == .authenticated)
        try await next.close()
    }

    @Test func closeWhileTheKeySetIsToBeAskedForAgainStoresTheGrantAllTheSame() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let harness = try Harness(place: place, time: time, retryPolicy: .default)
        let call = try await harness.waitingLogin()
        harness.transport.next(.keySet, .status(503))
        _ = try harness.listener.navigate(try harness.response())
        while harness.transport.sent(.keySet).isEmpty { await harness.rest() }
        await harness.rest()
        harness.client.close()
        #expect(await call.failure() == .systemCancelled)
        await harness.rest()
        time.advance(500)
        try await harness.close()
        #expect(harness.transport.sent(.keySet).count == 2)
        #expect(harness.states.states.last == .authenticated)
        let next = try Harness(place: place, time: time)
        #expect(next.client.state == .authenticated)
        try await next.close()
    }

    @Test func releasingTheLastReferenceIsAClose() async throws {
        let place = try StoreFixture()
        var harness: Harness? = try Harness(place: place)
        let call = try await harness?.waitingLogin()
        let listener = try harness?.listener
        harness = nil
        #expect(await call?.failure() == .systemCancelled)
        #expect(try place.files().contains { $0.hasPrefix("pending-") })
        _ = listener
    }

    @Test func afterACloseEveryCallEndsAtOnceAndNothingIsSent() async throws {
        let harness = try Harness()
        try await harness.close()
        let wanted = OAuthError.configuration(.invalidConfiguration)
        #expect(await failure { try await harness.client.login() } == wanted)
        #expect(await failure { try await harness.client.accessToken() } == wanted)
        #expect(await failure { try await harness.client.logout() } == wanted)
        #expect(await failure { try await harness.client.handleRedirect("http://127.0.0.1/callback") } == wanted)
        #expect(failure { try harness.client.identity() } == wanted)
        harness.client.cancelLogin()
        harness.client.reopenBrowser()
        harness.client.close()
        #expect(harness.transport.sent.isEmpty)
    }

    @Test func theStreamOfStatesEndsWithTheClient() async throws {
        let harness = try Harness()
        let stream = harness.client.sessionStates()
        try await harness.signIn()
        try await harness.close()
        var seen: [SessionState] = []
        for await change in stream { seen.append(change.state) }
        #expect(seen == [.unauthenticated, .authorizing, .authenticated])
    }
}
