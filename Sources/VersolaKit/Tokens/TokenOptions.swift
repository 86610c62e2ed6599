// SPDX-License-Identifier: Apache-2.0

/// Options of one call for an access token.
public struct TokenOptions: Equatable, Sendable {
    /// A token with less left is refreshed first. `nil`: 30 s, or a tenth of the token's life if that is less.
    public var minValidMillis: Int64?
    /// Refresh whatever the token's age.
    public var force: Bool

    public init(minValidMillis: Int64? = nil, force: Bool = false) {
        self.minValidMillis = minValidMillis
        self.force = force
    }
}

extension AccessToken {
    /// Milliseconds until it expires, counted from receipt; `nil` = until a 401. A receipt in the future tells nothing about
    /// the age: such a token counts as expired.
    func millisLeft(_ time: some TimeSource) -> Int64? {
        guard let lifetimeMillis else { return nil }
        let age = receivedAt.age(time)
        return age < 0 ? 0 : lifetimeMillis - min(age, lifetimeMillis)
    }

    /// Whether it may be handed out without a refresh (behaviour §5).
    func satisfies(_ options: TokenOptions, _ time: some TimeSource) -> Bool {
        guard !options.force else { return false }
        guard let lifetimeMillis, let left = millisLeft(time) else { return true }
        return left > 0 && left >= options.minValidMillis ?? min(30_000, lifetimeMillis / 10)
    }
}
