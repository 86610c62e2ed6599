// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CShims
import CVersola
import VersolaKit

/// A builder: the values set so far and the first refusal, which whatever takes the builder reports.
class Builder {
    private(set) var refusal: OAuthError?

    func set(_ change: () throws(OAuthError) -> Void) -> Int32 {
        do throws(OAuthError) {
            try change()
            return VERSOLA_OK
        } catch {
            if refusal == nil { refusal = error }
            return VERSOLA_CAUSE_INVALID_CONFIGURATION.number
        }
    }

    func check() throws(OAuthError) {
        if let refusal { throw refusal }
    }
}

/// Sets something on a builder handle; NULL, or a forked child, is a refusal that nobody can remember.
func set<B: Builder>(_ handle: OpaquePointer?, _ change: (B) throws(OAuthError) -> Void) -> Int32 {
    guard !shim_process_is_forked_child(), let builder: B = object(handle) else {
        return VERSOLA_CAUSE_INVALID_CONFIGURATION.number
    }
    return builder.set { () throws(OAuthError) in try change(builder) }
}

final class Config: Builder {
    var issuer: String?
    var clientId = ""
    var redirectURI = ""
    var postLogoutRedirectURI: String?
    var scope = "openid"
    var session = "default"
    var endpoints: ProviderEndpoints?
    var store = OAuthConfiguration.Store.auto
    var accessTokenCache = OAuthConfiguration.AccessTokenCache.memory
    var browser = OAuthConfiguration.BrowserChoice.system
    var caFile: String?
    var proxy: String?
    var requestTimeoutMillis: Int64 = 15_000
    var clockSkewSeconds: Int64 = 60
    var retry = RetryNumbers(.default)
    var logLevel: LogLevel?
    var sink = Sink.none

    enum Sink {
        case none, taken
        case shared(any EventSink)
        /// For one client only.
        case own(any EventSink)
    }

    /// The sink for the next client.
    func currentSink() throws(OAuthError) -> (any EventSink)? {
        switch sink {
        case .none: return nil
        case .shared(let sink), .own(let sink): return sink
        case .taken: throw invalid("callback: a client was made with it already; another needs a context of its own")
        }
    }

    /// A client was made.
    func noteClient() {
        if case .own = sink { sink = .taken }
    }

    func configuration() throws(OAuthError) -> OAuthConfiguration {
        try check()
        return try OAuthConfiguration(
            issuer: issuer, clientId: clientId, redirectUri: redirectURI, postLogoutRedirectUri: postLogoutRedirectURI,
            scopes: scope.split(separator: " ").map(String.init), endpoints: endpoints, session: session, store: store,
            accessTokenCache: accessTokenCache,
            browser: browser, caFile: caFile, proxy: proxy, requestTimeoutMillis: requestTimeoutMillis,
            clockSkewSeconds: clockSkewSeconds, retryPolicy: try retry.policy())
    }
}

@implementation @_cdecl("versola_config_new")
public func versola_config_new(_ issuer: CString, _ client_id: CString) -> OpaquePointer? {
    giveNew {
        let config = Config()
        if issuer != nil {
            _ = config.set { () throws(OAuthError) in config.issuer = try text(issuer, "issuer") }
        }
        _ = config.set { () throws(OAuthError) in config.clientId = try text(client_id, "client_id") }
        return config
    }
}

@implementation @_cdecl("versola_config_release")
public func versola_config_release(_ config: OpaquePointer?) {
    drop(config, as: Config.self)
}

@implementation @_cdecl("versola_config_set_redirect_uri")
public func versola_config_set_redirect_uri(_ config: OpaquePointer?, _ uri: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.redirectURI = try text(uri, "redirect_uri") }
}

@implementation @_cdecl("versola_config_set_post_logout_redirect_uri")
public func versola_config_set_post_logout_redirect_uri(_ config: OpaquePointer?, _ uri: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        config.postLogoutRedirectURI = try text(uri, "post_logout_redirect_uri")
    }
}

@implementation @_cdecl("versola_config_set_scope")
public func versola_config_set_scope(_ config: OpaquePointer?, _ scope: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.scope = try text(scope, "scope") }
}

@implementation @_cdecl("versola_config_set_session")
public func versola_config_set_session(_ config: OpaquePointer?, _ name: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.session = try text(name, "session name") }
}

