// SPDX-License-Identifier: Apache-2.0

/// Tells when a descriptor can be read: the I/O thread, seen from those who only have a descriptor to watch.
protocol DescriptorWatcher: Sendable {
    /// Calls `handler` on the I/O thread whenever `descriptor` is readable, until cancelled. The handler must read it empty
    /// and must not block. The descriptor stays the caller's and must be open until the watch is cancelled.
    func watchReadable(_ descriptor: Int32, _ handler: @escaping @Sendable () -> Void) -> any Scheduled
}
