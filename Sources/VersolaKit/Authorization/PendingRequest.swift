// SPDX-License-Identifier: Apache-2.0

/// An authorization request that waits for its redirect, as it is stored before the browser is opened.
struct PendingRequest: Codable, Equatable, Sendable {
    /// 128 random bits in lower-case hex: names the record and its owner lock; says nothing about `state`.
    var id: String
    var state: String
    var nonce: String
    /// PKCE (RFC 7636 §4.1).
    var codeVerifier: String
    /// Exactly as sent: the loopback port filled in.
    var redirectURI: String
    /// What the browser is to open.
    var authorizationURL: String
    var scope: String
    /// Seconds; demanded of the ID token's `auth_time` when present.
    var maxAge: Int64?
    var startedAt: Moment
    var issuer: String
    var tokenEndpoint: String
    var jwksURI: String
    /// The metadata promised `iss` in the redirect (RFC 9207 §2.4).
    var issPromised: Bool
    /// The code was, or may have been, sent: never exchanged again.
    var spent = false

    /// Milliseconds a login waits for its redirect.
    static let lifetimeMillis: Int64 = 600_000

    /// Whether its redirect may still come. A start in the future counts as old (behaviour §2, PendingRequestExpired).
    func isWaiting(_ time: some TimeSource) -> Bool {
        !spent && (0..<Self.lifetimeMillis).contains(startedAt.age(time))
    }
}
