// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

final class Endpoints: Builder {
    var value = ProviderEndpoints(issuer: "", authorizationEndpoint: "", tokenEndpoint: "", jwksUri: "")
}

@implementation @_cdecl("versola_endpoints_new")
public func versola_endpoints_new(
    _ issuer: CString, _ authorization_endpoint: CString, _ token_endpoint: CString, _ jwks_uri: CString
) -> OpaquePointer? {
    giveNew {
        let endpoints = Endpoints()
        _ = endpoints.set { () throws(OAuthError) in
            endpoints.value.issuer = try text(issuer, "endpoints: issuer")
            endpoints.value.authorizationEndpoint = try text(
                authorization_endpoint, "endpoints: authorization_endpoint")
            endpoints.value.tokenEndpoint = try text(token_endpoint, "endpoints: token_endpoint")
            endpoints.value.jwksUri = try text(jwks_uri, "endpoints: jwks_uri")
        }
        return endpoints
    }
}

@implementation @_cdecl("versola_endpoints_set_revocation_endpoint")
public func versola_endpoints_set_revocation_endpoint(_ endpoints: OpaquePointer?, _ url: CString) -> Int32 {
    set(endpoints) { (endpoints: Endpoints) throws(OAuthError) in
        endpoints.value.revocationEndpoint = try text(url, "endpoints: revocation_endpoint")
    }
}

@implementation @_cdecl("versola_endpoints_set_user_info_endpoint")
public func versola_endpoints_set_user_info_endpoint(_ endpoints: OpaquePointer?, _ url: CString) -> Int32 {
    set(endpoints) { (endpoints: Endpoints) throws(OAuthError) in
        endpoints.value.userInfoEndpoint = try text(url, "endpoints: user_info_endpoint")
    }
}

@implementation @_cdecl("versola_endpoints_set_end_session_endpoint")
public func versola_endpoints_set_end_session_endpoint(_ endpoints: OpaquePointer?, _ url: CString) -> Int32 {
    set(endpoints) { (endpoints: Endpoints) throws(OAuthError) in
        endpoints.value.endSessionEndpoint = try text(url, "endpoints: end_session_endpoint")
    }
}

@implementation @_cdecl("versola_endpoints_set_iss_in_redirect")
public func versola_endpoints_set_iss_in_redirect(_ endpoints: OpaquePointer?, _ promised: Bool) -> Int32 {
    set(endpoints) { (endpoints: Endpoints) in endpoints.value.issInRedirect = promised }
}

@implementation @_cdecl("versola_endpoints_release")
public func versola_endpoints_release(_ endpoints: OpaquePointer?) {
    drop(endpoints, as: Endpoints.self)
}
