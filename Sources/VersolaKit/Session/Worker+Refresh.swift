// SPDX-License-Identifier: Apache-2.0

/// Refreshing (behaviour §5): one at a time in this process and among those that share the store; a refresh token is sent
/// only under a durable note, and what it brings is on disk before anything else is judged.
extension Worker {
    /// A fresh access token, by the refresh that is running or a new one. No caller's cancel ends it.
    func refresh() async throws(OAuthError) -> AccessToken {
        if let runningRefresh { return try await runningRefresh.result.get() }
        let running = Outcome<AccessToken>()
        runningRefresh = running
        session.update { $0.facts.refreshing = true }
        let result: Result<AccessToken, OAuthError>
        do throws(OAuthError) {
            result = .success(try await refreshUnderLock())
        } catch {
            log(.info, "refresh: \(error.diagnostics.detail)")
            followInvalidation(error)
            result = .failure(error)
        }
        runningRefresh = nil
        let failure: OAuthError? = if case .failure(let error) = result { error } else { nil }
        session.update(reason: failure) { $0.facts.refreshing = false }
        running.settle(result)
        return try result.get()
    }

    private func refreshUnderLock() async throws(OAuthError) -> AccessToken {
        let budget = OperationBudget(time)
        let endpoint = try await metadata.metadata(budget: budget).tokenEndpoint
        let lock = try await lockRefresh()
        defer { lock.release() }
        try saveUnsaved()
        // Once more if a sibling's login replaced the token while ours was refused: that is another token.
        var rejection: OAuthError?
        for _ in 0..<2 {
            let known = session.contents.accessToken
            guard let grant = try adoptStoredGrant(), let refreshToken = grant.refreshToken else { break }
            // A sibling was faster, and the sealed cache shares what it got.
            if let token = grant.accessToken, token != known, token.satisfies(TokenOptions(), time) { return token }
            do throws(OAuthError) {
                return try await send(refreshToken, of: grant, to: endpoint, budget)
            } catch {
                guard case .reauthenticate(.grantRejected, _) = error else { throw error }
                rejection = error
            }
            guard let stored = try store.grant(), stored.refreshToken != refreshToken else {
                try store.eraseGrant(grant)
                forgetGrant(because: error(rejection))
                throw error(rejection)
            }
        }
        forgetGrant(because: error(rejection))
        throw error(rejection)
    }

    private func error(_ rejection: OAuthError?) -> OAuthError { rejection ?? .sessionExpired }

    /// Waited for at most the request timeout and 5 s, outside the budget.
    private func lockRefresh() async throws(OAuthError) -> HeldLock {
        let end = time.boot + configuration.transport.requestTimeoutMillis + 5_000
        var pause: Int64 = 10
        while true {
            if let lock = try store.lockRefresh() { return lock }
            guard time.boot < end else {
                throw .recoverable(.network(.lock), "refresh: another process holds the store's refresh lock")
            }
            await sleep(pause)
            pause = min(pause * 2, 100)
        }
    }

    private func sleep(_ milliseconds: Int64) async {
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: time.boot + milliseconds) { continuation.resume() }
        }
    }

    private func saveUnsaved() throws(OAuthError) {
        guard let grant = unsaved else { return }
        _ = try store.storeRefresh(grant)
        unsaved = nil
    }

    /// The stored grant under the lock: a sibling may have refreshed, signed in or signed out.
    private func adoptStoredGrant() throws(OAuthError) -> Grant? {
        let stored = try store.grant()
        if let stored, stored != session.contents.grant { adopt(stored) }
        return stored
    }

    private func send(
        _ refreshToken: String, of grant: Grant, to endpoint: String, _ budget: OperationBudget
    ) async throws(OAuthError) -> AccessToken {
        try store.beginRefresh()
        let request = Refresh.request(refreshToken, tokenEndpoint: endpoint, clientId: configuration.clientId)
        let answer = await sender.send(.refresh, request, budget: budget)
        let receivedAt = Moment(time)
        var grant = grant
        grant.accessToken = nil
        if case .success(let response) = answer, (200...299).contains(response.status),
            let rotated = TokenResponse.refreshToken(in: response.body)
        {
            grant.refreshToken = rotated
        }
        guard try keep(grant) else {
            await revoke(grant, nil, budget)
            throw .sessionExpired
        }
        let tokens = try TokenEndpoint.tokens(try answer.get(), of: .refresh, elapsedMillis: budget.elapsedMillis)
        let accessToken = try TokenEndpoint.accessToken(tokens, requestedScope: grant.scope, receivedAt: receivedAt)
        if let idToken = tokens.idToken {
            _ = try await verify(idToken, of: grant, accessToken, budget)
            grant.idToken = idToken
        }
        grant.scope = accessToken.scope
        grant.accessToken = sealed(accessToken)
        guard try keep(grant) else { throw .sessionExpired }
        session.update { contents in
            contents.accessToken = accessToken
            contents.facts.refreshing = false
        }
        return accessToken
    }

    /// Stores what is new in the grant and ends the note; false when a logout or another login came in between.
    private func keep(_ grant: Grant) throws(OAuthError) -> Bool {
        var isCurrent = true
        if grant != session.contents.grant {
            do throws(OAuthError) {
                isCurrent = try store.storeRefresh(grant)
            } catch {
                log(.error, "refresh: the new refresh token is kept in memory: \(error.diagnostics.detail)")
                unsaved = grant
            }
            if isCurrent { session.update { $0.grant = grant } }
        }
        do throws(OAuthError) {
            try store.endRefresh()
        } catch {
            log(.warning, "refresh: its note could not be erased: \(error.diagnostics.detail)")
        }
        return isCurrent
    }

    private func verify(
        _ idToken: String, of grant: Grant, _ accessToken: AccessToken, _ budget: OperationBudget
    ) async throws(OAuthError) -> VerifiedIDToken {
        let uri = try await metadata.metadata(budget: budget).jwksURI
        let expectations = RefreshedIDTokenExpectations(
            login: grant.login, clientID: configuration.clientId, accessToken: accessToken.value,
            clockSkew: configuration.clockSkewSeconds)
        let (time, sender) = (time, sender)
        return try await keySet(at: uri).verify(
            load: { await KeySetEndpoint.load(uri, sender, budget) },
            judge: { IDTokenValidator.validateRefreshed(idToken, keys: $0, expectations: expectations, now: time.wall) }
        ).get()
    }
}
