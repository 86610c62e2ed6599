// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import VersolaKit

@Suite struct TransportTLSTests {
    let authority: TestAuthority
    let trusting: CurlTransport
    let plain: CurlTransport

    init() throws {
        authority = try TestAuthority()
        try authority.issue("good", for: "IP:127.0.0.1")
        trusting = try CurlTransport(
            TransportSettings(requestTimeoutMillis: 3_000, caFile: authority.caFile, proxy: ""))
        plain = try CurlTransport(TransportSettings(requestTimeoutMillis: 3_000, proxy: ""))
    }

    @Test func aCAFileIsTrustedAndWithoutItTheCertificateIsUntrusted() async throws {
        let server = try TLSServer.answeringOK(authority, "good")
        defer { server.close() }
        let request = HTTPRequest(method: "GET", url: server.url)
        let failure = try #require(await plain.send(request).failure)
        #expect(failure.reason == .tls && !failure.mayHaveBeenSent)
        #expect(failure.detail.contains("untrusted certificate of 127.0.0.1"))
        #expect(try await trusting.send(request).get().status == 200)
    }

    @Test func theCAFileIsBesideTheSystemsCertificates() throws {
        let trust = try CurlTrust(caFile: authority.caFile)
        let pem = String(decoding: trust.pem, as: UTF8.self)
        let own = try String(contentsOfFile: authority.caFile, encoding: .utf8)
        #expect(pem.hasSuffix(own))
        #expect(pem.components(separatedBy: "BEGIN CERTIFICATE").count > 50, "the system's bundle is missing")
    }

    @Test func aConnectionMadeUnderACAFileIsNotGivenToATransportWithoutIt() async throws {
        let server = try TLSServer.answeringOK(authority, "good")
        defer { server.close() }
        let request = HTTPRequest(method: "GET", url: server.url)
        #expect(try await trusting.send(request).get().status == 200)
        // The server takes one connection at a time and is still at the first: another one waits for its handshake (or
        // is untrusted, should the first have been closed meanwhile).
        let hasty = try CurlTransport(TransportSettings(requestTimeoutMillis: 300, proxy: ""))
        let failure = try #require(await hasty.send(request).failure)
        #expect([.timeout, .tls].contains(failure.reason) && !failure.mayHaveBeenSent)
        #expect(try await trusting.send(request).get().status == 200)
    }

    @Test func anExpiredCertificateIsNamed() async throws {
        try authority.issue("expired", for: "IP:127.0.0.1", days: -1)
        let server = try TLSServer.answeringOK(authority, "expired")
        defer { server.close() }
        let failure = try #require(await trusting.send(HTTPRequest(method: "GET", url: server.url)).failure)
        #expect(failure.reason == .tls)
        #expect(failure.detail.contains("expired certificate of 127.0.0.1"))
    }

    @Test func aCertificateForAnotherHostIsNamed() async throws {
        try authority.issue("other", for: "DNS:other.example")
        let server = try TLSServer.answeringOK(authority, "other")
        defer { server.close() }
        let failure = try #require(await trusting.send(HTTPRequest(method: "GET", url: server.url)).failure)
        #expect(failure.reason == .tls)
        #expect(failure.detail.contains("certificate for another host than 127.0.0.1"))
    }

    @Test(arguments: [
        ("IP:127.0.0.1", -1, "expired certificate of the proxy"),
        ("DNS:other.example", 30, "certificate for another host than the proxy"),
    ])
    func aCertificateOfTheProxyIsNotTakenForTheHosts(subject: String, days: Int, words: String) async throws {
        try authority.issue("proxy", for: subject, days: days)
        let proxy = try TLSServer.answeringOK(authority, "proxy")
        defer { proxy.close() }
        let proxied = try CurlTransport(TransportSettings(caFile: authority.caFile, proxy: proxy.url))
        let request = HTTPRequest(method: "GET", url: "https://versola.invalid/")
        let failure = try #require(await proxied.send(request).failure)
        #expect(failure.reason == .tls && !failure.mayHaveBeenSent)
        #expect(failure.detail.hasPrefix(words))
    }

    @Test func tls11IsRefused() async throws {
        let server = try TLSServer.answeringOK(authority, "good", options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
        defer { server.close() }
        let failure = try #require(await trusting.send(HTTPRequest(method: "GET", url: server.url)).failure)
        #expect(failure.reason == .tls && !failure.mayHaveBeenSent)
    }

    @Test func tls12IsAccepted() async throws {
        let server = try TLSServer.answeringOK(authority, "good", options: ["-tls1_2"])
        defer { server.close() }
        #expect(try await trusting.send(HTTPRequest(method: "GET", url: server.url)).get().status == 200)
    }

    /// A server that refuses every HTTP/2 stream invites curl to send the request again, even on a fresh connection.
    @Test func aRefusedStreamIsNotSentAgain() async throws {
        let streams = Lock(0)
        let server = try TLSServer(authority, "good", options: ["-alpn", "h2"]) { reading, writing in
            var input = Data()
            func take(_ count: Int) -> Data? {
                while input.count < count {
                    let more = reading.availableData
                    if more.isEmpty { return nil }
                    input.append(more)
                }
                defer { input = Data(input.dropFirst(count)) }
                return Data(input.prefix(count))
            }
            // RFC 9113 §3.4: the client's preface; then frames of §4.1.
            guard take(24) != nil else { return }
            writing.write(Data([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            while let head = take(9), take(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])) != nil {
                guard head[3] == 1 else { continue }
                streams.withLock { $0 += 1 }
                writing.write(Data([0, 0, 4, 3, 0]) + head[5...8] + Data([0, 0, 0, 7]))
            }
        }
        defer { server.close() }
        let failure = try #require(await trusting.send(HTTPRequest(method: "GET", url: server.url)).failure)
        #expect(failure.reason == .reset && failure.mayHaveBeenSent)
        #expect(streams.withLock { $0 } == 1)
    }

    @Test func aCAFileThatIsNoneIsInvalidConfiguration() throws {
        let empty = authority.directory.appendingPathComponent("empty.pem").path
        try "nothing".write(toFile: empty, atomically: true, encoding: .utf8)
        let broken = authority.directory.appendingPathComponent("broken.pem").path
        try "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            .write(toFile: broken, atomically: true, encoding: .utf8)
        for file in [empty, broken, "/nonexistent", "/", authority.directory.appendingPathComponent("good.key").path] {
            #expect {
                try CurlTransport(TransportSettings(caFile: file))
            } throws: { error in
                if case OAuthError.configuration(.invalidConfiguration, _)? = error as? OAuthError {
                    true
                } else {
                    false
                }
            }
        }
    }
}
