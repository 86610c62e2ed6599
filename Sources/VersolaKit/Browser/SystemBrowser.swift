// SPDX-License-Identifier: Apache-2.0

/// The browser of the person's system, started by a launcher that is on its own from then on.
struct SystemBrowser: Browser {
    private let environment: BrowserEnvironment
    private let log: Log

    /// - Parameter log: gets what became of the launcher, never the URL. Called on any thread.
    init(environment: BrowserEnvironment, log: Log) {
        self.environment = environment
        self.log = log
    }

    func open(_ url: String, report: @escaping @Sendable (BrowserReport) -> Void) {
        if start(url) { report(.opened) } else { report(.failed) }
    }

    /// Whether a launcher runs now; what becomes of it is logged.
    private func start(_ url: String) -> Bool {
        guard Self.isSafe(url) else {
            log(.error, "no browser was started: the URL is not a plain http or https URL")
            return false
        }
        switch environment.choice {
        case .none(let reason): log(.warning, "no browser was started: \(reason)")
        case .launchers(let launchers):
            for launcher in launchers {
                guard let path = environment.path(of: launcher.program) else {
                    log(.warning, "the browser launcher \(launcher.program) is missing")
                    continue
                }
                return LauncherProcess.start(
                    path, arguments: launcher.arguments(for: url), environment: environment.inherited, log: log)
            }
        }
        return false
    }

    /// http or https and nothing but the characters of a URI (RFC 3986 §2): it cannot be taken for an option, a path or a
    /// script's URL, and launchers that pass it on through a shell find no quote, blank or backslash in it.
    static func isSafe(_ url: String) -> Bool {
        let start = url.prefix(8).lowercased()
        guard start.hasPrefix("http://") || start == "https://" else { return false }
        return url.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
    }
}
