// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CShims
import CVersola
import VersolaKit

/// A client and its way to its sink.
final class ClientObject: Sendable {
    /// An asynchronous operation between its start and its completion.
    struct Operation {
        /// A cancel, which may come before the call that it is for is there.
        var reason: CancelReason?
        var cancel: (@Sendable (CancelReason) -> Void)?
    }

    private static let serials = Lock<UInt64>(0)

    let serial: UInt64
    let client: OAuthClient
    let outlet: Outlet?
    /// Running asynchronous operations, for cancel.
    let operations = Lock<[UInt64: Operation]>([:])
    /// Filled when nothing runs any more and every event was delivered.
    let ended = Waiter<Void>()

    init(_ config: Config) throws(OAuthError) {
        let serial: UInt64 = Self.serials.withLock { next in
            next += 1
            return next
        }
        self.serial = serial
        let configuration = try config.configuration()
        guard let sink = try config.currentSink() else {
            guard config.browser != .app else {
                throw invalid("browser: the app is to open URLs, but the client has no sink to ask it through")
            }
            outlet = nil
            client = try OAuthClient(configuration)
            client.whenIdle { [ended] in ended.fill(()) }
            return
        }
        let outlet = Outlet(sink, clientSerial: serial)
        self.outlet = outlet
        client = try OAuthClient(
            configuration,
            openURL: { url, report in outlet.push(.openURL(CText(url), report: report)) },
            logLevel: config.logLevel,
            log: { level, message in outlet.push(.log(level, CText(message), dropped: 0)) })
        config.noteClient()
        client.observe { change in
            outlet.push(
                .state(
                    change, url: change.authorizationURL.map(CText.init), reason: change.reason.map(ErrorObject.init)))
        }
        client.whenIdle { [ended] in outlet.close { ended.fill(()) } }
    }
}

@implementation @_cdecl("versola_client_create")
public func versola_client_create(_ config: OpaquePointer?, _ client: HandleOut, _ error: ErrorOut) -> Int32 {
    client?.pointee = nil
    return status(error) { () throws(OAuthError) in
        guard let client else { throw invalid("client is NULL") }
        let config: Config = try required(config, "config")
        client.pointee = give(try ClientObject(config))
    }
}

@implementation @_cdecl("versola_client_release")
public func versola_client_release(_ client: OpaquePointer?) {
    drop(client, as: ClientObject.self)
}

@implementation @_cdecl("versola_client_close")
public func versola_client_close(_ client: OpaquePointer?) {
    guard !shim_process_is_forked_child() else { return }
    object(client, as: ClientObject.self)?.client.close()
}

@implementation @_cdecl("versola_client_close_wait")
public func versola_client_close_wait(_ client: OpaquePointer?, _ timeout_ms: Int64, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        let timeout = try Timeout(timeout_ms)
        client.client.close()
        guard client.ended.wait(timeout) != nil else {
            throw .recoverable(.systemCancelled, "close: something of the client is still running")
        }
    }
}

@implementation @_cdecl("versola_client_state")
public func versola_client_state(
    _ client: OpaquePointer?, _ state: UnsafeMutablePointer<Int32>?, _ error: ErrorOut
) -> Int32 {
    state?.pointee = 0
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.client.checkOpen()
        state?.pointee = client.client.state.number
    }
}

@implementation @_cdecl("versola_client_identity")
public func versola_client_identity(_ client: OpaquePointer?, _ identity: HandleOut, _ error: ErrorOut) -> Int32 {
    identity?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        guard let identity else { throw invalid("identity is NULL") }
        identity.pointee = give(IdentityObject(try client.client.identity()))
    }
}

@implementation @_cdecl("versola_client_authorization_url")
public func versola_client_authorization_url(_ client: OpaquePointer?, _ url: HandleOut, _ error: ErrorOut) -> Int32 {
    url?.pointee = nil
    return status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        guard let url else { throw invalid("url is NULL") }
        try client.client.checkOpen()
        url.pointee = client.client.authorizationURL.map { give(StringObject($0)) }
    }
}

@implementation @_cdecl("versola_client_reopen_browser")
public func versola_client_reopen_browser(_ client: OpaquePointer?, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.client.checkOpen()
        client.client.reopenBrowser()
    }
}

@implementation @_cdecl("versola_client_cancel_login")
public func versola_client_cancel_login(_ client: OpaquePointer?, _ error: ErrorOut) -> Int32 {
    status(error) { () throws(OAuthError) in
        let client: ClientObject = try required(client, "client")
        try client.client.checkOpen()
        client.client.cancelLogin()
    }
}
