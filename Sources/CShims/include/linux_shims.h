// SPDX-License-Identifier: Apache-2.0
#ifndef LINUX_SHIMS_H
#define LINUX_SHIMS_H

#include <stdint.h>

/* What Swift's Glibc module does not have. */

/* A timer descriptor on CLOCK_BOOTTIME, non-blocking and close-on-exec; -1 and errno on failure. */
int shim_boot_timer_create(void);

/* Makes the descriptor readable once the boot-time clock has reached the time (ms); a negative time disarms. */
int shim_boot_timer_set(int timer, int64_t boot_ms);

/* At most 15 bytes. */
void shim_name_this_thread(const char *name);

#endif
