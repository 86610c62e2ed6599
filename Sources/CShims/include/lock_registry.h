// SPDX-License-Identifier: Apache-2.0
#ifndef LOCK_REGISTRY_H
#define LOCK_REGISTRY_H

/* Descriptors of lock files. A flock belongs to the open file description, which a forked child shares: without this a
 * child would keep the locks of a parent that has died. The registry closes them in the child after fork, by itself. */

/* Opens, or makes with mode 0600, the file `name` in the directory and remembers it. Returns -1 with errno
 * on failure; ENFILE = too many locks in one process. */
int versola_lock_open(int directory, const char *name);

/* Closes what versola_lock_open gave. Unlocking before it is the caller's. */
void versola_lock_close(int descriptor);

#endif
