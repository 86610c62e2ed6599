// SPDX-License-Identifier: Apache-2.0
import CShims

/// AES-256-GCM (NIST SP 800-38D) with 96-bit nonces and 128-bit tags.
enum AESGCM {
    static let keySize = 32
    static let nonceSize = 12
    static let tagSize = 16

    /// Ciphertext and tag. A nonce must never be used twice with one key.
    static func seal(
        _ plaintext: Secret, key: Secret, nonce: [UInt8], authenticating data: [UInt8]
    ) throws(OAuthError) -> [UInt8] {
        try OpenSSL.whileThere { () throws(OAuthError) in
            let cipher = try Cipher(key: key, nonce: nonce, encrypting: true)
            try cipher.authenticate(data)
            var sealed = try plaintext.withBytes { bytes throws(OAuthError) in try cipher.update(bytes) }
            guard cipher.finish() else { throw .cryptoUnavailable("seal") }
            sealed += try cipher.tag()
            return sealed
        }
    }

    /// The plaintext, or `nil` when the tag does not fit: the bytes, the key or the data are not what was sealed.
    static func open(
        _ sealed: ArraySlice<UInt8>, key: Secret, nonce: [UInt8], authenticating data: [UInt8]
    ) throws(OAuthError) -> Secret? {
        guard sealed.count >= tagSize else { return nil }
        return try OpenSSL.whileThere { () throws(OAuthError) in
            let cipher = try Cipher(key: key, nonce: nonce, encrypting: false)
            try cipher.authenticate(data)
            let ciphertext = Secret(sealed.dropLast(tagSize))
            var plaintext = try ciphertext.withBytes { bytes throws(OAuthError) in try cipher.update(bytes) }
            defer { plaintext.wipe() }
            try cipher.expect(tag: Array(sealed.suffix(tagSize)))
            return cipher.finish() ? Secret(plaintext) : nil
        }
    }
}

/// One use of OpenSSL's cipher context, inside of `OpenSSL.whileThere`.
private final class Cipher {
    private let context: OpaquePointer

    init(key: Secret, nonce: [UInt8], encrypting: Bool) throws(OAuthError) {
        guard key.count == AESGCM.keySize, nonce.count == AESGCM.nonceSize, let context = EVP_CIPHER_CTX_new() else {
            throw .cryptoUnavailable("set up AES-GCM")
        }
        self.context = context
        let ready = key.withBytes { key in
            EVP_CipherInit_ex(
                context, EVP_aes_256_gcm(), nil, key.bindMemory(to: UInt8.self).baseAddress, nonce, encrypting ? 1 : 0)
        }
        guard ready == 1 else { throw .cryptoUnavailable("set up AES-GCM") }
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    func authenticate(_ data: [UInt8]) throws(OAuthError) {
        var written: Int32 = 0
        guard let length = Int32(exactly: data.count), EVP_CipherUpdate(context, nil, &written, data, length) == 1
        else {
            throw .cryptoUnavailable("authenticate with AES-GCM")
        }
    }

    /// GCM is a stream: as many bytes come out as went in.
    func update(_ input: UnsafeRawBufferPointer) throws(OAuthError) -> [UInt8] {
        guard !input.isEmpty else { return [] }
        var output = [UInt8](repeating: 0, count: input.count)
        var written: Int32 = 0
        guard let length = Int32(exactly: input.count),
            EVP_CipherUpdate(context, &output, &written, input.bindMemory(to: UInt8.self).baseAddress, length) == 1,
            written == length
        else { throw .cryptoUnavailable("encrypt or decrypt") }
        return output
    }

    /// When decrypting, whether the tag fits.
    func finish() -> Bool {
        var nothing = [UInt8](repeating: 0, count: AESGCM.tagSize)
        var written: Int32 = 0
        return OpenSSL.quietly { EVP_CipherFinal_ex(context, &nothing, &written) == 1 }
    }

    func tag() throws(OAuthError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: AESGCM.tagSize)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(AESGCM.tagSize), &tag) == 1 else {
            throw .cryptoUnavailable("make or take an AES-GCM tag")
        }
        return tag
    }

    func expect(tag: [UInt8]) throws(OAuthError) {
        var tag = tag
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(AESGCM.tagSize), &tag) == 1 else {
            throw .cryptoUnavailable("make or take an AES-GCM tag")
        }
    }
}
