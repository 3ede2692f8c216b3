#include "cli/live/lines.h"

#include "cli/human.h"
#include "cli/live/pen.h"
#include "core/run.h"
#include "core/terms.h"

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
static void put_seconds(Buf *out, int64_t ms) { buf_format(out, " "
                                                                "(%lld.%llds)", (long long)(ms / 1000),
                                                                    (long long)(ms % 1000 / 100)); }

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
    if (model->steps[event->step].poll_count) return;           /* a further poll: told when it ends */
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
    bool is_planned = event->reason == SKIP_CONDITION_FALSE || event->reason == SKIP_NOT_ON_ACTIVE_BRANCH;
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
                       : event->due_ms                               ? "[WARN] Failed to compensate"
                           : "[ERROR] Failed to compensate";
    put_step(out, model, before, event->step);
    if (is_failure) {
        buf_text(out, " - ");
        put_clean(out, event->text);
    }
    buf_char(out, '\n');
}

/* --- polls and pauses ------------------------------------------------------------------------------------------------------ */

static void tell_polling(Buf *out, const LiveModel *model, const Event *event, int64_t now_ms)
{
    uint32_t max = model_poll_max(model, event->step);
    put_step(out, model, "[INFO] Polling", event->step);
    buf_format(out, " (poll %u", model->steps[event->step].poll_count);
    if (max) buf_format(out, " of %u", max);
    buf_text(out, ", next in ");
    human_duration(out, event->due_ms > now_ms ? event->due_ms - now_ms : 0);
    buf_text(out, ")\n");
}

static void tell_timeout(Buf *out, const LiveModel *model, const Event *event)
{
    static const char *const ways[POLL_ACTION_COUNT] = { "", " (the run is paused for it)", " (done with the default output)" };
    put_step(out, model, event->flags == POLL_FAILS ? "[ERROR] Timed out" : "[WARN] Timed out", event->step);
    buf_text(out, " - ");
    put_clean(out, event->text);
    buf_text(out, event->flags < POLL_ACTION_COUNT ? ways[event->flags] : "");
    buf_char(out, '\n');
}

/* That it pauses for a trigger was told with the trigger. */
static void tell_pause(Buf *out, const Event *event)
{
    if (event->flags == PAUSED_FOR_TRIGGER) return;
    buf_text(out, "[INFO] Run paused");
    if (event->text.len) buf_text(out, " - ");
    put_clean(out, event->text);
    buf_char(out, '\n');
}

/* What a person did to one job. */
static void tell_job(Buf *out, const LiveModel *model, const Event *event)
{
    buf_text(out, event->kind == EVENT_JOB_CANCELLING ? "[WARN] Cancelling job " : "[INFO] Job ");
    put_clean(out, model->plan->jobs[event->job].id);
    if (event->kind == EVENT_JOB_PAUSED) buf_text(out, " paused");
    if (event->kind == EVENT_JOB_RESUMED) buf_text(out, " resumed");
    if (event->text.len && event->kind != EVENT_JOB_CANCELLING) buf_text(out, " - ");
    if (event->kind != EVENT_JOB_CANCELLING) put_clean(out, event->text);
    buf_char(out, '\n');
}

static void put_until(Buf *out, const char *before, int64_t ms)
{
    if (!ms) return;
    buf_text(out, before);
    human_time(out, ms);
    buf_text(out, " UTC");
}

static void put_named(Buf *out, const char *before, Str name)
{
    buf_text(out, before);
    put_clean(out, name);
}

typedef struct Words { Buf *out; const LiveModel *model; const Event *event; } Words;

static bool put_awaited(const Words *words)
{
    put_named(words->out, "Run awaits trigger: ", words->event->name);
    put_until(words->out, words->event->flags & 1 ? "; it goes on by itself at " : " until ", words->event->due_ms);
    return false;
}

static bool put_received(const Words *words)
{
    const Event *event = words->event;
    put_named(words->out, "Trigger received: ", event->name);
    if (event->source.len) put_named(words->out, " from ", event->source);
    if (event->key.len) put_named(words->out, " at ", event->key);
    if (event->flags & TRIGGER_IS_KEPT) buf_text(words->out, " (kept for its pause)");
    if (event->flags & TRIGGER_IS_UNMET) buf_text(words->out, " (its condition does not hold: the run stays paused)");
    if (event->flags & TRIGGER_IS_DENIAL) buf_text(words->out, " (a denial)");
    return event->flags & (TRIGGER_IS_UNMET | TRIGGER_IS_DENIAL);
}

static bool put_refused(const Words *words)
{
    put_named(words->out, "Trigger refused: ", words->event->name);
    if (words->event->source.len) put_named(words->out, " from ", words->event->source);
    put_named(words->out, " - ", words->event->text);
    return true;
}

