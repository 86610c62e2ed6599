// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// A discovery document.
@Sendable
func fuzzMetadata(_ input: [UInt8]) {
    let undecodable = OAuthError.configuration(.providerUnsupported, "")
    _ = ProviderMetadata.wellKnownURL(issuer: text(input))
    let issuer = "https://op.example"
    let judged = try? ProviderMetadata(input, configuredIssuer: issuer, undecodable: undecodable)
    guard let metadata = judged else { return }
    precondition([issuer, issuer + "/"].contains { $0.utf8.elementsEqual(metadata.issuer.utf8) })
    let endpoints = [
        metadata.authorizationEndpoint, metadata.tokenEndpoint, metadata.jwksURI, metadata.revocationEndpoint,
        metadata.userInfoEndpoint, metadata.endSessionEndpoint,
    ]
    for url in endpoints.compactMap(\.self) {
        precondition(url.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
        let start = text(Array(url.utf8.prefix(8))).lowercased()
        precondition(start == "https://" || start.hasPrefix("http://") && URLParts(url)?.isLoopback == true)
        let authority = url.split(separator: "/", maxSplits: 2)[1].prefix { $0 != "?" }
        precondition(!authority.contains("@"))
    }
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
