/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded, it gives a program clocks that a test moves: CLOCK_BOOTTIME as a suspend does (nothing else moves, and
 * timers on that clock are due when it wakes), CLOCK_REALTIME as somebody who sets the wall clock does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static _Atomic int64_t boot_seconds, wall_seconds;

/* Timers on the boot clock, and what they were last set to, in the program's time. */
enum { TIMERS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct boot_timer {
    bool used;
    int descriptor;
    struct itimerspec due; /* absolute; zero = disarmed */
} timers[TIMERS];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *now) {
    static __typeof__(&clock_gettime) real;
    if (real == NULL) real = REAL(clock_gettime);
    int status = real(clock, now);
    if (status == 0 && clock == CLOCK_BOOTTIME) now->tv_sec += boot_seconds;
    if (status == 0 && clock == CLOCK_REALTIME) now->tv_sec += wall_seconds;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int status = REAL(gettimeofday)(now, zone);
    if (status == 0) now->tv_sec += wall_seconds;
    return status;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int timerfd_create(clockid_t clock, int flags) {
    int descriptor = REAL(timerfd_create)(clock, flags);
    if (descriptor < 0 || clock != CLOCK_BOOTTIME) return descriptor;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS; i++) {
        if (!timers[i].used || timers[i].descriptor == descriptor) {
            timers[i] = (struct boot_timer){true, descriptor, {{0, 0}, {0, 0}}};
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return descriptor;
}

/* Sets the kernel's timer to the same instant in the kernel's time. */
static int arm(const struct boot_timer *timer) {
    struct itimerspec due = timer->due;
    if (due.it_value.tv_sec != 0 || due.it_value.tv_nsec != 0) {
        due.it_value.tv_sec -= boot_seconds;
        /* Long past: a time of zero would disarm it. */
        if (due.it_value.tv_sec < 0) due.it_value = (struct timespec){0, 1};
    }
    return REAL(timerfd_settime)(timer->descriptor, TFD_TIMER_ABSTIME, &due, NULL);
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *due, struct itimerspec *old) {
    int status = -2;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS && status == -2; i++) {
        if (!timers[i].used || timers[i].descriptor != descriptor) continue;
        timers[i].due = *due;
        if ((flags & TFD_TIMER_ABSTIME) == 0) {
            /* Nobody under test does this, and it would be wrong after the next move. */
            errno = EINVAL;
            status = -1;
        } else {
            status = arm(&timers[i]);
        }
    }
    pthread_mutex_unlock(&lock);
    return status == -2 ? REAL(timerfd_settime)(descriptor, flags, due, old) : status;
}

/* The machine slept so long. */
void test_suspend(int64_t seconds) {
    pthread_mutex_lock(&lock);
    boot_seconds += seconds;
    for (int i = 0; i < TIMERS; i++)
        if (timers[i].used) arm(&timers[i]);
    pthread_mutex_unlock(&lock);
}

/* Whether the next thing that the program waits for on the boot clock is further away than so many seconds. */
int test_waits_for_more_than(int64_t seconds) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    int waits = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS; i++)
        if (timers[i].used && timers[i].due.it_value.tv_sec > now.tv_sec + seconds) waits = 1;
    pthread_mutex_unlock(&lock);
    return waits;
}

/* Somebody put the wall clock forward, or back. */
void test_set_wall_clock(int64_t seconds) { wall_seconds += seconds; }
