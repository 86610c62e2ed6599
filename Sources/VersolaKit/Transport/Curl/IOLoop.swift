// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc
import Synchronization

/// The I/O thread, one per process, started with the first client: curl's transfers, and beside them descriptors and timers.
/// It blocks in one place, `curl_multi_poll`, for as long as nothing happens; nothing handed to it may block.
///
/// In a forked child the thread does not exist: there every member does nothing, without touching a lock.
final class IOLoop: @unchecked Sendable {
    static let shared = IOLoop()

    /// How often the thread has come out of its wait: an idle one does not.
    let wakeUps = Atomic<Int>(0)

    private let starting = Lock(())
    private let isStarted = Atomic<Bool>(false)
    private let thread = Atomic<pthread_t>(0)
    private let inbox = Lock<[@Sendable () -> Void]>([])

    // Written before `isStarted`, never after.
    private var multi: UnsafeMutableRawPointer?
    private var timer: Int32 = -1
    // The I/O thread's alone: this, and the order above, is what `@unchecked` stands for.
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var started: UInt64 = 0
    private var watches: [ObjectIdentifier: IOWatch] = [:]
    private var polled: [IOWatch] = []
    private var descriptors: [curl_waitfd] = []
    private var polledIsStale = false
    private var timers = TimerHeap()
    private var armedFor: BootMillis?

    init() { start() }

    /// Starts the thread unless it runs: then it runs as long as the process. No client is made without it, so that nothing
    /// of a client waits for a thread that does not come.
    /// - Returns: false when it cannot be had now (no descriptors, no memory), and in a forked child.
    @discardableResult
    func start() -> Bool {
        shim_process_used()
        guard !shim_process_is_forked_child() else { return false }
        return starting.withLock { _ in
            if !isStarted.load(ordering: .acquiring) { isStarted.store(startThread(), ordering: .releasing) }
            return isStarted.load(ordering: .acquiring)
        }
    }

    /// Never undone: other users of curl in the process, and this thread, may still be at work at exit.
    private static let curlIsReady = OpenSSL.whileThere { shim_curl_global_init() == CURLE_OK }

    /// False in a forked child, and when the thread could not be started (see `start`).
    var isRunning: Bool { isStarted.load(ordering: .acquiring) && !shim_process_is_forked_child() }

    var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs `action` on the I/O thread, in the order of the calls, also when called from there.
    /// - Returns: false if it never will (see `isRunning`).
    @discardableResult
    func perform(_ action: @escaping @Sendable () -> Void) -> Bool {
        guard isRunning else { return false }
        let isFirst = inbox.withLock { actions in
            actions.append(action)
            return actions.count == 1
        }
        // Those behind the first are covered by its wake-up: the inbox is emptied as a whole.
        if isFirst { curl_multi_wakeup(multi) }
        return true
    }

    /// As `perform`, but at once when already there.
    func run(_ action: @escaping @Sendable () -> Void) {
        if isCurrent, isRunning { action() } else { perform(action) }
    }

    /// Calls `handler` on the I/O thread whenever the descriptor is ready (level-triggered), until the watch is cancelled.
    func watch(
        _ descriptor: Int32, for events: IOEvents, _ handler: @escaping @Sendable (IOEvents) -> Void
    ) -> IOWatch {
        let watch = IOWatch(self, descriptor, events, handler)
        run { [self] in
            watches[ObjectIdentifier(watch)] = watch
            watchesChanged()
        }
        return watch
    }

    /// Calls `action` on the I/O thread once the boot-time clock has reached `time`.
    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
        let timer = IOTimer(self, at: time, action)
        run { [self] in timers.insert(timer) }
        return timer
    }
}

// MARK: - On the I/O thread

extension IOLoop {
    /// Keeps the transfer until curl is done with it.
    func start(_ transfer: CurlTransfer) {
        if transfer.isReady, curl_multi_add_handle(multi, transfer.easy) == CURLM_OK {
            started += 1
            transfers[transfer.easy] = transfer
            // By number: what another thread held for a moment might end on that thread.
            transfer.whenClosed(number: started) { [self] number in perform { [self] in abort(number) } }
        } else {
            transfer.finish(CURLE_FAILED_INIT)
        }
    }

