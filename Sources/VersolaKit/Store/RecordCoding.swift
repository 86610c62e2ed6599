// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// The content of records: JSON.
enum RecordCoding {
    static func encode(_ value: some Encodable) throws(OAuthError) -> Secret {
        do {
            let data = try JSONEncoder().encode(value)
            return Secret(data)
        } catch {
            throw .storeUnavailable("a record cannot be encoded")
        }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ content: Secret) throws(OAuthError) -> Value {
        do {
            return try content.withBytes { try JSONDecoder().decode(type, from: Data($0)) }
        } catch {
            // Its tag was right, so it was written like this: by a version that knows more.
            throw .storeUnavailable("a record has an unknown content")
        }
    }
}
