// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct PKCETests {
    /// RFC 7636 appendix B.
    @Test func publishedChallenge() throws {
        let octets: [UInt8] = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
            240, 91, 88, 5, 88, 83, 132, 141, 121,
        ]
        let verifier = try PKCE.makeVerifier(FixedRandom(octets))
        #expect(verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(try PKCE.challenge(for: verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func everyVerifierIsNewAndLongEnough() throws {
        let verifiers = try (0..<100).map { _ in try PKCE.makeVerifier(SystemRandom()) }
        #expect(Set(verifiers).count == 100)
        #expect(verifiers.allSatisfy { $0.utf8.count == 43 })
    }

    @Test func recordNamesAreLowerCaseHex() throws {
        #expect(try FixedRandom([0, 0x9a, 0xff]).hex(bytes: 3) == "009aff")
    }

    @Test func aGeneratorThatFailsIsAnErrorAndNeverZeros() {
        #expect(throws: OAuthError.cryptoUnavailable("make random bytes")) {
            try PKCE.makeVerifier(NoRandom())
        }
    }

    private struct FixedRandom: RandomSource {
        let octets: [UInt8]
        init(_ octets: [UInt8]) { self.octets = octets }
        func fill(_ buffer: UnsafeMutableRawBufferPointer) { buffer.copyBytes(from: octets) }
    }

    private struct NoRandom: RandomSource {
        func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(OAuthError) {
            throw .cryptoUnavailable("make random bytes")
        }
    }
}
