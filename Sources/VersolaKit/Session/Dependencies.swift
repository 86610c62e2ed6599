// SPDX-License-Identifier: Apache-2.0

/// Everything a client reaches the world through, injected once, at the top.
struct Dependencies: Sendable {
    var time: any TimeSource
    var random: any RandomSource
    var transport: any HTTPTransport
    /// Shared by every client of the process, outside tests.
    var pauses = Pauses.shared
    /// `nil`: no browser is ever started.
    var browser: (any Browser)?
    var listen: @Sendable (_ host: String, _ port: UInt16, _ path: String) throws(OAuthError) -> any RedirectListener
    var store: any CredentialStore
    var log: Log
}
