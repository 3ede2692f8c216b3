/* decide.c - commands on a run: pausing, resuming, cancelling, signals. Reports and time have files of their own. */
#include "core/decide.h"

#include "base/limits.h"
#include "core/job.h"
#include "core/pause.h"
#include "core/placement.h"
#include "core/reaction.h"
#include "core/resolve.h"

/* --- refusals ---------------------------------------------------------------------------------------------------------- */

Status decide_refuse(const Asked *asked, Error *err, const char *why, const char *instead)
{
    const Run *run = asked->settle.run;
    const char *what = run->state >= RUN_SUCCEEDED ? ""                 /* it has ended: what it was about to do is done */
                     : run->is_cancelling          ? " and being cancelled"
                     : run->is_rolling_back        ? " and about to be compensated"
                     : run->is_failing             ? " and failing"
                                                   : "";
    return error_set(err, ERR_CONFLICT, "the run is %s%s: %s%s%s", run_state_name((RunState)run->state), what, why,
                     instead[0] ? "; " : "", instead);
}

static bool is_over(const Run *run)
{
    return run_state_is_settled((RunState)run->state, (Resolution)run->resolution);
}

Status decide_ask_policy(const Asked *asked, Hook hook, Value input, Error *err)
{
    const Settle *settle = &asked->settle;
    Verdict verdict = settle->env->verdict(settle->env->context, hook, settle->plan, settle->run, STEP_NONE, input);
    if (verdict.kind == VERDICT_LATER) return error_set(err, ERR_UNAVAILABLE, "the policy has not answered yet");
    if (verdict.kind == VERDICT_MISSING) {
        settle->decision->missing = MISSING_PARAMS;
        return error_set(err, ERR_UNAVAILABLE, "the policy needs the parameters of the run");
    }
    if (verdict.kind == VERDICT_DENY) {
        decision_verdict(settle->decision, hook, STEP_NONE, &verdict);
        return error_set(err, ERR_DENIED, "a policy does not permit it: %.*s", STR_ARG(verdict.text));
    }
    settle->decision->policy = verdict.policy;
    return OK;
}

/* --- pause, resume, cancel ----------------------------------------------------------------------------------------------- */

/* What a wish meets in each state; NULL: it is granted. */
typedef struct Refusal { const char *why, *instead; } Refusal;

static const Refusal pause_refusals[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = { "it has not begun", "cancel it, or pause it when it runs" },
    [RUN_DISPATCHED] = { "it has not begun", "cancel it, or pause it when it runs" },
    [RUN_PAUSED] = { "it is paused already", "resume it, or cancel it" },
    [RUN_SUCCEEDED] = { "it has ended", "" },
    [RUN_FAILED] = { "it has ended and starts nothing by itself", "resolve it, or cancel it" },
    [RUN_COMPENSATING] = { "what is being undone is not paused", "cancel it" },
    [RUN_COMPENSATED] = { "it has ended", "" },
    [RUN_COMPENSATION_FAILED] = { "it starts nothing by itself", "use retry-compensation or skip-compensation" },
    [RUN_CANCELLED] = { "it has ended", "" },
    [RUN_SKIPPED] = { "it has ended", "" },
};

static const Refusal resume_refusals[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = { "it is not paused", "it begins by itself" },
    [RUN_DISPATCHED] = { "it is not paused", "it begins by itself" },
    [RUN_RUNNING] = { "it is not paused", "pause it first, or cancel it" },
    [RUN_WAITING_SIGNAL] = { "it is not paused", "it goes on with the signal it waits for" },
    [RUN_SUCCEEDED] = { "it has ended", "" },
    [RUN_FAILED] = { "it is not paused", "resolve it" },
    [RUN_COMPENSATING] = { "it is not paused", "it goes on by itself" },
    [RUN_COMPENSATED] = { "it has ended", "" },
    [RUN_COMPENSATION_FAILED] = { "it is not paused", "use retry-compensation or skip-compensation" },
    [RUN_CANCELLED] = { "it has ended", "" },
    [RUN_SKIPPED] = { "it has ended", "" },
};

Status decide_pause(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    const Refusal *refusal = &pause_refusals[run->state];
    if (refusal->why) return decide_refuse(asked, err, refusal->why, refusal->instead);
    if (run_is_winding(run)) return decide_refuse(asked, err, "nothing new starts", run->is_cancelling ? "" : "cancel it");
    /* A run that waits for signals passes `running`: the table knows no shorter way. */
    if (run->state == RUN_WAITING_SIGNAL) decision_event(asked->settle.decision, EVENT_RUN_RUNNING, 0);
    decision_event(asked->settle.decision, EVENT_RUN_PAUSED, 0)->text = asked->command->rationale;
    return OK;
}

