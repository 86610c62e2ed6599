// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// Launchers that are scripts in a folder of the test.
@Suite(.serialized, .timeLimit(.minutes(1))) struct BrowserLaunchTests {
    private let folder = TemporaryFolder()
    private let url = "https://as.example/authorize?state=very-private"

    /// Opens the URL and gives the log up to the line that `last` accepts.
    private func open(
        _ variables: [String: String], until last: @escaping (String) -> Bool
    ) async -> [(level: LogLevel, text: String)] {
        let (stream, log) = AsyncStream.makeStream(of: (level: LogLevel, text: String).self)
        let browser = SystemBrowser(
            environment: BrowserEnvironment(variables: variables), log: Log(level: .debug) { log.yield(($0, $1)) })
        browser.open(url) { _ in }
        var lines: [(level: LogLevel, text: String)] = []
        for await line in stream {
            #expect(!line.text.contains("very-private"))
            lines.append(line)
            if last(line.text) { break }
        }
        return lines
    }

    private func script(_ name: String, _ body: String) {
        folder.write(name, "#!/bin/sh\n\(body)\n", mode: 0o700)
    }

    @Test func launcherGetsTheURLAndNothingOfTheHost() async throws {
        script(
            "launcher",
            """
            cd \(folder.path)
            env > env
            echo "$#" "$1" "$2" > arguments
            cut -d' ' -f1,5,6 /proc/$$/stat > session
            """)
        let lines = await open([
            "BROWSER": "\(folder.path)/launcher --new", "PATH": "/usr/bin:/bin", "LD_PRELOAD": "/nowhere.so",
            "LD_LIBRARY_PATH": "/nowhere", "KEPT": "a b",
        ]) { $0.contains("ended") || $0.contains("failed") }
        #expect(
            lines.map(\.text) == [
                "the browser launcher launcher was started", "the browser launcher launcher has ended",
            ])
        #expect(lines.map(\.level) == [.debug, .debug])
        #expect(folder.read("arguments") == "2 --new \(url)\n")
        #expect(folder.read("env").contains("KEPT=a b\n"))
        #expect(!folder.read("env").contains("LD_"))
        let session = folder.read("session").split(whereSeparator: \.isWhitespace)
        #expect(session.count == 3 && Set(session).count == 1, "leads a session and a process group")
        let pid = try #require(session.first.flatMap { pid_t($0) })
        #expect(kill(pid, 0) == -1 && errno == ESRCH, "reaped")
    }

    @Test func launcherHasThreeDescriptorsAndNoneOfTheHosts() async {
        script("launcher", "cd \(folder.path) && exec find /proc/self/fd -type l -fprintf descriptors '%f %l\\n'")
        let inherited = dup2(2, 200)
        defer { close(inherited) }
        _ = await open(["BROWSER": "\(folder.path)/launcher", "PATH": "/usr/bin:/bin"]) { $0.contains("ended") }
        let descriptors = folder.read("descriptors").split(separator: "\n")
        #expect(descriptors.prefix(3) == ["0 /dev/null", "1 /dev/null", "2 /dev/null"])
        // What find has opened itself.
        #expect(descriptors.dropFirst(3).allSatisfy { $0.contains(" \(folder.path)") || $0.contains(" /proc/") })
    }

    @Test func launcherIgnoresAndBlocksNoSignal() async {
        script("launcher", "exec grep -E '^Sig(Blk|Ign):' /proc/self/status > \(folder.path)/signals")
        let environment = BrowserEnvironment(variables: ["BROWSER": "\(folder.path)/launcher", "PATH": "/usr/bin:/bin"])
        let (stream, log) = AsyncStream.makeStream(of: String.self)
        signal(SIGUSR2, SIG_IGN)
        // On this thread from here to there: no suspension in between.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        SystemBrowser(environment: environment, log: Log(level: .debug) { log.yield($1) }).open(url) { _ in }
        pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
        signal(SIGUSR2, SIG_DFL)
        for await line in stream where line.contains("ended") { break }
        let sets = folder.read("signals").split(separator: "\n").map { UInt64($0.suffix(16), radix: 16) }
        // Without the two that glibc keeps for itself.
        #expect(sets.map { $0.map { $0 & ~0x1_8000_0000 } } == [0, 0])
    }

    @Test("B47: a launcher that exits 3 is logged")
    func failing() async {
        script("launcher", "exit 3")
        let lines = await open(["BROWSER": "\(folder.path)/launcher"]) { $0.contains("status") }
        #expect(lines.last?.text == "the browser launcher launcher failed with status 3")
        #expect(lines.last?.level == .warning)
    }

    @Test("B47: a launcher that is killed is logged")
    func killed() async {
        script("launcher", "kill -9 $$")
        let lines = await open(["BROWSER": "\(folder.path)/launcher"]) { $0.contains("status") }
        #expect(lines.last?.text == "the browser launcher launcher failed with status 137")
    }

    @Test("B47: a launcher that is missing is logged, and the next is tried")
    func missing() async {
        script("second", "exit 0")
        let lines = await open(["BROWSER": "\(folder.path)/first:\(folder.path)/second"]) { $0.contains("ended") }
        #expect(lines.first?.text == "the browser launcher \(folder.path)/first is missing")
        #expect(lines.first?.level == .warning)
        #expect(lines.last?.text == "the browser launcher second has ended")
        let none = await open(["DISPLAY": ":0", "PATH": folder.path]) { $0.contains("missing") }
        #expect(none.map(\.text) == ["the browser launcher xdg-open is missing"])
    }

    @Test func launcherThatCannotBeRunIsLogged() async {
        folder.write("launcher", "no program", mode: 0o700)
        let lines = await open(["BROWSER": "\(folder.path)/launcher"]) { _ in true }
        #expect(lines.map(\.text) == ["the browser launcher launcher cannot be started: Exec format error"])
    }

    @Test func withoutADisplayNothingIsStartedAndThatIsLogged() async {
        let lines = await open([:]) { _ in true }
        #expect(lines.map(\.text) == ["no browser was started: there is no display"])
        #expect(lines.map(\.level) == [.warning])
    }

    @Test func hostsOwnChildrenAreLeftToIt() async {
        script("launcher", "exit 0")
        var child: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
        defer { free(arguments[0]) }
        #expect(posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil) == 0)
        _ = await open(["BROWSER": "\(folder.path)/launcher"]) { $0.contains("ended") }
        var status: Int32 = -1
        #expect(waitpid(child, &status, 0) == child)
        #expect(status == 0)
    }

    @Test("B47: the listener does not depend on the launcher")
    func listenerGoesOn() async throws {
        script("launcher", "exit 3")
        let listener = try LoopbackListener.bind(host: "127.0.0.1", port: 0, path: "/cb")
        listener.deliver { $0.answer(.signedIn) }
        _ = await open(["BROWSER": "\(folder.path)/launcher"]) { $0.contains("status") }
        let request = ListenerClient.navigation("/cb?code=1", host: "127.0.0.1:\(listener.port)")
        #expect(httpStatus(ListenerClient.exchange(request, port: listener.port)) == 200)
        listener.close()
    }

    @Test func environmentOfTheProcessIsRead() {
        setenv("VERSOLA_TEST_VARIABLE", "a=b", 1)
        defer { unsetenv("VERSOLA_TEST_VARIABLE") }
        #expect(BrowserEnvironment.current().variables["VERSOLA_TEST_VARIABLE"] == "a=b")
    }
}
