// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import VersolaKit

/// A throw-away certificate authority in a directory of its own.
final class TestAuthority: Sendable {
    let directory: URL
    var caFile: String { directory.appendingPathComponent("ca.pem").path }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("versola-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-subj", "/CN=Versola test CA", "-days", "30")
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// Makes `<name>.pem` and `<name>.key` for one subject alternative name, such as `IP:127.0.0.1`.
    func issue(_ name: String, for subject: String, days: Int = 30) throws {
        try "subjectAltName=\(subject)".write(
            to: directory.appendingPathComponent("\(name).ext"), atomically: true, encoding: .utf8)
        try openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "\(name).key",
            "-out", "\(name).csr", "-subj", "/CN=\(name)")
        try openssl(
            "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "\(name).pem", "-days", "\(days)", "-extfile", "\(name).ext")
    }

    private func openssl(_ arguments: String...) throws {
        let child = try ChildProcess(["openssl"] + arguments, in: directory)
        guard child.waitForExit() == 0 else { throw POSIXError(.EINVAL) }
    }
}

/// `openssl s_server`: one connection at a time, whose plain bytes go through `answer`.
final class TLSServer: Sendable {
    let port: UInt16
    private let process: ChildProcess

    /// - Parameter serve: runs on a thread of its own with what the client sends and what it is to receive.
    init(
        _ authority: TestAuthority, _ name: String, options: [String] = [],
        _ serve: @escaping @Sendable (_ reading: FileHandle, _ writing: FileHandle) -> Void
    ) throws {
        process = try ChildProcess(
            ["openssl", "s_server", "-quiet", "-accept", "127.0.0.1:0", "-cert", "\(name).pem"]
                + ["-key", "\(name).key"] + options, in: authority.directory)
        let (reading, writing) = (process.output, process.input)
        Thread.detachNewThread { serve(reading, writing) }
        port = try Self.listeningPort(of: process.pid)
    }

    /// Answers every request with the text "ok", connection kept alive.
    static func answeringOK(_ authority: TestAuthority, _ name: String, options: [String] = []) throws -> TLSServer {
        try TLSServer(authority, name, options: options) { reading, writing in
            var text = ""
            while case let data = reading.availableData, !data.isEmpty {
                text += String(decoding: data, as: UTF8.self)
                guard text.hasSuffix("\r\n\r\n") else { continue }
                text = ""
                writing.write(Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
            }
        }
    }

    var url: String { "https://127.0.0.1:\(port)/" }

    func close() {
        process.end()
    }

    /// By the kernel's tables: a connection to try would be the one that the server takes.
    private static func listeningPort(of pid: pid_t) throws -> UInt16 {
        for _ in 0..<2_000 {
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
            let links = files.map {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
            }
            let sockets = String(decoding: readFile("/proc/net/tcp", limit: 1 << 24) ?? [], as: UTF8.self)
            for columns in sockets.split(separator: "\n").map({ $0.split(separator: " ") })
            where columns.count > 9 && columns[3] == "0A" && links.contains("socket:[\(columns[9])]") {
                if let port = UInt16(columns[1].suffix(4), radix: 16) { return port }
            }
            usleep(5_000)
        }
        throw POSIXError(.ETIMEDOUT)
    }
}
