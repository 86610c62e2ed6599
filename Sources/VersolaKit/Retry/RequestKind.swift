// SPDX-License-Identifier: Apache-2.0

/// The requests the library sends by itself; which of them may be repeated, and where their failures land, depends on it.
enum RequestKind: String, Sendable, CaseIterable {
    case discovery
    case keySet = "key set"
    case codeExchange = "code exchange"
    case refresh
    case userInfo = "UserInfo"
    case revocation

    /// A closed client wants no answer: nothing is lost, as a rule (``Sender/givesUpOnClose``). A code that is spent may wait
    /// for a key set, whoever asked for it.
    var endsOnClose: Bool { self == .discovery || self == .userInfo }

    /// Answers carry OAuth `error` codes (RFC 6749 §5.2).
    var isTokenEndpoint: Bool { self == .codeExchange || self == .refresh }
}
