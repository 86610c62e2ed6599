// SPDX-License-Identifier: Apache-2.0

/// Judges what the token endpoint answers to a code exchange or a refresh.
enum TokenEndpoint {
    static func tokens(_ answer: ProviderAnswer) throws(OAuthError) -> TokenResponse {
        guard (200...299).contains(answer.response.status) else { throw .landing(answer) }
        guard let tokens = TokenResponse(answer.response.body) else {
            throw .server(answer, body: OAuthErrorBody(answer.response.body))
        }
        return tokens
    }

    /// The access token as it is kept, counted from receipt.
    static func accessToken(
        _ tokens: TokenResponse, requestedScope: String, receivedAt: Moment
    ) throws(OAuthError) -> AccessToken {
        // RFC 6749 §7.1: the type is compared without case
        guard tokens.tokenType.lowercased() == "bearer" else {
            throw .configuration(.providerUnsupported, "token endpoint: a token type other than Bearer was issued")
        }
        return AccessToken(
            value: tokens.accessToken, type: "Bearer", scope: tokens.scope ?? requestedScope, receivedAt: receivedAt,
            lifetimeMillis: tokens.lifetimeMillis)
    }
}
