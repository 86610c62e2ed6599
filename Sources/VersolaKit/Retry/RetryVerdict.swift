// SPDX-License-Identifier: Apache-2.0

/// How one sending of a request ended.
enum RequestOutcome: Sendable {
    case answered(HTTPResponse)
    case failed(TransportFailure)

    /// Nobody answered, or with a status that says "not now": such requests spend the budget (behaviour §3).
    var isFailure: Bool {
        switch self {
        case .failed: true
        case .answered(let response): Self.isTransient(response.status)
        }
    }

    /// 408, 429 and 5xx: the provider failed, whatever the operation.
    static func isTransient(_ status: Int) -> Bool {
        status == 408 || status == 429 || (500...599).contains(status)
    }
}

extension RequestKind {
    /// The table "sent again after" (behaviour §3).
    fileprivate func isSentAgain(after outcome: RequestOutcome) -> Bool {
        switch (self, outcome) {
        // A code works once.
        case (.codeExchange, _): false
        // Only when it surely was not processed: else the provider may have rotated the token.
        case (.refresh, .failed(let failure)): !failure.mayHaveBeenSent
        case (.refresh, .answered(let response)): [408, 429, 503].contains(response.status)
        case (_, .failed): true
        case (_, .answered(let response)): [408, 429, 500, 502, 503, 504].contains(response.status)
        }
    }
}

/// What follows from one sending: a pure value of what was sent, how it ended, what the budget has left, the time and a
/// random number. Decided here and nowhere else; the sender and the simulation of a fleet both ask it.
enum RetryVerdict: Equatable, Sendable {
    /// The endpoint judges the answer.
    case accept
    /// The same request again, after this time and no earlier.
    case wait(millis: Int64)
    /// The operation ends. With a pause the origin is left alone for so long.
    case end(pauseMillis: Int64?)

    struct Circumstances: Sendable {
        var kind: RequestKind
        /// Failed sendings of this request, this one included.
        var failures: Int
        /// The attempt limits of the operation allow another.
        var allowsAnother: Bool
        /// Of the operation's time.
        var budgetLeftMillis: Int64
        /// What the answer asked for.
        var retryAfterMillis: Int64?
        /// 0 up to 1.
        var random: Double
    }

    init(_ outcome: RequestOutcome, _ policy: RetryPolicy, _ now: Circumstances) {
        guard outcome.isFailure else {
            self = .accept
            return
        }
        // Whatever ends the operation while the provider asks to wait starts a pause.
        guard now.kind.isSentAgain(after: outcome), now.allowsAnother else {
            self = .end(pauseMillis: now.retryAfterMillis)
            return
        }
        if let asked = now.retryAfterMillis {
            // Never shortened, and the jitter cannot turn a wait that fits into one that does not. In a budget that is spent
            // none fits, also one of no length.
            guard asked <= now.budgetLeftMillis, now.budgetLeftMillis > 0 else {
                self = .end(pauseMillis: asked)
                return
            }
            let jitter = Int64(Double(min(asked / 10, 1_000)) * now.random)
            self = .wait(millis: asked + min(jitter, now.budgetLeftMillis - asked))
            return
        }
        let delay = policy.backoffMillis(afterFailure: now.failures, random: now.random)
        self = delay <= now.budgetLeftMillis ? .wait(millis: delay) : .end(pauseMillis: nil)
    }
}
