// SPDX-License-Identifier: Apache-2.0
import CShims

/// Compares secrets without telling by its time where they differ. Lengths are no secret.
func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}
