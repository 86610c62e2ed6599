// SPDX-License-Identifier: Apache-2.0

/// The refresh request (RFC 6749 §6), as a public client; the scope stays that of the grant.
enum Refresh {
    static func request(_ refreshToken: String, tokenEndpoint: String, clientId: String) -> HTTPRequest {
        .form(
            to: tokenEndpoint,
            [("grant_type", "refresh_token"), ("refresh_token", refreshToken), ("client_id", clientId)],
            oneTime: true)
    }
}
