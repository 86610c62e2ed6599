// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "browser_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int shim_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static int add_file_actions(posix_spawn_file_actions_t *actions) {
    int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // The host's descriptors are often not close-on-exec: none of them is the browser's business.
    if (!failed) failed = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    return failed;
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t every, none;
    sigfillset(&every);
    sigemptyset(&none);
    int failed = posix_spawnattr_setsigdefault(attributes, &every);
    if (!failed) failed = posix_spawnattr_setsigmask(attributes, &none);
    if (!failed) {
        failed = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    return failed;
}

int shim_spawn_detached(const char *path, char *const argv[], char *const envp[], pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = add_file_actions(&actions);
        if (!failed) failed = set_attributes(&attributes);
        if (!failed) failed = posix_spawn(pid, path, &actions, &attributes, argv, envp);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int shim_pidfd_open(pid_t pid) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    errno = ENOSYS;
    return -1;
#endif
}

int shim_reap(int pidfd) {
    const idtype_t by_pidfd = (idtype_t)3;  // P_PIDFD, which glibc names since 2.36 only
    siginfo_t info = {0};
    // By descriptor, not by number: a host that reaps every child may have had this one, and the number be another's.
    if (waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | WNOHANG) != 0) return -1;
    if (info.si_pid == 0) {
        errno = EAGAIN;
        return -1;
    }
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}
