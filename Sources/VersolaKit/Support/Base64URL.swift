// SPDX-License-Identifier: Apache-2.0

/// Base64url as JOSE writes it (RFC 7515 §2): no padding, no white space, one spelling for every value.
enum Base64URL {
    /// The bytes `text` stands for; `nil` for anything outside the alphabet, a length no value has, or unused bits that are
    /// not zero (RFC 4648 §3.5), so that one signature cannot be written in two ways.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let tail = text.count % 4
        guard tail != 1 else { return nil }
        let wholeEnd = text.endIndex - tail
        var invalid: UInt8 = 0
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var index = text.startIndex
        while index < wholeEnd {
            let (a, b) = (sextets[Int(text[index])], sextets[Int(text[index + 1])])
            let (c, d) = (sextets[Int(text[index + 2])], sextets[Int(text[index + 3])])
            invalid |= a | b | c | d
            bytes.append(a << 2 | b >> 4)
            bytes.append(b << 4 | c >> 2)
            bytes.append(c << 6 | d)
            index += 4
        }
        if tail > 0 {
            let (a, b) = (sextets[Int(text[index])], sextets[Int(text[index + 1])])
            let c = tail == 3 ? sextets[Int(text[index + 2])] : 0
            invalid |= a | b | c
            bytes.append(a << 2 | b >> 4)
            if tail == 3 { bytes.append(b << 4 | c >> 2) }
            guard (tail == 3 ? c & 0b11 : b & 0b1111) == 0 else { return nil }
        }
        return invalid & outside == 0 ? bytes : nil
    }

    static func decode(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8)[...])
    }

    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(pending >> bits & 63)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(pending << (6 - bits) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// Set in the table's value of every byte outside the alphabet; no sextet reaches it.
    private static let outside: UInt8 = 0x80
    private static let sextets: [UInt8] = {
        var table = [UInt8](repeating: outside, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()
}
