// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

@Suite struct StoreQueueTests {
    @Test func tasksRunOnItOneAtATimeAndInOrder() async {
        let queue = StoreQueue(label: "test")
        let log = Lock<[Int]>([])
        let running = Lock(0)
        let tasks = (0..<200).map { number in
            Task(executorPreference: queue) {
                running.withLock { $0 += 1 }
                #expect(running.withLock { $0 } == 1)
                log.withLock { $0.append(number) }
                running.withLock { $0 -= 1 }
            }
        }
        for task in tasks { await task.value }
        #expect(log.withLock { $0 } == Array(0..<200))
    }

    @Test func blockingItDoesNotBlockOthers() async {
        let (blocked, free) = (StoreQueue(label: "blocked"), StoreQueue(label: "free"))
        var pipe: [Int32] = [0, 0]
        #expect(Glibc.pipe(&pipe) == 0)
        let (readEnd, writeEnd) = (pipe[0], pipe[1])
        // More than the cooperative pool has threads; each waits for a byte that only the free queue writes.
        let waiting = (0..<16).map { _ in
            Task(executorPreference: StoreQueue(label: "blocked")) {
                var byte: UInt8 = 0
                return read(readEnd, &byte, 1)
            }
        }
        let first = Task(executorPreference: blocked) {
            var byte: UInt8 = 0
            return read(readEnd, &byte, 1)
        }
        await Task(executorPreference: free) { _ = write(writeEnd, [UInt8](repeating: 1, count: 17), 17) }.value
        #expect(await first.value == 1)
        for task in waiting { #expect(await task.value == 1) }
        close(readEnd)
        close(writeEnd)
    }
}
