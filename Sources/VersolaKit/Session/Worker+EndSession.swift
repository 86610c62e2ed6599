// SPDX-License-Identifier: Apache-2.0

/// The browser's part of a logout (OpenID Connect RP-Initiated Logout 1.0), while the state is LoggingOut.
struct EndSessionStep: Sendable {
    let state: String
    /// Whether the browser came back with our `state`.
    let outcome = Outcome<Bool>()
    var listener: (any RedirectListener)?
    var deadline: (any Scheduled)?
}

extension Worker {
    /// How long the browser may be silent.
    private static let silenceMillis: Int64 = 120_000

    /// Ends the provider's own session in the browser; false when that is not offered, not configured or not heard of.
    func endSession(_ grant: Grant, at endpoint: String?) async -> Bool {
        guard let endpoint, let redirect = configuration.postLogoutRedirectUri, let browser = dependencies.browser,
            !closed, !endSessionIsOff
        else { return false }
        let step: EndSessionStep
        let url: String
        do throws(OAuthError) {
            let listener = try listen(for: redirect)
            let state = try dependencies.random.base64url(bytes: 32)
            step = EndSessionStep(state: state, listener: listener)
            let parameters: [FormField] = [
                ("client_id", configuration.clientId), ("id_token_hint", grant.idToken),
                ("post_logout_redirect_uri", redirect.resolved(port: listener?.port ?? 0)), ("state", state),
            ]
            url = FormEncoding.append(parameters, to: endpoint)
        } catch {
            log(.warning, "logout: the browser step is left out: \(error.diagnostics.detail)")
            return false
        }
        wait(step)
        browser.open(url) { [weak self] report in
            guard report != .opened else { return }
            self?.start { $0.leaveEndSession(false) }
        }
        return (try? await step.outcome.result.get()) ?? false
    }

    private func wait(_ step: EndSessionStep) {
        var step = step
        step.listener?.deliver { [weak self] delivery in
            self?.start { $0.receivedAfterLogout(delivery) }
        }
        step.deadline = time.schedule(at: time.boot + Self.silenceMillis) { [weak self] in
            self?.start { $0.leaveEndSession(false) }
        }
        endSessionStep = step
    }

    private func receivedAfterLogout(_ delivery: RedirectDelivery) {
        guard isOurEndSession(query: delivery.query) else { return delivery.answer(.failed) }
        delivery.answer(.signedOut)
        leaveEndSession(true)
    }

    /// Whether `url` is the post-logout redirect that is waited for; if so the step is over.
    func handlePostLogoutRedirect(_ url: String) -> Bool {
        guard configuration.postLogoutRedirectUri?.matches(url) == true,
            isOurEndSession(query: URLParts.split(url).query ?? "")
        else { return false }
        leaveEndSession(true)
        return true
    }

    private func isOurEndSession(query: String) -> Bool {
        guard let step = endSessionStep, let state = RedirectResponse(query: query).state else { return false }
        return equalInConstantTime(state, step.state)
    }

    func leaveEndSession(_ cameBack: Bool) {
        guard let step = endSessionStep else { return }
        endSessionStep = nil
        step.deadline?.cancel()
        if let listener = step.listener {
            listener.close(afterMillis: Self.lingerMillis)
            lingering = listener
        }
        step.outcome.settle(.success(cameBack))
    }
}
