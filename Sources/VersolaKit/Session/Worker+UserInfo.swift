// SPDX-License-Identifier: Apache-2.0

/// UserInfo (behaviour §7), as a resource the library asks by itself.
extension Worker {
    /// The claims, a JSON object as the provider sent it.
    func userInfo() async throws(OAuthError) -> String {
        let budget = OperationBudget(time, configuration.retryPolicy)
        let subject = session.contents.grant?.login.subject
        let token = try await accessToken(TokenOptions(), budget)
        let metadata = try await metadata.metadata(budget: budget)
        guard let endpoint = metadata.userInfoEndpoint else {
            throw .configuration(.providerUnsupported, "UserInfo: the provider has no such endpoint")
        }
        var request = UserInfo.request(token, endpoint: endpoint)
        var answer = try await sender.send(.userInfo, request, budget: budget).get()
        if answer.response.status == 401 {
            request = UserInfo.request(
                try await replacement(for: token, refusedBy: answer.response, budget), endpoint: endpoint)
            answer = try await sender.send(.userInfo, request, budget: budget).get()
            if answer.response.status == 401 { throw refusal(answer.response) }
        }
        guard (200...299).contains(answer.response.status) else { throw .landing(answer) }
        // Signed out meanwhile, or somebody else is signed in.
        guard let subject, session.contents.grant?.login.subject.hasSameBytes(as: subject) == true else {
            throw .sessionExpired
        }
        let payload =
            UserInfo.isSigned(answer.response)
            ? try await verifiedPayload(answer.response, metadata, budget) : answer.response.body
        guard let claims = try UserInfo.claims(payload, subject: subject) else { throw .server(answer) }
        return claims
    }

    private func verifiedPayload(
        _ response: HTTPResponse, _ metadata: ProviderMetadata, _ budget: OperationBudget
    ) async throws(OAuthError) -> [UInt8] {
        guard let token = String(validating: response.body, as: UTF8.self) else {
            throw UserInfo.rejected("the signed answer is not text")
        }
        let (time, sender, skew, clientID) = (time, sender, configuration.clockSkewSeconds, configuration.clientId)
        return try await keySet(at: metadata.jwksURI).verify(
            rejectedAs: .userInfoRejected,
            load: { await KeySetEndpoint.load(metadata.jwksURI, sender, budget) },
            judge: {
                UserInfo.verify(
                    token, keys: $0, issuer: metadata.issuer, clientID: clientID, clockSkew: skew, now: time.wall)
            }
        ).get()
    }

    /// After a 401 that a fresher token may mend: the current token if it is another by now, else that of one refresh.
    private func replacement(
        for token: Token, refusedBy response: HTTPResponse, _ budget: OperationBudget
    ) async throws(OAuthError) -> Token {
        let refusal = refusal(response)
        guard case .reauthenticate = refusal else { throw refusal }
        let contents = session.contents
        if let current = contents.accessToken, current.value != token.value { return Token(current) }
        guard contents.grant?.refreshToken != nil else { throw refusal }
        return Token(try await refresh(budget))
    }

    /// What a 401 means when no refresh is to follow. A step-up challenge is held from now on; a newer one replaces it.
    private func refusal(_ response: HTTPResponse) -> OAuthError {
        switch UnauthorizedVerdict(response) {
        case .stepUp(let challenge):
            let error = OAuthError.stepUp(challenge, "UserInfo: stronger or fresher authentication is asked for")
            session.update(reason: error) { if $0.grant != nil { $0.facts.challenge = challenge } }
            return error
        case .tokenRejected:
            return .reauthenticate(.sessionRejected, "UserInfo: the access token was refused")
        }
    }
}
