// SPDX-License-Identifier: Apache-2.0

/// Refreshing (behaviour §5): one at a time in this process and among those that share the store; a refresh token is sent
/// only under a durable note, and what it brings is on disk before anything else is judged.
extension Worker {
    /// A fresh access token, by the refresh that is running or a new one, under its starter's budget. No caller's cancel
    /// ends it.
    func refresh(_ budget: OperationBudget) async throws(OAuthError) -> AccessToken {
        if let runningRefresh { return try await runningRefresh.result.get() }
        if let refusal = refusal(budget) { throw refusal }
        let running = Outcome<AccessToken>()
        runningRefresh = running
        refreshBudget = budget
        session.update { $0.facts.refreshing = true }
        let result: Result<AccessToken, OAuthError>
        do throws(OAuthError) {
            result = .success(try await refreshWithRetries(budget))
        } catch {
            log(.info, "access token: \(error.diagnostics.detail)")
            followInvalidation(error)
            // Whatever it was that ended it: there is no session any more.
            result = .failure(runningLogout == nil ? error : .sessionExpired)
        }
        runningRefresh = nil
        refreshBudget = nil
        let failure: OAuthError? = if case .failure(let error) = result { error } else { nil }
        session.update(reason: failure) { $0.facts.refreshing = false }
        running.settle(result)
        return try result.get()
    }

    /// A refresh is refused at once while the provider wants to be left alone: nothing is under way.
    private func refusal(_ budget: OperationBudget) -> OAuthError? {
        let origin = metadata.cached.flatMap { URLParts($0.tokenEndpoint)?.origin }
        return origin.flatMap { sender.refusal($0, .refresh, budget) } ?? metadata.refusal(budget)
    }

    /// What one hold of the refresh lock led to.
    private enum Attempt {
        case token(AccessToken)
        case again(afterMillis: Int64, Sender.Failure)
    }

    /// What one refresh is about.
    private struct Purpose {
        /// The access token when it began, before the first wait: any other is one that somebody was faster to get.
        var known: AccessToken?
        /// Who was signed in then: nobody is handed a token of somebody else.
        var subject: String?
        var endpoint: String
        var budget: OperationBudget
    }

    /// The lock is released while backing off, and every sending has a note of its own.
    private func refreshWithRetries(_ budget: OperationBudget) async throws(OAuthError) -> AccessToken {
        let began = session.contents
        let purpose = Purpose(
            known: began.accessToken, subject: began.grant?.login.subject,
            endpoint: try await metadata.metadata(budget: budget).tokenEndpoint, budget: budget)
        var last: Sender.Failure?
        while true {
            let lock = try await lockRefresh(budget)
            let attempt = try await refreshUnderLock(purpose, after: last)
            lock.release()
            switch attempt {
            case .token(let token): return token
            case .again(let millis, let failure):
                guard await sender.wait(millis, budget) else { throw sender.error(failure, budget) }
                last = failure
            }
        }
    }

    private func refreshUnderLock(
        _ purpose: Purpose, after last: Sender.Failure?
    ) async throws(OAuthError) -> Attempt {
        try await saveUnsaved(purpose.budget)
        // Once more if another login replaced the grant while ours was on the wire: that is another token.
        var rejection: OAuthError?
        for _ in 0..<2 {
            guard let grant = try adoptStoredGrant() else { throw forgetGrant(rejection) }
            guard purpose.subject?.hasSameBytes(as: grant.login.subject) == true else { throw .sessionExpired }
            // That of a login here, or of a sibling that shares what it got through the sealed cache.
            if let token = session.contents.accessToken, token != purpose.known, token.satisfies(TokenOptions(), time) {
                return .token(token)
            }
            guard let refreshToken = grant.refreshToken else { break }
            do throws(OAuthError) {
                if let attempt = try await send(refreshToken, of: grant, for: purpose, after: last) {
                    return attempt
                }
                continue
            } catch {
                guard case .reauthenticate(.grantRejected, _) = error else { throw error }
                rejection = error
            }
            guard let stored = try store.grant(), stored.refreshToken != refreshToken else {
                try store.eraseGrant(grant)
                throw forgetGrant(rejection)
            }
        }
        // The login that replaced the grant stays, also one whose session ends with its access token.
        let contents = session.contents
        guard contents.grant?.refreshToken != nil || contents.accessToken?.isAlive(time) == true else {
            throw forgetGrant(rejection)
        }
        throw rejection ?? .sessionExpired
    }

    private func forgetGrant(_ rejection: OAuthError?) -> OAuthError {
        let reason = rejection ?? .sessionExpired
        forgetGrant(because: reason)
        return reason
    }

    /// Waited for at most the request timeout and 5 s, outside the budget.
    private func lockRefresh(_ budget: OperationBudget) async throws(OAuthError) -> HeldLock {
        let end = time.boot + configuration.transport.requestTimeoutMillis + 5_000
        budget.suspend()
        defer { budget.resume() }
        var pause: Int64 = 10
        while true {
            guard runningLogout == nil else { throw .sessionExpired }
            if let lock = try store.lockRefresh() { return lock }
            guard time.boot < end else {
                throw .recoverable(.network(.lock), "refresh: another process holds the store's refresh lock")
            }
            guard await sender.wait(pause, budget) else { throw CancelReason.system.error }
            pause = min(pause * 2, 100)
        }
    }

