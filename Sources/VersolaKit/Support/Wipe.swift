// SPDX-License-Identifier: Apache-2.0
import Glibc

extension [UInt8] {
    /// Zeroes the bytes, for a buffer that held a secret. Reaches them only while nobody else holds the array.
    mutating func wipe() {
        withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
        }
    }
}
