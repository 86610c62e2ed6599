// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// Exclusive locks between processes, and between two stores in one: `flock` belongs to the open file, not to the process.
enum FileLock {
    /// Between two tries, longer from try to try. The write lock is held for milliseconds.
    private static let shortestPauseMillis = 2
    private static let longestPauseMillis = 10

    /// The lock, or `nil` when it was not to be had in `milliseconds`. The wait is real time, whatever clock the rest uses:
    /// it is for another process.
    static func acquire(
        _ name: String, in directory: Descriptor, waitMillis milliseconds: Int64
    ) throws(SystemFailure) -> HeldLock? {
        let start = monotonicMillis()
        var pause = shortestPauseMillis
        while true {
            let file = try SystemFailure.check("open") { versola_lock_open(directory.raw, name) }
            do {
                switch try tryLock(file) {
                case .had:
                    return HeldLock {
                        // Not left to close(): a child between fork and exec still has the open file.
                        flock(file, LOCK_UN)
                        versola_lock_close(file)
                    }
                case .erased:
                    versola_lock_close(file)
                case .taken:
                    versola_lock_close(file)
                    guard monotonicMillis() - start < milliseconds else { return nil }
                    var time = timespec(tv_sec: 0, tv_nsec: pause * 1_000_000)
                    nanosleep(&time, nil)
                    pause = min(pause + 1, longestPauseMillis)
                }
            } catch {
                versola_lock_close(file)
                throw error
            }
        }
    }

    enum Verdict { case had, taken, erased }

    static func tryLock(_ file: Int32) throws(SystemFailure) -> Verdict {
        do throws(SystemFailure) {
            try SystemFailure.check("flock") { flock(file, LOCK_EX | LOCK_NB) }
        } catch {
            if error.errno == EWOULDBLOCK { return .taken }
            throw error
        }
        var status = stat()
        try SystemFailure.check("stat") { fstat(file, &status) }
        guard status.isRegularFile, status.isOurs else {
            throw SystemFailure(call: "owner and type of the file", errno: EPERM)
        }
        // A umask may have taken bits away from a file just made.
        if status.st_mode & 0o777 != 0o600 { try SystemFailure.check("chmod") { fchmod(file, 0o600) } }
        // Its last holder erased it between our open and our lock: whoever comes next locks another file.
        guard status.st_nlink > 0 else { return .erased }
        return .had
    }

    private static func monotonicMillis() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
