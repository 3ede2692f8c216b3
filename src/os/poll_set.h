/* poll_set.h - waiting for the first of several descriptors, or for a time.
 *
 * Owns:   its own descriptor, until poll_close(); those added stay their owners'.
 * Fails:  poll_open() and poll_add() with ERR_LIMIT where the process or the system has no room.
 * Thread: one at a time.
 */
#ifndef OS_POLL_SET_H
#define OS_POLL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct Poll { int fd; } Poll;

MUST_USE Status poll_open(Poll *poll, Error *err);
void poll_close(Poll *poll);
MUST_USE Status poll_add(Poll *poll, int fd, uint64_t token, Error *err);      /* readable, or gone: `token` says which */
void poll_remove(Poll *poll, int fd);
/* Up to `count_max` tokens of what is ready; 0 where the time was over or a signal came. A negative time is without end. */
uint32_t poll_wait(Poll *poll, int64_t timeout_ms, uint64_t *out_tokens, uint32_t count_max);

#endif
