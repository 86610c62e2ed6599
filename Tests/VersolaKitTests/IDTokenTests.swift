// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// The rules of a login's ID token, one test each (behaviour §6).
@Suite struct IDTokenTests {
    private static let now = IDTokenFixture.now
    private let good = IDTokenFixture()

    @Test func aGoodTokenIsAcceptedAndToldAsSigned() throws {
        let fixture = good.with([
            "azp": "\"client\"", "auth_time": "1764492000.9", "acr": "\"gold\"", "name": "\"Zoë \\u00e9\\/\"",
        ])
        let verified = try fixture.verdict().get()
        #expect(
            verified.login
                == LoginClaims(
                    issuer: "https://op.example/", subject: "alice", audience: ["client"], authorizedParty: "client",
                    nonce: "n-0S6_WzA2Mj", authTime: 1_764_492_000))
        #expect(verified.acr == "gold")
        #expect(verified.claimsJSON == fixture.payload)
    }

    @Test func theSignatureIsCheckedBeforeAnyClaim() throws {
        let forged = TestKey.make(.es256).sign("not even JSON", kid: "k")
        let verdict = IDTokenValidator.validate(
            forged, keys: try keySet(good.key.jwk(["kid": "k"])), expectations: good.expectations, now: Self.now * 1000)
        #expect(verdict == .failure(.rejected("The token's signature does not verify.")))
    }

    @Test(arguments: ["", "[]", "7", "null", "{", "{\"a\":1}}", "\u{FEFF}{}"])
    func thePayloadMustBeAJSONObject(payload: String) throws {
        let verdict = IDTokenValidator.validate(
            good.key.sign(payload, kid: "k"), keys: try keySet(good.key.jwk(["kid": "k"])),
            expectations: good.expectations, now: Self.now * 1000)
        #expect(verdict == .failure(.rejected("The ID token's payload is not a JSON object.")))
    }

    @Test func whatOtherParsersWouldRefuseIsRefused() throws {
        for value in ["[1,]", "{\"y\":1,}", "01", "\"\\z\""] {
            try good.with(["x": value]).expectRejected("The ID token's payload is not a JSON object.")
        }
    }

    @Test func textThatIsNoUnicodeIsRefused() throws {
        try good.with(["sub": "\"\\ud800\""]).expectRejected("The ID token's payload is not a JSON object.")
        let payload = Array("{\"name\":\"".utf8) + [0xff] + Array("\"}".utf8)
        let token = good.key.sign(payload: payload, kid: "k")
        let verdict = IDTokenValidator.validate(
            token, keys: try keySet(good.key.jwk(["kid": "k"])), expectations: good.expectations, now: Self.now * 1000)
        #expect(verdict == .failure(.rejected("The ID token's payload is not UTF-8.")))
    }

    @Test func aClaimNamedTwiceIsRefused() throws {
        try good.with(["sub": "\"alice\",\"sub\":\"mallory\""]).expectRejected(
            "The ID token names a claim twice (RFC 7519 §4).")
        try good.with(["name": "1,\"n\\u0061me\":2"]).expectRejected("The ID token names a claim twice (RFC 7519 §4).")
        try good.with(["address": "{\"a\":1,\"a\":2}"]).expectRejected(
            "The ID token names a claim twice (RFC 7519 §4).")
        try good.with(["address": "{\"sub\":1}", "x": "[{\"sub\":1},{\"sub\":2}]"]).expectAccepted()
    }

    @Test(arguments: [
        "\"\"", "\"https://op.example\"", "\"https://op.example//\"", "\"HTTPS://op.example/\"",
        "\"https://op.example/\\u0000\"",
    ])
    func issIsByteForByteTheDiscoveredOne(issuer: String) throws {
        try good.with(["iss": issuer]).expectRejected("The ID token's iss is not the discovered issuer.")
    }

    /// To Swift the KELVIN SIGN and K are the same, and so are the two spellings of an é.
    @Test(arguments: [("K", "\u{212a}"), ("\u{e9}", "e\u{301}")])
    func nothingIsNormalized(ours: String, theirs: String) throws {
        let same = good.with([
            "iss": "\"https://op.example/\(ours)\"", "aud": "\"\(ours)\"", "azp": "\"\(ours)\"", "nonce": "\"\(ours)\"",
        ]).expecting {
            $0.issuer = "https://op.example/\(ours)"
            $0.clientID = ours
            $0.nonce = ours
        }
        try same.expectAccepted()
        try same.with(["iss": "\"https://op.example/\(theirs)\""])
            .expectRejected("The ID token's iss is not the discovered issuer.")
        try same.with(["aud": "\"\(theirs)\""]).expectRejected("The ID token's aud does not contain the client_id.")
        try same.with(["aud": "[\"\(ours)\",\"\(theirs)\"]", "azp": nil])
            .expectRejected("The ID token has several audiences and no azp.")
        try same.with(["azp": "\"\(theirs)\""]).expectRejected("The ID token's azp is not the client_id.")
        try same.with(["nonce": "\"\(theirs)\""])
            .expectRejected("The ID token's nonce is missing or not the login's.")
    }

    @Test(arguments: [
        "\"other\"", "[]", "[\"other\"]", "\"Client\"", "\"client \"", "[\"client2\",\"clien\"]",
    ])
    func audContainsTheClientID(audience: String) throws {
        try good.with(["aud": audience]).expectRejected(
            "The ID token's aud does not contain the client_id.")
    }

    @Test(arguments: ["[\"client\"]", "[\"client\",\"client\"]"])
    func audMayBeAnArray(audience: String) throws {
        try good.with(["aud": audience]).expectAccepted()
    }

    @Test func severalAudiencesNeedAzp() throws {
        let several = good.with(["aud": "[\"api\",\"client\"]"])
        try several.expectRejected("The ID token has several audiences and no azp.")
        try several.with(["azp": "\"client\""]).expectAccepted()
    }

    @Test(arguments: ["\"api\"", "\"\"", "\"CLIENT\""])
    func azpIsTheClientIDWhenPresent(party: String) throws {
        try good.with(["azp": party]).expectRejected("The ID token's azp is not the client_id.")
    }

    @Test(arguments: [
        ("iss", "7"), ("sub", "7"), ("sub", "[\"alice\"]"), ("aud", "7"), ("aud", "[7]"), ("aud", "{}"), ("azp", "[]"),
        ("nonce", "7"), ("exp", "\"1764493300\""), ("iat", "\"1764493000\""), ("exp", "true"), ("exp", "[]"),
        ("iat", "{}"),
        ("at_hash", "7"), ("c_hash", "false"), ("auth_time", "\"1764493000\""),
    ])
    func aClaimOfAWrongTypeIsRefused(claim: String, value: String) throws {
        try good.with([claim: value]).expectRejected("The ID token's \(claim) is missing or not what it must be.")
    }

    /// Case B11 for the times.
    @Test(arguments: ["iss", "sub", "aud", "exp", "iat"])
    func b11WhatAnIDTokenMustHaveIsNotMissing(claim: String) throws {
        for value in [nil, "null"] {
            try good.with([claim: value]).expectRejected("The ID token's \(claim) is missing or not what it must be.")
        }
    }

    /// Case B11.
    @Test(arguments: ["exp", "iat", "auth_time"])
    func b11NumbersThatAreNoDateAreRefused(claim: String) throws {
        for value in [
            "1e300", "-1e300", "-1", "-0.5", "1764493300000", "253402300800", "9223372036854775808",
            "123456789012345678901234567890",
        ] {
            try good.with([claim: value]).expectRejected("The ID token's \(claim) is missing or not what it must be.")
        }
        for value in ["1e400", "NaN", "Infinity", "01", "0x10", "1e", "+1"] {
            try good.with([claim: value]).expectRejected("The ID token's payload is not a JSON object.")
        }
    }

    @Test func datesMayHaveFractions() throws {
        try good.with(["exp": "1764493000.5", "iat": "1.764493e9", "auth_time": "-0"]).expectAccepted()
    }

    @Test func expIsNotPastBeyondTheSkew() throws {
        let exp = Self.now + 300
        try good.expectAccepted(now: exp + 59)
        try good.expectRejected("The ID token's exp is past.", now: exp + 60)
        let patient = good.expecting { $0.clockSkew = 300 }
        try patient.expectAccepted(now: exp + 299)
        try patient.expectRejected("The ID token's exp is past.", now: exp + 300)
        try good.expecting { $0.clockSkew = 0 }.expectRejected("The ID token's exp is past.", now: exp)
    }

    @Test func iatIsNotInTheFutureBeyondTheSkew() throws {
        try good.with(["iat": "\(Self.now + 60)"]).expectAccepted()
        try good.with(["iat": "\(Self.now + 61)"]).expectRejected("The ID token's iat is in the future.")
        try good.with(["iat": "\(Self.now + 60).001"]).expectRejected("The ID token's iat is in the future.")
    }

    /// Case B09.
    @Test func b09AnOldIatIsAccepted() throws {
        try good.with(["iat": "\(Self.now - 300)"]).expectAccepted()
        try good.with(["iat": "0"]).expectAccepted()
    }

    @Test(arguments: [Int64.min, Int64.max, 0, -1])
    func aMadClockDoesNotTrap(now: Int64) throws {
        let verdict = IDTokenValidator.validate(
            good.token, keys: try keySet(good.key.jwk(["kid": "k"])), expectations: good.expectations, now: now)
        #expect(throws: IDTokenRejection.self) { try verdict.get() }
    }

    @Test(arguments: [nil, "null", "\"\"", "\"other\"", "\"n-0S6_WzA2Mj \"", "\"N-0S6_WzA2Mj\""])
    func nonceIsTheLogins(nonce: String?) throws {
        try good.with(["nonce": nonce]).expectRejected("The ID token's nonce is missing or not the login's.")
    }

    @Test func subIsNeitherEmptyNorLong() throws {
        let sentence = "The ID token's sub is empty or longer than 255 bytes."
        for subject in [
            "\"\"", "\"\(String(repeating: "a", count: 256))\"",
            "\"\(String(repeating: "é", count: 128))\"",
        ] {
            try good.with(["sub": subject]).expectRejected(sentence)
        }
        try good.with(["sub": "\"\(String(repeating: "a", count: 255))\""]).expectAccepted()
        try good.with(["sub": "\"\(String(repeating: "é", count: 127))\""]).expectAccepted()
    }

    /// It would reach a C program as "alice".
    @Test func subHasNoNUL() throws {
        for subject in ["\"alice\\u0000bob\"", "\"\\u0000\""] {
            try good.with(["sub": subject]).expectRejected("The ID token's sub contains a NUL.")
        }
    }

    /// OpenID Connect Core appendix A.
    @Test func publishedHashes() throws {
        var fixture = good.with([
            "at_hash": "\"77QmUPtjPfzWtF2AnpK9RQ\"", "c_hash": "\"LDktKdoQak3Pk0cnXxCltA\"",
        ]).expecting {
            $0.accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
            $0.code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
        }
        fixture.key = TestKey.rs256
        try fixture.expectAccepted()
    }

    /// Case B13: values made with Python's hashlib.
    @Test(arguments: [
        (SignatureAlgorithm.rs384, "SeGOaEgS6QNKbB7vkLM3y8nujeY4Ple3", "AzKOq95bWVDxjAKcy2yGAwrfulZCkcSh"),
        (.es512, "kyd4-h3ZoV2sH212kLKbcOnCBajStKQ38Ae_bfT-PFI", "tl6nvuWJTxOqvhdJRqhFgY3pNboZRCBtpWThmv4nI8s"),
        (.edDSA, "kyd4-h3ZoV2sH212kLKbcOnCBajStKQ38Ae_bfT-PFI", "tl6nvuWJTxOqvhdJRqhFgY3pNboZRCBtpWThmv4nI8s"),
        (.ps256, "oFYf1knNtrqnhAVfBRuteQ", "VpTQii5T_8rgwxA-Wtb2Bw"),
    ])
    func b13TheAlgorithmNamesTheHash(algorithm: SignatureAlgorithm, accessHash: String, codeHash: String) throws {
        var fixture = good.with(["at_hash": "\"\(accessHash)\"", "c_hash": "\"\(codeHash)\""])
        fixture.key = try #require(TestKey.byAlgorithm[algorithm])
        try fixture.expectAccepted()
        try fixture.with(["at_hash": "\"\(codeHash)\""]).expectRejected(
            "The ID token's at_hash is not the hash of what came with it.")
        try fixture.with(["c_hash": "\"\(accessHash)\""]).expectRejected(
            "The ID token's c_hash is not the hash of what came with it.")
        try fixture.with(["at_hash": "\"\(accessHash)=\""]).expectRejected(
            "The ID token's at_hash is not the hash of what came with it.")
        try fixture.with(["at_hash": "\"\""]).expectRejected(
            "The ID token's at_hash is not the hash of what came with it.")
    }

    @Test func authTimeIsDemandedWithMaxAge() throws {
        let demanding = good.expecting { $0.maxAge = 100 }
        let earliest = Self.now - 60 - 100 - 60
        try demanding.with(["auth_time": "\(earliest)"]).expectAccepted()
        try demanding.with(["auth_time": "\(earliest).5"]).expectAccepted()
        for old in ["\(earliest - 1)", "\(earliest - 1).9", "0"] {
            try demanding.with(["auth_time": old]).expectRejected(
                "The ID token's auth_time is longer ago than max_age allows.")
        }
        for missing in [nil, "null"] {
            try demanding.with(["auth_time": missing]).expectRejected(
                "The ID token has no auth_time, which max_age demands.")
        }
        try good.with(["auth_time": "0"]).expectAccepted()
        try good.with(["auth_time": "0"]).expecting { $0.maxAge = .max }.expectAccepted()
    }

    @Test func acrIsOnlyReported() throws {
        #expect(try good.verdict().get().acr == nil)
        #expect(try good.with(["acr": "0"]).verdict().get().acr == nil)
        #expect(try good.with(["acr": "null"]).verdict().get().acr == nil)
    }

    @Test func noSentenceHoldsAClaimValue() throws {
        let secrets = ["iss", "sub", "aud", "azp", "nonce", "at_hash", "c_hash"]
        for claim in secrets {
            for value in ["\"canary\"", "[\"canary\"]", "{\"canary\":1}"] {
                if case .failure(let rejection) = try good.with([claim: value]).verdict() {
                    #expect(!rejection.sentence.contains("canary"))
                }
            }
        }
    }
}