    /// Ends the transfer unless it has ended.
    private func abort(_ number: UInt64) {
        guard let transfer = transfers.values.first(where: { $0.number == number }) else { return }
        transfers[transfer.easy] = nil
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.finish(CURLE_ABORTED_BY_CALLBACK)
    }

    func watchesChanged() {
        polledIsStale = true
    }

    func remove(_ watch: IOWatch) {
        watches[ObjectIdentifier(watch)] = nil
        watchesChanged()
    }

    func remove(_ timer: IOTimer) {
        timers.remove(timer)
    }

    private func startThread() -> Bool {
        multi = Self.curlIsReady ? curl_multi_init() : nil
        timer = shim_boot_timer_create()
        // Idle connections kept; curl's own measure, four per transfer at work, would drop them whenever little is going on.
        _ = shim_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
        // curl makes its handle also when it finds no descriptors to be woken by, and would then hear of nothing.
        if multi != nil, timer >= 0, curl_multi_wakeup(multi) == CURLM_OK, spawn() { return true }
        curl_multi_cleanup(multi)
        if timer >= 0 { close(timer) }
        return false
    }

    private func spawn() -> Bool {
        // The thread is born with every signal blocked: none of the host's handlers runs on it, and no SIGPIPE kills.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var created = pthread_t()
        let context = Unmanaged.passRetained(self)
        let failed = pthread_create(
            &created, nil,
            { context in
                if let context { Unmanaged<IOLoop>.fromOpaque(context).takeRetainedValue().main() }
                return nil
            }, context.toOpaque())
        if failed != 0 { context.release() } else { pthread_detach(created) }
        return failed == 0
    }

    private func main() {
        thread.store(pthread_self(), ordering: .relaxed)
        shim_name_this_thread("versola-io")
        watches[ObjectIdentifier(self)] = IOWatch(self, timer, .readable) { [unowned self] _ in fireTimers() }
        watchesChanged()
        while true {
            OpenSSL.whileThere {
                let actions = inbox.withLock { exchange(&$0, with: []) }
                for action in actions { action() }
                var running: Int32 = 0
                curl_multi_perform(multi, &running)
                finishTransfers()
            }
            armTimer()
            wait()
        }
    }

    private func wait() {
        if polledIsStale {
            polledIsStale = false
            // One without events is left out: poll would report its hang-up for ever.
            polled = watches.values.filter { !$0.events.isEmpty }
            descriptors = polled.map { curl_waitfd(fd: $0.descriptor, events: $0.events.rawValue, revents: 0) }
        }
        var results = descriptors
        // curl takes no "for ever": 24 days.
        let code = curl_multi_poll(multi, &results, UInt32(results.count), .max, nil)
        wakeUps.add(1, ordering: .relaxed)
        guard code == CURLM_OK else {
            // Out of memory: give the host time rather than spin.
            usleep(10_000)
            return
        }
        // A handler may cancel a watch that is ready too: that one then reports nothing.
        for (watch, result) in zip(polled, results) where result.revents != 0 {
            watch.report(IOEvents(rawValue: result.revents))
        }
    }

    private func finishTransfers() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
            let code = message.data.result
            curl_multi_remove_handle(multi, easy)
            transfers.removeValue(forKey: easy)?.finish(code)
        }
    }

    private func armTimer() {
        let next = timers.first?.time
        guard next != armedFor else { return }
        armedFor = next
        shim_boot_timer_set(timer, next.map { max($0, 0) } ?? -1)
    }

    private func fireTimers() {
        var expirations: UInt64 = 0
        _ = read(timer, &expirations, MemoryLayout.size(ofValue: expirations))
        // It is disarmed now, whatever it was armed for.
        armedFor = nil
        for due in timers.removeDue(at: SystemTime().boot) { due.fire() }
    }
}
