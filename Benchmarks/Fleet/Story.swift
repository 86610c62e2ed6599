// SPDX-License-Identifier: Apache-2.0

/// What befalls the provider, and what it says to those it does not serve.
enum Story: String, CaseIterable, Sendable {
    /// Gone for ten minutes: half of the requests meet a closed port, half a 503 without a word.
    case outage
    /// Down for ten minutes behind a proxy that answers 503 with `Retry-After: 120`.
    case outageWithRetryAfter
    /// Maintenance for ten minutes: every answer is a 503 that names its end as a date.
    case announcedEnd
    /// At one moment every access token stops working; the provider limits requests with 429 and `Retry-After: 60`.
    case rateLimit
    /// The same with `Retry-After: 5`, a wait that fits a call.
    case rateLimitShort

    static let troubleFrom: Int64 = 60_000
    var isRateLimit: Bool { self == .rateLimit || self == .rateLimitShort }
    /// When the provider is able to serve everyone again.
    var recovery: Int64 { isRateLimit ? Self.troubleFrom : Self.troubleFrom + 600_000 }

    func isDown(_ now: Int64) -> Bool { (Self.troubleFrom..<recovery).contains(now) }

    /// The status of a refusal.
    var status: Int { isRateLimit ? 429 : 503 }

    /// The header of a refusal, in the outage and from a provider that has more to do than it can.
    func retryAfter(_ now: Int64) -> String? {
        switch self {
        case .outage: nil
        case .outageWithRetryAfter: "120"
        case .announcedEnd: isDown(now) ? FleetTime.date(recovery) : "30"
        case .rateLimit: "60"
        case .rateLimitShort: "5"
        }
    }

    /// For how long that header asks, from now.
    func askedMillis(_ now: Int64) -> Int64? {
        switch self {
        case .outage: nil
        case .outageWithRetryAfter: 120_000
        case .announcedEnd: isDown(now) ? recovery - now / 1000 * 1000 : 30_000
        case .rateLimit: 60_000
        case .rateLimitShort: 5_000
        }
    }
}
