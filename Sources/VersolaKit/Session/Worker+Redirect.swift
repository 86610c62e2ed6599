// SPDX-License-Identifier: Apache-2.0

/// What the app hears of a URL it passed on.
public struct RedirectHandling: Equatable, Sendable {
    /// It was a redirect that was awaited.
    public var handled: Bool
    /// How the login it belongs to failed, if it did.
    public var error: OAuthError?
}

/// From the redirect to the stored grant (behaviour §4, steps 8 to 12).
extension Worker {
    /// A navigation reached the listener of a login.
    func received(_ delivery: RedirectDelivery, for id: String) async {
        let response = RedirectResponse(query: delivery.query)
        if let state = response.state, let page = past.page(for: state) { return delivery.answer(page) }
        // Not always the login that listens now: it may have taken over the listener of one whose code is on its way.
        if let state = response.state, let login = login(with: state) {
            login.outcome.whenSettled { delivery.answer(ResultPage($0)) }
            return await settle(login.request.id, response)
        }
        guard let login = logins[id] else { return delivery.answer(.alreadyUsed) }
        if login.phase == .waiting { fail(login, Self.stateMismatch) }
        delivery.answer(.failed)
    }

    private func login(with state: String) -> Login? {
        logins.values.first { equalInConstantTime($0.request.state, state) }
    }

    /// The app received a URL that may be a redirect.
    func handleRedirect(_ url: String, _ call: Call<RedirectHandling>) async {
        do throws(OAuthError) {
            try await handle(url, call)
        } catch {
            followInvalidation(error)
            call.end(.failure(error))
        }
    }

    private func handle(_ url: String, _ call: Call<RedirectHandling>) async throws(OAuthError) {
        let notOurs = RedirectHandling(handled: false, error: nil)
        if handlePostLogoutRedirect(url) { return call.end(.success(RedirectHandling(handled: true, error: nil))) }
        guard configuration.redirectUri.matches(url) else { return call.end(.success(notOurs)) }
        let response = RedirectResponse(query: URLParts.split(url).query ?? "")
        guard let state = response.state else { return call.end(.success(mismatch())) }
        if past.page(for: state) != nil { return call.end(.success(notOurs)) }

        // Its code was spent by the redirect that came before this one (case B43).
        if let login = login(with: state), login.phase == .settling { return call.end(.success(notOurs)) }
        if login(with: state) == nil {
            guard let stored = try store.pending(state: state) else { return call.end(.success(mismatch())) }
            if stored.request.spent { return call.end(.success(notOurs)) }
            guard stored.request.isWaiting(time) else {
                try store.erasePending(stored.request.id)
                return call.end(.success(RedirectHandling(handled: true, error: Self.expired)))
            }
            if stored.owner == .livingProcess {
                try store.handOver(redirect: url, to: stored.request.id)
                return call.end(.success(RedirectHandling(handled: true, error: nil)))
            }
            guard session.contents.grant?.refreshToken == nil else {
                return call.end(.success(notOurs))
            }
            session.update { $0.addWaiting(stored.request) }
            adopt(stored.request, nil)
        }
        guard let login = login(with: state) else { return }
        login.outcome.whenSettled { result in
            let error: OAuthError? = if case .failure(let error) = result { error } else { nil }
            call.end(.success(RedirectHandling(handled: true, error: error)))
        }
        await settle(login.request.id, response)
    }

    /// On our redirect URI a missing or unknown `state` ends the login waiting here, if one does.
    private func mismatch() -> RedirectHandling {
        guard let login = logins.values.first(where: { $0.phase == .waiting }) else {
            return RedirectHandling(handled: false, error: nil)
        }
        fail(login, Self.stateMismatch)
        return RedirectHandling(handled: true, error: Self.stateMismatch)
    }

    private static let stateMismatch = OAuthError.configuration(
        .stateMismatch, "redirect: state is missing or not that of the login that waits")

    /// A redirect that another process received and left for us.
    func settle(_ id: String, handedOver url: String, to login: Login) async {
        let response = RedirectResponse(query: URLParts.split(url).query ?? "")
        guard let state = response.state, equalInConstantTime(state, login.request.state) else { return }
        await settle(id, response)
    }

