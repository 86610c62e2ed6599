// SPDX-License-Identifier: Apache-2.0
import CShims

/// Random bytes, injected once at the top.
protocol RandomSource: Sendable {
    func bytes(_ count: Int) throws(CryptoFailure) -> [UInt8]
}

/// OpenSSL's generator, which reseeds itself after `fork`.
struct SystemRandom: RandomSource {
    func bytes(_ count: Int) throws(CryptoFailure) -> [UInt8] {
        guard let length = Int32(exactly: count) else { throw CryptoFailure("random bytes") }
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, length) == 1 else { throw CryptoFailure("random bytes") }
        return bytes
    }
}
