// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// A successful answer of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3). The body decides, not its label.
struct TokenResponse: Sendable {
    var accessToken: String
    var tokenType: String
    var lifetimeMillis: Int64?
    var refreshToken: String?
    var idToken: String?
    var scope: String?

    /// `nil` when it is no JSON object or lacks `access_token` or `token_type`. An access token that could not stand in a
    /// header field (RFC 6749 §A.12) is none: C would cut it at a NUL, and a line end in it would begin another field.
    init?(_ body: [UInt8]) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(body)),
            let accessToken = members.access_token?.value, !accessToken.isEmpty,
            accessToken.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
            let tokenType = members.token_type?.value
        else { return nil }
        self.accessToken = accessToken
        self.tokenType = tokenType
        lifetimeMillis = members.expires_in?.value?.millis
        refreshToken = members.refresh_token?.value.flatMap { $0.isEmpty ? nil : $0 }
        idToken = members.id_token?.value
        scope = members.scope?.value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A new refresh token in an answer that may be wrong in everything else: it must not be lost.
    static func refreshToken(in body: [UInt8]) -> String? {
        let members = try? JSONDecoder().decode(Members.self, from: Data(body))
        return members?.refresh_token?.value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A whole number or a string of digits, in seconds; anything else says nothing (case B16).
    private struct Seconds: Decodable {
        let millis: Int64?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let seconds =
                (try? container.decode(Double.self)) ?? (try? container.decode(String.self)).flatMap(Self.number)
            guard let seconds, seconds >= 0, seconds < 1e11, seconds.rounded() == seconds else {
                millis = nil
                return
            }
            millis = Int64(exactly: seconds * 1000)
        }

        private static func number(_ text: String) -> Double? {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Double(text)
        }
    }

    private struct Members: Decodable {
        var access_token: Lenient<String>?
        var token_type: Lenient<String>?
        var expires_in: Lenient<Seconds>?
        var refresh_token: Lenient<String>?
        var id_token: Lenient<String>?
        var scope: Lenient<String>?
    }
}
