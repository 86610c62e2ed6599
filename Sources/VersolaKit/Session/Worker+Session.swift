// SPDX-License-Identifier: Apache-2.0

/// The session once it is there: its access token and its end.
extension Worker {
    /// Without a refresh token the session ends with its access token (behaviour §1): one timer.
    func watchExpiry() {
        expiry?.cancel()
        expiry = nil
        tokenSessionEpoch = try? store.epoch()
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

    /// Erases here first, then revokes (behaviour §10). Joins a logout that is running.
    func logout() async -> Result<LogoutResult, OAuthError> {
        for login in opening { login.end(Self.endedByLogout) }
        if let runningLogout { return await runningLogout.result }
        let running = Outcome<LogoutResult>()
        runningLogout = running

        let known = session.contents
        if known.facts.hasGrant { session.update { $0.facts.loggingOut = true } }
        endLogins()
        let outcome: Result<LogoutResult, OAuthError>
        do throws(OAuthError) {
            // On disk is what a sibling's refresh left, newer than what is known here.
            let erased = try store.eraseSession()
            outcome = .success(await end(latest(erased ?? known.grant), known.accessToken))
        } catch {
            log(.error, "store: the session could not be erased: \(error.diagnostics.detail)")
            _ = await end(latest(known.grant), known.accessToken)
            outcome = .failure(error)
        }
        runningLogout = nil
        endSessionIsOff = false
        session.update { contents in
            // Another generation is that of a login that came meanwhile.
            if contents.grant?.generation == known.grant?.generation {
                contents.grant = nil
                contents.accessToken = nil
                contents.facts.challenge = nil
            }
            contents.facts.keyLocked = false
            contents.facts.loggingOut = false
        }
        // Another process may have signed in meanwhile. What could not be erased is not to come back.
        if case .success = outcome { followStoredGrant() }
        running.settle(outcome)
        return outcome
    }

    /// What the store could not take goes before what is there, unless that is of a later login.
    private func latest(_ grant: Grant?) -> Grant? {
        guard let unsaved, unsaved.generation >= grant?.generation ?? 0 else { return grant }
        return unsaved
    }

    /// Ends an erased session at the provider: its token, then its own session in the browser.
    private func end(_ grant: Grant?, _ accessToken: AccessToken?) async -> LogoutResult {
        unsaved = nil
        expiry?.cancel()
        // A refresh in flight stores nothing any more, and the token it brings is the one revoked (behaviour §10). One that
        // waits for its next try has nothing in flight.
        refreshBudget?.abandon()
        if let runningRefresh { _ = await runningRefresh.result }
        let grant = discarded ?? grant
        discarded = nil
        var result = LogoutResult()
        guard let grant else { return result }
        let budget = OperationBudget(time, configuration.retryPolicy)
        result.tokenRevoked = await revoke(grant.refreshToken, or: accessToken?.value, budget)
        let endpoint = try? await metadata.metadata(budget: budget).endSessionEndpoint
        result.sessionEnded = await endSession(grant, at: endpoint)
        return result
    }

    /// A logout ends every login; what a code on its way brings is discarded.
    private func endLogins() {
        let error = Self.endedByLogout
        for (id, login) in logins {
            if login.phase == .settling {
                logins[id]?.discarded = true
                session.update(reason: error) { $0.removeWaiting(id) }
                login.call?.end(.failure(error))
            } else {
                fail(login, error)
            }
        }
    }

    private static let endedByLogout = OAuthError.recoverable(.userCancelled, "login: a logout ended it")

    /// Whether the provider confirmed that the token is dead: the refresh token, or the access token when there is none.
    @discardableResult
    func revoke(_ refreshToken: String?, or accessToken: String?, _ budget: OperationBudget) async -> Bool {
        do throws(OAuthError) {
            let metadata = try await metadata.metadata(budget: budget, toFinish: true)
            guard let endpoint = metadata.revocationEndpoint else { return false }
            let request: HTTPRequest
            if let token = refreshToken {
                request = Revocation.request(token, .refreshToken, endpoint: endpoint, clientId: configuration.clientId)
            } else if let token = accessToken {
                request = Revocation.request(token, .accessToken, endpoint: endpoint, clientId: configuration.clientId)
            } else {
                return false
            }
            return Revocation.confirmed(try await sender.send(.revocation, request, budget: budget).get().response)
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
