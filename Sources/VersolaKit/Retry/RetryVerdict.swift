// SPDX-License-Identifier: Apache-2.0

/// How one sending of a request ended.
enum RequestOutcome: Sendable {
    case answered(HTTPResponse)
    case failed(TransportFailure)

    /// Nobody answered, or with a status that says "not now": only such requests count as attempts (behaviour §3).
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

/// What follows from one sending: a pure value of request kind, outcome and attempts so far, decided here only.
enum RetryVerdict: Sendable {
    /// The endpoint judges the answer.
    case accept(HTTPResponse)
    case end(OAuthError)

    init(_ kind: RequestKind, _ outcome: RequestOutcome, attempts: Int, elapsedMillis: Int64) {
        switch outcome {
        case .failed(let failure):
            self = .end(.recoverable(.network(failure.reason), "\(kind.rawValue): \(failure.detail)"))
        case .answered(let response) where outcome.isFailure:
            self = .end(
                .server(kind, status: response.status, attempts: attempts, elapsedMillis: elapsedMillis))
        case .answered(let response):
            self = .accept(response)
        }
    }
}
