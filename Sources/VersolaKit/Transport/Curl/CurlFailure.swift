// SPDX-License-Identifier: Apache-2.0
import CShims

/// What curl's verdict on a transfer means (behaviour §2, `Network`).
///
/// | curl | reason |
/// |---|---|
/// | host not resolved | dns |
/// | proxy not resolved, not reached, refused or ended the tunnel, spoke badly | proxy |
/// | host not reached | connect |
/// | handshake, certificate, CA bundle, a proxy's too | tls |
/// | connect or request time over | timeout |
/// | closed, cut or garbled after that; our refusal to send twice | reset |
/// | anything else, local included (no memory, no descriptors) | connect before the sending, reset after it |
extension TransportFailure {
    /// - Parameters:
    ///   - code: not `CURLE_OK`.
    ///   - message: curl's own text.
    init(_ code: CURLcode, easy: UnsafeMutableRawPointer, to url: URLParts, message: String, mayHaveBeenSent: Bool) {
        self.init(
            reason: Self.reason(code, to: url, message: message, mayHaveBeenSent: mayHaveBeenSent),
            detail: Self.detail(code, easy: easy, to: url, message: message), mayHaveBeenSent: mayHaveBeenSent)
    }

    private static func reason(
        _ code: CURLcode, to url: URLParts, message: String, mayHaveBeenSent: Bool
    ) -> NetworkReason {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .dns
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
            return .proxy
        case CURLE_COULDNT_CONNECT:
            return isAboutProxy(message.lowercased(), url) ? .proxy : .connect
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            return .tls
        case CURLE_OPERATION_TIMEDOUT:
            return .timeout
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_WEIRD_SERVER_REPLY,
            CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_WRITE_ERROR, CURLE_ABORTED_BY_CALLBACK:
            // Before the sending nobody but a proxy, asked for a tunnel, has anything to close or to garble.
            return mayHaveBeenSent ? .reset : .proxy
        default:
            return mayHaveBeenSent ? .reset : .connect
        }
    }

    /// Only curl's words say whom it failed to reach: "Failed to connect to ::1 port 443 after 0 ms: …".
    private static func isAboutProxy(_ message: String, _ url: URLParts) -> Bool {
        let failed = "failed to connect to "
        let whom = "\(name(url)) port \(url.port) after "
        return message.hasPrefix(failed) && !message.dropFirst(failed.count).hasPrefix(whom)
    }

    /// The host as curl writes it: an IPv6 address without its brackets.
    private static func name(_ url: URLParts) -> Substring {
        url.host.hasPrefix("[") ? url.host.dropFirst().dropLast() : url.host[...]
    }

    private static func detail(
        _ code: CURLcode, easy: UnsafeMutableRawPointer, to url: URLParts, message: String
    ) -> String {
        let general = String(cString: curl_easy_strerror(code))
        // A proxy's user name and password are before an @.
        let text = message.isEmpty || message.contains("@") ? general : message
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return text }
        let isTheHosts = text.contains(name(url))
        return complaint(about: url.host, shim_curl_get_long(easy, CURLINFO_SSL_VERIFYRESULT))
            ?? complaint(about: "the proxy", shim_curl_get_long(easy, CURLINFO_PROXY_SSL_VERIFYRESULT))
            ?? "certificate for another host than \(isTheHosts ? url.host : "the proxy"): \(text)"
    }

    /// What is wrong with the chain of a certificate; `nil` when it is good, or not yet judged: curl compares the host first.
    private static func complaint(about owner: String, _ verdict: Int) -> String? {
        let words = String(cString: shim_verify_result_text(verdict))
        return switch Int32(truncatingIfNeeded: verdict) {
        case X509_V_OK, X509_V_ERR_UNSPECIFIED: nil
        case X509_V_ERR_CERT_HAS_EXPIRED: "expired certificate of \(owner): \(words)"
        case X509_V_ERR_CERT_NOT_YET_VALID: "certificate of \(owner) not valid yet: \(words)"
        default: "untrusted certificate of \(owner): \(words)"
        }
    }
}
