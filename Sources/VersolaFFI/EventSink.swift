// SPDX-License-Identifier: Apache-2.0
import CShims
import CVersola
import Dispatch
import VersolaKit

/// Where a client's events go. `push` may be called under the session's lock: it only passes the event on.
protocol EventSink: AnyObject, Sendable {
    func push(_ content: Event.Content, of clientSerial: UInt64)
    /// Calls `handler` when everything pushed before has been handed over.
    func whenDelivered(_ handler: @escaping @Sendable () -> Void)
}

extension EventSink {
    func whenDelivered(_ handler: @escaping @Sendable () -> Void) { handler() }
}

/// One client's way to its sink, shut behind CLOSED. What outlives the client, as a browser's launcher does whose end is
/// logged, tells nothing any more then, and does not keep the sink.
final class Outlet: Sendable {
    private let sink: Lock<(any EventSink)?>
    private let clientSerial: UInt64

    init(_ sink: any EventSink, clientSerial: UInt64) {
        self.sink = Lock(sink)
        self.clientSerial = clientSerial
    }

    func push(_ content: Event.Content) {
        sink.withLock { $0?.push(content, of: clientSerial) }
    }

    /// The last event; calls `handler` when it has been handed over.
    func close(_ handler: @escaping @Sendable () -> Void) {
        let shut = sink.withLock { sink in
            sink?.push(.closed, of: clientSerial)
            return exchange(&sink, with: nil)
        }
        shut?.whenDelivered(handler)
    }
}

/// Calls a C function on a serial queue of its own.
final class CallbackSink: EventSink, @unchecked Sendable {
    // The context is the caller's affair, which is what `@unchecked` stands for: it is only passed back to it.
    private let callback: versola_callback
    private let context: UnsafeMutableRawPointer?
    private let contextFree: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    private let queue = DispatchQueue(label: "versola.delivery")
    private static let isDelivery = DispatchSpecificKey<Bool>()

    init(
        _ callback: versola_callback, _ context: UnsafeMutableRawPointer?,
        _ contextFree: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    ) {
        self.callback = callback
        self.context = context
        self.contextFree = contextFree
        queue.setSpecific(key: Self.isDelivery, value: true)
    }

    /// Whether this code runs inside a callback, where waiting would wait for itself.
    static var isDelivering: Bool { DispatchQueue.getSpecific(key: isDelivery) ?? false }

    func push(_ content: Event.Content, of clientSerial: UInt64) {
        let event = Event(content, of: clientSerial)
        queue.async { [self] in
            let isLast = event.kind == VERSOLA_EVENT_CLOSED
            callback(context, give(event))
            if isLast { contextFree?(context) }
        }
    }

    func whenDelivered(_ handler: @escaping @Sendable () -> Void) {
        queue.async(execute: handler)
    }
}

/// Posts the address of each event to a Dart port.
final class DartPortSink: EventSink, @unchecked Sendable {
    // A function's address, never written to.
    private let postCObject: UnsafeRawPointer
    private let port: Int64

    init(_ postCObject: UnsafeRawPointer, port: Int64) {
        self.postCObject = postCObject
        self.port = port
    }

    func push(_ content: Event.Content, of clientSerial: UInt64) {
        let event = give(Event(content, of: clientSerial))
        if !shim_dart_post(postCObject, port, UnsafeRawPointer(event)) { drop(event, as: Event.self) }
    }
}
