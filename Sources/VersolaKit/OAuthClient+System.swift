// SPDX-License-Identifier: Apache-2.0

extension OAuthClient {
    /// A client on the real machine. Reads the store, uses no network.
    ///
    /// - Parameters:
    ///   - openURL: the app's own browser, for `BrowserChoice.app`; may be called on any thread.
    ///   - logLevel: the most talkative level that `log` is called for; `nil` = none.
    /// - Throws: `configuration(.invalidConfiguration)` and `(.storeUnavailable)`; `recoverable(.network)` when the process
    ///   has no descriptors or memory left for the I/O thread.
    public convenience init(
        _ configuration: OAuthConfiguration,
        openURL: (@Sendable (_ url: String, _ report: @escaping @Sendable (BrowserReport) -> Void) -> Void)? = nil,
        logLevel: LogLevel? = nil, log: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) throws(OAuthError) {
        let log = Log(level: logLevel, sink: log)
        let time = SystemTime()
        if configuration.browser == .app, openURL == nil {
            throw .configuration(
                .invalidConfiguration, "browser: the app is to open URLs, but there is no way to ask it")
        }
        let browser: (any Browser)? =
            switch configuration.browser {
            case .none: nil
            case .system: SystemBrowser(environment: .current(), log: log)
            case .app: openURL.map { AppBrowser(openURL: $0) }
            }
        guard IOLoop.shared.start() else {
            throw .recoverable(
                .network(.connect), "the I/O thread cannot be started: no descriptor or no memory is left")
        }
        try self.init(
            configuration,
            Dependencies(
                time: time, random: SystemRandom(), transport: try CurlTransport(configuration.transport),
                browser: browser,
                listen: { host, port, path throws(OAuthError) in
                    try LoopbackListener.bind(host: host, port: port, path: path)
                },
                store: try SealedCredentialStore.make(configuration, time), log: log),
            queue: StoreQueue(label: "versola.store"))
        // Last: where no client is made, there is nobody to hear of it.
        if configuration.redirectUri.kind == .privateUseScheme {
            log(
                .warning,
                "redirect URI: any program of this user can claim a private-use scheme; https or loopback is safer")
        }
    }
}

/// The app's own browser: it is asked to show a URL and reports back.
private struct AppBrowser: Browser {
    let openURL: @Sendable (String, @escaping @Sendable (BrowserReport) -> Void) -> Void

    func open(_ url: String, report: @escaping @Sendable (BrowserReport) -> Void) {
        openURL(url, report)
    }
}

extension SealedCredentialStore {
    /// The store that a configuration asks for (behaviour §9).
    static func make(_ configuration: OAuthConfiguration, _ time: any TimeSource) throws(OAuthError)
        -> SealedCredentialStore
    {
        let binding = try StoreBinding(
            issuer: configuration.provider.issuer, clientID: configuration.clientId, session: configuration.session)
        return switch configuration.store {
        case .memory: try inMemory(binding: binding, time: time)
        case .auto: try onDisk(binding: binding, time: time, watcher: IOLoop.shared)
        case .keyFile(let path): try onDisk(keyFile: path, binding: binding, time: time, watcher: IOLoop.shared)
        }
    }
}

extension IOWatch: Scheduled {
    func cancel() { cancel(nil) }
}

extension IOLoop: DescriptorWatcher {
    func watchReadable(_ descriptor: Int32, _ handler: @escaping @Sendable () -> Void) -> any Scheduled {
        watch(descriptor, for: .readable) { _ in handler() }
    }
}
