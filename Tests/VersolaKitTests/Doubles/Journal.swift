// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// What happened, in its order, across store, wire and state.
final class Journal: Sendable {
    enum Entry: Equatable, Sendable {
        case store(RecordingStore.Operation)
        case sent(RequestKind)
        case answered(RequestKind)
        case published(SessionState)
        case ended
    }

    private let list = Lock<[Entry]>([])

    var entries: [Entry] { list.withLock { $0 } }

    func note(_ entry: Entry) {
        list.withLock { $0.append(entry) }
    }

    func clear() {
        list.withLock { $0 = [] }
    }

    func count(of entry: Entry) -> Int { entries.count { $0 == entry } }

    /// The entries among `interesting`, in their order.
    func order(of interesting: Entry...) -> [Entry] {
        entries.filter(interesting.contains)
    }
}
