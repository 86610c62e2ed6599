// SPDX-License-Identifier: Apache-2.0
#include "openssl_shims.h"

#include <openssl/crypto.h>

/* Unless the host has set OpenSSL up before: no atexit handler that frees it under a thread of ours. At load, as the
 * first call into OpenSSL decides, and that may be the store's as well as curl's. */
__attribute__((constructor)) static void keep_openssl_until_the_process_is_gone(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
