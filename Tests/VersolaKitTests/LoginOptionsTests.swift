// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §4: options of one login.
@Suite(.timeLimit(.minutes(1))) struct LoginOptionsTests {
    private func options(_ change: (inout LoginOptions) -> Void) -> LoginOptions {
        var options = LoginOptions()
        change(&options)
        return options
    }

    private func isRefused(_ change: (inout LoginOptions) -> Void) -> Bool {
        failure { () throws(OAuthError) in try options(change).requestParameters() }
            == .configuration(.invalidConfiguration)
    }

    @Test func whatIsNotGivenIsNotSent() throws {
        #expect(try LoginOptions().requestParameters().isEmpty)
    }

    @Test func everyOptionBecomesItsParameter() throws {
        let parameters = try options { options in
            options.prompt = "login consent"
            options.loginHint = "алиса@example.org"
            options.uiLocales = "ru en"
            options.acrValues = "gold"
            options.maxAge = 0
            options.claims = "{\"id_token\":{\"acr\":null}}"
            options.resources = ["https://a.example", "urn:b"]
            options.authorizationDetails = "[{\"type\":\"x\"}]"
            options.parameters = [("kc_idp_hint", "github"), ("audience", "a&b=c")]
        }.requestParameters()
        #expect(
            parameters.map { "\($0.name)=\($0.value)" } == [
                "prompt=login consent", "login_hint=алиса@example.org", "ui_locales=ru en", "acr_values=gold",
                "claims={\"id_token\":{\"acr\":null}}", "authorization_details=[{\"type\":\"x\"}]", "max_age=0",
                "resource=https://a.example", "resource=urn:b", "kc_idp_hint=github", "audience=a&b=c",
            ])
    }

    @Test func optionsThatAreRefused() {
        #expect(isRefused { $0.prompt = "" })
        #expect(isRefused { $0.maxAge = -1 })
        #expect(isRefused { $0.claims = "[]" })
        #expect(isRefused { $0.claims = "no" })
        #expect(isRefused { $0.authorizationDetails = "{}" })
        #expect(isRefused { $0.resources = ["relative"] })
        #expect(isRefused { $0.resources = ["https://a.example#f"] })
        #expect(isRefused { $0.parameters = [("", "x")] })
        #expect(isRefused { $0.parameters = [("x", "1"), ("x", "2")] })
    }

    @Test(arguments: [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "response_mode", "dpop_jkt", "prompt", "max_age", "claims",
        "login_hint", "ui_locales", "acr_values", "resource", "authorization_details",
    ])
    func noParameterMayReplaceOurs(name: String) {
        #expect(isRefused { $0.parameters = [(name, "x")] })
    }

    @Test func scopesOfTheLoginReplaceTheConfiguredOnes() async throws {
        let harness = try Harness(scopes: ["openid", "email"])
        _ = try await harness.waitingLogin(options { $0.scopes = ["profile"] })
        #expect(try harness.parameter("scope", of: harness.browser.urls[0]) == "openid profile")
        try await harness.close()
    }

    @Test func maxAgeIsDemandedOfTheIDToken() async throws {
        let harness = try Harness()
        let call = try await harness.waitingLogin(options { $0.maxAge = 60 })
        _ = try harness.listener.navigate(try harness.response())
        #expect(await call.failure() == .configuration(.idTokenRejected))
        harness.provider.change { $0.claims = ["auth_time": "\(harness.time.wall / 1000)"] }
        #expect(try await harness.signIn(options { $0.maxAge = 60 }).subject == "alice")
        try await harness.close()
    }
}
