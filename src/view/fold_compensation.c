#include "view/fold.h"
#include "view/id_derive.h"

void fold_compensation_started(Fold *fold)
{
    put_state(fold, RUN_COMPENSATING);
    put_null(fold->run, RUNS_resolution);
    put_null(fold->run, RUNS_completed_ms);
    put_null(fold->run, RUNS_auto_retry_at);
    put_moment(fold->run, RUNS_compensation_started_at, now_of(fold));
}

static RowPen compensation_pen(Fold *fold, RowOp op)
{
    const ProjectionInput *input = fold->input;
    Id id = id_derive(&input->run->id, DERIVED_COMPENSATION, fold->event->number);
    Cell key = cell_text(arena_copy(pen_arena(fold->run), id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_COMPENSATIONS, op, &key);
    put_time(pen, COMPENSATIONS_updated_ms, now_of(fold));
    return pen;
}

static void put_compensation(RowPen pen, CompensationState state)
{
    put_name(pen, COMPENSATIONS_status, compensation_state_name(state));
}

void fold_compensation_planned(Fold *fold)
{
    const Event *event = fold->event;
    bool is_skipped = event->flags & 1;
    RowPen pen = compensation_pen(fold, ROW_INSERT);
    put_int(pen, COMPENSATIONS_workflow_id, fold->input->record->run_no);
    put_borrowed(pen, COMPENSATIONS_step_key, fold->input->plan->steps[event->step].id);
    put(pen, COMPENSATIONS_compensation_job_class, cell_text(arena_copy(pen_arena(fold->run), event->name)));
    put_compensation(pen, is_skipped ? COMPENSATION_SKIPPED : COMPENSATION_PENDING);
    put_int(pen, COMPENSATIONS_attempt, 0);
    put_int(pen, COMPENSATIONS_max_attempts, event->count);
    put_time(pen, COMPENSATIONS_created_ms, now_of(fold));
    if (!is_skipped) return;
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    put_copied(pen, COMPENSATIONS_failure_message, event->text);
}

void fold_compensation_running(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_RUNNING);
    put_int(pen, COMPENSATIONS_attempt, fold->event->attempt);
    if (fold->event->attempt == 1) put_time(pen, COMPENSATIONS_started_ms, now_of(fold));
}

void fold_compensation_attempt_failed(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_FAILED);
    put_int(pen, COMPENSATIONS_attempt, event->attempt);
    put_copied(pen, COMPENSATIONS_failure_message, event->text);
    if (!event->due_ms) put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    put_payload_text(fold, pen, COMPENSATIONS_failure_trace);
}

void fold_compensation_succeeded(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_SUCCEEDED);
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    put_null(pen, COMPENSATIONS_failure_message);
    put_null(pen, COMPENSATIONS_failure_trace);
}

void fold_compensation_skipped(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_SKIPPED);
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
}

void fold_compensation_resumed(Fold *fold)
{
    put_state(fold, RUN_COMPENSATING);
    put_null(fold->run, RUNS_completed_ms);
    if (!fold->event->count) return;
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_int(pen, COMPENSATIONS_max_attempts, fold->event->count);
    put_null(pen, COMPENSATIONS_finished_ms);
}

void fold_run_compensated(Fold *fold)
{
    put_end(fold, RUN_COMPENSATED);
    put_copied(fold->run, RUNS_error_message, fold->event->text);
    put_moment(fold->run, RUNS_compensated_at, now_of(fold));
}

void fold_run_compensation_failed(Fold *fold)
{
    put_end(fold, RUN_COMPENSATION_FAILED);
    put_copied(fold->run, RUNS_error_message, fold->event->text);
}
