// SPDX-License-Identifier: Apache-2.0

/// An answer that its endpoint judges, and what it took to get it.
struct ProviderAnswer: Sendable {
    let kind: RequestKind
    let response: HTTPResponse
    /// Failed sendings of the request before this one.
    let failures: Int
    let origin: String
    /// The URL without its query, for logs.
    let place: String
    let budget: OperationBudget
    let pauses: Pauses

    /// What is left of a pause that somebody else's request has started meanwhile.
    var pauseLeftMillis: Int64? { pauses.leftMillis(origin, now: budget.time.boot) }
}

/// The one place through which every request of the library goes: it owns retries and pauses (behaviour §3).
struct Sender: Sendable {
    let transport: any HTTPTransport
    let time: any TimeSource
    let random: any RandomSource
    let pauses: Pauses
    /// Once the client is closed nobody waits for a retry any more, nor for the answer to some (``RequestKind/endsOnClose``).
    var closing: Closing
    /// False for who has something to finish, for which the answer is needed: that a close must not end.
    var givesUpOnClose = true
    var log = Log.off

    /// What one sending led to.
    enum Step: Sendable {
        case answer(ProviderAnswer)
        case again(afterMillis: Int64, Failure)
        case end(OAuthError)
    }

    /// A failed sending, and how many of its request there were.
    struct Failure: Sendable {
        let kind: RequestKind
        let origin: String
        /// The URL without its query, for logs.
        let place: String
        let outcome: RequestOutcome
        let count: Int
    }

    /// Gets what several steps of an operation may need. What one of them asked for in vain the next does not ask for again,
    /// but is told the same.
    func load<Value>(
        _ kind: RequestKind, _ request: HTTPRequest, budget: OperationBudget,
        _ judge: (ProviderAnswer) throws(OAuthError) -> Value
    ) async -> Result<Value, OAuthError> {
        if let known = budget.failure(of: request.url) {
            let left = pauses.leftMillis(URLParts(request.url)?.origin ?? "", now: time.boot)
            return .failure(known.toldAgain(retryAfterMillis: left, elapsedMillis: budget.elapsedMillis))
        }
        do throws(OAuthError) {
            return .success(try judge(try await send(kind, request, budget: budget).get()))
        } catch {
            // One that a pause refused was not asked for.
            if !error.isRefusalByPause { budget.noteFailure(of: request.url, error) }
            return .failure(error)
        }
    }

    /// Sends a request, again as often as answer, request and budget allow, and gives what its endpoint is to judge.
    ///
    /// - Parameter abandoned: nobody waits for this request any more, while others may for what else the operation started.
    func send(
        _ kind: RequestKind, _ request: HTTPRequest, budget: OperationBudget, abandoned: Closing? = nil
    ) async -> Result<ProviderAnswer, OAuthError> {
        var last: Failure?
        while true {
            switch await step(kind, request, budget: budget, after: last) {
            case .answer(let answer): return .success(answer)
            case .end(let error): return .failure(error)
            case .again(let millis, let failure):
                guard await wait(millis, budget, abandoned) else { return .failure(error(failure, budget)) }
                last = failure
            }
        }
    }