static bool put_timed_out(const Words *words)
{
    static const char *const ways[PAUSE_ACTION_COUNT] = { "the run fails", "a reminder follows", "it counts as approved" };
    put_named(words->out, "Trigger timed out: ", words->event->name);
    if (words->event->flags < PAUSE_ACTION_COUNT) buf_format(words->out, " (%s)", ways[words->event->flags]);
    return true;
}

static bool put_reminded(const Words *words)
{
    buf_format(words->out, "Reminder %u of trigger: ", (uint32_t)words->event->count);
    put_clean(words->out, words->event->name);
    put_until(words->out, " until ", words->event->due_ms);
    return false;
}

static bool put_ended(const Words *words)
{
    buf_format(words->out, "Trigger %s: ", trigger_outcome_name((TriggerOutcome)words->event->sort));
    put_clean(words->out, words->event->name);
    return false;
}

static bool put_notified(const Words *words)
{
    if (words->event->kind == EVENT_NOTIFICATION_QUEUED) put_named(words->out, "Notifying: ", words->event->name);
    else buf_format(words->out, "Notification %u was received", (uint32_t)words->event->count);
    return false;
}

static bool put_not_notified(const Words *words)
{
    const Event *event = words->event;
    bool is_withdrawn = event->cause == CAUSE_CANCELLED && !event->due_ms;
    buf_format(words->out, "Notification %u %s", (uint32_t)event->count,
               is_withdrawn ? "is no longer wanted" : event->due_ms ? "failed and is tried again" : "failed for good");
    put_named(words->out, " - ", event->text);
    return !is_withdrawn;
}

static bool put_ending(const Words *words)
{
    const Event *event = words->event;
    buf_format(words->out, "Ending run early as %s", event->flags & 1 ? "succeeded" : "failed");
    if (event->step < words->model->plan->step_count) put_named(words->out, ": ", words->model->plan->steps[event->step].id);
    if (event->text.len) put_named(words->out, " - ", event->text);
    return false;
}

static bool put_reaction(const Words *words)
{
    static const char *const kinds[REACTION_KIND_COUNT] = {
        [REACTION_PAUSE] = "pause_all",         [REACTION_RECHECK] = "policy_recheck",  [REACTION_RESUME] = "resume",
        [REACTION_CANCEL] = "cancel",           [REACTION_COMPENSATE] = "compensate_all", [REACTION_CUT] = "short_circuit",
        [REACTION_AMPLIFY] = "amplify_retries",
    };
    const PlanTerms *terms = words->model->plan->terms;
    put_named(words->out, "Reaction to signal: ", words->event->name);
    if (terms && words->event->count < terms->reaction_count)
        buf_format(words->out, " (%s)", kinds[terms->reactions[words->event->count].kind]);
    return false;
}

static bool put_change(const Words *words)
{
    put_named(words->out, "Parameters changed: ", words->event->text);
    return false;
}

static bool put_rebound(const Words *words)
{
    if (words->event->text.len) put_named(words->out, "Bound to other places: ", words->event->text);
    else buf_text(words->out, "Bound to the places of its definition again");
    return false;
}

static void put_of_step(const Words *words, const char *before)
{
    if (words->event->step < words->model->plan->step_count) put_named(words->out, before, words->model->plan->steps[words->event->step].id);
    put_named(words->out, " - ", words->event->text);
}

static bool put_lost(const Words *words)
{
    put_of_step(words, "Lost step: ");
    return true;
}

static bool put_deferred(const Words *words)
{
    put_of_step(words, "Waiting step: ");
    return true;
}

static bool put_revision(const Words *words)
{
    buf_format(words->out, "Goes on with revision %u", words->event->revision);
    if (words->event->text.len) put_named(words->out, ", in which these steps differ: ", words->event->text);
    return false;
}

/* Each says whether it is a warning. */
static bool (*const run_words[EVENT_KIND_END])(const Words *words) = {
    [EVENT_TRIGGER_AWAITED] = put_awaited,     [EVENT_TRIGGER_RECEIVED] = put_received, [EVENT_TRIGGER_REFUSED] = put_refused,
    [EVENT_TRIGGER_TIMED_OUT] = put_timed_out, [EVENT_TRIGGER_REMINDED] = put_reminded, [EVENT_TRIGGER_ENDED] = put_ended,
    [EVENT_LEASE_EXPIRED] = put_lost,          [EVENT_STEP_DEFERRED] = put_deferred,
    [EVENT_RUN_TERMINATING] = put_ending,      [EVENT_REACTION_FIRED] = put_reaction,   [EVENT_PARAMS_CHANGED] = put_change,
    [EVENT_RUN_REBOUND] = put_rebound,
    [EVENT_RUN_REVISED] = put_revision,        [EVENT_NOTIFICATION_QUEUED] = put_notified,
    [EVENT_NOTIFICATION_SENT] = put_notified,  [EVENT_NOTIFICATION_FAILED] = put_not_notified,
};

