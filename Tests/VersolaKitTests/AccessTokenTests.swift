// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §5: which access token is returned, and when it is refreshed first.
@Suite(.timeLimit(.minutes(1))) struct AccessTokenTests {
    @Test func valueTypeExpiryAndScopeAreReturned() async throws {
        let harness = try Harness(scopes: ["openid", "email"])
        harness.provider.change { $0.exchange = ["token_type": "\"bEARER\""] }
        try await harness.signIn()
        let token = try await harness.client.accessToken()
        #expect(token.value == "access-1")
        #expect(token.type == "Bearer")
        #expect(token.scope == "openid email")
        #expect(token.expiresAtMillis == harness.time.wall + 3_600_000)
        try await harness.close()
    }

    @Test func aGrantedScopeWins() async throws {
        let harness = try Harness(scopes: ["openid", "email"])
        harness.provider.change { $0.exchange = ["scope": "\"openid\""] }
        try await harness.signIn()
        #expect(try await harness.client.accessToken().scope == "openid")
        #expect(try await harness.client.accessToken(TokenOptions(force: true)).scope == "openid")
        try await harness.close()
    }

    @Test(
        arguments: [
            // life in s, ms passed, min_valid, refreshed?
            (3_600, 3_570_000, nil, false), (3_600, 3_570_001, nil, true), (3_600, 0, nil, false),
            (100, 90_000, nil, false), (100, 90_001, nil, true),
            (3_600, 3_599_999, 0, false), (3_600, 3_600_000, 0, true),
            (3_600, 3_000_000, 600_000, false), (3_600, 3_000_001, 600_000, true),
            (3_600, 0, 3_600_000, false), (3_600, 0, 3_600_001, true),
        ] as [(Int, Int64, Int64?, Bool)])
    func aTokenWithLessLeftThanMinValidIsRefreshedFirst(
        life: Int, passed: Int64, minValid: Int64?, refreshed: Bool
    ) async throws {
        let harness = try Harness()
        harness.provider.change { $0.exchange = ["expires_in": "\(life)"] }
        try await harness.signIn()
        harness.time.advance(passed)
        let token = try await harness.client.accessToken(TokenOptions(minValidMillis: minValid))
        #expect(token.value == (refreshed ? "access-2" : "access-1"))
        #expect(harness.transport.sent(.refresh).count == (refreshed ? 1 : 0))
        try await harness.close()
    }

    @Test func aWrongWallClockChangesNothing() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.time.setWall(by: 10 * 86_400_000)
        #expect(try await harness.client.accessToken().value == "access-1")
        harness.time.setWall(by: -20 * 86_400_000)
        #expect(try await harness.client.accessToken().value == "access-1")
        harness.time.advance(3_600_000)
        #expect(try await harness.client.accessToken().value == "access-2")
        try await harness.close()
    }

    @Test func forceRefreshesAnyToken() async throws {
        let harness = try Harness()
        try await harness.signIn()
        #expect(try await harness.client.accessToken(TokenOptions(force: true)).value == "access-2")
        #expect(try await harness.client.accessToken().value == "access-2")
        try await harness.close()
    }

    @Test func b18WhatARefreshBringsIsReturnedWhateverItsLife() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.provider.change { $0.refresh = ["expires_in": "5"] }
        let long = TokenOptions(minValidMillis: 7_200_000)
        #expect(try await harness.client.accessToken(long).value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 1)
        // The margin is a tenth of its life: usable once and more often.
        #expect(try await harness.client.accessToken().value == "access-2")
        harness.time.advance(4_500)
        #expect(try await harness.client.accessToken().value == "access-2")
        harness.time.advance(1)
        #expect(try await harness.client.accessToken().value == "access-3")
        #expect(harness.transport.sent(.refresh).count == 2)
        try await harness.close()
    }

    @Test func aTokenOfNoLifeIsReturnedByTheRefreshThatBroughtIt() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.provider.change { $0.refresh = ["expires_in": "0"] }
        #expect(try await harness.client.accessToken(TokenOptions(force: true)).value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func b16ExpiresInThatSaysNothingMeansUntilA401() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["expires_in"] }
        try await harness.signIn()
        harness.time.advance(365 * 86_400_000)
        let token = try await harness.client.accessToken(TokenOptions(minValidMillis: 600_000))
        #expect(token.value == "access-1")
        #expect(token.expiresAtMillis == nil)
        try await harness.close()
    }

    enum EarlyRefresh: CaseIterable {
        case network, server, sessionRejected, providerUnsupported
    }

    @Test(arguments: EarlyRefresh.allCases, [(false, false), (false, true), (true, false), (true, true)])
    func theOldTokenIsReturnedWhenItsEarlyRefreshFailsRecoverablyWhileItLives(
        failing: EarlyRefresh, how: (force: Bool, expired: Bool)
    ) async throws {
        let (force, expired) = how
        let harness = try Harness()
        try await harness.signIn()
        harness.time.advance(expired ? 3_600_000 : 3_590_000)
        let answer: ScriptedTransport.Answer =
            switch failing {
            case .network: .failure(.timeout)
            case .server: .status(500)
            case .sessionRejected: .status(401)
            case .providerUnsupported: .json(200, "{\"access_token\":\"a\",\"token_type\":\"mac\"}")
            }
        harness.transport.next(.refresh, answer)
        let error = await failure { try await harness.client.accessToken(TokenOptions(force: force)) }
        if !force, !expired, failing == .network || failing == .server {
            #expect(error == nil)
        } else {
            switch failing {
            case .network: #expect(error == .recoverable(.network(.timeout)))
            case .server:
                #expect(
                    error
                        == .recoverable(.server(status: 500, retryAfterMillis: nil, attempts: 1, elapsedMillis: 0)))
            case .sessionRejected: #expect(error == .reauthenticate(.sessionRejected))
            case .providerUnsupported: #expect(error == .configuration(.providerUnsupported))
            }
        }
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func withoutARefreshTokenItIsReturnedUntilItReallyExpires() async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.time.advance(3_599_999)
        #expect(try await harness.client.accessToken().value == "access-1")
        try await harness.close()
    }

    @Test(arguments: [
        TokenOptions(force: true), TokenOptions(minValidMillis: 3_600_001),
        TokenOptions(minValidMillis: 0, force: true),
    ])
    func withoutARefreshTokenMoreThanItsLifeIsSessionExpiredAndTheStateUnchanged(options: TokenOptions) async throws {
        let harness = try Harness()
        harness.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await harness.signIn()
        harness.states.clear()
        #expect(await failure { try await harness.client.accessToken(options) } == .reauthenticate(.sessionExpired))
        #expect(harness.states.states == [.authenticated])
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(harness.transport.sent(.refresh).isEmpty)
        try await harness.close()
    }

    @Test func b22ASessionStartsAndTellsWhoIsSignedInWithoutANetwork() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try Harness(place: place, time: time)
        try await first.signIn()
        try await first.close()
        let second = try Harness(place: place, time: time)
        second.transport.script { _ in .failure(.connect) }
        #expect(second.client.state == .authenticated)
        #expect(try second.client.identity().subject == "alice")
        #expect(second.transport.sent.isEmpty)
        #expect(await failure { try await second.client.accessToken() } == .recoverable(.network(.connect)))
        #expect(second.client.state == .authenticated)
        try await second.close()
    }

    @Test func aCallersCancelEndsTheCallerAlone() async throws {
        let harness = try Harness()
        try await harness.signIn()
        let refresh = harness.transport.hold(.refresh)
        let impatient = harness.client.startAccessToken(TokenOptions(force: true))
        let patient = harness.client.startAccessToken(TokenOptions(force: true))
        try await refresh.sent()
        impatient.cancel(.user)
        #expect(await impatient.failure() == .userCancelled)
        #expect(harness.client.state == .refreshing)
        refresh.release()
        #expect(try await patient.value().value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func stateIsPublishedBeforeTheRefreshCompletes() async throws {
        let harness = try Harness()
        try await harness.signIn()
        harness.journal.clear()
        let call = harness.client.startAccessToken(TokenOptions(force: true))
        call.whenEnded { [journal = harness.journal] _ in journal.note(.ended) }
        _ = try await call.value()
        #expect(
            harness.journal.order(of: .published(.refreshing), .published(.authenticated), .ended) == [
                .published(.refreshing), .published(.authenticated), .ended,
            ])
        try await harness.close()
    }
}
