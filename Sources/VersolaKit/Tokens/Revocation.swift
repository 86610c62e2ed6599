// SPDX-License-Identifier: Apache-2.0

/// Token revocation (RFC 7009 §2.1), as a public client.
enum Revocation {
    enum TokenKind: String, Sendable {
        case refreshToken = "refresh_token"
        case accessToken = "access_token"
    }

    static func request(_ token: String, _ kind: TokenKind, endpoint: String, clientId: String) -> HTTPRequest {
        .form(to: endpoint, [("token", token), ("token_type_hint", kind.rawValue), ("client_id", clientId)])
    }

    /// 200 without an `error` member: some providers answer 200 and name an error (behaviour §10).
    static func confirmed(_ response: HTTPResponse) -> Bool {
        response.status == 200 && response.isComplete && OAuthErrorBody(response.body) == nil
    }
}