/* C-84: what timed out polls anew, with new limits. */
static void renew_polls(const Settle *settle)
{
    const Run *run = settle->run;
    uint32_t count = 0;
    for (uint32_t i = 0; run->held_count > count && i < run->step_count; i++) {
        if (!run_holds_poll(run, settle->plan, i)) continue;
        if (settle->decision->event_count + ADVANCE_EVENT_COUNT_MIN > DECISION_EVENT_COUNT_MAX) return;
        Event *event = decision_event(settle->decision, EVENT_STEP_SUPERSEDED, i);
        event->number = run->begun_count + ++count;
        event->count = run->steps[i].number;
        event->sort = RETRY_SOURCE_FAILED_RETRY;
    }
}

Status decide_resume(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    const Refusal *refusal = &resume_refusals[run->state];
    if (refusal->why) return decide_refuse(asked, err, refusal->why, refusal->instead);
    if (run_is_winding(run)) return decide_refuse(asked, err, "nothing new starts", "");
    Status status = decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), err);
    if (status) return status;
    if (run->awaited.step != STEP_NONE) return pause_resume(asked, err);
    decision_event(asked->settle.decision, EVENT_RUN_RUNNING, 0);
    renew_polls(&asked->settle);
    return OK;
}

Status decide_cancel(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    RunState state = (RunState)run->state;
    if (state == RUN_CANCELLED || run->is_cancelling) return OK;                    /* C-09: done, nothing to record */
    if (run_is_terminal(run)) return decide_refuse(asked, err, "it has ended", "");
    if ((state == RUN_COMPENSATING || state == RUN_COMPENSATION_FAILED) && run->cancel_requested) return OK;
    if (state == RUN_FAILED) {                                                      /* it has nothing left to end */
        resolve_decided(&asked->settle, DECISION_CANCEL, asked->command->actor, asked->command->rationale);
        decision_event(asked->settle.decision, EVENT_RUN_CANCELLED, 0)->text = asked->command->rationale;
        return OK;
    }
    bool is_defined = asked->settle.plan->terms->resolution.cancel_compensates;
    CancelUndo undo = asked->command->undo;
    pause_cancel(&asked->settle);
    Event *event = decision_event(asked->settle.decision, EVENT_RUN_CANCELLING, 0);
    event->text = asked->command->rationale;
    event->flags = undo == CANCEL_COMPENSATES || (undo == CANCEL_AS_DEFINED && is_defined);                   /* C-10 */
    return OK;
}

/* --- signals ------------------------------------------------------------------------------------------------------------- */

/* An attempt says it again, since nobody knew whether it had been kept. */
static bool is_known_signal(const Run *run, const Command *command)
{
    for (uint32_t i = run->signal_count; command->notice && i-- > 0;)
        if (run->signals[i].notice == command->notice && run->signals[i].holder == command->holder) return true;
    return false;
}

