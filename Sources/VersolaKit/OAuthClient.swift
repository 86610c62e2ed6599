// SPDX-License-Identifier: Apache-2.0

/// The one door: signs a person in through their browser, keeps the session, and says what the app should do next.
///
/// Thread-safe. Releasing the last reference is ``close()``.
public final class OAuthClient: Sendable {
    private struct Calls {
        var closed = false
        var next: UInt64 = 0
        var cancels: [UInt64: @Sendable (CancelReason) -> Void] = [:]
    }

    private let worker: Worker
    private let session: Session
    private let activity = Activity()
    private let calls = Lock(Calls())
    private let time: any TimeSource

    init(_ configuration: OAuthConfiguration, _ dependencies: Dependencies, queue: StoreQueue) throws(OAuthError) {
        let start = try Start(dependencies.store)
        session = Session(start.contents, reason: start.reason)
        time = dependencies.time
        worker = Worker(configuration, dependencies, session: session, queue: queue, activity: activity)
        if let pending = start.pending {
            let listener = worker.listener(restoring: pending)
            worker.start { $0.adopt(pending, listener) }
        }
        if start.contents.accessToken != nil { worker.start { $0.watchExpiry() } }
        dependencies.store.watch { [weak worker] in worker?.start { await $0.storeChanged() } }
        activity.whenIdle { [session] in
            dependencies.store.close()
            session.end()
        }
    }

    deinit { close() }

    // MARK: The session

    public var state: SessionState { session.state }

    /// The current state, then every change, in order, none skipped, until the client is closed.
    public func sessionStates() -> AsyncStream<SessionStateChange> {
        AsyncStream { continuation in
            let observer = session.observe({ continuation.yield($0) }, end: { continuation.finish() })
            continuation.onTermination = { [session] _ in session.stopObserving(observer) }
        }
    }

    /// Calls `observer` as ``Session/observe(_:)`` does.
    @discardableResult
    package func observe(_ observer: @escaping @Sendable (SessionStateChange) -> Void) -> UInt64 {
        session.observe(observer)
    }

    /// Who is signed in: at once, also offline and after a restart.
    ///
    /// - Throws: `reauthenticate(.sessionExpired)` when nobody is; `recoverable(.unlockRequired)` when the key is locked.
    public func identity() throws(OAuthError) -> Identity {
        try checkOpen()
        let contents = session.contents
        guard contents.facts.hasGrant, !contents.facts.loggingOut else { throw .sessionExpired }
        guard let grant = contents.grant else { throw .unlockRequired("the session's key is locked") }
        guard let identity = Identity(grant) else { throw .sessionExpired }
        return identity
    }

    // MARK: Login

    /// Signs a person in through the browser.
    public func login(_ options: LoginOptions = LoginOptions()) async throws(OAuthError) -> Identity {
        try await startLogin(options).value()
    }

    package func startLogin(_ options: LoginOptions) -> Call<Identity> {
        start { await $0.login(options, $1) }
    }

    /// A URL that the app received; `handled` tells whether it was a redirect that was awaited.
    public func handleRedirect(_ url: String) async throws(OAuthError) -> RedirectHandling {
        try await startHandleRedirect(url).value()
    }

    package func startHandleRedirect(_ url: String) -> Call<RedirectHandling> {
        start { await $0.handleRedirect(url, $1) }
    }

    /// What the person has to open while the state is `authorizing`.
    public var authorizationURL: String? {
        session.contents.authorizationURL
    }

    /// Opens the browser again for the login that waits; nothing when none does.
    public func reopenBrowser() {
        worker.start { $0.reopenBrowser() }
    }

    /// Ends the login that waits, or is about to, with UserCancelled, also one restored from another run; nothing when none does.
    public func cancelLogin() {
        worker.start { $0.cancelLogin() }
    }

    // MARK: Tokens

    /// An access token that can be used now.
    public func accessToken(_ options: TokenOptions = TokenOptions()) async throws(OAuthError) -> Token {
        if let token = try cachedAccessToken(options) { return token }
        return try await startAccessToken(options).value()
    }

    /// The token in memory if it serves: at once, on the caller's thread.
    package func cachedAccessToken(_ options: TokenOptions) throws(OAuthError) -> Token? {
        try checkOpen()
        return try session.cachedToken(options, time)
    }

    package func startAccessToken(_ options: TokenOptions) -> Call<Token> {
        start { worker, call in
            do throws(OAuthError) {
                call.end(.success(try await worker.accessToken(options)))
            } catch {
                call.end(.failure(error))
            }
        }
    }

    /// A new access token, whatever the old one's age.
    public func refresh() async throws(OAuthError) -> Token {
        try await startAccessToken(TokenOptions(force: true)).value()
    }

    /// What the provider's UserInfo endpoint says of the person: a JSON object.
    public func userInfo() async throws(OAuthError) -> String {
        try await startUserInfo().value()
    }

    package func startUserInfo() -> Call<String> {
        start { await $0.userInfo($1) }
    }

    // MARK: The end

    /// Erases the session here, then revokes it at the provider.
    public func logout() async throws(OAuthError) -> LogoutResult {
        try await startLogout().value()
    }

    package func startLogout() -> Call<LogoutResult> {
        start { worker, call in call.end(await worker.logout()) }
    }

    /// Ends every caller with SystemCancelled and stops listening. The session stays in the store; what is on the wire is
    /// finished and stored. Never blocks.
    public func close() {
        // Not idle before every caller has heard of it, whoever else closes meanwhile.
        let isCounted = activity.begin()
        let cancels: [@Sendable (CancelReason) -> Void] = calls.withLock { calls in
            guard !calls.closed else { return [] }
            calls.closed = true
            return Array(calls.cancels.values)
        }
        for cancel in cancels { cancel(.system) }
        worker.start { $0.close() }
        activity.close()
        if isCounted { activity.end() }
    }

    /// Calls `handler` once, when the client is closed and nothing of it is running any more.
    package func whenIdle(_ handler: @escaping @Sendable () -> Void) {
        activity.whenIdle(handler)
    }

    /// Starts something that ``whenIdle(_:)`` has to wait for, whatever the others that use the client do meanwhile.
    package func starting(_ body: () throws(OAuthError) -> Void) throws(OAuthError) {
        guard activity.begin() else { throw Self.closed }
        defer { activity.end() }
        try checkOpen()
        try body()
    }

    package func checkOpen() throws(OAuthError) {
        if calls.withLock({ $0.closed }) { throw Self.closed }
    }

    private static let closed = OAuthError.configuration(.invalidConfiguration, "client: it is closed")

    private func start<Value>(_ work: @escaping @Sendable (Worker, Call<Value>) async -> Void) -> Call<Value> {
        let call = Call<Value>()
        let id: UInt64? = calls.withLock { calls in
            guard !calls.closed else { return nil }
            calls.next += 1
            calls.cancels[calls.next] = { call.cancel($0) }
            return calls.next
        }
        guard let id else {
            call.end(.failure(Self.closed))
            return call
        }
        call.whenEnded { [weak self] _ in self?.calls.withLock { _ = $0.cancels.removeValue(forKey: id) } }
        if !worker.start({ await work($0, call) }) { call.end(.failure(Self.closed)) }
        return call
    }
}
