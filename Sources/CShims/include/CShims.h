// SPDX-License-Identifier: Apache-2.0
#ifndef CSHIMS_H
#define CSHIMS_H

#include "browser_shims.h"
#include "linux_shims.h"
#include "process_shims.h"
#include "lock_registry.h"
#include "curl_shims.h"
#include "dart_shims.h"
#include "jose_shims.h"
#include "openssl_shims.h"
#include "browser_shims.h"

#endif
