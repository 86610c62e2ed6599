// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §5: what a refresh meets that is not alone, here or on the store.
@Suite(.timeLimit(.minutes(1))) struct RefreshRaceTests {
    private let force = TokenOptions(force: true)

    // MARK: Siblings on one store

    @Test func theStoredTokenOfASiblingIsSentNotTheOneInMemory() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let there = try Harness(place: place, time: time)
        there.provider.change { $0.refresh = ["refresh_token": "\"sibling\""] }
        _ = try await there.client.accessToken()
        _ = try await here.client.accessToken(force)
        #expect(here.transport.sent(.refresh).map { $0["refresh_token"] } == ["sibling"])
        #expect(here.states.last?.generation == 1)
        try await here.close()
        try await there.close()
    }

    @Test func afterInvalidGrantTheStoreIsReadAgainBeforeItIsBelieved() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let refresh = here.transport.hold(.refresh)
        let call = here.client.startAccessToken(force)
        try await refresh.sent()
        // A sibling signs in meanwhile: another grant.
        let there = try Harness(place: place, time: time)
        there.provider.change { $0.exchange = ["refresh_token": "\"sibling\""] }
        try await there.signIn()
        refresh.release(.oauthError("invalid_grant"))
        #expect(try await call.value().value == "access-2")
        #expect(here.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1", "sibling"])
        #expect(here.transport.sent(.revocation).isEmpty)
        #expect(here.client.state == .authenticated)
        #expect(here.states.last?.generation == 2)
        try await here.close()
        try await there.close()
    }

    @Test func aSiblingThatSignedOutIsNoticedUnderTheLock() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let there = try Harness(place: place, time: time)
        _ = try await there.client.logout()
        #expect(await failure { try await here.client.accessToken(force) } == .reauthenticate(.sessionExpired))
        #expect(here.transport.sent(.refresh).isEmpty)
        #expect(here.states.states.suffix(2) == [.refreshing, .unauthenticated])
        try await here.close()
        try await there.close()
    }

    @Test(arguments: [true, false])
    func whatComesForASessionASiblingEndedIsRevokedNotStored(rotates: Bool) async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        if !rotates { here.provider.change { $0.withoutRefresh = ["refresh_token"] } }
        let refresh = here.transport.hold(.refresh)
        let call = here.client.startAccessToken(force)
        try await refresh.sent()
        let there = try Harness(place: place, time: time)
        _ = try await there.client.logout()
        refresh.release()
        #expect(await call.failure() == .reauthenticate(.sessionExpired))
        #expect(here.transport.sent(.revocation).map { $0["token"] } == [rotates ? "refresh-2" : "refresh-1"])
        #expect(try here.storedRefreshToken() == nil)
        #expect(here.client.state == .unauthenticated)
        try await here.close()
        try await there.close()
    }

    @Test func aLogoutRevokesTheStoredTokenNotAnOlderOneInMemory() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let there = try Harness(place: place, time: time)
        there.provider.change { $0.refresh = ["refresh_token": "\"sibling\""] }
        _ = try await there.client.accessToken()
        _ = try await here.client.logout()
        #expect(here.transport.sent(.revocation).map { $0["token"] } == ["sibling"])
        try await here.close()
        try await there.close()
    }

    @Test func aRefreshLockHeldByAnotherProcessIsWaitedForUntilTheRequestTimeoutAnd5Seconds() async throws {
        let harness = try await Harness.signedIn()
        harness.store.holdRefreshLock(tries: .max)
        let call = harness.client.startAccessToken(force)
        let start = harness.time.boot
        await harness.onQueue {
            while !call.isEnded, harness.time.boot < start + 30_000 {
                for _ in 0..<10 { await Task.yield() }
                harness.time.advance(100)
            }
        }
        #expect(await call.failure() == .recoverable(.network(.lock)))
        #expect((20_000...20_200).contains(harness.time.boot - start))
        #expect(harness.transport.sent(.refresh).isEmpty)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func aRefreshLockThatIsFreeAgainIsTaken() async throws {
        let harness = try await Harness.signedIn()
        harness.store.holdRefreshLock(tries: 3)
        let call = harness.client.startAccessToken(force)
        for _ in 0..<10 {
            await harness.rest()
            harness.time.advance(100)
        }
        #expect(try await call.value().value == "access-2")
        try await harness.close()
    }

    // MARK: Logout and login in between

    enum InFlight: CaseIterable {
        case rotates, keeps, fails, rejected
    }

    @Test(arguments: InFlight.allCases, [true, false])
    func aRefreshInFlightStoresNothingAfterALogoutAndItsCallersGetSessionExpired(
        refreshing: InFlight, logoutEndsFirst: Bool
    ) async throws {
        let harness = try await Harness.signedIn()
        if refreshing == .keeps { harness.provider.change { $0.withoutRefresh = ["refresh_token"] } }
        let refresh = harness.transport.hold(.refresh)
        let calls = [force, TokenOptions(minValidMillis: 7_200_000)].map { harness.client.startAccessToken($0) }
        try await refresh.sent()
        let revocation = logoutEndsFirst ? nil : harness.transport.hold(.revocation)
        let logout = harness.client.startLogout()
        await harness.rest()
        switch refreshing {
        case .rotates, .keeps: refresh.release()
        case .fails: refresh.release(.failure(.timeout))
        case .rejected: refresh.release(.oauthError("invalid_grant"))
        }
        for call in calls { #expect(await call.failure() == .reauthenticate(.sessionExpired)) }
        revocation?.release()
        _ = try await logout.value()
        await harness.rest()
        #expect(try harness.storedRefreshToken() == nil)
        #expect(harness.client.state == .unauthenticated)
        #expect(harness.states.states.suffix(2) == [.loggingOut, .unauthenticated])
        if refreshing == .rotates {
            #expect(harness.transport.sent(.revocation).contains { $0["token"] == "refresh-2" })
        }
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    /// A refresh on the wire, and the session of a login that came meanwhile, answered as `change` has it.
    private func overtaken(
        _ change: (inout TestProvider.Answers) -> Void = { _ in }
    ) async throws -> (Harness, Call<Token>, ScriptedTransport.Held) {
        let harness = try await Harness.signedIn()
        let refresh = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await refresh.sent()
        harness.provider.change(change)
        try await harness.signIn()
        return (harness, call, refresh)
    }

    /// Nothing came, so there is nothing to take back; and the session that is there now is not touched.
    @Test func aRefreshThatFailsAfterANewLoginRevokesNothing() async throws {
        let (harness, call, refresh) = try await overtaken()
        refresh.release(.failure(.timeout))
        _ = await call.failure()
        #expect(harness.transport.sent(.revocation).isEmpty)
        #expect(try await harness.client.accessToken().value == "access-2")
        #expect(try harness.storedRefreshToken() == "refresh-2")
        #expect(harness.states.last?.generation == 2)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func whatARefreshBringsAfterANewLoginIsRevoked() async throws {
        let (harness, call, refresh) = try await overtaken()
        refresh.release()
        _ = await call.failure()
        await harness.rest()
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["refresh-3"])
        #expect(try await harness.client.accessToken().value == "access-2")
        #expect(try harness.storedRefreshToken() == "refresh-2")
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func aLoginWithoutARefreshTokenOutlivesTheRefreshItOvertook() async throws {
        let (harness, call, refresh) = try await overtaken { $0.withoutExchange = ["refresh_token"] }
        refresh.release()
        #expect(try await call.value().value == "access-2")
        #expect(harness.client.state == .authenticated)
        #expect(harness.states.last?.generation == 2)
        try await harness.close()
    }

    @Test func aCloseDoesNotEndTheRefreshOnTheWire() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let harness = try await Harness.signedIn(place, time)
        let refresh = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await refresh.sent()
        harness.client.close()
        #expect(await call.failure() == .systemCancelled)
        refresh.release()
        try await harness.close()
        let next = try Harness(place: place, time: time)
        #expect(try next.storedRefreshToken() == "refresh-2")
        #expect(try !place.files().contains("refresh.note"))
        try await next.close()
    }

    @Test func aLogoutDoesNotWaitForARefreshThatIsBackingOffInDiscovery() async throws {
        let harness = try await Harness.signedIn(retryPolicy: RetryPolicy())
        harness.time.advance(3_600_001)
        harness.transport.next(.discovery, .failure(.connect))
        let refresh = harness.client.startAccessToken(force)
        await harness.rest()
        #expect(harness.time.timers > 0)
        let logout = harness.client.startLogout()
        #expect(await refresh.failure() == .reauthenticate(.sessionExpired))
        #expect(try await logout.value().tokenRevoked)
        #expect(harness.transport.sent(.refresh).isEmpty)
        try await harness.close()
    }

    // MARK: Somebody else

    @Test func whoBeganAsOnePersonIsNotHandedATokenOfAnother() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let there = try Harness(place: place, time: time)
        there.provider.change { $0.claims["sub"] = "\"bob\"" }
        try await there.signIn()
        #expect(await failure { try await here.client.accessToken(force) } == .reauthenticate(.sessionExpired))
        #expect(here.transport.sent(.refresh).isEmpty)
        #expect(here.states.states == [.authenticated, .refreshing, .unauthenticated, .authenticated])
        #expect(try here.client.identity().subject == "bob")
        _ = try await here.client.accessToken()
        try await here.close()
        try await there.close()
    }

    @Test func aRefreshOvertakenByAnotherPersonsLoginEndsInSessionExpired() async throws {
        let (harness, call, refresh) = try await overtaken { $0.claims["sub"] = "\"bob\"" }
        refresh.release()
        #expect(await call.failure() == .reauthenticate(.sessionExpired))
        #expect(harness.client.state == .authenticated)
        #expect(try harness.client.identity().subject == "bob")
        try await harness.close()
    }
}