    /// One sending, for requests that need something done before each.
    func step(
        _ kind: RequestKind, _ request: HTTPRequest, budget: OperationBudget, after last: Failure? = nil
    ) async -> Step {
        let origin = URLParts(request.url)?.origin ?? ""
        let place = URLParts.split(request.url).base
        if let last, budget.isOver { return .end(error(last, budget)) }
        // The exchange is never refused: the person has just signed in, and it is sent only once.
        if kind != .codeExchange, let error = refusal(origin, kind, budget, failures: last?.count ?? 0) {
            return .end(error)
        }
        var request = request
        if givesUpOnClose, kind.endsOnClose { request.unlessClosed = closing }
        let outcome: RequestOutcome =
            switch await transport.send(request) {
            case .success(let response): .answered(response)
            case .failure(let failure): .failed(failure)
            }
        if case .answered(let response) = outcome {
            log(.debug, "\(kind.rawValue): \(place) answered \(response.status)")
        }
        let failures = (last?.count ?? 0) + (outcome.isFailure ? 1 : 0)
        let asked: Int64? =
            if case .answered(let response) = outcome { RetryAfter.millis(response, wall: time.wall) } else { nil }
        let verdict = RetryVerdict(
            outcome, budget.policy,
            RetryVerdict.Circumstances(
                kind: kind, failures: failures,
                allowsAnother: outcome.isFailure ? budget.allowsAnother(afterFailureAt: origin) : true,
                budgetLeftMillis: budget.leftMillis, retryAfterMillis: asked, random: random.unit()))
        let failure = Failure(kind: kind, origin: origin, place: place, outcome: outcome, count: failures)
        switch (verdict, outcome) {
        case (.accept, .answered(let response)):
            return .answer(
                ProviderAnswer(
                    kind: kind, response: response, failures: failures, origin: origin, place: place, budget: budget,
                    pauses: pauses))
        case (.wait, _) where closing.isClosed:
            return .end(error(failure, budget))
        case (.wait(let millis), _):
            log(.info, "\(error(failure, budget).diagnostics.detail); it is sent again after \(millis) ms")
            return .again(afterMillis: millis, failure)
        case (.end(let pause?), .answered(let response)):
            let now = time.boot
            pauses.lengthen(origin, until: now + pause, status: response.status)
            // A wait of no length is no pause, and told all the same.
            let left = pauses.leftMillis(origin, now: now) ?? pause
            return .end(error(failure, budget, retryAfterMillis: left))
        case (.end, _), (.accept, .failed):
            return .end(error(failure, budget))
        }
    }

    /// Why nothing would be sent to the origin now: a pause runs there.
    func refusal(
        _ origin: String, _ kind: RequestKind, _ budget: OperationBudget, failures: Int = 0
    ) -> OAuthError? {
        let now = time.boot
        guard let pause = pauses.running(origin, now: now) else { return nil }
        return .server(
            kind, at: origin, status: pause.status, retryAfterMillis: pause.until - now, attempts: failures,
            elapsedMillis: budget.elapsedMillis)
    }

    /// False when the client was closed meanwhile, or the operation or the request abandoned.
    func wait(_ millis: Int64, _ budget: OperationBudget, _ abandoned: Closing? = nil) async -> Bool {
        let woken = Outcome<Bool>()
        let timer = time.schedule(at: time.boot + millis) { woken.settle(.success(true)) }
        let ends = [closing, budget.abandoned, abandoned].compactMap(\.self)
        let registrations = ends.map { $0.onClose { woken.settle(.success(false)) } }
        let result = (try? await woken.result.get()) ?? false
        timer.cancel()
        for (end, registration) in zip(ends, registrations) { end.forget(registration) }
        return result
    }

    /// How a failed sending is told when no other follows; also when somebody else's request started a pause meanwhile.
    func error(_ failure: Failure, _ budget: OperationBudget) -> OAuthError {
        error(failure, budget, retryAfterMillis: pauses.leftMillis(failure.origin, now: time.boot))
    }

    private func error(_ failure: Failure, _ budget: OperationBudget, retryAfterMillis: Int64?) -> OAuthError {
        switch failure.outcome {
        case .failed(let transport):
            .recoverable(.network(transport.reason), "\(failure.kind.rawValue): \(transport.detail)")
        case .answered(let response):
            .server(
                failure.kind, at: failure.place, status: response.status, retryAfterMillis: retryAfterMillis,
                attempts: failure.count,
                elapsedMillis: budget.elapsedMillis)
        }
    }
}

extension RandomSource {
    /// Uniform from 0 up to 1, for jitter. Without randomness the full delay.
    func unit() -> Double {
        guard let bytes = try? bytes(4) else { return 1 }
        return Double(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) / 4_294_967_296
    }
}
