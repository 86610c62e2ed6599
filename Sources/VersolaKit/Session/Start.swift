// SPDX-License-Identifier: Apache-2.0

/// What a start finds in the store (behaviour §1, the rows of "start").
struct Start: Sendable {
    var contents = Session.Contents()
    /// Why a session that was there is not any more.
    var reason: OAuthError?
    /// A login of another run, now this one's.
    var pending: PendingRequest?

    /// - Throws: StoreUnavailable; a locked key and a damaged record are states, not failures.
    init(_ store: some CredentialStore) throws(OAuthError) {
        do throws(OAuthError) {
            let restored = try store.restore()
            contents.grant = restored.grant
            contents.accessToken = restored.grant?.accessToken
            pending = restored.pending
            if let pending { contents.addWaiting(pending) }
        } catch {
            switch error {
            case .recoverable(.unlockRequired, _):
                contents.facts.hasGrant = try store.holdsGrant()
                contents.facts.keyLocked = contents.facts.hasGrant
            case .reauthenticate: reason = error
            default: throw error
            }
        }
    }
}
