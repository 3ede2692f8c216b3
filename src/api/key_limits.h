/* key_limits.h - which executors and queues a worker's key is for.
 *
 * A key of the role worker may be limited to executors, to queues, or to both; one without a limit is for all that its tenant has. What a
 * key is not for is to its bearer as if it did not exist, as are the things of another tenant (F-113).
 *
 * Owns:   nothing: both lists lie where the caller's values do.
 * Fails:  key_limits_check() with ERR_INVALID or ERR_LIMIT, and which member is wrong.
 * Bounds: API_KEY_EXECUTOR_COUNT_MAX, API_KEY_QUEUE_COUNT_MAX names of NAME_SIZE_MAX bytes.     Thread: pure, any.
 */
#ifndef API_KEY_LIMITS_H
#define API_KEY_LIMITS_H

#include "base/status.h"
#include "value/value.h"

typedef struct KeyLimits { Value executors, queues; } KeyLimits;      /* lists of names; null: no limit */

/* The members "executors" and "queues" of a document, a body, or what a server answered; of one that has none: no limit. */
KeyLimits key_limits_of(Value object);
bool      key_limits_are_some(const KeyLimits *limits);
/* Whether there can be such a key: lists of names that are not empty, and none but for a worker. */
MUST_USE Status key_limits_check(const KeyLimits *limits, bool is_worker, const char **out_member, Error *err);
bool      key_limits_permit_executor(const KeyLimits *limits, Str executor);
KeyLimits key_limits_copy(Arena *arena, const KeyLimits *limits);

#endif
