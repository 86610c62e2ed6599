// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Glibc
import Testing

@testable import VersolaKit

/// A place for stores: a fresh directory below the system's temporary one, or memory.
final class StoreFixture: Sendable {
    let base: String
    let time = StoreTestTime()
    let watcher = StoreTestWatcher()

    init() throws {
        var template = Array(
            "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/versola-store.XXXXXX".utf8CString)
        let path = template.withUnsafeMutableBufferPointer {
            $0.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        base = try #require(path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: base)
    }

    func binding(_ session: String = "default", issuer: String = "https://issuer.example") throws -> StoreBinding {
        try StoreBinding(issuer: issuer, clientID: "client", session: session)
    }

    func place(_ session: String = "default") throws -> StoreDirectory {
        StoreDirectory(base: base, name: try binding(session).directoryName)
    }

    var directory: String { get throws { try place().path } }

    /// Another one on the same directory is what another process would be.
    func store(
        keyFile: String? = nil, session: String = "default", issuer: String = "https://issuer.example",
        in place: StoreDirectory? = nil, waits: SealedCredentialStore.LockWaits = .init(millis: 60_000)
    ) throws -> SealedCredentialStore {
        try SealedCredentialStore.onDisk(
            place ?? self.place(session), keyFile: keyFile, binding: binding(session, issuer: issuer), time: time,
            watcher: watcher, waits: waits)
    }

    func records() throws -> DirectoryRecordStore {
        DirectoryRecordStore(try place(), watcher: watcher)
    }

    func files() throws -> Set<String> {
        let stream = try #require(opendir(try directory))
        defer { closedir(stream) }
        var names: Set<String> = []
        while let entry = readdir(stream) {
            names.insert(
                withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names.subtracting([".", ".."])
    }

    func path(_ name: String) throws -> String { "\(try directory)/\(name)" }

    func bytes(_ name: String) throws -> [UInt8] {
        try Descriptor(path(name), O_RDONLY).readAll(limit: 1 << 24)
    }

    func overwrite(_ name: String, _ bytes: [UInt8]) throws {
        try Descriptor(path(name), O_WRONLY | O_TRUNC | O_CREAT, mode: 0o600).writeAll(bytes)
    }
}

final class StoreTestTime: TimeSource {
    private let now = Lock((boot: BootMillis(1_000_000), wall: WallMillis(1_700_000_000_000), id: "boot-1"))

    var boot: BootMillis { now.withLock { $0.boot } }
    var wall: WallMillis { now.withLock { $0.wall } }
    var bootID: String { now.withLock { $0.id } }

    func advance(_ millis: Int64) {
        now.withLock { now in
            now.boot += millis
            now.wall += millis
        }
    }

    func reboot(wall millis: Int64) {
        now.withLock { now in
            now = (5_000, now.wall + millis, now.id + "+")
        }
    }

    func schedule(at time: BootMillis, _ action: @escaping @Sendable () -> Void) -> any Scheduled {
        StoreTestWatch {}
    }
}

/// Keeps the handlers; a test calls them where the I/O thread would.
final class StoreTestWatcher: DescriptorWatcher {
    private let handlers = Lock<[Int32: @Sendable () -> Void]>([:])

    var watched: Int { handlers.withLock { $0.count } }

    func watchReadable(_ descriptor: Int32, _ handler: @escaping @Sendable () -> Void) -> any Scheduled {
        handlers.withLock { $0[descriptor] = handler }
        return StoreTestWatch { [handlers] in handlers.withLock { _ = $0.removeValue(forKey: descriptor) } }
    }

    /// Calls the handlers whose descriptor is readable now.
    func poll() {
        for (descriptor, handler) in handlers.withLock({ $0 }) {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if Glibc.poll(&poll, 1, 0) == 1 { handler() }
        }
    }
}

struct StoreTestWatch: Scheduled {
    var onCancel: @Sendable () -> Void

    init(_ onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    func cancel() { onCancel() }
}

extension PendingRequest {
    static func sample(_ time: some TimeSource, id: String = String(repeating: "a1", count: 16)) -> PendingRequest {
        PendingRequest(
            id: id, state: "state-\(id)", nonce: "nonce", codeVerifier: "verifier",
            redirectURI: "http://127.0.0.1:4711/cb", authorizationURL: "https://issuer.example/auth?x=1",
            scope: "openid",
            maxAge: 60, startedAt: Moment(time), issuer: "https://issuer.example",
            tokenEndpoint: "https://issuer.example/token", jwksURI: "https://issuer.example/jwks", issPromised: true)
    }
}

extension Grant {
    static func sample(_ refreshToken: String? = "refresh-secret", accessToken: AccessToken? = nil) -> Grant {
        Grant(
            generation: 0, refreshToken: refreshToken, idToken: "e30.e30.sig", scope: "openid offline_access",
            login: LoginClaims(
                issuer: "https://issuer.example", subject: "пользователь", audience: ["client", "api"],
                authorizedParty: "client", nonce: "nonce", authTime: 1_700_000_000),
            accessToken: accessToken)
    }
}

extension SealedCredentialStore {
    /// A login from the pending request to the grant.
    @discardableResult
    func signIn(
        _ time: some TimeSource, _ grant: Grant = .sample(), id: String = String(repeating: "b2", count: 16)
    ) throws -> Int64 {
        try savePending(.sample(time, id: id))
        let epoch = try epoch()
        #expect(try spendPending(id) == .marked)
        guard case .stored(let generation) = try storeLogin(grant, spending: id, since: epoch) else {
            Issue.record("superseded")
            return 0
        }
        return generation
    }
}

extension OAuthError {
    var isStoreUnavailable: Bool { if case .configuration(.storeUnavailable, _) = self { true } else { false } }
    var isUnlockRequired: Bool { if case .recoverable(.unlockRequired, _) = self { true } else { false } }
    var isLockTimeout: Bool { if case .recoverable(.network(.lock), _) = self { true } else { false } }
    var isInvalidated: Bool { if case .reauthenticate(.credentialsInvalidated, _) = self { true } else { false } }
}

/// The error that `body` throws.
func storeError(_ body: () throws -> Void) -> OAuthError? {
    do {
        try body()
        return nil
    } catch {
        return error as? OAuthError
    }
}
