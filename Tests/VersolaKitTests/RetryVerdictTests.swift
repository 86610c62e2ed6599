// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3: the decision, as a pure value.
@Suite struct RetryVerdictTests {
    private static let readKinds: [RequestKind] = [.discovery, .keySet, .userInfo, .revocation]

    private static func outcome(_ status: Int) -> RequestOutcome {
        .answered(HTTPResponse(status: status, fields: [], body: []))
    }

    private static func verdict(
        _ kind: RequestKind, _ outcome: RequestOutcome, policy: RetryPolicy = .default, failures: Int = 1,
        allowsAnother: Bool = true, left: Int64 = 20_000, retryAfter: Int64? = nil, random: Double = 0
    ) -> RetryVerdict {
        RetryVerdict(
            outcome, policy,
            RetryVerdict.Circumstances(
                kind: kind, failures: failures, allowsAnother: allowsAnother, budgetLeftMillis: left,
                retryAfterMillis: retryAfter, random: random))
    }

    // MARK: Sent again after

    @Test(arguments: readKinds, 100...599)
    func discoveryKeySetUserInfoAndRevocationAreSentAgainAfterTheseStatuses(kind: RequestKind, status: Int) {
        let verdict = Self.verdict(kind, Self.outcome(status))
        switch status {
        case 408, 429, 500, 502, 503, 504: #expect(verdict == .wait(millis: 250))
        case 501, 505...599: #expect(verdict == .end(pauseMillis: nil))
        default: #expect(verdict == .accept)
        }
    }

    @Test(arguments: readKinds, [TransportFailure.connect, .timeout, .reset])
    func theyAreSentAgainAfterEveryTransportFailure(kind: RequestKind, failure: TransportFailure) {
        #expect(Self.verdict(kind, .failed(failure)) == .wait(millis: 250))
    }

    @Test(arguments: 100...599)
    func aRefreshIsSentAgainAfter408And429And503Only(status: Int) {
        let verdict = Self.verdict(.refresh, Self.outcome(status))
        switch status {
        case 408, 429, 503: #expect(verdict == .wait(millis: 250))
        case 500...599: #expect(verdict == .end(pauseMillis: nil))
        default: #expect(verdict == .accept)
        }
    }

    @Test(arguments: NetworkReason.allCases)
    func aRefreshIsSentAgainAfterAFailureBeforeAByteOfItWasWritten(reason: NetworkReason) {
        let before = TransportFailure(reason: reason, detail: "", mayHaveBeenSent: false)
        #expect(Self.verdict(.refresh, .failed(before)) == .wait(millis: 250))
        let after = TransportFailure(reason: reason, detail: "", mayHaveBeenSent: true)
        #expect(Self.verdict(.refresh, .failed(after)) == .end(pauseMillis: nil))
    }

    @Test(arguments: 100...599)
    func aCodeExchangeIsNeverSentAgain(status: Int) {
        let verdict = Self.verdict(.codeExchange, Self.outcome(status))
        #expect(verdict == (status == 408 || status == 429 || status >= 500 ? .end(pauseMillis: nil) : .accept))
        for failure in [TransportFailure.connect, .timeout, .reset] {
            #expect(Self.verdict(.codeExchange, .failed(failure)) == .end(pauseMillis: nil))
        }
    }

    @Test(arguments: RequestKind.allCases, [400, 401, 403, 404, 409, 410, 418, 422, 425, 451, 499])
    func other4xxAreNeverSentAgain(kind: RequestKind, status: Int) {
        #expect(Self.verdict(kind, Self.outcome(status)) == .accept)
    }

    @Test(arguments: RequestKind.allCases, [501, 505])
    func neitherAre501And505(kind: RequestKind, status: Int) {
        #expect(Self.verdict(kind, Self.outcome(status)) == .end(pauseMillis: nil))
    }

    // MARK: Limits

    @Test(arguments: RequestKind.allCases)
    func nothingIsSentAgainWhenTheAttemptsHaveRunOut(kind: RequestKind) {
        #expect(Self.verdict(kind, Self.outcome(503), allowsAnother: false) == .end(pauseMillis: nil))
        #expect(Self.verdict(kind, .failed(.connect), allowsAnother: false) == .end(pauseMillis: nil))
    }

