// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A NUL-terminated copy of a text that C may read until its owner goes; zeroed then.
final class CText: @unchecked Sendable {
    let count: Int
    private let storage: UnsafeMutablePointer<CChar>

    var pointer: UnsafePointer<CChar> { UnsafePointer(storage) }

    init(_ text: String) {
        let utf8 = text.utf8
        storage = .allocate(capacity: utf8.count + 1)
        count = utf8.count
        for (index, byte) in utf8.enumerated() { (storage + index).initialize(to: CChar(bitPattern: byte)) }
        (storage + count).initialize(to: 0)
    }

    deinit {
        explicit_bzero(storage, count)
        storage.deallocate()
    }
}

/// A text given to the caller.
final class StringObject: Sendable {
    let text: CText
    init(_ text: String) { self.text = CText(text) }
}
