/* run_apply.h - what the files of the fold share. run.h is the manual; nothing but run_apply.c and its siblings run_edges.c,
 * run_jobs.c, run_rollback.c and run_waits.c includes this.
 *
 * Owns: nothing.     Fails: never; what cannot be is CHECKed.     Thread: one at a time.
 */
#ifndef CORE_RUN_APPLY_H
#define CORE_RUN_APPLY_H

#include "core/run_lists.h"
#include "core/terms.h"

typedef struct Apply {
    Run *run;
    const Plan *plan;
    const Event *event;
    const EventPlace *place;
} Apply;

/* run_apply.c */
void apply_run_move(Run *run, RunState to);
void apply_text(Str *text, Str value);                          /* a text that the run owns */
void apply_number(Run *run, StepRun *step, uint32_t number);    /* of a step run; 0: as it is */

void apply_step_move(const Apply *apply, uint32_t index, StepState to);
/* The work of a step has ended in that state: its edges are decided, and what is behind it is asked. */
void apply_step_ended(const Apply *apply, uint32_t index, StepState to);
void apply_step_closed(const Apply *apply, uint32_t index);     /* counted as ended from now on */
void apply_wind_down(const Apply *apply);                       /* nothing new starts from now on */

/* Not done, since its job was cancelled: for what is behind it as if it had failed. */
void apply_step_cut(const Apply *apply, uint32_t index);

void apply_failure(const Apply *apply);                         /* the event's is why the run fails */

/* run_edges.c: edges, branches, loops */
typedef enum EdgeFate { EDGE_DEAD, EDGE_LIVE, EDGE_DOOMED } EdgeFate;
EdgeFate apply_edge_fate(const StepRun *step);                  /* how a step that has ended leaves the edges behind it */
void apply_edges_decide(const Apply *apply, uint32_t index, EdgeFate fate);
/* Behind a branch: those of cases by the keys it took (NULL: none), others as behind any step. */
void apply_keys_decide(const Apply *apply, uint32_t index, const Str *keys);
void apply_tail_ended(const Apply *apply, uint32_t index);      /* the end of a loop's tail leads to a question */
void apply_begin_steps(const Apply *apply);                     /* those that nothing has to come before; of a run that
                                                                 * is retried, those that are run anew */
void apply_branch_taken(const Apply *apply);
void apply_loop_repeated(const Apply *apply);
void apply_loop_left(const Apply *apply);

/* run_jobs.c: jobs */
static inline bool step_is_under_way(StepState state) { return state == STEP_DISPATCHED || state == STEP_RUNNING; }
void apply_job_update(Run *run, uint32_t index);                /* its steps may have taken it to another state */
/* A step of it has moved. */
void apply_job_note(Run *run, uint32_t index, const StepRun *step, StepState from, bool is_held);
void apply_job_step_closed(Run *run, JobRun *job);              /* one of its steps has ended */
void apply_job_moved(const Apply *apply);
void apply_job_paused(const Apply *apply);
void apply_job_resumed(const Apply *apply);
void apply_job_cancelling(const Apply *apply);

/* run_waits.c: polls, pauses, early ends */
void apply_poll_attempted(const Apply *apply);
void apply_step_polling(const Apply *apply);
void apply_poll_timed_out(const Apply *apply);
void apply_drop_held(const Apply *apply);
void apply_pause_reached(const Apply *apply, uint32_t step);
void apply_polls_renewed(const Apply *apply, uint32_t step);
void apply_pause_renewed(const Apply *apply, uint32_t step);
void apply_trigger_awaited(const Apply *apply);
void apply_trigger_reminded(const Apply *apply);
void apply_trigger_ended(const Apply *apply);
void apply_notification_queued(const Apply *apply);
void apply_notification_ended(const Apply *apply);
void apply_notification_failed(const Apply *apply);
void apply_params_changed(const Apply *apply);
void apply_rebound(const Apply *apply);
void apply_revised(const Apply *apply);
void apply_reaction_fired(const Apply *apply);
void apply_terminating(const Apply *apply);
void apply_termination_declined(const Apply *apply);

/* run_rollback.c: runs that are retried, and runs that are undone */
void apply_rolling_back(const Apply *apply);
void apply_retry_scheduled(const Apply *apply);
void apply_requeued(const Apply *apply);
void apply_superseded(const Apply *apply);
void apply_compensation_started(const Apply *apply);
void apply_compensation_planned(const Apply *apply);
void apply_compensation_due(const Apply *apply);
void apply_compensation_running(const Apply *apply);
void apply_compensation_attempt_failed(const Apply *apply);
void apply_compensation_succeeded(const Apply *apply);
void apply_compensation_skipped(const Apply *apply);
void apply_compensation_resumed(const Apply *apply);
void apply_compensation_orphaned(const Apply *apply);
void apply_compensation_overdue(const Apply *apply);
void apply_compensated(const Apply *apply);
void apply_compensation_failed(const Apply *apply);

#endif
