// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite(.timeLimit(.minutes(1))) struct TokenResponseTests {
    private static func response(_ members: String) -> TokenResponse? {
        TokenResponse(Array("{\"access_token\":\"a\",\"token_type\":\"Bearer\"\(members)}".utf8))
    }

    @Test(
        arguments: [
            ("600", 600_000), ("\"600\"", 600_000), ("\"0600\"", 600_000), ("600.0", 600_000), ("6e2", 600_000),
            ("0", 0),
            ("null", nil), ("-1", nil), ("\"-1\"", nil), ("1e20", nil), ("\"99999999999999999999999\"", nil),
            ("0.5", nil),
            ("\"0.5\"", nil), ("\"\"", nil), ("\" 600\"", nil), ("\"600s\"", nil), ("true", nil), ("[600]", nil),
            ("{}", nil),
            ("1e400", nil), ("\"nan\"", nil), ("\"٦٠٠\"", nil),
        ] as [(String, Int64?)])
    func b16ExpiresIn(json: String, millis: Int64?) {
        #expect(Self.response(",\"expires_in\":\(json)")?.lifetimeMillis == millis)
    }

    @Test func b16TokensAreKeptWhateverExpiresInIs() {
        let tokens = Self.response(",\"expires_in\":1e20,\"refresh_token\":\"r\"")
        #expect(tokens?.accessToken == "a")
        #expect(tokens?.refreshToken == "r")
    }

    @Test(arguments: [
        "", "{}", "[]", "{\"access_token\":\"a\"}", "{\"access_token\":\"\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"a\\u0000b\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"a\\r\\nX: b\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"\\u007f\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"é\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":7,\"token_type\":\"Bearer\"}", "{\"access_token\":\"a\",\"token_type\":null}",
    ])
    func whatIsNoTokenResponse(body: String) {
        #expect(TokenResponse(Array(body.utf8)) == nil)
    }

    @Test func membersOfTheWrongTypeAreAsIfAbsent() {
        let tokens = Self.response(",\"refresh_token\":7,\"id_token\":[],\"scope\":{},\"more\":null")
        #expect(tokens?.refreshToken == nil)
        #expect(tokens?.idToken == nil)
        #expect(tokens?.scope == nil)
    }

    @Test func emptyMembersAreAsIfAbsent() {
        let tokens = Self.response(",\"refresh_token\":\"\",\"scope\":\"\"")
        #expect(tokens?.refreshToken == nil)
        #expect(tokens?.scope == nil)
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER"])
    func theTypeIsComparedWithoutCase(type: String) throws {
        let tokens = try #require(
            TokenResponse(Array("{\"access_token\":\"a\",\"token_type\":\"\(type)\"}".utf8)))
        let token = try TokenEndpoint.accessToken(
            tokens, requestedScope: "openid", receivedAt: Moment(VirtualTime()))
        #expect(token.type == "Bearer")
    }

    @Test(arguments: ["", "mac", "DPoP", "Bearer "])
    func anUnknownTypeIsUnsupported(type: String) throws {
        let tokens = try #require(
            TokenResponse(Array("{\"access_token\":\"a\",\"token_type\":\"\(type)\"}".utf8)))
        #expect(
            failure { () throws(OAuthError) in
                try TokenEndpoint.accessToken(tokens, requestedScope: "openid", receivedAt: Moment(VirtualTime()))
            } == .configuration(.providerUnsupported))
    }

    @Test(arguments: ["application/json; charset=utf-8", "text/javascript", "TEXT/HTML", ""])
    func b19TheBodyDecidesNotItsLabel(type: String) async throws {
        let harness = try Harness()
        harness.transport.script { [provider = harness.provider] sent in
            provider.answer(sent).map { response in
                var response = response
                response.fields = [HTTPField(name: "Content-Type", value: type)]
                return response
            }
        }
        #expect(try await harness.signIn().subject == "alice")
        try await harness.close()
    }

    @Test func theLongestLifeOverflowsNothing() async throws {
        let harness = try Harness()
        harness.provider.change { $0.exchange = ["expires_in": "99999999999"] }
        try await harness.signIn()
        harness.time.setWall(by: .max - 2_000_000_000_000)
        #expect(try await harness.client.accessToken().expiresAtMillis != nil)
        try await harness.close()
    }

    // MARK: Moments

    @Test func anAgeIsMeasuredOnTheBootClockWithinOneBootAndOnTheWallClockAfterIt() {
        let time = VirtualTime()
        let moment = Moment(time)
        time.setWall(by: 5_000_000)
        time.sleepThrough(1_000)
        #expect(moment.age(time) == 1_000)
        time.reboot(wall: 2_000)
        #expect(moment.age(time) == 5_003_000)
        time.setWall(by: -6_000_000)
        #expect(moment.age(time) < 0)
        #expect(Moment(VirtualTime()).age(FarTime()) == -1)
    }

    /// A wall clock so wrong that the difference overflows.
    private struct FarTime: TimeSource {
        var boot: BootMillis { 0 }
        var wall: WallMillis { .min }
        var bootID: String { "far" }
        func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
            StoreTestWatch {}
        }
    }
}
