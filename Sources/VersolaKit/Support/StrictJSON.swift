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

    /// Decodes an object (RFC 8259 §4). Two members of one name are refused: the decoder would take the first and another
    /// reader the last (RFC 7515 §4, RFC 7519 §4).
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
        guard hasDistinctMembers(bytes) else { throw .duplicateMember }
        return value
    }

    private static let whitespace = Array(" \t\r\n".utf8)

    /// Whether the outermost object names no member twice; `bytes` are known to be well-formed JSON.
    private static func hasDistinctMembers(_ bytes: [UInt8]) -> Bool {
        // Room for the members of most tokens: a set that grows hashes everything again.
        var names = Set<String>(minimumCapacity: 32)
        var depth = 0
        var expectsName = false
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                expectsName = depth == 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
            case UInt8(ascii: ","):
                expectsName = depth == 1
            case UInt8(ascii: "\""):
                let end = endOfString(bytes, from: index)
                if expectsName {
                    guard let name = text(of: bytes[index..<end]), names.insert(name).inserted else { return false }
                    expectsName = false
                }
                index = end - 1
            default:
                break
            }
            index += 1
        }
        return true
    }

    /// The index after the closing quote of the string that starts at `start`.
    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    /// What a quoted string says: an escape spells the same name differently.
    private static func text(of quoted: ArraySlice<UInt8>) -> String? {
        guard quoted.contains(UInt8(ascii: "\\")) else {
            return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(quoted))
    }
}
