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
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = directory
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw POSIXError(.EINVAL) }
    }
}

/// `openssl s_server`: one connection at a time, whose plain bytes go through `answer`.
final class TLSServer: @unchecked Sendable {
    let port: UInt16
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(
        _ authority: TestAuthority, _ name: String, options: [String] = [],
        _ serve: @escaping @Sendable (FileHandle, FileHandle) -> Void
    ) throws {
        port = try SocketServer.freePort()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["openssl", "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-cert", "\(name).pem"]
            + ["-key", "\(name).key"] + options
        process.currentDirectoryURL = authority.directory
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let (reading, writing) = (output.fileHandleForReading, input.fileHandleForWriting)
        Thread.detachNewThread { serve(reading, writing) }
        while !isListening { usleep(5_000) }
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
        // SIGTERM is blocked in what a Dispatch thread has spawned.
        kill(process.processIdentifier, SIGKILL)
    }

    private var isListening: Bool {
        let local = "0100007F:" + String(format: "%04X", port)
        let sockets = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        return !process.isRunning
            || sockets.split(separator: "\n").contains { line in
                let columns = line.split(separator: " ")
                return columns.count > 3 && columns[1] == local && columns[3] == "0A"
            }
    }
}
