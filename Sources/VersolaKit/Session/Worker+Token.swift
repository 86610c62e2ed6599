// SPDX-License-Identifier: Apache-2.0

/// Access tokens (behaviour §5).
extension Worker {
    func accessToken(_ options: TokenOptions) async throws(OAuthError) -> Token {
        if let token = try session.cachedToken(options, time) { return token }
        let contents = session.contents
        guard contents.grant?.refreshToken != nil else {
            // force, or a min_valid beyond its life, cannot be had; the state changes only when the token has expired
            if let token = contents.accessToken, !options.force, options.minValidMillis == nil,
                token.millisLeft(time).map({ $0 > 0 }) ?? true
            {
                return Token(token)
            }
            endExpiredSession()
            throw .sessionExpired
        }
        throw .sessionExpired
    }
}

extension Session {
    /// The token in memory if it serves, else `nil`: a refresh would be needed.
    ///
    /// - Throws: SessionExpired when nobody is signed in.
    func cachedToken(_ options: TokenOptions, _ time: some TimeSource) throws(OAuthError) -> Token? {
        let contents = contents
        guard contents.facts.hasGrant, !contents.facts.loggingOut else { throw .sessionExpired }
        guard let token = contents.accessToken, token.satisfies(options, time) else { return nil }
        return Token(token)
    }
}
