// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

final class TokenObject: Sendable {
    let value: CText
    let type: CText
    let scope: CText
    let expiresAtMillis: Int64

    init(_ token: Token) {
        value = CText(token.value)
        type = CText(token.type)
        scope = CText(token.scope)
        expiresAtMillis = token.expiresAtMillis ?? -1
    }
}

final class IdentityObject: Sendable {
    let subject: CText
    let claims: CText

    init(_ identity: Identity) {
        subject = CText(identity.subject)
        claims = CText(identity.claimsJSON)
    }
}

@implementation @_cdecl("versola_token_value")
public func versola_token_value(_ token: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?) -> UnsafePointer<CChar>?
{
    lend(object(token, as: TokenObject.self)?.value, length: length)
}

@implementation @_cdecl("versola_token_type")
public func versola_token_type(_ token: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(token, as: TokenObject.self)?.type.pointer
}

@implementation @_cdecl("versola_token_expires_at_unix_ms")
public func versola_token_expires_at_unix_ms(_ token: OpaquePointer?) -> Int64 {
    object(token, as: TokenObject.self)?.expiresAtMillis ?? 0
}

@implementation @_cdecl("versola_token_scope")
public func versola_token_scope(_ token: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(token, as: TokenObject.self)?.scope.pointer
}

@implementation @_cdecl("versola_token_retain")
public func versola_token_retain(_ token: OpaquePointer?) -> OpaquePointer? {
    object(token, as: TokenObject.self).map(give)
}

@implementation @_cdecl("versola_token_release")
public func versola_token_release(_ token: OpaquePointer?) {
    drop(token, as: TokenObject.self)
}

@implementation @_cdecl("versola_identity_subject")
public func versola_identity_subject(_ identity: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(identity, as: IdentityObject.self)?.subject.pointer
}

@implementation @_cdecl("versola_identity_claims")
public func versola_identity_claims(_ identity: OpaquePointer?) -> UnsafePointer<CChar>? {
    object(identity, as: IdentityObject.self)?.claims.pointer
}

@implementation @_cdecl("versola_identity_retain")
public func versola_identity_retain(_ identity: OpaquePointer?) -> OpaquePointer? {
    object(identity, as: IdentityObject.self).map(give)
}

@implementation @_cdecl("versola_identity_release")
public func versola_identity_release(_ identity: OpaquePointer?) {
    drop(identity, as: IdentityObject.self)
}
