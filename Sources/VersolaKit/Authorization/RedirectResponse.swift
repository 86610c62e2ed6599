// SPDX-License-Identifier: Apache-2.0

/// The authorization response in the redirect's query (RFC 6749 §4.1.2), judged: state first, then `iss`, then the rest.
struct RedirectResponse: Sendable {
    private let parameters: [FormField]

    /// - Parameter query: as received, without the question mark.
    init(query: String) {
        parameters = FormEncoding.parse(query)
    }

    /// The one `state`; `nil` when it is missing, empty or comes twice.
    var state: String? {
        let values = values("state")
        guard values.count == 1, let state = values.first, !state.isEmpty else { return nil }
        return state
    }

    /// The code, when everything about the response is right. `state` was compared before.
    func code(for request: PendingRequest, elapsedMillis: Int64) throws(OAuthError) -> String {
        // RFC 9207 §2.4
        let issuers = values("iss")
        guard issuers.count <= 1 else { throw .configuration(.issuerMismatch, "redirect: iss comes twice") }
        if let issuer = issuers.first {
            guard issuer.hasSameBytes(as: request.issuer) else {
                throw .configuration(.issuerMismatch, "redirect: iss names another issuer")
            }
        } else if request.issPromised {
            throw .configuration(.issuerMismatch, "redirect: iss is missing though the provider promises it")
        }
        let codes = values("code")
        let errors = values("error")
        guard codes.count + errors.count == 1 else {
            throw .configuration(.authorizationRejected, "redirect: neither or more than one of code and error")
        }
        if let error = errors.first {
            throw .redirect(
                OAuthErrorBody(error: error, errorDescription: values("error_description").first),
                elapsedMillis: elapsedMillis)
        }
        guard let code = codes.first, !code.isEmpty else {
            throw .configuration(.authorizationRejected, "redirect: the code is empty")
        }
        return code
    }

    private func values(_ name: String) -> [String] {
        parameters.filter { $0.name == name }.map(\.value)
    }
}
