// SPDX-License-Identifier: Apache-2.0

/// Where the provider sends the browser back to: one of three kinds, each with its own way to the app (behaviour §4).
struct RedirectURI: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// The app receives the URL and passes it to `handleRedirect`.
        case https
        /// RFC 8252 §7.1. Any program can claim the scheme.
        case privateUseScheme
        /// RFC 8252 §7.3: we listen. `port` 0 = any free one.
        case loopback(host: String, port: UInt16, path: String)
    }

    let text: String
    let kind: Kind

    /// - Parameter name: what a refusal calls it.
    init(_ text: String, _ name: String = "redirect URI") throws(OAuthError) {
        func refused(_ why: String) -> OAuthError {
            .configuration(.invalidConfiguration, "\(name): \(why)")
        }
        guard !text.isEmpty else { throw refused("none is set") }
        guard let scheme = URLParts.scheme(of: text) else { throw refused("it is not an absolute URI") }
        guard !text.contains("#") else { throw refused("it has a fragment (RFC 6749 §3.1.2)") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw refused("it has characters that need encoding")
        }
        self.text = text
        switch scheme {
        case "https", "http":
            guard let url = Self.parts(of: text) else { throw refused("it cannot be parsed") }
            guard !url.hasUserInfo else { throw refused("it has a user name") }
            if scheme == "https" {
                kind = .https
            } else if url.isLoopback {
                kind = .loopback(host: url.host, port: Self.explicitPort(in: text) ?? 0, path: url.path)
            } else {
                throw refused("plain http is only for loopback addresses")
            }
        default:
            guard scheme.contains(".") else {
                throw refused("a private-use scheme needs a dot, like com.example.app:/callback (RFC 8252 §7.1)")
            }
            kind = .privateUseScheme
        }
    }

    /// The URI with the port filled in that the listener got: what the provider is told, byte for byte.
    func resolved(port: UInt16) -> String {
        guard case .loopback(let host, _, _) = kind else { return text }
        return "http://\(host):\(port)\(text.dropFirst("http://".count).drop { $0 != "/" && $0 != "?" })"
    }

    /// Whether `url` is this redirect URI with the parameters of a response; a loopback port left open fits any port.
    func matches(_ url: String) -> Bool {
        switch kind {
        case .privateUseScheme:
            return URLParts.split(url).base.hasSameBytes(as: URLParts.split(text).base)
        case .https, .loopback:
            guard let theirs = URLParts(url), let ours = Self.parts(of: text), !theirs.hasUserInfo else { return false }
            let anyPort = if case .loopback(_, 0, _) = kind { true } else { false }
            return theirs.scheme == ours.scheme && theirs.host == ours.host && theirs.path == ours.path
                && (anyPort || theirs.port == ours.port)
        }
    }

    /// Curl refuses port 0, which stands for any free one here.
    private static func parts(of text: String) -> URLParts? {
        guard let port = portText(in: text), UInt16(port) == 0 else { return URLParts(text) }
        return URLParts(String(text[..<text.index(before: port.startIndex)] + text[port.endIndex...]))
    }

    /// The port as written after the host; curl's parser fills in the scheme's own.
    private static func explicitPort(in url: String) -> UInt16? {
        portText(in: url).flatMap { UInt16($0) }
    }

    private static func portText(in url: String) -> Substring? {
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" }
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return nil }
        return authority[authority.index(after: colon)...]
    }
}
