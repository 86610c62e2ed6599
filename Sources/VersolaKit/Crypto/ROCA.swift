// SPDX-License-Identifier: Apache-2.0

/// The mark of RSA keys that one manufacturer's chips made from 2012 to 2017 and that can be factored (CVE-2017-15361).
enum ROCA {
    /// The primes of such a key are powers of 65537 modulo all small primes, so its modulus is one, too. For another key that is
    /// as likely as one in 2^27.
    static func marks(_ modulus: some Collection<UInt8>) -> Bool {
        primes.allSatisfy { prime in
            isPowerOfGenerator(modulus.reduce(0) { ($0 * 256 + UInt32($1)) % prime }, modulo: prime)
        }
    }

    private static func isPowerOfGenerator(_ value: UInt32, modulo prime: UInt32) -> Bool {
        var power: UInt32 = 1
        repeat {
            if power == value { return true }
            power = power * 65537 % prime
        } while power != 1
        return false
    }

    /// Those of the first 39 primes, which divide the manufacturer's constant for every length of key, whose remainders are not
    /// all powers of 65537.
    private static let primes: [UInt32] = [
        11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157,
    ]
}
