// SPDX-License-Identifier: Apache-2.0

/// `Retry-After` (RFC 9110 §10.2.3), read on 429 and 503 only (behaviour §3).
enum RetryAfter {
    static let ceilingMillis: Int64 = 86_400_000

    /// How long the provider wants to be left alone; `nil` when it did not say, or not in a way that can be read.
    ///
    /// - Parameter wall: the device clock, for a date in an answer without a usable `Date`.
    static func millis(_ response: HTTPResponse, wall: WallMillis) -> Int64? {
        guard response.status == 429 || response.status == 503 else { return nil }
        let values = response.values("Retry-After")
        guard values.count == 1, let value = values.first.map(trimmed), !value.isEmpty else { return nil }
        if value.utf8.allSatisfy(\.isDigit) {
            // Digits beyond any integer type mean the ceiling, too.
            return min(
                Int64(value).map { $0.multipliedReportingOverflow(by: 1000) }.flatMap {
                    $0.overflow ? nil : $0.partialValue
                }
                    ?? ceilingMillis, ceilingMillis)
        }
        let now = wall / 1000
        guard let until = HTTPDate.seconds(value, now: now) else { return nil }
        let dates = response.values("Date")
        let base = dates.count == 1 ? dates.first.flatMap { HTTPDate.seconds(trimmed($0), now: now) } : nil
        let left = until - (base ?? now)
        return left < 0 ? nil : min(left * 1000, ceilingMillis)
    }

    private static func trimmed(_ value: String) -> String {
        String(value.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
