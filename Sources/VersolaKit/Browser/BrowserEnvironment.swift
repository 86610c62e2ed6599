// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The environment variables of the host, from which the browser is chosen and which it inherits.
struct BrowserEnvironment: Equatable, Sendable {
    var variables: [String: String]

    /// A copy. To be made on a thread of the host's: `environ` has no lock, and who changes it does so there.
    static func current() -> BrowserEnvironment {
        var variables: [String: String] = [:]
        // NULL after `clearenv`.
        var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        while let text = entry?.pointee {
            let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
            entry = entry?.successor()
        }
        return BrowserEnvironment(variables: variables)
    }

    /// What is to show a URL, or why nothing is.
    enum Choice: Equatable, Sendable {
        /// In order; the first whose program exists is started.
        case launchers([Launcher])
        case none(reason: String)
    }

    /// A program and its arguments; `%s` stands for the URL, which comes last where it is not named.
    struct Launcher: Equatable, Sendable {
        var program: String
        var arguments: [String] = []

        func arguments(for url: String) -> [String] {
            let placeholder = "%s"
            guard arguments.contains(where: { $0.contains(placeholder) }) else { return arguments + [url] }
            return arguments.map { word in
                word.split(separator: placeholder, omittingEmptySubsequences: false).joined(separator: url)
            }
        }
    }

    /// `$BROWSER` is the person's own word and holds everywhere. Without it a display is needed, and none of somebody's who
    /// sits elsewhere. Flatpak and Snap need no case of their own: there `xdg-open` calls the OpenURI portal.
    var choice: Choice {
        let wanted = named("BROWSER")?.split(separator: ":").compactMap(Self.launcher) ?? []
        if !wanted.isEmpty { return .launchers(wanted) }
        if named("SSH_CONNECTION") != nil || named("SSH_TTY") != nil { return .none(reason: "this is an SSH session") }
        guard named("DISPLAY") != nil || named("WAYLAND_DISPLAY") != nil else {
            return .none(reason: "there is no display")
        }
        let desktop = Launcher(program: "xdg-open")
        let isWSL = named("WSL_DISTRO_NAME") != nil || named("WSL_INTEROP") != nil
        return .launchers(isWSL ? [Launcher(program: "wslview"), desktop] : [desktop])
    }

    /// The path of a program: as it is when it has a slash, else the first executable file of that name in `$PATH`.
    func path(of program: String) -> String? {
        if program.contains("/") { return Self.isExecutable(program) ? program : nil }
        // Relative members are skipped: what lies in the working directory is not the person's browser.
        let folders = (named("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }.first(where: Self.isExecutable)
    }

    /// What the browser inherits: everything but the dynamic linker's variables, which an app bundle or a sanitizer sets for
    /// itself and which make a foreign program load the wrong libraries.
    var inherited: [String] {
        variables.filter { !$0.key.hasPrefix("LD_") }.map { "\($0.key)=\($0.value)" }
    }

    private func named(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// One member of `$BROWSER`: words between blanks, without quoting, as `xdg-open` reads it.
    private static func launcher(_ text: Substring) -> Launcher? {
        let words = text.split { $0 == " " || $0 == "\t" }.map(String.init)
        return words.first.map { Launcher(program: $0, arguments: Array(words.dropFirst())) }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
