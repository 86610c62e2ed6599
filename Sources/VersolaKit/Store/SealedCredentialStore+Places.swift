// SPDX-License-Identifier: Apache-2.0

extension SealedCredentialStore {
    /// A store on disk, shared by every process with the same binding. Touches nothing yet.
    ///
    /// - Parameters:
    ///   - directory: `nil` = the user's own, below `$XDG_STATE_HOME`.
    ///   - keyFile: path of the key file; `nil` = in the store's directory.
    static func onDisk(
        _ directory: StoreDirectory? = nil, keyFile: String? = nil, binding: StoreBinding, time: any TimeSource,
        watcher: any DescriptorWatcher, waits: LockWaits = LockWaits()
    ) throws(OAuthError) -> SealedCredentialStore {
        let place = if let directory { directory } else { try StoreDirectory(name: binding.directoryName) }
        return SealedCredentialStore(
            records: DirectoryRecordStore(place, watcher: watcher), keys: KeyFile(path: keyFile ?? "\(place.path)/key"),
            binding: binding, time: time, waits: waits)
    }

    /// A store that ends with the process and writes nothing.
    static func inMemory(binding: StoreBinding, time: any TimeSource) throws(OAuthError) -> SealedCredentialStore {
        SealedCredentialStore(records: MemoryRecordStore(), keys: try ProcessKey(), binding: binding, time: time)
    }
}
