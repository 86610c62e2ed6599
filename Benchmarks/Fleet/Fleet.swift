// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// Which client all the apps of a fleet are built on.
enum ClientKind: Sendable, Equatable {
    /// One request a call, and the error.
    case neverRetries
    /// Up to three more requests at once, whatever the answer says.
    case retriesBlindly
    /// This library.
    case versola(RetryPolicy)
    /// This library with a rule that it does not have: after a call that ended with a failure the next ones send one
    /// request, until one succeeds.
    case versolaRepeatingOnlyAfterSuccess(RetryPolicy)

    static let blindRetries = 3
}

/// What one fleet did in one story.
struct FleetResult: Sendable, Equatable {
    /// Requests that arrived at the provider, for each second.
    var load: [Int]
    /// For each client, from the beginning of the trouble until it was served.
    var requests: [Int]
    /// For each client, milliseconds from the provider's recovery; `nil` when it was never served.
    var servedAfter: [Int64?]
    /// Requests that arrived before the time the client had been told.
    var tooEarly: Int
    /// Calls of the app that ended with an error.
    var failedCalls = 0
    /// Those for which nothing was sent, because a pause ran.
    var refusedByPause = 0
    /// The most requests that one call sent.
    var mostRequestsOfACall = 0
}

/// Many apps, each with one session and a process of its own, asking for an access token every half a minute or so,
/// whatever the answer was. Pauses, budgets, verdicts and the reading of headers are the library's; the simulation only says when.
struct Fleet: Sendable {
    /// From the end of an app's call to its next one, give or take a tenth: no app is a metronome.
    static let rhythm: Int64 = 30_000
    static let tokenLife: Int64 = 300_000
    /// A token with less left is refreshed first (behaviour of `access_token()`).
    static let minValid: Int64 = 30_000
    static let duration: Int64 = 1_200_000

    var story: Story
    var kind: ClientKind
    var clients: Int
    /// Requests that the provider serves in a second.
    var capacity: Int
    var seed: UInt64

    private struct Client {
        let pauses = Pauses()
        var issuedAt: Int64
        var call: Call?
        var lastCallFailed = false
        var servedAt: Int64?
    }

    private struct Call {
        let budget: OperationBudget
        var failure: Sender.Failure?
    }

    private struct Run {
        var generator: SplitMix
        var clients: [Client] = []
        var agenda: Agenda
        var failedCalls = 0
        var refusedByPause = 0
        var mostRequestsOfACall = 0
    }

    func run() async -> FleetResult {
        let time = FleetTime()
        let random = FleetRandom(seed ^ 1)
        let provider = FleetProvider(
            story, clients: clients, capacity: capacity, seconds: Int(Self.duration / 1000), seed: seed ^ 2)
        var run = Run(generator: SplitMix(seed), agenda: Agenda(clients: clients, duration: Self.duration))
        for index in 0..<clients {
            run.clients.append(Client(issuedAt: -run.generator.below(Self.tokenLife - Self.minValid)))
            run.agenda.put(index, at: run.generator.below(Self.rhythm))
        }
        for now in 0..<Self.duration {
            let due = run.agenda.take(at: now)
            guard !due.isEmpty else { continue }
            time.set(now)
            for index in due { await act(index, now, time, random, provider, &run) }
        }
        let books = provider.result
        return FleetResult(
            load: books.load, requests: books.requests,
            servedAfter: run.clients.map { $0.servedAt.map { $0 - story.recovery } }, tooEarly: books.tooEarly,
            failedCalls: run.failedCalls, refusedByPause: run.refusedByPause,
            mostRequestsOfACall: run.mostRequestsOfACall)
    }

    private func tokenLeft(_ issuedAt: Int64, _ now: Int64) -> Int64 {
        if story.isRateLimit, now >= Story.troubleFrom, issuedAt < Story.troubleFrom { return 0 }
        return issuedAt + Self.tokenLife - now
    }

