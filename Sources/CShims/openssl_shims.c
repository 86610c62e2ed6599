// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "openssl_shims.h"
#include "process_shims.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <time.h>

/* Threads that are inside, and how deep this one is. */
static atomic_long inside;
static _Thread_local long depth;
static atomic_bool gone;

/* OpenSSL is about to free itself: at exit, by the handler of a host that had set it up first, as Python's ssl module
 * does. Other threads go on meanwhile. Those that are inside are waited for, which is a matter of microseconds, but not
 * for ever; in a forked child they did not come along. */
static void before_cleanup(void) {
    if (shim_process_is_forked_child()) return;
    atomic_store(&gone, true);
    const struct timespec moment = {0, 100 * 1000};
    for (int i = 0; i < 20 * 1000 && atomic_load(&inside) > (depth > 0); i++) nanosleep(&moment, NULL);
}

/* Unless the host has set OpenSSL up before: no atexit handler that frees it under a thread of ours. At load, as the
 * first call into OpenSSL decides, and that may be the store's as well as curl's. */
__attribute__((constructor)) static void keep_openssl_until_the_process_is_gone(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    OPENSSL_atexit(before_cleanup);
}

bool shim_openssl_enter(void) {
    if (depth > 0) {
        depth++;
        return true;
    }
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&gone)) {
        atomic_fetch_sub(&inside, 1);
        return false;
    }
    depth = 1;
    return true;
}

void shim_openssl_leave(void) {
    if (--depth == 0) atomic_fetch_sub(&inside, 1);
}
