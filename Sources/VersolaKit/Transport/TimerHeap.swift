// SPDX-License-Identifier: Apache-2.0

/// A timer of the I/O thread. What it captured goes when it has run or was cancelled.
final class IOTimer: Scheduled, @unchecked Sendable {
    let time: BootMillis
    private let loop: IOLoop
    private let action: Lock<(@Sendable () -> Void)?>

    // The heap's, touched on the I/O thread only: this is what `@unchecked` stands for.
    fileprivate var position: Int?
    fileprivate var sequence: UInt64 = 0

    init(_ loop: IOLoop, at time: BootMillis, _ action: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.time = time
        self.action = Lock(action)
    }

    /// From any thread; afterwards the action does not start.
    func cancel() {
        guard loop.isRunning, takeAction() != nil else { return }
        loop.run { [self] in loop.remove(self) }
    }

    func fire() {
        takeAction()?()
    }

    /// Whoever gets it, the firing or the cancelling, gets it alone.
    private func takeAction() -> (@Sendable () -> Void)? {
        action.withLock { $0.take() }
    }
}

/// A binary heap by time, then by order of insertion. Timers know their place, so that a cancelled one leaves at once and
/// causes no wake-up.
struct TimerHeap {
    private var timers: [IOTimer] = []
    private var inserted: UInt64 = 0

    var first: IOTimer? { timers.first }

    mutating func insert(_ timer: IOTimer) {
        inserted &+= 1
        timer.sequence = inserted
        timer.position = timers.count
        timers.append(timer)
        siftUp(from: timers.count - 1)
    }

    mutating func remove(_ timer: IOTimer) {
        guard let hole = timer.position else { return }
        timer.position = nil
        let last = timers.removeLast()
        guard last !== timer else { return }
        place(last, at: hole)
        siftUp(from: hole)
        siftDown(from: last.position ?? hole)
    }

    /// Takes out every timer due at `now`, the earliest first.
    mutating func removeDue(at now: BootMillis) -> [IOTimer] {
        var due: [IOTimer] = []
        while let timer = timers.first, timer.time <= now {
            remove(timer)
            due.append(timer)
        }
        return due
    }

    private mutating func place(_ timer: IOTimer, at index: Int) {
        timers[index] = timer
        timer.position = index
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        while index > 0, precedes(timers[index], timers[(index - 1) / 2]) {
            index = exchange(index, with: (index - 1) / 2)
        }
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        while 2 * index + 1 < timers.count {
            var child = 2 * index + 1
            if child + 1 < timers.count, precedes(timers[child + 1], timers[child]) { child += 1 }
            guard precedes(timers[child], timers[index]) else { return }
            index = exchange(index, with: child)
        }
    }

    private mutating func exchange(_ index: Int, with other: Int) -> Int {
        let timer = timers[index]
        place(timers[other], at: index)
        place(timer, at: other)
        return other
    }

    private func precedes(_ one: IOTimer, _ other: IOTimer) -> Bool {
        (one.time, one.sequence) < (other.time, other.sequence)
    }
}
