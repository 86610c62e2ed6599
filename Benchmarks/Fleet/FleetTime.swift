// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// Virtual time, in milliseconds since the simulation began. Nothing waits on it: the simulation goes from event to event.
final class FleetTime: TimeSource {
    private let now = Lock<Int64>(0)

    var boot: BootMillis { now.withLock { $0 } }
    var wall: WallMillis { Self.epoch + boot }
    let bootID = "fleet"

    func set(_ millis: Int64) { now.withLock { $0 = millis } }

    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled { Never() }

    private struct Never: Scheduled {
        func cancel() {}
    }

    /// Sun, 01 Nov 2026 00:00:00 GMT
    private static let epoch: WallMillis = 1_793_491_200_000

    /// An HTTP date within the first day.
    static func date(_ millis: Int64) -> String {
        let seconds = millis / 1000
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "Sun, 01 Nov 2026 \(clock.joined(separator: ":")) GMT"
    }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct SplitMix {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int64) -> Int64 { Int64(next() % UInt64(bound)) }
}

/// The library's source of jitter, seeded.
final class FleetRandom: RandomSource {
    private let generator: Lock<SplitMix>

    init(_ seed: UInt64) { generator = Lock(SplitMix(seed)) }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(OAuthError) {
        generator.withLock { generator in
            for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: generator.next() >> 24) }
        }
    }
}
