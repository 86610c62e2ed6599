// SPDX-License-Identifier: Apache-2.0
import CShims

/// Random numbers nobody can guess, injected once at the top.
protocol RandomSource: Sendable {
    /// Fills the whole buffer, or throws and leaves nothing to be used.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(OAuthError)
}

extension RandomSource {
    func bytes(_ count: Int) throws(OAuthError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var failure: OAuthError?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(OAuthError) { try fill(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// For `state`, `nonce`, a code verifier: 32 bytes are 43 characters.
    func base64url(bytes count: Int) throws(OAuthError) -> String {
        Base64URL.encode(try bytes(count))
    }

    /// Lower-case hex, for the names of records.
    func hex(bytes count: Int) throws(OAuthError) -> String {
        Hex.encode(try bytes(count))
    }
}

/// OpenSSL's generator: seeded by the kernel, seeded again after a fork.
struct SystemRandom: RandomSource {
    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(OAuthError) {
        guard let count = Int32(exactly: buffer.count) else { throw .cryptoUnavailable("make random bytes") }
        let filled = OpenSSL.quietly { RAND_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), count) == 1 }
        guard filled else { throw .cryptoUnavailable("make random bytes") }
    }
}
