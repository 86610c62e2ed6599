// SPDX-License-Identifier: Apache-2.0

/// Seals records and opens them, and judges those that do not open.
final class RecordVault: Sendable {
    enum Content {
        case none
        case value(Secret)
        /// Not as it was sealed, though the key is the right one.
        case damaged
    }

    enum Header {
        case none
        case record(SealedRecord)
        case damaged
    }

    private let records: any RecordStore
    private let keys: any KeySource
    private let binding: StoreBinding
    /// Had once, kept: between sending a code and storing its answer no source may fail us.
    private let key = Lock<StoreKey?>(nil)

    init(records: any RecordStore, keys: any KeySource, binding: StoreBinding) {
        self.records = records
        self.keys = keys
        self.binding = binding
    }

    /// What is known of a record without a key.
    ///
    /// - Throws: `StoreUnavailable` for a record that is none of ours, besides what reading throws.
    func header(of entry: StoreEntry) throws(OAuthError) -> Header {
        guard let bytes = try records.read(entry) else { return .none }
        do {
            return .record(try SealedRecord(bytes, binding: binding))
        } catch {
            switch error {
            case .damaged: return .damaged
            case .foreign:
                throw .storeUnavailable("a record of another issuer, client or session, or of a later version")
            }
        }
    }

    func load(_ entry: StoreEntry) throws(OAuthError) -> Content {
        switch try header(of: entry) {
        case .none: return .none
        case .damaged:
            _ = try provenKey()
            return .damaged
        case .record(let record):
            let key = try provenKey()
            let opened = try record.open(as: entry, binding: binding, key: key)
            return opened.map(Content.value) ?? .damaged
        }
    }

    func save(
        _ content: Secret, as entry: StoreEntry, generation: Int64 = 0, using reservation: StoreEntry? = nil
    ) throws(OAuthError) {
        let key = try provenKey()
        let bytes = try SealedRecord.seal(content, as: entry, generation: generation, binding: binding, key: key)
        try records.write(bytes, to: entry, using: reservation)
    }

    /// Has the key from now on, or throws: what is about to be received must not find it locked.
    func prepareKey() throws(OAuthError) {
        _ = try provenKey()
    }

    func forgetKey() {
        key.withLock { $0 = nil }
    }

    /// The key that fits every record there is. Only where nothing is sealed yet may the source make a new one, and only
    /// there an earlier one is not good enough: whoever removed the records may have removed the key with them.
    private func provenKey() throws(OAuthError) -> StoreKey {
        var checks: Set<[UInt8]> = []
        let sealed = try records.entries().filter(\.isSealed)
        for entry in sealed {
            if case .record(let record) = try header(of: entry) { checks.insert(record.keyCheck) }
        }
        if !sealed.isEmpty, let key = key.withLock({ $0 }), checks.isSubset(of: [key.check]) { return key }
        let key = try StoreKey(root: try keys.rootKey(mayCreate: sealed.isEmpty))
        guard checks.isSubset(of: [key.check]) else {
            throw .unlockRequired("the records are sealed under another key")
        }
        self.key.withLock { $0 = key }
        return key
    }
}
