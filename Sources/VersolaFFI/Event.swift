// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

/// One thing a client has to tell; owned by whoever took it from the sink.
final class Event: Sendable {
    enum Content: Sendable {
        case completion(operation: versola_operation, id: UInt64, result: OperationResult, error: ErrorObject?)
        case state(SessionStateChange, url: CText?, reason: ErrorObject?)
        case openURL(CText, report: @Sendable (BrowserReport) -> Void)
        case log(LogLevel, CText, dropped: UInt64)
        case closed
    }

    /// Tells the clients of one queue apart.
    let clientSerial: UInt64
    let content: Content

    init(_ content: Content, of clientSerial: UInt64) {
        self.content = content
        self.clientSerial = clientSerial
    }

    var kind: versola_event_kind {
        switch content {
        case .completion: VERSOLA_EVENT_COMPLETION
        case .state: VERSOLA_EVENT_STATE
        case .openURL: VERSOLA_EVENT_OPEN_URL
        case .log: VERSOLA_EVENT_LOG
        case .closed: VERSOLA_EVENT_CLOSED
        }
    }

    fileprivate var result: OperationResult? {
        if case .completion(_, _, let result, _) = content { result } else { nil }
    }
}

/// What an operation brought; none of it when it failed.
enum OperationResult: Sendable {
    case none
    case identity(IdentityObject)
    case token(TokenObject)
    case userInfo(CText)
    case handled(Bool)
    case logout(LogoutResult)
}

extension SessionState {
    var number: Int32 {
        let value =
            switch self {
            case .unauthenticated: VERSOLA_STATE_UNAUTHENTICATED
            case .authorizing: VERSOLA_STATE_AUTHORIZING
            case .authenticated: VERSOLA_STATE_AUTHENTICATED
            case .refreshing: VERSOLA_STATE_REFRESHING
            case .stepUpRequired: VERSOLA_STATE_STEP_UP_REQUIRED
            case .locked: VERSOLA_STATE_LOCKED
            case .loggingOut: VERSOLA_STATE_LOGGING_OUT
            }
        return value.number
    }
}

private func content(_ event: OpaquePointer?) -> Event.Content? {
    object(event, as: Event.self)?.content
}

@implementation @_cdecl("versola_event_kind")
public func versola_event_kind(_ event: OpaquePointer?) -> Int32 {
    object(event, as: Event.self)?.kind.number ?? 0
}

@implementation @_cdecl("versola_event_is_of")
public func versola_event_is_of(_ event: OpaquePointer?, _ client: OpaquePointer?) -> Bool {
    guard let event: Event = object(event), let client: ClientObject = object(client) else { return false }
    return event.clientSerial == client.serial
}

@implementation @_cdecl("versola_event_operation_id")
public func versola_event_operation_id(_ event: OpaquePointer?) -> UInt64 {
    if case .completion(_, let id, _, _) = content(event) { id } else { 0 }
}

@implementation @_cdecl("versola_event_operation")
public func versola_event_operation(_ event: OpaquePointer?) -> Int32 {
    if case .completion(let operation, _, _, _) = content(event) { operation.number } else { 0 }
}

@implementation @_cdecl("versola_event_status")
public func versola_event_status(_ event: OpaquePointer?) -> Int32 {
    if case .completion(_, _, _, let error?) = content(event) { error.cause } else { VERSOLA_OK }
}

@implementation @_cdecl("versola_event_error")
public func versola_event_error(_ event: OpaquePointer?) -> OpaquePointer? {
    switch content(event) {
    case .completion(_, _, _, let error): lend(error)
    case .state(_, _, let reason): lend(reason)
    default: nil
    }
}

@implementation @_cdecl("versola_event_token")
public func versola_event_token(_ event: OpaquePointer?) -> OpaquePointer? {
    if case .token(let token) = object(event, as: Event.self)?.result { lend(token) } else { nil }
}

@implementation @_cdecl("versola_event_identity")
public func versola_event_identity(_ event: OpaquePointer?) -> OpaquePointer? {
    if case .identity(let identity) = object(event, as: Event.self)?.result { lend(identity) } else { nil }
}

@implementation @_cdecl("versola_event_user_info")
public func versola_event_user_info(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    if case .userInfo(let claims) = object(event, as: Event.self)?.result { claims.pointer } else { nil }
}

@implementation @_cdecl("versola_event_handled")
public func versola_event_handled(_ event: OpaquePointer?) -> Bool {
    if case .handled(let handled) = object(event, as: Event.self)?.result { handled } else { false }
}

@implementation @_cdecl("versola_event_token_revoked")
public func versola_event_token_revoked(_ event: OpaquePointer?) -> Bool {
    if case .logout(let result) = object(event, as: Event.self)?.result { result.tokenRevoked } else { false }
}

@implementation @_cdecl("versola_event_session_ended")
public func versola_event_session_ended(_ event: OpaquePointer?) -> Bool {
    if case .logout(let result) = object(event, as: Event.self)?.result { result.sessionEnded } else { false }
}

@implementation @_cdecl("versola_event_state")
public func versola_event_state(_ event: OpaquePointer?) -> Int32 {
    if case .state(let change, _, _) = content(event) { change.state.number } else { 0 }
}

@implementation @_cdecl("versola_event_generation")
public func versola_event_generation(_ event: OpaquePointer?) -> Int64 {
    if case .state(let change, _, _) = content(event) { change.generation } else { 0 }
}

@implementation @_cdecl("versola_event_url")
public func versola_event_url(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    switch content(event) {
    case .state(_, let url, _): url?.pointer
    case .openURL(let url, _): url.pointer
    default: nil
    }
}

@implementation @_cdecl("versola_event_log_level")
public func versola_event_log_level(_ event: OpaquePointer?) -> Int32 {
    if case .log(let level, _, _) = content(event) { level.rawValue } else { 0 }
}

@implementation @_cdecl("versola_event_message")
public func versola_event_message(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    if case .log(_, let message, _) = content(event) { message.pointer } else { nil }
}

@implementation @_cdecl("versola_event_dropped")
public func versola_event_dropped(_ event: OpaquePointer?) -> UInt64 {
    if case .log(_, _, let dropped) = content(event) { dropped } else { 0 }
}

@implementation @_cdecl("versola_event_answer_open_url")
public func versola_event_answer_open_url(_ event: OpaquePointer?, _ answer: Int32, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let event: Event = try required(event, "event")
        guard case .openURL(_, let report) = event.content else {
            throw invalid("event: it does not ask to open a URL")
        }
        switch answer {
        case VERSOLA_OPEN_URL_OPENED.number: report(.opened)
        case VERSOLA_OPEN_URL_FAILED.number: report(.failed)
        case VERSOLA_OPEN_URL_USER_CLOSED.number: report(.userClosed)
        case VERSOLA_OPEN_URL_SYSTEM_CLOSED.number: report(.systemClosed)
        default: throw invalid("answer: there is no answer \(answer)")
        }
    }
}

@implementation @_cdecl("versola_event_release")
public func versola_event_release(_ event: OpaquePointer?) {
    drop(event, as: Event.self)
}
