// SPDX-License-Identifier: Apache-2.0
#ifndef OPENSSL_SHIMS_H
#define OPENSSL_SHIMS_H

#endif
