/* run_now.h - a run as it stands: its snapshot, and the records behind it folded on top.
 *
 * Rows have what people look for; what has no row (the states of jobs, and what people did to them) is in the run alone. Made of the
 * newest snapshot it costs no more than the events since, however long the run is.
 *
 * Owns:   a Replay owns its run until replay_deinit(); what is told lives in the arena given.
 * Fails:  with the store's reason; ERR_NOT_FOUND where the run was archived; ERR_CORRUPT where its records do not follow.
 * Bounds: the events since the last snapshot.     Thread: as store_select() of the store.
 */
#ifndef VIEW_RUN_NOW_H
#define VIEW_RUN_NOW_H

#include "ledger/replay.h"
#include "view/run_rows.h"

/* Nothing is open where it fails. */
MUST_USE Status run_now_open(Replay *out, Arena *arena, Store *store, const Cell *row, const Plan *plan, Error *err);

/* What people did to a job, and it has not ended since. */
bool job_is_held(const JobRun *job);                    /* paused: none of its steps begins */
/* {"job", "state", "paused", "cancelling"} of one. */
void run_job_members(const Plan *plan, const Run *run, uint32_t job, MemberList *members);

#endif
