/* run_apply.h - what the files of the fold share. run.h is the manual; nothing but run_apply.c and run_rollback.c includes this.
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
void apply_compensated(const Apply *apply);
void apply_compensation_failed(const Apply *apply);

#endif
