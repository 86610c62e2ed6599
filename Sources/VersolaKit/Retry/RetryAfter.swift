// SPDX-License-Identifier: Apache-2.0

/// `Retry-After` (RFC 9110 §10.2.3), read on 429 and 503 only (behaviour §3).
enum RetryAfter {
    private static let ceilingSeconds: Int64 = 86_400

    /// How long the provider wants to be left alone; `nil` when it did not say, or not in a way that can be read.
    ///
    /// - Parameter wall: the device clock, for a date in an answer without a usable `Date`.
    static func millis(_ response: HTTPResponse, wall: WallMillis) -> Int64? {
        guard response.status == 429 || response.status == 503 else { return nil }
        let values = response.values("Retry-After")
        guard values.count == 1, let value = values.first.map(trimmed), !value.isEmpty,
            let seconds = wholeSeconds(value) ?? untilDate(value, response.values("Date"), wall: wall)
        else { return nil }
        return min(seconds, ceilingSeconds) * 1000
    }

    private static func wholeSeconds(_ value: String) -> Int64? {
        guard value.utf8.allSatisfy(\.isDigit) else { return nil }
        // Digits beyond any integer type mean the ceiling, too.
        return Int64(value) ?? ceilingSeconds
    }

    /// From the answer's own `Date`, which knows the century better than the device clock, too.
    private static func untilDate(_ value: String, _ dates: [String], wall: WallMillis) -> Int64? {
        let date = dates.count == 1 ? dates.first.flatMap { HTTPDate.seconds(trimmed($0), now: wall / 1000) } : nil
        let now = date ?? wall / 1000
        guard let until = HTTPDate.seconds(value, now: now), until >= now else { return nil }
        return until - now
    }

    private static func trimmed(_ value: String) -> String {
        String(value.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
