// SPDX-License-Identifier: Apache-2.0

/// The code exchange (RFC 6749 §4.1.3, RFC 7636 §4.5): sent once, as a public client.
enum CodeExchange {
    static func request(_ pending: PendingRequest, code: String, clientId: String) -> HTTPRequest {
        .form(
            to: pending.tokenEndpoint,
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", pending.redirectURI),
                ("client_id", clientId), ("code_verifier", pending.codeVerifier),
            ],
            oneTime: true)
    }
}

extension HTTPRequest {
    /// A POST of form parameters that asks for JSON.
    static func form(to url: String, _ parameters: [FormField], oneTime: Bool = false) -> HTTPRequest {
        HTTPRequest(
            method: "POST", url: url,
            fields: [
                HTTPField(name: "Content-Type", value: "application/x-www-form-urlencoded"),
                HTTPField(name: "Accept", value: "application/json"),
            ],
            body: Array(FormEncoding.encode(parameters).utf8), carriesOneTimeCredential: oneTime)
    }
}
