// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §7: whose claims UserInfo hands out, and what a signed answer has to be.
@Suite(.timeLimit(.minutes(1))) struct UserInfoTests {
    private static let now: Int64 = 1_764_493_000
    private let key = TestKey.es256

    private func verdict(_ token: String) throws -> Result<[UInt8], IDTokenRejection> {
        UserInfo.verify(
            token, keys: try keySet(key.jwk(["kid": "k"])), issuer: "https://op.example", clientID: "client",
            clockSkew: 60, now: Self.now * 1000)
    }

    // MARK: Signed

    @Test(arguments: [
        "{\"sub\":\"alice\"}", "{\"iss\":\"https://op.example\",\"aud\":\"client\"}", "{\"aud\":[\"api\",\"client\"]}",
        "{\"iss\":null,\"aud\":null,\"exp\":null,\"nbf\":null}", "{\"exp\":\(now - 59)}", "{\"nbf\":\(now + 60)}",
    ])
    func aSignedAnswerIsHandedOnAsItWasSigned(payload: String) throws {
        #expect(try verdict(key.sign(payload, kid: "k")).get() == Array(payload.utf8))
    }

    @Test(
        arguments: [
            ("\"iss\":\"https://op.example/\"", "iss is not the provider"), ("\"iss\":7", "iss is not the provider"),
            ("\"aud\":\"api\"", "aud does not name this client"), ("\"aud\":[]", "aud does not name this client"),
            ("\"aud\":[\"client\",7]", "aud does not name this client"), ("\"exp\":\(now - 60)", "it has expired"),
            ("\"exp\":\"\(now + 300)\"", "it has expired"), ("\"nbf\":\(now + 61)", "it is not valid yet"),
            ("\"nbf\":true", "it is not valid yet"),
            ("\"sub\":\"bob\",\"sub\":\"alice\"", "the payload is not a JSON object"),
        ])
    func whatItSaysOfItselfMustFit(claim: String, why: String) throws {
        let token = key.sign("{\(claim)}", kid: "k")
        #expect(try verdict(token) == .failure(.rejected("UserInfo: \(why).")))
    }

    @Test func theSignatureIsCheckedBeforeAnyClaim() throws {
        let forged = TestKey.make(.es256).sign("{\"sub\":\"alice\"}", kid: "k")
        #expect(try verdict(forged) == .failure(.rejected("The token's signature does not verify.")))
        let unknown = key.sign("{\"sub\":\"alice\"}", kid: "other")
        #expect(try verdict(unknown) == .failure(.noFittingKey("No key of the provider's set fits the token.")))
    }

    @Test(
        arguments: [
            ("application/jwt", true), ("Application/JWT ; charset=utf-8", true), ("application/jwt;x", true),
            ("application/json", false), ("application/jwtx", false), ("text/plain;application/jwt", false),
            ("", false),
        ])
    func anAnswerSaysThatItIsSigned(type: String, isSigned: Bool) {
        let response = HTTPResponse(status: 200, fields: [HTTPField(name: "content-type", value: type)], body: [])
        #expect(UserInfo.isSigned(response) == isSigned)
    }

    // MARK: Whose

    @Test(arguments: [
        "{}", "{\"sub\":\"Alice\"}", "{\"sub\":\"alice \"}", "{\"sub\":\"\"}", "{\"sub\":null}",
        "{\"sub\":[\"alice\"]}",
        "{\"sub\":\"alic\\u0065\\u0301\"}",
    ])
    func subIsByteForByteTheIDTokens(body: String) {
        let error = failure { () throws(OAuthError) in try UserInfo.claims(Array(body.utf8), subject: "alice") }
        #expect(error == .configuration(.userInfoRejected))
    }

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
        harness.provider.change { $0.claims = ["sub": "\"bob\""] }
        try await harness.signIn()
        harness.transport.next(.userInfo, .json(200, "{\"sub\":\"bob\"}"))
        asked.release(
            .json(
                401, "",
                [HTTPField(name: "WWW-Authenticate", value: "Bearer error=\"insufficient_user_authentication\"")]))
        // A 401 to a token no longer current is replayed with the current one (behaviour §5).
        #expect(try await call.value() == "{\"sub\":\"bob\"}")
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
