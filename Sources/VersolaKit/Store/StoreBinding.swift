// SPDX-License-Identifier: Apache-2.0

/// Whose store it is. Every sealed record is bound to it, and the directory is named after it.
struct StoreBinding: Sendable {
    /// Issuer, client id and session name, each after its length (32 bits, big-endian): no two triples look alike.
    let encoded: [UInt8]
    /// SHA-256 of `encoded`.
    let hash: [UInt8]

    init(issuer: String, clientID: String, session: String) throws(OAuthError) {
        var bytes: [UInt8] = []
        for part in [issuer, clientID, session] { bytes.appendWithLength(Array(part.utf8)) }
        encoded = bytes
        hash = try HashFunction.sha256.digest(bytes)
    }

    var directoryName: String { Hex.encode(hash.prefix(16)) }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    mutating func appendWithLength(_ bytes: [UInt8]) {
        appendBigEndian(UInt32(truncatingIfNeeded: bytes.count))
        append(contentsOf: bytes)
    }
}
