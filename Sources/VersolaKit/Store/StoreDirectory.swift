// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Finds, makes and checks a store's directory.
struct StoreDirectory: Sendable {
    /// Where user state lies; made with its parents when missing.
    var base: String
    /// The store's own name.
    var name: String

    init(base: String, name: String) {
        self.base = base
        self.name = name
    }

    /// Below `$XDG_STATE_HOME`, which counts only when absolute (XDG Base Directory Specification), else
    /// `~/.local/state`.
    init(
        name: String, environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) throws(OAuthError) {
        if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
            self.init(base: state, name: name)
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            self.init(base: "\(home)/.local/state", name: name)
        } else {
            throw .storeUnavailable("neither XDG_STATE_HOME nor HOME is an absolute path")
        }
    }

    var path: String { "\(base)/versola/\(name)" }

    /// The directory, checked: no link, ours, closed to others. Everything in it is reached through this descriptor.
    func open() throws(OAuthError) -> Descriptor {
        try OAuthError.mappingSystemFailures("\(path)") { () throws(SystemFailure) in
            try makeParents(base)
            let base = try Descriptor(base, O_RDONLY | O_DIRECTORY)
            let versola = try Self.openOwn("versola", below: base)
            return try Self.openOwn(name, below: versola)
        }
    }

    private static func openOwn(_ name: String, below parent: Descriptor) throws(SystemFailure) -> Descriptor {
        let made = try make(name, below: parent.raw)
        let directory = try Descriptor(name, below: parent.raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        let status = try directory.status()
        guard status.isOurs, status.st_mode & 0o022 == 0 else {
            throw SystemFailure(call: "directory \(name) belongs to, or can be written by, others", errno: EPERM)
        }
        if status.st_mode & 0o777 != 0o700 { try directory.setMode(0o700) }
        if made { try parent.sync() }
        return directory
    }

    private func makeParents(_ path: String) throws(SystemFailure) {
        guard access(path, F_OK) != 0 else { return }
        var sofar = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            sofar += "/\(part)"
            _ = try Self.make(sofar, below: AT_FDCWD)
        }
    }

    /// Whether it was made now.
    private static func make(_ name: String, below parent: Int32) throws(SystemFailure) -> Bool {
        do throws(SystemFailure) {
            try SystemFailure.check("mkdir") { mkdirat(parent, name, 0o700) }
            return true
        } catch {
            if error.errno == EEXIST { return false }
            throw error
        }
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    /// Of the user we act as.
    var isOurs: Bool { st_uid == geteuid() }
}
