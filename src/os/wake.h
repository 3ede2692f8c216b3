/* wake.h - telling a sleeping thread that there is something to look at.
 *
 * An eventfd behind a flag: however often it is raised before the sleeper looks, one system call is made. The sleeper
 * polls wake_fd(), calls wake_lower(), and only then looks at what was announced, so that nothing is missed: what was
 * made ready before a wake_raise() is seen after the wake_lower() that follows it.
 *
 * Owns:   the descriptor, until wake_close().
 * Fails:  wake_open() with ERR_LIMIT where the process has no descriptor left.
 * Thread: wake_raise() any; wake_lower() the sleeper.
 */
#ifndef OS_WAKE_H
#define OS_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct Wake {
    int fd;
    atomic_bool is_raised;
} Wake;

MUST_USE Status wake_open(Wake *wake, Error *err);
void wake_close(Wake *wake);

void wake_raise(Wake *wake);
void wake_lower(Wake *wake);
static inline bool wake_is_raised(const Wake *wake) { return atomic_load_explicit(&wake->is_raised, memory_order_acquire); }
static inline int wake_fd(const Wake *wake) { return wake->fd; }

#endif
