/* scheduler.h - time starts runs: the schedules of active revisions.
 *
 * The server's thread asks at each turn what is due. An occurrence starts its revision with the payload of the schedule, the source
 * "schedule" and the id "schedule/WORKFLOW/TRIGGER/TIME": so that one that is asked for twice, because a server ended at that moment, is
 * one run. An occurrence that is barred (core/schedule.h) and not overridden (api/schedules.h), or that is API_SCHEDULE_LATE_S late because
 * nobody was there, starts nothing. Both, and starts that are refused, are told in the log and recorded in the ledger (api/skips.h).
 *
 * Which schedules there are the agenda knows (api/agenda.h): whether revisions have changed is looked at every API_SCHEDULE_LOOK_MS.
 *
 * Owns:   its agenda, and its petitions until they are answered.     Fails: by telling so in the log.
 * Bounds: API_SCHEDULE_COUNT_MAX schedules. Where the clock was put on by more than API_SCHEDULE_BEHIND_S, the first of all that would have
 *         been due until then tells of them.     Thread: the server's.
 */
#ifndef API_SCHEDULER_H
#define API_SCHEDULER_H

#include <stdint.h>

struct Api;
typedef struct Scheduler Scheduler;

Scheduler *scheduler_new(struct Api *api, int64_t now_ms);
void       scheduler_free(Scheduler *scheduler);        /* NULL is permitted; after the bridge's last answer */
/* Starts what is due; how many ms from now it wants to be asked again. */
int64_t    scheduler_turn(Scheduler *scheduler, int64_t now_ms);

#endif
