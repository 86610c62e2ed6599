// SPDX-License-Identifier: Apache-2.0
#ifndef JOSE_SHIMS_H
#define JOSE_SHIMS_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

// Public keys from their numbers. OpenSSL builds keys from parameter lists whose names are string macros, which Swift
// cannot read. Both return NULL when OpenSSL refuses the numbers (a point off its curve); the caller frees the key.
EVP_PKEY *versola_rsa_public_key(const uint8_t *n, size_t n_length, const uint8_t *e, size_t e_length);
// `point` is uncompressed: 0x04, x, y (SEC 1 §2.3.3).
EVP_PKEY *versola_ec_public_key(const char *group, const uint8_t *point, size_t length);

#endif
