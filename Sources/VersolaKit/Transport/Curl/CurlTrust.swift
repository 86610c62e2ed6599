// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// The system's certificates and a CA file's beside them, as one PEM text.
///
/// It is handed to curl as a blob because curl tells connections and TLS sessions apart by it: one made under an extra CA is
/// never given to a transport without. (Certificates added by a callback to the store of `SSL_CTX` are invisible to that,
/// and since 7.87 that store may be shared between connections.)
final class CurlTrust: Sendable {
    let pem: [UInt8]

    init(caFile: String) throws(OAuthError) {
        guard let extra = readFile(caFile, limit: 1 << 24) else {
            throw .configuration(.invalidConfiguration, "the CA file \(caFile) cannot be read")
        }
        guard Self.holdsCertificates(extra) else {
            throw .configuration(.invalidConfiguration, "the CA file \(caFile) holds no PEM certificates")
        }
        // A system without a bundle, or with a broken one, still has its directory, which curl reads in any case.
        let system = readFile(Self.systemBundle, limit: 1 << 24) ?? []
        pem = Self.holdsCertificates(system) ? system + [UInt8(ascii: "\n")] + extra : extra
    }

    private static func holdsCertificates(_ pem: [UInt8]) -> Bool {
        OpenSSL.quietly { shim_pem_certificate_count(pem, pem.count) > 0 }
    }

    private static let systemBundle = OpenSSL.whileThere {
        let easy = curl_easy_init()
        defer { curl_easy_cleanup(easy) }
        return String(cString: easy.flatMap { shim_curl_get_string($0, CURLINFO_CAINFO) } ?? shim_openssl_ca_file())
    }
}
