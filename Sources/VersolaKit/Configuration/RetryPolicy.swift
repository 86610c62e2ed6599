// SPDX-License-Identifier: Apache-2.0

/// How long one operation keeps repeating failed requests (behaviour §3). Within hard limits; jitter is always on.
public struct RetryPolicy: Equatable, Sendable {
    /// Failed requests to one origin.
    public let maxAttemptsPerOrigin: Int
    /// Failed requests to all origins together.
    public let maxTotalAttempts: Int
    package let initialBackoffMillis: Int64
    public let backoffMultiplier: Double
    package let maxBackoffMillis: Int64
    package let totalBudgetMillis: Int64

    /// What each number may be.
    package enum Range {
        package static let attemptsPerOrigin = 1...5
        package static let totalAttempts = 1...8
        package static let backoffMillis: ClosedRange<Int64> = 1...30_000
        package static let multiplier = 1.0...10.0
        package static let budgetMillis: ClosedRange<Int64> = 1...60_000
    }

    /// - Parameters:
    ///   - maxAttemptsPerOrigin: 1 to 5, and not above `maxTotalAttempts`.
    ///   - maxTotalAttempts: 1 to 8.
    ///   - initialBackoff: seconds, 0.001 to 30.
    ///   - backoffMultiplier: 1 to 10.
    ///   - maxBackoff: seconds, 0.001 to 30.
    ///   - totalBudget: seconds, 0.001 to 60, browser time left out.
    /// - Throws: `configuration(.invalidConfiguration)` for a value outside its range; none is clamped.
    public init(
        maxAttemptsPerOrigin: Int = 3, maxTotalAttempts: Int = 4, initialBackoff: Double = 0.5,
        backoffMultiplier: Double = 2, maxBackoff: Double = 8, totalBudget: Double = 20
    ) throws(OAuthError) {
        try Self.check("max_attempts_per_origin", maxAttemptsPerOrigin, in: Range.attemptsPerOrigin)
        try Self.check("max_total_attempts", maxTotalAttempts, in: Range.totalAttempts)
        try Self.check("initial_backoff", initialBackoff, in: Self.seconds(Range.backoffMillis))
        try Self.check("backoff_multiplier", backoffMultiplier, in: Range.multiplier)
        try Self.check("max_backoff", maxBackoff, in: Self.seconds(Range.backoffMillis))
        try Self.check("total_budget", totalBudget, in: Self.seconds(Range.budgetMillis))
        guard maxAttemptsPerOrigin <= maxTotalAttempts else {
            throw .configuration(
                .invalidConfiguration, "retry policy: max_attempts_per_origin is above max_total_attempts")
        }
        self.init(
            perOrigin: maxAttemptsPerOrigin, total: maxTotalAttempts, initial: Self.millis(initialBackoff),
            multiplier: backoffMultiplier, longest: Self.millis(maxBackoff), budget: Self.millis(totalBudget))
    }

    private init(perOrigin: Int, total: Int, initial: Int64, multiplier: Double, longest: Int64, budget: Int64) {
        maxAttemptsPerOrigin = perOrigin
        maxTotalAttempts = total
        initialBackoffMillis = initial
        backoffMultiplier = multiplier
        maxBackoffMillis = longest
        totalBudgetMillis = budget
    }

    /// 3 attempts per origin, 4 in all, 500 ms doubling up to 8 s, 20 s in all.
    public static let `default` = RetryPolicy(
        perOrigin: 3, total: 4, initial: 500, multiplier: 2, longest: 8_000, budget: 20_000)
    /// 2 attempts, 250 ms up to 2 s, 5 s in all.
    public static let conservative = RetryPolicy(
        perOrigin: 2, total: 2, initial: 250, multiplier: 2, longest: 2_000, budget: 5_000)
    /// 5 attempts per origin, 8 in all, 500 ms up to 30 s, 60 s in all.
    public static let patient = RetryPolicy(
        perOrigin: 5, total: 8, initial: 500, multiplier: 2, longest: 30_000, budget: 60_000)

    /// Before the retry that follows failure `n` of a request, counted from 1: uniform in the upper half of the base.
    ///
    /// - Parameter random: 0 up to 1.
    func backoffMillis(afterFailure n: Int, random: Double) -> Int64 {
        var base = Double(initialBackoffMillis)
        for _ in 1..<max(1, n) where base < Double(maxBackoffMillis) { base *= backoffMultiplier }
        base = min(base, Double(maxBackoffMillis))
        return Int64((base / 2 + base / 2 * random).rounded())
    }

    private static func millis(_ seconds: Double) -> Int64 { Int64((seconds * 1000).rounded()) }

    private static func seconds(_ millis: ClosedRange<Int64>) -> ClosedRange<Double> {
        Double(millis.lowerBound) / 1000...Double(millis.upperBound) / 1000
    }

    /// Refuses what is outside, NaN included.
    package static func check<Number: Comparable>(
        _ name: String, _ value: Number, in range: ClosedRange<Number>
    ) throws(OAuthError) {
        guard range.contains(value) else {
            throw .configuration(
                .invalidConfiguration, "retry policy: \(name) must be \(range.lowerBound) to \(range.upperBound)")
        }
    }
}
