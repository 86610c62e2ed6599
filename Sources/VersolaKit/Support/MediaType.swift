// SPDX-License-Identifier: Apache-2.0

/// The type that a media type names: lower-case, because it is compared without case, and without its parameters (RFC 9110
/// §8.3.1).
func mediaType(_ text: String) -> String {
    text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
}
