// SPDX-License-Identifier: Apache-2.0

/// A login from the call to the open browser (behaviour §4, steps 1 to 7), and all that can end its waiting.
extension Worker {
    func login(_ options: LoginOptions, _ call: Call<Identity>) async {
        do throws(OAuthError) {
            try await open(options, call)
        } catch {
            log(.info, "login: \(error.diagnostics.detail)")
            call.end(.failure(error))
        }
    }

    private func open(_ options: LoginOptions, _ call: Call<Identity>) async throws(OAuthError) {
        if session.state == .locked { throw .recoverable(.unlockRequired, "login: the store's key is locked") }
        let budget = OperationBudget(time, configuration.retryPolicy)
        let this = OpeningLogin(call: call, budget: budget)
        opening.append(this)
        defer { opening.removeAll { $0.call === call } }
        call.onCancel { this.end($0.error) }
        // First of all with what is known of the provider, else right after discovery: before anything is stored or opened.
        if let known = metadata.cached { try checkPause(known, budget) }
        if let runningLogout {
            endSessionIsOff = true
            leaveEndSession(false)
            budget.suspend()
            _ = await runningLogout.result
            budget.resume()
            guard !call.isEnded else { return }
        }
        let metadata = try await metadata.metadata(budget: budget)
        try checkPause(metadata, budget)
        let authorization = try AuthorizationRequest(configuration, options, metadata)
        guard !call.isEnded else { return }
        guard !closed else { throw CancelReason.system.error }

        // From here to the open browser nothing is awaited: a login that fails before has changed nothing.
        let replaced = logins.values.filter { $0.phase != .settling }
        // Also that of a login whose code is on its way: it has had its redirect. One restored under another configuration
        // waits elsewhere.
        let holder = logins.values.first {
            $0.listener != nil && configuration.redirectUri.matches($0.request.redirectURI)
        }
        let listener = if let taken = holder?.listener { taken } else { try listen(for: configuration.redirectUri) }
        let request: PendingRequest
        do throws(OAuthError) {
            request = try authorization.pending(
                redirectURI: configuration.redirectUri.resolved(port: listener?.port ?? 0), random: dependencies.random,
                time: time)
            try store.savePending(request)
        } catch {
            if holder == nil { listener?.close() }
            throw error
        }
        if let holder { logins[holder.request.id]?.listener = nil }
        for login in replaced { detach(login, keepingListener: login.listener === listener, page: .replaced) }
        session.update { contents in
            for login in replaced { contents.removeWaiting(login.request.id) }
            contents.addWaiting(request)
        }
        let error = OAuthError.recoverable(.userCancelled, "login: another one took the place of this")
        for login in replaced { login.outcome.settle(.failure(error)) }
        // One that was called before must not take the place of this when its answer comes late.
        for older in opening.prefix(while: { $0.call !== call }) { older.end(error) }
        wait(Login(request: request, budget: budget, call: call, listener: listener))
        show(request)
    }

    /// A code could not be exchanged while the token endpoint wants to be left alone.
    private func checkPause(_ metadata: ProviderMetadata, _ budget: OperationBudget) throws(OAuthError) {
        let origin = URLParts(metadata.tokenEndpoint)?.origin ?? ""
        if let refusal = sender.refusal(origin, .codeExchange, budget) { throw refusal }
    }

    /// Waits for the redirect of a stored request that the state shows already: at start, or when a program received it.
    func adopt(_ request: PendingRequest, _ listener: (any RedirectListener)?) {
        wait(
            Login(
                request: request, budget: OperationBudget(time, configuration.retryPolicy), call: nil,
                listener: listener))
    }

    /// The listener of a restored login, which comes before anybody hears of it: its browser may be about to come back.
    nonisolated func listener(restoring request: PendingRequest) -> (any RedirectListener)? {
        guard let uri = try? RedirectURI(request.redirectURI),
            case .loopback(let host, let port, let path) = uri.kind, port != 0
        else { return nil }
        do throws(OAuthError) {
            return try dependencies.listen(host, port, path)
        } catch {
            log(.warning, "login: the loopback port of the restored login is taken; it waits for handle_redirect")
            return nil
        }
    }

