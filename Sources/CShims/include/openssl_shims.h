// SPDX-License-Identifier: Apache-2.0
#ifndef OPENSSL_SHIMS_H
#define OPENSSL_SHIMS_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#endif
