// SPDX-License-Identifier: Apache-2.0
import Glibc

@testable import VersolaKit

/// A raw TCP client: says exactly what it is told, and what a browser never would.
final class ListenerClient {
    private var descriptor: Int32

    /// `nil` when nobody listens there.
    init?(port: UInt16, _ family: LoopbackSocket.Family = .v4) {
        descriptor = socket(family.rawValue, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let connected =
            switch family {
            case .v4:
                Self.connect(
                    descriptor,
                    sockaddr_in(
                        sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
                        sin_addr: in_addr(s_addr: UInt32(0x7f00_0001).bigEndian), sin_zero: (0, 0, 0, 0, 0, 0, 0, 0)))
            case .v6:
                Self.connect(
                    descriptor,
                    sockaddr_in6(
                        sin6_family: sa_family_t(AF_INET6), sin6_port: port.bigEndian, sin6_flowinfo: 0,
                        sin6_addr: in6addr_loopback, sin6_scope_id: 0))
            }
        guard connected else {
            disconnect()
            return nil
        }
    }

    deinit {
        disconnect()
    }

    func disconnect() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Closes with a reset, as a killed browser may.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        disconnect()
    }

    /// No more is to come, but an answer is still wanted.
    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        send(text.utf8)
    }

    /// Until the listener has closed; `nil` when it reset the connection or said nothing for long.
    func readAll() -> String? {
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: received, as: UTF8.self) }
            received += chunk.prefix(count)
        }
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: Address) -> Bool {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
    }
}

extension ListenerClient {
    /// One request from connecting to the end of the answer.
    static func exchange(_ request: String, port: UInt16, _ family: LoopbackSocket.Family = .v4) -> String? {
        guard let client = ListenerClient(port: port, family), client.send(request) else { return nil }
        return client.readAll()
    }

    /// What a browser sends for a redirect.
    static func navigation(_ target: String, host: String, _ more: String...) -> String {
        let fields = ["Host: \(host)", "Sec-Fetch-Mode: navigate", "Accept-Language: en"] + more
        return "GET \(target) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }
}

/// The status of a response's first line.
func httpStatus(_ response: String?) -> Int? {
    response.flatMap { $0.hasPrefix("HTTP/1.1 ") ? Int($0.dropFirst(9).prefix(3)) : nil }
}
