// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// The toolchain's JSON, with what it lets pass and a signed object must not contain.
enum StrictJSON {
    enum Failure: Error, Equatable {
        case malformed
        case duplicateMember
        /// A member is there but is not what it should be.
        case unfit(member: String)
    }

    /// Decodes an object (RFC 8259 §4). Two members of one name are refused, in nested objects too, as in the keys of a set:
    /// the decoder would take the first and another reader the last (RFC 7515 §4, RFC 7517 §4, RFC 7519 §4).
    static func decode<Value: Decodable>(_ type: Value.Type, from object: String) throws(Failure) -> Value {
        let bytes = Array(object.utf8)
        // The decoder also takes a byte order mark, and guesses UTF-16 from zero bytes, which JSON in UTF-8 never has.
        guard bytes.first(where: { !whitespace.contains($0) }) == UInt8(ascii: "{"), !bytes.contains(0) else {
            throw .malformed
        }
        let value: Value
        do {
            value = try JSONDecoder().decode(type, from: Data(bytes))
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw context.codingPath.first.map { .unfit(member: $0.stringValue) } ?? .malformed
        } catch DecodingError.keyNotFound(let key, let context) {
            throw .unfit(member: (context.codingPath.first ?? key).stringValue)
        } catch {
            throw .malformed
        }
        try check(bytes)
        return value
    }

    private static let whitespace = Array(" \t\r\n".utf8)

    /// Refuses objects that name a member twice, and what the decoder passes over in members nobody asked it for: strings and
    /// numbers against the grammar. The text may be handed on as it is, to parsers that look.
    private static func check(_ bytes: [UInt8]) throws(Failure) {
        // The names so far in each open object, byte for byte; `nil` for an open array.
        var open: [Set<ArraySlice<UInt8>>?] = []
        var expectsName = false
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"):
                // Room for the members of most tokens: a set that grows hashes everything again.
                open.append(Set(minimumCapacity: open.isEmpty ? 32 : 0))
                expectsName = true
            case UInt8(ascii: "["):
                open.append(nil)
                expectsName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = open.popLast()
                expectsName = false
            case UInt8(ascii: ","):
                expectsName = open.last.map { $0 != nil } ?? false
            case UInt8(ascii: "\""):
                let end = try endOfString(bytes, from: index)
                if expectsName {
                    let name = try text(of: bytes[index..<end])
                    guard let inner = open.indices.last, open[inner]?.insert(name).inserted == true else {
                        throw .duplicateMember
                    }
                    expectsName = false
                }
                index = end - 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                index = try endOfNumber(bytes, from: index) - 1
            default:
                break
            }
            index += 1
        }
    }

    private static let escapes = Array("\"\\/bfnrtu".utf8)

    /// The index after the closing quote of the string that starts at `start` (RFC 8259 §7).
    private static func endOfString(_ bytes: [UInt8], from start: Int) throws(Failure) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            guard bytes[index] >= 0x20 else { throw .malformed }
            if bytes[index] == UInt8(ascii: "\\") {
                index += 1
                guard index < bytes.count, escapes.contains(bytes[index]) else { throw .malformed }
                if bytes[index] == UInt8(ascii: "u") {
                    let digits = bytes.dropFirst(index + 1).prefix(4)
                    guard digits.count == 4, digits.allSatisfy(isHexDigit) else { throw .malformed }
                }
            }
            index += 1
        }
        return min(index + 1, bytes.count)
    }

    /// The index after the number that starts at `start` (RFC 8259 §6).
    private static func endOfNumber(_ bytes: [UInt8], from start: Int) throws(Failure) -> Int {
        var rest = bytes.dropFirst(start).prefix { isDigit($0) || "+-.eE".utf8.contains($0) }
        let end = rest.endIndex
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let hasLeadingZero = rest.first == UInt8(ascii: "0")
        let whole = try skipDigits(&rest)
        guard whole == 1 || !hasLeadingZero else { throw .malformed }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            _ = try skipDigits(&rest)
        }
        if let first = rest.first, first | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            _ = try skipDigits(&rest)
        }
        guard rest.isEmpty else { throw .malformed }
        return end
    }

    /// - Returns: how many there were, at least one.
    private static func skipDigits(_ rest: inout ArraySlice<UInt8>) throws(Failure) -> Int {
        let digits = rest.prefix(while: isDigit)
        guard !digits.isEmpty else { throw .malformed }
        rest = rest.dropFirst(digits.count)
        return digits.count
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }

    /// The bytes that a quoted string stands for: an escape spells the same name differently.
    private static func text(of quoted: ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8> {
        guard quoted.contains(UInt8(ascii: "\\")) else { return quoted.dropFirst().dropLast() }
        do {
            return Array(try JSONDecoder().decode(String.self, from: Data(quoted)).utf8)[...]
        } catch {
            throw .malformed
        }
    }
}