bool lines_run_words(Buf *out, const LiveModel *model, const Event *event, bool *out_is_warning)
{
    if (event->kind >= EVENT_KIND_END || !run_words[event->kind]) return false;
    if (event->kind == EVENT_STEP_DEFERRED && (event->count || !event->text.len)) return false;    /* for a moment, under pressure */
    *out_is_warning = run_words[event->kind](&(Words){ out, model, event });
    return true;
}

static bool tell_run(const Lines *lines, Buf *out, const LiveModel *model, const Event *event)
{
    char storage[LIVE_LINE_SIZE_MAX];
    Buf words = buf_on(storage, sizeof storage);
    bool is_warning;
    if (!lines_run_words(&words, model, event, &is_warning)) return false;
    buf_format(out, "%s %.*s", is_warning ? "[WARN]" : "[INFO]", STR_ARG(buf_peek(&words)));
    if (event->kind == EVENT_TRIGGER_AWAITED && !(event->flags & 1) && lines->run_id.len)
        buf_format(out, "; maestro approve %.*s", STR_ARG(lines->run_id));
    buf_char(out, '\n');
    return true;
}

/* --- events ---------------------------------------------------------------------------------------------------------------- */

void lines_event(Lines *lines, Buf *out, const LiveModel *model, const Event *event, int64_t now_ms)
{
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    if (is_of_step && (event->step >= model->plan->step_count || event->last >= model->plan->step_count)) return;
    bool is_of_job = event->kind >= EVENT_JOB_PAUSED && event->kind <= EVENT_JOB_CANCELLING && event->job < model->plan->job_count;
    if (event->kind == EVENT_STEP_RUNNING) {
        tell_start(lines, model, event);
        return;
    }
    bool is_told = event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_FAILED || event->kind == EVENT_ATTEMPT_FAILED
                || event->kind == EVENT_STEP_SKIPPED || event->kind == EVENT_STEP_WAITING || event->kind == EVENT_STEP_CANCELLED
                || event->kind == EVENT_RUN_PAUSED || event->kind == EVENT_RUN_CANCELLING || event->kind == EVENT_STEP_POLLING
                || event->kind == EVENT_POLL_TIMED_OUT || is_of_job;
    bool is_undo = event->kind == EVENT_COMPENSATION_RUNNING || event->kind == EVENT_COMPENSATION_ATTEMPT_FAILED
                || event->kind == EVENT_COMPENSATION_SUCCEEDED || event->kind == EVENT_COMPENSATION_SKIPPED;
    Buf words;
    buf_init(&words, JSON_SIZE_MAX);
    bool is_of_run = tell_run(lines, &words, model, event);
    if (is_of_run || is_told || (is_undo && event->step < model->plan->step_count)) lines_flush(lines, out, model);
    buf_str(out, buf_peek(&words));
    buf_deinit(&words);
    if (!is_told && !(is_undo && event->step < model->plan->step_count)) return;
    if (event->kind == EVENT_STEP_POLLING) tell_polling(out, model, event, now_ms);
    if (event->kind == EVENT_POLL_TIMED_OUT) tell_timeout(out, model, event);
    if (is_undo) tell_undo(out, model, event);
    if (event->kind == EVENT_STEP_SUCCEEDED) tell_end(out, model, event, now_ms);
    if (event->kind == EVENT_STEP_FAILED) tell_failure(out, model, event);
    if (event->kind == EVENT_ATTEMPT_FAILED) tell_attempt(out, model, event);
    if (event->kind == EVENT_STEP_SKIPPED) tell_skips(out, model, event);
    if (event->kind == EVENT_STEP_WAITING) tell_waiting(out, model, event);
    if (event->kind == EVENT_STEP_CANCELLED) tell_step(out, model, "[WARN] Cancelled", event);
    if (event->kind == EVENT_RUN_PAUSED) tell_pause(out, event);
    if (event->kind == EVENT_RUN_CANCELLING) buf_text(out, "[WARN] Cancelling run\n");
    if (is_of_job) tell_job(out, model, event);
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
    buf_format(out, "[INFO] Execution complete: %u succeeded, %u failed, %u skipped", model_succeeded(model),
               model_failed(model), model->counts[STEP_SKIPPED]);
    if (model->counts[STEP_CANCELLED]) buf_format(out, ", %u cancelled", model->counts[STEP_CANCELLED]);
    buf_char(out, '\n');
}
