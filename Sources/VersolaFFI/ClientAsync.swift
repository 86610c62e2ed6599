// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

extension ClientObject {
    /// Starts an operation whose completion goes to the sink, exactly once.
    fileprivate func start<Value>(
        _ operation: versola_operation, id: UInt64, _ begin: (OAuthClient) -> Call<Value>,
        _ outcome: @escaping @Sendable (Value) -> (result: OperationResult, error: OAuthError?)
    ) throws(OAuthError) {
        guard let outlet else {
            throw invalid("client: it was made without a sink; only the blocking forms can be used")
        }
        // CLOSED waits until the completion has its receiver.
        try client.starting { () throws(OAuthError) in
            let isNew = operations.withLock { operations in
                guard operations[id] == nil else { return false }
                operations[id] = Operation()
                return true
            }
            guard isNew else { throw invalid("operation_id: an operation with this number is running") }
            let call = begin(client)
            let early: CancelReason? = operations.withLock { operations in
                operations[id]?.cancel = { call.cancel($0) }
                return operations[id]?.reason
            }
            if let early { call.cancel(early) }
            call.whenEnded { [operations] result in
                operations.withLock { _ = $0.removeValue(forKey: id) }
                let (value, error): (OperationResult, OAuthError?) =
                    switch result {
                    case .success(let value): outcome(value)
                    case .failure(let error): (.none, error)
                    }
                outlet.push(
                    .completion(operation: operation, id: id, result: value, error: error.map(ErrorObject.init)))
            }
        }
    }
}

@implementation @_cdecl("versola_client_login")
public func versola_client_login(
    _ client: OpaquePointer?, _ options: OpaquePointer?, _ operation_id: UInt64, _ error: ErrorOut
) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let options = try loginOptions(options)
        try client.start(VERSOLA_OPERATION_LOGIN, id: operation_id) {
            $0.startLogin(options)
        } _: {
            (.identity(IdentityObject($0)), nil)
        }
    }
}

@implementation @_cdecl("versola_client_access_token")
public func versola_client_access_token(
    _ client: OpaquePointer?, _ options: OpaquePointer?, _ operation_id: UInt64, _ error: ErrorOut
) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let options = try tokenOptions(options)
        try client.start(VERSOLA_OPERATION_ACCESS_TOKEN, id: operation_id) {
            $0.startAccessToken(options)
        } _: {
            (.token(TokenObject($0)), nil)
        }
    }
}

@implementation @_cdecl("versola_client_refresh")
public func versola_client_refresh(_ client: OpaquePointer?, _ operation_id: UInt64, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.start(VERSOLA_OPERATION_REFRESH, id: operation_id) {
            $0.startAccessToken(TokenOptions(force: true))
        } _: {
            (.token(TokenObject($0)), nil)
        }
    }
}

@implementation @_cdecl("versola_client_user_info")
public func versola_client_user_info(_ client: OpaquePointer?, _ operation_id: UInt64, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.start(VERSOLA_OPERATION_USER_INFO, id: operation_id) {
            $0.startUserInfo()
        } _: {
            (.userInfo(CText($0)), nil)
        }
    }
}

@implementation @_cdecl("versola_client_handle_redirect")
public func versola_client_handle_redirect(
    _ client: OpaquePointer?, _ url: CString, _ operation_id: UInt64, _ error: ErrorOut
) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let url = try text(url, "url")
        try client.start(VERSOLA_OPERATION_HANDLE_REDIRECT, id: operation_id) {
            $0.startHandleRedirect(url)
        } _: {
            (.handled($0.handled), $0.error)
        }
    }
}

@implementation @_cdecl("versola_client_logout")
public func versola_client_logout(_ client: OpaquePointer?, _ operation_id: UInt64, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.start(VERSOLA_OPERATION_LOGOUT, id: operation_id) {
            $0.startLogout()
        } _: {
            (.logout($0), nil)
        }
    }
}

@implementation @_cdecl("versola_client_cancel")
public func versola_client_cancel(
    _ client: OpaquePointer?, _ operation_id: UInt64, _ reason: Int32, _ error: ErrorOut
) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let cancelReason: CancelReason =
            switch reason {
            case VERSOLA_CANCEL_USER.number: .user
            case VERSOLA_CANCEL_SYSTEM.number: .system
            default: throw invalid("reason: there is no reason \(reason)")
            }
        let cancel = client.operations.withLock { operations in
            if operations[operation_id]?.reason == nil { operations[operation_id]?.reason = cancelReason }
            return operations[operation_id]?.cancel
        }
        // CLOSED waits until the completion that this brings has its receiver. A close has ended the operation already.
        try? client.client.starting { () throws(OAuthError) in cancel?(cancelReason) }
    }
}
