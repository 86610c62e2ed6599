// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "process_shims.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic pid_t user = 0;
static atomic_bool forked;

/* Swift's runtime keeps the id of a thread in this variable, as its locks need it, and does not forget it in a forked
 * child: the one thread there goes by its parent's id, and whoever waits for a lock that it holds waits for ever.
 * Loading the library has set it, so a child of a process that did no more than that would be lost. Where the runtime
 * is linked in, both definitions are one variable; where it is a library of its own, this is nobody's. */
__attribute__((weak, visibility("hidden"))) _Thread_local uint32_t swift_thread_id __asm__(
    "_ZZN5swift14threading_impl5linux13ulock_get_tidEvE3tid");

/* Held by the first use and by every fork, so that no child begins in the middle of the first use and waits for ever
 * for the thread that was at it. Recursive, as a signal handler may fork. */
#define UNLOCKED PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
static pthread_mutex_t first_use = UNLOCKED;

static void before_fork(void) { pthread_mutex_lock(&first_use); }

static void forked_parent(void) { pthread_mutex_unlock(&first_use); }

static void forked_child(void) {
    if (atomic_load(&user) != 0) atomic_store(&forked, true);
    swift_thread_id = 0;
    first_use = (pthread_mutex_t)UNLOCKED; /* only its owner may unlock it, who goes by another id here */
}

__attribute__((constructor)) static void loaded(void) {
    pthread_atfork(before_fork, forked_parent, forked_child);
}

int shim_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void shim_process_used(void) {
    pid_t none = 0;
    atomic_compare_exchange_strong(&user, &none, getpid());
}

void shim_process_use_first(void (*prepare)(void)) {
    if (atomic_load(&user) != 0) return;
    pthread_mutex_lock(&first_use);
    prepare();
    shim_process_used();
    pthread_mutex_unlock(&first_use);
}

bool shim_process_is_forked_child(void) {
    pid_t pid = atomic_load(&user);
    /* The number alone is not enough: process 1 of a container may have a child that is process 1 of another.
     * Nor is the handler: _Fork and clone do not call it. */
    return pid != 0 && (atomic_load(&forked) || pid != getpid());
}
