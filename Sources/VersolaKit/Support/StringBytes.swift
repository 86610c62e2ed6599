// SPDX-License-Identifier: Apache-2.0

extension String {
    /// Whether both are the same bytes. `==` is not that question: it holds for different spellings of one character, and
    /// identifiers are compared without any normalization (OpenID Connect Core §14).
    func hasSameBytes(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}
