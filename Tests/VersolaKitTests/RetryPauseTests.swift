// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3, pause, on virtual time (case B28).
@Suite(.timeLimit(.minutes(1))) struct RetryPauseTests {
    private let force = TokenOptions(force: true)

    private static func server(
        _ status: Int = 429, after: Int64?, attempts: Int, elapsed: Int64 = 0
    ) -> OAuthError {
        .recoverable(.server(status: status, retryAfterMillis: after, attempts: attempts, elapsedMillis: elapsed))
    }

    /// Signed in, and the token endpoint's origin is paused for a minute.
    private static func paused(
        _ status: Int = 429, pauses: Pauses = Pauses(), time: VirtualTime = VirtualTime()
    ) async throws -> Harness {
        let harness = try await Harness.signedIn(nil, time, retryPolicy: .default, pauses: pauses)
        harness.transport.next(.refresh, .retryAfter("60", status))
        #expect(
            await harness.client.startAccessToken(TokenOptions(force: true)).failure()
                == server(status, after: 60_000, attempts: 1))
        return harness
    }

    // MARK: What starts one

    @Test func b28AWaitThatDoesNotFitIsNotSleptAndStartsAPause() async throws {
        let harness = try await Self.paused()
        #expect(harness.time.timers == 0)
        let sent = harness.transport.sent.count
        #expect(await harness.client.startAccessToken(force).failure() == Self.server(after: 60_000, attempts: 0))
        #expect(harness.transport.sent.count == sent)
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func attemptsThatRanOutWhileTheProviderStillAskedStartAPause() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        for _ in 0..<3 { harness.transport.next(.refresh, .retryAfter("2", 503)) }
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        guard case .recoverable(.server(503, 2_000, 3, _), _) = await call.failure() else {
            Issue.record("three failed requests, and 2 s to wait")
            return
        }
        #expect(
            await harness.client.startAccessToken(force).failure() == Self.server(503, after: 2_000, attempts: 0))
        try await harness.close()
    }

    @Test func aWaitThatFittedAndThenSucceededStartsNone() async throws {
        let pauses = Pauses()
        let harness = try await Harness.signedIn(retryPolicy: .default, pauses: pauses)
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        // Not while it waits, either: a parallel call is not refused because of it.
        #expect(pauses.running("https://op.example:443", now: harness.time.boot) == nil)
        #expect(try await harness.client.userInfo() == "{\"sub\":\"alice\"}")
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        #expect(pauses.running("https://op.example:443", now: harness.time.boot) == nil)
        try await harness.close()
    }

    @Test(arguments: [500, 502, 503, 504, 429])
    func onlyTheProvidersWordStartsOne(status: Int) async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        // Not repeated after 500, 502, 504.
        for _ in 0..<([429, 503].contains(status) ? 3 : 1) { harness.transport.next(.refresh, .status(status)) }
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        guard case .recoverable(.server(status, nil, _, _), _) = await call.failure() else {
            Issue.record("a Server error without a time")
            return
        }
        #expect(try await harness.client.accessToken(force).value == "access-2")
        try await harness.close()
    }

    @Test(arguments: [408, 500, 502, 504])
    func retryAfterOnAnotherStatusStartsNone(status: Int) async throws {
        let harness = try await Harness.signedIn(
            retryPolicy: try RetryPolicy(maxAttemptsPerOrigin: 1, maxTotalAttempts: 1))
        harness.transport.next(.refresh, .retryAfter("60", status))
        #expect(
            await harness.client.startAccessToken(force).failure() == Self.server(status, after: nil, attempts: 1))
        #expect(try await harness.client.accessToken(force).value == "access-2")
        try await harness.close()
    }

    // MARK: While it runs

    @Test func itFailsAtOnceWithWhatIsLeftAndTheStatusThatStartedIt() async throws {
        let harness = try await Self.paused(503)
        harness.time.advance(59_999)
        #expect(await harness.client.startAccessToken(force).failure() == Self.server(503, after: 1, attempts: 0))
        harness.time.advance(1)
        #expect(try await harness.client.accessToken(force).value == "access-2")
        try await harness.close()
    }

    @Test func aHundredCallsSendNothing() async throws {
        let harness = try await Self.paused()
        let sent = harness.transport.sent.count
        for _ in 0..<100 {
            #expect(await harness.client.startAccessToken(force).failure() == Self.server(after: 60_000, attempts: 0))
        }
        #expect(harness.transport.sent.count == sent)
        #expect(harness.states.states == [.authenticated, .refreshing, .authenticated])
        try await harness.close()
    }

    @Test func everyRequestOfTheLibraryToTheOriginIsRefused() async throws {
        let harness = try await Self.paused()
        // The token in memory still serves; UserInfo is a request to the same origin.
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(await failure { try await harness.client.userInfo() } == Self.server(after: 60_000, attempts: 0))
        #expect(harness.transport.sent(.userInfo).isEmpty)
        try await harness.close()
    }

    @Test func anotherOriginIsNotPaused() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.provider.change { $0.discovery["userinfo_endpoint"] = "\"https://api.example/userinfo\"" }
        try await harness.signIn()
        harness.transport.next(.refresh, .retryAfter("60"))
        _ = await harness.client.startAccessToken(force).failure()
        #expect(try await harness.client.userInfo() == "{\"sub\":\"alice\"}")
        try await harness.close()
    }

    @Test(arguments: ["https://op.example/a", "https://op.example:443/b?c", "HTTPS://OP.Example/"])
    func anOriginIsSchemeHostAndPort(url: String) {
        #expect(URLParts(url)?.origin == "https://op.example:443")
    }

    @Test func aRetryThatFindsAPauseEndsWithTheCountItHas() async throws {
        let pauses = Pauses()
        let harness = try await Harness.signedIn(retryPolicy: .default, pauses: pauses)
        harness.transport.next(.refresh, .status(503))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        let until = harness.time.boot + 30_000
        pauses.lengthen("https://op.example:443", until: until, status: 429)
        await harness.passTime(until: call)
        let elapsed = harness.time.boot - (until - 30_000)
        #expect(
            await call.failure() == Self.server(429, after: 30_000 - elapsed, attempts: 1, elapsed: elapsed))
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func aRequestThatFailsWhileOneRunsTellsWhatIsLeft() async throws {
        let pauses = Pauses()
        let harness = try await Harness.signedIn(retryPolicy: .default, pauses: pauses)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await held.sent()
        pauses.lengthen("https://op.example:443", until: harness.time.boot + 30_000, status: 429)
        held.release(.status(500))
        #expect(await call.failure() == Self.server(500, after: 30_000, attempts: 1))
        try await harness.close()
    }

    /// Also one that its endpoint judges: wherever a Server error comes from, it tells of the pause.
    @Test(arguments: [
        (RequestKind.discovery, ScriptedTransport.Answer.status(404)), (.discovery, .json(200, "{")),
        (.keySet, .status(404)), (.keySet, .json(200, "{")), (.codeExchange, .status(404)),
        (.codeExchange, .json(200, "{")),
        (.codeExchange, .oauthError("server_error")), (.refresh, .status(404)), (.refresh, .json(200, "{")),
        (.refresh, .oauthError("temporarily_unavailable")), (.userInfo, .status(404)), (.userInfo, .json(200, "{")),
    ])
    func anAnswerThatCannotBeUsedTellsWhatIsLeft(kind: RequestKind, answer: ScriptedTransport.Answer) async throws {
        let pauses = Pauses()
        let harness = try Harness(retryPolicy: .default, pauses: pauses)
        if kind == .refresh || kind == .userInfo { try await harness.signIn() }
        let held = harness.transport.hold(kind)
        let failure: () async -> OAuthError?
        switch kind {
        case .refresh:
            let call = harness.client.startAccessToken(force)
            failure = { await call.failure() }
        case .userInfo:
            let call = harness.client.startUserInfo()
            failure = { await call.failure() }
        default:
            let call = harness.client.startLogin(LoginOptions())
            failure = { await call.failure() }
        }
        if kind == .keySet || kind == .codeExchange {
            await harness.rest()
            _ = try harness.listener.navigate(try harness.response())
        }
        try await held.sent()
        pauses.lengthen("https://op.example:443", until: harness.time.boot + 30_000, status: 429)
        harness.time.advance(1_000)
        held.release(answer)
        #expect(
            await failure() == Self.server(try answer.get().status, after: 29_000, attempts: 1, elapsed: 1_000))
        try await harness.close()
    }

    // MARK: For the whole process

    @Test func itIsOfTheWholeProcess() async throws {
        let (pauses, time) = (Pauses(), VirtualTime())
        let first = try await Self.paused(pauses: pauses, time: time)
        let second = try Harness(time: time, retryPolicy: .default, pauses: pauses)
        #expect(await second.client.startLogin(LoginOptions()).failure() == Self.server(after: 60_000, attempts: 0))
        #expect(second.transport.sent.isEmpty)
        // A new process begins without it.
        let elsewhere = try Harness(time: time, retryPolicy: .default)
        try await elsewhere.signIn()
        for harness in [first, second, elsewhere] { try await harness.close() }
    }

    @Test func itOutlivesTheClientThatMetIt() async throws {
        let (pauses, time) = (Pauses(), VirtualTime())
        try await Self.paused(pauses: pauses, time: time).close()
        let next = try Harness(time: time, retryPolicy: .default, pauses: pauses)
        #expect(await next.client.startLogin(LoginOptions()).failure() == Self.server(after: 60_000, attempts: 0))
        try await next.close()
    }

    @Test func everyClientOutsideTestsSharesOne() throws {
        let store = try SealedCredentialStore.inMemory(
            binding: try StoreBinding(issuer: "https://op.example", clientID: "client", session: "default"),
            time: VirtualTime())
        let dependencies = Dependencies(
            time: VirtualTime(), random: SystemRandom(), transport: ScriptedTransport(Journal(), VirtualTime()),
            listen: { _, _, _ throws(OAuthError) in throw .sessionExpired },
            store: store, log: Log(level: nil) { _, _ in })
        #expect(dependencies.pauses === Pauses.shared)
    }

    @Test func itIsOnlyEverLengthened() {
        let pauses = Pauses()
        pauses.lengthen("o", until: 100, status: 429)
        pauses.lengthen("o", until: 50, status: 503)
        #expect(pauses.running("o", now: 10) == Pauses.Pause(until: 100, status: 429))
        pauses.lengthen("o", until: 150, status: 503)
        #expect(pauses.running("o", now: 10) == Pauses.Pause(until: 150, status: 503))
        #expect(pauses.running("o", now: 150) == nil)
        #expect(pauses.running("p", now: 10) == nil)
    }

    @Test func noSuccessLiftsIt() async throws {
        let pauses = Pauses()
        let harness = try await Harness.signedIn(retryPolicy: .default, pauses: pauses)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await held.sent()
        pauses.lengthen("https://op.example:443", until: harness.time.boot + 30_000, status: 429)
        held.release()
        #expect(try await call.value().value == "access-2")
        #expect(await harness.client.startAccessToken(force).failure() == Self.server(after: 30_000, attempts: 0))
        try await harness.close()
    }

    @Test func itKeepsRunningWhileTheMachineSleeps() async throws {
        let harness = try await Self.paused()
        harness.time.sleepThrough(60_000)
        #expect(try await harness.client.accessToken(force).value == "access-2")
        try await harness.close()
    }

    @Test func theWallClockDoesNotMoveIt() async throws {
        let harness = try await Self.paused()
        harness.time.setWall(by: 86_400_000)
        #expect(await harness.client.startAccessToken(force).failure() == Self.server(after: 60_000, attempts: 0))
        harness.time.setWall(by: -30 * 86_400_000)
        #expect(await harness.client.startAccessToken(force).failure() == Self.server(after: 60_000, attempts: 0))
        try await harness.close()
    }

    @Test func itIsNeverLongerThanADay() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.next(.refresh, .retryAfter("99999999999999999999"))
        #expect(
            await harness.client.startAccessToken(force).failure() == Self.server(after: 86_400_000, attempts: 1))
        harness.time.advance(86_400_000)
        #expect(try await harness.client.accessToken(force).value.isEmpty == false)
        try await harness.close()
    }

    // MARK: Login

    @Test func loginIsRefusedFirstOfAllWithCachedMetadata() async throws {
        let harness = try await Self.paused()
        let (sent, listeners) = (harness.transport.sent.count, harness.listeners.made.count)
        harness.journal.clear()
        harness.states.clear()
        #expect(await harness.client.startLogin(LoginOptions()).failure() == Self.server(after: 60_000, attempts: 0))
        await harness.rest()
        #expect(harness.transport.sent.count == sent)
        #expect(harness.listeners.made.count == listeners)
        #expect(harness.journal.entries.isEmpty)
        #expect(harness.states.states == [.authenticated])
        try await harness.close()
    }

    @Test func loginIsRefusedFirstOfAllAlsoWhenTheCachedMetadataWouldBeAskedForAgain() async throws {
        let pauses = Pauses()
        let harness = try Harness(retryPolicy: .default, pauses: pauses)
        harness.provider.change {
            $0.discovery["token_endpoint"] = "\"https://token.example/token\""
            $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")]
        }
        try await harness.signIn()
        pauses.lengthen("https://token.example:443", until: harness.time.boot + 9_000, status: 503)
        let sent = harness.transport.sent.count
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(503, after: 9_000, attempts: 0))
        #expect(harness.transport.sent.count == sent)
        try await harness.close()
    }

    @Test func loginIsRefusedFirstOfAllWithExplicitEndpoints() async throws {
        let pauses = Pauses()
        let time = VirtualTime()
        pauses.lengthen("https://token.example:443", until: time.boot + 9_000, status: 503)
        let harness = try Harness(
            endpoints: ProviderEndpoints(
                issuer: "https://op.example", authorizationEndpoint: "https://op.example/authorize",
                tokenEndpoint: "https://token.example/token", jwksUri: "https://op.example/jwks"),
            time: time, retryPolicy: .default, pauses: pauses)
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(503, after: 9_000, attempts: 0))
        #expect(harness.transport.sent.isEmpty)
        try await harness.close()
    }

    @Test func loginIsRefusedRightAfterDiscoveryBeforeAnythingIsStoredOrOpened() async throws {
        let (pauses, time) = (Pauses(), VirtualTime())
        pauses.lengthen("https://token.example:443", until: time.boot + 9_000, status: 503)
        let harness = try Harness(time: time, retryPolicy: .default, pauses: pauses)
        harness.provider.change { $0.discovery["token_endpoint"] = "\"https://token.example/token\"" }
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(503, after: 9_000, attempts: 0))
        #expect(harness.transport.sent.map(\.kind) == [.discovery])
        #expect(harness.journal.entries.filter { if case .store = $0 { true } else { false } }.isEmpty)
        #expect(harness.listeners.made.isEmpty)
        #expect(harness.browser.urls.isEmpty)
        #expect(harness.states.states == [.unauthenticated])
        try await harness.close()
    }

    @Test func aPausedDiscoveryThatARefreshWouldNeedRefusesItBeforeItIsUnderWay() async throws {
        let harness = try Harness(retryPolicy: .default) { world in
            world.provider.change {
                $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")]
                $0.discovery["token_endpoint"] = "\"https://tokens.example/token\""
            }
        }
        try await harness.signIn()
        harness.transport.next(.discovery, .retryAfter("60"))
        let refused = harness.client.startAccessToken(force)
        #expect(await refused.failure() == Self.server(after: 60_000, attempts: 1))
        harness.states.clear()
        let sent = harness.transport.sent.count
        let again = harness.client.startAccessToken(force)
        #expect(await again.failure() == Self.server(after: 60_000, attempts: 0))
        await harness.rest()
        #expect(harness.transport.sent.count == sent)
        #expect(harness.states.states == [.authenticated])
        try await harness.close()
    }

    @Test func aPausedDiscoveryRefusesTheLogin() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.next(.discovery, .retryAfter("60", 503))
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(503, after: 60_000, attempts: 1))
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(503, after: 60_000, attempts: 0))
        #expect(harness.transport.sent.count == 1)
        try await harness.close()
    }

    @Test func theCodeExchangeIsNeverRefused() async throws {
        let pauses = Pauses()
        let harness = try Harness(retryPolicy: .default, pauses: pauses)
        // The key set is known from a login before.
        try await harness.signIn()
        let login = try await harness.waitingLogin()
        pauses.lengthen("https://op.example:443", until: harness.time.boot + 60_000, status: 429)
        _ = try harness.listener.navigate(try harness.response())
        #expect(try await login.value().subject == "alice")
        #expect(harness.transport.sent(.codeExchange).count == 2)
        try await harness.close()
    }

    @Test(arguments: [429, 503])
    func anExchangeEndedByRetryAfterStartsOne(status: Int) async throws {
        let harness = try Harness(retryPolicy: .default)
        let login = try await harness.waitingLogin()
        // It would fit the budget; a code works once.
        harness.transport.next(.codeExchange, .retryAfter("5", status))
        _ = try harness.listener.navigate(try harness.response())
        #expect(await login.failure() == Self.server(status, after: 5_000, attempts: 1))
        #expect(harness.transport.sent(.codeExchange).count == 1)
        #expect(
            await harness.client.startLogin(LoginOptions()).failure() == Self.server(status, after: 5_000, attempts: 0))
        try await harness.close()
    }

    @Test func theKeySetLoadAfterTheExchangeIsRefused() async throws {
        let pauses = Pauses()
        let harness = try Harness(retryPolicy: .default, pauses: pauses)
        let login = try await harness.waitingLogin()
        pauses.lengthen("https://op.example:443", until: harness.time.boot + 60_000, status: 429)
        _ = try harness.listener.navigate(try harness.response())
        #expect(await login.failure() == Self.server(after: 60_000, attempts: 0))
        #expect(harness.transport.sent.map(\.kind) == [.discovery, .codeExchange])
        #expect(harness.client.state == .unauthenticated)
        try await harness.close()
    }

    // MARK: Logout

    @Test func logoutStillErasesTheLocalSession() async throws {
        let harness = try await Self.paused()
        #expect(try await harness.client.logout() == LogoutResult(tokenRevoked: false, sessionEnded: false))
        #expect(harness.transport.sent(.revocation).isEmpty)
        #expect(harness.client.state == .unauthenticated)
        #expect(try harness.store.store.grant() == nil)
        try await harness.close()
    }

    @Test func aRevocationEndpointOnAnotherHostHasItsOwnPauseAndCounts() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.provider.change { $0.discovery["revocation_endpoint"] = "\"https://revoke.example/revoke\"" }
        try await harness.signIn()
        harness.transport.next(.refresh, .retryAfter("60"))
        _ = await harness.client.startAccessToken(force).failure()
        for _ in 0..<2 { harness.transport.next(.revocation, .status(503)) }
        let call = harness.client.startLogout()
        await harness.passTime(until: call)
        #expect(try await call.value().tokenRevoked)
        #expect(harness.transport.sent(.revocation).count == 3)
        try await harness.close()
    }
}
