// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §2, "where failures land": one test per row.
@Suite struct LandingTests {
    private static let tokenKinds: [RequestKind] = [.codeExchange, .refresh]

    private static func landing(_ kind: RequestKind, _ status: Int, _ body: String = "") -> OAuthError {
        .landing(answer(kind, status, body)).bare
    }

    private static func answer(_ kind: RequestKind, _ status: Int, _ body: String) -> ProviderAnswer {
        let response = HTTPResponse(status: status, fields: [], body: Array(body.utf8))
        let time = VirtualTime()
        let budget = OperationBudget(time, .default)
        time.advance(7)
        return ProviderAnswer(
            kind: kind, response: response, failures: 0, origin: "https://op.example:443",
            place: "https://op.example/x", budget: budget, pauses: Pauses())
    }

    /// What a sender with one attempt makes of one sending; `nil` = its endpoint's to judge.
    private static func verdict(_ outcome: RequestOutcome, _ kind: RequestKind = .discovery) async throws -> OAuthError?
    {
        let time = VirtualTime()
        let sender = Sender(
            transport: OneAnswer(outcome: outcome), time: time, random: SystemRandom(), pauses: Pauses(),
            closing: Closing())
        let budget = OperationBudget(time, try RetryPolicy(maxAttemptsPerOrigin: 1, maxTotalAttempts: 1))
        let result = await sender.send(kind, HTTPRequest(method: "GET", url: "https://op.example/"), budget: budget)
        if case .failure(let error) = result { return error.bare }
        return nil
    }

    private struct OneAnswer: HTTPTransport {
        let outcome: RequestOutcome

        func send(_ request: HTTPRequest) async -> Result<HTTPResponse, TransportFailure> {
            switch outcome {
            case .answered(let response): .success(response)
            case .failed(let failure): .failure(failure)
            }
        }
    }

    private static func server(_ status: Int, elapsedMillis: Int64 = 7) -> OAuthError {
        .recoverable(.server(status: status, retryAfterMillis: nil, attempts: 1, elapsedMillis: elapsedMillis))
    }

    @Test(arguments: NetworkReason.allCases)
    func nobodyAnswered(reason: NetworkReason) async throws {
        let failure = TransportFailure(reason: reason, detail: "d", mayHaveBeenSent: true)
        #expect(try await Self.verdict(.failed(failure)) == .recoverable(.network(reason)))
    }

    @Test(arguments: [408, 429, 500, 501, 502, 503, 504, 505, 599], RequestKind.allCases)
    func statusesThatSayNotNow(status: Int, kind: RequestKind) async throws {
        let response = HTTPResponse(status: status, fields: [], body: Array("{\"error\":\"invalid_grant\"}".utf8))
        #expect(try await Self.verdict(.answered(response), kind) == Self.server(status, elapsedMillis: 0))
    }

    @Test(arguments: [200, 302, 400, 401, 404])
    func otherStatusesAreTheEndpointsToJudge(status: Int) async throws {
        #expect(try await Self.verdict(.answered(HTTPResponse(status: status, fields: [], body: []))) == nil)
    }

    @Test(arguments: [400, 401, 403, 404, 410, 418], [RequestKind.discovery, .keySet])
    func aStatusThatDoesNotFitTheOperation(status: Int, kind: RequestKind) {
        #expect(Self.landing(kind, status, "{\"error\":\"invalid_grant\"}") == Self.server(status))
    }

    @Test(arguments: [300, 301, 302, 303, 304, 307, 308], RequestKind.allCases)
    func aRedirectionIsNeverFollowed(status: Int, kind: RequestKind) {
        #expect(Self.landing(kind, status) == .configuration(.endpointRedirected))
    }

    @Test(arguments: ["server_error", "temporarily_unavailable"], [400, 401, 403])
    func serverErrorsInA4xxBody(code: String, status: Int) {
        for kind in Self.tokenKinds {
            #expect(Self.landing(kind, status, "{\"error\":\"\(code)\"}") == Self.server(status))
        }
    }

