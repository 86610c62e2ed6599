// SPDX-License-Identifier: Apache-2.0
import Dispatch
import VersolaKit

/// A timeout as the blocking functions take it.
struct Timeout {
    let deadline: DispatchTime

    init(_ milliseconds: Int64) throws(OAuthError) {
        guard !CallbackSink.isDelivering else { throw invalid("wait: a blocking form was called inside a callback") }
        guard milliseconds >= -1 else { throw invalid("timeout_ms: it must be -1 or more") }
        deadline = milliseconds < 0 ? .distantFuture : .now() + .milliseconds(Int(clamping: min(milliseconds, 1 << 40)))
    }
}

/// Blocks threads until a value is there: for the blocking forms and nothing else.
final class Waiter<Value: Sendable>: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let value = Lock<Value?>(nil)

    func fill(_ value: Value) {
        self.value.withLock { $0 = value }
        semaphore.signal()
    }

    func wait(_ timeout: Timeout) -> Value? {
        if semaphore.wait(timeout: timeout.deadline) == .success { semaphore.signal() }  // for whoever waits next
        return value.withLock { $0 }
    }
}

/// The result of a call; after the timeout it is cancelled, which ends it with SystemCancelled unless it was faster.
func wait<Value>(for call: Call<Value>, _ timeout: Timeout) throws(OAuthError) -> Value {
    let waiter = Waiter<Result<Value, OAuthError>>()
    call.whenEnded { waiter.fill($0) }
    if let result = waiter.wait(timeout) { return try result.get() }
    call.cancel(.system)
    guard let result = waiter.wait(try Timeout(-1)) else { throw CancelReason.system.error }
    return try result.get()
}
