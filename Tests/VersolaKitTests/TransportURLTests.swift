// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct TransportURLTests {
    @Test(
        arguments: [
            ("https://login.example/a/b?c=d#e", "https://login.example:443", "/a/b", "c=d", "e"),
            ("HTTPS://LOGIN.Example", "https://login.example:443", "/", nil, nil),
            ("https://login.example:8443/", "https://login.example:8443", "/", nil, nil),
            ("https://login.example:443", "https://login.example:443", "/", nil, nil),
            ("http://[::1]:80/x", "http://[::1]:80", "/x", nil, nil),
            ("https://a.example/b/../c?x=%2F+y", "https://a.example:443", "/c", "x=%2F+y", nil),
            ("https://a.example?q", "https://a.example:443", "/", "q", nil),
            ("https://a.example/#", "https://a.example:443", "/", nil, ""),
            ("https://a.example#", "https://a.example:443", "/", nil, ""),
            ("http://127.1/", "http://127.0.0.1:80", "/", nil, nil),
            ("http://0x7f000001/", "http://127.0.0.1:80", "/", nil, nil),
        ] as [(String, String, String, String?, String?)])
    func parts(url: String, origin: String, path: String, query: String?, fragment: String?) throws {
        let parts = try #require(URLParts(url))
        #expect(parts.origin == origin)
        #expect(parts.path == path)
        #expect(parts.query == query)
        #expect(parts.fragment == fragment)
        #expect(!parts.hasUserInfo)
    }

    @Test(arguments: [
        "", " ", ":", "//", "/path", "login.example", "https:", "https:/login.example", "https:///login.example",
        "https://", "https:///", "https://:443", "ftp://login.example/", "file:///etc/passwd", "javascript:alert(1)",
        "com.example.app:/oauth", "https://login.example:0/", "https://login.example:65536/",
        "https://login.example:-1/",
        "https://login.example:99999999999999999999/", "https://login.example:x/", "https://login example/",
        "https://login.example/a b", "https://login.example/\r\nHost: x", "https://login.example/\0x",
        "https://login.exam\tple/",
        "https://[::1", "https://[zz]/", "https://[fe80::1%25eth0]/", "https://b\u{fc}cher.example/",
        "https://a.example/\u{e9}",
        "https://a.example\\@b.example/", "https://%00/", "https://a%2fb/", "https://a%0d%0ab/", " https://a.example/",
    ])
    func refused(url: String) {
        #expect(URLParts(url) == nil)
    }

    @Test(arguments: [
        ("http://127.0.0.1/", true), ("http://127.255.0.9:8080/", true), ("http://[::1]/", true),
        ("http://[0:0:0:0:0:0:0:1]/", true), ("http://localhost/", true), ("http://LOCALHOST:1/", true),
        ("http://2130706433/", true), ("http://128.0.0.1/", false), ("http://0.0.0.0/", false),
        ("http://[::]/", false), ("http://[::ffff:127.0.0.1]/", false), ("http://127.0.0.1.example/", false),
        ("http://localhost.example/", false), ("http://my.localhost/", false), ("http://localhost./", false),
        ("http://10.0.0.1/", false), ("http://127.0.0.1@evil.example/", false),
        ("http://127.0.0.1%2eevil.example/", false),
    ])
    func loopback(url: String, expected: Bool) throws {
        let parts = try #require(URLParts(url))
        #expect(parts.isLoopback == expected)
        #expect(parts.isSecure == expected)
    }

    @Test func httpsIsSecureAnywhere() throws {
        #expect(try #require(URLParts("https://login.example/")).isSecure)
    }

    @Test(arguments: [
        "https://user@a.example/", "https://user:pass@a.example/", "https://:pass@a.example/", "https://@a.example/",
    ])
    func userInfoIsTold(url: String) throws {
        let parts = try #require(URLParts(url))
        #expect(parts.hasUserInfo)
        #expect(parts.host == "a.example")
    }

    @Test(
        arguments: [
            ("com.example.app:/oauth", "com.example.app"), ("HTTPS://x", "https"), ("a+b-1.c:", "a+b-1.c"),
            ("", nil), (":", nil), ("nocolon", nil), ("1a:/x", nil), ("a b:/x", nil), ("\u{e9}:/x", nil),
            ("a/b:c", nil),
        ] as [(String, String?)])
    func scheme(url: String, expected: String?) {
        #expect(URLParts.scheme(of: url) == expected)
    }

    @Test(
        arguments: [
            ("com.example.app:/oauth?a=b#c", "com.example.app:/oauth", "a=b", "c"), ("x:y", "x:y", nil, nil),
            ("x:y?", "x:y", "", nil), ("x:y#a?b#c", "x:y", nil, "a?b#c"), ("?a?b", "", "a?b", nil), ("", "", nil, nil),
        ] as [(String, String, String?, String?)])
    func split(url: String, base: String, query: String?, fragment: String?) {
        let parts = URLParts.split(url)
        #expect(parts.base == base)
        #expect(parts.query == query)
        #expect(parts.fragment == fragment)
    }

    @Test func aHugeURLIsRefusedOrTakenButNeverATrap() {
        #expect(URLParts("https://a.example/" + String(repeating: "a", count: 9_000_000)) == nil)
        let long = String(repeating: "a", count: 1 << 16)
        #expect(URLParts("https://a.example/" + long)?.path == "/" + long)
        #expect(URLParts(long + "://a.example/") == nil)
        _ = URLParts("https://" + long)
        #expect(FormEncoding.parse(String(repeating: "&=%", count: 1 << 16)).count == 1 << 16)
    }

    @Test func anyBytesAtAllNeverTrap() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("https://a[]:@%?#&=+.0\\\u{0}\u{e9}\u{1F600}")
        for _ in 0..<4_000 {
            let count = Int.random(in: 0..<24, using: &random)
            let text = String((0..<count).compactMap { _ in alphabet.randomElement(using: &random) })
            for url in [text, "https://" + text, "http://" + text] {
                if let parts = URLParts(url) { #expect(!parts.host.isEmpty && parts.port > 0) }
            }
            _ = URLParts.split(text)
            _ = URLParts.scheme(of: text)
            _ = FormEncoding.append([(text, text)], to: text)
            let fields = FormEncoding.parse(FormEncoding.encode([(text, text)]))
            #expect(fields.map(\.name) == [text] && fields.map(\.value) == [text])
        }
    }

    @Test func formsAreEncodedSoThatEveryDecoderReadsThem() {
        let form = FormEncoding.encode([("scope", "openid a+b"), ("x", "é&=~*"), ("", "")])
        #expect(form == "scope=openid%20a%2Bb&x=%C3%A9%26%3D~%2A&=")
    }

    @Test(
        arguments: [
            ("a=1&b=2&a=3", [("a", "1"), ("b", "2"), ("a", "3")]), ("", []), ("&&", []), ("a", [("a", "")]),
            ("=v", [("", "v")]), ("a=b=c", [("a", "b=c")]), ("a+b=%20c%2B", [("a b", " c+")]),
            ("a=%", [("a", "%")]), ("a=%4", [("a", "%4")]), ("a=%zz%41", [("a", "%zzA")]), ("a=%%41", [("a", "%A")]),
            ("a=%c3%a9", [("a", "é")]), ("a=%ff", [("a", "\u{FFFD}")]), ("a=%00", [("a", "\0")]),
            ("a=%+1", [("a", "% 1")]), ("a=%\u{e9}1", [("a", "%\u{e9}1")]),
        ] as [(String, [(String, String)])])
    func queriesAreParsed(query: String, expected: [(String, String)]) {
        let fields = FormEncoding.parse(query)
        #expect(fields.map(\.name) == expected.map(\.0))
        #expect(fields.map(\.value) == expected.map(\.1))
    }

    @Test(arguments: [
        ("https://a.example/x", "https://a.example/x?k=v%20w"), ("https://a.example", "https://a.example?k=v%20w"),
        ("https://a.example/x?y=z", "https://a.example/x?y=z&k=v%20w"),
        ("https://a.example/x?", "https://a.example/x?k=v%20w"),
        ("https://a.example/x#f", "https://a.example/x?k=v%20w#f"), ("app.x:/y?z#f?", "app.x:/y?z&k=v%20w#f?"),
    ])
    func appendingKeepsTheQueryThatIsThere(url: String, expected: String) {
        #expect(FormEncoding.append([("k", "v w")], to: url) == expected)
        #expect(FormEncoding.append([], to: url) == url)
    }
}
