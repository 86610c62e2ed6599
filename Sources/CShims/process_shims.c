// SPDX-License-Identifier: Apache-2.0
#include "process_shims.h"

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic pid_t user = 0;

int shim_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void shim_process_used(void) {
    pid_t none = 0;
    atomic_compare_exchange_strong(&user, &none, getpid());
}

bool shim_process_is_forked_child(void) {
    pid_t pid = atomic_load(&user);
    return pid != 0 && pid != getpid();
}
