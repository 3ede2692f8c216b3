#include "core/command.h"
#include "view/fold.h"

/* The event names the plan. That of the input is the newest of the run, of which the strategy is: so it is here and in a rebuild. */
static void put_plan(const Fold *fold)
{
    const ProjectionInput *input = fold->input;
    const Digest *digest = fold->event->digest ? fold->event->digest : &input->plan->digest;
    Str bytes = { (const char *)digest->bytes, DIGEST_SIZE };
    put(fold->run, RUNS_plan_digest, cell_blob(arena_copy(pen_arena(fold->run), bytes)));
    const Value *resolution = value_get_text(input->plan->document, "failure_resolution");
    put_borrowed(fold->run, RUNS_failure_resolution_strategy,
                 resolution ? value_get_string(*resolution, "strategy", STR("AWAIT_DECISION")) : STR("AWAIT_DECISION"));
}

void fold_run_created(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = pen_arena(fold->run);
    RowPen pen = fold->run;
    put(pen, RUNS_id, cell_text(arena_copy(arena, id_peek(&input->run->id))));
    put(pen, RUNS_tenant, cell_text(arena_copy(arena, event->tenant)));
    put(pen, RUNS_definition_key, cell_text(arena_copy(arena, event->name)));
    put_int(pen, RUNS_definition_version, event->revision);
    put_plan(fold);
    put_state(fold, RUN_QUEUED);
    put_int(pen, RUNS_cancel_requested, 0);
    put_name(pen, RUNS_priority, priority_name((Priority)event->priority));
    put_copied(pen, RUNS_idempotency_key, event->key);
    put_int(pen, RUNS_key_generation, event->count);
    put_payload(fold, pen, RUNS_params_at);
    put_time(pen, RUNS_created_ms, now_of(fold));
    put_time(pen, RUNS_started_ms, now_of(fold));
    put_moment(pen, RUNS_deadline_at, event->due_ms);
    put_copied(pen, RUNS_source, event->source);
    put_copied(pen, RUNS_parent_id, event->parent);
}

/* What the run goes on with. */
void fold_run_revised(Fold *fold)
{
    put_int(fold->run, RUNS_definition_version, fold->event->revision);
    put_plan(fold);
}

void fold_run_dispatched(Fold *fold) { put_state(fold, RUN_DISPATCHED); }
void fold_run_paused(Fold *fold) { put_state(fold, RUN_PAUSED); }
void fold_run_waiting(Fold *fold) { put_state(fold, RUN_WAITING_SIGNAL); }

void fold_run_running(Fold *fold)
{
    put_state(fold, RUN_RUNNING);
    /* The first time only: later the column, and the index over it, stay as they are. */
    if (fold->input->run->started_ms == now_of(fold)) put_time(fold->run, RUNS_started_ms, now_of(fold));
}

void fold_run_succeeded(Fold *fold) { put_end(fold, RUN_SUCCEEDED); }

void fold_run_cancelled(Fold *fold)
{
    put_end(fold, RUN_CANCELLED);
    put_null(fold->run, RUNS_resolution);
    put_null(fold->run, RUNS_auto_retry_at);
}

void fold_run_failed(Fold *fold)
{
    put_end(fold, RUN_FAILED);
    put_null(fold->run, RUNS_auto_retry_at);            /* one that is scheduled follows */
    put_failure(fold, fold->run, RUNS_error_class, RUNS_error_cause, RUNS_error_message);
    const Plan *plan = fold->input->plan;
    if (fold->event->step < plan->step_count)
        put_borrowed(fold->run, RUNS_failed_step_key, plan->steps[fold->event->step].id);
}

void fold_retry_scheduled(Fold *fold)
{
    put_int(fold->run, RUNS_auto_retry_count, fold->event->attempt);
    put_moment(fold->run, RUNS_auto_retry_at, fold->event->due_ms);
}

/* C-07: the ledger keeps what the row forgets. */
void fold_run_requeued(Fold *fold)
{
    static const uint32_t forgotten[] = { RUNS_resolution, RUNS_completed_ms, RUNS_error_message, RUNS_error_class, RUNS_error_cause,
                                          RUNS_failed_step_key, RUNS_auto_retry_at };
    put_state(fold, RUN_QUEUED);
    for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++) put_null(fold->run, forgotten[i]);
    put_int(fold->run, RUNS_cancel_requested, 0);
    put_moment(fold->run, RUNS_deadline_at, fold->event->due_ms);
}

void fold_run_cancelling(Fold *fold) { put_int(fold->run, RUNS_cancel_requested, 1); }
void fold_cost_reported(Fold *fold) { put_int(fold->run, RUNS_cost_micro, fold->input->run->cost_micro); }
