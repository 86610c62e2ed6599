// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// When the key set is fetched, and when not (behaviour §6, cases B06 and B07).
@Suite(.timeLimit(.minutes(1))) struct KeySetCacheTests {
    private let clock = Clock()
    private let jwks = ScriptedJWKS()
    private let cache: KeySetCache

    private static let old = TestKey.make(.es256)
    private static let new = TestKey.make(.es256)
    private static let unknownKey = OAuthError.configuration(
        .idTokenRejected, "No key of the provider's set fits the token.")

    init() {
        cache = KeySetCache(time: clock)
    }

    @Test func theSetIsLoadedOnce() async throws {
        await jwks.answer(["old": Self.old])
        for _ in 0..<3 { #expect(try await cache.keys(load: jwks.load).get().keys.count == 1) }
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 1)
    }

    @Test func concurrentFirstLoadsAreOne() async throws {
        await jwks.answer(["old": Self.old])
        let errors = await verifyAtOnce(Array(repeating: "old", count: 50))
        #expect(errors.isEmpty)
        #expect(await jwks.loads == 1)
    }

    @Test func aFailedFirstLoadIsItsOwnErrorAndNotKept() async throws {
        await jwks.fail()
        #expect(await verify("old") == ScriptedJWKS.failure)
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 2)
    }

    /// Case B06.
    @Test func b06ARotatedKeyCostsOneRefetch() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.answer(["new": Self.new])
        #expect(await verify("new") == nil)
        #expect(await verify("new") == nil)
        #expect(await jwks.loads == 2)
    }

    /// Case B06.
    @Test func b06ABurstOfUnknownKeysCostsOneRefetchInThirtySeconds() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        for kid in 0..<20 { #expect(await verify("random-\(kid)", Self.new) == Self.unknownKey) }
        #expect(await jwks.loads == 2)
        clock.advance(29_999)
        #expect(await verify("random", Self.new) == Self.unknownKey)
        #expect(await jwks.loads == 2)
        clock.advance(1)
        #expect(await verify("random", Self.new) == Self.unknownKey)
        #expect(await jwks.loads == 3)
        // What is known needs none.
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 3)
    }

    @Test func concurrentRefetchesAreOne() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.answer(["old": Self.old, "new": Self.new])
        let errors = await verifyAtOnce(Array(repeating: "new", count: 50))
        #expect(errors.isEmpty)
        #expect(await jwks.loads == 2)
    }

    @Test func aRefetchThatHelpedDoesNotCount() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.answer(["new": Self.new])
        #expect(await verify("new") == nil)
        await jwks.answer(["newer": Self.old])
        #expect(await verify("newer", Self.old) == nil)
        #expect(await jwks.loads == 3)
    }

    @Test func aRefetchThatHelpedOneOfManyDoesNotCount() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.answer(["new": Self.new])
        let errors = await verifyAtOnce(["new", "random", "new"])
        #expect(errors == [Self.unknownKey])
        #expect(await jwks.loads <= 3)
        #expect(await verify("new") == nil)
    }

    @Test func theFirstLoadDoesNotCount() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("random", Self.new) == Self.unknownKey)
        #expect(await jwks.loads == 2)
        #expect(await verify("random", Self.new) == Self.unknownKey)
        #expect(await jwks.loads == 2)
    }

    /// Case B07.
    @Test func b07AFailedRefetchIsItsOwnErrorAndKeepsTheLastGoodSet() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.fail()
        #expect(await verify("new") == ScriptedJWKS.failure)
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 2)
        // It told nothing about the keys: the next try is not kept from finding them.
        await jwks.answer(["new": Self.new])
        #expect(await verify("new") == nil)
        #expect(await jwks.loads == 3)
    }

    /// Case B07: nothing but a token's need makes a set old, and what it cannot be replaced with does not make it bad.
    @Test func b07ASetDoesNotExpire() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.fail()
        clock.advance(30 * 86_400_000)
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 1)
        for _ in 0..<3 { #expect(await verify("new") == ScriptedJWKS.failure) }
        #expect(await verify("old") == nil)
        #expect(await jwks.loads == 4)
    }

    @Test func aNamedKeyThatDoesNotFitIsAReasonForARefetch() async throws {
        await jwks.answer(["k": TestKey.rs256])
        #expect(await verify("k", TestKey.rs256) == nil)
        await jwks.answer(["k": Self.new])
        #expect(await verify("k", Self.new) == nil)
        #expect(await jwks.loads == 2)
    }

    @Test func aBrokenRuleIsNoReasonForARefetch() async throws {
        await jwks.answer(["old": Self.old])
        #expect(
            await verify("old", Self.new) == .configuration(.idTokenRejected, "The token's signature does not verify."))
        #expect(await jwks.loads == 1)
    }

    @Test func withoutKidAFailingSignatureIsJudgedOnceMore() async throws {
        await jwks.answer(["old": Self.old])
        #expect(await verify("old") == nil)
        await jwks.answer(["new": Self.new])
        #expect(await verify(nil, Self.new) == nil)
        #expect(await jwks.loads == 2)
    }

    @Test func theCallerNamesTheCauseOfARejection() async throws {
        await jwks.answer([:])
        let verdict: Result<Void, OAuthError> = await cache.verify(rejectedAs: .userInfoRejected, load: jwks.load) {
            _ in
            .failure(.rejected("No."))
        }
        #expect(throws: OAuthError.configuration(.userInfoRejected, "No.")) { try verdict.get() }
    }

    @Test func aCancelledCallerEndsNobodysLoad() async throws {
        await jwks.answer(["old": Self.old])
        await jwks.hold()
        let starter = Task { await verify("old") }
        await jwks.arrival()
        let other = Task { await verify("old") }
        starter.cancel()
        await jwks.release()
        #expect(await other.value == nil)
        #expect(await jwks.loads == 1)
        #expect(await jwks.cancelledLoads == 0)
    }

    /// The error a token signed with `key` under `kid` ends with, or `nil`.
    private func verify(_ kid: String?, _ key: TestKey? = nil) async -> OAuthError? {
        let key = key ?? (kid == "old" ? Self.old : Self.new)
        let token = key.sign("{}", kid: kid)
        let verdict: Result<Void, OAuthError> = await cache.verify(load: jwks.load) { keys in
            rejection(token, keys).map { .failure($0) } ?? .success(())
        }
        if case .failure(let error) = verdict { return error }
        return nil
    }

    /// The errors of as many concurrent callers, all of whom ask before the provider answers the first.
    private func verifyAtOnce(_ kids: [String]) async -> [OAuthError] {
        await jwks.hold()
        return await withTaskGroup(of: OAuthError?.self) { group in
            for kid in kids { group.addTask { await verify(kid) } }
            await jwks.arrival()
            for _ in 0..<1000 { await Task.yield() }
            await jwks.release()
            return await group.reduce(into: []) { errors, error in
                if let error { errors.append(error) }
            }
        }
    }
}

