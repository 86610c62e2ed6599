// SPDX-License-Identifier: Apache-2.0
import CShims

extension PublicKey {
    /// Whether `signature`, in the form JOSE carries it, is this key's over `message`. A key of another kind verifies nothing.
    func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>, by algorithm: SignatureAlgorithm) -> Bool {
        guard algorithm.keyKind == kind else { return false }
        switch algorithm.scheme {
        case .rsaPKCS1, .rsaPSS:
            // RFC 8017 §8.1.2 and §8.2.2, step 1: as long as the modulus, no shorter spelling.
            guard signature.count == EVP_PKEY_get_size(pointer) else { return false }
            return OpenSSL.quietly { opensslVerifies(signature, of: message, by: algorithm) }
        case .ecdsa(let curve):
            return OpenSSL.quietly {
                guard let encoded = derSignature(signature, curve: curve) else { return false }
                return opensslVerifies(encoded, of: message, by: algorithm)
            }
        case .ed25519:
            return OpenSSL.quietly { opensslVerifies(signature, of: message, by: algorithm) }
        }
    }

    private func opensslVerifies(
        _ signature: [UInt8], of message: ArraySlice<UInt8>, by algorithm: SignatureAlgorithm
    ) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // Ed25519 hashes by itself and takes no digest (RFC 8032 §5.1).
        var digest: OpaquePointer?
        if algorithm.scheme != .ed25519 {
            guard let implementation = algorithm.hash.implementation else { return false }
            digest = implementation
        }
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, digest, nil, pointer) == 1 else { return false }
        if algorithm.scheme == .rsaPSS {
            // RFC 7518 §3.5: MGF1 with the same hash (OpenSSL's default), the salt as long as the hash.
            guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return message.withUnsafeBufferPointer { message in
            EVP_DigestVerify(context, signature, signature.count, message.baseAddress, message.count) == 1
        }
    }

    /// `r || s`, each as long as a coordinate (RFC 7518 §3.4), as the DER that OpenSSL reads.
    private func derSignature(_ signature: [UInt8], curve: Curve) -> [UInt8]? {
        let half = curve.fieldLength
        guard signature.count == 2 * half, let parsed = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(parsed) }
        let r = BN_bin2bn(Array(signature.prefix(half)), Int32(half), nil)
        let s = BN_bin2bn(Array(signature.suffix(half)), Int32(half), nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(parsed, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        guard let length = Int(exactly: i2d_ECDSA_SIG(parsed, nil)), length > 0 else { return nil }
        var encoded = [UInt8](repeating: 0, count: length)
        encoded.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = i2d_ECDSA_SIG(parsed, &cursor)
        }
        return encoded
    }
}
