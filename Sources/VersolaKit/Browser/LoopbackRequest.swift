// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP/1 request (RFC 9112 §2.1). A body, which no request of ours has, is left unread.
struct LoopbackRequest: Equatable, Sendable {
    /// Of the whole head, its closing empty line included.
    static let headLimit = 16 << 10

    var method: String
    /// As sent, in any form; visible ASCII only.
    var target: String
    /// In the order received; names may repeat.
    var fields: [HTTPField]

    enum Parsed: Equatable, Sendable {
        /// So far so good; more bytes are needed.
        case incomplete
        case request(LoopbackRequest)
        case bad(LoopbackRefusal)
    }

    /// Reads a head from the beginning of what has come in.
    ///
    /// - Parameter scanned: how many leading bytes an earlier call has answered `.incomplete` for: with it a head that
    ///   drips in is searched once, not once for every drop.
    static func parse(_ bytes: [UInt8], scanned: Int = 0) -> Parsed {
        guard let first = bytes.first else { return .incomplete }
        // Not even a method: a TLS handshake, a scanner's probe. No need to wait for the rest.
        guard isTokenByte(first) else { return .bad(.malformed) }
        guard let end = endOfHead(bytes, from: scanned) else {
            if bytes.count < headLimit { return .incomplete }
            return .bad(bytes.contains(lineFeed) ? .fieldsTooLarge : .targetTooLong)
        }
        guard end <= headLimit else { return .bad(.fieldsTooLarge) }
        return parseHead(bytes[..<end])
    }

    /// The values of a field, name compared without case (RFC 9110 §5.1).
    func values(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
    }

    /// The index after the first empty line. A bare LF ends a line for no client we know (RFC 9112 §2.2 lets us refuse it):
    /// it is found malformed in ``parseHead(_:)``, and ends the head here lest such a client waits for its deadline.
    private static func endOfHead(_ bytes: [UInt8], from scanned: Int) -> Int? {
        for index in bytes.indices.dropFirst(max(scanned, 1)) where bytes[index] == lineFeed {
            let before = bytes[..<index]
            if before.last == lineFeed || before.suffix(2) == [lineFeed, carriageReturn] { return index + 1 }
        }
        return nil
    }

    private static func parseHead(_ head: ArraySlice<UInt8>) -> Parsed {
        var lines: [ArraySlice<UInt8>] = []
        for line in head.split(separator: lineFeed, omittingEmptySubsequences: false).dropLast() {
            guard line.last == carriageReturn else { return .bad(.malformed) }
            lines.append(line.dropLast())
        }
        guard let requestLine = lines.first else { return .bad(.malformed) }
        let parts = requestLine.split(separator: space, omittingEmptySubsequences: false)
        // RFC 9112 §3: method SP request-target SP HTTP-version.
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(isTokenByte) else { return .bad(.malformed) }
        guard !parts[1].isEmpty, parts[1].allSatisfy({ (0x21...0x7e).contains($0) }) else { return .bad(.malformed) }
        switch String(decoding: parts[2], as: UTF8.self) {
        // A 1.0 client that names its host is as good as any: the answer ends with the connection either way.
        case "HTTP/1.1", "HTTP/1.0": break
        case let other where other.hasPrefix("HTTP/"): return .bad(.versionNotSupported)
        default: return .bad(.malformed)
        }
        var fields: [HTTPField] = []
        for line in lines.dropFirst().dropLast() {
            guard let field = parseField(line) else { return .bad(.malformed) }
            fields.append(field)
        }
        return .request(
            LoopbackRequest(
                method: String(decoding: parts[0], as: UTF8.self), target: String(decoding: parts[1], as: UTF8.self),
                fields: fields))
    }

    /// RFC 9112 §5: a token, at once a colon, a value. Obsolete folding and blanks before the colon are refused (§5.1, §5.2).
    private static func parseField(_ line: ArraySlice<UInt8>) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy(isTokenByte) else { return nil }
        var value = line[(colon + 1)...]
        // RFC 9110 §5.5: no control bytes but the tab.
        guard value.allSatisfy({ $0 == tab || ($0 >= space && $0 != 0x7f) }) else { return nil }
        while let byte = value.first, byte == space || byte == tab { value.removeFirst() }
        while let byte = value.last, byte == space || byte == tab { value.removeLast() }
        return HTTPField(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }

    /// RFC 9110 §5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")
    private static let tab = UInt8(ascii: "\t")
}
