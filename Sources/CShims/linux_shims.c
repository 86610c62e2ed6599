// SPDX-License-Identifier: Apache-2.0
#include "linux_shims.h"
