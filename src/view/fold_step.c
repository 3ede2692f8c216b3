#include "base/check.h"
#include "core/terms.h"
#include "view/fold.h"
#include "view/id_derive.h"

uint32_t fold_number(const Fold *fold, uint32_t step)
{
    return fold->numbers ? fold->numbers[step] : fold->input->run->steps[step].number;
}

/* A step run begins with this number: its row is new. */
static RowPen step_begin(Fold *fold, uint32_t step, uint32_t number)
{
    const ProjectionInput *input = fold->input;
    const PlanStep *plan_step = &input->plan->steps[step];
    if (fold->numbers) fold->numbers[step] = number;
    *input->begun_count = number;
    Cell key[2] = { cell_int((int64_t)input->record->run_no), cell_int((int64_t)number - 1) };
    RowPen pen = pen_at(fold->projection, TABLE_STEP_RUNS, ROW_INSERT, key);
    put_int(pen, STEP_RUNS_step_run_no, (*input->next_step_run_no)++);
    Id id = id_derive(&input->run->id, DERIVED_STEP_RUN, number);
    put_copied(pen, STEP_RUNS_id, id_peek(&id));
    put_borrowed(pen, STEP_RUNS_step_key, plan_step->id);
    put_name(pen, STEP_RUNS_step_type, step_kind_name((StepKind)plan_step->kind));
    if (plan_step->job != PLAN_NONE) put_borrowed(pen, STEP_RUNS_job_key, input->plan->jobs[plan_step->job].id);
    put_borrowed(pen, STEP_RUNS_branch_key, plan_step->branch_key);
    return pen;
}

RowPen fold_step_pen(Fold *fold, uint32_t step)
{
    uint32_t number = fold_number(fold, step);
    CHECK(number);                              /* what happens to a step run happens after it began */
    Cell key[2] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)number - 1) };
    return pen_at(fold->projection, TABLE_STEP_RUNS, ROW_UPDATE, key);
}

/* Whether the event begins the step run that it names; not all that name one do. */
static bool event_begins(const Fold *fold) { return fold->event->number > *fold->input->begun_count; }

/* The row of the event's step run, which the event may begin. */
static RowPen event_pen(Fold *fold)
{
    const Event *event = fold->event;
    return event_begins(fold) ? step_begin(fold, event->step, event->number) : fold_step_pen(fold, event->step);
}

RowPen fold_attempt_pen(Fold *fold, uint32_t step, uint32_t attempt)
{
    Cell key[3] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)fold_number(fold, step) - 1),
                    cell_int(attempt) };
    return pen_at(fold->projection, TABLE_ATTEMPTS, ROW_PUT, key);
}

void fold_put_status(RowPen pen, StepState state) { put_name(pen, STEP_RUNS_status, step_state_stored(state)); }

static void put_result(const Fold *fold, RowPen pen, StepState state, bool began)
{
    fold_put_status(pen, state);
    put_name(pen, STEP_RUNS_result, step_status(state, began, /* has_output= */ false));
    put_time(pen, STEP_RUNS_finished_ms, now_of(fold));
}

static void note_dedupe(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    const StepTerms *terms = &input->plan->terms->steps[event->step];
    if (!terms->key.len || !event->key.len) return;
    Arena *arena = pen_arena(fold->run);
    Cell key[4] = { cell_text(arena_copy(arena, input->run->tenant)), cell_text(terms->domain),
                    cell_text(arena_copy(arena, event->key)), cell_int((int64_t)event->count) };
    RowPen pen = pen_at(fold->projection, TABLE_DEDUPE, ROW_PUT, key);
    put_int(pen, DEDUPE_run_no, input->record->run_no);
    put_int(pen, DEDUPE_step_index, fold_number(fold, event->step) - 1);
}

