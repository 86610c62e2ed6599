// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The root key in a file of mode 0600, made when it is missing.
struct KeyFile: KeySource {
    /// Its directory must exist by the time the key is asked for.
    let path: String

    func rootKey(mayCreate: Bool) throws(OAuthError) -> Secret {
        let place = "directory of the key file \(path)"
        let directory = try OAuthError.mappingSystemFailures(place) { () throws(SystemFailure) in
            try Descriptor(parent, O_RDONLY | O_DIRECTORY)
        }
        if let key = try read(directory) { return key }
        guard mayCreate else { throw .unlockRequired("the key file is missing") }
        try OAuthError.mappingSystemFailures("key file") { () throws(SystemFailure) in try create(directory) }
        guard let key = try read(directory) else { throw .storeUnavailable("the key file vanished") }
        return key
    }

    private var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private var name: String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        return String(path[path.index(after: slash)...])
    }

    private func read(_ directory: Descriptor) throws(OAuthError) -> Secret? {
        let file: Descriptor
        do {
            file = try Descriptor(name, below: directory.raw, O_RDONLY | O_NOFOLLOW)
        } catch {
            if error.errno == ENOENT { return nil }
            throw .storeUnavailable("key file: \(error.errno == ELOOP ? "is a symbolic link" : error.text)")
        }
        var bytes = try OAuthError.mappingSystemFailures("key file") { () throws(SystemFailure) in
            try file.readAll(limit: StoreKey.rootSize + 1)
        }
        defer { bytes.wipe() }
        let status = try OAuthError.mappingSystemFailures("key file") { () throws(SystemFailure) in try file.status() }
        guard status.isRegularFile, status.isOurs else { throw .storeUnavailable("key file: not a file of this user") }
        guard status.st_mode & 0o077 == 0 else { throw .storeUnavailable("key file: others have access to it") }
        guard bytes.count == StoreKey.rootSize else {
            throw .storeUnavailable("key file: not \(StoreKey.rootSize) bytes")
        }
        return Secret(bytes)
    }

    /// Written whole under another name, then linked: of two processes that make a key at once, the second finds the link
    /// taken and uses the first one's. Nobody ever sees half a key.
    private func create(_ directory: Descriptor) throws(SystemFailure) {
        let temporary: String
        var key: [UInt8]
        do {
            key = try SystemRandom().bytes(StoreKey.rootSize)
            temporary = StoreEntry.temporary(Hex.encode(try SystemRandom().bytes(8))).name
        } catch {
            throw SystemFailure(call: "random bytes", errno: EIO)
        }
        defer { key.wipe() }
        let file = try Descriptor(
            temporary, below: directory.raw, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        defer { unlinkat(directory.raw, temporary, 0) }
        try file.setMode(0o600)
        try file.writeAll(key)
        try file.sync()
        do throws(SystemFailure) {
            try SystemFailure.check("link") { linkat(directory.raw, temporary, directory.raw, name, 0) }
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        try directory.sync()
    }
}
