// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

private let pending = PendingRequest(
    id: "00", state: "state", nonce: "nonce", codeVerifier: "verifier", redirectURI: "http://127.0.0.1:1/cb",
    authorizationURL: "https://op.example/authorize", scope: "openid", startedAt: Moment(SystemTime()),
    issuer: "https://op.example", tokenEndpoint: "https://op.example/token", jwksURI: "https://op.example/jwks",
    issPromised: true)

private let configured = [
    "http://127.0.0.1/cb", "http://[::1]:8080/", "https://app.example/cb?fixed=1", "com.example.app:/cb",
].compactMap { try? RedirectURI($0) }

/// First line: a redirect URI as configured; then the URL of a redirect.
@Sendable
func fuzzRedirect(_ input: [UInt8]) {
    let parts = parts(input, 2)
    let (ours, url) = (text(parts[0]), text(parts[1]))
    if let uri = try? RedirectURI(ours) {
        _ = uri.resolved(port: 49152)
        _ = uri.matches(url)
        // Not for port 0, which no URL has, nor a fragment, which is refused.
        if case .privateUseScheme = uri.kind { precondition(uri.matches(ours)) }
    }
    for uri in configured { _ = uri.matches(url) }
    let response = RedirectResponse(query: URLParts.split(url).query ?? "")
    _ = response.state
    _ = try? response.code(for: pending, elapsedMillis: 1)
    let fields = FormEncoding.parse(url)
    let again = FormEncoding.parse(FormEncoding.encode(fields))
    precondition(again.elementsEqual(fields) { $0.name == $1.name && $0.value == $1.value })
}
