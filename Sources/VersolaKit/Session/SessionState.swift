// SPDX-License-Identifier: Apache-2.0

/// The seven session states (behaviour §1). The last four but `unauthenticated` mean that there is a grant: in none of them
/// is the user signed out.
public enum SessionState: Equatable, Sendable, CaseIterable {
    /// Nobody is signed in.
    case unauthenticated
    /// A login waits for the browser.
    case authorizing
    /// Signed in.
    case authenticated
    /// Signed in; a new access token is being fetched.
    case refreshing
    /// Signed in; a resource asked for stronger or fresher authentication.
    case stepUpRequired
    /// Signed in; the store's key needs the user.
    case locked
    /// Logout has begun.
    case loggingOut

    /// The state as a function of what holds: the first match wins, and nothing else decides it.
    init(_ facts: SessionFacts) {
        self =
            if facts.loggingOut {
                .loggingOut
            } else if facts.loginsWaiting > 0 {
                .authorizing
            } else if facts.refreshing {
                .refreshing
            } else if facts.hasGrant, facts.keyLocked {
                .locked
            } else if facts.hasGrant, facts.challenge != nil {
                .stepUpRequired
            } else if facts.hasGrant {
                .authenticated
            } else {
                .unauthenticated
            }
    }
}

/// What the state is a function of.
struct SessionFacts: Equatable, Sendable {
    /// A logout that began with a grant is running.
    var loggingOut = false
    /// Logins that wait for the browser or have their code exchanged, in this process.
    var loginsWaiting = 0
    var refreshing = false
    var hasGrant = false
    /// Start or an operation found the store's key locked, and no unlock has succeeded since.
    var keyLocked = false
    /// Held until a step-up succeeds.
    var challenge: StepUpChallenge?
}

/// One published state.
public struct SessionStateChange: Equatable, Sendable {
    public var state: SessionState
    /// Why, when an error brought it about: the reason someone is suddenly signed out.
    public var reason: OAuthError?
    /// Rises with every login stored, not with a refresh; 0 = nobody is signed in.
    public var generation: Int64
    /// The URL the person has to open, while `authorizing`.
    public var authorizationURL: String?
}
