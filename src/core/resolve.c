#include "core/resolve.h"

#include "core/compensation.h"
#include "core/rerun.h"
#include "core/retry.h"

Event *resolve_decided(const Settle *settle, DecisionKind kind, Str source, Str reason)
{
    Event *event = decision_event(settle->decision, EVENT_DECISION_MADE, STEP_NONE);
    event->sort = kind;
    event->source = source;
    event->text = reason;
    return event;
}

static Event *fail_run(const Settle *settle, Resolution resolution, Str text)
{
    const Run *run = settle->run;
    Event *event = decision_event(settle->decision, EVENT_RUN_FAILED, run->failed_step);
    event->cause = run->cause;
    event->class_ = cause_class((Cause)run->cause);
    event->resolution = resolution;
    event->text = text;
    return event;
}

static Str failure_text(const Settle *settle)
{
    return arena_copy(settle->decision->arena, settle->run->failure);           /* the run changes its own */
}

/* --- strategies ------------------------------------------------------------------------------------------------------------- */

static const uint8_t *declared_steps(const Settle *settle, bool is_failed_alone)
{
    uint8_t *named = ARENA_ARRAY(settle->decision->arena, uint8_t, settle->run->step_count + 1);
    for (uint32_t i = 0; !is_failed_alone && i < settle->run->step_count; i++)
        named[i] = settle->plan->terms->steps[i].is_undone_on_failure;
    if (is_failed_alone && settle->run->failed_step != STEP_NONE) named[settle->run->failed_step] = 1;
    return named;
}

static RollbackPlan declared_rollback(const Settle *settle)
{
    RollbackPlan wanted = { .scope = SCOPE_FULL, .from = STEP_NONE };
    FailureScope scope = settle->plan->terms->resolution.scope;
    bool is_timeout = settle->run->cause == CAUSE_DEADLINE;                     /* C-43: for all steps */
    if (scope == FAILURE_SCOPE_ALL || is_timeout) return wanted;
    wanted.scope = SCOPE_PARTIAL;
    wanted.named = declared_steps(settle, scope == FAILURE_SCOPE_FAILED_STEP);
    if (scope == FAILURE_SCOPE_NAMED) wanted.flags = ROLLBACK_AS_DECLARED;
    return wanted;
}

static Str unknown_text(const Settle *settle, uint32_t step)
{
    Str id = settle->plan->steps[step].id;
    return arena_format(settle->decision->arena, "%.*s%sit is not compensated, since nobody knows whether the effect of step '%.*s' took place",
                        STR_ARG(settle->run->failure), settle->run->failure.len ? "; " : "", STR_ARG(id));
}

/* F-088: what may have happened is not undone before somebody has found out. */
static void fail_and_compensate(const Settle *settle, Str source)
{
    RollbackPlan wanted = declared_rollback(settle);
    CompensationList list = compensation_list(settle->plan, settle->run, &wanted, settle->decision->arena);
    if (list.unknown != STEP_NONE) {
        fail_run(settle, RESOLUTION_AWAITING_DECISION, unknown_text(settle, list.unknown));
        return;
    }
    Str text = failure_text(settle);
    fail_run(settle, RESOLUTION_NONE, text);
    resolve_decided(settle, DECISION_COMPENSATE, source, text)->name =
        compensation_names(settle->plan, wanted.named, settle->decision->arena);
    compensation_start(settle, &wanted, &list, text);
}

/* C-22: some step failed after it had announced an effect or had it. Nobody risks that twice without a person's word. */
static bool has_acted(const Settle *settle)
{
    const Run *run = settle->run;
    for (uint32_t i = 0; i < run->step_count; i++) {
        const StepRun *step = &run->steps[i];
        bool is_cut = step->state == STEP_FAILED || step->state == STEP_CANCELLED || step->state == STEP_TIMED_OUT;
        if (is_cut && step->flags & (STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED)) return true;
    }
    return false;
}

/* A person has said that it shall not be done: nothing but a person has it done after all. */
static bool is_cancelled_job(const Settle *settle)
{
    uint32_t step = settle->run->failed_step;
    return step != STEP_NONE && run_cuts_job(settle->run, settle->plan, step);
}

