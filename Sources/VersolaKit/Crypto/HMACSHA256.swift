// SPDX-License-Identifier: Apache-2.0
import CShims

/// HMAC with SHA-256 (RFC 2104).
enum HMACSHA256 {
    static let size = 32

    static func authenticate(_ bytes: [UInt8], key: Secret) throws(OAuthError) -> [UInt8] {
        guard let keyLength = Int32(exactly: key.count) else { throw .cryptoUnavailable("authenticate with HMAC") }
        var code = [UInt8](repeating: 0, count: size)
        let done = OpenSSL.quietly {
            key.withBytes { HMAC(EVP_sha256(), $0.baseAddress, keyLength, bytes, bytes.count, &code, nil) != nil }
        }
        guard done else { throw .cryptoUnavailable("authenticate with HMAC") }
        return code
    }
}
