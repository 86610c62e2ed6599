// SPDX-License-Identifier: Apache-2.0

/// A signed token in compact form (RFC 7515 §7.1), taken apart. Nothing of it may be believed before
/// ``JWKSet/verify(_:)`` says so.
struct JWS: Sendable {
    /// Characters of a whole token: ID tokens with hundreds of groups stay far below it.
    static let longestToken = 256 * 1024
    /// Characters of the header part; its JSON is read before anything is verified.
    static let longestHeader = 8 * 1024

    let header: JWSHeader
    let payload: [UInt8]
    let signature: [UInt8]
    /// What was signed: header and payload as received.
    let signingInput: ArraySlice<UInt8>

    init(compact token: String) throws(IDTokenRejection) {
        guard token.utf8.count <= Self.longestToken else { throw .rejected("The token is too long.") }
        let bytes = Array(token.utf8)
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot) else {
            throw .rejected("The token does not consist of three parts (RFC 7515 §7.1).")
        }
        guard first <= Self.longestHeader else { throw .rejected("The token's header is too long.") }
        // A fourth part fails here too: a dot is not base64url.
        guard let header = Base64URL.decode(bytes[..<first]),
            let payload = Base64URL.decode(bytes[(first + 1)..<second]),
            let signature = Base64URL.decode(bytes[(second + 1)...])
        else { throw .rejected("A part of the token is not base64url (RFC 7515 §2).") }
        guard let headerText = String(validating: header, as: UTF8.self) else {
            throw .rejected("The token's header is not UTF-8.")
        }
        self.header = try JWSHeader(json: headerText)
        self.payload = payload
        self.signature = signature
        signingInput = bytes[..<second]
    }
}
