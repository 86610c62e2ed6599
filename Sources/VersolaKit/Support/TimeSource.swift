// SPDX-License-Identifier: Apache-2.0

/// Milliseconds since boot, sleep included (`CLOCK_BOOTTIME`): the only clock for ages, budgets and expiry.
typealias BootMillis = Int64
/// Milliseconds since 1970 by the wall clock, which may be wrong or jump.
typealias WallMillis = Int64

/// Time, injected once at the top: one real implementation on the I/O thread, one virtual for tests.
protocol TimeSource: Sendable {
    var boot: BootMillis { get }
    var wall: WallMillis { get }
    /// The kernel's boot id: boot-time clock values of another boot mean nothing.
    var bootID: String { get }
    /// Calls `action` once, on the I/O thread, when `boot` has reached the time (machine sleep counts), unless cancelled.
    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled
}

/// Something that was arranged and can be called off. Cancelling twice, or after it ran, does nothing.
protocol Scheduled: Sendable {
    func cancel()
}
