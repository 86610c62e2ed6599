// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// A discovery document.
@Sendable
func fuzzMetadata(_ input: [UInt8]) {
    let undecodable = OAuthError.configuration(.providerUnsupported, "")
    _ = try? ProviderMetadata(input, configuredIssuer: "https://op.example", undecodable: undecodable)
    _ = ProviderMetadata.wellKnownURL(issuer: text(input))
}

/// The token endpoint's answer, good or bad.
@Sendable
func fuzzToken(_ input: [UInt8]) {
    let response = TokenResponse(input)
    if let response {
        precondition(response.refreshToken == TokenResponse.refreshToken(in: input))
        precondition(response.lifetimeMillis.map { $0 >= 0 } ?? true)
    }
    let body = OAuthErrorBody(input)
    precondition(body.map { $0.error.unicodeScalars.count <= 128 } ?? true)
    _ = body?.diagnostics(of: "token endpoint")
}

/// `WWW-Authenticate` fields, one a line.
@Sendable
func fuzzChallenge(_ input: [UInt8]) {
    let fields = input.split(separator: UInt8(ascii: "\n")).map { text(Array($0)) }
    for challenge in AuthenticationChallenge.parse(fields) {
        precondition(!challenge.scheme.isEmpty)
    }
}
