// SPDX-License-Identifier: Apache-2.0

extension OAuthError {
    /// The store cannot be read or written.
    ///
    /// - Parameter detail: the operation and the system's words; no secret.
    static func storeUnavailable(_ detail: String) -> OAuthError {
        .configuration(.storeUnavailable, Diagnostics("store: \(detail)"))
    }

    static func unlockRequired(_ detail: String) -> OAuthError {
        .recoverable(.unlockRequired, Diagnostics("store: \(detail)"))
    }

    /// Runs work on files whose failure means that the store is unavailable.
    static func mappingSystemFailures<Result>(
        _ doing: String, _ body: () throws(SystemFailure) -> Result
    ) throws(OAuthError) -> Result {
        do {
            return try body()
        } catch {
            throw .storeUnavailable("\(doing): \(error.text)")
        }
    }
}
