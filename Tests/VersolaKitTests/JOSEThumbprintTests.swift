// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct JOSEThumbprintTests {
    private static let p256 = [
        "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    ]

    /// RFC 7638 §3.1.
    @Test func ofAnRSAKey() throws {
        let modulus = """
            0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCi\
            FV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnY\
            b9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0\
            Ls1jF44-csFCur-kEgU8awapJzKnqDKgw
            """
        let key = ["kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"]
        #expect(try JWKThumbprint.sha256(key) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    }

    /// RFC 8037 A.3, of the key whose signature A.4 shows.
    @Test func ofAnEd25519Key() throws {
        let key = ["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
        #expect(try JWKThumbprint.sha256(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    /// RFC 9449, the key of its examples.
    @Test func ofAnECKey() throws {
        #expect(try JWKThumbprint.sha256(Self.p256) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }

    @Test(arguments: ["kty", "crv", "x", "y"])
    func aKeyThatLacksAMemberHasNone(member: String) throws {
        #expect(try JWKThumbprint.sha256(Self.p256.filter { $0.key != member }) == nil)
    }

    @Test func aSymmetricKeyHasNone() throws {
        #expect(try JWKThumbprint.sha256(["kty": "oct", "k": "AAAA"]) == nil)
    }
}
