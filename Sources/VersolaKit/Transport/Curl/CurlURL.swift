// SPDX-License-Identifier: Apache-2.0
import CShims

/// A URL as curl parsed it: what is judged is what is sent.
final class CurlURL: @unchecked Sendable {
    /// Written in `init` only, and read under a transfer by a copy of curl's own: this is what `@unchecked` stands for.
    let handle: OpaquePointer
    /// curl does not tell an empty one.
    private let fragment: String?

    /// Absolute http and https URLs of ASCII (RFC 3986 §2) with a host and exactly two slashes. Curl alone would take one or
    /// three, and a backslash, where a browser sees another host.
    init?(_ url: String) {
        guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\\") }),
            let scheme = URLParts.scheme(of: url), scheme == "https" || scheme == "http",
            case let rest = url.utf8.dropFirst(scheme.utf8.count + 1),
            rest.starts(with: "//".utf8), !rest.starts(with: "///".utf8),
            let handle = curl_url()
        else { return nil }
        self.handle = handle
        fragment = URLParts.split(url).fragment
        // A zone would be left out of the host, and so of the origin.
        guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK, part(CURLUPART_ZONEID) == nil else {
            return nil
        }
    }

    deinit {
        curl_url_cleanup(handle)
    }

    /// Whether curl takes the text for a proxy: `[scheme://][user:password@]host[:port]`, where no scheme is `http`.
    static func namesProxy(_ text: String) -> Bool {
        guard let handle = curl_url() else { return false }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return false }
        let known: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        return part(CURLUPART_SCHEME, of: handle).map { known.contains($0.lowercased()) } ?? false
    }

    var parts: URLParts? {
        guard let scheme = part(CURLUPART_SCHEME), let host = part(CURLUPART_HOST),
            let port = part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ UInt16($0) }), port > 0
        else { return nil }
        return URLParts(
            scheme: scheme.lowercased(), host: host.lowercased(), port: port,
            path: part(CURLUPART_PATH) ?? "/", query: part(CURLUPART_QUERY), fragment: fragment,
            hasUserInfo: part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil)
    }

    private func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? { Self.part(part, of: handle, flags) }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