    /// Judges the response, and finishes the login. A login that is being settled already is left to that.
    private func settle(_ id: String, _ response: RedirectResponse) async {
        guard let login = logins[id], login.phase != .settling else { return }
        guard login.request.isWaiting(time) else { return fail(login, Self.expired) }
        logins[id]?.phase = .settling
        login.deadline?.cancel()
        login.budget.resume()
        if login.phase == .dormant {
            session.update { $0.addWaiting(login.request) }
        }
        do throws(OAuthError) {
            let stored = try await exchange(login.request, response, login.budget)
            guard let login = logins[id] else { return }
            detach(login, keepingListener: false, page: .signedIn)
            session.update { contents in
                contents.removeWaiting(id)
                contents.grant = stored.grant
                contents.accessToken = stored.accessToken
                contents.facts.challenge = nil
            }
            watchExpiry()
            login.outcome.settle(.success(stored.identity))
        } catch {
            log(.info, "login: \(error.diagnostics.detail)")
            followInvalidation(error)
            if let login = logins[id] { fail(login, error) }
        }
    }

    private struct StoredSession {
        var grant: Grant
        var accessToken: AccessToken
        var identity: Identity
    }

    /// Spends the code, once; nothing of an exchange that fails a check is kept.
    private func exchange(
        _ request: PendingRequest, _ response: RedirectResponse, _ budget: OperationBudget
    ) async throws(OAuthError) -> StoredSession {
        let code = try response.code(for: request, elapsedMillis: budget.elapsedMillis)
        let epoch = try store.epoch()
        guard try store.spendPending(request.id) == .marked else {
            throw .recoverable(.userCancelled, "login: its redirect was taken by another process")
        }
        let answer = try await sender.send(
            .codeExchange, CodeExchange.request(request, code: code, clientId: configuration.clientId), budget: budget
        ).get()
        let receivedAt = Moment(time)
        let tokens = try TokenEndpoint.tokens(answer)
        let verdict = await verify(tokens, request, code: code, budget)
        // Good or bad, nobody is to have what came after a logout.
        if logins[request.id]?.discarded == true {
            await revoke(tokens.refreshToken, or: tokens.accessToken, budget)
            throw Self.loggedOut
        }
        let accessToken = try TokenEndpoint.accessToken(tokens, requestedScope: request.scope, receivedAt: receivedAt)
        let verified = try verdict.get()
        guard let idToken = tokens.idToken else { throw Self.noIDToken }

        var grant = Grant(
            generation: 0, refreshToken: tokens.refreshToken, idToken: idToken, scope: accessToken.scope,
            login: verified.login, accessToken: sealed(accessToken))
        let stored: StoredLogin
        do throws(OAuthError) {
            stored = try store.storeLogin(grant, spending: request.id, since: epoch)
        } catch {
            // The person has to sign in again; what nobody can keep is not left alive.
            await revoke(tokens.refreshToken, or: tokens.accessToken, budget)
            throw error
        }
        switch stored {
        case .stored(let generation): grant.generation = generation
        case .superseded:
            await revoke(tokens.refreshToken, or: tokens.accessToken, budget)
            throw Self.loggedOut
        }
        if tokens.refreshToken == nil {
            log(.info, "login: the provider gave no refresh token; this session will end with its access token")
        }
        return StoredSession(grant: grant, accessToken: accessToken, identity: Identity(verified))
    }

    private static let loggedOut = OAuthError.recoverable(
        .userCancelled, "login: a logout came before it was finished")
    private static let noIDToken = OAuthError.configuration(
        .idTokenRejected, "code exchange: the provider answered without an ID token")

    private func verify(
        _ tokens: TokenResponse, _ request: PendingRequest, code: String, _ budget: OperationBudget
    ) async -> Result<VerifiedIDToken, OAuthError> {
        guard let idToken = tokens.idToken else { return .failure(Self.noIDToken) }
        let expectations = IDTokenExpectations(
            issuer: request.issuer, clientID: configuration.clientId, nonce: request.nonce,
            accessToken: tokens.accessToken, code: code, maxAge: request.maxAge,
            loginStartedAt: request.startedAt.wall / 1000, clockSkew: configuration.clockSkewSeconds)
        let time = time
        // Also after a close: the code is spent, and what it brought is to be judged and stored.
        var sender = sender
        sender.closing = Closing()
        return await keySet(at: request.jwksURI).verify(
            load: { [sender] in await KeySetEndpoint.load(request.jwksURI, sender, budget) },
            judge: { IDTokenValidator.validate(idToken, keys: $0, expectations: expectations, now: time.wall) })
    }
}
