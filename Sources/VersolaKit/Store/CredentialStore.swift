// SPDX-License-Identifier: Apache-2.0

/// What is kept of a session, and the rules of keeping it (behaviour §5, §9). Every member may block for a disk's time and
/// runs on the store's queue only; none waits for another process longer than it says.
protocol CredentialStore: Sendable {
    /// What a start finds. Erases leftovers: requests too old or spent, a request whose owner is dead when there is a grant.
    /// A request younger than 10 minutes whose owner is dead, without a grant, is taken over: this store then owns it.
    func restore() throws(OAuthError) -> Restored

    func grant() throws(OAuthError) -> Grant?
    /// Whether there is a grant, be it one that cannot be unsealed now.
    func holdsGrant() throws(OAuthError) -> Bool
    /// Makes `request` durable and takes its owner lock, before the browser is opened.
    func savePending(_ request: PendingRequest) throws(OAuthError)
    /// The stored request with this `state` (compared in constant time), whoever owns it.
    func pending(state: String) throws(OAuthError) -> StoredRequest?
    /// Erases the request and gives up its owner lock. A request that is not there is no error; one whose owner is another
    /// living process is left to it.
    func erasePending(_ id: String) throws(OAuthError)
    /// Gives up the owner lock and keeps the record: a system cancel.
    func abandonPending(_ id: String)

    /// Under the write lock: checks that the request is unspent and ours, or takes it over when it is nobody's, reserves the
    /// space for the grant, marks the request spent and makes the mark durable. After `.marked` the code may be sent, once
    /// (the first law); after anything else, never.
    func spendPending(_ id: String) throws(OAuthError) -> SpentRequest
    /// Under the write lock: stores the grant with the next generation and erases the request, in this order. Fails with
    /// `.superseded` as its value when a logout came in between: then nothing is stored.
    func storeLogin(_ grant: Grant, spending id: String, since epoch: Int64) throws(OAuthError) -> StoredLogin
    /// Under the write lock, waited for 2 s and then done without: erases grant, requests and notes, and counts the epoch up.
    func eraseSession() throws(OAuthError) -> Grant?
    /// Rises with every logout; what was begun under an older one must not be stored.
    func epoch() throws(OAuthError) -> Int64

    /// Of the processes that share the store one refreshes at a time: `nil` while another does.
    func lockRefresh() throws(OAuthError) -> HeldLock?
    /// Under the refresh lock: has the key and the space for the answer, and makes the note durable that the stored refresh
    /// token is about to be sent. After this returns it may be sent, once; every sending has a note of its own.
    func beginRefresh() throws(OAuthError)
    /// The sending was answered, or its time ran out: nothing is noted any more.
    func endRefresh() throws(OAuthError)
    /// Under the write lock: replaces the grant with what a refresh of the same generation brought. False when a logout or
    /// another login came in between: then nothing is stored.
    func storeRefresh(_ grant: Grant) throws(OAuthError) -> Bool
    /// Under the write lock: erases the grant if it is still of this generation and has this refresh token.
    func eraseGrant(_ rejected: Grant) throws(OAuthError)

    /// Leaves the redirect for the living owner of the request, sealed.
    func handOver(redirect url: String, to id: String) throws(OAuthError)
    /// Takes what was handed to us, if anything.
    func takeHandedOver(_ id: String) throws(OAuthError) -> String?
    /// Calls `changed` (on the I/O thread) whenever a process, maybe this one, changed grant, requests or redirects. Changes
    /// in quick succession are one call. One watch per store.
    func watch(_ changed: @escaping @Sendable () -> Void)
    /// Closes descriptors and gives up locks; records stay.
    func close()
}

struct Restored: Sendable {
    var grant: Grant?
    /// The request this process now owns.
    var pending: PendingRequest?
}

struct StoredRequest: Sendable {
    enum Owner: Sendable { case us, livingProcess, nobody }
    var request: PendingRequest
    var owner: Owner
}

enum SpentRequest: Equatable, Sendable {
    case marked
    /// Spent before, replaced or ended: a repeat of its redirect.
    case over
    /// Another living process waits for it.
    case ownedByAnother
}

enum StoredLogin: Equatable, Sendable {
    case stored(generation: Int64)
    /// The session was erased since the login began: nothing was stored.
    case superseded
}
