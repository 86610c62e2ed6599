// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The parts of an absolute http or https URL.
struct URLParts: Equatable, Sendable {
    /// Lower-case.
    var scheme: String
    /// Lower-case; an IPv4 address in its dotted form, an IPv6 address in brackets.
    var host: String
    /// The explicit or the scheme's own one.
    var port: UInt16
    /// Begins with a slash; dot segments are resolved, percent-encoding is as written.
    var path: String
    /// Without its question mark, as written; `nil` when there is none.
    var query: String?
    var fragment: String?
    /// User name or password before the host.
    var hasUserInfo: Bool
}

extension URLParts {
    /// `nil` for anything that is not an absolute http or https URL of ASCII with a host.
    init?(_ url: String) {
        guard let parts = CurlURL(url)?.parts else { return nil }
        self = parts
    }

    /// Scheme, host and port, always with the port.
    var origin: String { "\(scheme)://\(host):\(port)" }

    /// 127.0.0.0/8, ::1 and `localhost`, which curl does not ask the DNS about.
    var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
    }

    /// https, or http that does not leave the machine (behaviour §12).
    var isSecure: Bool { scheme == "https" || scheme == "http" && isLoopback }

    /// The scheme of any URL, lower-case (RFC 3986 §3.1); `nil` when the text does not begin with one.
    static func scheme(of url: String) -> String? {
        let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard scheme.endIndex < url.utf8.endIndex, let first = scheme.first, first.isLetter,
            scheme.allSatisfy({ $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return String(decoding: scheme, as: UTF8.self).lowercased()
    }

    /// Takes any URL apart at its first `#` and the first `?` before that, which are in neither part.
    static func split(_ url: String) -> (base: String, query: String?, fragment: String?) {
        let (rest, fragment) = cut(url.utf8[...], at: UInt8(ascii: "#"))
        let (base, query) = cut(rest, at: UInt8(ascii: "?"))
        return (String(Substring(base)), query.map { String(Substring($0)) }, fragment.map { String(Substring($0)) })
    }

    private static func cut(
        _ text: Substring.UTF8View, at separator: UInt8
    ) -> (Substring.UTF8View, Substring.UTF8View?) {
        guard let index = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }
}

extension UInt8 {
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
