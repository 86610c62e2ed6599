// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A NUL-terminated copy of a text that C may read until its owner goes; zeroed then.
final class CText: @unchecked Sendable {
    let pointer: UnsafePointer<CChar>
    let count: Int
    private let storage: UnsafeMutableBufferPointer<CChar>

    init(_ text: String) {
        let utf8 = text.utf8
        storage = .allocate(capacity: utf8.count + 1)
        count = utf8.count
        for (index, byte) in utf8.enumerated() { storage.initializeElement(at: index, to: CChar(bitPattern: byte)) }
        storage.initializeElement(at: utf8.count, to: 0)
        pointer = UnsafePointer(storage.baseAddress.unsafelyUnwrapped)
    }

    deinit {
        explicit_bzero(storage.baseAddress, storage.count)
        storage.deallocate()
    }
}

/// A text given to the caller.
final class StringObject: Sendable {
    let text: CText
    init(_ text: String) { self.text = CText(text) }
}
