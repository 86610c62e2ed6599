// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// A small provider that signs: what it answers is a set of JSON members that a test may change, one by one.
final class TestProvider: Sendable {
    struct Answers: Sendable {
        /// Member name to JSON text; a member that is `nil` is not there.
        var discovery: [String: String]
        var exchange: [String: String] = [:]
        var refresh: [String: String] = [:]
        /// Of ID tokens, beyond the usual ones.
        var claims: [String: String] = [:]
        /// Members left out of the answers.
        var withoutExchange: Set<String> = []
        var withoutRefresh: Set<String> = []
        var signsRefreshed = false
        /// Fields of the discovery answer.
        var discoveryFields: [HTTPField] = []
    }

    let issuer: String
    let key: TestKey
    private let time: VirtualTime
    private let answers: Lock<Answers>
    private let count = Lock(0)

    init(_ time: VirtualTime, issuer: String = "https://op.example", key: TestKey = .es256) {
        self.time = time
        self.issuer = issuer
        self.key = key
        answers = Lock(
            Answers(discovery: [
                "issuer": "\"\(issuer)\"", "authorization_endpoint": "\"https://op.example/authorize\"",
                "token_endpoint": "\"https://op.example/token\"", "jwks_uri": "\"https://op.example/jwks\"",
                "revocation_endpoint": "\"https://op.example/revoke\"",
                "userinfo_endpoint": "\"https://op.example/userinfo\"",
            ]))
    }

    func change(_ change: (inout Answers) -> Void) {
        answers.withLock { change(&$0) }
    }

    func answer(_ sent: ScriptedTransport.Sent) -> ScriptedTransport.Answer {
        let answers = answers.withLock { $0 }
        switch sent.kind {
        case .discovery: return .json(200, Self.object(answers.discovery), answers.discoveryFields)
        case .keySet: return .json(200, "{\"keys\":[\(key.jwk(["kid": "k"]))]}")
        case .codeExchange: return .json(200, exchange(sent, answers))
        case .refresh: return .json(200, refresh(answers))
        case .userInfo: return .json(200, "{\"sub\":\"alice\"}")
        default: return .status(200)
        }
    }

    private func number() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    private func exchange(_ sent: ScriptedTransport.Sent, _ answers: Answers) -> String {
        let number = number()
        let nonce = sent["code"]?.dropFirst("code-".count) ?? ""
        var members = [
            "access_token": "\"access-\(number)\"", "token_type": "\"Bearer\"", "expires_in": "3600",
            "refresh_token": "\"refresh-\(number)\"",
            "id_token": "\"\(idToken(["nonce": "\"\(nonce)\""].merging(answers.claims) { $1 }))\"",
        ]
        members.merge(answers.exchange) { $1 }
        return Self.object(members.filter { !answers.withoutExchange.contains($0.key) })
    }

    private func refresh(_ answers: Answers) -> String {
        let number = number()
        var members = [
            "access_token": "\"access-\(number)\"", "token_type": "\"Bearer\"", "expires_in": "3600",
            "refresh_token": "\"refresh-\(number)\"",
        ]
        if answers.signsRefreshed { members["id_token"] = "\"\(idToken(answers.claims))\"" }
        members.merge(answers.refresh) { $1 }
        return Self.object(members.filter { !answers.withoutRefresh.contains($0.key) })
    }

    func idToken(_ more: [String: String]) -> String {
        let now = time.wall / 1000
        let claims = [
            "iss": "\"\(issuer)\"", "sub": "\"alice\"", "aud": "\"client\"", "exp": "\(now + 300)", "iat": "\(now)",
        ].merging(more) { $1 }
        return key.sign(Self.object(claims), kid: "k")
    }

    private static func object(_ members: [String: String]) -> String {
        "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }
}
