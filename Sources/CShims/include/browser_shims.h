// SPDX-License-Identifier: Apache-2.0
#ifndef BROWSER_SHIMS_H
#define BROWSER_SHIMS_H

#include <sys/types.h>

// What the listener and the system browser need of Linux that Swift's Glibc module does not show (`_GNU_SOURCE`).

/// accept4: non-blocking, close-on-exec. The descriptor, or -1 with errno.
int shim_accept(int listener);

/// Starts a program in a session of its own: /dev/null as its three descriptors and no others, default signal
/// dispositions, no signal blocked, no shell. `path` is not searched for. 0 and `*pid`, or an errno.
int shim_spawn_detached(const char *path, char *const argv[], char *const envp[], pid_t *pid);

/// A close-on-exec descriptor that becomes readable when the child ends. -1 with errno; ENOSYS before Linux 5.3.
int shim_pidfd_open(pid_t pid);

/// Reaps the child of a pidfd without waiting. Its exit status, 128 + n when signal n ended it; -1 with errno when it
/// runs still (EAGAIN) or was reaped by somebody else (ECHILD).
int shim_reap(int pidfd);

#endif
