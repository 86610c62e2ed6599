// SPDX-License-Identifier: Apache-2.0

/// A store that nobody else sees and that ends with the process. Nothing is written anywhere.
final class MemoryRecordStore: RecordStore {
    private let records = Lock<[StoreEntry: [UInt8]]>([:])

    func entries() -> [StoreEntry] {
        records.withLock { Array($0.keys) }
    }

    func read(_ entry: StoreEntry) -> [UInt8]? {
        records.withLock { $0[entry] }
    }

    func write(_ bytes: [UInt8], to entry: StoreEntry, using reservation: StoreEntry?) {
        records.withLock { $0[entry] = bytes }
    }

    func erase(_ entries: [StoreEntry]) {
        records.withLock { records in
            for entry in entries { records[entry] = nil }
        }
    }

    func reserve(_ byteCount: Int, as entry: StoreEntry) {}

    func lock(_ entry: StoreEntry, waitMillis milliseconds: Int64) -> HeldLock? {
        HeldLock {}
    }

    func watch(_ changed: @escaping @Sendable () -> Void) {}

    func close() {
        records.withLock { $0 = [:] }
    }
}
