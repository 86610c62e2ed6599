// SPDX-License-Identifier: Apache-2.0

/// One sealed record, byte for byte as docs/store-format.md describes it.
struct SealedRecord {
    private static let magic = Array("versola\0".utf8)
    private static let format: UInt16 = 1
    private static let headerSize = 68
    private static let hashSize = HMACSHA256.size

    /// Why bytes are not a record of this store.
    enum Rejection: Error {
        /// Another issuer, client or session, or a later format: not ours to judge.
        case foreign
        /// Cut off or overwritten.
        case damaged
    }

    /// The grant's; 0 for other kinds. Readable, though not yet trustworthy, without the key.
    let generation: Int64
    /// Which key it was sealed with (``StoreKey/check``).
    let keyCheck: [UInt8]
    private let header: ArraySlice<UInt8>
    private let nonce: ArraySlice<UInt8>
    private let sealed: ArraySlice<UInt8>

    init(_ bytes: [UInt8], binding: StoreBinding) throws(Rejection) {
        guard bytes.starts(with: Self.magic) else { throw .damaged }
        var reader = bytes.dropFirst(Self.magic.count)
        guard let format = reader.readBigEndian(UInt16.self) else { throw .damaged }
        guard format <= Self.format else { throw .foreign }
        guard format == Self.format,
            reader.read(2) != nil,
            let generation = reader.readBigEndian(Int64.self),
            let keyCheck = reader.read(StoreKey.checkSize),
            let hash = reader.read(Self.hashSize),
            let nonce = reader.read(AESGCM.nonceSize)
        else { throw .damaged }
        guard hash.elementsEqual(binding.hash) else { throw .foreign }
        self.generation = generation
        self.keyCheck = Array(keyCheck)
        self.nonce = nonce
        header = bytes.prefix(Self.headerSize)
        sealed = reader
    }

    /// What was sealed; `nil` when it is not as it was sealed, or not under this key as this entry of this store.
    func open(as entry: StoreEntry, binding: StoreBinding, key: StoreKey) throws(OAuthError) -> Secret? {
        try AESGCM.open(
            sealed, key: key.recordKey, nonce: Array(nonce),
            authenticating: Self.associatedData(Array(header), entry, binding))
    }

    static func seal(
        _ plaintext: Secret, as entry: StoreEntry, generation: Int64 = 0, binding: StoreBinding, key: StoreKey
    ) throws(OAuthError) -> [UInt8] {
        var bytes = magic
        bytes.appendBigEndian(format)
        bytes.append(entry.kind)
        bytes.append(0)
        bytes.appendBigEndian(generation)
        bytes += key.check
        bytes += binding.hash
        let nonce = try SystemRandom().bytes(AESGCM.nonceSize)
        let sealed = try AESGCM.seal(
            plaintext, key: key.recordKey, nonce: nonce, authenticating: associatedData(bytes, entry, binding))
        return bytes + nonce + sealed
    }

    private static func associatedData(_ header: [UInt8], _ entry: StoreEntry, _ binding: StoreBinding) -> [UInt8] {
        var data = header + binding.encoded + [entry.kind]
        data.appendWithLength(Array(entry.name.utf8))
        return data
    }
}

extension StoreEntry {
    /// The record kind in a sealed header; 0 for entries that are not sealed.
    var kind: UInt8 {
        switch self {
        case .grant: 1
        case .pending: 2
        case .redirect: 3
        case .counters, .writeLock, .refreshLock, .refreshNote, .refreshReservation, .owner, .reservation, .temporary: 0
        }
    }

    var isSealed: Bool { kind != 0 }
}

extension ArraySlice<UInt8> {
    /// Takes `count` bytes off the front, or nothing when there are fewer.
    fileprivate mutating func read(_ count: Int) -> ArraySlice<UInt8>? {
        guard self.count >= count else { return nil }
        defer { removeFirst(count) }
        return prefix(count)
    }

    fileprivate mutating func readBigEndian<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        read(Number.bitWidth / 8)?.reduce(0) { $0 << 8 | Number($1) }
    }
}
