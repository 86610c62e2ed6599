// SPDX-License-Identifier: Apache-2.0
import CShims

/// Compares two texts in a time that tells nothing about where they differ; their lengths are no secret.
func equalInConstantTime(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    return left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}
