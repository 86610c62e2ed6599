// SPDX-License-Identifier: Apache-2.0

/// Builds the authorization request (OpenID Connect Core §3.1.2.1 with PKCE, RFC 7636 §4.3) and the record that waits for
/// its answer.
struct AuthorizationRequest: Sendable {
    let metadata: ProviderMetadata
    let clientId: String
    let scope: Scope
    let options: [FormField]
    let maxAge: Int64?

    init(_ configuration: OAuthConfiguration, _ options: LoginOptions, _ metadata: ProviderMetadata) throws(OAuthError)
    {
        self.metadata = metadata
        clientId = configuration.clientId
        scope = if let scopes = options.scopes { try Scope(scopes) } else { configuration.scope }
        self.options = try options.requestParameters()
        maxAge = options.maxAge
    }

    func pending(
        redirectURI: String, random: some RandomSource, time: some TimeSource
    ) throws(OAuthError) -> PendingRequest {
        let state = try random.base64url(bytes: 32)
        let nonce = try random.base64url(bytes: 32)
        let verifier = try PKCE.makeVerifier(random)
        let parameters: [FormField] =
            [
                ("response_type", "code"), ("client_id", clientId), ("redirect_uri", redirectURI),
                ("scope", scope.text),
                ("state", state), ("nonce", nonce), ("code_challenge", try PKCE.challenge(for: verifier)),
                ("code_challenge_method", "S256"),
            ] + options
        return PendingRequest(
            id: try random.hex(bytes: 16), state: state, nonce: nonce, codeVerifier: verifier, redirectURI: redirectURI,
            authorizationURL: FormEncoding.append(parameters, to: metadata.authorizationEndpoint), scope: scope.text,
            maxAge: maxAge, startedAt: Moment(time), issuer: metadata.issuer, tokenEndpoint: metadata.tokenEndpoint,
            jwksURI: metadata.jwksURI, issPromised: metadata.issPromised)
    }
}
