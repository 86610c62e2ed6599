// SPDX-License-Identifier: Apache-2.0

/// Sends one HTTP request, once. What an answer means, and whether to send again, is not decided here.
protocol HTTPTransport: Sendable {
    /// Always answers, at the latest when the request's timeout has run out. Cancelling the calling task does not stop it:
    /// a one-time credential on the wire must not lose its answer. For others there is ``HTTPRequest/unlessClosed``.
    func send(_ request: HTTPRequest) async -> Result<HTTPResponse, TransportFailure>
}

struct HTTPField: Equatable, Sendable {
    var name: String
    var value: String
}

struct HTTPRequest: Sendable {
    var method: String
    /// Absolute, https or loopback http: anything else is refused as a transport failure before a connection is made.
    var url: String
    var fields: [HTTPField] = []
    var body: [UInt8] = []
    /// The body carries a code or a refresh token: a fresh, non-reusable HTTP/1.1 connection, never resent by curl.
    var carriesOneTimeCredential = false
    /// Nobody wants the answer once this is closed: the transfer ends then, as a failure.
    var unlessClosed: Closing?
}

struct HTTPResponse: Equatable, Sendable {
    var status: Int
    /// In the order received; names may repeat.
    var fields: [HTTPField]
    /// After decompression; never over the transport's limit.
    var body: [UInt8]
    /// False when the body was over the limit, broken in its compression or, with a status that needs none (408, 429, 5xx),
    /// cut off: it is then empty here and must be taken as one that cannot be decoded.
    var isComplete = true

    /// Every value of a field, name compared without case.
    func values(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
    }
}

/// Nobody answered, or not with a whole answer.
struct TransportFailure: Error, Equatable, Sendable {
    var reason: NetworkReason
    /// For logs; names an untrusted or expired certificate; never holds a URL's query.
    var detail: String
    /// False only if surely no byte of the request was written (the pre-request callback was never reached).
    var mayHaveBeenSent: Bool
}

/// What the transport is set up with once, from the configuration.
struct TransportSettings: Equatable, Sendable {
    var requestTimeoutMillis: Int64 = 15_000
    var connectTimeoutMillis: Int64 = 10_000
    var responseLimit = 1 << 20
    /// PEM file with certificates trusted beside the system's.
    var caFile: String?
    /// nil = the environment's as curl reads it, "" = none.
    var proxy: String?
}
