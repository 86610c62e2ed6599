// SPDX-License-Identifier: Apache-2.0

/// Text for logs that travels with an error: never a secret, never to branch on.
public struct Diagnostics: Equatable, Sendable {
    /// One English sentence.
    public var detail: String
    /// The server's `error` code (RFC 6749 §5.2), kept as received.
    public var oauthError: String?
    /// The server's `error_description`.
    public var errorDescription: String?

    public init(_ detail: String, oauthError: String? = nil, errorDescription: String? = nil) {
        self.detail = detail
        self.oauthError = oauthError
        self.errorDescription = errorDescription
    }

    public static let none = Diagnostics("")
}

extension Diagnostics: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self.init(value)
    }
}
