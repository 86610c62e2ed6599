// SPDX-License-Identifier: Apache-2.0

/// Shows a URL to the person.
protocol Browser: Sendable {
    /// Never throws and never ends a login: a launcher that is missing or fails is logged and the login waits on.
    /// May block for the time of a spawn; called on the store's queue.
    func open(_ url: String)
}
