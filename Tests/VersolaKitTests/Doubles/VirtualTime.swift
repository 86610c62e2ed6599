// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// Time that stands still until a test moves it.
final class VirtualTime: TimeSource {
    private struct Timer {
        var due: BootMillis
        var number: Int
        var action: @Sendable () -> Void
    }

    private struct State {
        var boot: BootMillis = 1_000_000
        var wall: WallMillis = 1_764_493_000_000
        var bootID = "boot-1"
        var timers: [Timer] = []
        var numbers = 0
    }

    private let state = Lock(State())

    var boot: BootMillis { state.withLock { $0.boot } }
    var wall: WallMillis { state.withLock { $0.wall } }
    var bootID: String { state.withLock { $0.bootID } }
    /// When the first timer falls due.
    var nextDue: BootMillis? { state.withLock { $0.timers.map(\.due).min() } }
    /// How many timers run.
    var timers: Int { state.withLock { $0.timers.count } }

    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
        let number = state.withLock { state in
            state.numbers += 1
            state.timers.append(Timer(due: time, number: state.numbers, action: action))
            return state.numbers
        }
        return StoreTestWatch { [weak self] in self?.state.withLock { $0.timers.removeAll { $0.number == number } } }
    }

    /// Both clocks go on; what falls due fires on the way, in its order.
    func advance(_ millis: Int64) {
        let end = boot + millis
        while let timer = next(until: end) { timer.action() }
        state.withLock { state in
            state.wall += end - state.boot
            state.boot = end
        }
    }

    private func next(until end: BootMillis) -> Timer? {
        state.withLock { state in
            let order = state.timers.indices.min {
                (state.timers[$0].due, state.timers[$0].number) < (state.timers[$1].due, state.timers[$1].number)
            }
            guard let index = order, state.timers[index].due <= end else { return nil }
            let timer = state.timers.remove(at: index)
            state.wall += max(0, timer.due - state.boot)
            state.boot = max(state.boot, timer.due)
            return timer
        }
    }

    /// Both clocks go on and no timer has fired yet: what a process sees that wakes up with the machine.
    func sleepThrough(_ millis: Int64) {
        state.withLock { state in
            state.boot += millis
            state.wall += millis
        }
    }

    /// The wall clock alone is set.
    func setWall(by millis: Int64) {
        state.withLock { $0.wall += millis }
    }

    /// The machine starts again; the wall clock went on by `millis` meanwhile.
    func reboot(wall millis: Int64) {
        state.withLock { state in
            state.boot = 5_000
            state.wall += millis
            state.bootID += "+"
            state.timers = []
        }
    }
}
