// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// The compact form and the header rules: what is refused before any key is looked at.
@Suite struct JOSECompactTests {
    private let key = TestKey.es256

    @Test func aPlainTokenIsTakenApart() throws {
        let token = try JWS(compact: key.sign("{\"a\":1}", kid: "k"))
        #expect(token.header.algorithm == .es256)
        #expect(token.header.keyID == "k")
        #expect(token.payload == Array("{\"a\":1}".utf8))
        #expect(token.signature.count == 64)
    }

    /// Case B64.
    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", "eyJhbGciOiJFUzI1NiJ9", "eyJhbGciOiJFUzI1NiJ9.e30",
        "eyJhbGciOiJFUzI1NiJ9.e30.AA.AA",
        ".e30.AA", "eyJhbGciOiJFUzI1NiJ9.e30=.AA", "eyJhbGciOiJFUzI1NiJ9.e3 0.AA", "eyJhbGciOiJFUzI1NiJ9.e30.A+",
        "eyJhbGciOiJFUzI1NiJ9.e30.A", "eyJhbGciOiJFUzI1NiJ9\n.e30.AA", "gICA.e30.AA", "é.e30.AA", "\u{0}.\u{0}.\u{0}",
    ])
    func b64MalformedTokensAreATypedError(token: String) throws {
        #expect(throws: IDTokenRejection.self) { try JWS(compact: token) }
    }

    /// Case B64.
    @Test func b64HugePartsAreATypedError() throws {
        let mebibyte = String(repeating: "A", count: 1 << 20)
        for token in [mebibyte, "\(mebibyte).e30.AA", "eyJhbGciOiJFUzI1NiJ9.\(mebibyte).AA"] {
            #expect(throws: IDTokenRejection.rejected("The token is too long.")) { try JWS(compact: token) }
        }
        let header = "{\"alg\":\"ES256\",\"x\":\"\(String(repeating: "A", count: 8 * 1024))\"}"
        #expect(throws: IDTokenRejection.rejected("The token's header is too long.")) {
            try JWS(compact: key.sign(header: header, payload: "{}"))
        }
    }

    @Test func everyTruncationIsRefused() throws {
        let token = key.sign("{\"a\":1}")
        let keys = try keySet(key.jwk())
        #expect(rejection(token, keys) == nil)
        for length in 0..<token.utf8.count {
            #expect(rejection(String(token.prefix(length)), keys) != nil)
        }
    }

    @Test func emptyPayloadOrSignatureIsRefused() throws {
        let parts = key.sign("{}").split(separator: ".")
        let keys = try keySet(key.jwk())
        #expect(rejection("\(parts[0])..\(parts[2])", keys) != nil)
        #expect(rejection("\(parts[0]).\(parts[1]).", keys) != nil)
    }

    @Test(arguments: [
        "[]", "null", "1", "\"ES256\"", "{", "{}x", "\u{FEFF}{\"alg\":\"ES256\"}", "{\"alg\":\"ES256\"}\u{0}",
        "{\"alg\":\"ES256\",\"x\":" + String(repeating: "[", count: 5000) + "}",
    ])
    func aHeaderThatIsNoJSONObjectIsRefused(header: String) throws {
        expect("The token's header is not a JSON object.", for: header)
    }

    @Test func aHeaderInUTF16IsRefused() throws {
        let header = Array("{\"alg\":\"ES256\"}".utf16).flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        #expect(throws: IDTokenRejection.rejected("The token's header is not a JSON object.")) {
            try JWS(compact: Base64URL.encode(header) + ".e30.AA")
        }
    }

    @Test(arguments: [
        "{}", "{\"alg\":null}", "{\"alg\":256}", "{\"alg\":[\"ES256\"]}", "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"ES256\",\"typ\":true}",
    ])
    func headerMembersMustBeStrings(header: String) throws {
        let member = header.contains("kid") ? "kid" : header.contains("typ") ? "typ" : "alg"
        expect("The token's header member \(member) is missing or not a string.", for: header)
    }

    /// Case B08.
    @Test(arguments: [
        "none", "None", "NONE", "", "HS256", "HS384", "HS512", "es256", "RS1", "ES256K", "RSA-OAEP", "dir", "RS256 ",
    ])
    func b08OtherAlgorithmsDoNotExist(algorithm: String) throws {
        expect(
            "The token's signature algorithm is not one of those accepted.", for: "{\"alg\":\"\(algorithm)\"}")
    }

    @Test(arguments: [
        "{\"alg\":\"none\",\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",\"alg\":\"none\"}",
        "{\"alg\":\"ES256\",\"\\u0061lg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"x\":{\"alg\":1},\"kid\":\"a\",\"kid\":\"b\"}",
        "{\"alg\":\"ES256\",\"x\":\"\\\"\",\"x\":1}", "{\"alg\":\"ES256\",\"a\\/b\":1,\"a/b\":2}",
    ])
    func aMemberNamedTwiceIsRefused(header: String) throws {
        expect("The token's header names a member twice (RFC 7515 §4).", for: header)
    }

    @Test(arguments: [
        "{\"alg\":\"ES256\",\"x\":{\"alg\":1,\"b\":[{\"alg\":2},{\"alg\":3}]},\"y\":[\"alg\",\"alg\"]}",
        "{\"alg\":\"ES256\",\"a\\\"b\":1,\"a\\\\\":\",\\\"alg\\\":1\"}", " { \"alg\" : \"ES256\" , \"kid\":\"alg\" } ",
    ])
    func theSameNameElsewhereIsNoDuplicate(header: String) throws {
        #expect(rejection(key.sign(header: header, payload: "{}"), try keySet(key.jwk(["kid": "alg"]))) == nil)
    }

    @Test(arguments: [
        "[\"b64\"],\"b64\":false", "[\"exp\"],\"exp\":1", "[\"http://example.com/x\"]", "[]", "null", "\"b64\"",
        "[\"alg\"]", "[1]",
        "{}",
    ])
    func anyCriticalExtensionIsRefused(critical: String) throws {
        expect(
            "The token's header demands an extension that is not understood (RFC 7515 §4.1.11).",
            for: "{\"alg\":\"ES256\",\"crit\":\(critical)}")
    }

    @Test(arguments: [
        "at+jwt", "application/at+jwt", "AT+JWT", "Application/AT+jwt", "logout+jwt", "application/logout+jwt",
        "dpop+jwt",
        "secevent+jwt", "application/secevent+jwt", "DPoP+JWT", "at+jwt;v=1", "application/at+jwt; v=1",
    ])
    func aTokenOfAnotherKindIsRefused(type: String) throws {
        expect(
            "The token's header says that it is another kind of token (RFC 8725 §3.11).",
            for: "{\"alg\":\"ES256\",\"typ\":\"\(type)\"}")
    }

    @Test(arguments: ["JWT", "jwt", "application/jwt", "application/jwt;v=\\\"at+jwt\\\"", "JOSE", "", "ID", ";"])
    func otherTypesAreAccepted(type: String) throws {
        let token = key.sign(header: "{\"alg\":\"ES256\",\"typ\":\"\(type)\"}", payload: "{}")
        #expect(rejection(token, try keySet(key.jwk())) == nil)
    }

    @Test func keysInTheHeaderAreNeverUsed() throws {
        let attacker = TestKey.make(.es256)
        let headers = [
            "\"jwk\":\(attacker.jwk())", "\"jku\":\"https://attacker.example/jwks\"",
            "\"x5u\":\"https://attacker.example/\"",
            "\"x5c\":[\"AAAA\"]", "\"jwk\":\(attacker.jwk(["kid": "k"])),\"kid\":\"k\"",
        ]
        for members in headers {
            let header = "{\"alg\":\"ES256\",\(members)}"
            let keys = try keySet(key.jwk(["kid": "k"]))
            #expect(rejection(attacker.sign(header: header, payload: "{}"), keys) != nil)
            // They do not harm either.
            #expect(rejection(key.sign(header: header, payload: "{}"), keys) == nil)
        }
    }

    private func expect(_ sentence: String, for header: String, location: SourceLocation = #_sourceLocation) {
        #expect(throws: IDTokenRejection.rejected(sentence), sourceLocation: location) {
            try JWS(compact: key.sign(header: header, payload: "{}"))
        }
    }
}
