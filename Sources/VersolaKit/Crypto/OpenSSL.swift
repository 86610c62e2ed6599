// SPDX-License-Identifier: Apache-2.0
import CShims

enum OpenSSL {
    /// Runs `body` and takes back what it left in the thread's error queue: the host's own TLS reads that queue, and an
    /// entry of ours would look like a failure of its connection.
    static func quietly<Result>(_ body: () -> Result) -> Result {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return body()
    }
}

extension OAuthError {
    /// OpenSSL itself does not work: a broken openssl.cnf, a provider that cannot be loaded, no memory.
    static func cryptoUnavailable(_ task: String) -> OAuthError {
        .configuration(.invalidConfiguration, "OpenSSL could not \(task): check its configuration and providers.")
    }
}
