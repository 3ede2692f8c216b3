#include "cli/live/lines.h"

#include "cli/live/pen.h"

static const char *noun(const Plan *plan) { return plan->kind == PLAN_RUNBOOK ? "artifact" : "step"; }

static void put_clean(Buf *out, Str text)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    buf_str(out, text_clean(&arena, text, false));
    arena_deinit(&arena);
}

static void put_step(Buf *out, const LiveModel *model, const char *before, uint32_t step)
{
    buf_format(out, "%s %s: ", before, noun(model->plan));
    put_clean(out, model->plan->steps[step].id);
}

/* In seconds with one decimal, however long: programs read it. */
static void put_seconds(Buf *out, int64_t ms) { buf_format(out, " (%lld.%llds)", (long long)(ms / 1000), (long long)(ms % 1000 / 100)); }

static void put_starts(Lines *lines, Buf *out, const LiveModel *model)
{
    uint32_t named = lines->start_count < LIVE_NAME_COUNT_MAX ? lines->start_count : LIVE_NAME_COUNT_MAX;
    buf_format(out, "[INFO] Starting %s%s: ", noun(model->plan), lines->start_count > 1 ? "s" : "");
    for (uint32_t i = 0; i < named; i++) {
        if (i) buf_text(out, ", ");
        put_clean(out, model->plan->steps[lines->starts[i]].id);
    }
    if (lines->start_count > named) buf_format(out, " and %u more", lines->start_count - named);
    buf_text(out, lines->start_count > 1 ? " (parallel)\n" : "\n");
}

void lines_flush(Lines *lines, Buf *out, const LiveModel *model)
{
    if (lines->start_count) put_starts(lines, out, model);
    lines->start_count = 0;
}

static void tell_start(Lines *lines, const LiveModel *model, const Event *event)
{
    if (!model_counts(model, event->step)) return;
    if (lines->start_count < LIVE_NAME_COUNT_MAX) lines->starts[lines->start_count] = event->step;
    lines->start_count++;
}

static void tell_end(Buf *out, const LiveModel *model, const Event *event, int64_t now_ms)
{
    if (!model_counts(model, event->step)) return;
    put_step(out, model, "[INFO] Completed", event->step);
    put_seconds(out, step_took_ms(&model->steps[event->step], now_ms));
    buf_char(out, '\n');
}

static void tell_failure(Buf *out, const LiveModel *model, const Event *event)
{
    put_step(out, model, event->flags & 1 ? "[WARN] Failed" : "[ERROR] Failed", event->step);
    buf_text(out, " - ");
    if (event->text.len) put_clean(out, event->text);
    else buf_text(out, cause_name((Cause)event->cause));
    buf_char(out, '\n');
}

static void tell_attempt(Buf *out, const LiveModel *model, const Event *event)
{
    buf_format(out, "[WARN] Attempt %u of %s ", event->attempt, noun(model->plan));
    put_clean(out, model->plan->steps[event->step].id);
    buf_text(out, " failed - ");
    put_clean(out, event->text);
    buf_char(out, '\n');
}

/* What was decided by the definition itself is no warning. */
static void tell_skips(Buf *out, const LiveModel *model, const Event *event)
{
    uint32_t last = event->last > event->step ? event->last : event->step;
    bool is_planned = event->reason == SKIP_CONDITION_FALSE || event->reason == SKIP_BRANCH_NOT_TAKEN;
    for (uint32_t i = event->step; i <= last; i++) {
        if (!model_counts(model, i)) continue;
        put_step(out, model, is_planned ? "[INFO] Skipping" : "[WARN] Skipping", i);
        buf_format(out, " (%s)\n", skip_words((SkipReason)event->reason));
    }
}

static void tell_waiting(Buf *out, const LiveModel *model, const Event *event)
{
    put_step(out, model, "[INFO] Waiting", event->step);
    buf_text(out, " (signal ");
    put_clean(out, event->name);
    buf_text(out, ")\n");
}

