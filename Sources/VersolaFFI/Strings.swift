// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola

/// Lends a text and tells its length.
func lend(_ text: CText?, length: UnsafeMutablePointer<Int>?) -> UnsafePointer<CChar>? {
    length?.pointee = text?.count ?? 0
    return text?.pointer
}

@implementation @_cdecl("versola_string_value")
public func versola_string_value(_ string: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?) -> UnsafePointer<
    CChar
>? {
    lend(object(string, as: StringObject.self)?.text, length: length)
}

@implementation @_cdecl("versola_string_release")
public func versola_string_release(_ string: OpaquePointer?) {
    drop(string, as: StringObject.self)
}