void fold_step_dispatched(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    RowPen pen = event_pen(fold);
    const StepTerms *terms = &input->plan->terms->steps[event->step];
    const PollRun *poll = step_polls(terms) ? &input->run->polls[terms->poll.slot] : NULL;
    bool is_next_poll = poll && poll->started_ms < now_of(fold) && poll->count;     /* offered: it is polling until it is taken */
    fold_put_status(pen, is_next_poll ? STEP_POLLING : STEP_DISPATCHED);
    if (poll) put_null(pen, STEP_RUNS_next_poll_at);
    if (poll) put_moment(pen, STEP_RUNS_poll_started_at, poll->started_ms);
    put_int(pen, STEP_RUNS_attempt, event->attempt);
    put_copied(pen, STEP_RUNS_executor, event->name);
    put_copied(pen, STEP_RUNS_idempotency_key, event->key);
    put_payload(fold, pen, STEP_RUNS_input_at);
    put_time(pen, STEP_RUNS_dispatched_ms, now_of(fold));
    if (event->attempt > 1) {
        put_null(pen, STEP_RUNS_queued_ms);
        put_null(pen, STEP_RUNS_retry_ms);
        RowPen attempt = fold_attempt_pen(fold, event->step, event->attempt);
        put_copied(attempt, ATTEMPTS_executor, event->name);
        put_time(attempt, ATTEMPTS_dispatched_ms, now_of(fold));
    }
    put_borrowed(fold->run, RUNS_current_step, input->plan->steps[event->step].id);
    note_dedupe(fold);
}

void fold_step_running(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = fold_step_pen(fold, event->step);
    fold_put_status(pen, STEP_RUNNING);
    put_time(pen, STEP_RUNS_deadline_ms, event->due_ms);
    put_time(pen, STEP_RUNS_lease_ms, event->lease_ms);
    if (event->holder) put_int(pen, STEP_RUNS_holder, event->holder);
    uint32_t attempt = fold->input->run->steps[event->step].attempt;
    if (attempt > 1) put_time(fold_attempt_pen(fold, event->step, attempt), ATTEMPTS_started_ms, now_of(fold));
    else put_time(pen, STEP_RUNS_started_ms, now_of(fold));
}

void fold_step_succeeded(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_SUCCEEDED, /* began= */ true);
    if (event->payload != EVENT_NO_PAYLOAD) put_payload(fold, pen, STEP_RUNS_output_at);
    else if (!(event->flags & 1)) put_no_payload(pen, STEP_RUNS_output_at);      /* else: the one kept back */
}

void fold_step_failed(Fold *fold)
{
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_FAILED, /* began= */ true);
    put_failure(fold, pen, STEP_RUNS_error_class, STEP_RUNS_error_cause, STEP_RUNS_error_message);
    put_payload(fold, pen, STEP_RUNS_details_at);
    put_no_payload(pen, STEP_RUNS_output_at);                                    /* I5: outputs of failed steps are discarded */
}

void fold_attempt_failed(Fold *fold)
{
    RowPen pen = fold_attempt_pen(fold, fold->event->step, fold->event->attempt);
    put_failure(fold, pen, ATTEMPTS_error_class, ATTEMPTS_error_cause, ATTEMPTS_error_message);
    put_time(pen, ATTEMPTS_finished_ms, now_of(fold));
}

void fold_step_requeued(Fold *fold)
{
    RowPen pen = fold_step_pen(fold, fold->event->step);
    fold_put_status(pen, STEP_QUEUED);
    put_time(pen, STEP_RUNS_queued_ms, now_of(fold));
    put_time(pen, STEP_RUNS_retry_ms, fold->event->due_ms);
    put_null(pen, STEP_RUNS_deadline_ms);
    put_null(pen, STEP_RUNS_lease_ms);
    put_null(pen, STEP_RUNS_holder);
}

void fold_step_skipped(Fold *fold)
{
    const Event *event = fold->event;
    bool is_new = event_begins(fold);
    for (uint32_t step = event->step; step <= event->last; step++) {
        RowPen pen = is_new ? step_begin(fold, step, event->number + (step - event->step)) : fold_step_pen(fold, step);
        put_result(fold, pen, STEP_SKIPPED, /* began= */ false);
        put_name(pen, STEP_RUNS_skip_reason, skip_reason_name((SkipReason)event->reason));
    }
}

