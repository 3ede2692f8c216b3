/* follow.h - calls that wait for an execution to end, or to need somebody.
 *
 * A call with ?wait= waits until its execution is settled, or blocked (it awaits a trigger, a signal or a person), or the time is
 * over, and answers it as it is then. News of the engine say when to look again; nothing polls.
 *
 * Owns:   a call is in one list while it follows.     Fails: never.     Bounds: API_WAIT_MS_MAX.     Thread: the server's.
 */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H

#include "api/api.h"

/* How long the query's `wait` is, "5s", "500ms" or a number of seconds; 0: not at all. False after answering. */
bool follow_read(Call *call, int64_t *out_ms);
/* Answers the execution with `status` at once where it has ended or `ms` is 0, else when it has. */
void follow(Call *call, uint64_t run_no, Str execution_id, unsigned status, int64_t ms);
void follow_news(Api *api, uint64_t run_no);            /* 0: of every one */

#endif
