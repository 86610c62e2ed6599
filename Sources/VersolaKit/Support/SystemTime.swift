// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The machine's clocks, and timers on the I/O thread.
struct SystemTime: TimeSource {
    var boot: BootMillis { Self.milliseconds(CLOCK_BOOTTIME) }
    var wall: WallMillis { Self.milliseconds(CLOCK_REALTIME) }
    var bootID: String { Self.bootID }

    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
        IOLoop.shared.schedule(at: time, action)
    }

    /// Without /proc a random one: then boot-time values compare within this process only, and ages across processes go by
    /// the wall clock, as after a reboot.
    private static let bootID: String =
        (readFile("/proc/sys/kernel/random/boot_id", limit: 64))
        .map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } }
        .flatMap { $0.isEmpty ? nil : $0 }
        ?? "\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))"

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}

/// The bytes of a small file; `nil` if it cannot be read or is longer than `limit`.
func readFile(_ path: String, limit: Int) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(file, &chunk, chunk.count)
        if count < 0 && errno == EINTR { continue }
        guard count >= 0, bytes.count + count <= limit else { return nil }
        if count == 0 { return bytes }
        bytes.append(contentsOf: chunk[..<count])
    }
}