    @Test func aDelayThatDoesNotFitTheRemainingBudgetEndsTheOperationAtOnce() {
        #expect(Self.verdict(.discovery, Self.outcome(500), left: 250) == .wait(millis: 250))
        #expect(Self.verdict(.discovery, Self.outcome(500), left: 249) == .end(pauseMillis: nil))
        #expect(Self.verdict(.discovery, .failed(.connect), left: 0) == .end(pauseMillis: nil))
    }

    @Test func theBackoffIsThatOfTheRequestsOwnFailures() {
        #expect(Self.verdict(.discovery, Self.outcome(500), failures: 1, random: 1) == .wait(millis: 500))
        #expect(Self.verdict(.discovery, Self.outcome(500), failures: 2, random: 1) == .wait(millis: 1_000))
        #expect(Self.verdict(.discovery, Self.outcome(500), failures: 3, random: 1) == .wait(millis: 2_000))
    }

    // MARK: Retry-After

    @Test(arguments: [429, 503], [RequestKind.discovery, .keySet, .userInfo, .revocation, .refresh])
    func retryAfterReplacesTheBackoff(status: Int, kind: RequestKind) {
        for asked in [0, 1, 30, 12_000] as [Int64] {
            #expect(Self.verdict(kind, Self.outcome(status), failures: 3, retryAfter: asked) == .wait(millis: asked))
        }
    }

    @Test(
        arguments: [(0, 0), (9, 0), (1_000, 100), (5_000, 500), (10_000, 1_000), (15_000, 1_000)] as [(Int64, Int64)])
    func theJitterIsUpToATenthOfItAndAtMostASecond(asked: Int64, jitter: Int64) {
        for random in [0, 0.25, 0.5, 1] {
            let verdict = Self.verdict(.discovery, Self.outcome(503), retryAfter: asked, random: random)
            #expect(verdict == .wait(millis: asked + Int64(Double(jitter) * random)))
        }
    }

    @Test func theJitterNeverExceedsWhatTheBudgetHasLeftAfterTheWait() {
        for left in [10_000, 10_001, 10_500, 10_999] as [Int64] {
            let verdict = Self.verdict(.discovery, Self.outcome(503), left: left, retryAfter: 10_000, random: 1)
            #expect(verdict == .wait(millis: left))
        }
        #expect(
            Self.verdict(.discovery, Self.outcome(503), left: 12_000, retryAfter: 10_000, random: 1)
                == .wait(millis: 11_000))
    }

    @Test func maxBackoffDoesNotLimitIt() throws {
        let policy = try RetryPolicy(initialBackoff: 0.001, maxBackoff: 0.001)
        #expect(
            Self.verdict(.discovery, Self.outcome(429), policy: policy, retryAfter: 15_000) == .wait(millis: 15_000))
    }

    @Test func itIsNeverShortened() {
        #expect(Self.verdict(.discovery, Self.outcome(429), left: 5_000, retryAfter: 5_000) == .wait(millis: 5_000))
        for asked in [5_001, 6_000, 86_400_000] as [Int64] {
            for random in [0, 1.0] {
                let verdict = Self.verdict(.refresh, Self.outcome(429), left: 5_000, retryAfter: asked, random: random)
                #expect(verdict == .end(pauseMillis: asked))
            }
        }
    }

    @Test func aBudgetThatIsSpentHasNoRoomForARepeatWithoutAWait() {
        #expect(
            Self.verdict(.discovery, Self.outcome(429), left: 0, retryAfter: 0) == .end(pauseMillis: 0))
        #expect(Self.verdict(.discovery, Self.outcome(429), left: 1, retryAfter: 0) == .wait(millis: 0))
    }

    @Test func attemptsThatRunOutWhileTheProviderAsksToWaitStartAPause() {
        let verdict = Self.verdict(.discovery, Self.outcome(429), allowsAnother: false, retryAfter: 2_000)
        #expect(verdict == .end(pauseMillis: 2_000))
    }

    @Test func anExchangeEndedWithRetryAfterStartsAPause() {
        #expect(Self.verdict(.codeExchange, Self.outcome(503), retryAfter: 2_000) == .end(pauseMillis: 2_000))
    }
}
