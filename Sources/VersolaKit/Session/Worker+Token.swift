// SPDX-License-Identifier: Apache-2.0

/// Access tokens (behaviour §5).
extension Worker {
    func accessToken(_ options: TokenOptions, _ budget: OperationBudget? = nil) async throws(OAuthError) -> Token {
        if let token = try session.cachedToken(options, time) { return token }
        guard session.contents.grant?.refreshToken != nil else {
            // Returned until it really expires; force, or a min_valid beyond its life, cannot be had.
            if !options.force, options.minValidMillis == nil, let token = livingToken { return token }
            endExpiredSession()
            throw .sessionExpired
        }
        do throws(OAuthError) {
            return Token(try await refresh(budget ?? OperationBudget(time, configuration.retryPolicy)))
        } catch {
            if case .recoverable = error, !options.force, let token = livingToken { return token }
            throw error
        }
    }

    /// What goes into the store of an access token: nothing, unless the sealed cache is wanted.
    func sealed(_ token: AccessToken) -> AccessToken? {
        configuration.accessTokenCache == .sealed ? token : nil
    }

    private var livingToken: Token? {
        guard let token = session.contents.accessToken, token.millisLeft(time).map({ $0 > 0 }) ?? true else {
            return nil
        }
        return Token(token)
    }
}

extension Session {
    /// The token in memory if it serves, else `nil`: a refresh would be needed.
    ///
    /// - Throws: SessionExpired when nobody is signed in; UnlockRequired when the grant is locked away.
    func cachedToken(_ options: TokenOptions, _ time: some TimeSource) throws(OAuthError) -> Token? {
        let contents = contents
        guard contents.facts.hasGrant, !contents.facts.loggingOut else { throw .sessionExpired }
        if let token = contents.accessToken, token.satisfies(options, time) { return Token(token) }
        guard contents.grant != nil else { throw .unlockRequired("the session's key is locked") }
        return nil
    }
}
