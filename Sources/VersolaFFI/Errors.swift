// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

/// An error as C reads it: everything is laid out when it is made.
final class ErrorObject: @unchecked Sendable {
    let cause: Int32
    let detail: CText
    let oauthError: CText?
    let errorDescription: CText?
    let serverFailure: UnsafeMutablePointer<versola_server_failure>?
    let networkFailure: UnsafeMutablePointer<versola_network_failure>?
    let challenge: UnsafeMutablePointer<versola_step_up_challenge>?
    private let acrValues: CText?
    private let scope: CText?

    init(_ error: OAuthError) {
        cause = error.causeNumber.number
        let diagnostics = error.diagnostics
        detail = CText(diagnostics.detail)
        oauthError = diagnostics.oauthError.map(CText.init)
        errorDescription = diagnostics.errorDescription.map(CText.init)
        var server: UnsafeMutablePointer<versola_server_failure>?
        var network: UnsafeMutablePointer<versola_network_failure>?
        if case .recoverable(.server(let status, let retryAfterMillis, let attempts, let elapsedMillis), _) = error {
            server = .allocate(capacity: 1)
            server?.initialize(
                to: versola_server_failure(
                    struct_size: UInt32(MemoryLayout<versola_server_failure>.size), status: Int32(clamping: status),
                    retry_after_ms: retryAfterMillis ?? -1, attempts: Int32(clamping: attempts), reserved: 0,
                    elapsed_ms: elapsedMillis))
        }
        if case .recoverable(.network(let reason), _) = error {
            network = .allocate(capacity: 1)
            network?.initialize(
                to: versola_network_failure(
                    struct_size: UInt32(MemoryLayout<versola_network_failure>.size),
                    reason: reason.cValue.number))
        }
        serverFailure = server
        networkFailure = network
        guard case .stepUp(let asked, _) = error else {
            (challenge, acrValues, scope) = (nil, nil, nil)
            return
        }
        let acrValues = asked.acrValues.map(CText.init)
        let scope = asked.scope.map(CText.init)
        let challenge = UnsafeMutablePointer<versola_step_up_challenge>.allocate(capacity: 1)
        challenge.initialize(
            to: versola_step_up_challenge(
                struct_size: UInt32(MemoryLayout<versola_step_up_challenge>.size), reserved: 0,
                acr_values: acrValues?.pointer, max_age_s: asked.maxAge ?? -1, scope: scope?.pointer))
        (self.challenge, self.acrValues, self.scope) = (challenge, acrValues, scope)
    }

    deinit {
        serverFailure?.deallocate()
        networkFailure?.deallocate()
        challenge?.deallocate()
    }
}

