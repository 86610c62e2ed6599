// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// A client in a world that does what a test says: virtual time, a scripted wire, ports and browsers that are none.
final class Harness: Sendable {
    let journal = Journal()
    let time: VirtualTime
    let provider: TestProvider
    let transport: ScriptedTransport
    let listeners = FakeListeners()
    let browser = FakeBrowser()
    let store: RecordingStore
    let queue = StoreQueue(label: "test.store")
    let configuration: OAuthConfiguration
    let client: OAuthClient
    let states: StateLog
    let logged: Lock<[String]>

    /// - Parameters:
    ///   - place: a directory that several clients may share, each like a process of its own; `nil` = memory.
    ///   - time: shared by clients of one place.
    ///   - retryPolicy: `nil` = one attempt: what is not about retries shows its failures at once.
    ///   - pauses: shared by clients of one process.
    ///   - prepare: called before the client is made.
    init(
        redirectURI: String = "http://127.0.0.1/callback", endpoints: ProviderEndpoints? = nil,
        issuer: String = "https://op.example", scopes: [String] = ["openid"], place: StoreFixture? = nil,
        keyFile: String? = nil, time: VirtualTime = VirtualTime(), withBrowser: Bool = true,
        retryPolicy: RetryPolicy? = nil, pauses: Pauses = Pauses(),
        prepare: (Harness.World) -> Void = { _ in }
    ) throws {
        self.time = time
        provider = TestProvider(time, issuer: issuer)
        transport = ScriptedTransport(journal, time)
        transport.script { [provider] in provider.answer($0) }
        configuration = try OAuthConfiguration(
            issuer: endpoints == nil ? issuer : nil, clientId: "client", redirectUri: redirectURI, scopes: scopes,
            endpoints: endpoints,
            retryPolicy: try retryPolicy ?? RetryPolicy(maxAttemptsPerOrigin: 1, maxTotalAttempts: 1))
        let binding = try StoreBinding(
            issuer: configuration.provider.issuer, clientID: "client", session: "default")
        let sealed =
            if let place {
                try SealedCredentialStore.onDisk(
                    try place.place(), keyFile: keyFile, binding: binding, time: time, watcher: StoreTestWatcher())
            } else {
                try SealedCredentialStore.inMemory(binding: binding, time: time)
            }
        store = RecordingStore(sealed, journal)
        prepare(World(provider: provider, transport: transport, listeners: listeners, store: store))
        let logged = Lock<[String]>([])
        self.logged = logged
        client = try OAuthClient(
            configuration,
            Dependencies(
                time: time, random: SystemRandom(), transport: transport, pauses: pauses,
                browser: withBrowser ? browser : nil,
                listen: { [listeners] _, port, _ throws(OAuthError) in try listeners.listen(port) }, store: store,
                log: Log(level: .debug) { _, line in logged.withLock { $0.append(line) } }),
            queue: queue)
        let states = StateLog(journal)
        self.states = states
        client.observe { states.note($0) }
    }

    struct World {
        let provider: TestProvider
        let transport: ScriptedTransport
        let listeners: FakeListeners
        let store: RecordingStore
    }

    var listener: FakeListener {
        get throws { try #require(listeners.made.last) }
    }

    /// Waits until the store's queue has nothing to do. Everything of a client runs there but the load of a key set; whoever
    /// waits for that waits for an outcome.
    func rest() async {
        await onQueue { for _ in 0..<100 { await Task.yield() } }
    }

    /// Many turns on the queue for one turn among all tests.
    func onQueue(_ work: @escaping @Sendable () async -> Void) async {
        await Task(executorPreference: queue, operation: work).value
    }

    // MARK: Login

    /// A login that waits for its redirect.
    func waitingLogin(_ options: LoginOptions = LoginOptions()) async throws -> Call<Identity> {
        let call = client.startLogin(options)
        await rest()
        try #require(client.state == .authorizing)
        return call
    }

    /// The response parameters of a provider that says yes to the login that waits.
    func response(to url: String? = nil) throws -> String {
        let url = try #require(url ?? client.authorizationURL)
        let state = try parameter("state", of: url)
        return FormEncoding.encode([("code", "code-\(try parameter("nonce", of: url))"), ("state", state)])
    }

    func parameter(_ name: String, of url: String) throws -> String {
        try #require(FormEncoding.parse(URLParts.split(url).query ?? "").first { $0.name == name }?.value)
    }

    /// The whole redirect to the login that waits.
    func redirect(to url: String? = nil) throws -> String {
        let url = try #require(url ?? client.authorizationURL)
        return try parameter("redirect_uri", of: url) + "?" + response(to: url)
    }

    @discardableResult
    func signIn(_ options: LoginOptions = LoginOptions()) async throws -> Identity {
        let call = try await waitingLogin(options)
        let page = try listener.navigate(try response())
        let identity = try await call.value()
        #expect(try await page.shown() == .signedIn)
        await rest()
        return identity
    }

    /// A client whose person is signed in, with nothing noted yet.
    static func signedIn(
        _ place: StoreFixture? = nil, _ time: VirtualTime = VirtualTime(), retryPolicy: RetryPolicy? = nil,
        pauses: Pauses = Pauses()
    ) async throws -> Harness {
        let harness = try Harness(place: place, time: time, retryPolicy: retryPolicy, pauses: pauses)
        try await harness.signIn()
        harness.journal.clear()
        harness.states.clear()
        return harness
    }

    /// Lets time pass until the call has ended: from timer to timer, so that nothing happens late.
    func passTime<Value>(until call: Call<Value>) async {
        while !call.isEnded {
            await rest()
            if !call.isEnded, let due = time.nextDue { time.advance(due - time.boot) }
        }
    }

    func storedRefreshToken() throws -> String? { try store.store.grant()?.refreshToken }

    /// Closes the client and waits until nothing of it runs.
    func close() async throws {
        let idle = Outcome<Void>()
        client.close()
        client.whenIdle { idle.settle(.success(())) }
        try await idle.result.get()
    }
}

extension Call {
    /// How it ended, without the words for logs.
    func failure() async -> OAuthError? {
        do throws(OAuthError) {
            _ = try await value()
            return nil
        } catch {
            return error.bare
        }
    }
}

extension OAuthError {
    /// Category and cause alone.
    var bare: OAuthError {
        switch self {
        case .recoverable(let cause, _): .recoverable(cause)
        case .reauthenticate(let cause, _): .reauthenticate(cause)
        case .stepUp(let challenge, _): .stepUp(challenge)
        case .configuration(let cause, _): .configuration(cause)
        }
    }

    static let userCancelled = OAuthError.recoverable(.userCancelled)
    static let systemCancelled = OAuthError.recoverable(.systemCancelled)
}

/// The error that `body` throws, without the words for logs.
func failure<Value>(_ body: () async throws -> Value) async -> OAuthError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? OAuthError)?.bare
    }
}

func failure<Value>(_ body: () throws -> Value) -> OAuthError? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? OAuthError)?.bare
    }
}
