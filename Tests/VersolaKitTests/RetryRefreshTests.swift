// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3 and §5: what a refresh does between its sendings.
@Suite(.timeLimit(.minutes(1))) struct RetryRefreshTests {
    private let force = TokenOptions(force: true)

    private static func harness(_ policy: RetryPolicy = .default) async throws -> Harness {
        try await Harness.signedIn(retryPolicy: policy)
    }

    @Test(arguments: [ScriptedTransport.Answer.status(408), .status(429), .status(503), .failure(.connect)])
    func whatSurelyWasNotProcessedIsSentAgain(answer: ScriptedTransport.Answer) async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, answer)
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        #expect(harness.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1", "refresh-1"])
        #expect(harness.states.states == [.authenticated, .refreshing, .authenticated])
        try await harness.close()
    }

    @Test(arguments: [
        ScriptedTransport.Answer.failure(.timeout), .failure(.reset), .status(500), .status(502), .status(504),
    ])
    func elseOneRequestNoDelayAndTheNextCallSendsTheSameToken(answer: ScriptedTransport.Answer) async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, answer)
        let began = harness.time.boot
        #expect(await harness.client.startAccessToken(force).failure() != nil)
        #expect(harness.time.boot == began)
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.client.state == .authenticated)
        #expect(try harness.storedRefreshToken() == "refresh-1")
        #expect(
            harness.transport.sent(.refresh).allSatisfy { !$0.request.fields.contains { $0.name == "Idempotency-Key" } }
        )
        // It had been rotated after all.
        harness.transport.next(.refresh, .oauthError("invalid_grant"))
        #expect(await harness.client.startAccessToken(force).failure() == .reauthenticate(.grantRejected))
        #expect(harness.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1", "refresh-1"])
        try await harness.close()
    }

    @Test func theLockIsReleasedWhileBackingOffAndEverySendingHasANoteOfItsOwn() async throws {
        let harness = try await Self.harness()
        for _ in 0..<2 { harness.transport.next(.refresh, .status(503)) }
        let call = harness.client.startAccessToken(force)
        await harness.passTime(until: call)
        _ = try await call.value()
        await harness.rest()
        let one: [Journal.Entry] = [
            .store(.lockRefresh), .store(.beginRefresh), .sent(.refresh), .store(.endRefresh), .store(.unlockRefresh),
        ]
        let order = harness.journal.order(
            of: .store(.lockRefresh), .store(.beginRefresh), .sent(.refresh), .store(.endRefresh),
            .store(.unlockRefresh))
        #expect(order == one + one + one)
        try await harness.close()
    }

    @Test func aSiblingMayRefreshMeanwhileAndItsTokenIsSentNotTheOldOne() async throws {
        let (place, time) = (try StoreFixture(), VirtualTime())
        let first = try await Harness.signedIn(place, time, retryPolicy: .default)
        let sibling = try Harness(place: place, time: time, retryPolicy: .default)
        first.transport.next(.refresh, .retryAfter("5"))
        let call = first.client.startAccessToken(force)
        await first.rest()
        sibling.provider.change { $0.refresh["refresh_token"] = "\"of-the-sibling\"" }
        _ = try await sibling.client.accessToken(force)
        await first.passTime(until: call)
        _ = try await call.value()
        #expect(first.transport.sent(.refresh).map { $0["refresh_token"] } == ["refresh-1", "of-the-sibling"])
        try await sibling.close()
        try await first.close()
    }

    @Test func aLoginMeanwhileMakesTheRetryNeedless() async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        let login = harness.client.startLogin(LoginOptions())
        await harness.rest()
        _ = try harness.listener.navigate(try harness.response())
        _ = try await login.value()
        await harness.passTime(until: call)
        #expect(try await call.value().value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func aLogoutMeanwhileDoesNotWaitForTheRetry() async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        let began = harness.time.boot
        #expect(try await harness.client.logout().tokenRevoked)
        #expect(harness.time.boot == began)
        #expect(await call.failure() == .reauthenticate(.sessionExpired))
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.time.timers == 0)
        try await harness.close()
    }

    @Test func closeEndsTheWaitAtOnce() async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        await harness.rest()
        try await harness.close()
        #expect(await call.failure() == .systemCancelled)
        #expect(harness.transport.sent(.refresh).count == 1)
        #expect(harness.time.timers == 0)
    }

    @Test func closeEndsTheWaitOfEveryOtherRequestToo() async throws {
        let harness = try Harness(retryPolicy: .default)
        harness.transport.next(.discovery, .retryAfter("5"))
        let call = harness.client.startLogin(LoginOptions())
        await harness.rest()
        #expect(harness.time.timers == 1)
        try await harness.close()
        #expect(await call.failure() == .systemCancelled)
        #expect(harness.transport.sent.count == 1)
        #expect(harness.time.timers == 0)
    }

    @Test(arguments: CancelReason.allCases)
    func cancelEndsTheCallerOnly(reason: CancelReason) async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startAccessToken(force)
        let other = harness.client.startAccessToken(force)
        await harness.rest()
        call.cancel(reason)
        #expect(await call.failure() == reason.error.bare)
        await harness.passTime(until: other)
        #expect(try await other.value().value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 2)
        try await harness.close()
    }

    @Test func aUserCancelIsNeverRepeated() async throws {
        let harness = try Harness(retryPolicy: .default)
        let login = try await harness.waitingLogin()
        login.cancel(.user)
        #expect(await login.failure() == .userCancelled)
        harness.time.advance(60_000)
        await harness.rest()
        #expect(harness.browser.urls.count == 1)
        #expect(harness.transport.sent.map(\.kind) == [.discovery])
        try await harness.close()
    }

    @Test(arguments: CancelReason.allCases)
    func whatNobodyWaitsForAnyMoreIsNotRepeated(reason: CancelReason) async throws {
        let harness = try await Self.harness()
        harness.transport.next(.userInfo, .retryAfter("5"))
        let call = harness.client.startUserInfo()
        await harness.rest()
        call.cancel(reason)
        #expect(await call.failure() == reason.error.bare)
        await harness.rest()
        #expect(harness.time.timers == 0)
        harness.time.advance(60_000)
        await harness.rest()
        #expect(harness.transport.sent(.userInfo).count == 1)
        try await harness.close()
    }

    /// From whatever thread the cancel comes, and however fast the wait for the repeat ends with it.
    @Test(arguments: CancelReason.allCases)
    func whatACancelEndsIsToldAsCancelledNotAsWhatFailedBefore(reason: CancelReason) async throws {
        for _ in 0..<300 {
            let harness = try await Self.harness()
            harness.provider.change { $0.discoveryFields = [HTTPField(name: "Cache-Control", value: "no-store")] }
            harness.transport.next(.userInfo, .retryAfter("5"))
            let userInfo = harness.client.startUserInfo()
            await harness.rest()
            userInfo.cancel(reason)
            #expect(await userInfo.failure() == reason.error.bare)
            harness.time.advance(3_600_000)
            harness.transport.next(.discovery, .retryAfter("5"))
            let login = harness.client.startLogin(LoginOptions())
            await harness.rest()
            login.cancel(reason)
            #expect(await login.failure() == reason.error.bare)
            try await harness.close()
        }
    }

    @Test(arguments: CancelReason.allCases)
    func theRefreshOfACancelledUserInfoIsSharedAndGoesOn(reason: CancelReason) async throws {
        let harness = try await Self.harness()
        harness.time.advance(3_600_000)
        harness.transport.next(.refresh, .retryAfter("5"))
        let call = harness.client.startUserInfo()
        await harness.rest()
        let other = harness.client.startAccessToken(force)
        await harness.rest()
        call.cancel(reason)
        #expect(await call.failure() == reason.error.bare)
        await harness.passTime(until: other)
        #expect(try await other.value().value == "access-2")
        #expect(harness.transport.sent(.refresh).count == 2)
        try await harness.close()
    }

    @Test(arguments: [
        (ScriptedTransport.Answer.oauthError("invalid_grant"), OAuthError.reauthenticate(.grantRejected)),
        (.oauthError("invalid_client"), .configuration(.authorizationRejected)),
        (.oauthError("invalid_request"), .reauthenticate(.sessionRejected)),
        (.status(302), .configuration(.endpointRedirected)),
    ])
    func invalidGrantAndConfigurationErrorsAreNeverRepeated(
        answer: ScriptedTransport.Answer, error: OAuthError
    ) async throws {
        let harness = try await Self.harness()
        harness.transport.next(.refresh, answer)
        #expect(await harness.client.startAccessToken(force).failure() == error)
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }

    @Test func aStepUpChallengeIsNeverRepeated() async throws {
        let harness = try await Self.harness()
        harness.transport.next(
            .userInfo,
            .json(
                401, "",
                [HTTPField(name: "WWW-Authenticate", value: "Bearer error=\"insufficient_user_authentication\"")]))
        guard case .stepUp = await failure({ try await harness.client.userInfo() }) else {
            Issue.record("a step-up challenge")
            return
        }
        #expect(harness.transport.sent(.userInfo).count == 1)
        try await harness.close()
    }

    @Test func after401OneRefreshAndOneReplay() async throws {
        let harness = try await Self.harness()
        for _ in 0..<2 { harness.transport.next(.userInfo, .status(401)) }
        #expect(await failure { try await harness.client.userInfo() } == .reauthenticate(.sessionRejected))
        #expect(harness.transport.sent.map(\.kind).suffix(3) == [.userInfo, .refresh, .userInfo])
        try await harness.close()
    }

    @Test func the401IsNoFailedRequestAndItsReplayHasAllItsAttempts() async throws {
        let harness = try await Self.harness()
        harness.transport.next(.userInfo, .status(401))
        for _ in 0..<2 { harness.transport.next(.userInfo, .status(503)) }
        let call = harness.client.startUserInfo()
        await harness.passTime(until: call)
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        #expect(harness.transport.sent(.userInfo).count == 4)
        try await harness.close()
    }

    @Test func theReplayIsAlwaysSentWhateverTheBudgetHasLeft() async throws {
        let harness = try await Self.harness()
        for _ in 0..<2 { harness.transport.next(.userInfo, .status(503)) }
        let held = harness.transport.hold(.userInfo)
        let call = harness.client.startUserInfo()
        while harness.transport.sent(.userInfo).count < 3 {
            await harness.rest()
            if let due = harness.time.nextDue { harness.time.advance(due - harness.time.boot) }
        }
        try await held.sent()
        harness.time.advance(45_000)
        held.release(.status(401))
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        #expect(harness.transport.sent.map(\.kind).suffix(3) == [.userInfo, .refresh, .userInfo])
        try await harness.close()
    }

    @Test func failuresOfTheRefreshAReplayNeedsCountInTheOperationsBudget() async throws {
        let harness = try await Self.harness()
        harness.transport.next(.userInfo, .status(401))
        for _ in 0..<2 { harness.transport.next(.refresh, .status(503)) }
        harness.transport.next(.userInfo, .status(503))
        let call = harness.client.startUserInfo()
        await harness.passTime(until: call)
        guard case .recoverable(.server(503, nil, 1, _), _) = await call.failure() else {
            Issue.record("the third failure at the origin ends it")
            return
        }
        #expect(harness.transport.sent(.userInfo).count == 2)
        try await harness.close()
    }

    @Test func theOldTokenIsReturnedWhenAnEarlyRefreshFailsRecoverably() async throws {
        let harness = try await Self.harness()
        harness.time.advance(3_590_000)
        harness.transport.next(.refresh, .retryAfter("60"))
        #expect(try await harness.client.accessToken().value == "access-1")
        // Also while the pause runs.
        #expect(try await harness.client.accessToken().value == "access-1")
        #expect(harness.transport.sent(.refresh).count == 1)
        try await harness.close()
    }
}
