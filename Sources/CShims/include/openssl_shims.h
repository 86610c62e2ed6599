// SPDX-License-Identifier: Apache-2.0
#ifndef OPENSSL_SHIMS_H
#define OPENSSL_SHIMS_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdbool.h>

/// False when OpenSSL is being freed, or was: then nothing of it may be called. Else it stays until
/// `shim_openssl_leave()`. Nests.
bool shim_openssl_enter(void);
void shim_openssl_leave(void);

#endif