static void tell_step(Buf *out, const LiveModel *model, const char *before, const Event *event)
{
    put_step(out, model, before, event->step);
    buf_char(out, '\n');
}

/* What is undone is told step by step, as what is done. */
static void tell_undo(Buf *out, const LiveModel *model, const Event *event)
{
    bool is_failure = event->kind == EVENT_COMPENSATION_ATTEMPT_FAILED;
    const char *before = event->kind == EVENT_COMPENSATION_RUNNING ? "[INFO] Compensating"
                       : event->kind == EVENT_COMPENSATION_SUCCEEDED ? "[INFO] Compensated"
                       : event->kind == EVENT_COMPENSATION_SKIPPED   ? "[WARN] Not compensating"
                       : event->due_ms                               ? "[WARN] Failed to compensate" : "[ERROR] Failed to compensate";
    put_step(out, model, before, event->step);
    if (is_failure) {
        buf_text(out, " - ");
        put_clean(out, event->text);
    }
    buf_char(out, '\n');
}

void lines_event(Lines *lines, Buf *out, const LiveModel *model, const Event *event, int64_t now_ms)
{
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    if (is_of_step && (event->step >= model->plan->step_count || event->last >= model->plan->step_count)) return;
    if (event->kind == EVENT_STEP_RUNNING) {
        tell_start(lines, model, event);
        return;
    }
    bool is_told = event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_FAILED || event->kind == EVENT_ATTEMPT_FAILED
                || event->kind == EVENT_STEP_SKIPPED || event->kind == EVENT_STEP_WAITING || event->kind == EVENT_STEP_CANCELLED
                || event->kind == EVENT_RUN_PAUSED || event->kind == EVENT_RUN_CANCELLING;
    bool is_undo = event->kind == EVENT_COMPENSATION_RUNNING || event->kind == EVENT_COMPENSATION_ATTEMPT_FAILED
                || event->kind == EVENT_COMPENSATION_SUCCEEDED || event->kind == EVENT_COMPENSATION_SKIPPED;
    if (!is_told && !(is_undo && event->step < model->plan->step_count)) return;
    lines_flush(lines, out, model);
    if (is_undo) tell_undo(out, model, event);
    if (event->kind == EVENT_STEP_SUCCEEDED) tell_end(out, model, event, now_ms);
    if (event->kind == EVENT_STEP_FAILED) tell_failure(out, model, event);
    if (event->kind == EVENT_ATTEMPT_FAILED) tell_attempt(out, model, event);
    if (event->kind == EVENT_STEP_SKIPPED) tell_skips(out, model, event);
    if (event->kind == EVENT_STEP_WAITING) tell_waiting(out, model, event);
    if (event->kind == EVENT_STEP_CANCELLED) tell_step(out, model, "[WARN] Cancelled", event);
    if (event->kind == EVENT_RUN_PAUSED) buf_text(out, "[INFO] Run paused\n");
    if (event->kind == EVENT_RUN_CANCELLING) buf_text(out, "[WARN] Cancelling run\n");
}

void lines_log(Lines *lines, Buf *out, const LiveModel *model, uint32_t step, Str text, bool is_error)
{
    lines_flush(lines, out, model);
    buf_text(out, is_error ? "[WARN] " : "[INFO] ");
    put_clean(out, model->plan->steps[step].id);
    buf_text(out, ": ");
    put_clean(out, text);
    buf_char(out, '\n');
}

void lines_complete(Buf *out, const LiveModel *model)
{
    buf_format(out, "[INFO] Execution complete: %u succeeded, %u failed, %u skipped", model->counts[STEP_SUCCEEDED],
               model->counts[STEP_FAILED] + model->counts[STEP_TIMED_OUT], model->counts[STEP_SKIPPED]);
    if (model->counts[STEP_CANCELLED]) buf_format(out, ", %u cancelled", model->counts[STEP_CANCELLED]);
    buf_char(out, '\n');
}
