#include "view/projection.h"

#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/fold.h"

/* --- what the parts of the fold share --------------------------------------------------------------------------------- */

int64_t now_of(const Fold *fold) { return fold->input->head->now_ms; }

void put_payload(const Fold *fold, RowPen pen, uint32_t column)
{
    uint32_t index = fold->event->payload;
    if (index == EVENT_NO_PAYLOAD) return;
    const Payload *payload = &fold->input->payloads[index];
    put_int(pen, column, fold->input->record->position);
    put_int(pen, column + 1, payload->offset);
    put_int(pen, column + 2, payload->size);
}

void put_no_payload(RowPen pen, uint32_t column)
{
    for (uint32_t i = 0; i < 3; i++) put_null(pen, column + i);
}

void put_failure(const Fold *fold, RowPen pen, uint32_t class_column, uint32_t cause_column, uint32_t message_column)
{
    const Event *event = fold->event;
    put_name(pen, class_column, failure_class_name((FailureClass)event->class_));
    put_name(pen, cause_column, cause_name((Cause)event->cause));
    put_copied(pen, message_column, event->text);
}

void put_payload_text(const Fold *fold, RowPen pen, uint32_t column)
{
    const ProjectionInput *input = fold->input;
    if (fold->event->payload == EVENT_NO_PAYLOAD) return;
    const Payload *payload = &input->payloads[fold->event->payload];
    Str text = str_slice(input->record->payload, SALT_SIZE + payload->offset, SALT_SIZE + payload->offset + payload->size);
    if (text.len && text.len <= TEXT_SIZE_MAX) put(pen, column, cell_text(text));
}

void put_state(const Fold *fold, RunState state) { put_name(fold->run, RUNS_state, run_state_stored(state)); }

void put_end(const Fold *fold, RunState state)
{
    put_state(fold, state);
    Resolution resolution = (Resolution)fold->event->resolution;
    if (resolution != RESOLUTION_NONE) put_name(fold->run, RUNS_resolution, resolution_name(resolution));
    if (run_state_is_settled(state, resolution)) put_time(fold->run, RUNS_completed_ms, now_of(fold));
}

