// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

final class LoginOptionsBuilder: Builder {
    var value = LoginOptions()
}

final class TokenOptionsBuilder: Builder {
    var value = TokenOptions()
}

/// What NULL options stand for, and what a builder says.
func loginOptions(_ handle: OpaquePointer?) throws(OAuthError) -> LoginOptions {
    let builder: LoginOptionsBuilder? = object(handle)
    try builder?.check()
    return builder?.value ?? LoginOptions()
}

func tokenOptions(_ handle: OpaquePointer?) throws(OAuthError) -> TokenOptions {
    let builder: TokenOptionsBuilder? = object(handle)
    try builder?.check()
    return builder?.value ?? TokenOptions()
}

private func setText(
    _ options: OpaquePointer?, _ pointer: CString, _ name: String, _ change: (inout LoginOptions, String) -> Void
) -> Int32 {
    set(options) { (options: LoginOptionsBuilder) throws(OAuthError) in
        change(&options.value, try text(pointer, "login options: \(name)"))
    }
}

@implementation @_cdecl("versola_login_options_new")
public func versola_login_options_new() -> OpaquePointer? {
    giveNew { LoginOptionsBuilder() }
}

@implementation @_cdecl("versola_login_options_set_scope")
public func versola_login_options_set_scope(_ options: OpaquePointer?, _ scope: CString) -> Int32 {
    setText(options, scope, "scope") { $0.scopes = $1.split(separator: " ").map(String.init) }
}

@implementation @_cdecl("versola_login_options_set_prompt")
public func versola_login_options_set_prompt(_ options: OpaquePointer?, _ prompt: CString) -> Int32 {
    setText(options, prompt, "prompt") { $0.prompt = $1 }
}

@implementation @_cdecl("versola_login_options_set_login_hint")
public func versola_login_options_set_login_hint(_ options: OpaquePointer?, _ login_hint: CString) -> Int32 {
    setText(options, login_hint, "login_hint") { $0.loginHint = $1 }
}

@implementation @_cdecl("versola_login_options_set_ui_locales")
public func versola_login_options_set_ui_locales(_ options: OpaquePointer?, _ ui_locales: CString) -> Int32 {
    setText(options, ui_locales, "ui_locales") { $0.uiLocales = $1 }
}

@implementation @_cdecl("versola_login_options_set_acr_values")
public func versola_login_options_set_acr_values(_ options: OpaquePointer?, _ acr_values: CString) -> Int32 {
    setText(options, acr_values, "acr_values") { $0.acrValues = $1 }
}

@implementation @_cdecl("versola_login_options_set_max_age_s")
public func versola_login_options_set_max_age_s(_ options: OpaquePointer?, _ max_age_s: Int64) -> Int32 {
    set(options) { (options: LoginOptionsBuilder) throws(OAuthError) in
        guard max_age_s >= 0 else { throw invalid("login options: max_age is negative") }
        options.value.maxAge = max_age_s
    }
}

@implementation @_cdecl("versola_login_options_set_claims")
public func versola_login_options_set_claims(_ options: OpaquePointer?, _ claims: CString) -> Int32 {
    setText(options, claims, "claims") { $0.claims = $1 }
}

@implementation @_cdecl("versola_login_options_add_resource")
public func versola_login_options_add_resource(_ options: OpaquePointer?, _ resource: CString) -> Int32 {
    setText(options, resource, "resource") { $0.resources.append($1) }
}

@implementation @_cdecl("versola_login_options_set_authorization_details")
public func versola_login_options_set_authorization_details(
    _ options: OpaquePointer?, _ authorization_details: CString
) -> Int32 {
    setText(options, authorization_details, "authorization_details") { $0.authorizationDetails = $1 }
}

@implementation @_cdecl("versola_login_options_add_parameter")
public func versola_login_options_add_parameter(_ options: OpaquePointer?, _ name: CString, _ value: CString) -> Int32 {
    set(options) { (options: LoginOptionsBuilder) throws(OAuthError) in
        let name = try text(name, "login options: name")
        options.value.parameters.append((name, try text(value, "login options: value")))
    }
}

@implementation @_cdecl("versola_login_options_release")
public func versola_login_options_release(_ options: OpaquePointer?) {
    drop(options, as: LoginOptionsBuilder.self)
}

@implementation @_cdecl("versola_token_options_new")
public func versola_token_options_new() -> OpaquePointer? {
    giveNew { TokenOptionsBuilder() }
}

@implementation @_cdecl("versola_token_options_set_min_valid_ms")
public func versola_token_options_set_min_valid_ms(_ options: OpaquePointer?, _ min_valid_ms: Int64) -> Int32 {
    set(options) { (options: TokenOptionsBuilder) throws(OAuthError) in
        guard min_valid_ms >= 0 else { throw invalid("token options: min_valid is negative") }
        options.value.minValidMillis = min_valid_ms
    }
}

@implementation @_cdecl("versola_token_options_set_force")
public func versola_token_options_set_force(_ options: OpaquePointer?, _ force: Bool) -> Int32 {
    set(options) { (options: TokenOptionsBuilder) in options.value.force = force }
}

@implementation @_cdecl("versola_token_options_release")
public func versola_token_options_release(_ options: OpaquePointer?) {
    drop(options, as: TokenOptionsBuilder.self)
}
