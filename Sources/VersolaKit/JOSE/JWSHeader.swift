// SPDX-License-Identifier: Apache-2.0

/// What the library reads of a JWS header (RFC 7515 §4.1). Keys and links to keys in it (`jwk`, `jku`, `x5u`, `x5c`) are not
/// read at all: whoever wrote the header would choose the key it is checked with.
struct JWSHeader: Equatable, Sendable {
    let algorithm: SignatureAlgorithm
    let keyID: String?

    init(json: String) throws(IDTokenRejection) {
        let members: Members
        do throws(StrictJSON.Failure) {
            members = try StrictJSON.decode(Members.self, from: json)
        } catch {
            switch error {
            case .malformed: throw .rejected("The token's header is not a JSON object.")
            case .duplicateMember: throw .rejected("The token's header names a member twice (RFC 7515 §4).")
            case .unfit(let member): throw .rejected("The token's header member \(member) is missing or not a string.")
            }
        }
        guard !members.hasCriticalExtensions else {
            // No extension is implemented, `b64` (RFC 7797) included, so any `crit` names one that is not, or is malformed.
            throw .rejected("The token's header demands an extension that is not understood (RFC 7515 §4.1.11).")
        }
        guard let algorithm = SignatureAlgorithm(rawValue: members.algorithm) else {
            throw .rejected("The token's signature algorithm is not one of those accepted.")
        }
        if let type = members.type, Self.otherTokens.contains(Self.shortType(type)) {
            throw .rejected("The token's header says that it is another kind of token (RFC 8725 §3.11).")
        }
        self.algorithm = algorithm
        keyID = members.keyID
    }

    private static let otherTokens = ["at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt"]

    /// A media type whose `application/` may be left out (RFC 7515 §4.1.9).
    private static func shortType(_ type: String) -> String {
        let type = mediaType(type)
        let prefix = "application/"
        return type.hasPrefix(prefix) ? String(type.dropFirst(prefix.count)) : type
    }

    private struct Members: Decodable {
        let algorithm: String
        let keyID: String?
        let type: String?
        let hasCriticalExtensions: Bool

        enum CodingKeys: String, CodingKey {
            case algorithm = "alg"
            case keyID = "kid"
            case type = "typ"
            case critical = "crit"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            algorithm = try members.decode(String.self, forKey: .algorithm)
            keyID = try members.decodeIfPresent(String.self, forKey: .keyID)
            type = try members.decodeIfPresent(String.self, forKey: .type)
            hasCriticalExtensions = members.contains(.critical)
        }
    }
}
