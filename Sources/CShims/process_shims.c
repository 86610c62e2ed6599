// SPDX-License-Identifier: Apache-2.0
#include "process_shims.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic pid_t user = 0;
static atomic_bool forked;

static void note_fork(void) { atomic_store(&forked, true); }

int shim_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void shim_process_used(void) {
    pid_t none = 0;
    if (atomic_compare_exchange_strong(&user, &none, getpid())) pthread_atfork(NULL, NULL, note_fork);
}

bool shim_process_is_forked_child(void) {
    pid_t pid = atomic_load(&user);
    /* The number alone is not enough: process 1 of a container may have a child that is process 1 of another.
     * Nor is the handler: _Fork and clone do not call it. */
    return pid != 0 && (atomic_load(&forked) || pid != getpid());
}
