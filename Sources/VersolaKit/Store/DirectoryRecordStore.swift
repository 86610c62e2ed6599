// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// A store in a directory that other processes may use at the same time.
final class DirectoryRecordStore: RecordStore {
    /// No record of ours comes near: the provider's answers are limited to 1 MiB. What is longer is read cut off.
    private static let recordLimit = 8 << 20

    private struct State: Sendable {
        var directory: Descriptor?
        var watch: DirectoryWatch?
        var isClosed = false
    }

    private let location: StoreDirectory
    private let watcher: any DescriptorWatcher
    private let state = Lock(State())

    /// Touches nothing yet.
    init(_ location: StoreDirectory, watcher: any DescriptorWatcher) {
        self.location = location
        self.watcher = watcher
    }

    /// Opened at first use, and again when somebody removed the directory under us.
    private func directory() throws(OAuthError) -> Descriptor {
        try state.withLock { state throws(OAuthError) in
            guard !state.isClosed else { throw .storeUnavailable("closed") }
            if let directory = state.directory, let status = try? directory.status(), status.st_nlink > 0 {
                return directory
            }
            let directory = try location.open()
            state.directory = directory
            state.watch?.follow(directory)
            return directory
        }
    }

    func entries() throws(OAuthError) -> [StoreEntry] {
        let directory = try directory()
        return try OAuthError.mappingSystemFailures("list") { () throws(SystemFailure) in
            // A descriptor of its own: fdopendir takes it over, and its position with it.
            let copy = try SystemFailure.check("open") {
                openat(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
            guard let stream = fdopendir(copy) else {
                let error = errno
                Glibc.close(copy)
                throw SystemFailure(call: "opendir", errno: error)
            }
            defer { closedir(stream) }
            var entries: [StoreEntry] = []
            while true {
                errno = 0
                guard let entry = readdir(stream) else { break }
                let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                    String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                }
                if let entry = StoreEntry(name: name) { entries.append(entry) }
            }
            guard errno == 0 else { throw SystemFailure(call: "readdir", errno: errno) }
            return entries
        }
    }

    func read(_ entry: StoreEntry) throws(OAuthError) -> [UInt8]? {
        let directory = try directory()
        return try OAuthError.mappingSystemFailures("read \(entry.label)") { () throws(SystemFailure) in
            let file: Descriptor
            do throws(SystemFailure) {
                file = try Descriptor(entry.name, below: directory.raw, O_RDONLY | O_NOFOLLOW)
            } catch {
                if error.errno == ENOENT { return nil }
                throw error
            }
            let status = try file.status()
            guard status.isRegularFile, status.isOurs else {
                throw SystemFailure(call: "owner and type of the file", errno: EPERM)
            }
            return try file.readAll(limit: Self.recordLimit)
        }
    }

    func write(_ bytes: [UInt8], to entry: StoreEntry, using reservation: StoreEntry?) throws(OAuthError) {
        let directory = try directory()
        let unfinished = if let reservation { reservation } else { try Self.newTemporary() }
        try OAuthError.mappingSystemFailures("write \(entry.label)") { () throws(SystemFailure) in
            do throws(SystemFailure) {
                try Self.replace(entry, with: bytes, through: unfinished, in: directory)
            } catch {
                guard error.errno == ENOENT else { throw error }
                // Swept as a leftover by a start that could not know of us: only a logout writes without the lock.
                try Self.replace(entry, with: bytes, through: unfinished, in: directory)
            }
        }
    }

    private static func replace(
        _ entry: StoreEntry, with bytes: [UInt8], through unfinished: StoreEntry, in directory: Descriptor
    ) throws(SystemFailure) {
        do {
            let file = try Descriptor(
                unfinished.name, below: directory.raw, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
            try file.setMode(0o600)
            try file.writeAll(bytes)
            try SystemFailure.check("truncate") { ftruncate(file.raw, off_t(bytes.count)) }
            try file.sync()
            try SystemFailure.check("rename") { renameat(directory.raw, unfinished.name, directory.raw, entry.name) }
        } catch {
            unlinkat(directory.raw, unfinished.name, 0)
            throw error
        }
        try directory.sync()
    }

    func erase(_ entries: [StoreEntry]) throws(OAuthError) {
        let directory = try directory()
        try OAuthError.mappingSystemFailures("erase") { () throws(SystemFailure) in
            for entry in entries {
                try SystemFailure.check("unlink") {
                    unlinkat(directory.raw, entry.name, 0) == 0 || errno == ENOENT ? 0 : -1
                }
            }
            if !entries.isEmpty { try directory.sync() }
        }
    }

    func reserve(_ byteCount: Int, as entry: StoreEntry) throws(OAuthError) {
        let directory = try directory()
        try OAuthError.mappingSystemFailures("reserve space") { () throws(SystemFailure) in
            let file = try Descriptor(entry.name, below: directory.raw, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
            try file.setMode(0o600)
            var error: Int32
            repeat { error = posix_fallocate(file.raw, 0, off_t(byteCount)) } while error == EINTR
            if error != 0 {
                unlinkat(directory.raw, entry.name, 0)
                throw SystemFailure(call: "fallocate", errno: error)
            }
        }
    }

    func lock(_ entry: StoreEntry, waitMillis milliseconds: Int64) throws(OAuthError) -> HeldLock? {
        let directory = try directory()
        return try OAuthError.mappingSystemFailures("lock \(entry.label)") { () throws(SystemFailure) in
            try FileLock.acquire(entry.name, in: directory, waitMillis: milliseconds)
        }
    }

    func watch(_ changed: @escaping @Sendable () -> Void) {
        guard let watch = DirectoryWatch(watcher: watcher, changed) else { return }
        state.withLock { state in
            if let directory = state.directory { watch.follow(directory) }
            state.watch = watch
        }
    }

    func close() {
        // Let go of outside the lock: ending the watch calls others.
        let open = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state
        }
        withExtendedLifetime(open) {}
    }

    private static func newTemporary() throws(OAuthError) -> StoreEntry {
        .temporary(Hex.encode(try SystemRandom().bytes(8)))
    }
}

extension StoreEntry {
    /// The name without an id, for error texts.
    fileprivate var label: String {
        String(name.prefix { $0 != "-" })
    }
}
