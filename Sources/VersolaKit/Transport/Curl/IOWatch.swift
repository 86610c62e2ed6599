// SPDX-License-Identifier: Apache-2.0
import CShims

/// What a descriptor is waited for, or has become. A hang-up or an error makes it readable, an error also writable: the
/// read or write that follows tells.
struct IOEvents: OptionSet, Sendable {
    let rawValue: Int16

    static let readable = IOEvents(rawValue: Int16(CURL_WAIT_POLLIN))
    static let writable = IOEvents(rawValue: Int16(CURL_WAIT_POLLOUT))
}

/// A descriptor among those that the I/O thread waits for, until `cancel`. The descriptor stays the caller's and must stay
/// open that long: close it in `cancel`'s completion, or in whatever is handed to `perform` after `cancel`. Letting go of
/// the watch does not end it.
final class IOWatch: @unchecked Sendable {
    let descriptor: Int32
    private let loop: IOLoop

    // The loop's, touched on the I/O thread only: this is what `@unchecked` stands for.
    private(set) var events: IOEvents
    private var handler: (@Sendable (IOEvents) -> Void)?

    init(_ loop: IOLoop, _ descriptor: Int32, _ events: IOEvents, _ handler: @escaping @Sendable (IOEvents) -> Void) {
        self.loop = loop
        self.descriptor = descriptor
        self.events = events
        self.handler = handler
    }

    /// Waits for other events from now on; for none at all with an empty set, hang-ups included.
    func update(_ events: IOEvents) {
        loop.run { [self] in
            guard handler != nil, self.events != events else { return }
            self.events = events
            loop.watchesChanged()
        }
    }

    /// Called on the I/O thread: when it returns, the handler will not be called again. Called elsewhere: so when
    /// `completion` runs, on the I/O thread. The handler and what it captured are let go of.
    func cancel(_ completion: (@Sendable () -> Void)? = nil) {
        loop.run { [self] in
            if handler != nil {
                handler = nil
                loop.remove(self)
            }
            completion?()
        }
    }

    func report(_ happened: IOEvents) {
        // What was asked for may have changed since the poll.
        let wanted = happened.intersection(events)
        if !wanted.isEmpty { handler?(wanted) }
    }
}
