// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// The rules of an ID token that a refresh brought (OpenID Connect Core §12.2, behaviour §6).
@Suite struct IDTokenRefreshTests {
    private static let now = IDTokenFixture.now
    private let good = IDTokenFixture()
    private let login = LoginClaims(
        issuer: "https://op.example/", subject: "alice", audience: ["client"], nonce: "n-0S6_WzA2Mj",
        authTime: 1_764_490_000)

    /// Case B14.
    @Test func b14NonceMayBeAbsentOrTheLogins() throws {
        #expect(try verdict(good).get().login == login)
        #expect(try verdict(good.with(["nonce": nil])).get().login == login)
        try expectRejected("The refreshed ID token's nonce is not the login's.", good.with(["nonce": "\"other\""]))
    }

    /// Case B14.
    @Test func b14SubIsTheLogins() throws {
        try expectRejected("The refreshed ID token's sub is not the login's.", good.with(["sub": "\"bob\""]))
    }

    /// To Swift the KELVIN SIGN and K are the same.
    @Test func nothingIsNormalized() throws {
        let ours = LoginClaims(
            issuer: "https://op.example/K", subject: "K", audience: ["client", "K"], authorizedParty: "client",
            nonce: "K", authTime: nil)
        let same = good.with([
            "iss": "\"https://op.example/K\"", "sub": "\"K\"", "aud": "[\"K\",\"client\"]", "azp": "\"client\"",
            "nonce": "\"K\"",
        ])
        #expect(throws: Never.self) { try verdict(same, ours).get() }
        try expectRejected(
            "The ID token's iss is not the discovered issuer.",
            same.with(["iss": "\"https://op.example/\u{212a}\""]), ours)
        try expectRejected(
            "The refreshed ID token's sub is not the login's.", same.with(["sub": "\"\u{212a}\""]), ours)
        try expectRejected(
            "The refreshed ID token's aud is not the login's.", same.with(["aud": "[\"\u{212a}\",\"client\"]"]), ours)
        try expectRejected(
            "The refreshed ID token's nonce is not the login's.", same.with(["nonce": "\"\u{212a}\""]), ours)
    }

    @Test func audIsTheLoginsAsASet() throws {
        let both = LoginClaims(
            issuer: login.issuer, subject: login.subject, audience: ["client", "api"], authorizedParty: "client")
        let party = good.with(["nonce": nil, "azp": "\"client\""])
        for audience in ["[\"api\",\"client\"]", "[\"client\",\"api\",\"api\"]"] {
            #expect(throws: Never.self) { try verdict(party.with(["aud": audience]), both).get() }
        }
        for audience in ["\"client\"", "[\"client\",\"api\",\"more\"]"] {
            try expectRejected("The refreshed ID token's aud is not the login's.", party.with(["aud": audience]), both)
        }
    }

    @Test func azpIsTheLogins() throws {
        let sentence = "The refreshed ID token's azp is not the login's."
        try expectRejected(sentence, good.with(["azp": "\"client\""]))
        var withParty = login
        withParty.authorizedParty = "client"
        try expectRejected(sentence, good, withParty)
        #expect(throws: Never.self) { try verdict(good.with(["azp": "\"client\""]), withParty).get() }
    }

    @Test func authTimeIsNotBeforeTheLogins() throws {
        for time in [nil, "1764490000", "1764490000.5", "1764492000"] {
            // The session keeps the login's, so that it can only move forward from there.
            #expect(try verdict(good.with(["auth_time": time])).get().login.authTime == 1_764_490_000)
        }
        try expectRejected(
            "The refreshed ID token's auth_time is before the login's.", good.with(["auth_time": "1764489999"]))
    }

    @Test func theCommonRulesHold() throws {
        try expectRejected(
            "The ID token's iss is not the discovered issuer.",
            good.with(["iss": "\"https://other.example/\""]))
        try expectRejected("The ID token's exp is past.", good.with(["exp": "\(Self.now - 60)"]))
        try expectRejected("The ID token's iat is in the future.", good.with(["iat": "\(Self.now + 61)"]))
        try expectRejected(
            "The ID token's at_hash is not the hash of what came with it.", good.with(["at_hash": "\"AA\""]))
        try expectRejected("The ID token's azp is not the client_id.", good.with(["azp": "\"api\""]))
    }

    private func verdict(
        _ fixture: IDTokenFixture, _ login: LoginClaims? = nil
    ) throws -> Result<VerifiedIDToken, IDTokenRejection> {
        IDTokenValidator.validateRefreshed(
            fixture.token, keys: try keySet(fixture.key.jwk(["kid": "k"])),
            expectations: RefreshedIDTokenExpectations(
                login: login ?? self.login, clientID: "client", accessToken: "access"), now: Self.now * 1000)
    }

    private func expectRejected(
        _ sentence: String, _ fixture: IDTokenFixture, _ login: LoginClaims? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(throws: IDTokenRejection.rejected(sentence), sourceLocation: location) {
            try verdict(fixture, login).get()
        }
    }
}
