// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import VersolaKit

@Suite struct TransportTests {
    let transport: CurlTransport

    init() throws {
        transport = try CurlTransport(TransportSettings(proxy: ""))
    }

    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    // MARK: What is sent and what comes back

    @Test func aRequestArrivesAsGivenAndItsAnswerWhole() async throws {
        let server = try SocketServer.answering(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 401 No\r\nDPoP-Nonce: a\r\ndpop-nonce: b\r\nEmpty:\r\nRetry-After:\r\n\t 60\r\nContent-Length: 4\r\n\r\nbody"
        )
        defer { server.close() }
        let response = try await transport.send(
            HTTPRequest(
                method: "POST", url: server.url("/token?x=y#fragment"),
                fields: [HTTPField(name: "X-One", value: "1"), HTTPField(name: "X-Empty", value: "")],
                body: Array("a=b".utf8))
        ).get()
        #expect(response.status == 401)
        #expect(response.body == Array("body".utf8) && response.isComplete)
        #expect(response.fields.map(\.name) == ["DPoP-Nonce", "dpop-nonce", "Empty", "Retry-After", "Content-Length"])
        #expect(response.values("Retry-After") == ["60"], "a folded line (RFC 9112 §5.2)")
        #expect(response.values("dpop-NONCE") == ["a", "b"])
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /token?x=y HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(request.contains("\r\nUser-Agent: versola/\(versolaVersion)\r\n"))
        #expect(request.contains("\r\nAccept-Encoding: gzip\r\n"))
        #expect(request.contains("\r\nX-One: 1\r\n"))
        #expect(request.contains("\r\nX-Empty:\r\n"))
        #expect(request.contains("\r\nContent-Length: 3\r\n"))
        #expect(!request.contains("Content-Type"))
        #expect(request.hasSuffix("\r\n\r\na=b"))
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"])
    func everyMethodIsItself(method: String) async throws {
        let server = try SocketServer { connection in
            while let request = connection.readRequest() {
                connection.write(request.hasPrefix("HEAD") ? String(Self.ok.dropLast(2)) : Self.ok)
            }
        }
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: method, url: server.url())).get()
        #expect(response.status == 200)
        #expect(server.requests.map { $0.prefix { $0 != " " } } == [method[...]])
    }

    @Test func aLargeBodyIsSentWithoutWaitingForContinue() async throws {
        let server = try SocketServer.answering(Self.ok)
        defer { server.close() }
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20)
        let request = HTTPRequest(method: "POST", url: server.url(), body: body)
        #expect(try await transport.send(request).get().status == 200)
        #expect(server.requests.first?.contains("Expect") == false)
    }

    @Test func gzipIsAccepted() async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.gzipped.count)\r\n\r\n")
            connection.write(Self.gzipped)
            connection.waitForEnd()
        }
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(String(decoding: response.body, as: UTF8.self) == "hello")
    }

    @Test func brokenGzipIsAnAnswerWithoutItsBody() async throws {
        let server = try SocketServer.answering(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\ngarbage")
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.status == 200 && response.body.isEmpty && !response.isComplete)
    }

    @Test func noCookieComesBack() async throws {
        let server = try SocketServer.answering("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
        defer { server.close() }
        for _ in 0..<2 { _ = await transport.send(HTTPRequest(method: "GET", url: server.url())) }
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { !$0.contains("Cookie") })
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsAnAnswerAndNotFollowed(status: Int) async throws {
        let server = try SocketServer.answering(
            "HTTP/1.1 \(status) Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.status == status)
        #expect(response.values("location") == ["/elsewhere"])
        #expect(server.requests.count == 1)
    }

    // MARK: Connections

    @Test func connectionsLiveOnBetweenRequests() async throws {
        let server = try SocketServer.answering(Self.ok)
        defer { server.close() }
        for _ in 0..<3 {
            #expect(try await transport.send(HTTPRequest(method: "GET", url: server.url())).get().status == 200)
        }
        #expect(server.connections == 1)
    }

    @Test func noChildOfTheHostInheritsAConnection() async throws {
        let flags = Lock<[Int32]>([])
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            let ours = (0..<4096).filter { Self.peerPort(of: $0) == connection.port }
            flags.withLock { $0 = ours.map { fcntl($0, F_GETFD) } }
            connection.write(Self.ok)
        }
        defer { server.close() }
        _ = await transport.send(HTTPRequest(method: "GET", url: server.url()))
        #expect(flags.withLock { $0 } == [FD_CLOEXEC])
    }

    @Test func aOneTimeCredentialHasAConnectionOfItsOwn() async throws {
        let server = try SocketServer.answering(Self.ok)
        defer { server.close() }
        for oneTime in [false, true, true, false] {
            let request = HTTPRequest(
                method: "POST", url: server.url(), body: [0x61], carriesOneTimeCredential: oneTime)
            #expect(try await transport.send(request).get().status == 200)
        }
        #expect(server.connections == 3)
    }

    @Test(arguments: ["GET", "POST"])
    func aRequestIsNotSentAgainWhenAReusedConnectionDies(method: String) async throws {
        let server = try SocketServer { connection in
            guard connection.index == 0 else {
                while connection.readRequest() != nil { connection.write(Self.ok) }
                return
            }
            _ = connection.readRequest()
            connection.write(Self.ok)
            _ = connection.readRequest()
        }
        defer { server.close() }
        let request = HTTPRequest(method: method, url: server.url(), body: method == "POST" ? [0x61] : [])
        #expect(try await transport.send(request).get().status == 200)
        let failure = try #require(await transport.send(request).failure)
        #expect(failure.reason == .reset)
        #expect(failure.mayHaveBeenSent)
        #expect(failure.detail.contains("not sent again"))
        #expect(server.requests.count == 2)
    }

    @Test func aOneTimeCredentialIsNotSentAgainWhenTheServerReadsAndCloses() async throws {
        let server = try SocketServer { connection in
            while connection.readRequest() != nil, connection.index == 0 { connection.write(Self.ok) }
        }
        defer { server.close() }
        _ = await transport.send(HTTPRequest(method: "GET", url: server.url()))
        let request = HTTPRequest(method: "POST", url: server.url(), body: [0x61], carriesOneTimeCredential: true)
        let failure = try #require(await transport.send(request).failure)
        #expect(failure.reason == .reset && failure.mayHaveBeenSent)
        #expect(server.requests.filter { $0.hasPrefix("POST") }.count == 1)
    }

    // MARK: Nobody answered

    @Test func anUnknownHostIsDNS() async throws {
        let failure = try #require(
            await transport.send(HTTPRequest(method: "GET", url: "https://versola.invalid/?secret=1")).failure)
        #expect(failure.reason == .dns && !failure.mayHaveBeenSent)
        #expect(!failure.detail.contains("secret"))
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "localhost"]) func aClosedPortIsConnect(host: String) async throws {
        let url = "http://\(host):\(try SocketServer.freePort())/"
        let failure = try #require(await transport.send(HTTPRequest(method: "GET", url: url)).failure)
        #expect(failure.reason == .connect && !failure.mayHaveBeenSent)
    }

    @Test(arguments: [true, false]) func aResetIsReset(afterReading: Bool) async throws {
        let server = try SocketServer { connection in
            if afterReading { _ = connection.readRequest() }
            connection.reset()
        }
        defer { server.close() }
        let failure = try #require(await transport.send(HTTPRequest(method: "GET", url: server.url())).failure)
        // Before the reading the reset may even overtake the connecting.
        #expect(failure.reason == .reset || !afterReading && failure.reason == .connect)
        if afterReading { #expect(failure.mayHaveBeenSent) }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut", "HTTP/1.1 200 OK\r\nConte", "SSH-2.0-OpenSSH_9.2\r\n", "",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\ncut", "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n",
    ])
    func anAnswerThatIsNotWholeIsReset(answer: String) async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write(answer)
        }
        defer { server.close() }
        let failure = try #require(await transport.send(HTTPRequest(method: "GET", url: server.url())).failure)
        #expect(failure.reason == .reset && failure.mayHaveBeenSent)
    }

    @Test(arguments: [408, 429, 500, 503, 599], [false, true])
    func theHeadOfAServerInTroubleCountsWithoutItsBody(status: Int, isSilent: Bool) async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 \(status) No\r\nRetry-After: 7\r\nContent-Length: 100\r\n\r\ncut")
            if isSilent { connection.waitForEnd() }
        }
        defer { server.close() }
        let hasty = try CurlTransport(TransportSettings(requestTimeoutMillis: isSilent ? 500 : 15_000, proxy: ""))
        let response = try await hasty.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.status == status && response.values("retry-after") == ["7"])
        #expect(response.body.isEmpty && !response.isComplete)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow"])
    func aSilentServerIsTimeout(answer: String) async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write(answer)
            connection.waitForEnd()
        }
        defer { server.close() }
        let hasty = try CurlTransport(TransportSettings(requestTimeoutMillis: 500, proxy: ""))
        let failure = try #require(await hasty.send(HTTPRequest(method: "GET", url: server.url())).failure)
        #expect(failure.reason == .timeout)
        #expect(failure.mayHaveBeenSent || server.requests.isEmpty)
    }

    @Test func cancellingTheTaskDoesNotStopTheTransfer() async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            usleep(50_000)
            connection.write(Self.ok)
            connection.waitForEnd()
        }
        defer { server.close() }
        let task = Task { [transport] in await transport.send(HTTPRequest(method: "GET", url: server.url())) }
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        task.cancel()
        #expect(try await task.value.get().status == 200)
    }

    @Test(arguments: [false, true]) func aRequestNobodyWantsAnyMoreEnds(isClosedBefore: Bool) async throws {
        let ended = Outcome<Bool>()
        let server = try SocketServer { connection in
            let request = connection.readRequest() ?? ""
            if request.contains("/wanted") {
                usleep(50_000)
                connection.write(Self.ok)
            }
            connection.waitForEnd()
            if request.contains("/unwanted") { ended.settle(.success(true)) }
        }
        defer { server.close() }
        let closing = Closing()
        if isClosedBefore { closing.close() }
        var request = HTTPRequest(method: "GET", url: server.url("/unwanted"))
        request.unlessClosed = closing
        let unwanted = Task { [transport, request] in await transport.send(request) }
        let wanted = Task { [transport] in
            await transport.send(HTTPRequest(method: "GET", url: server.url("/wanted")))
        }
        while server.requests.count < (isClosedBefore ? 1 : 2) { try await Task.sleep(for: .milliseconds(2)) }
        closing.close()
        #expect(await unwanted.value.failure != nil)
        #expect(try await wanted.value.get().status == 200)
        if !isClosedBefore { #expect(try await ended.result.get()) }
    }

    // MARK: Limits

    @Test(arguments: [0, 1]) func aBodyAtTheLimitIsTakenAndOneOverItIsNot(excess: Int) async throws {
        let size = (1 << 20) + excess
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            connection.write([UInt8](repeating: 0x78, count: size))
            connection.waitForEnd()
        }
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.status == 200)
        #expect(response.isComplete == (excess == 0))
        #expect(response.body.count == (excess == 0 ? size : 0))
    }

    @Test func anEndlessBodyIsCutAtTheLimit() async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n")
            while connection.write([UInt8](repeating: 0x78, count: 1 << 16)) {}
        }
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.status == 503 && response.values("retry-after") == ["7"])
        #expect(response.body.isEmpty && !response.isComplete)
    }

    @Test func aGzipBombIsCutAtTheLimit() async throws {
        let bomb = try Self.bomb()
        #expect(bomb.count < 1 << 18)
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
            connection.write(bomb)
            connection.waitForEnd()
        }
        defer { server.close() }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url())).get()
        #expect(response.body.isEmpty && !response.isComplete)
    }

    @Test func endlessHeaderFieldsAreCut() async throws {
        let server = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n")
            while connection.write("X: " + String(repeating: "x", count: 1000) + "\r\n") {}
        }
        defer { server.close() }
        let failure = try #require(await transport.send(HTTPRequest(method: "GET", url: server.url())).failure)
        #expect(failure.reason == .reset)
    }

    // MARK: Refused before a connection

    @Test func plainHTTPToAnotherHostIsRefused() async throws {
        // An address of this machine that is not loopback by name: were it connected to, the server would see it.
        let server = try SocketServer(address: "0.0.0.0") { $0.waitForEnd() }
        defer { server.close() }
        for host in ["0.0.0.0", "[::ffff:127.0.0.1]", "localhost.", "versola.invalid"] {
            let request = HTTPRequest(method: "GET", url: "http://\(host):\(server.port)/")
            let failure = try #require(await transport.send(request).failure)
            #expect(failure.detail.contains("refused before a connection: plain http"))
            #expect(!failure.mayHaveBeenSent)
        }
        #expect(server.connections == 0)
    }

    @Test(arguments: [
        HTTPRequest(method: "GET", url: "ftp://127.0.0.1/"), HTTPRequest(method: "GET", url: "file:///etc/passwd"),
        HTTPRequest(method: "GET", url: "https://user:secret@127.0.0.1/"), HTTPRequest(method: "GET", url: ""),
        HTTPRequest(method: "GET /x HTTP/1.1\r\nA:", url: "https://127.0.0.1/"),
        HTTPRequest(method: "", url: "https://127.0.0.1/"),
        HTTPRequest(method: "GET", url: "https://127.0.0.1/", fields: [HTTPField(name: "A", value: "b\r\nC: d")]),
        HTTPRequest(method: "GET", url: "https://127.0.0.1/", fields: [HTTPField(name: "A", value: "b\0")]),
        HTTPRequest(method: "GET", url: "https://127.0.0.1/", fields: [HTTPField(name: "A: b", value: "")]),
        HTTPRequest(method: "GET", url: "https://127.0.0.1/", fields: [HTTPField(name: "", value: "b")]),
    ])
    func whatMustNotBeSentIsRefused(request: HTTPRequest) async throws {
        let failure = try #require(await transport.send(request).failure)
        #expect(failure.detail.hasPrefix("refused before a connection"))
        #expect(!failure.detail.contains("secret"))
    }

    // MARK: Proxies

    @Test func loopbackNeverGoesThroughAProxyAndOtherHostsDo() async throws {
        let server = try SocketServer.answering(Self.ok)
        let proxy = try SocketServer.answering("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
        defer {
            server.close()
            proxy.close()
        }
        let proxied = try CurlTransport(TransportSettings(proxy: proxy.url("")))
        #expect(try await proxied.send(HTTPRequest(method: "GET", url: server.url())).get().status == 200)
        #expect(proxy.connections == 0)
        let failure = try #require(
            await proxied.send(HTTPRequest(method: "GET", url: "https://versola.invalid/")).failure)
        #expect(proxy.requests.first?.hasPrefix("CONNECT versola.invalid:443 ") == true)
        #expect(failure.reason == .proxy && !failure.mayHaveBeenSent)
    }

    /// Nothing of the request itself was written, so whatever goes wrong is about the tunnel.
    @Test(
        arguments: ["", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 503 No\r\n\r\n"],
        [true, false])
    func aProxyThatEndsTheTunnelIsProxy(answer: String, byReset: Bool) async throws {
        let proxy = try SocketServer { connection in
            _ = connection.readRequest()
            connection.write(answer)
            if byReset { connection.reset() }
        }
        defer { proxy.close() }
        let proxied = try CurlTransport(TransportSettings(proxy: proxy.url("")))
        let request = HTTPRequest(method: "GET", url: "https://versola.invalid/")
        let failure = try #require(await proxied.send(request).failure)
        #expect(failure.reason == .proxy && !failure.mayHaveBeenSent)
    }

    @Test func aProxyThatIsNotThereIsProxyAndItsPasswordIsNotTold() async throws {
        let port = try SocketServer.freePort()
        for proxy in [
            "http://user:secret@127.0.0.1:\(port)", "user:secret@versola.invalid:1", "x://user:secret@127.0.0.1",
        ] {
            let proxied = try CurlTransport(TransportSettings(proxy: proxy))
            let failure = try #require(
                await proxied.send(HTTPRequest(method: "GET", url: "https://login.example/")).failure)
            #expect([.proxy, .connect].contains(failure.reason))
            #expect(failure.reason == .proxy || proxy.hasPrefix("x:"))
            #expect(!failure.detail.contains("secret"))
        }
    }

    // MARK: Bytes

    static func peerPort(of socket: Int32) -> UInt16? {
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(socket, $0, &size) }
        }
        return failed == 0 ? UInt16(bigEndian: name.sin_port) : nil
    }

    /// "hello".
    static let gzipped: [UInt8] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
    ]

    /// 64 MiB of zeros.
    static func bomb() throws -> [UInt8] {
        let child = try ChildProcess(
            ["sh", "-c", "head -c 67108864 /dev/zero | gzip -9"], in: URL(fileURLWithPath: "/"))
        defer { _ = child.waitForExit() }
        return Array(child.output.readDataToEndOfFile())
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