    private func saveUnsaved(_ budget: OperationBudget) async throws(OAuthError) {
        guard let grant = unsaved else { return }
        let isStored = try store.storeRefresh(grant)
        unsaved = nil
        if !isStored { await revoke(grant.refreshToken, or: nil, budget) }
    }

    /// The client is closed, and what it could not write would be lost with it. Who holds the lock, here or in a sibling, is
    /// at a refresh of its own.
    func saveAtLast() async {
        do throws(OAuthError) {
            guard let lock = try store.lockRefresh() else { return }
            defer { lock.release() }
            try await saveUnsaved(OperationBudget(time, configuration.retryPolicy))
        } catch {
            log(.error, "refresh: what it brought is lost: \(error.diagnostics.detail)")
        }
    }

    /// The stored grant under the lock: a sibling may have refreshed, signed in or signed out.
    private func adoptStoredGrant() throws(OAuthError) -> Grant? {
        guard runningLogout == nil else { throw .sessionExpired }
        let stored = try store.grant()
        if let stored, stored != session.contents.grant { adopt(stored) }
        return stored
    }

    /// - Returns: `nil` when another login replaced the grant meanwhile, or another process ended it.
    /// - Throws: SessionExpired after a logout here.
    private func send(
        _ refreshToken: String, of grant: Grant, for purpose: Purpose, after last: Sender.Failure?
    ) async throws(OAuthError) -> Attempt? {
        let budget = purpose.budget
        try store.beginRefresh()
        let request = Refresh.request(refreshToken, tokenEndpoint: purpose.endpoint, clientId: configuration.clientId)
        let step = await sender.step(.refresh, request, budget: budget, after: last)
        let receivedAt = Moment(time)
        var grant = grant
        grant.accessToken = nil
        var isKept = isCurrent(grant)
        if case .answer(let answer) = step, (200...299).contains(answer.response.status) {
            grant.refreshToken = TokenResponse.refreshToken(in: answer.response.body) ?? refreshToken
            isKept = keep(grant)
            if !isKept { await discard(grant, budget) }
        }
        endNote()
        guard isKept else {
            if runningLogout != nil { throw .sessionExpired }
            return nil
        }
        let answer: ProviderAnswer
        switch step {
        case .answer(let judged): answer = judged
        case .again(let millis, let failure): return .again(afterMillis: millis, failure)
        case .end(let error): throw error
        }
        let tokens = try TokenEndpoint.tokens(answer)
        let accessToken = try TokenEndpoint.accessToken(tokens, requestedScope: grant.scope, receivedAt: receivedAt)
        if let idToken = tokens.idToken {
            _ = try await verify(idToken, of: grant, accessToken, budget)
            grant.idToken = idToken
        }
        grant.scope = accessToken.scope
        grant.accessToken = sealed(accessToken)
        guard isCurrent(grant), grant == session.contents.grant || keep(grant) else {
            await discard(grant, budget)
            if runningLogout != nil { throw .sessionExpired }
            return nil
        }
        session.update { contents in
            contents.accessToken = accessToken
            contents.facts.refreshing = false
        }
        return .token(accessToken)
    }

    private func isCurrent(_ grant: Grant) -> Bool {
        runningLogout == nil && session.contents.grant?.generation == grant.generation
    }

    /// Stores what a refresh brought, also when it looks unchanged: only the store knows whether a logout or a login of
    /// another process came in between. False when one did, or one of ours.
    private func keep(_ grant: Grant) -> Bool {
        guard isCurrent(grant) else { return false }
        do throws(OAuthError) {
            guard try store.storeRefresh(grant) else { return false }
            // Else it would be written over what a sibling gets from here on.
            unsaved = nil
        } catch {
            log(.error, "refresh: what it brought is kept in memory: \(error.diagnostics.detail)")
            if grant != session.contents.grant { unsaved = grant }
        }
        session.update { $0.grant = grant }
        return true
    }

    private func endNote() {
        do throws(OAuthError) {
            try store.endRefresh()
        } catch {
            log(.warning, "refresh: its note could not be erased: \(error.diagnostics.detail)")
        }
    }

    /// Nobody is to have what came for a session that is over.
    private func discard(_ grant: Grant, _ budget: OperationBudget) async {
        if runningLogout != nil {
            discarded = grant
        } else {
            await revoke(grant.refreshToken, or: nil, budget)
        }
    }

    private func verify(
        _ idToken: String, of grant: Grant, _ accessToken: AccessToken, _ budget: OperationBudget
    ) async throws(OAuthError) -> VerifiedIDToken {
        let uri = try await metadata.metadata(budget: budget, toFinish: true).jwksURI
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
