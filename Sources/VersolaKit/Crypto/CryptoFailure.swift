// SPDX-License-Identifier: Apache-2.0
import CShims

/// OpenSSL could not do its work (no memory, no provider). Never a verdict on the data: a wrong tag is not a failure.
struct CryptoFailure: Error, Equatable, Sendable {
    /// What was tried, for logs.
    var operation: String

    /// Also empties this thread's OpenSSL error queue, which the host's own use of OpenSSL would misread.
    init(_ operation: String) {
        self.operation = operation
        ERR_clear_error()
    }
}