Str keys_json(Arena *arena, Str keys)
{
    Buf buf;
    buf_init(&buf, SIZE_MAX);
    buf_char(&buf, '[');
    for (size_t at = 0; keys.len && at <= keys.len;) {
        size_t end = str_find(keys, ',', at);
        if (at) buf_char(&buf, ',');
        json_print_string(&buf, str_slice(keys, at, end));
        at = end + 1;
    }
    buf_char(&buf, ']');
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

typedef void (*FoldKind)(Fold *fold);

/* Kinds that are not here change no row but that of the run, which each record changes. */
static const FoldKind fold_kinds[EVENT_KIND_END] = {
    [EVENT_RUN_CREATED] = fold_run_created, [EVENT_RUN_DISPATCHED] = fold_run_dispatched,
    [EVENT_RUN_RUNNING] = fold_run_running,         [EVENT_RUN_PAUSED] = fold_run_paused,
    [EVENT_RUN_WAITING_SIGNAL] = fold_run_waiting,  [EVENT_RUN_SUCCEEDED] = fold_run_succeeded,
    [EVENT_RUN_FAILED] = fold_run_failed,           [EVENT_RUN_CANCELLED] = fold_run_cancelled,
    [EVENT_RUN_CANCELLING] = fold_run_cancelling,   [EVENT_STEP_DISPATCHED] = fold_step_dispatched,
    [EVENT_STEP_RUNNING] = fold_step_running,       [EVENT_STEP_SUCCEEDED] = fold_step_succeeded,
    [EVENT_STEP_FAILED] = fold_step_failed,         [EVENT_ATTEMPT_FAILED] = fold_attempt_failed,
    [EVENT_STEP_REQUEUED] = fold_step_requeued,     [EVENT_STEP_SKIPPED] = fold_step_skipped,
    [EVENT_STEP_CANCELLED] = fold_step_cancelled,   [EVENT_STEP_WAITING] = fold_step_waiting,
    [EVENT_STEP_RESUMED] = fold_step_resumed,       [EVENT_BRANCH_TAKEN] = fold_branch_taken,
    [EVENT_LOOP_REPEATED] = fold_loop_repeated,     [EVENT_EFFECT_COMMITTED] = fold_effect_committed,
    [EVENT_LEASE_EXPIRED] = fold_lease_expired,     [EVENT_COST_REPORTED] = fold_cost_reported,
    [EVENT_SIGNAL_RECEIVED] = fold_signal_received, [EVENT_STEP_SUPERSEDED] = fold_step_superseded,
    [EVENT_RUN_REVISED] = fold_run_revised,         [EVENT_DECISION_MADE] = fold_decision_made,
    [EVENT_AUTO_RETRY_SCHEDULED] = fold_retry_scheduled,
    [EVENT_RUN_REQUEUED] = fold_run_requeued,       [EVENT_COMPENSATION_STARTED] = fold_compensation_started,
    [EVENT_POLL_ATTEMPTED] = fold_poll_attempted,   [EVENT_STEP_POLLING] = fold_step_polling,
    [EVENT_POLL_TIMED_OUT] = fold_poll_timed_out,   [EVENT_TRIGGER_AWAITED] = fold_trigger_awaited,
    [EVENT_TRIGGER_RECEIVED] = fold_trigger_received, [EVENT_TRIGGER_REMINDED] = fold_trigger_reminded,
    [EVENT_NOTIFICATION_QUEUED] = fold_notification_queued, [EVENT_NOTIFICATION_SENT] = fold_notification_sent,
    [EVENT_NOTIFICATION_FAILED] = fold_notification_failed,
    [EVENT_TRIGGER_ENDED] = fold_trigger_ended,     [EVENT_COMPENSATION_PLANNED] = fold_compensation_planned,
    [EVENT_COMPENSATION_RUNNING] = fold_compensation_running,
    [EVENT_COMPENSATION_ATTEMPT_FAILED] = fold_compensation_attempt_failed,
    [EVENT_COMPENSATION_SUCCEEDED] = fold_compensation_succeeded,
    [EVENT_COMPENSATION_SKIPPED] = fold_compensation_skipped,
    [EVENT_COMPENSATION_RESUMED] = fold_compensation_resumed,
    [EVENT_RUN_COMPENSATED] = fold_run_compensated, [EVENT_RUN_COMPENSATION_FAILED] = fold_run_compensation_failed,
};

static void finish_run(const Fold *fold)
{
    const ProjectionInput *input = fold->input;
    put_int(fold->run, RUNS_event_count, input->run->event_count);
    put(fold->run, RUNS_head, cell_blob((Str){ (const char *)input->record->hash.bytes, DIGEST_SIZE }));
    put_int(fold->run, RUNS_last_position, input->record->position);
    put_time(fold->run, RUNS_updated_ms, input->run->updated_ms);
}

void projection_record(Projection *projection, const ProjectionInput *input)
{
    Fold fold = { .projection = projection, .input = input };
    if (input->plan->loop_count) {
        CHECK(input->step_numbers);
        fold.numbers = input->step_numbers;
    }
    Cell key = cell_int((int64_t)input->record->run_no);
    fold.run = pen_at(projection, TABLE_RUNS, input->record->first_event == 1 ? ROW_INSERT : ROW_UPDATE, &key);
    for (uint32_t i = 0; i < input->event_count; i++) {
        fold.event = &input->events[i];
        fold.event_number = input->record->first_event + i;
        if (fold_kinds[fold.event->kind]) fold_kinds[fold.event->kind](&fold);
    }
    finish_run(&fold);
}

void projection_numbers(const Run *run, uint32_t *out_step_numbers)
{
    for (uint32_t i = 0; i < run->step_count; i++) out_step_numbers[i] = run->steps[i].number;
}

void projection_replay(Projection *projection, const ProjectionInput *input, Run *run)
{
    EventPlace place = { .now_ms = input->head->now_ms, .position = input->record->position };
    for (uint32_t i = 0; i < input->event_count; i++) run_apply(run, input->plan, &input->events[i], &place);
    projection_record(projection, input);
}
