// SPDX-License-Identifier: Apache-2.0

/// One login from the moment the browser is opened (behaviour §4).
struct Login: Sendable {
    enum Phase: Sendable {
        /// For the redirect.
        case waiting
        /// System-cancelled: its redirect still counts, but nobody waits and the state does not show it.
        case dormant
        /// The redirect came; the code is on its way. Nothing but its own request timeout ends this any more.
        case settling
    }

    let request: PendingRequest
    let budget: OperationBudget
    let outcome = Outcome<Identity>()
    /// The app's call; `nil` for a login taken over from another run.
    let call: Call<Identity>?
    var phase = Phase.waiting
    /// A logout came while the code was on its way: what it brings is not stored but revoked.
    var discarded = false
    var listener: (any RedirectListener)?
    var deadline: (any Scheduled)?
}

/// A login from the call until the browser is opened: it asks for the metadata, or waits for a logout to end.
struct OpeningLogin: Sendable {
    let call: Call<Identity>
    let budget: OperationBudget

    /// Ends it before it has changed anything; what it asks of the provider is not asked again.
    func end(_ error: OAuthError) {
        // First, or what ends the waiting for a repeat were told in its place.
        call.end(.failure(error))
        budget.abandon()
    }
}

/// States of logins that are over, for late and repeated redirects: the page they get. Bounded; the oldest are forgotten.
struct PastLogins: Sendable {
    private var entries: [(state: String, page: ResultPage)] = []

    mutating func remember(_ state: String, _ page: ResultPage) {
        entries.append((state, page))
        if entries.count > 32 { entries.removeFirst() }
    }

    func page(for state: String) -> ResultPage? {
        entries.last { equalInConstantTime($0.state, state) }?.page
    }
}
