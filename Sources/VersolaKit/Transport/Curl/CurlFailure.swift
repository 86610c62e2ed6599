// SPDX-License-Identifier: Apache-2.0
import CShims

/// What curl's verdict on a transfer means (behaviour §2, `Network`).
///
/// | curl | reason |
/// |---|---|
/// | host not resolved | dns |
/// | proxy not resolved, not reached, refused the tunnel, spoke badly | proxy |
/// | host not reached | connect |
/// | handshake, certificate, CA bundle | tls |
/// | connect or request time over | timeout |
/// | closed, cut or garbled after that; our refusal to send twice | reset |
/// | anything else, local included (no memory, no descriptors) | connect before the sending, reset after it |
extension TransportFailure {
    /// - Parameters:
    ///   - code: not `CURLE_OK`.
    ///   - message: curl's own text.
    init(_ code: CURLcode, easy: UnsafeMutableRawPointer, host: String, message: String, mayHaveBeenSent: Bool) {
        self.init(
            reason: Self.reason(code, easy: easy, host: host, message: message, mayHaveBeenSent: mayHaveBeenSent),
            detail: Self.detail(code, easy: easy, host: host, message: message), mayHaveBeenSent: mayHaveBeenSent)
    }

    private static func reason(
        _ code: CURLcode, easy: UnsafeMutableRawPointer, host: String, message: String, mayHaveBeenSent: Bool
    ) -> NetworkReason {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .dns
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
            return .proxy
        case CURLE_COULDNT_CONNECT:
            // Only the text says whom curl failed to reach.
            let other = message.hasPrefix("Failed to connect to ") && !message.lowercased().contains(host)
            return other ? .proxy : .connect
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            return .tls
        case CURLE_OPERATION_TIMEDOUT:
            return .timeout
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_WEIRD_SERVER_REPLY,
            CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_WRITE_ERROR, CURLE_ABORTED_BY_CALLBACK:
            // Before the sending it is the tunnel that was refused: the proxy's CONNECT has answered with this status.
            let tunnel = shim_curl_get_long(easy, CURLINFO_HTTP_CONNECTCODE)
            return !mayHaveBeenSent && tunnel != 0 && tunnel / 100 != 2 ? .proxy : .reset
        default:
            return mayHaveBeenSent ? .reset : .connect
        }
    }

    private static func detail(
        _ code: CURLcode, easy: UnsafeMutableRawPointer, host: String, message: String
    ) -> String {
        let general = String(cString: curl_easy_strerror(code))
        // A proxy's user name and password are before an @.
        let text = message.isEmpty || message.contains("@") ? general : message
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return text }
        let verdict = shim_curl_get_long(easy, CURLINFO_SSL_VERIFYRESULT)
        let words = String(cString: shim_verify_result_text(verdict))
        switch Int32(truncatingIfNeeded: verdict) {
        // The chain is good, or not yet judged: curl compares the host first.
        case X509_V_OK, X509_V_ERR_UNSPECIFIED: return "certificate for another host than \(host): \(text)"
        case X509_V_ERR_CERT_HAS_EXPIRED: return "expired certificate of \(host): \(words)"
        case X509_V_ERR_CERT_NOT_YET_VALID: return "certificate of \(host) not valid yet: \(words)"
        default: return "untrusted certificate of \(host): \(words)"
        }
    }
}
