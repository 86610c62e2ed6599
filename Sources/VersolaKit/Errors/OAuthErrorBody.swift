// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// An OAuth error response, from a body (RFC 6749 §5.2) or a redirect (§4.1.2.1): kept for logs, with limits.
struct OAuthErrorBody: Equatable, Sendable {
    var error: String
    var errorDescription: String?

    init(error: String, errorDescription: String?) {
        self.error = Self.printable(error, limit: 128)
        self.errorDescription = errorDescription.map { Self.printable($0, limit: 512) }
    }

    /// `nil` when the body is not a JSON object with a non-empty string `error`. The body decides, not its label.
    init?(_ body: [UInt8]) {
        struct Members: Decodable {
            var error: String
            var error_description: Lenient<String>?
        }
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(body)), !members.error.isEmpty
        else { return nil }
        self.init(error: members.error, errorDescription: members.error_description?.value)
    }

    func diagnostics(of place: String) -> Diagnostics {
        Diagnostics("\(place): the provider answered \(error)", oauthError: error, errorDescription: errorDescription)
    }

    /// Text from outside on its way into a log: control characters out, length bounded.
    private static func printable(_ text: String, limit: Int) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(limit).map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}

/// A member that counts only if it has the type it should have; anything else is as if it were absent.
struct Lenient<Value: Decodable & Sendable>: Decodable, Sendable {
    let value: Value?

    init(from decoder: any Decoder) throws {
        value = try? decoder.singleValueContainer().decode(Value.self)
    }
}