@implementation @_cdecl("versola_config_set_endpoints")
public func versola_config_set_endpoints(_ config: OpaquePointer?, _ endpoints: OpaquePointer?) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        let endpoints: Endpoints = try required(endpoints, "endpoints")
        try endpoints.check()
        config.endpoints = endpoints.value
    }
}

@implementation @_cdecl("versola_config_set_store_auto")
public func versola_config_set_store_auto(_ config: OpaquePointer?) -> Int32 {
    set(config) { (config: Config) in config.store = .auto }
}

@implementation @_cdecl("versola_config_set_store_memory")
public func versola_config_set_store_memory(_ config: OpaquePointer?) -> Int32 {
    set(config) { (config: Config) in config.store = .memory }
}

@implementation @_cdecl("versola_config_set_store_key_file")
public func versola_config_set_store_key_file(_ config: OpaquePointer?, _ path: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.store = .keyFile(path: try text(path, "key file path"))
    }
}

@implementation @_cdecl("versola_config_set_access_token_cache")
public func versola_config_set_access_token_cache(_ config: OpaquePointer?, _ cache: Int32) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        switch cache {
        case VERSOLA_ACCESS_TOKEN_CACHE_MEMORY.number: config.accessTokenCache = .memory
        case VERSOLA_ACCESS_TOKEN_CACHE_SEALED.number: config.accessTokenCache = .sealed
        default: throw invalid("access token cache: there is no choice \(cache)")
        }
    }
}

@implementation @_cdecl("versola_config_set_browser")
public func versola_config_set_browser(_ config: OpaquePointer?, _ browser: Int32) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        switch browser {
        case VERSOLA_BROWSER_SYSTEM.number: config.browser = .system
        case VERSOLA_BROWSER_APP.number: config.browser = .app
        case VERSOLA_BROWSER_NONE.number: config.browser = .none
        default: throw invalid("browser: there is no choice \(browser)")
        }
    }
}

@implementation @_cdecl("versola_config_set_ca_file")
public func versola_config_set_ca_file(_ config: OpaquePointer?, _ path: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.caFile = try text(path, "CA file path") }
}

@implementation @_cdecl("versola_config_set_proxy")
public func versola_config_set_proxy(_ config: OpaquePointer?, _ url: CString) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in config.proxy = try text(url, "proxy") }
}

@implementation @_cdecl("versola_config_set_request_timeout_ms")
public func versola_config_set_request_timeout_ms(_ config: OpaquePointer?, _ timeout_ms: Int64) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard (1...300_000).contains(timeout_ms) else { throw invalid("request timeout: it must be 1 to 300,000 ms") }
        config.requestTimeoutMillis = timeout_ms
    }
}

@implementation @_cdecl("versola_config_set_clock_skew_s")
public func versola_config_set_clock_skew_s(_ config: OpaquePointer?, _ skew_s: Int64) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard (0...300).contains(skew_s) else { throw invalid("clock skew: it must be 0 to 300 s") }
        config.clockSkewSeconds = skew_s
    }
}

@implementation @_cdecl("versola_config_set_log_level")
public func versola_config_set_log_level(_ config: OpaquePointer?, _ level: Int32) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard level == VERSOLA_LOG_OFF.number || LogLevel(rawValue: level) != nil else {
            throw invalid("log level: there is no level \(level)")
        }
        config.logLevel = LogLevel(rawValue: level)
    }
}

@implementation @_cdecl("versola_config_set_queue")
public func versola_config_set_queue(_ config: OpaquePointer?, _ queue: OpaquePointer?) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        let queue: EventQueue = try required(queue, "queue")
        config.sink = .shared(queue)
    }
}

@implementation @_cdecl("versola_config_set_callback")
public func versola_config_set_callback(
    _ config: OpaquePointer?, _ callback: versola_callback?, _ context: UnsafeMutableRawPointer?,
    _ context_free: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard let callback else { throw invalid("callback is NULL") }
        config.sink = .own(CallbackSink(callback, context, context_free))
    }
}

@implementation @_cdecl("versola_config_set_dart_port")
public func versola_config_set_dart_port(
    _ config: OpaquePointer?, _ port: Int64, _ post_c_object: UnsafeRawPointer?
) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard let post_c_object else { throw invalid("post_c_object is NULL") }
        config.sink = .shared(DartPortSink(post_c_object, port: port))
    }
}
