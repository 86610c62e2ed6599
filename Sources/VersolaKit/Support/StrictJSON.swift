// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// The toolchain's JSON, without what it lets pass and a signed object must not contain.
enum StrictJSON {
    enum Failure: Error, Equatable {
        case malformed
        case duplicateMember
        /// A member is there but is not what it should be.
        case unfit(member: String)
    }

    /// Decodes an object (RFC 8259 §4). Two members of one name are refused, in nested objects too, as in the keys of a set:
    /// the decoder would take the first and another reader the last (RFC 7515 §4, RFC 7517 §4, RFC 7519 §4). Where a number
    /// is asked for the decoder refuses a zero with an exponent (`0e3`), which nobody writes.
    static func decode<Value: Decodable>(_ type: Value.Type, from object: String) throws(Failure) -> Value {
        let bytes = Array(object.utf8)
        // First: the decoder is laxer, and the text may be handed on as it is, to parsers that are not.
        try JSONGrammar.check(bytes)
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw context.codingPath.first.map { .unfit(member: $0.stringValue) } ?? .malformed
        } catch DecodingError.keyNotFound(let key, let context) {
            throw .unfit(member: (context.codingPath.first ?? key).stringValue)
        } catch {
            throw .malformed
        }
    }
}
