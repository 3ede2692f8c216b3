/* skips.h - occurrences of schedules that started nothing, told to the ledger with the reason (F-093).
 *
 * Each becomes an event occurrence-skipped of the log itself: of which schedule, when it was due, and what kept it from starting a run:
 * what barred it, `quota`, `refused` or `missed`. Its id is made of the occurrence, so that it is recorded once, whoever looks at it again.
 * What could not be recorded is sent again; occurrences of one schedule that pass one behind the other are one event with their count.
 *
 * Owns:   copies of what is not recorded yet.     Fails: skips_add() is false where SKIP_COUNT_MAX are not recorded yet.
 * Thread: the server's.
 */
#ifndef API_SKIPS_H
#define API_SKIPS_H

#include "api/bridge.h"

typedef struct Skips Skips;

typedef struct Skip {
    Str tenant, workflow;
    uint32_t trigger;               /* which of the workflow is the schedule, from 0 */
    int64_t due_ms;                 /* of the first of them */
    uint32_t count;                 /* one behind the other */
    Str by;                         /* "freeze", "calendar", "blackout", "release-window", "quota", "refused", "missed" */
    Str why;                        /* in words */
} Skip;

Skips *skips_new(Bridge *bridge);
void   skips_free(Skips *skips);            /* NULL is permitted; after the bridge's last answer */
bool   skips_add(Skips *skips, const Skip *skip);
void   skips_turn(Skips *skips);            /* sends again what was not recorded */

#endif
