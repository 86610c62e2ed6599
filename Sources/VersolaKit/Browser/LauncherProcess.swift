// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// A started launcher, and its reaping: no SIGCHLD handler is installed and no other child of the host is waited for.
struct LauncherProcess: Sendable {
    let name: String
    private let pid: pid_t
    private let log: Log

    /// Starts it and returns whether it runs; how it ended is logged once it has. It may well run as long as the browser does.
    static func start(
        _ path: String, arguments: [String], environment: [String], log: Log
    ) -> Bool {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        var pid: pid_t = 0
        let failed = withCStrings([path] + arguments) { arguments in
            withCStrings(environment) { shim_spawn_detached(path, arguments, $0, &pid) }
        }
        guard failed == 0 else {
            log(.warning, "the browser launcher \(name) cannot be started: \(String(cString: strerror(failed)))")
            return false
        }
        log(.debug, "the browser launcher \(name) was started")
        LauncherProcess(name: name, pid: pid, log: log).awaitEnd()
        return true
    }

    private func awaitEnd() {
        let descriptor = shim_pidfd_open(pid)
        guard descriptor >= 0 else { return askAgain(afterMillis: 1_000) }
        IOLoop.shared.perform {
            let watch = Lock<IOWatch?>(nil)
            let started = IOLoop.shared.watch(descriptor, for: .readable) { _ in
                let status = shim_reap(descriptor)
                guard status >= 0 || errno != EAGAIN else { return }
                watch.withLock { $0?.cancel() }
                close(descriptor)
                if status >= 0 { ended(status) }
            }
            watch.withLock { $0 = started }
        }
    }

    /// Where there is no pidfd (a seccomp filter older than Linux 5.3, no descriptor left): by number, at growing intervals.
    private func askAgain(afterMillis interval: Int64) {
        _ = IOLoop.shared.schedule(at: SystemTime().boot + interval) {
            var status: Int32 = 0
            switch waitpid(pid, &status, WNOHANG) {
            case 0: askAgain(afterMillis: min(interval * 2, 60_000))
            case pid: ended(status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f)
            default: break  // The host has reaped it.
            }
        }
    }

    /// - Parameter status: as a shell has it, 128 + n for signal n.
    private func ended(_ status: Int32) {
        if status == 0 {
            log(.debug, "the browser launcher \(name) has ended")
        } else {
            log(.warning, "the browser launcher \(name) failed with status \(status)")
        }
    }
}

/// Copies as `argv` and `envp` want them, NULL at the end. A string ends at its first NUL.
private func withCStrings<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
