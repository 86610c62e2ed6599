// SPDX-License-Identifier: Apache-2.0

/// HTTP by curl on the I/O thread. Connections are shared by every transport of the process, as far as curl finds their TLS
/// and proxy settings equal.
final class CurlTransport: HTTPTransport {
    let settings: TransportSettings
    let trust: CurlTrust?

    /// Reads the CA file; may block for a disk's time.
    /// - Throws: `.configuration(.invalidConfiguration)` if that file cannot be read or holds no certificate.
    init(_ settings: TransportSettings) throws(OAuthError) {
        self.settings = settings
        if let file = settings.caFile { trust = try CurlTrust(caFile: file) } else { trust = nil }
    }

    func send(_ request: HTTPRequest) async -> Result<HTTPResponse, TransportFailure> {
        await withCheckedContinuation { continuation in
            send(request) { continuation.resume(returning: $0) }
        }
    }

    /// Calls `completion` exactly once, on the I/O thread; on the caller's only when there is no such thread (`IOLoop`).
    func send(
        _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, TransportFailure>) -> Void
    ) {
        let loop = IOLoop.shared
        let started = loop.perform { [self] in
            switch url(of: request) {
            case .success((let url, let parts)):
                guard let transfer = CurlTransfer(request, url, parts, settings, trust, completion) else {
                    return completion(.failure(.refused("out of memory")))
                }
                loop.start(transfer)
            case .failure(let refusal):
                completion(.failure(refusal))
            }
        }
        if !started { completion(.failure(.refused("no I/O thread in this process"))) }
    }

    /// The parsed URL of a request that may be sent at all.
    private func url(of request: HTTPRequest) -> Result<(CurlURL, URLParts), TransportFailure> {
        guard let url = CurlURL(request.url), let parts = url.parts else {
            return .failure(.refused("not an http or https URL"))
        }
        guard parts.isSecure else { return .failure(.refused("plain http to \(parts.host)")) }
        guard !parts.hasUserInfo else { return .failure(.refused("a user name in the URL")) }
        // What would end a line would let a value become a field of its own (RFC 9112 §11.1).
        guard isToken(request.method), request.fields.allSatisfy({ isToken($0.name) && isFieldValue($0.value) }) else {
            return .failure(.refused("a malformed method or header field"))
        }
        return .success((url, parts))
    }

    /// RFC 9110 §5.6.2.
    private func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// RFC 9110 §5.5.
    private func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 == UInt8(ascii: "\t") || $0 >= 0x20 && $0 != 0x7f }
    }
}

extension TransportFailure {
    /// Never left the process.
    fileprivate static func refused(_ detail: String) -> TransportFailure {
        TransportFailure(reason: .connect, detail: "refused before a connection: " + detail, mayHaveBeenSent: false)
    }
}
