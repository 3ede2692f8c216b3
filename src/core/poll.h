/* poll.h - steps that are executed again and again until their runner says that they are complete.
 *
 *   running ─▶ complete: the step is done      ─▶ gave up, or limits reached: what its definition says
 *      ▲   └─▶ not yet: polling, until the next one is due ─┘
 *      └──────────────────┘
 *
 * What a poll answers is an object {complete, continue, output, nextInterval}. The first poll begins with the step; each has its
 * own tries, and its own generation of the step's key. When the next one is due is a time that is stored: nothing is lost by a
 * restart, and a poll that was missed is made late, once.
 *
 * Owns: nothing; events live in the decision.     Bounds: POLL_COUNT_MAX, POLL_RESULT*_MAX.     Thread: pure, any.
 * Fails: with ERR_UNAVAILABLE where a value has to be fetched first.
 */
#ifndef CORE_POLL_H
#define CORE_POLL_H

#include "core/settle.h"

/* An attempt of a polled step succeeded: what it answered, and what follows. */
MUST_USE Status poll_report(const Settle *settle, uint32_t step, Value answer, Error *err);
/* The step is between two polls, and its time is over. */
bool poll_is_over(const Settle *settle, uint32_t step);
/* The limits of its polls are reached: it fails, the run pauses, or it goes on with the default. */
MUST_USE Status poll_time_out(const Settle *settle, uint32_t step, Error *err);
/* Time for something: the next poll, the end of all polls, or that nobody took the one that was offered. */
MUST_USE Status poll_timer(const Settle *settle, uint32_t step, Error *err);
/* The next poll was offered, and nobody has taken it yet. */
bool poll_is_offered(const Plan *plan, const Run *run, uint32_t step);

/* How long after `count` polls the next one begins, if none of them asked for another time. */
int64_t poll_interval_ms(const PollTerms *terms, uint32_t count);
/* What `poll` means in inputs and conditions: {attempt, max_attempts, started_at}. */
Value poll_value(const Plan *plan, const Run *run, uint32_t step, Arena *arena);

#endif
