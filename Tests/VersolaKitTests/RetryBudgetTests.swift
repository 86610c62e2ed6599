// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3, budget: one per operation, spent by failed requests and by time, on virtual time.
@Suite(.timeLimit(.minutes(1))) struct RetryBudgetTests {
    private let force = TokenOptions(force: true)

    private static func server(
        _ status: Int, after: Int64? = nil, attempts: Int, elapsed: Int64
    ) -> OAuthError {
        .recoverable(.server(status: status, retryAfterMillis: after, attempts: attempts, elapsedMillis: elapsed))
    }

    /// Status, attempts and elapsed time of a Server error.
    private static func numbers(_ error: OAuthError?) throws -> (status: Int, attempts: Int, elapsed: Int64) {
        guard case .recoverable(.server(let status, _, let attempts, let elapsed), _) = error else {
            throw try #require(error)
        }
        return (status, attempts, elapsed)
    }

    // MARK: Attempts

    private static let unusable: [(answer: ScriptedTransport.Answer, requests: Int)] = [
        (.status(503), 3), (.failure(.reset), 3), (.status(404), 1), (.status(302), 1), (.json(200, "no metadata"), 1),
    ]

    /// Its metadata are asked for by each operation.
    private static func harness(discovery answer: ScriptedTransport.Answer) async throws -> Harness {
        let harness = try Harness(retryPolicy: .default) { world in
            world.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
        }
        try await harness.signIn()
        harness.time.advance(3_590_000)
        for _ in 0..<9 { harness.transport.next(.discovery, answer) }
        return harness
    }

    @Test(arguments: unusable)
    func whatARevocationAskedForInVainTheRestOfTheLogoutDoesNotAskForAgain(
        answer: ScriptedTransport.Answer, requests: Int
    ) async throws {
        let harness = try await Self.harness(discovery: answer)
        let sent = harness.transport.sent.count
        let call = harness.client.startLogout()
        await harness.passTime(until: call)
        #expect(try await call.value() == LogoutResult())
        #expect(harness.transport.sent.dropFirst(sent).map(\.kind) == Array(repeating: .discovery, count: requests))
        try await harness.close()
    }

    @Test(arguments: unusable)
    func whatAnEarlyRefreshAskedForInVainUserInfoDoesNotAskForAgain(
        answer: ScriptedTransport.Answer, requests: Int
    ) async throws {
        let harness = try await Self.harness(discovery: answer)
        let sent = harness.transport.sent.count
        let call = harness.client.startUserInfo()
        await harness.passTime(until: call)
        #expect(await call.failure() != nil)
        #expect(harness.transport.sent.dropFirst(sent).map(\.kind) == Array(repeating: .discovery, count: requests))
        try await harness.close()
    }

    @Test func whatWasAskedForInVainIsToldWithTheNumbersOfItsOwnFailures() async throws {
        let harness = try await Self.harness(discovery: .retryAfter("60"))
        let call = harness.client.startUserInfo()
        #expect(await call.failure() == Self.server(429, after: 60_000, attempts: 1, elapsed: 0))
        // Another operation was never sent: a pause runs.
        harness.time.advance(1_000)
        #expect(
            await harness.client.startUserInfo().failure() == Self.server(429, after: 59_000, attempts: 0, elapsed: 0))
        try await harness.close()
    }

    @Test func threeFailedRequestsToOneOriginThenOneError() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.script { _ in .status(500) }
        let call = harness.client.startLogin(LoginOptions())
        await harness.passTime(until: call)
        let told = try Self.numbers(await call.failure())
        let sent = harness.transport.sent(.discovery)
        #expect(sent.count == 3)
        #expect(told.status == 500 && told.attempts == 3)
        // Backoff: half the base up to the base.
        let gaps = zip(sent, sent.dropFirst()).map { $1.at - $0.at }
        #expect((250...500).contains(gaps[0]) && (500...1_000).contains(gaps[1]))
        #expect(told.elapsed == gaps[0] + gaps[1])
        try await harness.close()
    }

    @Test func fourInAllOverSeveralOrigins() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.provider.change {
            $0.discovery["userinfo_endpoint"] = "\"https://api.example/userinfo\""
            $0.discovery["token_endpoint"] = "\"https://token.example/token\""
        }
        harness.time.advance(3_600_000)
        for answer in [ScriptedTransport.Answer.status(500), .failure(.timeout)] {
            harness.transport.next(.discovery, answer)
        }
        harness.transport.next(.refresh, .status(503))
        for _ in 0..<3 { harness.transport.next(.userInfo, .status(502)) }
        let call = harness.client.startUserInfo()
        await harness.passTime(until: call)
        // 2 and 1 before: the first failure of the last request is the fourth.
        #expect(try Self.numbers(await call.failure()).attempts == 1)
        #expect(harness.transport.sent(.userInfo).count == 1)
        try await harness.close()
    }

    @Test func onlyFailedRequestsSpendIt() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
        harness.time.advance(3_600_000)
        // Discovery and refresh succeed at the same origin; the third request still has all its attempts.
        for _ in 0..<2 { harness.transport.next(.userInfo, .status(503)) }
        let call = harness.client.startUserInfo()
        await harness.passTime(until: call)
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        #expect(harness.transport.sent(.userInfo).count == 3)
        try await harness.close()
    }

    @Test func attemptsCountsOnlyTheFailuresOfTheRequestThatRaisedTheError() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.next(.discovery, .status(500))
        harness.transport.next(.codeExchange, .status(500))
        let login = harness.client.startLogin(LoginOptions())
        while harness.client.state != .authorizing {
            await harness.rest()
            harness.time.advance(500)
        }
        _ = try harness.listener.navigate(try harness.response())
        let told = try Self.numbers(await login.failure())
        #expect(told.attempts == 1)
        #expect(told.elapsed >= 250, "elapsed is the operation's")
        try await harness.close()
    }

    @Test func theCountsAreNotResetByTheBrowser() async throws {
        let harness = try Harness(retryPolicy: .default)
        for _ in 0..<2 { harness.transport.next(.discovery, .status(500)) }
        for _ in 0..<3 { harness.transport.next(.keySet, .status(500)) }
        let login = harness.client.startLogin(LoginOptions())
        while harness.client.state != .authorizing {
            await harness.rest()
            harness.time.advance(500)
        }
        _ = try harness.listener.navigate(try harness.response())
        #expect(try Self.numbers(await login.failure()).attempts == 1)
        #expect(harness.transport.sent(.keySet).count == 1)
        try await harness.close()
    }

    @Test func timeInTheBrowserDoesNotCount() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.next(.keySet, .status(500))
        let login = try await harness.waitingLogin()
        harness.time.advance(9 * 60_000)
        _ = try harness.listener.navigate(try harness.response())
        await harness.passTime(until: login)
        #expect(try await login.value().subject == "alice")
        #expect(harness.transport.sent(.keySet).count == 2)
        try await harness.close()
    }

    @Test func timeInTheBrowserIsNotInElapsed() async throws {
        let harness = try Harness(retryPolicy: .default)
        let login = try await harness.waitingLogin()
        harness.time.advance(60_000)
        let exchange = harness.transport.hold(.codeExchange)
        _ = try harness.listener.navigate(try harness.response())
        try await exchange.sent()
        harness.time.advance(700)
        exchange.release(.status(500))
        #expect(await login.failure() == Self.server(500, attempts: 1, elapsed: 700))
        try await harness.close()
    }

    @Test func timeThatALogoutTakesDoesNotCountForTheLoginThatWaitsForIt() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
        harness.time.advance(3_600_001)
        let revocation = harness.transport.hold(.revocation)
        let logout = harness.client.startLogout()
        try await revocation.sent()
        let login = harness.client.startLogin(LoginOptions())
        await harness.rest()
        harness.time.advance(60_000)
        // The logout's, for its browser step, which has no time left for another, and the login's.
        for _ in 0..<2 { harness.transport.next(.discovery, .status(503)) }
        revocation.release()
        _ = try await logout.value()
        while harness.client.state != .authorizing, !login.isEnded {
            await harness.rest()
            if let due = harness.time.nextDue { harness.time.advance(due - harness.time.boot) }
        }
        #expect(harness.client.state == .authorizing)
        try await harness.close()
    }

    @Test func aLostKeySetDoesNotCostTheLogin() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.next(.keySet, .failure(.reset))
        let login = try await harness.waitingLogin()
        _ = try harness.listener.navigate(try harness.response())
        await harness.passTime(until: login)
        #expect(try await login.value().subject == "alice")
        try await harness.close()
    }

    // MARK: Time

    @Test func itBoundsHowLongTheLibraryKeepsRetrying() async throws {
        let policy = try RetryPolicy(
            maxAttemptsPerOrigin: 5, maxTotalAttempts: 8, initialBackoff: 1, backoffMultiplier: 1, totalBudget: 2)
        let harness = try Harness(retryPolicy: policy)
        harness.transport.script { _ in .status(500) }
        let began = harness.time.boot
        let call = harness.client.startLogin(LoginOptions())
        await harness.passTime(until: call)
        let told = try Self.numbers(await call.failure())
        #expect(harness.time.boot - began <= 2_000)
        #expect((2...4).contains(told.attempts))
        try await harness.close()
    }

    @Test func itNeverAbortsARequestInFlightAndThenRefusesTheRepeat() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await held.sent()
        harness.time.advance(45_000)
        #expect(!call.isEnded)
        held.release(.status(503))
        #expect(await call.failure() == Self.server(503, attempts: 1, elapsed: 45_000))
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func itNeverRefusesAFirstAttempt() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.time.advance(3_600_000)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startUserInfo()
        try await held.sent()
        harness.time.advance(45_000)
        held.release()
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        try await harness.close()
    }

    @Test func itKeepsRunningWhileTheMachineSleeps() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await held.sent()
        harness.time.sleepThrough(8 * 3_600_000)
        held.release(.retryAfter("1"))
        #expect(await call.failure() == Self.server(429, after: 1_000, attempts: 1, elapsed: 8 * 3_600_000))
        try await harness.close()
    }

    /// A wait that fitted when it began.
    @Test func aRepeatIsRefusedWhenTheMachineSleptPastTheBudgetInTheWaitForIt() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.next(.refresh, .retryAfter("5"))
        let refresh = harness.client.startAccessToken(force)
        await harness.rest()
        wake(harness, after: 3_600_000)
        #expect(await refresh.failure() == Self.server(429, attempts: 1, elapsed: 3_600_000))
        harness.transport.next(.refresh, .failure(.connect))
        let unreached = harness.client.startAccessToken(force)
        await harness.rest()
        wake(harness, after: 3_600_000)
        #expect(await unreached.failure() == .recoverable(.network(.connect)))
        #expect(harness.transport.sent(.refresh).count == 2)
        #expect(try await harness.client.accessToken(force).value.isEmpty == false)

        harness.transport.next(.userInfo, .status(503))
        let userInfo = harness.client.startUserInfo()
        await harness.rest()
        wake(harness, after: 3_600_000)
        #expect(await userInfo.failure() == Self.server(503, attempts: 1, elapsed: 3_600_000))
        #expect(harness.transport.sent(.userInfo).count == 1)
        try await harness.close()
    }

    /// All its timers are late.
    private func wake(_ harness: Harness, after millis: Int64) {
        harness.time.sleepThrough(millis)
        harness.time.advance(0)
    }

    @Test(arguments: [0, 1_000] as [Int64]) func aWaitToTheEndOfTheBudgetIsFollowedByItsRepeat(late: Int64) async throws
    {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.next(.refresh, .retryAfter("20"))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        harness.time.advance(20_000 + late)
        #expect(try await call.value().value == "access-2")
        try await harness.close()
    }

    @Test func theWallClockDoesNotMatter() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        let held = harness.transport.hold(.refresh)
        let call = harness.client.startAccessToken(force)
        try await held.sent()
        harness.time.setWall(by: 86_400_000)
        held.release(.retryAfter("1"))
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        try await harness.close()
    }

    @Test func eachOperationHasItsOwn() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        for round in 1...3 {
            for _ in 0..<3 { harness.transport.next(.refresh, .status(503)) }
            let call = harness.client.startAccessToken(force)
            await harness.passTime(until: call)
            #expect(try Self.numbers(await call.failure()).attempts == 3)
            #expect(harness.transport.sent(.refresh).count == round * 3)
        }
        try await harness.close()
    }

    @Test func aSharedRefreshRunsUnderItsStartersBudget() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.time.advance(3_600_000)
        let held = harness.transport.hold(.refresh)
        let starter = harness.client.startAccessToken(TokenOptions())
        try await held.sent()
        harness.time.advance(19_500)
        // Its own budget would have room for this wait; the refresh is not its own.
        let joiner = harness.client.startAccessToken(TokenOptions())
        await harness.rest()
        held.release(.retryAfter("5"))
        let error = Self.server(429, after: 5_000, attempts: 1, elapsed: 19_500)
        #expect(await starter.failure() == error)
        #expect(await joiner.failure() == error)
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func retryAfter0ForEverEndsAfterThreeFailedRequests() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.script { _ in .retryAfter("0") }
        let began = harness.time.boot
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        #expect(await call.failure() == Self.server(429, after: 0, attempts: 3, elapsed: 0))
        #expect(harness.transport.sent(.refresh).count == 3)
        #expect(harness.time.boot == began)
        try await harness.close()
    }

    @Test func theWaitIsWhatTheProviderAskedForAndItsJitter() async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        let sent = harness.transport.sent(.refresh)
        #expect((5_000...5_500).contains(sent[1].at - sent[0].at))
        try await harness.close()
    }

    @Test(arguments: ["-1", "soon", "", "1.5", "5, 5", "Sun, 06 Nov 1994 08:49:37 GMT"])
    func aBadHeaderNeverFailsARequest(value: String) async throws {
        let harness = try await Harness.signedIn(retryPolicy: .default)
        harness.transport.next(.refresh, .retryAfter(value))
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        let sent = harness.transport.sent(.refresh)
        #expect((250...500).contains(sent[1].at - sent[0].at))
        try await harness.close()
    }
}
