// SPDX-License-Identifier: Apache-2.0

/// What a resource's 401 calls for (behaviour §7).
enum UnauthorizedVerdict: Equatable, Sendable {
    /// RFC 9470 §3: a refresh would not help.
    case stepUp(StepUpChallenge)
    /// The token is not accepted, whatever the reason given.
    case tokenRejected

    init(_ response: HTTPResponse) {
        let challenges = AuthenticationChallenge.parse(response.values("WWW-Authenticate"))
        let stepUp = challenges.first { $0.parameters["error"] == "insufficient_user_authentication" }
        self =
            if let parameters = stepUp?.parameters {
                .stepUp(
                    StepUpChallenge(
                        acrValues: parameters["acr_values"],
                        maxAge: parameters["max_age"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil },
                        scope: parameters["scope"]))
            } else {
                .tokenRejected
            }
    }
}
