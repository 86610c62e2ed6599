// SPDX-License-Identifier: Apache-2.0

/// Where a store's key comes from. The store asks on its queue, so a source may block, but not without limit.
protocol KeySource: Sendable {
    /// The root key, 32 bytes.
    ///
    /// - Parameter mayCreate: nothing is sealed yet, so a source without a key may make one. Otherwise a key that is not
    ///   there is `UnlockRequired`: making another would lose what is sealed.
    /// - Throws: `UnlockRequired` when the key is missing, locked or needs the user; `StoreUnavailable` when what is there
    ///   cannot be a key or cannot be read.
    func rootKey(mayCreate: Bool) throws(OAuthError) -> Secret
}

/// A key that lives and dies with the process, for the memory store.
struct ProcessKey: KeySource {
    private let key: Secret

    init() throws(OAuthError) {
        key = Secret(try SystemRandom().bytes(StoreKey.rootSize))
    }

    func rootKey(mayCreate: Bool) -> Secret { key }
}

/// What is derived from a root key, each for one use: HKDF-Expand (RFC 5869 §2.3) with SHA-256, one block. The root key is
/// uniformly random, so the extract step is left out (§3.3).
struct StoreKey: Sendable {
    static let rootSize = 32
    static let checkSize = 16

    /// Seals records.
    let recordKey: Secret
    /// Tells keys apart without a trial; says nothing about the key.
    let check: [UInt8]

    init(root: Secret) throws(OAuthError) {
        recordKey = Secret(try Self.expand(root, "versola record key"))
        check = Array(try Self.expand(root, "versola key check").prefix(Self.checkSize))
    }

    private static func expand(_ root: Secret, _ info: String) throws(OAuthError) -> [UInt8] {
        try HMACSHA256.authenticate(Array(info.utf8) + [1], key: root)
    }
}