    /// A listener for a loopback redirect URI; none for the other kinds.
    func listen(for uri: RedirectURI) throws(OAuthError) -> (any RedirectListener)? {
        guard case .loopback(let host, let port, let path) = uri.kind else { return nil }
        if port != 0 { lingering?.close() }
        return try dependencies.listen(host, port, path)
    }

    private func wait(_ login: Login) {
        var login = login
        let id = login.request.id
        login.budget.suspend()
        login.listener?.deliver { [weak self] delivery in
            self?.start { await $0.received(delivery, for: id) }
        }
        let left = PendingRequest.lifetimeMillis - max(0, login.request.startedAt.age(time))
        login.deadline = time.schedule(at: time.boot + max(0, left)) { [weak self] in
            self?.start { $0.expire(id) }
        }
        logins[id] = login
        guard let call = login.call else { return }
        login.outcome.whenSettled { call.end($0) }
        call.onCancel { [weak self, call] reason in
            if self?.start({ $0.cancel(id, reason, call) }) != true { call.end(.failure(reason.error)) }
        }
    }

    private func show(_ request: PendingRequest) {
        let id = request.id
        log(.debug, "login: client \(configuration.clientId) waits for its redirect to \(request.redirectURI)")
        // The system's browser has told by itself why it was not started.
        let appOpens = configuration.browser == .app
        dependencies.browser?.open(request.authorizationURL) { [weak self] report in
            switch report {
            case .opened: break
            case .failed:
                self?.log(appOpens ? .warning : .info, "browser: none was opened; the login waits for its redirect")
            case .userClosed: self?.start { $0.browserClosed(id, .user) }
            case .systemClosed: self?.start { $0.browserClosed(id, .system) }
            }
        }
    }

    /// Nobody can come back from a closed browser. After the redirect it has done its part, and people close it.
    private func browserClosed(_ id: String, _ reason: CancelReason) {
        guard let login = logins[id], login.phase != .settling else { return }
        cancel(id, reason, login.call)
    }

    func reopenBrowser() {
        guard let login = logins.values.first(where: { $0.phase == .waiting }) else { return }
        show(login.request)
    }

    /// Ends the login that waits here, or was left by a system cancel, as its person wants.
    func cancelLogin() {
        for login in opening { login.end(CancelReason.user.error) }
        for (id, login) in logins { cancel(id, .user, login.call) }
    }

    /// Ends the waiting of a login; one whose code is on its way goes on without its caller (the first law).
    func cancel(_ id: String, _ reason: CancelReason, _ call: Call<Identity>?) {
        if let login = logins[id] {
            switch (login.phase, reason) {
            case (.settling, _), (.dormant, .system): break
            case (.waiting, .user), (.dormant, .user): fail(login, reason.error)
            case (.waiting, .system):
                logins[id]?.phase = .dormant
                session.update(reason: reason.error) { $0.removeWaiting(id) }
            }
        }
        call?.end(.failure(reason.error))
    }

    private func expire(_ id: String) {
        guard let login = logins[id], login.phase != .settling else { return }
        fail(login, Self.expired)
    }

    static let expired = OAuthError.recoverable(
        .pendingRequestExpired, "login: nobody came back from the browser within 10 minutes")

    /// Ends a login in failure: its request is erased, the state falls back to what still holds, then everybody hears of it.
    func fail(_ login: Login, _ error: OAuthError) {
        detach(login, keepingListener: false, page: ResultPage(error))
        session.update(reason: error) { $0.removeWaiting(login.request.id) }
        login.outcome.settle(.failure(error))
    }

    /// Takes a login out of everything it waits in; its redirect gets `page` from now on.
    func detach(_ login: Login, keepingListener: Bool, page: ResultPage) {
        logins[login.request.id] = nil
        past.remember(login.request.state, page)
        login.deadline?.cancel()
        if !keepingListener, let listener = login.listener {
            listener.close(afterMillis: Self.lingerMillis)
            lingering = listener
        }
        do throws(OAuthError) {
            try store.erasePending(login.request.id)
        } catch {
            log(.warning, "login: its pending request could not be erased: \(error.diagnostics.detail)")
        }
    }
}
