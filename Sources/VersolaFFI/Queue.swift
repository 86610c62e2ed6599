// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CShims
import CVersola
import Glibc
import VersolaKit

/// Events in order, behind a descriptor that is readable exactly while there are some.
final class EventQueue: EventSink {
    private struct Contents {
        var events: [Event?] = []
        var head = 0
        var logs = 0
        var droppedLogs: UInt64 = 0
    }

    private static let logLimit = 1024

    let descriptor: Int32
    private let contents = Lock(Contents())

    init?() {
        descriptor = shim_eventfd()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Log events beyond the limit are dropped and counted, others never.
    func push(_ content: Event.Content, of clientSerial: UInt64) {
        contents.withLock { contents in
            var content = content
            if case .log(let level, let message, _) = content {
                guard contents.logs < Self.logLimit else {
                    contents.droppedLogs += 1
                    return
                }
                contents.logs += 1
                content = .log(level, message, dropped: contents.droppedLogs)
                contents.droppedLogs = 0
            }
            if contents.head == contents.events.count { signal() }
            contents.events.append(Event(content, of: clientSerial))
        }
    }

    func pop() -> Event? {
        contents.withLock { contents in
            guard contents.head < contents.events.count else { return nil }
            let event = contents.events[contents.head]
            contents.events[contents.head] = nil
            contents.head += 1
            if contents.head == contents.events.count {
                contents.events.removeAll(keepingCapacity: contents.head <= Self.logLimit)
                contents.head = 0
                drain()
            } else if contents.head >= 4096 {
                contents.events.removeFirst(contents.head)
                contents.head = 0
            }
            if case .log? = event?.content { contents.logs -= 1 }
            return event
        }
    }

    /// Waits for an event up to `timeoutMillis`, without limit when that is -1.
    func wait(_ timeoutMillis: Int64) -> Event? {
        let clock = ContinuousClock()
        let deadline =
            timeoutMillis == -1 ? nil : clock.now.advanced(by: .milliseconds(min(max(0, timeoutMillis), 1 << 40)))
        while true {
            if let event = pop() { return event }
            var milliseconds: Int32 = -1
            if let deadline {
                let left = clock.now.duration(to: deadline)
                if left <= .zero { return nil }
                let (seconds, attoseconds) = left.components
                milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
            }
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&descriptors, 1, milliseconds)
        }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    private func drain() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}

@implementation @_cdecl("versola_queue_new")
public func versola_queue_new() -> OpaquePointer? {
    giveNew { EventQueue() }
}

@implementation @_cdecl("versola_queue_fd")
public func versola_queue_fd(_ queue: OpaquePointer?) -> Int32 {
    object(queue, as: EventQueue.self)?.descriptor ?? -1
}

@implementation @_cdecl("versola_queue_pop")
public func versola_queue_pop(_ queue: OpaquePointer?) -> OpaquePointer? {
    guard !shim_process_is_forked_child() else { return nil }
    return object(queue, as: EventQueue.self)?.pop().map(give)
}

@implementation @_cdecl("versola_queue_wait")
public func versola_queue_wait(_ queue: OpaquePointer?, _ timeout_ms: Int64) -> OpaquePointer? {
    guard !shim_process_is_forked_child() else { return nil }
    return object(queue, as: EventQueue.self)?.wait(CallbackSink.isDelivering ? 0 : timeout_ms).map(give)
}

@implementation @_cdecl("versola_queue_release")
public func versola_queue_release(_ queue: OpaquePointer?) {
    drop(queue, as: EventQueue.self)
}
