// SPDX-License-Identifier: Apache-2.0
import CShims

/// The SHA-2 functions of JOSE and PKCE.
enum HashFunction: Sendable {
    case sha256, sha384, sha512

    func digest(_ bytes: some Sequence<UInt8>) throws(OAuthError) -> [UInt8] {
        let input = Array(bytes)
        var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let done = OpenSSL.quietly { EVP_Digest(input, input.count, &output, &length, implementation, nil) == 1 }
        guard done else { throw .cryptoUnavailable("hash") }
        return Array(output.prefix(Int(length)))
    }

    /// OpenSSL's implementation, looked up once: a lookup per use costs a lock and a search.
    var implementation: OpaquePointer? {
        switch self {
        case .sha256: Fetched.sha256.pointer
        case .sha384: Fetched.sha384.pointer
        case .sha512: Fetched.sha512.pointer
        }
    }
}

/// An `EVP_MD` that lives as long as the process. It is immutable, hence `@unchecked Sendable`.
private struct Fetched: @unchecked Sendable {
    let pointer: OpaquePointer?

    private init(_ name: String) {
        pointer = OpenSSL.quietly { EVP_MD_fetch(nil, name, nil) }
    }

    static let sha256 = Fetched("SHA256")
    static let sha384 = Fetched("SHA384")
    static let sha512 = Fetched("SHA512")
}