extension OAuthError {
    fileprivate var causeNumber: versola_cause {
        switch self {
        case .recoverable(let cause, _):
            switch cause {
            case .userCancelled: VERSOLA_CAUSE_USER_CANCELLED
            case .systemCancelled: VERSOLA_CAUSE_SYSTEM_CANCELLED
            case .pendingRequestExpired: VERSOLA_CAUSE_PENDING_REQUEST_EXPIRED
            case .network: VERSOLA_CAUSE_NETWORK
            case .server: VERSOLA_CAUSE_SERVER
            case .unlockRequired: VERSOLA_CAUSE_UNLOCK_REQUIRED
            case .nonceLoop: VERSOLA_CAUSE_NONCE_LOOP
            }
        case .reauthenticate(let cause, _):
            switch cause {
            case .authorizationDenied: VERSOLA_CAUSE_AUTHORIZATION_DENIED
            case .interactionRequired: VERSOLA_CAUSE_INTERACTION_REQUIRED
            case .credentialsInvalidated: VERSOLA_CAUSE_CREDENTIALS_INVALIDATED
            case .grantRejected: VERSOLA_CAUSE_GRANT_REJECTED
            case .sessionRejected: VERSOLA_CAUSE_SESSION_REJECTED
            case .sessionExpired: VERSOLA_CAUSE_SESSION_EXPIRED
            }
        case .stepUp: VERSOLA_CAUSE_INSUFFICIENT_USER_AUTHENTICATION
        case .configuration(let cause, _):
            switch cause {
            case .stateMismatch: VERSOLA_CAUSE_STATE_MISMATCH
            case .issuerMismatch: VERSOLA_CAUSE_ISSUER_MISMATCH
            case .idTokenRejected: VERSOLA_CAUSE_ID_TOKEN_REJECTED
            case .providerUnsupported: VERSOLA_CAUSE_PROVIDER_UNSUPPORTED
            case .invalidConfiguration: VERSOLA_CAUSE_INVALID_CONFIGURATION
            case .authorizationRejected: VERSOLA_CAUSE_AUTHORIZATION_REJECTED
            case .discoveryIssuerMismatch: VERSOLA_CAUSE_DISCOVERY_ISSUER_MISMATCH
            case .endpointRedirected: VERSOLA_CAUSE_ENDPOINT_REDIRECTED
            case .userInfoRejected: VERSOLA_CAUSE_USER_INFO_REJECTED
            case .storeUnavailable: VERSOLA_CAUSE_STORE_UNAVAILABLE
            }
        }
    }
}

extension NetworkReason {
    fileprivate var cValue: versola_network_reason {
        switch self {
        case .dns: VERSOLA_NETWORK_DNS
        case .connect: VERSOLA_NETWORK_CONNECT
        case .proxy: VERSOLA_NETWORK_PROXY
        case .tls: VERSOLA_NETWORK_TLS
        case .timeout: VERSOLA_NETWORK_TIMEOUT
        case .reset: VERSOLA_NETWORK_RESET
        case .lock: VERSOLA_NETWORK_LOCK
        }
    }
}

@implementation @_cdecl("versola_error_category")
public func versola_error_category(_ error: OpaquePointer?) -> Int32 {
    (object(error, as: ErrorObject.self)?.cause ?? 0) / 100
}

@implementation @_cdecl("versola_error_cause")
public func versola_error_cause(_ error: OpaquePointer?) -> Int32 {
    object(error, as: ErrorObject.self)?.cause ?? 0
}

@implementation @_cdecl("versola_error_detail")
public func versola_error_detail(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(error, as: ErrorObject.self)?.detail.pointer
}

@implementation @_cdecl("versola_error_oauth_error")
public func versola_error_oauth_error(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(error, as: ErrorObject.self)?.oauthError?.pointer
}

@implementation @_cdecl("versola_error_description")
public func versola_error_description(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(error, as: ErrorObject.self)?.errorDescription?.pointer
}

@implementation @_cdecl("versola_error_server_failure")
public func versola_error_server_failure(_ error: OpaquePointer?) -> UnsafePointer<versola_server_failure>? {
    object(error, as: ErrorObject.self)?.serverFailure.map { UnsafePointer($0) }
}

@implementation @_cdecl("versola_error_network_failure")
public func versola_error_network_failure(_ error: OpaquePointer?) -> UnsafePointer<versola_network_failure>? {
    object(error, as: ErrorObject.self)?.networkFailure.map { UnsafePointer($0) }
}

@implementation @_cdecl("versola_error_step_up_challenge")
public func versola_error_step_up_challenge(_ error: OpaquePointer?) -> UnsafePointer<versola_step_up_challenge>? {
    object(error, as: ErrorObject.self)?.challenge.map { UnsafePointer($0) }
}

@implementation @_cdecl("versola_error_retain")
public func versola_error_retain(_ error: OpaquePointer?) -> OpaquePointer? {
    object(error, as: ErrorObject.self).map(give)
}

@implementation @_cdecl("versola_error_release")
public func versola_error_release(_ error: OpaquePointer?) {
    drop(error, as: ErrorObject.self)
}
