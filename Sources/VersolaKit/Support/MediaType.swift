// SPDX-License-Identifier: Apache-2.0

enum MediaType {
    /// The name to compare: without case and without parameters (RFC 9110 §8.3.1).
    static func name(_ type: String) -> String {
        let name = type.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { !" \t".utf8.contains($0) }
        return String(decoding: name, as: UTF8.self).lowercased()
    }
}
