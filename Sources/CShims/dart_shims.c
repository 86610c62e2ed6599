// SPDX-License-Identifier: Apache-2.0
#include "dart_shims.h"

/* The part of dart_native_api.h that an integer needs: the type tag, then a union whose largest member has five
 * words. */
typedef struct {
    int32_t type;
    union {
        int64_t as_int64;
        void *words[5];
    } value;
} dart_c_object;

enum { dart_c_object_int64 = 3 };

bool shim_dart_post(const void *post_c_object, int64_t port, const void *address) {
    bool (*post)(int64_t, dart_c_object *) = (bool (*)(int64_t, dart_c_object *))(uintptr_t)post_c_object;
    dart_c_object message = {.type = dart_c_object_int64, .value = {.as_int64 = (int64_t)(uintptr_t)address}};
    return post(port, &message);
}
