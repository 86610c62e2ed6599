// SPDX-License-Identifier: Apache-2.0
import CShims

/// SHA-256 and HMAC with it (FIPS 180-4, RFC 2104).
enum SHA256 {
    static let size = 32

    static func hash(_ bytes: [UInt8]) throws(CryptoFailure) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: size)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else {
            throw CryptoFailure("SHA-256")
        }
        return digest
    }

    static func authenticate(_ bytes: [UInt8], key: Secret) throws(CryptoFailure) -> [UInt8] {
        guard let keyLength = Int32(exactly: key.count) else { throw CryptoFailure("HMAC") }
        var code = [UInt8](repeating: 0, count: size)
        let done = key.withBytes {
            HMAC(EVP_sha256(), $0.baseAddress, keyLength, bytes, bytes.count, &code, nil) != nil
        }
        guard done else { throw CryptoFailure("HMAC") }
        return code
    }
}
