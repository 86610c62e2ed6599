// SPDX-License-Identifier: Apache-2.0

/// The one address a redirect may come to, and the judgement whether a request is a navigation to it.
struct LoopbackEndpoint: Equatable, Sendable {
    /// Of the raw query.
    static let queryLimit = 8 << 10

    /// As in the redirect URI, without brackets.
    var host: String
    var port: UInt16
    /// Begins with a slash.
    var path: String

    /// The raw query of a navigating GET on our path, without the question mark. What it means is not looked at.
    func query(of request: LoopbackRequest) throws(LoopbackRefusal) -> String {
        // Another name that resolves to loopback (DNS rebinding) is a web page's doing; RFC 9112 §3.2: exactly one Host.
        let hosts = request.values("Host")
        guard hosts.count == 1, authorities.contains(hosts[0].lowercased()) else { throw .malformed }
        guard request.method == "GET" else { throw .methodNotAllowed }
        // Browsers send the absolute form to proxies only, and no proxy stands before loopback.
        guard request.target.hasPrefix("/"), !request.target.contains("#") else { throw .malformed }
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == path else { throw .notFound }
        // Fetch Metadata §2.2: sent by every current browser, and not for a script to forge.
        guard request.values("Sec-Fetch-Mode").allSatisfy({ $0 == "navigate" }) else { throw .notANavigation }
        let query = parts.count > 1 ? String(parts[1]) : ""
        guard query.utf8.count <= Self.queryLimit else { throw .targetTooLong }
        return query
    }

    /// What `Host` may say: the port may be left out where it is the scheme's own (RFC 9110 §7.2).
    private var authorities: [String] {
        let name = host.contains(":") ? "[\(host)]" : host.lowercased()
        return port == 80 ? ["\(name):80", name] : ["\(name):\(port)"]
    }
}
