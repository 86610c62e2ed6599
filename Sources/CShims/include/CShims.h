// SPDX-License-Identifier: Apache-2.0
#ifndef CSHIMS_H
#define CSHIMS_H

#include "linux_shims.h"
#include "curl_shims.h"
#include "openssl_shims.h"
#include "browser_shims.h"

#endif
