/* fold.h - private to the projection: what each kind of event makes of the rows, by noun.
 *
 * projection.c has the table from kinds to these functions; fold_step.c, fold_run.c, fold_fact.c, fold_wait.c and
 * fold_compensation.c have the functions. Each looks at one event of a record whose events were all applied to the run.
 *
 * Owns: nothing.     Fails: never.     Thread: one at a time.
 */
#ifndef VIEW_FOLD_H
#define VIEW_FOLD_H

#include "core/command.h"
#include "view/row_pen.h"

typedef struct Fold {
    Projection *projection;
    const ProjectionInput *input;
    RowPen run;
    const Event *event;
    uint64_t event_number;
    uint32_t *numbers;              /* NULL: those of the run */
} Fold;

int64_t now_of(const Fold *fold);
/* Where the event's payload lies, in three columns one behind the other: _at, _offset, _size. */
void put_payload(const Fold *fold, RowPen pen, uint32_t column);
void put_no_payload(RowPen pen, uint32_t column);
/* The payload itself, where it is there and no longer than a text of a row. */
void put_payload_text(const Fold *fold, RowPen pen, uint32_t column);
void put_failure(const Fold *fold, RowPen pen, uint32_t class_column, uint32_t cause_column, uint32_t message_column);
void put_state(const Fold *fold, RunState state);       /* of the run */
void put_end(const Fold *fold, RunState state);         /* the same, of one that ends */
/* ["a","b"] of "a,b". */
Str keys_json(Arena *arena, Str keys);

/* --- step runs and their attempts --- */
uint32_t fold_number(const Fold *fold, uint32_t step);              /* of its current step run */
RowPen   fold_step_pen(Fold *fold, uint32_t step);                  /* the row of that */
RowPen   fold_attempt_pen(Fold *fold, uint32_t step, uint32_t attempt);
void     fold_put_status(RowPen pen, StepState state);
void fold_step_dispatched(Fold *fold);
void fold_step_running(Fold *fold);
void fold_step_succeeded(Fold *fold);
void fold_step_failed(Fold *fold);
void fold_attempt_failed(Fold *fold);
void fold_step_requeued(Fold *fold);
void fold_step_skipped(Fold *fold);
void fold_step_cancelled(Fold *fold);
void fold_step_waiting(Fold *fold);
void fold_step_resumed(Fold *fold);
void fold_loop_repeated(Fold *fold);
void fold_effect_committed(Fold *fold);
void fold_lease_expired(Fold *fold);
void fold_step_superseded(Fold *fold);

/* --- runs --- */
void fold_run_created(Fold *fold);
void fold_run_revised(Fold *fold);
void fold_run_dispatched(Fold *fold);
void fold_run_running(Fold *fold);
void fold_run_paused(Fold *fold);
void fold_run_waiting(Fold *fold);
void fold_run_succeeded(Fold *fold);
void fold_run_failed(Fold *fold);
void fold_run_cancelled(Fold *fold);
void fold_run_cancelling(Fold *fold);
void fold_cost_reported(Fold *fold);
void fold_retry_scheduled(Fold *fold);
void fold_run_requeued(Fold *fold);

/* --- what runs leave behind --- */
void fold_branch_taken(Fold *fold);
void fold_signal_received(Fold *fold);
void fold_decision_made(Fold *fold);

void fold_signal_row(Fold *fold, SignalKind kind);

/* --- polls and pauses --- */
void fold_poll_attempted(Fold *fold);
void fold_step_polling(Fold *fold);
void fold_poll_timed_out(Fold *fold);
void fold_trigger_awaited(Fold *fold);
void fold_trigger_received(Fold *fold);
void fold_trigger_reminded(Fold *fold);
void fold_trigger_ended(Fold *fold);
void fold_notification_queued(Fold *fold);
void fold_notification_sent(Fold *fold);
void fold_notification_failed(Fold *fold);

/* --- compensations --- */
void fold_compensation_started(Fold *fold);
void fold_compensation_planned(Fold *fold);
void fold_compensation_running(Fold *fold);
void fold_compensation_attempt_failed(Fold *fold);
void fold_compensation_succeeded(Fold *fold);
void fold_compensation_skipped(Fold *fold);
void fold_compensation_resumed(Fold *fold);
void fold_run_compensated(Fold *fold);
void fold_run_compensation_failed(Fold *fold);

#endif
