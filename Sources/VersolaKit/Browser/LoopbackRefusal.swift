// SPDX-License-Identifier: Apache-2.0

/// Why a request to the listener is no redirect. The raw value is the status of its error page; the login goes on.
enum LoopbackRefusal: Int, CaseIterable, Error, Sendable {
    /// Not HTTP, or not for us: `Host` missing, foreign or doubled.
    case malformed = 400
    /// Fetched by a web page, not opened by a person.
    case notANavigation = 403
    case notFound = 404
    case methodNotAllowed = 405
    /// The head did not come in time.
    case timeout = 408
    case targetTooLong = 414
    case fieldsTooLarge = 431
    case versionNotSupported = 505

    /// The reason phrase (RFC 9110 §15, RFC 6585 §5).
    var reason: String {
        switch self {
        case .malformed: "Bad Request"
        case .notANavigation: "Forbidden"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .timeout: "Request Timeout"
        case .targetTooLong: "URI Too Long"
        case .fieldsTooLarge: "Request Header Fields Too Large"
        case .versionNotSupported: "HTTP Version Not Supported"
        }
    }
}
