// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Which browser is started, row by row.
@Suite struct BrowserChoiceTests {
    private typealias Launcher = BrowserEnvironment.Launcher

    private func choice(_ variables: [String: String]) -> BrowserEnvironment.Choice {
        BrowserEnvironment(variables: variables).choice
    }

    private func programs(_ variables: [String: String]) -> [String]? {
        guard case .launchers(let launchers) = choice(variables) else { return nil }
        return launchers.map(\.program)
    }

    @Test func displayMeansTheDesktopsBrowser() {
        #expect(programs(["DISPLAY": ":0"]) == ["xdg-open"])
        #expect(programs(["WAYLAND_DISPLAY": "wayland-0"]) == ["xdg-open"])
        #expect(programs(["DISPLAY": ":0", "BROWSER": ""]) == ["xdg-open"])
        #expect(programs(["DISPLAY": ":0", "BROWSER": ": :"]) == ["xdg-open"])
    }

    @Test func withoutADisplayNoneIsStarted() {
        for variables in [[:], ["DISPLAY": ""], ["DISPLAY": "", "WAYLAND_DISPLAY": ""], ["WSL_DISTRO_NAME": "Debian"]] {
            #expect(choice(variables) == .none(reason: "there is no display"))
        }
    }

    @Test func underSSHNoneIsStarted() {
        for name in ["SSH_CONNECTION", "SSH_TTY"] {
            #expect(choice(["DISPLAY": ":0", name: "x"]) == .none(reason: "this is an SSH session"))
            #expect(programs(["DISPLAY": ":0", name: ""]) == ["xdg-open"])
        }
    }

    @Test func underWSLTheHostsBrowserComesFirst() {
        for name in ["WSL_DISTRO_NAME", "WSL_INTEROP"] {
            #expect(programs(["DISPLAY": ":0", name: "x"]) == ["wslview", "xdg-open"])
        }
    }

    @Test func ownWordHoldsEverywhere() {
        for more in [[:], ["DISPLAY": ":0"], ["SSH_TTY": "x"], ["WSL_INTEROP": "x", "DISPLAY": ":0"]] {
            #expect(programs(more.merging(["BROWSER": "w3m:links"]) { $1 }) == ["w3m", "links"])
        }
    }

    @Test func ownWordIsReadAsTheDesktopsToolDoes() {
        let expected = [
            Launcher(program: "firefox", arguments: ["--new-window", "%s"]), Launcher(program: "/opt/b", arguments: []),
            Launcher(program: "x", arguments: ["-a=%s", "%s"]),
        ]
        #expect(choice(["BROWSER": "firefox --new-window  %s::/opt/b: x -a=%s\t%s"]) == .launchers(expected))
        #expect(expected.map { $0.arguments(for: "u%s") } == [["--new-window", "u%s"], ["u%s"], ["-a=u%s", "u%s"]])
    }

    @Test func programIsSoughtInAbsoluteFoldersOfThePath() {
        let folder = TemporaryFolder()
        folder.write("good", "", mode: 0o700)
        folder.write("plain", "", mode: 0o600)
        let environment = BrowserEnvironment(variables: ["PATH": ".:/nowhere::\(folder.path)"])
        #expect(environment.path(of: "good") == "\(folder.path)/good")
        #expect(environment.path(of: "plain") == nil)
        #expect(environment.path(of: "absent") == nil)
        #expect(environment.path(of: ".") == nil)
        #expect(environment.path(of: "\(folder.path)/good") == "\(folder.path)/good")
        #expect(environment.path(of: folder.path) == nil)
        #expect(BrowserEnvironment(variables: [:]).path(of: "sh") != nil)
    }

    @Test func linkerVariablesAreNotInherited() {
        let environment = BrowserEnvironment(variables: [
            "LD_LIBRARY_PATH": "x", "LD_PRELOAD": "x", "LD_AUDIT": "x", "LD_BIND_NOW": "1", "HOME": "/h",
            "OLD_PWD": "=a=b",
        ])
        #expect(Set(environment.inherited) == ["HOME=/h", "OLD_PWD==a=b"])
    }

    @Test(arguments: [
        ("https://as.example/authorize?a=b&c=%20d#e", true), ("http://127.0.0.1:8080/", true),
        ("HTTPS://as.example", true), ("https://[::1]/~a_b-c.d!$'()*+,;=:@", true), ("", false), ("-version", false),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false), ("httpsx://a", false), ("https:/a", false), (" https://a", false),
        ("https://a/ b", false), ("https://a/\n", false), ("https://a/\u{0}", false), ("https://a/`b`", false),
        ("https://a/\"", false), ("https://a/\\", false), ("https://a/ä", false), ("https://a/{b}", false),
    ])
    func onlyPlainWebURLsAreOpened(_ url: String, _ isSafe: Bool) {
        #expect(SystemBrowser.isSafe(url) == isSafe)
    }
}
