// SPDX-License-Identifier: Apache-2.0

/// A name and its value, in a query or a form body.
typealias FormField = (name: String, value: String)

/// `application/x-www-form-urlencoded`, in queries and bodies (RFC 6749 appendix B).
///
/// A space is written `%20`, which every decoder reads the same, and read from `%20` and `+`.
enum FormEncoding {
    static func encode(_ fields: [FormField]) -> String {
        fields.map { escape($0.name) + "=" + escape($0.value) }.joined(separator: "&")
    }

    /// In the order given; names may repeat. What is not valid encoding stays as it is; bytes that are not UTF-8 become U+FFFD.
    static func parse(_ query: String) -> [FormField] {
        query.utf8.split(separator: UInt8(ascii: "&")).map { field in
            guard let equals = field.firstIndex(of: UInt8(ascii: "=")) else { return (unescape(field), "") }
            return (unescape(field[..<equals]), unescape(field[field.index(after: equals)...]))
        }
    }

    /// Adds to a URL's query and keeps what is there (RFC 6749 §3.1), before the fragment if there is one.
    static func append(_ fields: [FormField], to url: String) -> String {
        guard !fields.isEmpty else { return url }
        let (base, query, fragment) = URLParts.split(url)
        let joined = [query ?? "", encode(fields)].filter { !$0.isEmpty }.joined(separator: "&")
        return base + "?" + joined + (fragment.map { "#" + $0 } ?? "")
    }

    /// Everything but RFC 3986's unreserved characters becomes `%XX`.
    static func escape(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 0xf)]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func unescape(_ text: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest.removeFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
