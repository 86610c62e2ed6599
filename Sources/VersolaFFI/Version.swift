// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

private let version = CText(VERSOLA_VERSION_STRING)

@implementation @_cdecl("versola_version")
public func versola_version() -> UnsafePointer<CChar>? {
    version.pointer
}

@implementation @_cdecl("versola_abi_version")
public func versola_abi_version() -> Int32 {
    VERSOLA_ABI_VERSION
}

@implementation @_cdecl("versola_has_feature")
public func versola_has_feature(_ feature: Int32) -> Bool {
    feature == VERSOLA_FEATURE_HTTP2.number && CurlFeatures.http2
}
