// SPDX-License-Identifier: Apache-2.0

/// Where log lines go: never a token, code, verifier, key, claim or a URL's query in one.
struct Log: Sendable {
    /// The most talkative level that is passed on; `nil` = nothing is.
    let level: LogLevel?
    let sink: @Sendable (LogLevel, String) -> Void

    static let off = Log(level: nil) { _, _ in }

    func callAsFunction(_ level: LogLevel, _ message: @autoclosure () -> String) {
        if let limit = self.level, level <= limit { sink(level, message()) }
    }
}
