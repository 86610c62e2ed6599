// SPDX-License-Identifier: Apache-2.0

/// Who ends a call before its result is there (behaviour §2).
public enum CancelReason: Sendable, CaseIterable {
    /// The person wants it to end: UserCancelled, a pending request is erased.
    case user
    /// The program is being torn down: SystemCancelled, a pending request is kept.
    case system

    package var error: OAuthError {
        switch self {
        case .user: .recoverable(.userCancelled, "the app cancelled because the user did")
        case .system: .recoverable(.systemCancelled, "the timeout of the call ran out, or the program ended it")
        }
    }
}

/// One operation as the app sees it. Cancelling ends the caller's waiting, at once; what is on the wire goes on.
public final class Call<Value: Sendable>: Sendable {
    private struct Cancellation {
        var reason: CancelReason?
        var handler: (@Sendable (CancelReason) -> Void)?
    }

    private let outcome = Outcome<Value>()
    private let cancellation = Lock(Cancellation())

    init() {}

    /// Ends the waiting, unless the result was faster. Idempotent; from any thread; never blocks.
    public func cancel(_ reason: CancelReason) {
        let handler: (@Sendable (CancelReason) -> Void)? = cancellation.withLock { cancellation in
            if cancellation.reason == nil { cancellation.reason = reason }
            return cancellation.handler
        }
        if let handler { handler(reason) } else { outcome.settle(.failure(reason.error)) }
    }

    var isEnded: Bool { outcome.isSettled }

    /// Calls `handler` exactly once with the result: at once when it is there, else on the thread that settles it.
    public func whenEnded(_ handler: @escaping @Sendable (Result<Value, OAuthError>) -> Void) {
        outcome.whenSettled(handler)
    }

    /// The result; cancelling the waiting task is a system cancel.
    public func value() async throws(OAuthError) -> Value {
        let result = await withTaskCancellationHandler {
            await outcome.result
        } onCancel: {
            cancel(.system)
        }
        return try result.get()
    }

    /// Settles the result, and lets go of the handler for a cancel, which as a rule holds this call.
    func end(_ result: Result<Value, OAuthError>) {
        outcome.settle(result)
        let handler = cancellation.withLock { cancellation in
            let handler = cancellation.handler
            cancellation.handler = nil
            return handler
        }
        withExtendedLifetime(handler) {}  // released here, not under the lock
    }

    /// Leaves it to `handler` to end a cancelled call, after what the cancel changes was published. The handler runs at
    /// once when the call was cancelled before.
    func onCancel(_ handler: @escaping @Sendable (CancelReason) -> Void) {
        let reason = cancellation.withLock { cancellation in
            cancellation.handler = handler
            return cancellation.reason
        }
        if let reason { handler(reason) }
    }
}
