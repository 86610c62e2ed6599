// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An open file, closed with its last reference. Every call reports `errno` as a ``SystemFailure``.
final class Descriptor: Sendable {
    let raw: Int32

    init(adopting raw: Int32) {
        self.raw = raw
    }

    /// Opens `path` below `directory` (`AT_FDCWD`: below the working directory), closed on exec.
    convenience init(_ path: String, below directory: Int32 = AT_FDCWD, _ flags: Int32, mode: mode_t = 0)
        throws(SystemFailure)
    {
        self.init(
            adopting: try SystemFailure.check("open") { openat(directory, path, flags | O_CLOEXEC | O_NONBLOCK, mode) })
    }

    deinit {
        close(raw)
    }

    func status() throws(SystemFailure) -> stat {
        var status = stat()
        try SystemFailure.check("stat") { fstat(raw, &status) }
        return status
    }

    /// Everything up to `limit` bytes.
    func readAll(limit: Int) throws(SystemFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 16_384))
        defer { chunk.wipe() }
        while bytes.count < limit {
            let count = try SystemFailure.check("read") { read(raw, &chunk, min(chunk.count, limit - bytes.count)) }
            if count == 0 { break }
            bytes += chunk.prefix(count)
        }
        return bytes
    }

    func writeAll(_ bytes: [UInt8]) throws(SystemFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try SystemFailure.check("write") {
                rest.withUnsafeBytes { write(raw, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(count)
        }
    }

    func setMode(_ mode: mode_t) throws(SystemFailure) {
        try SystemFailure.check("chmod") { fchmod(raw, mode) }
    }

    func sync() throws(SystemFailure) {
        try SystemFailure.check("fsync") { fsync(raw) }
    }
}

/// A system call that failed.
struct SystemFailure: Error, Equatable, Sendable {
    var call: String
    var errno: Int32

    var text: String { "\(call): \(String(cString: strerror(errno)))" }

    /// Runs a call that reports failure as -1 and `errno`; repeats it when a signal came in between.
    @discardableResult
    static func check<Number: SignedInteger>(_ call: String, _ body: () -> Number) throws(SystemFailure) -> Number {
        while true {
            let result = body()
            if result != -1 { return result }
            let error = Glibc.errno
            if error != EINTR { throw SystemFailure(call: call, errno: error) }
        }
    }
}