    /// The app asks, or a repeat is due.
    private func act(
        _ index: Int, _ now: Int64, _ time: FleetTime, _ random: FleetRandom, _ provider: FleetProvider,
        _ run: inout Run
    ) async {
        if run.clients[index].call == nil, tokenLeft(run.clients[index].issuedAt, now) >= Self.minValid {
            askLater(index, now, &run)
            return
        }
        let isWaiting = now >= Story.troubleFrom && run.clients[index].servedAt == nil
        let connection = FleetConnection(provider: provider, client: index, now: now, isWaiting: isWaiting)
        switch kind {
        case .neverRetries: await sendBlindly(1, index, now, connection, &run)
        case .retriesBlindly: await sendBlindly(1 + ClientKind.blindRetries, index, now, connection, &run)
        case .versola(let policy):
            await step(index, now, policy, time, random, connection, &run)
        case .versolaRepeatingOnlyAfterSuccess(let policy):
            await step(
                index, now, run.clients[index].lastCallFailed ? Self.once : policy, time, random, connection, &run)
        }
    }

    private static let once = (try? RetryPolicy(maxAttemptsPerOrigin: 1, maxTotalAttempts: 1)) ?? .conservative

    private func sendBlindly(
        _ times: Int, _ index: Int, _ now: Int64, _ connection: FleetConnection, _ run: inout Run
    ) async {
        for _ in 1...times {
            if case .success(let response) = await connection.send(Self.refresh), response.status == 200 {
                end(index, now, hasToken: true, &run)
                return
            }
        }
        end(index, now, hasToken: false, &run)
    }

    private func step(
        _ index: Int, _ now: Int64, _ policy: RetryPolicy, _ time: FleetTime, _ random: FleetRandom,
        _ connection: FleetConnection, _ run: inout Run
    ) async {
        var call = run.clients[index].call ?? Call(budget: OperationBudget(time, policy))
        let sender = Sender(
            transport: connection, time: time, random: random, pauses: run.clients[index].pauses, closing: Self.open)
        switch await sender.step(.refresh, Self.refresh, budget: call.budget, after: call.failure) {
        case .answer: end(index, now, hasToken: true, &run)
        case .again(let millis, let failure):
            call.failure = failure
            run.clients[index].call = call
            run.mostRequestsOfACall = max(run.mostRequestsOfACall, failure.count + 1)
            run.agenda.put(index, at: now + max(1, millis))
        case .end(let error):
            if case .recoverable(.server(_, _, let attempts, _), _) = error, attempts == 0 { run.refusedByPause += 1 }
            end(index, now, hasToken: false, &run)
        }
    }

    private func end(_ index: Int, _ now: Int64, hasToken: Bool, _ run: inout Run) {
        run.clients[index].call = nil
        run.clients[index].lastCallFailed = !hasToken
        if hasToken {
            run.clients[index].issuedAt = now
            if now >= story.recovery, run.clients[index].servedAt == nil { run.clients[index].servedAt = now }
        } else if tokenLeft(run.clients[index].issuedAt, now) <= 0 {
            run.failedCalls += 1
        }
        askLater(index, now, &run)
    }

    private func askLater(_ index: Int, _ now: Int64, _ run: inout Run) {
        let tenth = Self.rhythm / 10
        run.agenda.put(index, at: now + Self.rhythm - tenth + run.generator.below(2 * tenth + 1))
    }

    private static let open = Closing()
    private static let refresh = HTTPRequest(method: "POST", url: "https://id.example.com/token")
}

/// Who acts in which millisecond; each client has one appointment at most.
private struct Agenda {
    private var first: [Int32]
    private var next: [Int32]

    init(clients: Int, duration: Int64) {
        first = Array(repeating: -1, count: Int(duration))
        next = Array(repeating: -1, count: clients)
    }

    /// Beyond the end of the simulation nobody acts.
    mutating func put(_ client: Int, at time: Int64) {
        guard time < first.count else { return }
        next[client] = first[Int(time)]
        first[Int(time)] = Int32(client)
    }

    mutating func take(at time: Int64) -> [Int] {
        var found: [Int] = []
        var client = first[Int(time)]
        while client >= 0 {
            found.append(Int(client))
            client = next[Int(client)]
        }
        return found
    }
}
