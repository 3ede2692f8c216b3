/* follow.h - calls that wait for an execution to end, or to need somebody.
 *
 * A call with ?wait= waits until its execution is settled, or blocked (it awaits a trigger, a signal or a person), or the time is
 * over, and answers it as it is then. News of the engine say when to look again; nothing polls.
 *
 * News only queue who has to look: an answer with many steps takes a good part of a millisecond, one commit may end hundreds of
 * executions, and whoever asks something small meanwhile must not wait for all of them. So a turn looks for API_FOLLOW_TURN_NS, and other
 * requests have theirs between two turns.
 *
 * Owns:   a call is in one list while it follows.     Fails: by answering, where its key or tenant has too many that wait.
 * Bounds: API_WAIT_MS_MAX, and SHARE_WAITS of shares.h.     Thread: the server's.
 */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H

#include "api/api.h"

/* How long the query's `wait` is, "5s", "500ms" or a number of seconds; 0: not at all. False after answering. */
bool follow_read(Call *call, int64_t *out_ms);
/* Answers the execution with `status` at once where it has ended or `ms` is 0, else when it has. One that the call has started is answered at
 * once also where nobody more of its key or tenant may wait. */
void follow(Call *call, uint64_t run_no, Str execution_id, unsigned status, int64_t ms);
void follow_news(Api *api, uint64_t run_no);            /* 0: of every one */
/* Answers those that have news, in their order, as far as a turn goes. True where some are left for the next. */
bool follow_turn(Api *api);

#endif
