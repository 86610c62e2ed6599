// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// What a signed object says under a name, to be judged by hand: the rules once more, from the pages and not from the library.
struct Claims {
    private let members: [[UInt8]: JSONTree]

    init(_ members: [[UInt8]: JSONTree]) { self.members = members }

    /// `nil` for an absent member and for `null`.
    subscript(name: String) -> JSONTree? {
        switch members[Array(name.utf8)] {
        case .null?, nil: nil
        case let value?: value
        }
    }

    func has(_ name: String) -> Bool { members[Array(name.utf8)] != nil }

    enum Text: Equatable {
        case absent
        case wrong
        case bytes([UInt8])
    }

    func text(_ name: String) -> Text {
        switch self[name] {
        case nil: .absent
        case .string(let text?)?: .bytes(Array(text.utf8))
        default: .wrong
        }
    }

    func says(_ name: String, _ text: String) -> Bool { self.text(name) == .bytes(Array(text.utf8)) }

    func isAbsentOr(_ name: String, _ test: (JSONTree) -> Bool) -> Bool { self[name].map(test) ?? true }

    func number(_ name: String) -> Double? {
        if case .number(let number)? = self[name] { number } else { nil }
    }

    /// A string or an array of strings.
    func texts(_ name: String) -> [[UInt8]]? {
        switch self[name] {
        case .string(let text?)?: return [Array(text.utf8)]
        case .array(let elements)?:
            return elements.reduce(into: [] as [[UInt8]]?) { texts, element in
                if case .string(let text?) = element { texts?.append(Array(text.utf8)) } else { texts = nil }
            }
        default: return nil
        }
    }
}

/// What the targets sign for and are judged against.
enum World {
    static let issuer = "https://op.example"
    static let clientID = "app"
    static let nonce = "nonce"
    static let accessToken = "token"
    static let code = "code"
    static let now: WallMillis = 1_800_000_000_000
    /// SHA-512, by Python's hashlib.
    static let accessTokenHash = "ImXaughy_DrvFp0Hk2XlkPDLyO1GwqeYTIpkKAPP2Ww"
    static let codeHash = "tl6nvuWJTxOqvhdJRqhFgY3pNboZRCBtpWThmv4nI8s"

    static let login = LoginClaims(
        issuer: issuer, subject: "alice", audience: [clientID], authorizedParty: nil, nonce: nonce,
        authTime: now / 1000 - 100)

    static func expectations(maxAge: Int64?) -> IDTokenExpectations {
        IDTokenExpectations(
            issuer: issuer, clientID: clientID, nonce: nonce, accessToken: accessToken, code: code, maxAge: maxAge,
            loginStartedAt: now / 1000)
    }
}
