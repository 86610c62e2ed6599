// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// Behaviour §1: both tables, row by row.
@Suite(.timeLimit(.minutes(1))) struct SessionTableTests {
    // MARK: From state, by event

    @Test func authorizingToAuthenticatedByAVerifiedRedirectASuccessfulExchangeAndAValidIDToken() async throws {
        let harness = try Harness()
        try await harness.signIn()
        #expect(harness.states.states == [.unauthenticated, .authorizing, .authenticated])
        #expect(harness.states.changes.map(\.generation) == [0, 0, 1])
        #expect(harness.states.changes.allSatisfy { $0.reason == nil })
        try await harness.close()
    }

    enum LoginEnd: CaseIterable {
        case denied, userCancel, tenMinutes, exchangeFails, systemCancel
    }

    @Test(arguments: LoginEnd.allCases, [false, true])
    func authorizingToWhatStillHolds(end: LoginEnd, overASession: Bool) async throws {
        let harness = try Harness()
        if overASession { try await harness.signIn() }
        let before = harness.client.state
        harness.states.clear()
        let call = try await harness.waitingLogin()
        let url = try #require(harness.client.authorizationURL)
        let expected: OAuthError
        switch end {
        case .denied:
            let state = try harness.parameter("state", of: url)
            _ = try harness.listener.navigate("error=access_denied&state=\(state)")
            expected = .reauthenticate(.authorizationDenied)
        case .userCancel:
            call.cancel(.user)
            expected = .userCancelled
        case .tenMinutes:
            harness.time.advance(600_000)
            expected = .recoverable(.pendingRequestExpired)
        case .exchangeFails:
            harness.transport.next(.codeExchange, .oauthError("invalid_grant"))
            _ = try harness.listener.navigate(try harness.response())
            expected = .reauthenticate(.grantRejected)
        case .systemCancel:
            call.cancel(.system)
            expected = .systemCancelled
        }
        #expect(await call.failure() == expected)
        #expect(harness.states.states == [before, .authorizing, before])
        #expect(harness.states.last?.reason?.bare == expected)
        #expect(harness.states.last?.generation == (overASession ? 1 : 0))
        try await harness.close()
    }

    @Test func unauthenticatedToAuthorizingToAuthenticatedByTheRedirectOfASystemCancelledLogin() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        let response = try harness.response()
        call.cancel(.system)
        #expect(await call.failure() == .systemCancelled)
        #expect(harness.client.state == .unauthenticated)
        #expect(try harness.listener.isOpen)
        harness.time.advance(599_999)
        let page = try harness.listener.navigate(response)
        #expect(try await page.shown() == .signedIn)
        #expect(
            harness.states.states == [.unauthenticated, .authorizing, .unauthenticated, .authorizing, .authenticated])
        try await harness.close()
    }

    @Test func authenticatedToRefreshingToAuthenticatedWhenTheAccessTokenExpired() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.states.clear()
        harness.time.advance(3_600_000)
        #expect(harness.client.state == .authenticated)
        #expect(try await harness.client.accessToken().value == "access-2")
        #expect(harness.states.states == [.authenticated, .refreshing, .authenticated])
        #expect(harness.states.changes.map(\.generation) == [1, 1, 1])
        try await harness.close()
    }

    @Test func authenticatedToUnauthenticatedAtExpiryWithoutARefreshToken() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.time.advance(3_599_999)
        await harness.rest()
        #expect(harness.client.state == .authenticated)
        harness.time.advance(1)
        await harness.rest()
        #expect(harness.client.state == .unauthenticated)
        #expect(harness.states.last?.reason?.bare == .reauthenticate(.sessionExpired))
        #expect(harness.transport.sent(.refresh).isEmpty)
        #expect(try harness.store.store.grant() == nil)
        try await harness.close()
    }

    @Test func authenticatedToUnauthenticatedAtTheNextOperationWithoutARefreshToken() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.time.sleepThrough(3_600_000)
        #expect(harness.client.state == .authenticated)
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        #expect(harness.client.state == .unauthenticated)
        #expect(harness.states.last?.reason?.bare == .reauthenticate(.sessionExpired))
        #expect(harness.transport.sent(.refresh).isEmpty)
        try await harness.close()
    }

    /// The end of a session is not a logout: the login that waits for the next one goes on.
    @Test func expiryLeavesAWaitingLoginAlone() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.time.advance(3_500_000)
        let call = try await harness.waitingLogin()
        harness.time.advance(100_000)
        await harness.rest()
        #expect(harness.client.state == .authorizing)
        #expect(harness.states.last?.generation == 0)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await call.value().subject == "alice")
        #expect(harness.states.last?.state == .authenticated)
        #expect(harness.states.last?.generation == 2)
        try await harness.close()
    }

    /// Nor does it discard a code that is on its way.
    @Test func expiryLeavesALoginThatIsBeingSettledAlone() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.time.advance(3_500_000)
        let call = try await harness.waitingLogin()
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.time.advance(100_000)
        await harness.rest()
        exchange.release()
        #expect(try await call.value().subject == "alice")
        #expect(harness.transport.sent(.revocation).isEmpty)
        try await harness.close()
    }

    @Test func refreshingToUnauthenticatedByInvalidGrant() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.states.clear()
        harness.transport.next(.refresh, .oauthError("invalid_grant"))
        #expect(
            await failure { try await harness.client.accessToken(TokenOptions(force: true)) }
                == .reauthenticate(.grantRejected))
        #expect(harness.states.states == [.authenticated, .refreshing, .unauthenticated])
        #expect(harness.states.last?.reason?.bare == .reauthenticate(.grantRejected))
        #expect(try harness.store.store.grant() == nil)
        #expect(failure { try harness.client.identity() } == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    @Test func refreshingToAuthorizingByInvalidGrantWhileALoginWaits() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let call = try await harness.waitingLogin()
        harness.transport.next(.refresh, .oauthError("invalid_grant"))
        _ = await failure { try await harness.client.accessToken(TokenOptions(force: true)) }
        #expect(harness.client.state == .authorizing)
        #expect(harness.states.last?.generation == 0)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await call.value().subject == "alice")
        #expect(harness.states.last?.generation == 2)
        try await harness.close()
    }

    @Test(arguments: [
        (ScriptedTransport.Answer.failure(.connect), OAuthError.recoverable(.network(.connect))),
        (.failure(.timeout), .recoverable(.network(.timeout))),
        (.oauthError("invalid_client", 401), .configuration(.authorizationRejected)),
        (.status(400), .reauthenticate(.sessionRejected)),
        (.status(302), .configuration(.endpointRedirected)),
    ])
    func refreshingToWhatStillHoldsByAnyOtherFailure(answer: ScriptedTransport.Answer, error: OAuthError) async throws {
        let harness = try Harness()
        try await harness.signIn()
        let stored = try harness.store.store.grant()
        harness.states.clear()
        harness.transport.next(.refresh, answer)
        #expect(await failure { try await harness.client.accessToken(TokenOptions(force: true)) } == error)
        #expect(harness.states.states == [.authenticated, .refreshing, .authenticated])
        #expect(harness.states.last?.reason?.bare == error)
        #expect(try harness.store.store.grant() == stored)
        try await harness.close()
    }

    @Test func anyToUnauthenticatedWhenARecordCannotBeRead() async throws {
        let place = try StoreFixture()
        let harness = try Harness(place: place)
        try await harness.signIn()
        var bytes = try place.bytes("grant")
        bytes[bytes.count - 1] ^= 1
        try place.overwrite("grant", bytes)
        #expect(
            await failure { try await harness.client.accessToken(TokenOptions(force: true)) }
                == .reauthenticate(.credentialsInvalidated))
        #expect(harness.states.states.suffix(2) == [.refreshing, .unauthenticated])
        #expect(harness.states.last?.reason?.bare == .reauthenticate(.credentialsInvalidated))
        #expect(harness.transport.sent(.refresh).isEmpty)
        // Told once.
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    @Test func aPendingRequestThatCannotBeReadEndsTheSessionToo() async throws {
        let place = try StoreFixture()
        let harness = try Harness(place: place)
        try await harness.signIn()
        let call = try await harness.waitingLogin()
        let file = try #require(try place.files().first { $0.hasPrefix("pending-") })
        var bytes = try place.bytes(file)
        bytes[bytes.count - 1] ^= 1
        try place.overwrite(file, bytes)
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .reauthenticate(.credentialsInvalidated))
        #expect(harness.client.state == .unauthenticated)
        #expect(harness.states.last?.reason?.bare == .reauthenticate(.credentialsInvalidated))
        #expect(harness.transport.sent(.codeExchange).count == 1)
        try await harness.close()
    }

    @Test func anyToAuthenticatedWhenAnotherProcessSignedInAndBackWhenItSignedOut() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let (here, there) = (try Harness(place: place, time: time), try Harness(place: place, time: time))
        try await there.signIn()
        here.store.tellChange()
        await here.rest()
        #expect(here.states.states == [.unauthenticated, .authenticated])
        #expect(here.states.last?.generation == 1)
        #expect(try here.client.identity().subject == "alice")
        #expect(try await here.client.accessToken().value == "access-1")

        _ = try await there.client.logout()
        here.store.tellChange()
        await here.rest()
        #expect(here.client.state == .unauthenticated)
        #expect(here.states.last?.reason?.bare == .reauthenticate(.sessionExpired))
        try await here.close()
        try await there.close()
    }

    /// To Swift the second two are the same.
    @Test(arguments: [("alice", "bob"), ("Zo\u{eb}", "Zoe\u{308}")])
    func anyToUnauthenticatedThenAuthenticatedWhenAnotherProcessSignedInAsSomebodyElse(
        one: String, other: String
    ) async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let (here, there) = (try Harness(place: place, time: time), try Harness(place: place, time: time))
        here.provider.change { $0.claims = ["sub": "\"\(one)\""] }
        try await here.signIn()
        there.store.tellChange()
        await there.rest()
        there.provider.change { $0.claims = ["sub": "\"\(other)\""] }
        try await there.signIn()
        here.states.clear()
        here.store.tellChange()
        await here.rest()
        #expect(here.states.states == [.authenticated, .unauthenticated, .authenticated])
        #expect(here.states.changes.map(\.generation) == [1, 0, 2])
        #expect(try here.client.identity().subject.hasSameBytes(as: other))
        try await here.close()
        try await there.close()
    }

    /// Its start erases a grant that it cannot use; a logout there is another thing.
    @Test func aStartElsewhereDoesNotEndASessionThatLivesByItsAccessToken() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try Harness(place: place, time: time)
        here.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await here.signIn()
        let there = try Harness(place: place, time: time)
        here.store.tellChange()
        await here.rest()
        #expect(here.client.state == .authenticated)
        #expect(try await here.client.accessToken().value == "access-1")

        _ = try await there.client.logout()
        here.store.tellChange()
        await here.rest()
        #expect(here.client.state == .unauthenticated)
        try await here.close()
        try await there.close()
    }

    @Test func ourOwnChangesOfTheStorePublishNothing() async throws {
        let place = try StoreFixture()
        let harness = try Harness(place: place)
        try await harness.signIn()
        harness.states.clear()
        harness.store.tellChange()
        await harness.rest()
        #expect(harness.states.states == [.authenticated])
        #expect(try await harness.client.accessToken().value == "access-1")
        try await harness.close()
    }

    // MARK: By call

    @Test func loginReplacesTheWaitingOne() async throws {
        let harness = try Harness()
        let first = try await harness.waitingLogin()
        let late = try harness.response()
        let second = try await harness.waitingLogin()
        #expect(await first.failure() == .userCancelled)
        #expect(harness.listeners.made.count == 1)
        #expect(try await harness.listener.navigate(late).shown() == .replaced)
        #expect(harness.client.state == .authorizing)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await second.value().subject == "alice")
        #expect(harness.states.states == [.unauthenticated, .authorizing, .authorizing, .authenticated])
        #expect(harness.transport.sent(.codeExchange).count == 1)
        try await harness.close()
    }

    @Test func loginOverASessionKeepsTheOldGrantUsableAndReplacesItOnSuccessOnly() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let failing = try await harness.waitingLogin()
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(try await harness.client.accessToken(TokenOptions(force: true)).value == "access-2")
        harness.provider.change { $0.claims = ["nonce": "\"forged\""] }
        _ = try harness.listener.navigate(try harness.response())
        #expect(await failing.failure() == .configuration(.idTokenRejected))
        #expect(try await harness.client.accessToken().value == "access-2")
        #expect(harness.states.last?.generation == 1)

        harness.provider.change { $0.claims = ["sub": "\"bob\""] }
        #expect(try await harness.signIn().subject == "bob")
        #expect(try harness.client.identity().subject == "bob")
        #expect(try await harness.client.accessToken().value == "access-4")
        #expect(harness.states.last?.generation == 2)
        try await harness.close()
    }

    private func locked() async throws -> (Harness, StoreFixture) {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try Harness(place: place, time: time)
        try await first.signIn()
        try await first.close()
        #expect(unlink(try place.path("key")) == 0)
        let harness = try Harness(place: place, time: time)
        try #require(harness.client.state == .locked)
        return (harness, place)
    }

    @Test func callsInLockedAreUnlockRequired() async throws {
        let (harness, place) = try await locked()
        let wanted = OAuthError.recoverable(.unlockRequired)
        #expect(await failure { try await harness.client.login() } == wanted)
        #expect(await failure { try await harness.client.accessToken() } == wanted)
        #expect(await failure { try await harness.client.accessToken(TokenOptions(force: true)) } == wanted)
        #expect(failure { try harness.client.identity() } == wanted)
        #expect(harness.states.states == [.locked])
        #expect(harness.transport.sent.isEmpty)
        #expect(try place.files().contains("grant"))
        try await harness.close()
    }

    @Test func logoutInLockedErasesWithoutTheKeyAndRevokesNothing() async throws {
        let (harness, place) = try await locked()
        #expect(try await harness.client.logout() == LogoutResult(tokenRevoked: false, sessionEnded: false))
        #expect(harness.states.states == [.locked, .loggingOut, .unauthenticated])
        #expect(harness.transport.sent.isEmpty)
        #expect(try !place.files().contains("grant"))
        try await harness.close()
    }

    @Test func callsWhileNobodyIsSignedIn() async throws {
        let harness = try Harness()
        let wanted = OAuthError.reauthenticate(.sessionExpired)
        #expect(await failure { try await harness.client.accessToken() } == wanted)
        #expect(await failure { try await harness.client.accessToken(TokenOptions(force: true)) } == wanted)
        #expect(failure { try harness.client.identity() } == wanted)
        #expect(harness.transport.sent.isEmpty)
        #expect(try await harness.client.logout() == LogoutResult())
        #expect(harness.states.states == [.unauthenticated])
        #expect(harness.transport.sent.isEmpty)
        try await harness.close()
    }

    @Test func tokenWhileAuthorizing() async throws {
        let harness = try Harness()
        _ = try await harness.waitingLogin()
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        #expect(harness.transport.sent(.refresh).isEmpty)
        try await harness.close()

        let signedIn = try Harness()
        try await signedIn.signIn()
        _ = try await signedIn.waitingLogin()
        #expect(try await signedIn.client.accessToken().value == "access-1")
        try await signedIn.close()
    }

    @Test func callsInLoggingOut() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let revocation = harness.transport.hold(.revocation)
        let first = harness.client.startLogout()
        try await revocation.sent()
        #expect(harness.client.state == .loggingOut)
        let expired = OAuthError.reauthenticate(.sessionExpired)
        #expect(await failure { try await harness.client.accessToken() } == expired)
        #expect(await failure { try await harness.client.accessToken(TokenOptions(force: true)) } == expired)
        #expect(failure { try harness.client.identity() } == expired)
        let second = harness.client.startLogout()
        let login = harness.client.startLogin(LoginOptions())
        await harness.rest()
        #expect(!second.isEnded)
        #expect(harness.client.state == .loggingOut)
        revocation.release()
        #expect(try await first.value() == LogoutResult(tokenRevoked: true, sessionEnded: false))
        #expect(try await second.value() == LogoutResult(tokenRevoked: true, sessionEnded: false))
        try await harness.states.reach(.authorizing)
        #expect(harness.transport.sent(.revocation).count == 1)
        #expect(harness.states.states.suffix(3) == [.loggingOut, .unauthenticated, .authorizing])
        login.cancel(.user)
        #expect(await login.failure() == .userCancelled)
        try await harness.close()
    }

    @Test func logoutWhileAuthorizingWithoutAGrant() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin()
        #expect(try await harness.client.logout() == LogoutResult())
        #expect(await call.failure() == .userCancelled)
        #expect(harness.states.states == [.unauthenticated, .authorizing, .unauthenticated])
        try await harness.close()
    }

    @Test func logoutWhileAuthorizingWithAGrant() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let call = try await harness.waitingLogin()
        harness.states.clear()
        #expect(try await harness.client.logout().tokenRevoked)
        #expect(await call.failure() == .userCancelled)
        #expect(harness.states.states == [.authorizing, .loggingOut, .unauthenticated])
        try await harness.close()
    }

    @Test func logoutWhileAuthenticated() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.states.clear()
        #expect(try await harness.client.logout() == LogoutResult(tokenRevoked: true, sessionEnded: false))
        #expect(harness.states.states == [.authenticated, .loggingOut, .unauthenticated])
        #expect(harness.states.last?.reason == nil)
        #expect(try harness.store.store.grant() == nil)
        try await harness.close()
    }
}
