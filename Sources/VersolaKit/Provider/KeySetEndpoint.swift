// SPDX-License-Identifier: Apache-2.0

/// Loads the provider's key set (`jwks_uri`, RFC 7517 §5).
enum KeySetEndpoint {
    static func load(_ url: String, _ sender: Sender, _ budget: OperationBudget) async -> Result<JWKSet, OAuthError> {
        let request = HTTPRequest(
            method: "GET", url: url,
            fields: [HTTPField(name: "Accept", value: "application/jwk-set+json, application/json")])
        return await sender.load(.keySet, request, budget: budget) { answer throws(OAuthError) in
            guard (200...299).contains(answer.response.status) else { throw .landing(answer) }
            guard let keys = JWKSet(json: answer.response.body) else { throw .server(answer) }
            return keys
        }
    }
}
