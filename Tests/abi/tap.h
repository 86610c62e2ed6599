/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The least a C test needs: named tests, checks that tell where they failed, output in the form of TAP.
 */
#ifndef TAP_H
#define TAP_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_tests, tap_failed_tests, tap_failed_checks;

/* A check that fails is told and counted; the test goes on, so that what it made is released. */
#define CHECK(condition) tap_check((condition), #condition, __FILE__, __LINE__)

static inline bool tap_check(bool holds, const char *condition, const char *file, int line) {
    if (!holds) {
        tap_failed_checks++;
        printf("# %s:%d: %s\n", file, line, condition);
        fflush(stdout);
    }
    return holds;
}

static inline void tap_run(void (*test)(void), const char *name) {
    tap_failed_checks = 0;
    test();
    tap_tests++;
    if (tap_failed_checks != 0)
        tap_failed_tests++;
    printf("%s %d - %s\n", tap_failed_checks == 0 ? "ok" : "not ok", tap_tests, name);
    fflush(stdout);
}

/* How much a directory holds: /proc/self/fd, /proc/self/task. */
static inline int entries(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

static inline int tap_done(void) {
    printf("1..%d\n", tap_tests);
    return tap_failed_tests == 0 ? 0 : 1;
}

#endif
