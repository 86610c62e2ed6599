// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Whose claims UserInfo's answer holds (OpenID Connect Core §5.3, behaviour §7).
@Suite(.timeLimit(.minutes(1))) struct UserInfoTests {
    private static let now: Int64 = 1_764_493_000
    private let key = TestKey.es256

    @Test(arguments: [
        ("application/jwt", true), ("application/jwt; charset=utf-8", true), ("Application/JWT ;x=\"y\"", true),
        (" application/jwt", true), ("application/jwt;", true), ("application/json", false), ("", false),
        ("application/jwtx", false), ("text/plain; application/jwt", false), ("application/secevent+jwt", false),
    ])
    func aSignedAnswerSaysSo(type: String, signed: Bool) {
        let response = HTTPResponse(
            status: 200, fields: [HTTPField(name: "content-type", value: type)], body: [])
        #expect(UserInfo.isSigned(response) == signed)
    }

    @Test func withoutATypeItIsNotSigned() {
        #expect(!UserInfo.isSigned(HTTPResponse(status: 200, fields: [], body: [])))
    }

    /// Case B66.
    @Test(arguments: [
        "\"bob\"", "\"Zoe\\u0308\"", "\"Zoe\u{308}\"", "null", "7", "[\"Zoë\"]", "{}", "true", "\"\"", "\"Zoë \"",
        "\"zoë\"",
    ])
    func b66SubIsByteForByteTheIDTokens(subject: String) {
        #expect(
            failure { () throws(OAuthError) in
                try UserInfo.claims(Array("{\"sub\":\(subject)}".utf8), subject: "Zo\u{eb}")
            } == .configuration(.userInfoRejected))
    }

    @Test func b66SubMayBeEscaped() throws {
        for subject in ["\"Zo\u{eb}\"", "\"Zo\\u00eb\""] {
            let answer = "{\"sub\":\(subject),\"x\":[{}]}"
            #expect(try UserInfo.claims(Array(answer.utf8), subject: "Zo\u{eb}") == answer)
        }
    }

    @Test(arguments: [
        "", "[]", "\"sub\"", "{\"sub\":\"a\",\"sub\":\"a\"}", "{\"sub\":\"a\",\"x\":{\"y\":1,\"y\":2}}", "\u{FEFF}{}",
    ])
    func whatIsNoObjectHasNoClaims(answer: String) throws {
        #expect(try UserInfo.claims(Array(answer.utf8), subject: "a") == nil)
        #expect(try UserInfo.claims([0xff], subject: "a") == nil)
    }

    @Test(arguments: [
        "{}", "{\"iss\":\"https://op.example/K\",\"aud\":\"app-K\"}", "{\"aud\":[\"x\",\"app-K\"]}",
        "{\"iss\":null,\"aud\":null,\"exp\":null,\"nbf\":null}", "{\"exp\":\(now - 59),\"nbf\":\(now + 60)}",
        "{\"exp\":1e300,\"nbf\":-1e300}", "{\"nonce\":7,\"iat\":\"x\",\"azp\":[]}",
    ])
    func whatASignedAnswerMaySay(claims: String) throws {
        #expect(try verdict(key.sign(claims)).get() == Array(claims.utf8))
    }

    @Test(arguments: [
        ("{\"iss\":\"https://op.example/k\"}", "UserInfo: iss is not the provider."),
        ("{\"iss\":\"https://op.example/\u{212a}\"}", "UserInfo: iss is not the provider."),
        ("{\"iss\":7}", "UserInfo: iss is not the provider."),
        ("{\"aud\":\"app\"}", "UserInfo: aud does not name this client."),
        ("{\"aud\":\"app-\u{212a}\"}", "UserInfo: aud does not name this client."),
        ("{\"aud\":[]}", "UserInfo: aud does not name this client."),
        ("{\"aud\":[7,\"app-K\"]}", "UserInfo: aud does not name this client."),
        ("{\"exp\":\(now - 60)}", "UserInfo: it has expired."),
        ("{\"exp\":\"\(now + 60)\"}", "UserInfo: it has expired."),
        ("{\"exp\":-1e300}", "UserInfo: it has expired."),
        ("{\"nbf\":\(now + 61)}", "UserInfo: it is not valid yet."),
        ("{\"nbf\":\"\(now)\"}", "UserInfo: it is not valid yet."),
        ("[]", "UserInfo: the payload is not a JSON object."), ("", "UserInfo: the payload is not a JSON object."),
        ("{\"a\":1,\"a\":2}", "UserInfo: the payload is not a JSON object."),
    ])
    func whatASignedAnswerMustNotSay(claims: String, sentence: String) throws {
        #expect(try verdict(key.sign(claims)) == .failure(.rejected(sentence)))
    }

    /// By the rules of ID tokens (behaviour §6).
    @Test func theSignatureIsCheckedFirst() throws {
        #expect(
            try verdict(TestKey.make(.es256).sign("[]", kid: "k"))
                == .failure(.rejected("The token's signature does not verify.")))
        #expect(
            try verdict(key.sign("[]", kid: "other"))
                == .failure(.noFittingKey("No key of the provider's set fits the token.")))
        #expect(
            try verdict(key.sign(header: "{\"alg\":\"ES256\",\"typ\":\"at+jwt\"}", payload: "{}"))
                == .failure(.rejected("The token's header says that it is another kind of token (RFC 8725 §3.11).")))
    }

    private func verdict(_ token: String) throws -> Result<[UInt8], IDTokenRejection> {
        UserInfo.verify(
            token, keys: try keySet(key.jwk(["kid": "k"])), issuer: "https://op.example/K", clientID: "app-K",
            clockSkew: 60, now: Self.now * 1000)
    }

    // MARK: Whose

    @Test func anAnswerAboutTheOneWhoWasSignedInWhenItWasAskedIsOfASessionThatIsOver() async throws {
        let harness = try await Harness.signedIn()
        let asked = harness.transport.hold(.userInfo)
        let call = harness.client.startUserInfo()
        _ = try await asked.sent()
        harness.provider.change { $0.claims = ["sub": "\"bob\""] }
        try await harness.signIn()
        asked.release()
        #expect(await call.failure() == .reauthenticate(.sessionExpired))
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func itIsHandedOutWhenTheSamePersonSignedInAgainMeanwhile() async throws {
        let harness = try await Harness.signedIn()
        let asked = harness.transport.hold(.userInfo)
        let call = harness.client.startUserInfo()
        _ = try await asked.sent()
        try await harness.signIn()
        asked.release()
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        try await harness.close()
    }

    @Test func aChallengeToASessionThatIsOverIsNotHeldAgainstTheOneThatIsThere() async throws {
        let harness = try await Harness.signedIn()
        let asked = harness.transport.hold(.userInfo)
        let call = harness.client.startUserInfo()
        _ = try await asked.sent()
        try await harness.signIn()
        asked.release(
            .json(
                401, "",
                [HTTPField(name: "WWW-Authenticate", value: "Bearer error=\"insufficient_user_authentication\"")]))
        // A 401 to a token no longer current is replayed with the current one (behaviour §5).
        #expect(try await call.value() == "{\"sub\":\"alice\"}")
        #expect(harness.client.state == .authenticated)
        try await harness.close()
    }

    @Test func nothingIsHandedOutWhenTheSessionEndedWhileTheKeysWereLoaded() async throws {
        let harness = try await Harness.signedIn()
        let signed = harness.provider.key.sign("{\"sub\":\"alice\"}", kid: "new")
        harness.transport.next(
            .userInfo,
            .success(
                HTTPResponse(
                    status: 200, fields: [HTTPField(name: "Content-Type", value: "application/jwt")],
                    body: Array(signed.utf8))))
        let keys = harness.transport.hold(.keySet)
        let call = harness.client.startUserInfo()
        _ = try await keys.sent()
        _ = try await harness.client.logout()
        keys.release(.json(200, "{\"keys\":[\(harness.provider.key.jwk(["kid": "new"]))]}"))
        #expect(await call.failure() == .reauthenticate(.sessionExpired))
        try await harness.close()
    }

    @Test func nobodysClaimsAreHandedOutWhenTheSessionIsTheSame() async throws {
        let harness = try await Harness.signedIn()
        harness.transport.next(.userInfo, .json(200, "{\"sub\":\"bob\"}"))
        #expect(await failure { try await harness.client.userInfo() } == .configuration(.userInfoRejected))
        #expect(try await harness.client.userInfo() == "{\"sub\":\"alice\"}")
        try await harness.close()
    }
}
