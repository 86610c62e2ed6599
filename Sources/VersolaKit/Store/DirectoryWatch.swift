// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Tells when another process changed a store's directory, by inotify.
///
/// Our own changes are told as well; any number of changes between two wake-ups is one call. Without inotify (the user's
/// limit is reached) nothing is told.
final class DirectoryWatch: Sendable {
    private let inotify: Descriptor
    private let watch: any Scheduled

    init?(watcher: any DescriptorWatcher, _ changed: @escaping @Sendable () -> Void) {
        let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard raw >= 0 else { return nil }
        let inotify = Descriptor(adopting: raw)
        self.inotify = inotify
        // The handler keeps the descriptor open for a call that is under way while the store closes.
        watch = watcher.watchReadable(raw) {
            if Self.drain(inotify) { changed() }
        }
    }

    deinit {
        watch.cancel()
    }

    /// Watches `directory`, beside one that it may have replaced.
    func follow(_ directory: Descriptor) {
        inotify_add_watch(
            inotify.raw, "/proc/self/fd/\(directory.raw)", UInt32(IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR)
        )
    }

    /// Reads everything there is; whether any of it concerns others: a record replaced or erased, or events lost.
    private static func drain(_ inotify: Descriptor) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var concerns = false
        while true {
            let count = read(inotify.raw, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return concerns }
            concerns = concerns || buffer.prefix(count).withUnsafeBytes(anyConcerns)
        }
    }

    private static func anyConcerns(_ events: UnsafeRawBufferPointer) -> Bool {
        let headerSize = MemoryLayout<inotify_event>.size
        var rest = events[...]
        while rest.count >= headerSize {
            let event = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: inotify_event.self)
            guard let nameLength = Int(exactly: event.len), rest.count - headerSize >= nameLength else { return true }
            let name = rest.dropFirst(headerSize).prefix(nameLength).prefix { $0 != 0 }
            switch StoreEntry(name: String(decoding: name, as: UTF8.self)) {
            case .grant, .counters, .pending, .redirect: return true
            case .writeLock, .refreshLock, .refreshNote, .refreshReservation, .owner, .reservation, .temporary: break
            // No name of ours: the directory itself, or a queue that overflowed.
            case nil: if nameLength == 0 { return true }
            }
            rest = rest.dropFirst(headerSize + nameLength)
        }
        return false
    }
}
