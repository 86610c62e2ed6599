// SPDX-License-Identifier: Apache-2.0

/// A client's work: everything that touches the store or decides about a login. It runs on the store's queue, one piece at a
/// time, and may block there for a disk's time; while a request is on the wire the queue is free.
actor Worker {
    /// How long the listener of a login that is over still answers repeated deliveries.
    static let lingerMillis: Int64 = 2_000

    let configuration: OAuthConfiguration
    let dependencies: Dependencies
    let session: Session
    let sender: Sender
    let metadata: MetadataCache
    let activity: Activity
    private let closing = Closing()
    nonisolated let queue: StoreQueue

    /// By `jwks_uri`: the provider may move it.
    private var keySets: [String: KeySetCache] = [:]
    var logins: [String: Login] = [:]
    /// Logins whose browser is not open yet, oldest first.
    var opening: [OpeningLogin] = []
    var past = PastLogins()
    /// The listener of the latest login that is over; a login on the same port closes it early.
    var lingering: (any RedirectListener)?
    var runningLogout: Outcome<LogoutResult>?
    /// The browser's part of the running logout, and whether it may not begin: a login has taken its place.
    var endSessionStep: EndSessionStep?
    var endSessionIsOff = false
    /// Any number of callers share one refresh.
    var runningRefresh: Outcome<AccessToken>?
    /// That of the running refresh: a logout ends its waiting for a next try.
    var refreshBudget: OperationBudget?
    /// What a refresh brought and the store could not take: written before anything else is sent.
    var unsaved: Grant?
    /// What a refresh brought while a logout ran: for that to revoke.
    var discarded: Grant?
    var expiry: (any Scheduled)?
    /// The store's epoch when a session that lives by its access token alone was stored.
    var tokenSessionEpoch: Int64?
    var closed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    var store: any CredentialStore { dependencies.store }
    var time: any TimeSource { dependencies.time }
    nonisolated var log: Log { dependencies.log }

    init(
        _ configuration: OAuthConfiguration, _ dependencies: Dependencies, session: Session, queue: StoreQueue,
        activity: Activity
    ) {
        self.configuration = configuration
        self.dependencies = dependencies
        self.session = session
        self.queue = queue
        self.activity = activity
        sender = Sender(
            transport: dependencies.transport, time: dependencies.time, random: dependencies.random,
            pauses: dependencies.pauses, closing: closing, log: dependencies.log)
        metadata = MetadataCache(configuration.provider, sender: sender, time: dependencies.time)
    }

    /// Starts work on the store's queue; false when the client is closed and idle.
    @discardableResult
    nonisolated func start(_ work: @escaping @Sendable (isolated Worker) async -> Void) -> Bool {
        guard activity.begin() else { return false }
        Task(executorPreference: queue) {
            await work(self)
            self.activity.end()
        }
        return true
    }

    func keySet(at uri: String) -> KeySetCache {
        if let known = keySets[uri] { return known }
        let cache = KeySetCache(time: time, executor: queue)
        keySets[uri] = cache
        return cache
    }

    /// Stops waiting for anything: listeners close, pending requests stay on disk for whoever comes next.
    func close() {
        closed = true
        closing.close()
        expiry?.cancel()
        leaveEndSession(false)
        lingering?.close()
        if unsaved != nil { start { await $0.saveAtLast() } }
        for (id, login) in logins where login.phase != .settling {
            logins[id] = nil
            login.deadline?.cancel()
            login.listener?.close()
            store.abandonPending(id)
            session.update(reason: CancelReason.system.error) { $0.removeWaiting(id) }
            login.outcome.settle(.failure(CancelReason.system.error))
        }
    }
}