/// A `jwks_uri` that answers what it is told, when it is told.
private actor ScriptedJWKS {
    static let failure = OAuthError.recoverable(
        .server(status: 503, retryAfterMillis: nil, attempts: 3, elapsedMillis: 9))

    private(set) var loads = 0
    private(set) var cancelledLoads = 0
    private var next: Result<JWKSet, OAuthError> = .failure(failure)
    private var isHeld = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var arrivals: [CheckedContinuation<Void, Never>] = []

    nonisolated var load: KeySetCache.Load {
        { await self.serve() }
    }

    func answer(_ keys: [String: TestKey]) {
        let json = "{\"keys\":[\(keys.map { $1.jwk(["kid": $0]) }.joined(separator: ","))]}"
        if let set = JWKSet(json: Array(json.utf8)) { next = .success(set) } else { fail() }
    }

    func fail() { next = .failure(Self.failure) }

    func hold() { isHeld = true }

    func release() {
        isHeld = false
        for continuation in held { continuation.resume() }
        held = []
    }

    /// Returns once a load waits to be released.
    func arrival() async {
        if held.isEmpty { await withCheckedContinuation { arrivals.append($0) } }
    }

    private func serve() async -> Result<JWKSet, OAuthError> {
        loads += 1
        if isHeld {
            await withCheckedContinuation { continuation in
                held.append(continuation)
                for arrival in arrivals { arrival.resume() }
                arrivals = []
            }
        }
        if Task.isCancelled { cancelledLoads += 1 }
        return next
    }
}

private final class Clock: TimeSource {
    private let now = Lock<BootMillis>(5_000)

    var boot: BootMillis { now.withLock { $0 } }
    var wall: WallMillis { boot }
    var bootID: String { "boot" }

    func advance(_ milliseconds: BootMillis) { now.withLock { $0 += milliseconds } }

    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
        Issue.record("The cache sets no timers.")
        return Never()
    }

    private struct Never: Scheduled {
        func cancel() {}
    }
}
