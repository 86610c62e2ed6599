// SPDX-License-Identifier: Apache-2.0
import CShims

extension PublicKey {
    /// Whether `signature`, in the form JOSE carries it, is this key's over `message`. A key of another kind verifies nothing.
    func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>, by algorithm: SignatureAlgorithm) -> Bool {
        // One length, no shorter or longer spelling (RFC 8017 §8.1.2 and §8.2.2; RFC 7518 §3.4; RFC 8032 §5.1.7).
        guard signature.count == signatureLength else { return false }
        return OpenSSL.quietly {
            guard let context = makeContext(for: algorithm) else { return false }
            defer { EVP_MD_CTX_free(context) }
            let encoded: [UInt8]? = if case .ec = kind { derSignature(signature) } else { signature }
            guard let encoded else { return false }
            return message.withUnsafeBufferPointer { message in
                EVP_DigestVerify(context, encoded, encoded.count, message.baseAddress, message.count) == 1
            }
        }
    }

    /// `r || s`, each as long as a coordinate, as the DER that OpenSSL reads.
    private func derSignature(_ signature: [UInt8]) -> [UInt8]? {
        guard let half = Int32(exactly: signature.count / 2), let parsed = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(parsed) }
        let r = BN_bin2bn(Array(signature.prefix(Int(half))), half, nil)
        let s = BN_bin2bn(Array(signature.suffix(Int(half))), half, nil)
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
