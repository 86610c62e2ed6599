// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import VersolaKit

/// Waits on the I/O thread's word.
func onLoop<Value: Sendable>(
    _ loop: IOLoop, _ body: @escaping @Sendable (CheckedContinuation<Value, Never>) -> Void
) async -> Value {
    await withCheckedContinuation { continuation in loop.perform { body(continuation) } }
}

@Suite struct TransportLoopTests {
    let loop = IOLoop()
    let time = SystemTime()

    @Test func theThreadHasANameAndNoSignals() async {
        let (name, unblocked): (String, [Int32]) = await onLoop(loop) { continuation in
            let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
            var mask = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &mask)
            // KILL and STOP cannot be blocked; 32 and 33 are the C library's.
            let open = (1...64).filter { ![SIGKILL, SIGSTOP, 32, 33].contains($0) && sigismember(&mask, $0) == 0 }
            continuation.resume(returning: (name, open))
        }
        #expect(name == "versola-io\n")
        #expect(unblocked == [])
    }

    @Test func makingTheLoopLeavesTheCallersSignalsAlone() {
        var original = sigset_t()
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR2)
        pthread_sigmask(SIG_SETMASK, &mask, &original)
        _ = IOLoop()
        pthread_sigmask(SIG_SETMASK, &original, &mask)
        #expect((1...64).filter { sigismember(&mask, $0) == 1 } == [SIGUSR2])
    }

    @Test func actionsRunInOrder() async {
        let seen = Lock<[Int]>([])
        for number in 0..<1000 { loop.perform { seen.withLock { $0.append(number) } } }
        let _: Void = await onLoop(loop) { $0.resume() }
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test func anIdleLoopDoesNotWake() async {
        let ends = pipes()
        let watch = loop.watch(ends.reading, for: .readable) { _ in }
        // A hang-up nobody waits for, and a timer that was called off, are nothing to wake for.
        watch.update([])
        close(ends.writing)
        loop.schedule(at: time.boot + 250) {}.cancel()
        _ = loop.schedule(at: time.boot + 600_000) {}
        let _: Void = await onLoop(loop) { $0.resume() }
        usleep(50_000)
        let before = loop.wakeUps.load(ordering: .relaxed)
        usleep(300_000)
        #expect(loop.wakeUps.load(ordering: .relaxed) == before)
        watch.cancel { close(ends.reading) }
    }

    @Test func timersFireInTheOrderOfTheirTimes() async {
        let seen = Lock<[Int]>([])
        let start = time.boot + 30
        let delays = (0..<200).map { _ in Int.random(in: 0..<40) }
        await withCheckedContinuation { continuation in
            loop.perform { [loop] in
                for delay in delays {
                    _ = loop.schedule(at: start + Int64(delay)) { seen.withLock { $0.append(delay) } }
                }
                _ = loop.schedule(at: start + 41) { continuation.resume() }
            }
        }
        #expect(seen.withLock { $0 } == delays.sorted())
    }

    @Test func timersOfOneTimeFireInTheOrderTheyWereMade() async {
        let seen = Lock<[Int]>([])
        let at = time.boot + 20
        for number in 0..<50 { _ = loop.schedule(at: at) { seen.withLock { $0.append(number) } } }
        await withCheckedContinuation { continuation in _ = loop.schedule(at: at + 1) { continuation.resume() } }
        #expect(seen.withLock { $0 } == Array(0..<50))
    }

    @Test func aTimerNeverFiresEarly() async {
        // The one before it wakes the thread shortly before its time.
        let at = time.boot + 40
        _ = loop.schedule(at: at - 10) {}
        let fired: Int64 = await withCheckedContinuation { continuation in
            _ = loop.schedule(at: at) { [time] in continuation.resume(returning: time.boot) }
        }
        #expect(fired >= at)
    }

    @Test(arguments: [Int64.min, -1, 0, 1]) func aTimeThatIsOverFiresAtOnce(time: Int64) async {
        await withCheckedContinuation { continuation in _ = loop.schedule(at: time) { continuation.resume() } }
    }

    @Test func aCancelledTimerNeverFires() async {
        let fired = Lock<[Int]>([])
        let at = time.boot + 30
        let timers = (0..<100).map { number in
            loop.schedule(at: at + Int64(number % 7)) { fired.withLock { $0.append(number) } }
        }
        for (number, timer) in timers.enumerated() where number % 3 == 0 {
            timer.cancel()
            timer.cancel()
        }
        await withCheckedContinuation { continuation in _ = loop.schedule(at: at + 10) { continuation.resume() } }
        #expect(fired.withLock { $0.sorted() } == (0..<100).filter { $0 % 3 != 0 })
    }

    @Test func aTimerCancelledByOneDueAtTheSameTimeNeverFires() async {
        let fired = Lock(false)
        let at = time.boot + 20
        await withCheckedContinuation { continuation in
            loop.perform { [loop] in
                let second = Lock<(any Scheduled)?>(nil)
                _ = loop.schedule(at: at) { second.withLock { $0 }?.cancel() }
                second.withLock { $0 = loop.schedule(at: at) { fired.withLock { $0 = true } } }
                _ = loop.schedule(at: at + 1) { continuation.resume() }
            }
        }
        #expect(!fired.withLock { $0 })
    }

    @Test func aWatchReportsUntilItIsCancelled() async {
        let ends = pipes()
        let reports = Lock(0)
        let watch = loop.watch(ends.reading, for: .readable) { events in
            var byte: UInt8 = 0
            if events == .readable, read(ends.reading, &byte, 1) == 1 { reports.withLock { $0 += 1 } }
        }
        write(ends.writing, "abc", 3)
        while reports.withLock({ $0 }) < 3 { usleep(1_000) }
        await withCheckedContinuation { continuation in watch.cancel { continuation.resume() } }
        write(ends.writing, "d", 1)
        let _: Void = await onLoop(loop) { $0.resume() }
        let _: Void = await onLoop(loop) { $0.resume() }
        #expect(reports.withLock { $0 } == 3)
        close(ends.reading)
        close(ends.writing)
    }

    @Test func aWatchReportsAHangUpAndWhatItIsUpdatedTo() async {
        let ends = pipes()
        let hungUp: IOEvents = await withCheckedContinuation { continuation in
            let once = Lock<CheckedContinuation<IOEvents, Never>?>(continuation)
            let watch = Lock<IOWatch?>(nil)
            loop.perform { [loop] in
                watch.withLock {
                    $0 = loop.watch(ends.reading, for: .writable) { events in
                        once.withLock { $0.take() }?.resume(returning: events)
                        watch.withLock { $0.take() }?.cancel()
                    }
                }
                watch.withLock { $0 }?.update(.readable)
                close(ends.writing)
            }
        }
        #expect(hungUp == .readable)
        close(ends.reading)
    }

    @Test func aHandlerMayCancelAWatchThatIsReadyToo() async {
        let (one, two) = (pipes(), pipes())
        let reports = Lock(0)
        let watches = Lock<[IOWatch]>([])
        await withCheckedContinuation { continuation in
            loop.perform { [loop] in
                for ends in [one, two] {
                    write(ends.writing, "x", 1)
                    let watch = loop.watch(ends.reading, for: .readable) { _ in
                        reports.withLock { $0 += 1 }
                        for watch in watches.withLock({ $0 }) { watch.cancel() }
                        loop.perform { loop.perform { continuation.resume() } }
                    }
                    watches.withLock { $0.append(watch) }
                }
            }
        }
        #expect(reports.withLock { $0 } == 1)
        for ends in [one, two] {
            close(ends.reading)
            close(ends.writing)
        }
    }

    @Test func inAForkedChildNothingHangsAndNothingIsTaken() throws {
        typealias Fork = @convention(c) () -> pid_t
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
        let timer = loop.schedule(at: time.boot + 600_000) {}
        let child = fork()
        if child == 0 {
            // Dispatch's threads block it.
            var none = sigset_t()
            pthread_sigmask(SIG_SETMASK, &none, nil)
            alarm(5)
            timer.cancel()
            let taken = loop.perform {}
            _exit(taken ? 1 : 0)
        }
        var status: Int32 = -1
        waitpid(child, &status, 0)
        #expect(status == 0)
        #expect(loop.perform {})
    }

    @Test func theClocksAreTheKernels() {
        var boot = timespec()
        clock_gettime(CLOCK_BOOTTIME, &boot)
        #expect(abs(time.boot - Int64(boot.tv_sec) * 1000) < 5_000)
        #expect(abs(time.wall - Int64(Date().timeIntervalSince1970 * 1000)) < 5_000)
        let id = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(time.bootID + "\n" == id)
    }

    private func pipes() -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        return (ends[0], ends[1])
    }
}
