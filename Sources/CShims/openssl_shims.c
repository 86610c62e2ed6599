// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "openssl_shims.h"
#include "process_shims.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Threads that are inside, and how deep this one is. */
static atomic_long inside;
static _Thread_local long depth;
static atomic_bool gone;
/* That are about to begin or under way. */
static atomic_long forks;

static void moment(void) { nanosleep(&(struct timespec){0, 100 * 1000}, NULL); }

/* Until no other thread is inside, which is a matter of microseconds, but not for ever. */
static void await_the_others(void) {
    for (int i = 0; i < 20 * 1000 && atomic_load(&inside) > (depth > 0); i++) moment();
}

/* OpenSSL is about to free itself: at exit, by the handler of a host that had set it up first, as Python's ssl module
 * does. Other threads go on meanwhile; in a forked child they did not come along. */
static void before_cleanup(void) {
    if (shim_process_is_forked_child()) return;
    atomic_store(&gone, true);
    await_the_others();
}

/* Nobody is inside when a child begins: it would inherit OpenSSL's locks as they are, and wait for them for ever at its
 * exit, where OpenSSL frees itself. */
static void before_fork(void) {
    atomic_fetch_add(&forks, 1);
    await_the_others();
}

static void forked_parent(void) { atomic_fetch_sub(&forks, 1); }

static void forked_child(void) {
    atomic_store(&forks, 0);
    atomic_store(&inside, depth > 0);
}

/* At its end OpenSSL strikes the thread off a list, under a lock. Here, as elsewhere that would not be inside. */
static void end_of_thread(void *unused) {
    (void)unused;
    if (!shim_openssl_enter()) return;
    OPENSSL_thread_stop();
    shim_openssl_leave();
}

static void call_at_end_of_thread(void) {
    static _Thread_local bool called;
    extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
    extern void *__dso_handle;
    /* Before the destructors of pthread keys, of which OpenSSL's is one. */
    if (!called) called = __cxa_thread_atexit_impl(end_of_thread, NULL, &__dso_handle) == 0;
}

/* Unless the host has set OpenSSL up before: no atexit handler that frees it under a thread of ours. At load, as the
 * first call into OpenSSL decides, and that may be the store's as well as curl's. */
__attribute__((constructor)) static void keep_openssl_until_the_process_is_gone(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    OPENSSL_atexit(before_cleanup);
    pthread_atfork(before_fork, forked_parent, forked_child);
}

bool shim_openssl_enter(void) {
    if (depth > 0) {
        depth++;
        return true;
    }
    while (!atomic_load(&gone)) {
        atomic_fetch_add(&inside, 1);
        if (!atomic_load(&gone) && atomic_load(&forks) == 0) {
            depth = 1;
            call_at_end_of_thread();
            return true;
        }
        atomic_fetch_sub(&inside, 1);
        if (atomic_load(&forks) > 0) moment();
    }
    return false;
}

void shim_openssl_leave(void) {
    if (--depth == 0) atomic_fetch_sub(&inside, 1);
}
