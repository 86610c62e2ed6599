// SPDX-License-Identifier: Apache-2.0

/// Scope values to ask for (RFC 6749 §3.3): in order, without repetition, `openid` always among them.
struct Scope: Equatable, Sendable {
    /// Space-separated, as it is sent.
    let text: String

    init(_ values: [String]) throws(OAuthError) {
        var seen: [String] = values.contains("openid") ? [] : ["openid"]
        for value in values where !seen.contains(value) {
            guard !value.isEmpty, value.utf8.allSatisfy(Self.isAllowed) else {
                throw .configuration(
                    .invalidConfiguration, "scope: a value is empty or has characters that RFC 6749 §3.3 forbids")
            }
            seen.append(value)
        }
        text = seen.joined(separator: " ")
    }

    /// From a space-separated list.
    init(_ list: String) throws(OAuthError) {
        try self.init(list.split(separator: " ").map(String.init))
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte == 0x21 || (0x23...0x5b).contains(byte) || (0x5d...0x7e).contains(byte)
    }
}
