// SPDX-License-Identifier: Apache-2.0

/// The library's version, the header's `VERSOLA_VERSION_STRING`; sent in `User-Agent`.
let versolaVersion = "0.1.0"
