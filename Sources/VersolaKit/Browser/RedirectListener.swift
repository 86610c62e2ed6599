// SPDX-License-Identifier: Apache-2.0

/// Waits for the redirect on loopback (RFC 8252 §7.3). It only decides whether a request is a navigation to our path; what
/// the redirect means is the login's to say.
protocol RedirectListener: AnyObject, Sendable {
    /// The port it is bound to, on every family it listens on.
    var port: UInt16 { get }
    /// Called on the I/O thread with every navigating GET on our path, until `close`. May be replaced at any time: a new
    /// login takes over the listener of the one it replaces.
    func deliver(to handler: @escaping @Sendable (RedirectDelivery) -> Void)
    /// Stops at once; open connections are cut.
    func close()
    /// Stops accepting after `milliseconds`; until then repeated deliveries still reach the handler.
    func close(afterMillis milliseconds: Int64)
}

/// One navigating GET on our path, waiting for its page.
struct RedirectDelivery: Sendable {
    /// The raw query, without the question mark; empty when there is none.
    var query: String
    /// Answers the browser. The first answer counts; without one in 10 s the listener answers `.pending` itself.
    var answer: @Sendable (ResultPage) -> Void
}

/// What the person reads when the browser is done. Which language and how it looks is the page's affair.
enum ResultPage: Equatable, Sendable {
    case signedIn
    case signedOut
    /// The person, or the provider, said no.
    case denied
    /// Something went wrong that the person cannot mend here: go back to the app.
    case failed
    /// Another login has taken the place of this one.
    case replaced
    /// This login is over already (a repeated delivery).
    case alreadyUsed
    /// Not settled within 10 s: look at the app.
    case pending

    /// How a login that ended this way looks to the person.
    init(_ error: OAuthError) {
        self =
            switch error {
            case .reauthenticate(.authorizationDenied, _): .denied
            case .recoverable(.userCancelled, _), .recoverable(.systemCancelled, _): .alreadyUsed
            default: .failed
            }
    }

    init(_ outcome: Result<Identity, OAuthError>) {
        self =
            switch outcome {
            case .success: .signedIn
            case .failure(let error): ResultPage(error)
            }
    }
}
