// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §5: refreshing.
@Suite(.timeLimit(.minutes(1))) struct RefreshTests {
    private let force = TokenOptions(force: true)

    @Test func theRequest() async throws {
        let harness = try await Harness.signedIn()
        _ = try await harness.client.accessToken(force)
        let sent = try #require(harness.transport.sent(.refresh).first)
        #expect(
            sent.form.map(\.name).sorted() == ["client_id", "grant_type", "refresh_token"])
        #expect(sent["refresh_token"] == "refresh-1")
        #expect(sent.request.carriesOneTimeCredential)
        #expect(!sent.request.fields.contains { $0.name == "Idempotency-Key" })
        try await harness.close()
    }

    // MARK: Single flight

    @Test func b24TwentyCallersCauseOneRefreshAndShareItsToken() async throws {
        let harness = try await Harness.signedIn()
        harness.time.advance(3_600_000)
        let refresh = harness.transport.hold(.refresh)
        let calls = (0..<20).map { harness.client.startAccessToken(TokenOptions(force: $0.isMultiple(of: 2))) }
        try await refresh.sent()
        await harness.rest()
        refresh.release()
        for call in calls { #expect(try await call.value().value == "access-2") }
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.states.states == [.authenticated, .refreshing, .authenticated])
        try await harness.close()
    }

    @Test(arguments: [
        (ScriptedTransport.Answer.failure(.reset), OAuthError.recoverable(.network(.reset))),
        (.oauthError("invalid_grant"), .reauthenticate(.grantRejected)),
        (.oauthError("invalid_request"), .reauthenticate(.sessionRejected)),
    ])
    func b24TwentyCallersShareItsError(answer: ScriptedTransport.Answer, error: OAuthError) async throws {
        let harness = try await Harness.signedIn()
        harness.time.advance(3_600_000)
        let refresh = harness.transport.hold(.refresh)
        let calls = (0..<20).map { _ in harness.client.startAccessToken(TokenOptions()) }
        try await refresh.sent()
        await harness.rest()
        refresh.release(answer)
        for call in calls { #expect(await call.failure() == error) }
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    // MARK: B21, B23

    @Test(arguments: [
        (ScriptedTransport.Answer.failure(.timeout), true), (.status(503), true), (.status(500), true),
        (.json(200, "{\"error\":\"invalid_grant\"}"), true), (.json(200, "<html>"), true),
        (.oauthError("server_error"), true), (.oauthError("temporarily_unavailable", 403), true),
        (.oauthError("invalid_grant"), false), (.oauthError("invalid_grant", 401), false),
    ])
    func b21WhatIsKeptAfterAFailure(answer: ScriptedTransport.Answer, kept: Bool) async throws {
        let harness = try await Harness.signedIn()
        harness.time.advance(3_600_000)
        harness.transport.next(.refresh, answer)
        let error = await failure { try await harness.client.accessToken() }
        #expect(error != nil)
        #expect(harness.client.state == (kept ? .authenticated : .unauthenticated))
        #expect(try harness.storedRefreshToken() == (kept ? "refresh-1" : nil))
        // One request, no loop; the next call sends the same token again.
        #expect(harness.transport.sent(.refresh).count == 1)
        if kept {
            #expect(try await harness.client.accessToken().value == "access-2")
            #expect(harness.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1", "refresh-1"])
        }
        try await harness.close()
    }

    @Test(arguments: [(true, "refresh-1"), (false, "refresh-2")])
    func b23TheOldTokenIsKeptOrTheNewOneIsOnDiskBeforeSuccessIsTold(without: Bool, kept: String) async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let harness = try await Harness.signedIn(place, time)
        if without { harness.provider.change { $0.withoutRefresh = ["refresh_token"] } }
        let onDisk = Lock<String?>(nil)
        let call = harness.client.startAccessToken(force)
        let store = harness.store.store
        call.whenEnded { _ in onDisk.withLock { $0 = (try? store.grant())?.refreshToken } }
        _ = try await call.value()
        #expect(onDisk.withLock { $0 } == kept)
        try await harness.close()

        let next = try Harness(place: place, time: time)
        _ = try await next.client.accessToken()
        #expect(next.transport.sent(.refresh).first?["refresh_token"] == kept)
        try await next.close()
    }

    @Test(arguments: [
        "{\"refresh_token\":\"new\"}", "{\"refresh_token\":\"new\",\"access_token\":7,\"token_type\":\"Bearer\"}",
        "{\"refresh_token\":\"new\",\"access_token\":\"a\",\"token_type\":\"mac\"}",
        "{\"refresh_token\":\"new\",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"id_token\":\"x.y.z\"}",
        "{\"refresh_token\":\"new\",\"error\":\"invalid_grant\"}",
    ])
    func aNewTokenInA2xxAnswerIsStoredWhateverElseIsWrongWithIt(body: String) async throws {
        let harness = try await Harness.signedIn()
        harness.transport.next(.refresh, .json(200, body))
        #expect(await failure { try await harness.client.accessToken(force) } != nil)
        #expect(try harness.storedRefreshToken() == "new")
        #expect(harness.client.state == .authenticated)
        // The answer's access token is not handed out.
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(try await harness.client.accessToken(force).value == "access-2")
        #expect(harness.transport.sent(.refresh).last?["refresh_token"] == "new")
        try await harness.close()
    }

    @Test func aNewTokenInAFailureIsNotBelieved() async throws {
        let harness = try await Harness.signedIn()
        harness.transport.next(.refresh, .json(400, "{\"refresh_token\":\"new\",\"error\":\"invalid_scope\"}"))
        _ = await failure { try await harness.client.accessToken(force) }
        #expect(try harness.storedRefreshToken() == "refresh-1")
        try await harness.close()
    }

    // MARK: ID token

    @Test func aRefreshedIDTokenReplacesTheOldOne() async throws {
        let harness = try await Harness.signedIn()
        harness.provider.change {
            $0.signsRefreshed = true
            $0.claims = ["email": "\"a@b.example\""]
        }
        _ = try await harness.client.accessToken(force)
        #expect(try harness.client.identity().claimsJSON.contains("a@b.example"))
        #expect(try harness.store.store.grant()?.idToken.isEmpty == false)
        #expect(harness.states.last?.generation == 1)
        try await harness.close()
    }

    @Test func aRefreshedIDTokenThatIsRefusedKeepsTheNewRefreshToken() async throws {
        let harness = try await Harness.signedIn()
        harness.provider.change {
            $0.signsRefreshed = true
            $0.claims = ["sub": "\"bob\""]
        }
        #expect(await failure { try await harness.client.accessToken(force) } == .configuration(.idTokenRejected))
        #expect(try harness.storedRefreshToken() == "refresh-2")
        #expect(try harness.client.identity().subject == "alice")
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    // MARK: Note and order

    @Test func theNoteIsOnDiskBeforeTheRequestAndTheNewTokenBeforeAnythingElse() async throws {
        let harness = try await Harness.signedIn()
        harness.provider.change { $0.signsRefreshed = true }
        let call = harness.client.startAccessToken(force)
        call.whenEnded { [journal = harness.journal] _ in journal.note(.ended) }
        _ = try await call.value()
        await harness.rest()
        let order = harness.journal.order(
            of: .store(.lockRefresh), .store(.beginRefresh), .sent(.refresh), .answered(.refresh),
            .store(.storeRefresh),
            .store(.endRefresh), .store(.unlockRefresh), .ended)
        #expect(
            order.prefix(6) == [
                .store(.lockRefresh), .store(.beginRefresh), .sent(.refresh), .answered(.refresh),
                .store(.storeRefresh),
                .store(.endRefresh),
            ])
        #expect(order.last == .ended)
        #expect(harness.journal.count(of: .store(.unlockRefresh)) == 1)
        #expect(harness.store.stored.map(\.refreshToken) == ["refresh-1", "refresh-2", "refresh-2"])
        try await harness.close()
    }

    @Test(arguments: [
        ScriptedTransport.Answer.failure(.connect), .failure(.timeout), .status(500), .oauthError("invalid_grant"),
        .json(200, "{}"),
    ])
    func theNoteEndsAlsoAfterAFailure(answer: ScriptedTransport.Answer) async throws {
        let harness = try await Harness.signedIn()
        harness.transport.next(.refresh, answer)
        _ = await failure { try await harness.client.accessToken(force) }
        await harness.rest()
        #expect(
            harness.journal.order(of: .store(.beginRefresh), .sent(.refresh), .store(.endRefresh)) == [
                .store(.beginRefresh), .sent(.refresh), .store(.endRefresh),
            ])
        #expect(harness.journal.count(of: .store(.unlockRefresh)) == 1)
        try await harness.close()
    }

    @Test func nothingIsSentWithoutANote() async throws {
        let harness = try await Harness.signedIn()
        harness.store.fail([.beginRefresh])
        #expect(await failure { try await harness.client.accessToken(force) } == .configuration(.storeUnavailable))
        #expect(harness.transport.sent(.refresh).isEmpty)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func everySendingHasANoteOfItsOwn() async throws {
        let harness = try await Harness.signedIn()
        for _ in 0..<3 { _ = try await harness.client.accessToken(force) }
        #expect(harness.journal.count(of: .store(.beginRefresh)) == 3)
        #expect(harness.journal.count(of: .store(.endRefresh)) >= 3)
        try await harness.close()
    }

    @Test func whoFindsTheNoteOfARefreshThatNeverEndedSendsTheStoredTokenOnce() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try await Harness.signedIn(place, time)
        let refresh = first.transport.hold(.refresh)
        _ = first.client.startAccessToken(force)
        try await refresh.sent()
        #expect(try place.files().contains("refresh.note"))
        // Killed here: its locks are gone, its records are not.
        first.store.store.close()
        let next = try Harness(place: place, time: time)
        #expect(next.client.state == .authenticated)
        #expect(next.transport.sent.isEmpty)
        refresh.release(.failure(.reset))
        try await first.close()
        next.transport.next(.refresh, .oauthError("invalid_grant"))
        #expect(await failure { try await next.client.accessToken() } == .reauthenticate(.grantRejected))
        #expect(next.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1"])
        #expect(next.client.state == .unauthenticated)
        try await next.close()
    }

    // MARK: A disk that takes nothing

    @Test func aTokenThatCannotBeWrittenStaysInMemoryAndIsWrittenBeforeAnythingElseIsSent() async throws {
        let harness = try await Harness.signedIn()
        harness.store.fail([.storeRefresh])
        #expect(try await harness.client.accessToken(force).value == "access-2")
        #expect(try harness.storedRefreshToken() == "refresh-1")
        // Still full: nothing is sent.
        #expect(await failure { try await harness.client.accessToken(force) } == .configuration(.storeUnavailable))
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.client.state == .authenticated)

        harness.store.fail([])
        harness.journal.clear()
        #expect(try await harness.client.accessToken(force).value == "access-3")
        #expect(harness.transport.sent(.refresh).last?["refresh_token"] == "refresh-2")
        #expect(harness.store.stored.map(\.refreshToken) == ["refresh-1", "refresh-2", "refresh-3"])
        #expect(
            harness.journal.order(of: .store(.storeRefresh), .sent(.refresh)) == [
                .store(.storeRefresh), .sent(.refresh), .store(.storeRefresh),
            ])
        try await harness.close()
    }

    @Test func aTokenThatCouldNotBeWrittenIsWrittenWhenTheClientIsClosed() async throws {
        let harness = try await Harness.signedIn()
        harness.store.fail([.storeRefresh])
        #expect(try await harness.client.accessToken(force).value == "access-2")
        harness.store.fail([])
        try await harness.close()
        #expect(harness.store.stored.map(\.refreshToken) == ["refresh-1", "refresh-2"])
    }

    @Test func aTokenThatWasNeverWrittenIsTheOneALogoutRevokes() async throws {
        let harness = try await Harness.signedIn()
        harness.store.fail([.storeRefresh])
        _ = try await harness.client.accessToken(force)
        harness.store.fail([])
        #expect(try await harness.client.logout().tokenRevoked)
        #expect(harness.transport.sent(.revocation).map { $0["token"] } == ["refresh-2"])
        try await harness.close()
    }
}
