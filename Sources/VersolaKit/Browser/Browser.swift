// SPDX-License-Identifier: Apache-2.0

/// Shows a URL to the person.
protocol Browser: Sendable {
    /// Never ends a login by failing: a launcher that is missing or fails is logged and the login waits on. May block for
    /// the time of a spawn; called on the store's queue. `report` may be called any number of times, from any thread.
    func open(_ url: String, report: @escaping @Sendable (BrowserReport) -> Void)
}

/// What a browser adaptor tells of a page it was asked to show.
public enum BrowserReport: Sendable, CaseIterable {
    /// The person sees it.
    case opened
    /// No browser could be started: the login goes on waiting for its redirect.
    case failed
    /// The person closed it: the login ends UserCancelled.
    case userClosed
    /// The system tore it down: the login ends SystemCancelled and its pending request is kept.
    case systemClosed
}
