/* attempt.h - what all executors do with an attempt: keep a copy, tell it to a runner, find it again.
 *
 * Owns:   copies live in the arena given.
 * Fails:  attempt_document() with ERR_LIMIT where the buffer is too small, ERR_INVALID for a value that is no JSON.
 * Thread: pure, any.
 */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "engine/executor.h"

bool    attempt_id_is(const AttemptId *a, const AttemptId *b);
Attempt attempt_copy(Arena *arena, const Attempt *attempt);
size_t  attempt_size(const Attempt *attempt);       /* of what such a copy has from its run; settings and names are few */
/* Milliseconds until its deadline, never below 0; `otherwise` where it has none. */
int64_t attempt_left_ms(const Attempt *attempt, int64_t otherwise);

/* The document that every runner gets, be it by standard input, a request or a lease:
 * {"input","params","context","idempotencyKey","attempt","deadline","traceparent","run","step"}. The deadline is in
 * milliseconds since 1970; what there is none of is null. Where its runner may call the
 * server, "server" and "credential" say where and with what. */
MUST_USE Status attempt_document(Buf *buf, const Attempt *attempt, Error *err);

#endif
