// SPDX-License-Identifier: Apache-2.0

/// Everything that can go wrong, in four closed categories: branch on the category, then on the cause, never on text.
///
/// The second value carries what logs need (``Diagnostics``); no branch depends on it.
public enum OAuthError: Error, Equatable, Sendable {
    /// Offer "try again", or wait for `retryAfterMillis`.
    case recoverable(RecoverableCause, Diagnostics = .none)
    /// Lead the user to `login()`; the library never opens a browser by itself.
    case reauthenticate(ReauthenticateCause, Diagnostics = .none)
    /// Call `stepUp()` with the challenge, then send the request again.
    case stepUp(StepUpChallenge, Diagnostics = .none)
    /// A mistake of the deployment, or an attack: fix before release, do not catch in production.
    case configuration(ConfigurationCause, Diagnostics = .none)

    public var diagnostics: Diagnostics {
        switch self {
        case .recoverable(_, let diagnostics), .reauthenticate(_, let diagnostics), .stepUp(_, let diagnostics),
            .configuration(_, let diagnostics):
            diagnostics
        }
    }
}

public enum RecoverableCause: Equatable, Sendable {
    case userCancelled
    case systemCancelled
    case pendingRequestExpired
    /// Nobody answered.
    case network(NetworkReason)
    /// The provider answered, and failed.
    ///
    /// - Parameters:
    ///   - status: HTTP status, 0 = none.
    ///   - retryAfterMillis: when the provider wants to be asked again, `nil` if it did not say.
    ///   - attempts: failed requests of the request that raised the error; 0 = nothing was sent because a pause runs.
    ///   - elapsedMillis: of the operation, without the time spent in the browser.
    case server(status: Int, retryAfterMillis: Int64?, attempts: Int, elapsedMillis: Int64)
    case unlockRequired
    case nonceLoop
}

public enum NetworkReason: String, Equatable, Sendable, CaseIterable {
    case dns, connect, proxy, tls, timeout, reset, lock
}

public enum ReauthenticateCause: Equatable, Sendable, CaseIterable {
    case authorizationDenied
    case interactionRequired
    case credentialsInvalidated
    case grantRejected
    case sessionRejected
    case sessionExpired
}

/// What a resource asked for (RFC 9470).
public struct StepUpChallenge: Equatable, Sendable {
    public var acrValues: String?
    /// Seconds.
    public var maxAge: Int64?
    public var scope: String?
}

public enum ConfigurationCause: Equatable, Sendable, CaseIterable {
    case stateMismatch
    case issuerMismatch
    case idTokenRejected
    case providerUnsupported
    case invalidConfiguration
    case authorizationRejected
    case discoveryIssuerMismatch
    case endpointRedirected
    case userInfoRejected
    case storeUnavailable
}
