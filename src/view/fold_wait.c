#include "core/command.h"
#include "core/terms.h"
#include "view/run_rows.h"
#include "view/fold.h"
#include "view/id_derive.h"

/* --- polls --------------------------------------------------------------------------------------------------------- */

/* The id of the try, as maestro_jobs has it. */
static Str job_id(const Fold *fold, Arena *arena, const Id *step_run)
{
    return arena_format(arena, "%s.%u", step_run->text, fold->event->attempt);
}

void fold_poll_attempted(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = pen_arena(fold->run);
    Id id = id_derive(&input->run->id, DERIVED_POLL, fold->event_number);
    Id step_run = id_derive(&input->run->id, DERIVED_STEP_RUN, fold_number(fold, event->step));
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_POLLS, ROW_INSERT, &key);
    put_copied(pen, POLLS_step_run_id, id_peek(&step_run));
    put_int(pen, POLLS_attempt_number, event->count);
    put(pen, POLLS_job_id, cell_text(job_id(fold, arena, &step_run)));
    put_int(pen, POLLS_result_complete, event->flags & 1);
    put_int(pen, POLLS_result_continue, event->flags >> 1 & 1);
    if (event->span_ms) put_int(pen, POLLS_next_interval_ms, (uint64_t)event->span_ms);
    put_time(pen, POLLS_executed_ms, now_of(fold));
    put_int(fold_step_pen(fold, event->step), STEP_RUNS_poll_attempt_count, event->count);
    put_time(fold_attempt_pen(fold, event->step, event->attempt), ATTEMPTS_finished_ms, now_of(fold));
}

void fold_step_polling(Fold *fold)
{
    RowPen pen = fold_step_pen(fold, fold->event->step);
    fold_put_status(pen, STEP_POLLING);
    put_moment(pen, STEP_RUNS_next_poll_at, fold->event->due_ms);
    put_null(pen, STEP_RUNS_deadline_ms);
    put_null(pen, STEP_RUNS_lease_ms);
    put_null(pen, STEP_RUNS_holder);
}

/* C-84: where the run goes on with a default, the step counts as completed. */
void fold_poll_timed_out(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = fold_step_pen(fold, event->step);
    bool is_done = event->flags == POLL_CONTINUES;
    fold_put_status(pen, STEP_TIMED_OUT);
    put_name(pen, STEP_RUNS_result, step_status(STEP_TIMED_OUT, /* began= */ true, is_done));
    put_time(pen, STEP_RUNS_finished_ms, now_of(fold));
    put_null(pen, STEP_RUNS_next_poll_at);
    if (is_done) put_payload(fold, pen, STEP_RUNS_output_at);
    else put_failure(fold, pen, STEP_RUNS_error_class, STEP_RUNS_error_cause, STEP_RUNS_error_message);
}

/* --- pauses -------------------------------------------------------------------------------------------------------- */

static void put_or_null(RowPen pen, uint32_t column, int64_t ms)
{
    if (ms) put_moment(pen, column, ms);
    else put_null(pen, column);
}

void fold_trigger_awaited(Fold *fold)
{
    const Event *event = fold->event;
    bool resumes = event->flags & 1;
    put_copied(fold->run, RUNS_awaiting_trigger_key, event->name);
    put_moment(fold->run, RUNS_trigger_registered_at, now_of(fold));
    put_or_null(fold->run, RUNS_trigger_timeout_at, resumes ? 0 : event->due_ms);
    put_or_null(fold->run, RUNS_scheduled_resume_at, resumes ? event->due_ms : 0);
}

void fold_trigger_reminded(Fold *fold)
{
    put_or_null(fold->run, RUNS_trigger_timeout_at, fold->event->due_ms);
}

void fold_trigger_ended(Fold *fold)
{
    put_null(fold->run, RUNS_awaiting_trigger_key);
    put_null(fold->run, RUNS_trigger_registered_at);
    put_null(fold->run, RUNS_trigger_timeout_at);
    put_null(fold->run, RUNS_scheduled_resume_at);
}

static RowPen outbox_pen(const Fold *fold, RowOp op)
{
    Cell key = cell_int(outbox_entry(fold->input->record->run_no, (uint32_t)fold->event->count));
    return pen_at(fold->projection, TABLE_OUTBOX, op, &key);
}

void fold_notification_queued(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = outbox_pen(fold, ROW_INSERT);
    put_int(pen, OUTBOX_run_no, fold->input->record->run_no);
    put_name(pen, OUTBOX_kind, event->flags ? "reminder" : "pause");
    put_copied(pen, OUTBOX_target, event->name);
    put_copied(pen, OUTBOX_key, event->key);
    put_int(pen, OUTBOX_attempt_count, 0);
    put_time(pen, OUTBOX_due_ms, event->due_ms);
    put_time(pen, OUTBOX_created_ms, now_of(fold));
}

void fold_notification_sent(Fold *fold)
{
    RowPen pen = outbox_pen(fold, ROW_UPDATE);
    put_int(pen, OUTBOX_attempt_count, fold->event->attempt);
    put_null(pen, OUTBOX_due_ms);
    put_time(pen, OUTBOX_sent_ms, now_of(fold));
}

void fold_notification_failed(Fold *fold)
{
    RowPen pen = outbox_pen(fold, ROW_UPDATE);
    put_int(pen, OUTBOX_attempt_count, fold->event->attempt);
    if (fold->event->due_ms) put_time(pen, OUTBOX_due_ms, fold->event->due_ms);
    else put_null(pen, OUTBOX_due_ms);
}

/* What the definition calls the payload: the name of its schema, where it has one. */
static Str payload_class(const Plan *plan, Str trigger)
{
    const PlanTerms *terms = plan->terms;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        if (!str_is(pause->trigger, trigger)) continue;
        if (pause->payload_schema.kind == VALUE_STRING) return value_text(pause->payload_schema);
        return value_get_string(pause->payload_schema, "title", pause->payload_schema.kind == VALUE_NULL ? STR("any") : STR("inline"));
    }
    return STR("any");
}

/* C-29: it is in both tables, since it is delivered like a signal. */
void fold_trigger_received(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = pen_arena(fold->run);
    Id id = id_derive(&input->run->id, DERIVED_TRIGGER, fold->event_number);
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_TRIGGER_PAYLOADS, ROW_INSERT, &key);
    put_int(pen, TRIGGER_PAYLOADS_workflow_id, input->record->run_no);
    put_copied(pen, TRIGGER_PAYLOADS_trigger_key, event->name);
    put_borrowed(pen, TRIGGER_PAYLOADS_payload_class, payload_class(input->plan, event->name));
    put_payload_text(fold, pen, TRIGGER_PAYLOADS_payload);
    put_time(pen, TRIGGER_PAYLOADS_received_ms, now_of(fold));
    put_copied(pen, TRIGGER_PAYLOADS_source_ip, event->key);
    put_copied(pen, TRIGGER_PAYLOADS_source_identifier, event->source);
    fold_signal_row(fold, SIGNAL_APPROVAL);
}
