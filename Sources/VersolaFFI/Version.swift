// SPDX-License-Identifier: Apache-2.0
import CVersola

@implementation @_cdecl("versola_abi_version")
public func versola_abi_version() -> Int32 { Int32(VERSOLA_ABI_VERSION) }
