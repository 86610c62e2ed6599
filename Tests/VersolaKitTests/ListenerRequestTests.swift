// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct ListenerRequestTests {
    private func parse(_ text: String) -> LoopbackRequest.Parsed {
        LoopbackRequest.parse(Array(text.utf8))
    }

    @Test func headIsRead() {
        let expected = LoopbackRequest(
            method: "GET", target: "/cb?x=1",
            fields: [
                HTTPField(name: "Host", value: "127.0.0.1:1"), HTTPField(name: "X", value: "a \t b"),
                HTTPField(name: "Empty", value: ""),
            ])
        let head = "GET /cb?x=1 HTTP/1.1\r\nHost:127.0.0.1:1\r\nX: \ta \t b\t \r\nEmpty:\r\n\r\n"
        #expect(parse(head + "body") == .request(expected))
    }

    @Test func everyBeginningOfAHeadIsIncompleteHoweverItIsCut() {
        let bytes = Array("GET /cb HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n".utf8)
        for length in 0..<bytes.count {
            let beginning = Array(bytes.prefix(length))
            for scanned in 0...length { #expect(LoopbackRequest.parse(beginning, scanned: scanned) == .incomplete) }
        }
        for scanned in 0..<bytes.count {
            #expect(LoopbackRequest.parse(bytes, scanned: scanned) == LoopbackRequest.parse(bytes))
        }
        #expect(LoopbackRequest.parse(bytes) != .incomplete)
    }

    @Test func malformed() {
        let rows = [
            "GET /cb\r\n\r\n", "GET  /cb HTTP/1.1\r\n\r\n", "GET /cb HTTP/1.1 \r\n\r\n", "GET /c b HTTP/1.1\r\n\r\n",
            "G(T /cb HTTP/1.1\r\n\r\n", "GET /\u{fc} HTTP/1.1\r\n\r\n", "GET /\u{1} HTTP/1.1\r\n\r\n",
            "GET /cb FTP\r\n\r\n",
            "GET /cb HTTP/1.1\n\n", "GET /cb HTTP/1.1\nHost: a\r\n\r\n", "GET /cb HTTP/1.1\r\nHost: a\n\r\n",
            "GET /cb HTTP/1.1\r\nHost : a\r\n\r\n", "GET /cb HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "GET /cb HTTP/1.1\r\n: a\r\n\r\n",
            "GET /cb HTTP/1.1\r\nHost\r\n\r\n", "GET /cb HTTP/1.1\r\nA: \u{0}\r\n\r\n",
            "GET /cb HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET /cb HTTP/1.1\r\nA: \u{7f}\r\n\r\n", "\r\nGET /cb HTTP/1.1\r\n\r\n", "\u{0}", " ",
        ]
        for text in rows { #expect(parse(text) == .bad(.malformed), "\(text.debugDescription)") }
    }

    @Test func versionsThatAreNotOurs() {
        #expect(parse("PRI * HTTP/2.0\r\n\r\n") == .bad(.versionNotSupported))
        #expect(parse("GET / HTTP/1.9\r\n\r\n") == .bad(.versionNotSupported))
        #expect(parse("GET / http/1.1\r\n\r\n") == .bad(.malformed))
    }

    @Test func headHasALimit() {
        let line = "GET / HTTP/1.1\r\n"
        func head(_ length: Int) -> String {
            line + "A: " + String(repeating: "a", count: length - line.utf8.count - 7) + "\r\n\r\n"
        }
        guard case .request = parse(head(LoopbackRequest.headLimit)) else {
            Issue.record("a head of just the limit is fine")
            return
        }
        #expect(parse(head(LoopbackRequest.headLimit + 1)) == .bad(.fieldsTooLarge))
        #expect(parse(line + String(repeating: "a", count: 20_000)) == .bad(.fieldsTooLarge))
        #expect(parse(String(repeating: "a", count: 20_000)) == .bad(.targetTooLong))
    }

    @Test func defaultPortMayBeLeftOut() throws {
        let endpoint = LoopbackEndpoint(host: "localhost", port: 80, path: "/cb")
        for host in ["localhost", "LocalHost:80"] {
            let field = HTTPField(name: "HOST", value: host)
            #expect(try endpoint.query(of: LoopbackRequest(method: "GET", target: "/cb?a", fields: [field])) == "a")
        }
    }

    /// Mutations of good and bad heads: none traps, and what is delivered was asked for in so many bytes.
    @Test func mutatedRequestsDoNoHarm() {
        var random = SplitMix(state: 0x5eed)
        let endpoint = LoopbackEndpoint(host: "127.0.0.1", port: 8080, path: "/cb")
        let seeds = [
            "GET /cb?code=abc&state=xyz HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nSec-Fetch-Mode: navigate\r\n\r\n",
            "POST / HTTP/1.0\r\nHost: [::1]:1\r\nContent-Length: 99999999999999999999\r\n\r\n\u{0}\u{ff}",
            "GET http://127.0.0.1:8080/cb?#? HTTP/1.1\r\nHost:\r\nAccept-Language: ru;q=0.3,en;q=1.000,*;q=9\r\n\r\n",
            "\r\n\r\n", ":", "GET ? HTTP/1.1\r\n:\r\n \r\n\r\n",
        ].map { Array($0.utf8) }
        var delivered = 0
        for _ in 0..<50_000 {
            var bytes = seeds[Int(random.next() % UInt64(seeds.count))]
            for _ in 0..<(random.next() % 6) { mutate(&bytes, &random) }
            let parsed = LoopbackRequest.parse(bytes)
            // Coming in two pieces changes nothing.
            let cut = Int(random.next() % UInt64(bytes.count + 1))
            if LoopbackRequest.parse(Array(bytes.prefix(cut))) == .incomplete {
                #expect(LoopbackRequest.parse(bytes, scanned: cut) == parsed)
            }
            guard case .request(let request) = parsed else { continue }
            _ = PageLanguage(acceptLanguage: request.values("Accept-Language").first)
            guard let query = try? endpoint.query(of: request) else { continue }
            delivered += 1
            #expect(bytes.starts(with: "GET /cb\(query.isEmpty ? "" : "?\(query)")".utf8))
        }
        #expect(delivered > 1_000)
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
        let interesting: [UInt8] = [0, 9, 10, 13, 32, 35, 47, 58, 63, 127, 128, 255]
        let index = Int(random.next() % UInt64(bytes.count + 1))
        switch random.next() % 5 {
        case 0: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        case 1: bytes.insert(interesting[Int(random.next() % UInt64(interesting.count))], at: index)
        case 2: if index < bytes.count { bytes.remove(at: index) }
        case 3: bytes.removeSubrange(index...)
        default:
            let end = min(index + Int(random.next() % 40), bytes.count)
            bytes.insert(contentsOf: bytes[index..<end], at: index)
        }
    }
}

/// A seeded generator: a failure can be had again.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
