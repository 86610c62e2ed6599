// SPDX-License-Identifier: Apache-2.0

/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
struct AuthenticationChallenge: Equatable, Sendable {
    /// Lower-case: schemes are compared without case.
    var scheme: String
    /// Names are lower-case; quoted values are unquoted. Of a name that comes twice the first counts.
    var parameters: [String: String] = [:]

    /// Every challenge of every field, in order. What does not follow the grammar ends its field; what came before counts.
    static func parse(_ fields: [String]) -> [AuthenticationChallenge] {
        fields.flatMap { field in
            var parser = ChallengeParser(field)
            return parser.challenges()
        }
    }
}

/// Reads a list whose commas separate both challenges and the parameters within one: what follows a word tells which it was.
private struct ChallengeParser {
    private let bytes: [UInt8]
    private var position = 0

    init(_ field: String) {
        bytes = Array(field.utf8)
    }

    mutating func challenges() -> [AuthenticationChallenge] {
        var result: [AuthenticationChallenge] = []
        while true {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            guard let word = token() else { return result }
            if let value = parameterValue() {
                // A parameter before any scheme belongs to nothing.
                guard let last = result.indices.last else { return result }
                let name = word.lowercased()
                if result[last].parameters[name] == nil { result[last].parameters[name] = value }
            } else if isAtEndOfElement || isAtBlank {
                result.append(AuthenticationChallenge(scheme: word.lowercased()))
                skipToken68()
            } else {
                return result
            }
        }
    }

    /// `BWS "=" BWS ( token / quoted-string )`, or nothing is consumed.
    private mutating func parameterValue() -> String? {
        let start = position
        skip(\.isBlank)
        guard take(UInt8(ascii: "=")) else {
            position = start
            return nil
        }
        skip(\.isBlank)
        guard let value = quotedString() ?? token(), isAtEndOfElementAfterBlanks else {
            position = start
            return nil
        }
        return value
    }

    /// `1*SP token68`, when that is all there is up to the next comma; its value concerns no scheme of ours.
    private mutating func skipToken68() {
        let start = position
        skip(\.isBlank)
        let first = position
        skip { $0.isLetter || $0.isDigit || "-._~+/".utf8.contains($0) }
        let hasText = position > first
        skip { $0 == UInt8(ascii: "=") }
        if !hasText || !isAtEndOfElementAfterBlanks { position = start }
    }

    private mutating func token() -> String? {
        let start = position
        skip { $0.isLetter || $0.isDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    private mutating func quotedString() -> String? {
        let start = position
        guard take(UInt8(ascii: "\"")) else { return nil }
        var value: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            value.append(byte)
        }
        position = start
        return nil
    }

    private var isAtBlank: Bool { position < bytes.count && bytes[position].isBlank }
    private var isAtEndOfElement: Bool { position >= bytes.count || bytes[position] == UInt8(ascii: ",") }
    private var isAtEndOfElementAfterBlanks: Bool {
        let next = bytes[position...].first { !$0.isBlank }
        return next == nil || next == UInt8(ascii: ",")
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ matches: (UInt8) -> Bool) {
        while position < bytes.count, matches(bytes[position]) { position += 1 }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
