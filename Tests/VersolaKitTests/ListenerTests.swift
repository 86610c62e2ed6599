// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

/// The loopback listener by the words of the behaviour page, section 4, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ListenerTests {
    /// A bound listener and what it delivered; answers by itself unless told not to.
    private final class Login: Sendable {
        let listener: LoopbackListener
        let deliveries = Lock<[RedirectDelivery]>([])

        init(
            host: String = "127.0.0.1", port: UInt16 = 0, path: String = "/callback",
            limits: LoopbackListener.Limits = .init(), answers page: ResultPage? = .signedIn
        ) throws {
            listener = try LoopbackListener.bind(host: host, port: port, path: path, limits: limits)
            listener.deliver { [deliveries] delivery in
                deliveries.withLock { $0.append(delivery) }
                if let page { delivery.answer(page) }
            }
        }

        var port: UInt16 { listener.port }
        var queries: [String] { deliveries.withLock { $0.map(\.query) } }

        func navigate(_ target: String) -> String? {
            ListenerClient.exchange(
                ListenerClient.navigation(target, host: "127.0.0.1:\(port)"), port: port)
        }

        /// Once `count` redirects have come.
        func delivered(_ count: Int) async throws -> [RedirectDelivery] {
            while true {
                let deliveries = deliveries.withLock { $0 }
                if deliveries.count >= count { return deliveries }
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    @Test func navigationReachesTheLoginWithItsRawQuery() throws {
        let login = try Login()
        let response = login.navigate("/callback?code=a%2Bb+c&state=%C3%BC&state")
        #expect(httpStatus(response) == 200)
        #expect(response?.contains("You are signed in") == true)
        #expect(login.queries == ["code=a%2Bb+c&state=%C3%BC&state"])
        #expect(httpStatus(login.navigate("/callback")) == 200)
        #expect(httpStatus(login.navigate("/callback?")) == 200)
        #expect(login.queries.suffix(2) == ["", ""])
        login.listener.close()
    }

    @Test("B41: only a navigating GET on our path counts; all else gets an error page and the login goes on")
    func refusals() throws {
        let login = try Login()
        let host = "Host: 127.0.0.1:\(login.port)\r\n"
        let rows: [(String, Int)] = [
            ("OPTIONS /callback?code=1 HTTP/1.1\r\n\(host)\r\n", 405),
            ("HEAD /callback?code=1 HTTP/1.1\r\n\(host)\r\n", 405),
            ("POST /callback HTTP/1.1\r\n\(host)Content-Length: 6\r\n\r\ncode=1", 405),
            ("GET /favicon.ico HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET / HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET /callback/?code=1 HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET /Callback?code=1 HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET /%63allback?code=1 HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET /x/../callback?code=1 HTTP/1.1\r\n\(host)\r\n", 404),
            ("GET /callback?code=1 HTTP/1.1\r\n\r\n", 400),
            ("GET /callback?code=1 HTTP/1.1\r\nHost: example.com\r\n\r\n", 400),
            ("GET /callback?code=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
            ("GET /callback?code=1 HTTP/1.1\r\nHost: localhost:\(login.port)\r\n\r\n", 400),
            ("GET /callback?code=1 HTTP/1.1\r\n\(host)\(host)\r\n", 400),
            ("GET http://127.0.0.1:\(login.port)/callback?code=1 HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /callback?code=1#x HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /callback?code=1 HTTP/1.1\r\n\(host)Sec-Fetch-Mode: cors\r\n\r\n", 403),
            ("GET /callback?code=1 HTTP/1.1\r\n\(host)Sec-Fetch-Mode: no-cors\r\n\r\n", 403),
            ("GET /callback?code=1 HTTP/1.1\r\n\(host)Sec-Fetch-Mode: \r\n\r\n", 403),
            (
                "GET /callback?code=1 HTTP/1.1\r\n\(host)Sec-Fetch-Mode: navigate\r\nSec-Fetch-Mode: cors\r\n\r\n", 403
            ),
            ("GET /callback?code=1 HTTP/2.0\r\n\(host)\r\n", 505),
            ("GET /callback?\(String(repeating: "c", count: 8193)) HTTP/1.1\r\n\(host)\r\n", 414),
            ("GET /\(String(repeating: "c", count: 20_000)) HTTP/1.1\r\n\(host)\r\n", 414),
            ("GET /callback HTTP/1.1\r\n\(host)Cookie: \(String(repeating: "c", count: 20_000))\r\n\r\n", 431),
        ]
        for (request, expected) in rows {
            let response = ListenerClient.exchange(request, port: login.port)
            #expect(httpStatus(response) == expected, "\(request.prefix(60))")
        }
        #expect(login.queries.isEmpty)
        #expect(httpStatus(login.navigate("/callback?code=real")) == 200)
        #expect(login.queries == ["code=real"])
        login.listener.close()
    }

    @Test func refusedMethodsNameTheRightOneAndHeadGetsNoBody() throws {
        let login = try Login()
        let host = "Host: 127.0.0.1:\(login.port)"
        let head = ListenerClient.exchange("HEAD /callback HTTP/1.1\r\n\(host)\r\n\r\n", port: login.port)
        #expect(head?.contains("\r\nAllow: GET\r\n") == true)
        #expect(head?.hasSuffix("\r\n\r\n") == true)
        #expect(head?.contains("<html") == false)
        login.listener.close()
    }

    @Test func longestQueryPasses() throws {
        let login = try Login()
        let query = String(repeating: "q", count: LoopbackEndpoint.queryLimit)
        #expect(httpStatus(login.navigate("/callback?\(query)")) == 200)
        #expect(login.queries == [query])
        login.listener.close()
    }

    @Test func oldClientsThatNameTheHostAreServed() throws {
        let login = try Login()
        let request = "GET /callback?code=1 HTTP/1.0\r\nhost: 127.0.0.1:\(login.port)\r\n\r\n"
        let response = ListenerClient.exchange(request, port: login.port)
        #expect(httpStatus(response) == 200)
        #expect(response?.contains("\r\nConnection: close\r\n") == true)
        login.listener.close()
    }

    @Test func pageIsAskedForInTheBrowsersLanguage() throws {
        let login = try Login()
        let request =
            "GET /callback HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\nAccept-Language: de\r\nAccept-Language: ru;q=0.5\r\n\r\n"
        #expect(ListenerClient.exchange(request, port: login.port)?.contains("<html lang=\"ru\">") == true)
        login.listener.close()
    }

    @Test func survivesScansPreconnectsAndGarbage() throws {
        let login = try Login()
        let silent = (0..<5).compactMap { _ in ListenerClient(port: login.port) }
        for _ in 0..<20 { ListenerClient(port: login.port)?.disconnect() }
        for _ in 0..<5 { ListenerClient(port: login.port)?.reset() }
        let partial = try #require(ListenerClient(port: login.port))
        partial.send("GET /callback?code=1 HTTP/1.1\r\nHost: 127")
        partial.disconnect()
        let clientHello: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]
        for garbage in [clientHello, [0], Array("\r\n\r\n".utf8), Array("GET\n\n".utf8), Array(" \n\n".utf8)] {
            let client = try #require(ListenerClient(port: login.port))
            client.send(garbage)
            #expect(httpStatus(client.readAll()) == 400)
        }
        #expect(login.queries.isEmpty)
        #expect(httpStatus(login.navigate("/callback?code=real")) == 200)
        #expect(login.queries == ["code=real"])
        #expect(silent.count == 5)
        login.listener.close()
    }

    @Test func slowHeadIsCutAtItsDeadline() throws {
        let login = try Login(limits: .init(headMillis: 100))
        let dripping = try #require(ListenerClient(port: login.port))
        dripping.send("GET /callback?code=1 HT")
        #expect(httpStatus(dripping.readAll()) == 408)
        let silent = try #require(ListenerClient(port: login.port))
        #expect(silent.readAll() == "")
        #expect(login.queries.isEmpty)
        #expect(httpStatus(login.navigate("/callback?code=real")) == 200)
        login.listener.close()
    }

    @Test func crowdOfSilentConnectionsDoesNotKeepTheRedirectOut() throws {
        let login = try Login()
        var crowd: [ListenerClient] = []
        for _ in 0..<100 {
            let client = try #require(ListenerClient(port: login.port))
            client.send("GET /callback?code=1 HTTP/1.1\r\n")
            crowd.append(client)
        }
        #expect(httpStatus(login.navigate("/callback?code=real")) == 200)
        #expect(login.queries == ["code=real"])
        // The longest waiting were cut to make room, the latest still have their time.
        #expect(crowd[0].readAll()?.isEmpty != false)
        crowd[99].send("Host: 127.0.0.1:\(login.port)\r\n\r\n")
        #expect(httpStatus(crowd[99].readAll()) == 200)
        login.listener.close()
    }

    @Test func headInSinglesIsRead() throws {
        let login = try Login()
        let client = try #require(ListenerClient(port: login.port))
        for byte in ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(login.port)").utf8 {
            client.send([byte])
        }
        #expect(httpStatus(client.readAll()) == 200)
        login.listener.close()
    }

    @Test func bodyThatNobodyReadsDoesNotResetTheAnswer() throws {
        let login = try Login()
        let client = try #require(ListenerClient(port: login.port))
        client.send(
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\nContent-Length: 100000\r\n\r\n"
                + String(repeating: "x", count: 100_000))
        #expect(httpStatus(client.readAll()) == 405)
        login.listener.close()
    }

    @Test func pageWaitsForTheAnswerAndTheFirstOneCounts() async throws {
        let login = try Login(answers: nil)
        let client = try #require(ListenerClient(port: login.port))
        client.send(ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(login.port)"))
        client.finishSending()
        let delivery = try await login.delivered(1)[0]
        delivery.answer(.failed)
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { delivery.answer(.signedIn) } }
        }
        let response = client.readAll()
        #expect(httpStatus(response) == 200)
        #expect(response?.contains("Return to the app and try again") == true)
        delivery.answer(.signedIn)
        login.listener.close()
    }

    @Test func undecidedRedirectGetsThePendingPage() throws {
        let login = try Login(limits: .init(answerMillis: 50), answers: nil)
        let response = login.navigate("/callback?code=1")
        #expect(httpStatus(response) == 200)
        #expect(response?.contains("Almost there") == true)
        login.listener.close()
    }

    @Test func clientThatGoesAwayWhileItsPageIsAwaitedIsNoTrouble() async throws {
        let login = try Login(answers: nil)
        for (index, leave) in [ListenerClient.disconnect, ListenerClient.reset].enumerated() {
            let client = try #require(ListenerClient(port: login.port))
            client.send(ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(login.port)"))
            _ = try await login.delivered(index + 1)
            leave(client)()
        }
        for delivery in try await login.delivered(2) { delivery.answer(.signedIn) }
        #expect(httpStatus(ListenerClient.exchange("GET / HTTP/1.1\r\n\r\n", port: login.port)) == 400)
        login.listener.close()
    }

    @Test("B43: a redirect that comes twice is delivered twice, and answered twice")
    func secondDelivery() throws {
        let login = try Login()
        login.listener.close(afterMillis: 60_000)
        #expect(httpStatus(login.navigate("/callback?code=1")) == 200)
        #expect(httpStatus(login.navigate("/callback?code=1")) == 200)
        #expect(login.queries == ["code=1", "code=1"])
        login.listener.close()
    }

    @Test("B42: what the query says is not the listener's to judge")
    func errorWithoutState() throws {
        let login = try Login(answers: .failed)
        #expect(httpStatus(login.navigate("/callback?error=access_denied")) == 200)
        #expect(login.queries == ["error=access_denied"])
        login.listener.close()
    }

    @Test func newLoginTakesOverTheListener() throws {
        let login = try Login(answers: .replaced)
        #expect(login.navigate("/callback?code=1")?.contains("A newer sign-in has begun") == true)
        login.listener.deliver { $0.answer(.signedIn) }
        #expect(login.navigate("/callback?code=2")?.contains("You are signed in") == true)
        #expect(login.queries == ["code=1"])
        login.listener.close()
    }

    @Test func closeCutsEverythingAndFreesThePortAtOnce() async throws {
        let login = try Login(answers: nil)
        let waiting = try #require(ListenerClient(port: login.port))
        waiting.send(ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(login.port)"))
        let silent = try #require(ListenerClient(port: login.port))
        let delivery = try await login.delivered(1)[0]
        login.listener.close()
        // Answered and cut connections are still known to the kernel: the port is bound again all the same.
        let next = try Login(port: login.port)
        #expect(waiting.readAll()?.isEmpty != false)
        #expect(silent.readAll()?.isEmpty != false)
        delivery.answer(.signedIn)
        login.listener.close()
        #expect(httpStatus(next.navigate("/callback?code=2")) == 200)
        next.listener.close()
        #expect(ListenerClient(port: next.port) == nil)
    }

    @Test func delayedCloseAnswersWhatHasComeEvenWhenTheListenerIsLetGo() async throws {
        var login: Login? = try Login(answers: nil)
        let port = try #require(login?.port)
        let waiting = try #require(ListenerClient(port: port))
        waiting.send(ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(port)"))
        let delivery = try #require(try await login?.delivered(1).first)
        login?.listener.close(afterMillis: 100)
        login = nil
        let undecided = try #require(ListenerClient(port: port))
        undecided.send("GET /callback?code=2 HTTP/1.1\r\n")
        #expect(undecided.readAll()?.isEmpty != false, "cut, without a page")
        #expect(ListenerClient(port: port) == nil)
        delivery.answer(.signedIn)
        #expect(httpStatus(waiting.readAll()) == 200)
    }

    @Test func delayedCloseKeepsTheListenerThatIsLetGo() async throws {
        var login: Login? = try Login()
        let port = try #require(login?.port)
        login?.listener.close(afterMillis: 200)
        login = nil
        let request = ListenerClient.navigation("/callback?code=1", host: "127.0.0.1:\(port)")
        #expect(httpStatus(ListenerClient.exchange(request, port: port)) == 200)
        try await refused(port)
    }

    @Test func closedListenerIsFreedThoughItsDeliveriesAreKept() async throws {
        var login: Login? = try Login()
        let port = try #require(login?.port)
        weak let listener = login?.listener
        #expect(httpStatus(login?.navigate("/callback?code=1")) == 200)
        login?.listener.close(afterMillis: 10)
        login = nil
        try await refused(port)
        while listener != nil { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func listenerThatIsLetGoStops() async throws {
        try await refused(try Login().port)
    }

    /// Returns once nobody listens any more.
    private func refused(_ port: UInt16) async throws {
        while ListenerClient(port: port) != nil { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func localhostListensOnBothFamiliesOnOnePort() throws {
        let login = try Login(host: "LOCALHOST")
        let request = ListenerClient.navigation("/callback?code=1", host: "localhost:\(login.port)")
        #expect(httpStatus(ListenerClient.exchange(request, port: login.port, .v4)) == 200)
        #expect(httpStatus(ListenerClient.exchange(request, port: login.port, .v6)) == 200)
        #expect(httpStatus(login.navigate("/callback?code=1")) == 400)
        login.listener.close()
        #expect(ListenerClient(port: login.port, .v4) == nil)
        #expect(ListenerClient(port: login.port, .v6) == nil)
    }

    @Test func ipv6HostIsBracketed() throws {
        let login = try Login(host: "::1", path: "")
        let request = ListenerClient.navigation("/?code=1", host: "[::1]:\(login.port)")
        #expect(httpStatus(ListenerClient.exchange(request, port: login.port, .v6)) == 200)
        login.listener.close()
    }

    @Test func portThatIsTakenIsAnError() throws {
        let login = try Login()
        #expect(throws: OAuthError.self) { try Login(port: login.port) }
        // On one family is enough: a browser might go there first.
        #expect(throws: OAuthError.self) { try Login(host: "localhost", port: login.port) }
        login.listener.close()
        #expect(throws: OAuthError.self) { try Login(host: "0.0.0.0") }
        #expect(throws: OAuthError.self) { try Login(host: "example.com") }
    }
}
