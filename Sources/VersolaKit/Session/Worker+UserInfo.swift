// SPDX-License-Identifier: Apache-2.0

/// UserInfo (behaviour §7), as a resource the library asks by itself.
extension Worker {
    /// The claims, a JSON object as the provider sent it.
    func userInfo(_ call: Call<String>) async {
        let abandoned = Closing()
        call.onCancel {
            call.end(.failure($0.error))
            abandoned.close()
        }
        do throws(OAuthError) {
            call.end(.success(try await userInfo(abandoned)))
        } catch {
            log(.info, "user info: \(error.diagnostics.detail)")
            call.end(.failure(error))
        }
    }

    /// - Parameter abandoned: the caller is gone. A refresh may have others who wait for it, and goes on.
    private func userInfo(_ abandoned: Closing) async throws(OAuthError) -> String {
        let budget = OperationBudget(time, configuration.retryPolicy)
        let subject = session.contents.grant?.login.subject
        let token = try await accessToken(TokenOptions(), budget)
        var asked = try grant(of: subject)
        let metadata = try await metadata.metadata(budget: budget)
        guard let endpoint = metadata.userInfoEndpoint else {
            throw .configuration(.providerUnsupported, "UserInfo: the provider has no such endpoint")
        }
        var request = UserInfo.request(token, endpoint: endpoint)
        var answer = try await sender.send(.userInfo, request, budget: budget, abandoned: abandoned).get()
        if answer.response.status == 401 {
            let fresh = try await replacement(for: token, of: asked, refusedBy: answer.response, budget)
            asked = try grant(of: subject)
            request = UserInfo.request(fresh, endpoint: endpoint)
            answer = try await sender.send(.userInfo, request, budget: budget, abandoned: abandoned).get()
            if answer.response.status == 401 { throw refusal(answer.response, to: asked) }
        }
        guard (200...299).contains(answer.response.status) else { throw .landing(answer) }
        let payload =
            UserInfo.isSigned(answer.response)
            ? try await verifiedPayload(answer.response, metadata, budget) : answer.response.body
        // Only now: keys may have been loaded for the payload.
        let grant = try grant(of: subject)
        guard let claims = try UserInfo.claims(payload, subject: grant.login.subject) else { throw .server(answer) }
        return claims
    }

    /// The grant that is there, of the person who was signed in when the operation began.
    private func grant(of subject: String?) throws(OAuthError) -> Grant {
        guard let subject, let grant = session.contents.grant, grant.login.subject.hasSameBytes(as: subject) else {
            throw .sessionExpired
        }
        return grant
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
        for token: Token, of asked: Grant, refusedBy response: HTTPResponse, _ budget: OperationBudget
    ) async throws(OAuthError) -> Token {
        let refusal = refusal(response, to: asked)
        guard case .reauthenticate = refusal else { throw refusal }
        let grant = try grant(of: asked.login.subject)
        if let current = session.contents.accessToken, current.value != token.value { return Token(current) }
        guard grant.refreshToken != nil else { throw refusal }
        return Token(try await refresh(budget))
    }

    /// What a 401 means when no refresh is to follow. A step-up challenge is held from now on; a newer one replaces it.
    private func refusal(_ response: HTTPResponse, to asked: Grant) -> OAuthError {
        // What was asked for a session that is over is no matter of the one that is there now.
        guard session.contents.grant?.generation == asked.generation else { return .sessionExpired }
        switch UnauthorizedVerdict(response) {
        case .stepUp(let challenge):
            let error = OAuthError.stepUp(challenge, "UserInfo: stronger or fresher authentication is asked for")
            session.update(reason: error) { $0.facts.challenge = challenge }
            return error
        case .tokenRejected:
            return .reauthenticate(.sessionRejected, "UserInfo: the access token was refused")
        }
    }
}
