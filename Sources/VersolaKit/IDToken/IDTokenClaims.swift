// SPDX-License-Identifier: Apache-2.0

/// The claims that are judged: those an ID token must have (OpenID Connect Core §2), and the others as far as they are there;
/// `null` counts as absent.
struct IDTokenClaims: Decodable {
    let issuer: String
    let subject: String
    let audience: [String]
    let authorizedParty: String?
    /// Seconds since 1970, like every date here.
    let expiresAt: Double
    let issuedAt: Double
    let authTime: Double?
    let nonce: String?
    let accessTokenHash: String?
    let codeHash: String?
    let contextClass: String?

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case authorizedParty = "azp"
        case expiresAt = "exp"
        case issuedAt = "iat"
        case authTime = "auth_time"
        case nonce
        case accessTokenHash = "at_hash"
        case codeHash = "c_hash"
        case contextClass = "acr"
    }

    init(json: String) throws(IDTokenRejection) {
        do throws(StrictJSON.Failure) {
            self = try StrictJSON.decode(Self.self, from: json)
        } catch {
            switch error {
            case .malformed: throw .rejected("The ID token's payload is not a JSON object.")
            case .duplicateMember: throw .rejected("The ID token names a claim twice (RFC 7519 §4).")
            case .unfit(let claim): throw .rejected("The ID token's \(claim) is missing or not what it must be.")
            }
        }
    }

    init(from decoder: any Decoder) throws {
        let claims = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try claims.decode(String.self, forKey: .issuer)
        subject = try claims.decode(String.self, forKey: .subject)
        // One string, or an array of them (RFC 7519 §4.1.3).
        if let only = try? claims.decode(String.self, forKey: .audience) {
            audience = [only]
        } else {
            audience = try claims.decode([String].self, forKey: .audience)
        }
        expiresAt = try Self.date(.expiresAt, try claims.decode(Double.self, forKey: .expiresAt))
        issuedAt = try Self.date(.issuedAt, try claims.decode(Double.self, forKey: .issuedAt))
        authTime = try claims.decodeIfPresent(Double.self, forKey: .authTime).map { try Self.date(.authTime, $0) }
        let text = { (claim: CodingKeys) in try claims.decodeIfPresent(String.self, forKey: claim) }
        authorizedParty = try text(.authorizedParty)
        nonce = try text(.nonce)
        accessTokenHash = try text(.accessTokenHash)
        codeHash = try text(.codeHash)
        // Only reported, so one of a wrong type counts as none; a step-up that demands it will refuse none.
        contextClass = try? text(.contextClass)
    }

    /// Seconds since 1970, fractions allowed (RFC 7519 §2).
    private static func date(_ claim: CodingKeys, _ seconds: Double) throws -> Double {
        // Until the year 9999. More is no date: milliseconds, or a number made to overflow something.
        guard (0..<253_402_300_800).contains(seconds) else {
            throw DecodingError.typeMismatch(Double.self, .init(codingPath: [claim], debugDescription: "not a date"))
        }
        return seconds
    }
}
