// SPDX-License-Identifier: Apache-2.0

/// Where failures land (behaviour §2): every mapping from an answer or an OAuth error code to an ``OAuthError``.
extension OAuthError {
    /// The provider failed, or answered what the operation cannot use.
    ///
    /// - Parameter place: the URL without its query, or an origin.
    static func server(
        _ kind: RequestKind, at place: String, status: Int, retryAfterMillis: Int64? = nil, attempts: Int,
        elapsedMillis: Int64,
        body: OAuthErrorBody? = nil
    ) -> OAuthError {
        .recoverable(
            .server(
                status: status, retryAfterMillis: retryAfterMillis, attempts: attempts, elapsedMillis: elapsedMillis),
            Diagnostics(
                attempts == 0
                    ? "\(kind.rawValue): not sent, for \(place) answered \(status) and asked to wait"
                    : "\(kind.rawValue): \(place) answered \(status)", oauthError: body?.error,
                errorDescription: body?.errorDescription))
    }

    /// An answer that cannot be used: it counts as a failed request, too.
    static func server(_ answer: ProviderAnswer, body: OAuthErrorBody? = nil) -> OAuthError {
        .server(
            answer.kind, at: answer.place, status: answer.response.status, retryAfterMillis: answer.pauseLeftMillis,
            attempts: answer.failures + 1, elapsedMillis: answer.budget.elapsedMillis, body: body)
    }

    /// Nothing was sent.
    var isRefusalByPause: Bool {
        if case .recoverable(.server(_, _, attempts: 0, _), _) = self { true } else { false }
    }

    /// The same failure later in its operation.
    func toldAgain(retryAfterMillis: Int64?, elapsedMillis: Int64) -> OAuthError {
        guard case .recoverable(.server(let status, _, let attempts, _), let diagnostics) = self else { return self }
        return .recoverable(
            .server(
                status: status, retryAfterMillis: retryAfterMillis, attempts: attempts, elapsedMillis: elapsedMillis),
            diagnostics)
    }

    /// An answer that is not the one the endpoint hoped for.
    static func landing(_ answer: ProviderAnswer) -> OAuthError {
        let (kind, response) = (answer.kind, answer.response)
        if (300...399).contains(response.status) {
            return .configuration(
                .endpointRedirected,
                "\(kind.rawValue): \(answer.place) answered \(response.status); redirects are not followed")
        }
        guard kind.isTokenEndpoint, (400...499).contains(response.status),
            !RequestOutcome.isTransient(response.status)
        else { return .server(answer) }

        let body = OAuthErrorBody(response.body)
        if kind == .refresh, response.status == 400 || response.status == 401,
            body == nil || body?.error == "invalid_request"
        {
            return .reauthenticate(
                .sessionRejected,
                Diagnostics(
                    "refresh: \(answer.place) answered \(response.status) and did not say why", oauthError: body?.error,
                    errorDescription: body?.errorDescription))
        }
        guard let body else { return .server(answer) }
        if body.error == "server_error" || body.error == "temporarily_unavailable" {
            return .server(answer, body: body)
        }
        if body.error == "invalid_grant" {
            return .reauthenticate(.grantRejected, body.diagnostics(of: kind.rawValue))
        }
        return .rejection(body, from: kind.rawValue)
    }

    /// An error response in the redirect (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6).
    static func redirect(_ body: OAuthErrorBody, elapsedMillis: Int64) -> OAuthError {
        switch body.error {
        case "server_error", "temporarily_unavailable":
            .recoverable(
                .server(
                    status: body.error == "server_error" ? 500 : 503, retryAfterMillis: nil, attempts: 1,
                    elapsedMillis: elapsedMillis),
                body.diagnostics(of: "redirect"))
        default: .rejection(body, from: "redirect")
        }
    }

    /// What an OAuth error code means wherever it appears.
    private static func rejection(_ body: OAuthErrorBody, from place: String) -> OAuthError {
        switch body.error {
        case "access_denied", "unmet_authentication_requirements":
            .reauthenticate(.authorizationDenied, body.diagnostics(of: place))
        case "login_required", "interaction_required", "consent_required", "account_selection_required":
            .reauthenticate(.interactionRequired, body.diagnostics(of: place))
        default:
            .configuration(.authorizationRejected, body.diagnostics(of: place))
        }
    }
}
