// SPDX-License-Identifier: Apache-2.0
#ifndef PROCESS_SHIMS_H
#define PROCESS_SHIMS_H

#include <stdbool.h>

/* A non-blocking, close-on-exec eventfd; -1 and errno on failure. */
int shim_eventfd(void);

/* Notes that the library is in use in this process. */
void shim_process_used(void);

/* The same, after `prepare`, unless it is noted already. No fork comes in between. */
void shim_process_use_first(void (*prepare)(void));

/* Whether the library was in use in the parent of this process when it forked: its threads and locks are not here. */
bool shim_process_is_forked_child(void);

#endif
