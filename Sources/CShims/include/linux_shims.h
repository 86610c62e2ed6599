// SPDX-License-Identifier: Apache-2.0
#ifndef LINUX_SHIMS_H
#define LINUX_SHIMS_H

#endif