void fold_step_cancelled(Fold *fold)
{
    bool began = !event_begins(fold);           /* else it begins by being cancelled */
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_CANCELLED, began);
    put_no_payload(pen, STEP_RUNS_output_at);
    if (!began) return;
    put_name(pen, STEP_RUNS_error_class, failure_class_name(cause_class(CAUSE_CANCELLED)));
    put_name(pen, STEP_RUNS_error_cause, cause_name(CAUSE_CANCELLED));
    if (fold->event->text.len) put_copied(pen, STEP_RUNS_error_message, fold->event->text);
    else put_name(pen, STEP_RUNS_error_message, "cancelled");
}

void fold_step_waiting(Fold *fold)
{
    RowPen pen = fold_step_pen(fold, fold->event->step);
    fold_put_status(pen, STEP_WAITING_SIGNAL);
    put_copied(pen, STEP_RUNS_waiting_for, fold->event->name);
    put(pen, STEP_RUNS_deadline_ms, fold->event->due_ms ? cell_int(fold->event->due_ms) : cell_null());
    put_payload(fold, pen, STEP_RUNS_output_at);            /* kept back: shown once it has succeeded */
}

void fold_step_resumed(Fold *fold)
{
    RowPen pen = fold_step_pen(fold, fold->event->step);
    fold_put_status(pen, STEP_RUNNING);
    put_null(pen, STEP_RUNS_waiting_for);
    put(pen, STEP_RUNS_deadline_ms, fold->event->due_ms ? cell_int(fold->event->due_ms) : cell_null());
}

void fold_effect_committed(Fold *fold)
{
    if (fold->event->payload != EVENT_NO_PAYLOAD) put_payload(fold, fold_step_pen(fold, fold->event->step), STEP_RUNS_output_at);
}

void fold_lease_expired(Fold *fold)
{
    RowPen pen = fold_step_pen(fold, fold->event->step);
    put_null(pen, STEP_RUNS_lease_ms);
    put_null(pen, STEP_RUNS_holder);
}

/* What the body's steps did in the round before is history now. */
void fold_loop_repeated(Fold *fold)
{
    const Plan *plan = fold->input->plan;
    CHECK(fold->numbers);
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        const PlanLoop *loop = &plan->loops[l];
        if (loop->head != fold->event->step || loop->tail != fold->event->last) continue;
        for (uint32_t i = 0; i < loop->body_count; i++) {
            uint32_t step = loop->body[i].step;
            if (!fold->numbers[step]) continue;
            RowPen pen = fold_step_pen(fold, step);
            fold_put_status(pen, STEP_SUPERSEDED);
            put_moment(pen, STEP_RUNS_superseded_at, now_of(fold));
            fold->numbers[step] = 0;
        }
        return;
    }
}

/* The new step run is there at once, and waits. */
void fold_step_superseded(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    RowPen pen = step_begin(fold, event->step, event->number);
    fold_put_status(pen, STEP_QUEUED);
    put_name(pen, STEP_RUNS_retry_source, retry_source_name((RetrySource)event->sort));
    put_time(pen, STEP_RUNS_queued_ms, now_of(fold));
    if (!event->count) return;
    Cell key[2] = { cell_int((int64_t)input->record->run_no), cell_int((int64_t)event->count - 1) };
    RowPen old = pen_at(fold->projection, TABLE_STEP_RUNS, ROW_UPDATE, key);
    Id id = id_derive(&input->run->id, DERIVED_STEP_RUN, event->number);
    fold_put_status(old, STEP_SUPERSEDED);
    put_copied(old, STEP_RUNS_superseded_by_id, id_peek(&id));
    put_moment(old, STEP_RUNS_superseded_at, now_of(fold));
}
