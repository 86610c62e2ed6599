// SPDX-License-Identifier: Apache-2.0
#ifndef DART_SHIMS_H
#define DART_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

/* Posts an address to a Dart port through Dart_PostCObject (dart_native_api.h); false when the port is closed: then
 * nothing was taken. */
bool shim_dart_post(const void *post_c_object, int64_t port, const void *address);

#endif
