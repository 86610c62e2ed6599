// SPDX-License-Identifier: Apache-2.0
import Dispatch

/// The serial queue of one store, where everything that may block runs, as an executor for tasks
/// (`Task(executorPreference: queue)`): fsync and lock waits never occupy Swift's cooperative pool.
final class StoreQueue: SerialExecutor, TaskExecutor, Sendable {
    private let queue: DispatchQueue

    /// - Parameter label: shown by debuggers; no secret.
    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
        }
    }
}
