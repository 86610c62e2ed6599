// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// RFC 8259 to the letter, and no two members of one name in an object. The toolchain's decoder also takes a comma before a
/// closing bracket, a byte order mark, UTF-16, and in members nobody asks it for strings and numbers that are none.
struct JSONGrammar {
    private enum Expectation {
        case value, valueOrEnd, name, nameOrEnd, colon, commaOrEnd, nothing
    }

    private let bytes: [UInt8]
    private var index = 0
    private var expected = Expectation.value
    /// The names so far in each open object, byte for byte; `nil` for an open array.
    private var open: [Set<ArraySlice<UInt8>>?] = []

    /// Checks one text.
    static func check(_ bytes: [UInt8]) throws(StrictJSON.Failure) {
        var grammar = JSONGrammar(bytes)
        while grammar.index < bytes.count { try grammar.step(bytes[grammar.index]) }
        guard grammar.expected == .nothing else { throw .malformed }
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var isInObject: Bool { open.last.map { $0 != nil } ?? false }

    private mutating func step(_ byte: UInt8) throws(StrictJSON.Failure) {
        switch (byte, expected) {
        case (0x20, _), (0x09, _), (0x0a, _), (0x0d, _):
            index += 1
        case (UInt8(ascii: "{"), .value), (UInt8(ascii: "{"), .valueOrEnd):
            // Room for the members of most tokens: a set that grows hashes everything again.
            begin(Set(minimumCapacity: open.isEmpty ? 32 : 0), .nameOrEnd)
        case (UInt8(ascii: "["), .value), (UInt8(ascii: "["), .valueOrEnd):
            begin(nil, .valueOrEnd)
        case (UInt8(ascii: "}"), .nameOrEnd),
            (UInt8(ascii: "}"), .commaOrEnd) where isInObject,
            (UInt8(ascii: "]"), .valueOrEnd),
            (UInt8(ascii: "]"), .commaOrEnd) where !isInObject:
            open.removeLast()
            endValue(at: index + 1)
        case (UInt8(ascii: "\""), .name), (UInt8(ascii: "\""), .nameOrEnd):
            try name()
        case (UInt8(ascii: ":"), .colon):
            expected = .value
            index += 1
        case (UInt8(ascii: ","), .commaOrEnd):
            expected = isInObject ? .name : .value
            index += 1
        case (_, .value), (_, .valueOrEnd):
            endValue(at: try endOfScalar(byte))
        default:
            throw .malformed
        }
    }

    private mutating func begin(_ names: Set<ArraySlice<UInt8>>?, _ next: Expectation) {
        open.append(names)
        expected = next
        index += 1
    }

    private mutating func endValue(at end: Int) {
        expected = open.isEmpty ? .nothing : .commaOrEnd
        index = end
    }

    private mutating func name() throws(StrictJSON.Failure) {
        let end = try endOfString()
        let name = try text(of: bytes[index..<end])
        guard let inner = open.indices.last, open[inner]?.insert(name).inserted == true else { throw .duplicateMember }
        expected = .colon
        index = end
    }

    private func endOfScalar(_ first: UInt8) throws(StrictJSON.Failure) -> Int {
        switch first {
        case UInt8(ascii: "\""): return try endOfString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try endOfNumber()
        default:
            for literal in Self.literals where bytes[index...].starts(with: literal) { return index + literal.count }
            throw .malformed
        }
    }

    private static let literals = [Array("true".utf8), Array("false".utf8), Array("null".utf8)]
    private static let escapes = Array("\"\\/bfnrtu".utf8)

    /// The index after the closing quote of the string that starts here (RFC 8259 §7).
    private func endOfString() throws(StrictJSON.Failure) -> Int {
        var index = index + 1
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                return index + 1
            case ..<0x20:
                throw .malformed
            case UInt8(ascii: "\\"):
                index += 1
                guard index < bytes.count, Self.escapes.contains(bytes[index]) else { throw .malformed }
                if bytes[index] == UInt8(ascii: "u") {
                    let digits = bytes.dropFirst(index + 1).prefix(4)
                    guard digits.count == 4, digits.allSatisfy(Self.isHexDigit) else { throw .malformed }
                }
            default:
                break
            }
            index += 1
        }
        throw .malformed
    }

    /// The index after the number that starts here (RFC 8259 §6).
    private func endOfNumber() throws(StrictJSON.Failure) -> Int {
        var rest = bytes[index...]
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        if rest.first == UInt8(ascii: "0") { rest = rest.dropFirst() } else { try skipDigits(&rest) }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            try skipDigits(&rest)
        }
        if let first = rest.first, first | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            try skipDigits(&rest)
        }
        return rest.startIndex
    }

    /// At least one.
    private func skipDigits(_ rest: inout ArraySlice<UInt8>) throws(StrictJSON.Failure) {
        let digits = rest.prefix(while: \.isDigit)
        guard !digits.isEmpty else { throw .malformed }
        rest = rest.dropFirst(digits.count)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }

    /// The bytes that a quoted string stands for: an escape spells the same name differently.
    private func text(of quoted: ArraySlice<UInt8>) throws(StrictJSON.Failure) -> ArraySlice<UInt8> {
        guard quoted.contains(UInt8(ascii: "\\")) else { return quoted.dropFirst().dropLast() }
        do {
            return Array(try JSONDecoder().decode(String.self, from: Data(quoted)).utf8)[...]
        } catch {
            throw .malformed
        }
    }
}