static void fail_and_retry(const Settle *settle)
{
    const ResolutionTerms *terms = &settle->plan->terms->resolution;
    uint32_t attempt = settle->run->auto_retry_count + 1;
    if (has_acted(settle) || is_cancelled_job(settle)) {
        fail_run(settle, RESOLUTION_AWAITING_DECISION, failure_text(settle));
        return;
    }
    bool may_retry = attempt <= terms->retry_count_max && !cost_is_spent(settle->plan, settle->run);
    fail_run(settle, may_retry ? RESOLUTION_AUTO_RETRY_SCHEDULED : RESOLUTION_AWAITING_DECISION, failure_text(settle));
    Event *event = decision_event(settle->decision, may_retry ? EVENT_AUTO_RETRY_SCHEDULED : EVENT_AUTO_RETRY_EXHAUSTED, 0);
    event->attempt = may_retry ? attempt : settle->run->auto_retry_count;
    if (may_retry) event->due_ms = settle->now_ms + retry_delay_ms(&terms->retry, attempt, settle->run->seed);
}

void resolve_failure(const Settle *settle)
{
    const ResolutionTerms *terms = &settle->plan->terms->resolution;
    if (settle->run->cause == CAUSE_DEADLINE) {                                 /* C-43: in the place of the strategy */
        if (terms->on_timeout == TIMEOUT_COMPENSATES) fail_and_compensate(settle, STR("on_timeout"));
        else fail_run(settle, terms->on_timeout == TIMEOUT_FAILS ? RESOLUTION_RESOLVED : RESOLUTION_AWAITING_DECISION, failure_text(settle));
        return;
    }
    switch (terms->strategy) {
    case FAILURE_AUTO_COMPENSATE: fail_and_compensate(settle, STR("AUTO_COMPENSATE")); break;
    case FAILURE_AUTO_RETRY: fail_and_retry(settle); break;
    case FAILURE_AWAIT_DECISION: fail_run(settle, RESOLUTION_AWAITING_DECISION, failure_text(settle)); break;
    }
}

/* --- wound down to be cancelled or compensated --------------------------------------------------------------------------------- */

void resolve_wound_down(const Settle *settle)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    RollbackPlan wanted = compensation_wanted(run, decision->arena);
    CompensationList list = { .unknown = STEP_NONE };
    if (run->is_rolling_back) list = compensation_list(settle->plan, run, &wanted, decision->arena);
    if (run->is_cancelling && !list.count && list.unknown == STEP_NONE) {
        decision_event(decision, EVENT_RUN_CANCELLED, 0);                       /* C-10: nothing is to be compensated */
        return;
    }
    Str why = run->is_cancelling ? STR("the run was cancelled") : STR("the run was rolled back");
    /* C-11: the table knows a direct way from `running` alone. */
    bool is_held = list.unknown != STEP_NONE;
    if (is_held || run->state != RUN_RUNNING) {
        Str text = is_held ? unknown_text(settle, list.unknown) : run->failure.len ? failure_text(settle) : why;
        Event *event = fail_run(settle, is_held ? RESOLUTION_AWAITING_DECISION : RESOLUTION_NONE, text);
        if (event->cause == CAUSE_NONE) {
            event->cause = CAUSE_CANCELLED;
            event->class_ = cause_class(CAUSE_CANCELLED);
        }
    }
    if (!is_held) compensation_start(settle, &wanted, &list, why);
}

/* --- retries ----------------------------------------------------------------------------------------------------------------------- */

void resolve_auto_retry(const Settle *settle)
{
    resolve_decided(settle, DECISION_RETRY, STR("AUTO_RETRY"), failure_text(settle));
    settle_requeue(settle, RETRY_SOURCE_AUTO_RETRY, STEP_NONE);
}

void resolve_rerun(const Settle *settle, uint32_t event_count_max)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    const uint8_t *set = rerun_set(settle->plan, run, run->retry_from, decision->arena);
    uint32_t before = decision->event_count;
    for (uint32_t i = run->sweep_next; i < run->step_count; i++) {
        if (!set[i] || !step_state_is_final((StepState)run->steps[i].state)) continue;
        uint32_t added = decision->event_count - before;
        if (added && added >= event_count_max) return;
        Event *event = decision_event(decision, EVENT_STEP_SUPERSEDED, i);
        event->number = run->begun_count + added + 1;
        event->count = run->steps[i].number;
        event->sort = run->retry_source;
    }
    if (decision->event_count > before) return;
    decision_event(decision, EVENT_RUN_DISPATCHED, 0);
    decision_event(decision, EVENT_RUN_RUNNING, 0);
}
