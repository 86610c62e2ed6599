// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "lock_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

enum { CAPACITY = 1024 };

/* Held across open + remember, forget + close and fork, so that a child misses no lock and closes nobody's file. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int descriptors[CAPACITY];
static size_t count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int registration_error;

static void before_fork(void) {
    pthread_mutex_lock(&guard);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&guard);
}

/* close() only: LOCK_UN here would take the lock from the parent. */
static void after_fork_in_child(void) {
    for (size_t i = 0; i < count; i++) close(descriptors[i]);
    count = 0;
    pthread_mutex_unlock(&guard);
}

static void register_handlers(void) {
    registration_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int versola_lock_open(int directory, const char *name) {
    pthread_once(&once, register_handlers);
    if (registration_error != 0) {
        errno = registration_error;
        return -1;
    }
    pthread_mutex_lock(&guard);
    int descriptor = -1;
    int error = ENFILE;
    if (count < CAPACITY) {
        descriptor = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
        error = errno;
        if (descriptor >= 0) descriptors[count++] = descriptor;
    }
    pthread_mutex_unlock(&guard);
    errno = error;
    return descriptor;
}

void versola_lock_close(int descriptor) {
    pthread_mutex_lock(&guard);
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] != descriptor) continue;
        descriptors[i] = descriptors[--count];
        close(descriptor);
        break;
    }
    pthread_mutex_unlock(&guard);
}
