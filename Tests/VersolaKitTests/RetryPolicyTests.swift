// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3, budget: the policy, its ranges and its backoff.
@Suite struct RetryPolicyTests {
    @Test func theDefaults() throws {
        #expect(try RetryPolicy() == .default)
        #expect(
            try RetryPolicy(
                maxAttemptsPerOrigin: 3, maxTotalAttempts: 4, initialBackoff: 0.5, backoffMultiplier: 2, maxBackoff: 8,
                totalBudget: 20) == .default)
    }

    @Test func thePresets() throws {
        #expect(
            try RetryPolicy(
                maxAttemptsPerOrigin: 2, maxTotalAttempts: 2, initialBackoff: 0.25, backoffMultiplier: 2, maxBackoff: 2,
                totalBudget: 5) == .conservative)
        #expect(
            try RetryPolicy(
                maxAttemptsPerOrigin: 5, maxTotalAttempts: 8, initialBackoff: 0.5, backoffMultiplier: 2, maxBackoff: 30,
                totalBudget: 60) == .patient)
    }

    @Test func theLimitsThemselvesAreAllowed() throws {
        _ = try RetryPolicy(
            maxAttemptsPerOrigin: 1, maxTotalAttempts: 1, initialBackoff: 0.001, backoffMultiplier: 1,
            maxBackoff: 0.001,
            totalBudget: 0.001)
        _ = try RetryPolicy(
            maxAttemptsPerOrigin: 5, maxTotalAttempts: 8, initialBackoff: 30, backoffMultiplier: 10, maxBackoff: 30,
            totalBudget: 60)
    }

    private static let notNumbers: [Double] = [.nan, .signalingNaN, .infinity, -.infinity, -1, -0.0]

    @Test func aValueOutsideItsRangeIsRefusedNeverClamped() {
        let invalid = OAuthError.configuration(.invalidConfiguration)
        for attempts in [0, -1, 6, .min, .max] {
            #expect(failure { try RetryPolicy(maxAttemptsPerOrigin: attempts, maxTotalAttempts: 8) } == invalid)
        }
        for attempts in [0, -1, 9, .min, .max] {
            #expect(failure { try RetryPolicy(maxAttemptsPerOrigin: 1, maxTotalAttempts: attempts) } == invalid)
        }
        for seconds in Self.notNumbers + [0, 0.0009, 30.001, 1e300] {
            #expect(failure { try RetryPolicy(initialBackoff: seconds) } == invalid, "\(seconds)")
            #expect(failure { try RetryPolicy(maxBackoff: seconds) } == invalid, "\(seconds)")
        }
        for multiplier in Self.notNumbers + [0.999, 10.001] {
            #expect(failure { try RetryPolicy(backoffMultiplier: multiplier) } == invalid, "\(multiplier)")
        }
        for seconds in Self.notNumbers + [0, 0.0009, 60.001] {
            #expect(failure { try RetryPolicy(totalBudget: seconds) } == invalid, "\(seconds)")
        }
    }

    @Test func moreAttemptsPerOriginThanInAllAreRefused() {
        for (perOrigin, total) in [(5, 4), (2, 1), (4, 3)] {
            #expect(
                failure { try RetryPolicy(maxAttemptsPerOrigin: perOrigin, maxTotalAttempts: total) }
                    == .configuration(.invalidConfiguration))
        }
        // Also when only one of them is set, against the other's default.
        #expect(failure { try RetryPolicy(maxAttemptsPerOrigin: 5) } == .configuration(.invalidConfiguration))
        #expect(failure { try RetryPolicy(maxTotalAttempts: 2) } == .configuration(.invalidConfiguration))
    }

    // MARK: Backoff

    @Test(arguments: [
        (1, 500), (2, 1_000), (3, 2_000), (4, 4_000), (5, 8_000), (6, 8_000), (7, 8_000), (1_000_000, 8_000),
    ])
    func theDelayAfterFailureNIsUniformFromHalfTheBaseToTheBase(n: Int, base: Int64) {
        let policy = RetryPolicy.default
        #expect(policy.backoffMillis(afterFailure: n, random: 0) == base / 2)
        #expect(policy.backoffMillis(afterFailure: n, random: 0.5) == base * 3 / 4)
        #expect(policy.backoffMillis(afterFailure: n, random: 1) == base)
    }

    @Test func theBaseIsInitialTimesMultiplierToThePowerOfNMinus1() throws {
        let policy = try RetryPolicy(initialBackoff: 0.1, backoffMultiplier: 3, maxBackoff: 5)
        let bases = (1...5).map { policy.backoffMillis(afterFailure: $0, random: 1) }
        #expect(bases == [100, 300, 900, 2_700, 5_000])
        let constant = try RetryPolicy(initialBackoff: 0.1, backoffMultiplier: 1)
        #expect((1...5).map { constant.backoffMillis(afterFailure: $0, random: 1) } == Array(repeating: 100, count: 5))
        let capped = try RetryPolicy(initialBackoff: 20, maxBackoff: 2)
        #expect(capped.backoffMillis(afterFailure: 1, random: 1) == 2_000)
    }

    @Test func theRandomNumberIsFrom0To1() throws {
        #expect(FixedRandom(0x00).unit() == 0)
        #expect(FixedRandom(0x80).unit() > 0.5)
        #expect((0.99..<1).contains(FixedRandom(0xFF).unit()))
        #expect(FixedRandom(nil).unit() == 1)
    }
}

/// The same byte for ever; `nil` = there is no randomness.
struct FixedRandom: RandomSource {
    let byte: UInt8?

    init(_ byte: UInt8?) { self.byte = byte }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(OAuthError) {
        guard let byte else { throw .configuration(.storeUnavailable, "no randomness") }
        for index in buffer.indices { buffer[index] = byte }
    }
}
