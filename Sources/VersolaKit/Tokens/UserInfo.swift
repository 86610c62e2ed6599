// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// The UserInfo endpoint (OpenID Connect Core §5.3): the request, and the judgement of a plain or signed answer.
enum UserInfo {
    static func request(_ token: Token, endpoint: String) -> HTTPRequest {
        HTTPRequest(
            method: "GET", url: endpoint,
            fields: [
                HTTPField(name: "Authorization", value: "Bearer \(token.value)"),
                HTTPField(name: "Accept", value: "application/json, application/jwt"),
            ])
    }

    /// Signed answers say so (§5.3.2); everything else is judged as JSON, whatever its label.
    static func isSigned(_ response: HTTPResponse) -> Bool {
        mediaType(response.values("Content-Type").first ?? "") == "application/jwt"
    }

    /// The claims of an answer that was not signed, or whose signature was checked.
    ///
    /// - Returns: the JSON object as received; `nil` when it is none.
    /// - Throws: UserInfoRejected when `sub` is not, byte for byte, the ID token's (§5.3.2).
    static func claims(_ payload: [UInt8], subject: String) throws(OAuthError) -> String? {
        guard let text = String(validating: payload, as: UTF8.self),
            let members = try? StrictJSON.decode(Members.self, from: text)
        else { return nil }
        guard let sub = members.sub?.value, sub.hasSameBytes(as: subject) else {
            throw rejected("sub is missing or not the ID token's")
        }
        return text
    }

    /// A signed answer, by the rules of ID tokens for algorithm and key; `iss` and `aud` if present, `exp` and `nbf` hold.
    static func verify(
        _ token: String, keys: JWKSet, issuer: String, clientID: String, clockSkew: Int64, now: WallMillis
    ) -> Result<[UInt8], IDTokenRejection> {
        Result { () throws(IDTokenRejection) in
            let jws = try JWS(compact: token)
            try keys.verify(jws)
            guard let text = String(validating: jws.payload, as: UTF8.self),
                let members = try? StrictJSON.decode(Members.self, from: text)
            else { throw .rejected("UserInfo: the payload is not a JSON object.") }
            if let iss = members.iss {
                guard iss.value?.hasSameBytes(as: issuer) == true else {
                    throw .rejected("UserInfo: iss is not the provider.")
                }
            }
            if let aud = members.aud {
                guard aud.value?.values.contains(where: { $0.hasSameBytes(as: clientID) }) == true else {
                    throw .rejected("UserInfo: aud does not name this client.")
                }
            }
            let now = Double(now) / 1000
            if let exp = members.exp {
                guard let exp = exp.value, exp > now - Double(clockSkew) else {
                    throw .rejected("UserInfo: it has expired.")
                }
            }
            if let nbf = members.nbf {
                guard let nbf = nbf.value, nbf <= now + Double(clockSkew) else {
                    throw .rejected("UserInfo: it is not valid yet.")
                }
            }
            return jws.payload
        }
    }

    static func rejected(_ why: String) -> OAuthError {
        .configuration(.userInfoRejected, "UserInfo: \(why)")
    }

    private struct Members: Decodable {
        var sub: Lenient<String>?
        var iss: Lenient<String>?
        var aud: Lenient<Audience>?
        var exp: Lenient<Double>?
        var nbf: Lenient<Double>?
    }

    private struct Audience: Decodable {
        let values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            values = try (try? container.decode([String].self)) ?? [container.decode(String.self)]
        }
    }
}
