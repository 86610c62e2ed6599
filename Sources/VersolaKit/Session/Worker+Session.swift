// SPDX-License-Identifier: Apache-2.0

/// The session once it is there: its access token and its end.
extension Worker {
    /// Without a refresh token the session ends with its access token (behaviour §1): one timer.
    func watchExpiry() {
        expiry?.cancel()
        expiry = nil
        let contents = session.contents
        guard contents.grant?.refreshToken == nil, let token = contents.accessToken, let left = token.millisLeft(time)
        else { return }
        expiry = time.schedule(at: time.boot + max(0, left)) { [weak self] in
            self?.start { $0.endExpiredSession() }
        }
    }

    /// Ends a session whose access token is over and has no successor.
    func endExpiredSession() {
        let contents = session.contents
        guard let grant = contents.grant, grant.refreshToken == nil, let token = contents.accessToken,
            let left = token.millisLeft(time), left <= 0
        else { return }
        do throws(OAuthError) {
            try store.eraseGrant(grant)
        } catch {
            log(.error, "store: the expired session could not be erased: \(error.diagnostics.detail)")
        }
        session.update(reason: .sessionExpired) { contents in
            contents.grant = nil
            contents.accessToken = nil
        }
    }

    private func eraseSession() -> OAuthError? {
        do throws(OAuthError) {
            _ = try store.eraseSession()
            return nil
        } catch {
            log(.error, "store: the session could not be erased: \(error.diagnostics.detail)")
            return error
        }
    }

    /// Erases here first, then revokes (behaviour §10). Joins a logout that is running.
    func logout() async -> Result<LogoutResult, OAuthError> {
        if let runningLogout { return await runningLogout.result }
        let running = Outcome<LogoutResult>()
        runningLogout = running

        let contents = session.contents
        endLogins()
        if contents.facts.hasGrant { session.update { $0.facts.loggingOut = true } }
        let failure = eraseSession()
        unsaved = nil
        expiry?.cancel()
        var result = LogoutResult()
        if let grant = contents.grant {
            let budget = OperationBudget(time)
            result.tokenRevoked = await revoke(grant, contents.accessToken, budget)
            let endpoint = try? await metadata.metadata(budget: budget).endSessionEndpoint
            result.sessionEnded = await endSession(grant, at: endpoint)
        }
        runningLogout = nil
        endSessionIsOff = false
        session.update { contents in
            contents.grant = nil
            contents.accessToken = nil
            contents.facts.keyLocked = false
            contents.facts.challenge = nil
            contents.facts.loggingOut = false
        }
        let outcome: Result<LogoutResult, OAuthError> = if let failure { .failure(failure) } else { .success(result) }
        running.settle(outcome)
        return outcome
    }

    /// A logout ends every login; what a code on its way brings is discarded.
    private func endLogins() {
        let error = OAuthError.recoverable(.userCancelled, "login: a logout ended it")
        for (id, login) in logins {
            if login.phase == .settling {
                logins[id]?.discarded = true
                session.update(reason: error) { $0.facts.loginsWaiting -= login.isShown ? 1 : 0 }
                login.call?.end(.failure(error))
            } else {
                fail(login, error)
            }
        }
    }

    /// Whether the provider confirmed that the token is dead: the refresh token, or the access token when there is none.
    @discardableResult
    func revoke(_ grant: Grant, _ accessToken: AccessToken?, _ budget: OperationBudget) async -> Bool {
        do throws(OAuthError) {
            guard let endpoint = try await metadata.metadata(budget: budget).revocationEndpoint else { return false }
            let request: HTTPRequest
            if let token = grant.refreshToken {
                request = Revocation.request(token, .refreshToken, endpoint: endpoint, clientId: configuration.clientId)
            } else if let accessToken {
                request = Revocation.request(
                    accessToken.value, .accessToken, endpoint: endpoint, clientId: configuration.clientId)
            } else {
                return false
            }
            let response = try await sender.send(.revocation, request, budget: budget).get()
            return Revocation.confirmed(response)
        } catch {
            log(.warning, "logout: the token was not revoked: \(error.diagnostics.detail)")
            return false
        }
    }
}

extension OAuthError {
    static let sessionExpired = OAuthError.reauthenticate(
        .sessionExpired, "nobody is signed in, or the access token ended without a successor")
}
