// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// A good ID token, to be spoiled one claim at a time.
struct IDTokenFixture {
    static let now: Int64 = 1_764_493_000

    var key = TestKey.es256
    /// Claim name to JSON value.
    var claims = [
        "iss": "\"https://op.example/\"", "sub": "\"alice\"", "aud": "\"client\"", "exp": "\(now + 300)",
        "iat": "\(now)", "nonce": "\"n-0S6_WzA2Mj\"",
    ]
    var expectations = IDTokenExpectations(
        issuer: "https://op.example/", clientID: "client", nonce: "n-0S6_WzA2Mj", accessToken: "access", code: "code",
        loginStartedAt: now - 60)

    /// With claims replaced, or removed where the value is `nil`.
    func with(_ changes: [String: String?]) -> IDTokenFixture {
        var changed = self
        for (name, value) in changes { changed.claims[name] = value }
        return changed
    }

    func expecting(_ change: (inout IDTokenExpectations) -> Void) -> IDTokenFixture {
        var changed = self
        change(&changed.expectations)
        return changed
    }

    var payload: String {
        "{" + claims.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    var token: String { key.sign(payload, kid: "k") }

    func verdict(now: Int64 = now) throws -> Result<VerifiedIDToken, IDTokenRejection> {
        IDTokenValidator.validate(
            token, keys: try keySet(key.jwk(["kid": "k"])), expectations: expectations, now: now * 1000)
    }

    func expectAccepted(now: Int64 = now, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(throws: Never.self, sourceLocation: location) { try verdict(now: now).get() }
    }

    func expectRejected(_ sentence: String, now: Int64 = now, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(throws: IDTokenRejection.rejected(sentence), sourceLocation: location) { try verdict(now: now).get() }
    }
}
