/* message.h - what a runner says while it works, one JSON object a line.
 *
 * The same messages come from a process by the descriptor MAESTRO_EVENTS, and from http and worker runners. An object has
 * exactly one of these members:
 *
 *   {"effect": any}             it is about to act; wait for the acknowledgement before acting
 *   {"effectCommitted": true}   it has acted; false: it has not and will not, what it announced did not take place
 *   {"cost": 0.25}              what it has cost since the last such message, at most six decimals
 *   {"signal": "name"}          or {"signal": {"name", "kind", "value"}}; kind is milestone unless told
 *   {"progress": 0.5}           or {"progress": {"done": 0.5, "text": "half"}}; done is from 0 to 1
 *   {"heartbeat": true}
 *
 * Owns:   the notice borrows from `arena`.
 * Fails:  ERR_INVALID with what was expected; of a report that is checked with its place in front, a JSON pointer into it:
 *         "/failure/cause: ...". ERR_LIMIT for a text that is too long.
 * Bounds: RUNNER_LINE_SIZE_MAX is the caller's to keep.     Thread: pure, any.
 */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/executor.h"

/* Fills kind, value, name, sort, number, text, is_committed and is_withdrawn; the id is the caller's. */
MUST_USE Status message_read(Arena *arena, Str line, Notice *out_notice, Error *err);
MUST_USE Status message_of(Value message, Notice *out_notice, Error *err);      /* the same of a value */
/* What a runner elsewhere says in the end: {"output": any}, or {"failure": {"cause", "message", "details"}}. Borrows from `item`. */
MUST_USE Status message_report(Value item, Report *out_report, Error *err);
/* Whether it is that and nothing else, as whoever receives one from outside demands before he reads it. `beside`: a member that belongs to
 * who sends it and is looked at by the caller; NULL: none. */
MUST_USE Status message_report_check(Value item, const char *beside, Error *err);

#endif
