// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// Behaviour §1, the rows of "(start)". Another harness on the same place is another process.
@Suite(.timeLimit(.minutes(1))) struct SessionStartTests {
    private let place: StoreFixture
    private let time = VirtualTime()

    init() throws {
        place = try StoreFixture()
    }

    private func process(_ redirectURI: String = "http://127.0.0.1/callback") throws -> Harness {
        try Harness(redirectURI: redirectURI, place: place, time: time)
    }

    private func pendingFiles() throws -> Set<String> {
        try place.files().filter { $0.hasPrefix("pending-") }
    }

    @Test func aGrantIsAuthenticatedAndARequestWhoseOwnerIsDeadIsDropped() async throws {
        let first = try process()
        try await first.signIn()
        _ = try await first.waitingLogin()
        try await first.close()
        #expect(try pendingFiles().count == 1)

        let second = try process()
        #expect(second.states.changes == [SessionStateChange(state: .authenticated, generation: 1)])
        #expect(try second.client.identity().subject == "alice")
        #expect(try pendingFiles().isEmpty)
        #expect(second.transport.sent.isEmpty)
        try await second.close()
    }

    @Test func aGrantIsAuthenticatedAndARequestWhoseOwnerLivesIsLeftToIt() async throws {
        let first = try process()
        try await first.signIn()
        let call = try await first.waitingLogin()

        let second = try process()
        #expect(second.client.state == .authenticated)
        #expect(try pendingFiles().count == 1)
        try await second.close()

        _ = try first.listener.navigate(try first.response())
        #expect(try await call.value().subject == "alice")
        try await first.close()
    }

    @Test func aGrantWhoseKeyIsLocked() async throws {
        let first = try process()
        try await first.signIn()
        try await first.close()
        #expect(unlink(try place.path("key")) == 0)

        let second = try process()
        #expect(second.states.states == [.locked])
        try await second.close()
    }

    @Test func aYoungRequestOfADeadOwnerIsTakenOver() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        let url = first.client.authorizationURL
        let port = try first.listener.port
        try await first.close()
        time.advance(599_999)

        let second = try process()
        #expect(second.states.states == [.authorizing])
        #expect(second.client.authorizationURL == url)
        await second.rest()
        #expect(try second.listener.port == port)
        #expect(second.browser.urls.isEmpty)
        #expect(second.transport.sent.isEmpty)

        let page = try second.listener.navigate(try second.response())
        try await second.states.reach(.authenticated)
        #expect(try await page.shown() == .signedIn)
        #expect(second.states.states == [.authorizing, .authenticated])
        try await second.close()
    }

    @Test func aYoungRequestWhoseOwnerLivesIsLeftToIt() async throws {
        let first = try process()
        let call = try await first.waitingLogin()
        let second = try process()
        #expect(second.states.states == [.unauthenticated])
        await second.rest()
        #expect(second.listeners.made.isEmpty)
        try await second.close()
        _ = try first.listener.navigate(try first.response())
        #expect(try await call.value().subject == "alice")
        try await first.close()
    }

    @Test(arguments: [600_000, 86_400_000, -1] as [Int64])
    func aRequestThatIsTooOldOrStartedInTheFutureIsErased(age: Int64) async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        try await first.close()
        time.sleepThrough(age)

        let second = try process()
        #expect(second.states.states == [.unauthenticated])
        #expect(try pendingFiles().isEmpty)
        try await second.close()
    }

    @Test(
        arguments: [(599_999, .authorizing), (600_000, .unauthenticated), (-1, .unauthenticated)]
            as [(Int64, SessionState)])
    func afterARebootTheWallClockTellsTheAge(age: Int64, state: SessionState) async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        try await first.close()
        time.reboot(wall: age)
        let second = try process()
        #expect(second.states.states == [state])
        try await second.close()
    }

    @Test func withinOneBootAWrongWallClockChangesNothing() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        try await first.close()
        time.setWall(by: -86_400_000)
        let second = try process()
        #expect(second.client.state == .authorizing)
        try await second.close()
    }

    @Test func aSpentRequestIsErased() async throws {
        let first = try process()
        let exchange = first.transport.hold(.codeExchange)
        _ = try await first.waitingLogin()
        _ = try first.listener.navigate(try first.response())
        try await exchange.sent()
        // Killed here: its locks are gone, its records are not.
        first.store.store.close()

        let second = try process()
        #expect(second.states.states == [.unauthenticated])
        #expect(try pendingFiles().isEmpty)
        exchange.release()
        try await first.close()
        try await second.close()
    }

    @Test func whatIsLeftOfAGrantThatCannotBeUsedIsErased() async throws {
        let first = try process()
        first.provider.change { $0.withoutExchange = ["refresh_token"] }
        try await first.signIn()
        try await first.close()
        #expect(try place.files().contains("grant"))

        let second = try process()
        #expect(second.states.states == [.unauthenticated])
        #expect(try !place.files().contains("grant"))
        try await second.close()
    }

    @Test func aRecordThatCannotBeReadIsToldOnce() async throws {
        let first = try process()
        try await first.signIn()
        try await first.close()
        var bytes = try place.bytes("grant")
        bytes[bytes.count - 1] ^= 1
        try place.overwrite("grant", bytes)

        let second = try process()
        #expect(second.states.states == [.unauthenticated])
        #expect(second.states.last?.reason?.bare == .reauthenticate(.credentialsInvalidated))
        try await second.close()
        let third = try process()
        #expect(third.states.changes == [SessionStateChange(state: .unauthenticated, generation: 0)])
        try await third.close()
    }

    @Test func aRestoredLoginWhosePortIsTakenWaitsForHandleRedirect() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        let (url, port) = (try first.redirect(), try first.listener.port)
        try await first.close()

        let second = try Harness(place: place, time: time) { $0.listeners.occupy(port) }
        await second.rest()
        #expect(second.listeners.made.isEmpty)
        #expect(try await second.client.handleRedirect(url) == RedirectHandling(handled: true))
        #expect(second.states.states == [.authorizing, .authenticated])
        try await second.close()
    }

    @Test func aRestoredLoginEndsAtTenMinutesOfItsWholeAge() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        try await first.close()
        time.advance(400_000)
        let second = try process()
        await second.rest()
        time.advance(199_999)
        await second.rest()
        #expect(second.client.state == .authorizing)
        time.advance(1)
        await second.rest()
        #expect(second.client.state == .unauthenticated)
        #expect(second.states.last?.reason?.bare == .recoverable(.pendingRequestExpired))
        #expect(try pendingFiles().isEmpty)
        try await second.close()
    }

    @Test func aRestoredLoginIsEndedByCancelLogin() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        try await first.close()
        let second = try process()
        second.client.cancelLogin()
        await second.rest()
        #expect(second.states.last?.reason?.bare == .userCancelled)
        #expect(second.client.state == .unauthenticated)
        #expect(try pendingFiles().isEmpty)
        try await second.close()
    }

    @Test func aRestoredLoginIsReplacedByALogin() async throws {
        let first = try process()
        _ = try await first.waitingLogin()
        let late = try first.response()
        try await first.close()
        let second = try process()
        let call = try await second.waitingLogin()
        #expect(second.listeners.made.count == 1)
        #expect(try pendingFiles().count == 1)
        #expect(try await second.listener.navigate(late).shown() == .replaced)
        _ = try second.listener.navigate(try second.response())
        #expect(try await call.value().subject == "alice")
        try await second.close()
    }

    /// Its listener waits on another path; the new redirect URI needs one of its own.
    @Test func aRestoredLoginOfAnotherRedirectURIKeepsItsListenerToItself() async throws {
        let first = try process("http://127.0.0.1:4711/old")
        _ = try await first.waitingLogin()
        try await first.close()
        let second = try process("http://127.0.0.1:4712/new")
        await second.rest()
        let old = try second.listener
        _ = try await second.waitingLogin()
        #expect(second.listeners.made.map(\.port) == [4711, 4712])
        #expect(!old.isOpen)
        let url = try #require(second.client.authorizationURL)
        #expect(try second.parameter("redirect_uri", of: url) == "http://127.0.0.1:4712/new")
        try await second.close()
    }
}
