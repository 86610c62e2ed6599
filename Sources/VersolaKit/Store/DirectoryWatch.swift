// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Tells when another process changed a store's directory, by inotify.
///
/// An entry replaced or erased counts, our own changes too, not the opening of a lock file or the start of a write; any
/// number of changes between two wake-ups is one call. Without inotify (the user's limit is reached) nothing is told.
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

    /// Reads everything there is; whether there was anything. Which entry it was does not matter: whoever is told reads
    /// the store again, and an overflow names none.
    private static func drain(_ inotify: Descriptor) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var isAny = false
        while true {
            let count = read(inotify.raw, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return isAny }
            isAny = true
        }
    }
}
