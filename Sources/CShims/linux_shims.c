// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "linux_shims.h"

#include <pthread.h>
#include <sys/timerfd.h>
#include <time.h>

int shim_boot_timer_create(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
}

int shim_boot_timer_set(int timer, int64_t boot_ms) {
    struct itimerspec at = {0};
    if (boot_ms >= 0) {
        at.it_value.tv_sec = (time_t)(boot_ms / 1000);
        at.it_value.tv_nsec = (long)(boot_ms % 1000) * 1000000L;
        /* All zero would disarm, and the start of the boot is surely past. */
        if (boot_ms == 0) at.it_value.tv_nsec = 1;
    }
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, 0);
}

void shim_name_this_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}
