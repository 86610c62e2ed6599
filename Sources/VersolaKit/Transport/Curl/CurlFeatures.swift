// SPDX-License-Identifier: Apache-2.0
import CShims

/// What the libcurl at hand can do.
package enum CurlFeatures {
    package static let http2 =
        curl_version_info(CURLVERSION_FIRST).map { $0.pointee.features & Int32(CURL_VERSION_HTTP2) != 0 } ?? false
}
