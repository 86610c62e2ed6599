// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

@implementation @_cdecl("versola_client_login_wait")
public func versola_client_login_wait(
    _ client: OpaquePointer?, _ options: OpaquePointer?, _ timeout_ms: Int64, _ identity: HandleOut, _ error: ErrorOut
) -> Int32 {
    identity?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let options = try loginOptions(options)
        let timeout = try Timeout(timeout_ms)
        let result = try wait(for: client.client.startLogin(options), timeout)
        identity?.pointee = give(IdentityObject(result))
    }
}

@implementation @_cdecl("versola_client_access_token_wait")
public func versola_client_access_token_wait(
    _ client: OpaquePointer?, _ options: OpaquePointer?, _ timeout_ms: Int64, _ token: HandleOut, _ error: ErrorOut
) -> Int32 {
    token?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        guard let token else { throw invalid("token is NULL") }
        let options = try tokenOptions(options)
        let timeout = try Timeout(timeout_ms)
        if let cached = try client.client.cachedAccessToken(options) {
            token.pointee = give(TokenObject(cached))
            return
        }
        token.pointee = give(TokenObject(try wait(for: client.client.startAccessToken(options), timeout)))
    }
}

@implementation @_cdecl("versola_client_refresh_wait")
public func versola_client_refresh_wait(
    _ client: OpaquePointer?, _ timeout_ms: Int64, _ token: HandleOut, _ error: ErrorOut
) -> Int32 {
    token?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        guard let token else { throw invalid("token is NULL") }
        let timeout = try Timeout(timeout_ms)
        let fresh = try wait(for: client.client.startAccessToken(TokenOptions(force: true)), timeout)
        token.pointee = give(TokenObject(fresh))
    }
}

@implementation @_cdecl("versola_client_user_info_wait")
public func versola_client_user_info_wait(
    _ client: OpaquePointer?, _ timeout_ms: Int64, _ claims: HandleOut, _ error: ErrorOut
) -> Int32 {
    claims?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        guard let claims else { throw invalid("claims is NULL") }
        let timeout = try Timeout(timeout_ms)
        claims.pointee = give(StringObject(try wait(for: client.client.startUserInfo(), timeout)))
    }
}

@implementation @_cdecl("versola_client_handle_redirect_wait")
public func versola_client_handle_redirect_wait(
    _ client: OpaquePointer?, _ url: CString, _ timeout_ms: Int64, _ handled: UnsafeMutablePointer<Bool>?,
    _ error: ErrorOut
) -> Int32 {
    handled?.pointee = false
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let url = try text(url, "url")
        let timeout = try Timeout(timeout_ms)
        let handling = try wait(for: client.client.startHandleRedirect(url), timeout)
        handled?.pointee = handling.handled
        if let failure = handling.error { throw failure }
    }
}

@implementation @_cdecl("versola_client_logout_wait")
public func versola_client_logout_wait(
    _ client: OpaquePointer?, _ timeout_ms: Int64, _ token_revoked: UnsafeMutablePointer<Bool>?,
    _ session_ended: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> Int32 {
    token_revoked?.pointee = false
    session_ended?.pointee = false
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let timeout = try Timeout(timeout_ms)
        let result = try wait(for: client.client.startLogout(), timeout)
        token_revoked?.pointee = result.tokenRevoked
        session_ended?.pointee = result.sessionEnded
    }
}
