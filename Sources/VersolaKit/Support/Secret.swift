// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Bytes that must not outlive their use: a token, a key, a verifier. Zeroed when the last reference goes; prints as nothing.
final class Secret: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ source: some Collection<UInt8>) {
        bytes = .allocate(byteCount: source.count, alignment: 1)
        bytes.copyBytes(from: source)
    }

    convenience init(_ text: String) {
        self.init(text.utf8)
    }

    deinit {
        if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
        bytes.deallocate()
    }

    var count: Int { bytes.count }

    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(bytes))
    }

    /// A copy as text, for the places that need one (a form body, a header field).
    var text: String { String(decoding: bytes, as: UTF8.self) }

    var description: String { "(secret)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
