// SPDX-License-Identifier: Apache-2.0

/// The claims that are judged, as far as they are there. `null` counts as absent.
struct IDTokenClaims: Decodable {
    let issuer: String?
    let subject: String?
    let audience: Audience?
    let authorizedParty: String?
    let expiresAt: NumericDate?
    let issuedAt: NumericDate?
    let authTime: NumericDate?
    let nonce: String?
    let accessTokenHash: String?
    let codeHash: String?
    let contextClass: ContextClass?

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
            case .unfit(let claim): throw .rejected("The ID token's \(claim) is not of the type it must have.")
            }
        }
    }
}

extension IDTokenClaims {
    /// One string, or an array of them (RFC 7519 §4.1.3).
    struct Audience: Decodable {
        let members: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let only = try? container.decode(String.self) {
                members = [only]
            } else {
                members = try container.decode([String].self)
            }
        }
    }

    /// Seconds since 1970, fractions allowed (RFC 7519 §2).
    struct NumericDate: Decodable {
        let seconds: Double
        /// In range by construction.
        var wholeSeconds: Int64? { Int64(exactly: seconds.rounded(.down)) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let seconds = try container.decode(Double.self)
            // Until the year 9999. More is no date: milliseconds, or a number made to overflow something.
            guard (0..<253_402_300_800).contains(seconds) else {
                throw DecodingError.typeMismatch(
                    Double.self, .init(codingPath: decoder.codingPath, debugDescription: "not a date"))
            }
            self.seconds = seconds
        }
    }

    /// Only reported, so one of a wrong type counts as none; a step-up that demands it will refuse none.
    struct ContextClass: Decodable {
        let value: String?

        init(from decoder: any Decoder) throws {
            value = try? decoder.singleValueContainer().decode(String.self)
        }
    }
}
