// SPDX-License-Identifier: Apache-2.0
import CShims
import Glibc

/// Whatever calls OpenSSL, curl's TLS too, does so inside of one of these.
enum OpenSSL {
    /// Runs `body` and takes back what it left in the thread's error queue: the host's own TLS reads that queue, and an
    /// entry of ours would look like a failure of its connection.
    static func quietly<Result>(_ body: () -> Result) -> Result {
        whileThere {
            ERR_set_mark()
            defer { ERR_pop_to_mark() }
            return body()
        }
    }

    /// Runs `body` while OpenSSL is there. A host that has set it up before us frees it at exit, under our threads: from then
    /// on a thread stays here, as the process ends with all of them in a moment.
    static func whileThere<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        while !shim_openssl_enter() { pause() }
        defer { shim_openssl_leave() }
        return try body()
    }

    /// Frees something of OpenSSL's, unless all of it was freed before.
    static func free(_ body: () -> Void) {
        guard shim_openssl_enter() else { return }
        body()
        shim_openssl_leave()
    }
}

extension OAuthError {
    /// OpenSSL itself does not work: a broken openssl.cnf, a provider that cannot be loaded, no memory.
    static func cryptoUnavailable(_ task: String) -> OAuthError {
        .configuration(.invalidConfiguration, "OpenSSL could not \(task): check its configuration and providers.")
    }
}
