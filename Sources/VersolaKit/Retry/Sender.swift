// SPDX-License-Identifier: Apache-2.0

/// The one place through which every request of the library goes.
struct Sender: Sendable {
    let transport: any HTTPTransport

    /// Sends a request, and gives what its endpoint is to judge.
    func send(
        _ kind: RequestKind, _ request: HTTPRequest, budget: OperationBudget
    ) async -> Result<HTTPResponse, OAuthError> {
        let outcome: RequestOutcome =
            switch await transport.send(request) {
            case .success(let response): .answered(response)
            case .failure(let failure): .failed(failure)
            }
        let verdict = RetryVerdict(kind, outcome, attempts: 1, elapsedMillis: budget.elapsedMillis)
        switch verdict {
        case .accept(let response): return .success(response)
        case .end(let error): return .failure(error)
        }
    }
}
