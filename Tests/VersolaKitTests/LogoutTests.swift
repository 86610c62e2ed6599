// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §10, as far as the provider's own session is left out.
@Suite(.timeLimit(.minutes(1))) struct LogoutTests {
    @Test func theDiskIsErasedFirstThenTheTokenIsRevoked() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.journal.clear()
        _ = try await harness.client.logout()
        #expect(
            harness.journal.order(
                of: .published(.loggingOut), .store(.eraseSession), .sent(.revocation), .published(.unauthenticated))
                == [
                    .published(.loggingOut), .store(.eraseSession), .sent(.revocation), .published(.unauthenticated),
                ])
        let sent = try #require(harness.transport.sent(.revocation).first)
        #expect(sent["token"] == "refresh-1")
        #expect(sent["token_type_hint"] == "refresh_token")
        #expect(sent["client_id"] == "client")
        try await harness.close()
    }

    @Test func theAccessTokenIsRevokedWhenThereIsNoRefreshToken() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        #expect(try await harness.client.logout().tokenRevoked)
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["access-1"])
        #expect(harness.transport.sent(.revocation).map { $0["token_type_hint"] } == ["access_token"])
        #expect(harness.time.timers == 0)
        try await harness.close()
    }

    @Test(arguments: [
        (ScriptedTransport.Answer.status(200), true), (.json(200, "{}"), true),
        (.json(200, "{\"error\":\"unsupported_token_type\"}"), false), (.status(204), false), (.status(400), false),
        (.status(401), false), (.status(503), false), (.status(302), false), (.failure(.timeout), false),
    ])
    func b65TheSessionIsErasedAlwaysAndTheRevocationIsTrueOnlyOn200(
        answer: ScriptedTransport.Answer, revoked: Bool
    ) async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.transport.next(.revocation, answer)
        #expect(try await harness.client.logout() == LogoutResult(tokenRevoked: revoked, sessionEnded: false))
        #expect(harness.client.state == .unauthenticated)
        #expect(try harness.store.store.grant() == nil)
        #expect(await failure { try await harness.client.accessToken() } == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    @Test func b65WithoutARevocationEndpoint() async throws {
        let harness = try Harness()
        harness.provider.change { $0.discovery["revocation_endpoint"] = nil }
        try await harness.signIn()
        #expect(try await harness.client.logout() == LogoutResult())
        #expect(harness.client.state == .unauthenticated)
        try await harness.close()
    }

    @Test func aSessionThatCannotBeErasedIsTold() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.store.fail([.eraseSession])
        #expect(await failure { try await harness.client.logout() } == .configuration(.storeUnavailable))
        #expect(harness.client.state == .unauthenticated)
        try await harness.close()
    }

    @Test func aSessionThatAnotherProcessBeganMeanwhileIsTakenOver() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let here = try await Harness.signedIn(place, time)
        let revocation = here.transport.hold(.revocation)
        let logout = here.client.startLogout()
        try await revocation.sent()
        let there = try Harness(place: place, time: time)
        try await there.signIn()
        revocation.release()
        #expect(try await logout.value().tokenRevoked)
        await here.rest()
        #expect(here.states.states == [.authenticated, .loggingOut, .unauthenticated, .authenticated])
        #expect(here.states.last?.generation == 2)
        try await here.close()
        try await there.close()
    }

    @Test func theNextLoginHasAHigherGeneration() async throws {
        let harness = try Harness()
        try await harness.signIn()
        _ = try await harness.client.logout()
        try await harness.signIn()
        #expect(harness.states.changes.map(\.generation) == [0, 0, 1, 1, 0, 0, 2])
        try await harness.close()
    }

    @Test func cancellingTheCallerDoesNotStopTheLogout() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let revocation = harness.transport.hold(.revocation)
        let call = harness.client.startLogout()
        try await revocation.sent()
        call.cancel(.user)
        #expect(await call.failure() == .userCancelled)
        #expect(harness.client.state == .loggingOut)
        revocation.release()
        try await harness.states.reach(.unauthenticated)
        try await harness.close()
    }
}
