// SPDX-License-Identifier: Apache-2.0

/// JSON as this reader sees it.
enum JSONTree {
    case null
    case bool(Bool)
    /// Infinite when no `Double` is that large.
    case number(Double)
    /// `nil` when an escape leaves half a surrogate pair.
    case string(String?)
    case array([JSONTree])
    case object([[UInt8]: JSONTree])
}

/// Reads JSON by the letter of RFC 8259, with nothing of the library or of the toolchain's decoder: what those accept is held
/// against it.
struct JSONReader {
    enum Fault: Error {
        case malformed
        /// No fault of the text, but more than the decoder takes: deeper, or a zero with an exponent (`0e3`, `-0.0e1`).
        case beyondDecoder
    }

    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// An object whose members have names of their own, and in which all objects do.
    static func object(_ bytes: [UInt8]) throws(Fault) -> [[UInt8]: JSONTree] {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        var reader = JSONReader(bytes)
        let tree = try reader.value()
        reader.skipSpace()
        guard case .object(let members) = tree, reader.index == bytes.count else { throw .malformed }
        return members
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { index += 1 }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[index...].starts(with: wanted) else { return false }
        index += wanted.count
        return true
    }

    private mutating func value() throws(Fault) -> JSONTree {
        skipSpace()
        depth += 1
        guard depth < 500 else { throw .beyondDecoder }
        let tree: JSONTree
        switch next {
        case UInt8(ascii: "{"): tree = .object(try members())
        case UInt8(ascii: "["): tree = .array(try elements())
        case UInt8(ascii: "\""): tree = .string(try string().flatMap { String(validating: $0, as: UTF8.self) })
        case UInt8(ascii: "t") where take("true"): tree = .bool(true)
        case UInt8(ascii: "f") where take("false"): tree = .bool(false)
        case UInt8(ascii: "n") where take("null"): tree = .null
        default: tree = try number()
        }
        depth -= 1
        return tree
    }

    private mutating func members() throws(Fault) -> [[UInt8]: JSONTree] {
        var members: [[UInt8]: JSONTree] = [:]
        index += 1
        skipSpace()
        if take("}") { return members }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = try string() else { throw .malformed }
            skipSpace()
            guard take(":"), members.updateValue(try value(), forKey: name) == nil else { throw .malformed }
            skipSpace()
        } while take(",")
        guard take("}") else { throw .malformed }
        return members
    }

    private mutating func elements() throws(Fault) -> [JSONTree] {
        var elements: [JSONTree] = []
        index += 1
        skipSpace()
        if take("]") { return elements }
        repeat {
            elements.append(try value())
            skipSpace()
        } while take(",")
        guard take("]") else { throw .malformed }
        return elements
    }

    /// - Returns: `nil` when an escape leaves half a surrogate pair.
    private mutating func string() throws(Fault) -> [UInt8]? {
        index += 1
        var text: [UInt8] = []
        var isWhole = true
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw .malformed }
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            let scalar = try escape()
            if let scalar { text += Array(Character(scalar).utf8) } else { isWhole = false }
        }
        guard take("\"") else { throw .malformed }
        return isWhole ? text : nil
    }

    private mutating func escape() throws(Fault) -> UnicodeScalar? {
        guard let letter = next else { throw .malformed }
        index += 1
        switch letter {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UnicodeScalar(letter)
        case UInt8(ascii: "u"): break
        default: throw .malformed
        }
        let first = try fourDigits()
        guard (0xd800...0xdbff).contains(first) else { return UnicodeScalar(first) }
        let before = index
        guard take("\\u") else { return nil }
        let second = try fourDigits()
        guard (0xdc00...0xdfff).contains(second) else {
            index = before
            return nil
        }
        return UnicodeScalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    }

    private mutating func fourDigits() throws(Fault) -> UInt32 {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4, let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
            digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
        else { throw .malformed }
        index += 4
        return number
    }

    private mutating func number() throws(Fault) -> JSONTree {
        let start = index
        var hasExponent = false
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
            hasExponent = true
        }
        guard let number = Double(String(decoding: bytes[start..<index], as: UTF8.self)) else { throw .malformed }
        guard number != 0 || !hasExponent else { throw .beyondDecoder }
        return .number(number)
    }

    private mutating func digits() throws(Fault) {
        let start = index
        while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
        guard index > start else { throw .malformed }
    }
}