Status decide_signal(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    const Command *command = asked->command;
    if (command->name.len == 0 || command->name.len > NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "a signal has a name of 1 to NAME_SIZE_MAX (%u) bytes", NAME_SIZE_MAX);
    if (is_known_signal(run, command)) return OK;
    if (is_over(run))
        return decide_refuse(asked, err, "signals are no longer taken", run->state == RUN_FAILED ? "resolve it first"
                             : run->state == RUN_COMPENSATION_FAILED ? "use retry-compensation or skip-compensation first" : "");
    if (run->signal_count >= RUN_SIGNAL_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the run keeps RUN_SIGNAL_COUNT_MAX (%u) signals already", RUN_SIGNAL_COUNT_MAX);
    Status status = decide_ask_policy(asked, HOOK_SIGNAL, command->value, err);
    if (status) return status;
    Decision *decision = asked->settle.decision;
    uint32_t payload = decision_payload(decision, command->value);
    Event *event = decision_event(decision, EVENT_SIGNAL_RECEIVED, command->holder ? command->step : STEP_NONE);   /* of an attempt */
    event->name = command->name;
    event->sort = command->sort;
    event->source = command->bridge.len ? arena_format(decision->arena, "%.*s of the tenant %.*s",
                                                       STR_ARG(command->actor), STR_ARG(command->bridge))
                                        : command->actor;
    event->payload = payload;
    event->count = run->signal_count + 1;
    event->flags = command->is_denial;
    event->holder = command->notice ? command->holder : 0;
    event->notice = command->notice;
    uint32_t before = decision->event_count;
    status = pause_signal(asked, run->signal_count + 1, err);
    return status ? status : reaction_fire(asked, /* has_moved= */ decision->event_count > before, err);
}

/* --- placement ------------------------------------------------------------------------------------------------------------ */

/* F-133: whatever is placed from now on is placed by these. */
Status decide_rebind(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    Decision *decision = asked->settle.decision;
    if (run_is_terminal(run)) return decide_refuse(asked, err, "it has ended", "");
    Status status = placement_check_bound(asked->command->value, err);
    if (status) return status;
    Buf text;
    buf_init(&text, TEXT_SIZE_MAX);
    if (asked->command->value.count) status = canonical_print(&text, asked->command->value, err);
    if (!status && buf_overflowed(&text))
        status = error_set(err, ERR_LIMIT, "the names of a placement take more than TEXT_SIZE_MAX (%u) bytes",
                           TEXT_SIZE_MAX);
    if (!status && !str_is(buf_peek(&text), run->bound))
        decision_event(decision, EVENT_RUN_REBOUND, 0)->text = arena_copy(decision->arena, buf_peek(&text));
    buf_deinit(&text);
    return status;
}

/* --- the table ------------------------------------------------------------------------------------------------------------ */

static Status refuse_start(const Asked *asked, Error *err)
{
    return decide_refuse(asked, err, "it has begun already", "");
}

static const DecideKind decide_kinds[COMMAND_KIND_COUNT] = {
    [COMMAND_START] = refuse_start,       [COMMAND_ACCEPT] = decide_accept,     [COMMAND_REPORT] = decide_report,
    [COMMAND_EFFECT] = decide_effect,     [COMMAND_COST] = decide_cost,         [COMMAND_SIGNAL] = decide_signal,
    [COMMAND_TRIGGER] = decide_trigger,
    [COMMAND_TIMER] = decide_timer,       [COMMAND_ORPHANED] = decide_orphaned, [COMMAND_SPENT] = decide_spent,
    [COMMAND_RECOVER] = decide_recover,   [COMMAND_RELEASE] = decide_release,
    [COMMAND_PAUSE] = decide_pause,       [COMMAND_RESUME] = decide_resume,     [COMMAND_CANCEL] = decide_cancel,
    [COMMAND_RESOLVE] = decide_resolve,   [COMMAND_RETRY_FROM] = decide_retry_from, [COMMAND_COMPENSATE] = decide_compensate,
    [COMMAND_RETRY_COMPENSATION] = decide_retry_compensation, [COMMAND_SKIP_COMPENSATION] = decide_skip_compensation,
    [COMMAND_REBIND] = decide_rebind,
};

/* Names, keys and reasons are a user's, and no record holds more of them. */
static Status check_texts(const Decision *decision, Error *err)
{
    size_t size = 0;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const Event *event = &decision->events[i];
        size += event->name.len + event->key.len + event->source.len + (event->text.len < TEXT_SIZE_MAX ? event->text.len : TEXT_SIZE_MAX);
    }
    if (size <= DECISION_TEXT_SIZE_MAX) return OK;
    return error_set(err, ERR_LIMIT, "what this leads to has %zu bytes of names and texts, more than DECISION_TEXT_SIZE_MAX (%u)", size,
                     DECISION_TEXT_SIZE_MAX);
}

Status decide(const DecideEnv *env, const Plan *plan, const Run *run, const Command *command, int64_t now_ms,
              Decision *decision, Error *err)
{
    Asked asked = { { env, plan, run, now_ms, decision }, command };
    bool is_retry = command->kind == COMMAND_RETRY_FROM
                 || (command->kind == COMMAND_RESOLVE
                     && (command->decision == DECISION_RETRY || command->decision == DECISION_RETRY_FROM_STEP));
    if (command->revision && !is_retry)         /* nothing else moves a run to another plan */
        return error_set(err, ERR_INVALID, "only a retry goes on with another revision");
    Status status = command->job.len ? job_decide(&asked, err) : decide_kinds[command->kind](&asked, err);
    return status ? status : check_texts(decision, err);
}
