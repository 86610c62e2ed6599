// SPDX-License-Identifier: Apache-2.0

/// The key set of one `jwks_uri`, loaded once, and again when a token calls for a key it does not hold (behaviour §6).
///
/// A new set replaces the last good one; a failure replaces nothing and is never kept. A set does not expire: it is fetched
/// again when a token needs a key that it lacks, and not before.
final class KeySetCache: Sendable {
    /// Fetches the set, with whatever retries the caller's operation allows. It may serve other callers too, so it runs in a
    /// task of its own, which no caller's cancellation reaches.
    typealias Load = @Sendable () async -> Result<JWKSet, OAuthError>

    /// How long after a refetch that helped nobody the next may follow.
    static let pauseAfterFruitlessRefetch: BootMillis = 30_000

    private struct Copy: Sendable {
        var keys: JWKSet
        /// How many loads succeeded up to this one.
        var number: Int
    }

    private enum Source: Sendable {
        case here(Copy)
        case coming(Task<Result<Copy, OAuthError>, Never>)

        var copy: Result<Copy, OAuthError> {
            get async {
                switch self {
                case .here(let copy): .success(copy)
                case .coming(let task): await task.value
                }
            }
        }
    }

    private struct State {
        var copy: Copy?
        var loading: Task<Result<Copy, OAuthError>, Never>?
        /// When the last refetch ended, unless a token was judged with what it brought.
        var fruitlessSince: BootMillis?
    }

    private let state = Lock(State())
    private let time: any TimeSource
    private let executor: (any TaskExecutor)?

    /// - Parameter executor: where loads run; `nil` = Swift's own pool.
    init(time: any TimeSource, executor: (any TaskExecutor)? = nil) {
        self.time = time
        self.executor = executor
    }

    /// The cached set; loads it if there is none yet.
    func keys(load: @escaping Load) async -> Result<JWKSet, OAuthError> {
        await current(load).map(\.keys)
    }

    /// Judges something signed with the cached set, and once more with a fresh one when no key fitted.
    ///
    /// - Parameters:
    ///   - cause: what a rejection is told as.
    ///   - judge: called once or twice.
    /// - Returns: the verdict, or why the set could not be loaded.
    func verify<Value: Sendable>(
        rejectedAs cause: ConfigurationCause = .idTokenRejected, load: @escaping Load,
        judge: (JWKSet) -> Result<Value, IDTokenRejection>
    ) async -> Result<Value, OAuthError> {
        let copy: Copy
        switch await current(load) {
        case .failure(let error): return .failure(error)
        case .success(let cached): copy = cached
        }
        let verdict = judge(copy.keys)
        guard case .failure(.noFittingKey) = verdict, let refetch = await newer(than: copy.number, load) else {
            return verdict.mapError { $0.asError(cause) }
        }
        switch refetch {
        case .failure(let error): return .failure(error)
        case .success(let fresh):
            let verdict = judge(fresh.keys)
            if case .failure(.noFittingKey) = verdict {} else { noteHelp(of: fresh.number) }
            return verdict.mapError { $0.asError(cause) }
        }
    }

    private func current(_ load: @escaping Load) async -> Result<Copy, OAuthError> {
        let source = state.withLock { state -> Source in
            state.copy.map(Source.here) ?? .coming(joinOrStart(&state, load))
        }
        return await source.copy
    }

    /// A copy with a higher number, or `nil` while none may be fetched.
    private func newer(than number: Int, _ load: @escaping Load) async -> Result<Copy, OAuthError>? {
        let source = state.withLock { state -> Source? in
            if let copy = state.copy, copy.number > number { return .here(copy) }
            if state.loading == nil, let since = state.fruitlessSince,
                time.boot &- since < Self.pauseAfterFruitlessRefetch
            {
                return nil
            }
            return .coming(joinOrStart(&state, load))
        }
        return await source?.copy
    }

    /// The load under way, or a new one. Called with the lock held.
    private func joinOrStart(_ state: inout State, _ load: @escaping Load) -> Task<Result<Copy, OAuthError>, Never> {
        if let loading = state.loading { return loading }
        let task = Task(executorPreference: executor) { self.finish(await load()) }
        state.loading = task
        return task
    }

    private func finish(_ loaded: Result<JWKSet, OAuthError>) -> Result<Copy, OAuthError> {
        state.withLock { state in
            state.loading = nil
            return loaded.map { keys in
                let copy = Copy(keys: keys, number: (state.copy?.number ?? 0) + 1)
                // The first load answers nobody's doubt. A failed refetch tells nothing about the keys, and the pause of its
                // origin and the caller's budget already limit the next one.
                if state.copy != nil { state.fruitlessSince = time.boot }
                state.copy = copy
                return copy
            }
        }
    }

    /// A token was judged thanks to the refetch that brought copy `number`, so that one was not fruitless.
    private func noteHelp(of number: Int) {
        state.withLock { state in
            if state.copy?.number == number { state.fruitlessSince = nil }
        }
    }
}

extension IDTokenRejection {
    fileprivate func asError(_ cause: ConfigurationCause) -> OAuthError {
        switch self {
        case .noFittingKey(let sentence), .rejected(let sentence): .configuration(cause, Diagnostics(sentence))
        }
    }
}
