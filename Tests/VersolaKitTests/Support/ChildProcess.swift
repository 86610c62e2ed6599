// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import VersolaKit

/// A program in the PATH with its standard input and output as pipes; standard error is dropped.
///
/// Not Foundation's `Process`: that one learns of an end through a descriptor which every child started meanwhile inherits,
/// and passes on the signal mask of the Dispatch thread that made it.
struct ChildProcess: Sendable {
    let pid: pid_t
    /// To the child.
    let input: FileHandle
    /// From the child.
    let output: FileHandle

    init(_ arguments: [String], in directory: URL) throws {
        self = try Self.one.withLock { _ in try Self(arguments, directory) }
    }

    /// One at a time, lest a child inherit the pipes of another.
    private static let one = Lock(())

    private init(_ arguments: [String], _ directory: URL) throws {
        var (stdin, stdout): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&stdin) == 0, pipe(&stdout) == 0 else { throw POSIXError(.EMFILE) }
        for end in stdin + stdout { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, stdin[0], 0)
        posix_spawn_file_actions_adddup2(&actions, stdout[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
            close(stdin[0])
            close(stdout[1])
        }
        let command = ["sh", "-c", #"cd "$0" && exec "$@""#, directory.path] + arguments
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var child = pid_t()
        guard posix_spawnp(&child, "sh", &actions, &attributes, &words, environ) == 0 else {
            throw POSIXError(.ENOENT)
        }
        pid = child
        input = FileHandle(fileDescriptor: stdin[1], closeOnDealloc: true)
        output = FileHandle(fileDescriptor: stdout[0], closeOnDealloc: true)
    }

    func waitForExit() -> Int32 {
        var status: Int32 = -1
        waitpid(pid, &status, 0)
        return status
    }

    /// At once and for good.
    func end() {
        kill(pid, SIGKILL)
        _ = waitForExit()
    }
}
