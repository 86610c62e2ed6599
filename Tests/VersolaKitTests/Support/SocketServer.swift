// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import VersolaKit

/// A server on a loopback port that does to each connection what a test says, on a thread of its own.
final class SocketServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let seen = Lock<(connections: Int, requests: [String])>((0, []))

    init(address: String = "127.0.0.1", _ serve: @escaping @Sendable (Connection) -> Void) throws {
        (listener, port) = try Self.bound(to: address)
        guard listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        let fd = listener
        Thread.detachNewThread { [self] in
            while case let socket = accept(fd, nil, nil), socket >= 0 {
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                let index = seen.withLock { seen in
                    seen.connections += 1
                    return seen.connections - 1
                }
                Thread.detachNewThread { [self] in
                    let connection = Connection(socket, index, port) { [self] request in
                        seen.withLock { $0.requests.append(request) }
                    }
                    serve(connection)
                    connection.close()
                }
            }
            Glibc.close(fd)
        }
    }

    var connections: Int { seen.withLock { $0.connections } }
    /// Every request that was read, head and body.
    var requests: [String] { seen.withLock { $0.requests } }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    func close() {
        // Ends `accept`.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Answers each request of each connection alike.
    static func answering(_ response: String) throws -> SocketServer {
        try SocketServer { connection in
            while connection.readRequest() != nil { connection.write(response) }
        }
    }

    /// A port on which nothing listens.
    static func freePort() throws -> UInt16 {
        let (socket, port) = try bound(to: "127.0.0.1")
        Glibc.close(socket)
        return port
    }

    private static func bound(to address: String) throws -> (socket: Int32, port: UInt16) {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, address, &name.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, size) != 0 || getsockname(fd, $0, &size) != 0
            }
        }
        guard !failed else { throw POSIXError(.EADDRINUSE) }
        return (fd, UInt16(bigEndian: name.sin_port))
    }
}

final class Connection: @unchecked Sendable {
    let index: Int
    /// The server's.
    let port: UInt16
    private var socket: Int32
    private let record: (String) -> Void

    init(_ socket: Int32, _ index: Int, _ port: UInt16, _ record: @escaping (String) -> Void) {
        self.port = port
        self.socket = socket
        self.index = index
        self.record = record
    }

    /// `nil` when the client has closed.
    func readRequest() -> String? {
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix("\r\n\r\n") {
            guard recv(socket, &byte, 1, 0) == 1 else { return nil }
            text.unicodeScalars.append(UnicodeScalar(byte))
        }
        let length = text.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
        var body = [UInt8](repeating: 0, count: length ?? 0)
        if !body.isEmpty {
            guard recv(socket, &body, body.count, Int32(MSG_WAITALL)) == body.count else { return nil }
        }
        text += String(decoding: body, as: UTF8.self)
        record(text)
        return text
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// False when the client is gone.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(socket, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Blocks until the client closes.
    func waitForEnd() {
        var byte: UInt8 = 0
        while recv(socket, &byte, 1, 0) == 1 {}
    }

    /// Ends with a TCP reset.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        Glibc.close(socket)
        socket = -1
    }

    func close() {
        guard socket >= 0 else { return }
        // A child started between `accept` and its close-on-exec flag may hold it too.
        shutdown(socket, Int32(SHUT_RDWR))
        Glibc.close(socket)
        socket = -1
    }
}
