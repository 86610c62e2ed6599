// SPDX-License-Identifier: Apache-2.0

/// The provider's metadata in memory, as long as the provider says (`Cache-Control`), then asked for again with its `ETag`.
/// A failure is never cached. One login uses one copy throughout.
final class MetadataCache: Sendable {
    private struct Entry {
        var metadata: ProviderMetadata
        var entityTag: String?
        var freshUntil: BootMillis
    }

    /// Without a word from the provider.
    private static let defaultLifetimeMillis: Int64 = 3_600_000
    private static let longestLifetimeMillis: Int64 = 86_400_000

    private let provider: OAuthConfiguration.Provider
    private let sender: Sender
    private let time: any TimeSource
    private let entry = Lock<Entry?>(nil)

    init(_ provider: OAuthConfiguration.Provider, sender: Sender, time: any TimeSource) {
        self.provider = provider
        self.sender = sender
        self.time = time
    }

    /// - Parameter toFinish: something that is begun needs them, also after a close.
    func metadata(budget: OperationBudget, toFinish: Bool = false) async throws(OAuthError) -> ProviderMetadata {
        switch provider {
        case .endpoints(let endpoints): return ProviderMetadata(endpoints)
        case .discovery(let issuer): return try await discover(issuer, budget, toFinish: toFinish)
        }
    }

    /// Fresh or not, without asking: for what must not wait for the network.
    var cached: ProviderMetadata? {
        if case .endpoints(let endpoints) = provider { return ProviderMetadata(endpoints) }
        return entry.withLock { $0?.metadata }
    }

    /// Why the metadata cannot be had now: they would have to be asked for, and a pause runs there.
    func refusal(_ budget: OperationBudget) -> OAuthError? {
        guard case .discovery(let issuer) = provider, fresh == nil else { return nil }
        let origin = URLParts(ProviderMetadata.wellKnownURL(issuer: issuer))?.origin ?? ""
        return sender.refusal(origin, .discovery, budget)
    }

    private var fresh: ProviderMetadata? {
        entry.withLock { $0.flatMap { $0.freshUntil > time.boot ? $0.metadata : nil } }
    }

    private func discover(
        _ issuer: String, _ budget: OperationBudget, toFinish: Bool
    ) async throws(OAuthError) -> ProviderMetadata {
        if let fresh { return fresh }
        let known = entry.withLock { $0 }
        var request = HTTPRequest(method: "GET", url: ProviderMetadata.wellKnownURL(issuer: issuer))
        request.fields.append(HTTPField(name: "Accept", value: "application/json"))
        if let tag = known?.entityTag { request.fields.append(HTTPField(name: "If-None-Match", value: tag)) }

        var sender = sender
        sender.givesUpOnClose = !toFinish
        return try await sender.load(.discovery, request, budget: budget) { answer throws(OAuthError) in
            try take(answer, known, issuer)
        }.get()
    }

    private func take(
        _ answer: ProviderAnswer, _ known: Entry?, _ issuer: String
    ) throws(OAuthError) -> ProviderMetadata {
        let response = answer.response
        if response.status == 304, var known, known.entityTag != nil {
            known.freshUntil = time.boot + Self.lifetimeMillis(response)
            entry.withLock { $0 = known }
            return known.metadata
        }
        guard (200...299).contains(response.status) else { throw .landing(answer) }
        let metadata = try ProviderMetadata(
            response.body, configuredIssuer: issuer, undecodable: .server(answer))
        let tags = response.values("ETag")
        entry.withLock {
            $0 = Entry(
                metadata: metadata, entityTag: tags.count == 1 ? tags.first : nil,
                freshUntil: time.boot + Self.lifetimeMillis(response))
        }
        return metadata
    }

    /// `max-age` of `Cache-Control` (RFC 9111 §5.2.2); 0 for `no-store` and `no-cache`; bounded by a day.
    static func lifetimeMillis(_ response: HTTPResponse) -> Int64 {
        let directives = response.values("Cache-Control").flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        if directives.contains("no-store") || directives.contains("no-cache") { return 0 }
        guard let maxAge = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count) else {
            return defaultLifetimeMillis
        }
        guard let seconds = Int64(maxAge), seconds >= 0 else { return 0 }
        return min(seconds, longestLifetimeMillis / 1000) * 1000
    }
}
