// SPDX-License-Identifier: Apache-2.0

/// Where a store's bytes lie: whole entries by name, and locks. What they mean is not decided here.
///
/// Every failure is `Configuration(StoreUnavailable)`.
protocol RecordStore: Sendable {
    func entries() throws(OAuthError) -> [StoreEntry]
    /// `nil` when there is no such entry.
    func read(_ entry: StoreEntry) throws(OAuthError) -> [UInt8]?
    /// Replaces the entry as a whole and makes it durable. Whoever is killed in here leaves the old bytes or the new ones.
    ///
    /// - Parameter reservation: the space is taken from this reservation if there is one; the reservation is then gone.
    func write(_ bytes: [UInt8], to entry: StoreEntry, using reservation: StoreEntry?) throws(OAuthError)
    /// Erases what is there of `entries`, durably.
    func erase(_ entries: [StoreEntry]) throws(OAuthError)
    /// Sets aside room for a later `write`, so that a full disk shows now.
    func reserve(_ byteCount: Int, as entry: StoreEntry) throws(OAuthError)
    /// The lock, or `nil` when another holds it and did not let go in `milliseconds`.
    func lock(_ entry: StoreEntry, waitMillis milliseconds: Int64) throws(OAuthError) -> HeldLock?
    /// Calls `changed` on the I/O thread after entries were replaced or erased. One watch per store.
    func watch(_ changed: @escaping @Sendable () -> Void)
    func close()
}

/// Everything that lies in a store, by its name there.
enum StoreEntry: Hashable, Sendable {
    case grant
    /// Epoch and generation, not sealed: they outlive the grant and are counted on without the key.
    case counters
    case writeLock
    case refreshLock
    /// A refresh token is about to be sent, or was when its sender died.
    case refreshNote
    /// Space for what the refresh will bring.
    case refreshReservation
    /// A pending request, by its id.
    case pending(String)
    /// Locked by the process that waits for the redirect, as long as it lives.
    case owner(String)
    /// A redirect handed to the owner.
    case redirect(String)
    /// Space for the grant that the request's code will bring.
    case reservation(String)
    /// A write that is not finished.
    case temporary(String)

    var name: String {
        switch self {
        case .grant: "grant"
        case .counters: "counters"
        case .writeLock: "write.lock"
        case .refreshLock: "refresh.lock"
        case .refreshNote: "refresh.note"
        case .refreshReservation: "refresh.reserve"
        case .pending(let id): "pending-\(id)"
        case .owner(let id): "owner-\(id)"
        case .redirect(let id): "redirect-\(id)"
        case .reservation(let id): "reserve-\(id)"
        case .temporary(let suffix): "tmp-\(suffix)"
        }
    }

    /// `nil` for a name that is none of ours.
    init?(name: String) {
        switch name {
        case "grant": self = .grant
        case "counters": self = .counters
        case "write.lock": self = .writeLock
        case "refresh.lock": self = .refreshLock
        case "refresh.note": self = .refreshNote
        case "refresh.reserve": self = .refreshReservation
        default:
            guard let dash = name.firstIndex(of: "-") else { return nil }
            let rest = String(name[name.index(after: dash)...])
            guard !rest.isEmpty, rest.utf8.allSatisfy(Hex.isDigit) else { return nil }
            switch name[..<dash] {
            case "pending": self = .pending(rest)
            case "owner": self = .owner(rest)
            case "redirect": self = .redirect(rest)
            case "reserve": self = .reservation(rest)
            case "tmp": self = .temporary(rest)
            default: return nil
            }
        }
    }
}

/// A lock that is held until it is released, at the latest with the last reference.
final class HeldLock: Sendable {
    private let unlock: Lock<(@Sendable () -> Void)?>

    init(unlock: @escaping @Sendable () -> Void) {
        self.unlock = Lock(unlock)
    }

    deinit {
        release()
    }

    func release() {
        let unlock = self.unlock.withLock { unlock in
            defer { unlock = nil }
            return unlock
        }
        unlock?()
    }
}
