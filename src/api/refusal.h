/* refusal.h - who was refused what: told to the ledger, and never so often that it fills it.
 *
 * A request that is refused (credentials that nobody has, a role that does not permit it, a thing of another tenant, a rate that is
 * used up) becomes an event access-refused of the log itself: who, by the part of the key that names it, which verb, method and
 * path, from where, and why. Of equal ones (the same caller, verb, answer, address and reason, which names the key that was sent where
 * nobody is known by it) the first is recorded at once; those that follow within API_REFUSAL_SPAN_MS are counted, and recorded as one
 * with their count when that time is over, or the server ends. At most API_REFUSAL_COUNT_MAX are told apart, and of one tenant, or of all who
 * are not known, API_REFUSAL_TENANT_MAX; further ones of it are counted together, as of "several": so nobody hides what others were refused.
 * Of these at most API_REFUSAL_REASON_COUNT_MAX differ by their reason alone: who makes up keys fills no more,
 * and from then on those of each caller, verb, answer and address are counted together, whatever their reasons. So a flood costs a
 * bounded number of records a minute. A request about many things is a refusal of each that the caller may not have. Who is refused is
 * answered at once and does not wait for the commit; a process that is killed loses counts of its last minute, and never the first of a
 * kind that was durable.
 *
 * Owns:   what it counts. Borrows the bridge.     Fails: never; what the engine does not take is counted and sent again.
 * Thread: the server's.
 */
#ifndef API_REFUSAL_H
#define API_REFUSAL_H

#include "api/bridge.h"
#include "api/call.h"

typedef struct Refusals Refusals;

Refusals *refusals_new(Bridge *bridge);
void refusals_free(Refusals *refusals);         /* NULL is permitted; after the bridge */

void refusals_note(Refusals *refusals, const Call *call);      /* a request that was answered, whatever with */
/* Records what was counted and is due, or all of it. */
void refusals_turn(Refusals *refusals, int64_t now_ms, bool is_end);
int64_t refusals_due_ms(const Refusals *refusals, int64_t now_ms);     /* in how many ms; -1: nothing waits */
bool refusals_are_told(const Refusals *refusals);              /* everything was recorded */

#endif