    @Test(arguments: ["", "<html>", "{}", "[]", "{\"error\":7}", "{\"error\":\"\"}", "null"])
    func a4xxWithoutAReadableError(body: String) {
        for status in [400, 401, 403, 404] {
            #expect(Self.landing(.codeExchange, status, body) == Self.server(status))
            #expect(
                Self.landing(.refresh, status, body)
                    == (status == 400 || status == 401 ? .reauthenticate(.sessionRejected) : Self.server(status)))
        }
    }

    @Test func aRefreshAnsweredWithInvalidRequest() {
        #expect(Self.landing(.refresh, 400, "{\"error\":\"invalid_request\"}") == .reauthenticate(.sessionRejected))
        #expect(Self.landing(.refresh, 401, "{\"error\":\"invalid_request\"}") == .reauthenticate(.sessionRejected))
        #expect(
            Self.landing(.refresh, 403, "{\"error\":\"invalid_request\"}") == .configuration(.authorizationRejected))
        #expect(
            Self.landing(.codeExchange, 400, "{\"error\":\"invalid_request\"}")
                == .configuration(.authorizationRejected))
    }

    @Test func invalidGrantOfCodeAndRefresh() {
        for kind in Self.tokenKinds {
            #expect(Self.landing(kind, 400, "{\"error\":\"invalid_grant\"}") == .reauthenticate(.grantRejected))
        }
    }

    static let codes: [(String, OAuthError)] = [
        ("access_denied", .reauthenticate(.authorizationDenied)),
        ("unmet_authentication_requirements", .reauthenticate(.authorizationDenied)),
        ("login_required", .reauthenticate(.interactionRequired)),
        ("interaction_required", .reauthenticate(.interactionRequired)),
        ("consent_required", .reauthenticate(.interactionRequired)),
        ("account_selection_required", .reauthenticate(.interactionRequired)),
        ("invalid_client", .configuration(.authorizationRejected)),
        ("unauthorized_client", .configuration(.authorizationRejected)),
        ("invalid_scope", .configuration(.authorizationRejected)),
        ("unsupported_response_type", .configuration(.authorizationRejected)),
        ("unsupported_grant_type", .configuration(.authorizationRejected)),
        ("invalid_target", .configuration(.authorizationRejected)),
        ("something_new", .configuration(.authorizationRejected)),
        ("Access_Denied", .configuration(.authorizationRejected)),
    ]

    @Test(arguments: codes)
    func errorCodesMeanTheSameWhereverTheyAppear(code: String, error: OAuthError) {
        for kind in Self.tokenKinds { #expect(Self.landing(kind, 400, "{\"error\":\"\(code)\"}") == error) }
        let redirect = OAuthError.redirect(OAuthErrorBody(error: code, errorDescription: "why"), elapsedMillis: 7)
        #expect(redirect.bare == error)
        #expect(redirect.diagnostics.oauthError == code)
        #expect(redirect.diagnostics.errorDescription == "why")
    }

    @Test(arguments: [("server_error", 500), ("temporarily_unavailable", 503)])
    func serverErrorsInTheRedirect(code: String, status: Int) {
        let error = OAuthError.redirect(OAuthErrorBody(error: code, errorDescription: nil), elapsedMillis: 7)
        #expect(error.bare == Self.server(status))
    }

    /// `invalid_grant` has a meaning of its own only at the token endpoint.
    @Test(arguments: ["invalid_grant", "invalid_request"])
    func otherCodesInTheRedirect(code: String) {
        let error = OAuthError.redirect(OAuthErrorBody(error: code, errorDescription: nil), elapsedMillis: 7)
        #expect(error.bare == .configuration(.authorizationRejected))
    }

    @Test(arguments: tokenKinds)
    func a2xxBodyThatCannotBeUsed(kind: RequestKind) {
        for body in ["", "{", "[]", "{}", "{\"access_token\":\"a\"}", "{\"token_type\":\"Bearer\"}"] {
            let answer = Self.answer(kind, 200, body)
            #expect(failure { () throws(OAuthError) in try TokenEndpoint.tokens(answer) } == Self.server(200))
        }
    }

    @Test func whatAServerSaysIsKeptForLogsWithLimits() {
        let text = String(repeating: "x", count: 5_000)
        let body = OAuthErrorBody(error: text, errorDescription: "a\u{0}b\n\u{1b}[31m" + text)
        #expect(body.error.count == 128)
        #expect(body.errorDescription?.count == 512)
        #expect(body.errorDescription?.hasPrefix("a b  [31m") == true)
        #expect(OAuthErrorBody(Array("{\"error\":\"e\",\"error_description\":7}".utf8))?.errorDescription == nil)
    }

    // MARK: The redirect's own rows

    @Test(arguments: [
        "state=S", "code=c&error=access_denied&state=S", "code=c&code=c&state=S",
        "error=access_denied&error=access_denied&state=S", "code=&state=S",
    ])
    func neitherOrBothOrOneOfThemTwice(query: String) {
        #expect(
            failure { () throws(OAuthError) in
                try RedirectResponse(query: query).code(for: .sample(VirtualTime()), elapsedMillis: 0)
            } != nil)
    }

    @Test(arguments: [
        ("state=a", "a"), ("x=1&state=a%20b", "a b"), ("state=", nil), ("", nil), ("state=a&state=a", nil),
    ])
    func stateOfARedirect(query: String, state: String?) {
        #expect(RedirectResponse(query: query).state == state)
    }

    @Test func everyCauseOfACancelIsItsOwn() {
        #expect(CancelReason.user.error.bare == .userCancelled)
        #expect(CancelReason.system.error.bare == .systemCancelled)
    }

    @Test(arguments: [
        (OAuthError.reauthenticate(.authorizationDenied), ResultPage.denied), (.userCancelled, .alreadyUsed),
        (.configuration(.stateMismatch), .failed), (.recoverable(.pendingRequestExpired), .failed),
    ])
    func thePageTellsTheTruth(error: OAuthError, page: ResultPage) {
        #expect(ResultPage(error) == page)
    }
}
