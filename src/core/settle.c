#include "core/settle.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/job.h"
#include "core/reaction.h"
#include "core/retry.h"
#include "core/type.h"

int64_t settle_deadline(const Settle *settle, uint32_t step)
{
    int64_t timeout = settle->plan->terms->steps[step].timeout_ms;
    int64_t due = timeout ? settle->now_ms + timeout : 0, deadline = settle->run->deadline_ms;
    return deadline && (!due || deadline < due) ? deadline : due;       /* C-43: never after the run's own */
}

void settle_enter(const Settle *settle, uint32_t step)
{
    Event *event = decision_event(settle->decision, EVENT_STEP_DISPATCHED, step);
    event->number = settle_number(settle, step);
    event->attempt = step_works(&settle->plan->steps[step]) ? settle->run->steps[step].attempt : 1;
    event->count = settle->run->steps[step].generation;
    decision_event(settle->decision, EVENT_STEP_RUNNING, step);
}

void settle_dispatch(const Settle *settle, uint32_t step, uint32_t attempt, const Place *place, const Dispatched *what)
{
    bool is_here = place->kind == PLACE_HERE;
    Event *event = decision_event(settle->decision, EVENT_STEP_DISPATCHED, step);
    event->number = settle_number(settle, step);
    event->attempt = attempt;
    event->name = place->executor;
    event->text = place->rationale;
    event->key = what->key;
    event->count = settle->run->steps[step].generation;
    event->payload = what->payload;
    event->flags = place->admission;
    event->due_ms = is_here ? 0 : settle->now_ms + ACCEPT_MS_DEFAULT;
    if (!is_here) return;
    event = decision_event(settle->decision, EVENT_STEP_RUNNING, step);
    event->due_ms = settle_deadline(settle, step);
    event->lease_ms = place->lease_ms ? settle->now_ms + place->lease_ms : 0;
    event->holder = place->holder;
}

InputAnswer settle_fill(const Settle *settle, uint32_t step, Value written, bool has_paths, InputResult *out)
{
    *out = (InputResult){ .value = written };
    if (!has_paths) return input_check(settle->decision->arena, written, out);
    InputScope scope = { .env = settle->env, .plan = settle->plan, .run = settle->run, .step = step,
                         .decision = settle->decision, .arena = settle->decision->arena };
    return input_fill(&scope, written, out);
}

void settle_requeue(const Settle *settle, RetrySource source, uint32_t from)
{
    int64_t timeout = settle->plan->terms->timeout_ms;
    Event *event = decision_event(settle->decision, EVENT_RUN_REQUEUED, from);
    event->sort = source;
    event->due_ms = timeout ? settle->now_ms + timeout : 0;
}

/* --- failures --------------------------------------------------------------------------------------------------------- */

void settle_fail(const Settle *settle, uint32_t step, const Failure *failure)
{
    bool is_begun = settle->run->steps[step].number != 0;
    uint32_t payload = decision_payload(settle->decision, failure->details);
    Event *event = decision_event(settle->decision, EVENT_STEP_FAILED, step);
    event->number = is_begun ? 0 : settle_number(settle, step);
    event->cause = failure->cause;
    event->class_ = cause_class(failure->cause);
    event->text = failure->text;
    event->payload = payload;
    event->flags = settle->plan->terms->steps[step].is_optional;
}

/* What whoever reads of it can do: the budget is its own, and a retry is a new task with a new one (C-34). */
static Str budget_hint(const Settle *settle, uint32_t step, DropCause drop)
{
    if (drop != DROP_SPAWN_BUDGET) return (Str){ 0 };
    return arena_format(settle->decision->arena, "; its spawn_budget of %" PRIu32 " is used up: declare a larger one, or retry the step",
                        settle->plan->terms->steps[step].retry.spawn_count_max);
}

/* E-057: by what it was dropped is said wherever its failure is shown, beside what its last attempt died of. */
static Failure dropped_failure(const Settle *settle, uint32_t step, DropCause cause, const Failure *failure)
{
    Arena *arena = settle->decision->arena;
    Str drop = str_of(drop_cause_name(cause)), hint = budget_hint(settle, step, cause);
    MemberList details = { .arena = arena };
    member_list_add(&details, STR("drop"), value_string(drop));
    if (failure->cause) member_list_add(&details, STR("cause"), value_string(str_of(cause_name(failure->cause))));
    if (failure->details.kind != VALUE_NULL) member_list_add(&details, STR("details"), failure->details);
    Str text = failure->cause ? arena_format(arena, "dropped by %.*s: %.*s%.*s", STR_ARG(drop), STR_ARG(failure->text), STR_ARG(hint))
                              : arena_format(arena, "%.*s%.*s", STR_ARG(failure->text), STR_ARG(hint));
    return (Failure){ CAUSE_DROPPED, text, member_list_object(&details) };
}

void settle_drop(const Settle *settle, uint32_t step, const Place *place, const Failure *failure)
{
    Failure dropped = dropped_failure(settle, step, (DropCause)place->drop, failure);
    Event *event = decision_event(settle->decision, EVENT_STEP_DROPPED, step);
    event->attempt = settle->run->steps[step].attempt;
    event->name = str_of(drop_cause_name((DropCause)place->drop));
    event->cause = failure->cause;
    event->class_ = failure->cause ? cause_class(failure->cause) : 0;
    event->text = failure->text;
    event->flags = place->admission;
    settle_fail(settle, step, &dropped);
}

void settle_told(const Settle *settle, uint32_t step)
{
    const ReactionTerms *cut = run_is_winding(settle->run) ? NULL : reaction_cut(settle->plan, settle->run, step);
    if (run_cuts_job(settle->run, settle->plan, step)) job_cancel_step(settle, step);
    else if (cut) reaction_end(settle, step, cut);
    else decision_event(settle->decision, EVENT_STEP_CANCELLED, step);
}

static const Failure effect_unknown = { CAUSE_EFFECT_UNKNOWN,
                                        STR_INIT("an effect of it was announced, and whether that took place is not known"), { 0 } };

/* An announced effect is not risked a second time: not after it was committed, and before that only where the runner itself
 * says that it may be tried again. */
static bool effect_forbids_retry(uint16_t flags, Cause cause)
{
    return flags & STEP_EFFECT_COMMITTED || (flags & STEP_EFFECT_INTENDED && cause != CAUSE_TRANSIENT);
}

static bool is_overdue(const Settle *settle, uint32_t step)
{
    const ActiveStep *active = run_active(settle->run, step);
    return active && active->is_overdue;
}

static Failure overdue_failure(const Settle *settle, uint32_t step)
{
    Str text = arena_format(settle->decision->arena, "it did not end within %" PRId64 " ms",
                            settle->plan->terms->steps[step].timeout_ms);
    return (Failure){ CAUSE_TIMEOUT, text, value_null() };
}

/* Who knows what the tenant has used says so with the report. */
static Failure spent_failure(const Settle *settle, const Failure *said)
{
    Str text = arena_format(settle->decision->arena, "budget-exceeded: the tenant '%.*s' had nothing left for it", STR_ARG(settle->run->tenant));
    return (Failure){ CAUSE_BUDGET_EXCEEDED, said->cause == CAUSE_BUDGET_EXCEEDED ? said->text : text, value_null() };
}

/* I16: nothing is tried again, and no run ends, while whoever has the attempt may still be at work. Its executor is told to end
 * it and reports when it has; of a remote one that stays silent the lease runs out. */
void settle_overdue(const Settle *settle, uint32_t step)
{
    Event *event = decision_event(settle->decision, EVENT_STEP_OVERDUE, step);
    event->attempt = settle->run->steps[step].attempt;
    event->text = overdue_failure(settle, step).text;
}

void settle_spent(const Settle *settle, uint32_t step, Str why)
{
    Event *event = decision_event(settle->decision, EVENT_STEP_OVERDUE, step);
    event->attempt = settle->run->steps[step].attempt;
    event->cause = CAUSE_BUDGET_EXCEEDED;
    event->class_ = cause_class(CAUSE_BUDGET_EXCEEDED);
    event->text = why;
}

void settle_attempt(const Settle *settle, uint32_t step, uint32_t attempt, const Failure *failure)
{
    int64_t due;
    uint16_t flags = settle->run->steps[step].flags;
    Failure overdue;
    if (flags & STEP_ENDING) {
        settle_told(settle, step);
        return;
    }
    if (is_overdue(settle, step)) {                             /* F-016: whatever it says now, it is late */
        overdue = run_active(settle->run, step)->is_spent ? spent_failure(settle, failure) : overdue_failure(settle, step);
        failure = &overdue;
    }
    if (effect_forbids_retry(flags, failure->cause)) {
        Failure unknown = effect_unknown;
        unknown.text = arena_format(settle->decision->arena, "%.*s; %.*s", STR_ARG(failure->text), STR_ARG(effect_unknown.text));
        unknown.details = failure->details;
        settle_fail(settle, step, flags & STEP_EFFECT_COMMITTED ? failure : &unknown);
        return;
    }
    if (!retry_is_due(settle->plan, settle->run, step, attempt, failure->cause, settle->now_ms, &due)) {
        DropCause drop = retry_drop(settle->plan, settle->run, step, attempt, failure->cause);
        if (drop) settle_drop(settle, step, &(Place){ .drop = (uint8_t)drop }, failure);
        else settle_fail(settle, step, failure);
        return;
    }
    /* A dispatch that nobody accepted is no try that failed. */
    if (failure->cause != CAUSE_NOT_ACCEPTED) {
        uint32_t payload = decision_payload(settle->decision, failure->details);
        Event *event = decision_event(settle->decision, EVENT_ATTEMPT_FAILED, step);
        event->attempt = attempt;
        event->cause = failure->cause;
        event->class_ = cause_class(failure->cause);
        event->text = failure->text;
        event->payload = payload;
    }
    Event *event = decision_event(settle->decision, EVENT_STEP_REQUEUED, step);
    event->attempt = attempt;
    event->due_ms = due;
}

/* --- success ---------------------------------------------------------------------------------------------------------- */

/* The declared names and types of `outputs`. */
static bool outputs_match(const Settle *settle, uint32_t step, Value output, Str *out_text)
{
    Value outputs = settle->plan->terms->steps[step].outputs;
    for (uint32_t i = 0; outputs.kind == VALUE_OBJECT && i < outputs.count; i++) {
        Str name = value_text(outputs.members[i].key), type = value_text(outputs.members[i].value);
        const Value *value = value_get(output, name);
        if (value && type_accepts(type, *value)) continue;
        *out_text = value ? arena_format(settle->decision->arena, "the output '%.*s' is not of type %.*s", STR_ARG(name),
                                         STR_ARG(type))
                          : arena_format(settle->decision->arena, "the output '%.*s' is missing", STR_ARG(name));
        return false;
    }
    return true;
}

bool settle_output_fits(const Settle *settle, uint32_t step, Value output, Str *out_text)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    if (!outputs_match(settle, step, output, out_text)) return false;
    /* An artifact of a runbook names the schema that its components speak of, which was compared when it was compiled: a name is nothing
     * that content could be held against. */
    if (terms->output_schema.kind == VALUE_NULL || terms->output_schema.kind == VALUE_STRING) return true;
    Error err;
    if (settle->env->schema(settle->env->context, settle->plan, terms->output_schema, output, &err) == OK) return true;
    *out_text = arena_format(settle->decision->arena, "the output is not what output_schema says: %s", err.text);
    return false;
}

static void consume(const Settle *settle, uint32_t step, const RunSignal *signal)
{
    decision_event(settle->decision, EVENT_SIGNAL_CONSUMED, step)->count = signal->number;
}

static void deny(const Settle *settle, uint32_t step, const RunSignal *signal)
{
    Str text = arena_format(settle->decision->arena, "the signal '%.*s' was denied", STR_ARG(signal->name));
    settle_fail(settle, step, &(Failure){ CAUSE_SIGNAL_DENIED, text, value_null() });
}

static void succeed(const Settle *settle, uint32_t step, Value output)
{
    uint32_t payload = decision_payload(settle->decision, output);
    decision_event(settle->decision, EVENT_STEP_SUCCEEDED, step)->payload = payload;
}

Status settle_success(const Settle *settle, uint32_t step, Value output, Error *err)
{
    const StepRun *state = &settle->run->steps[step];
    const GateTerms *gate = &settle->plan->terms->steps[step].gate;
    Str text;
    if (is_overdue(settle, step)) {                             /* it came too late: what it gave is not taken */
        settle_attempt(settle, step, state->attempt, &(Failure){ CAUSE_CANCELLED, STR("it was told to end"), value_null() });
        return OK;
    }
    if (!settle_output_fits(settle, step, output, &text)) {
        settle_attempt(settle, step, state->attempt, &(Failure){ CAUSE_OUTPUT_INVALID, text, value_null() });
        return OK;
    }
    Verdict verdict = settle->env->verdict(settle->env->context, HOOK_STEP_END, settle->plan, settle->run, step, output);
    if (verdict.kind == VERDICT_LATER) return error_set(err, ERR_UNAVAILABLE, "the policy has not answered yet");
    if (verdict.kind == VERDICT_MISSING) {
        settle->decision->missing = MISSING_PARAMS;
        return error_set(err, ERR_UNAVAILABLE, "the policy needs the parameters of the run");
    }
    if (verdict.kind == VERDICT_DENY) {
        decision_verdict(settle->decision, HOOK_STEP_END, step, &verdict);
        text = arena_format(settle->decision->arena, "a policy does not permit this end: %.*s", STR_ARG(verdict.text));
        settle_attempt(settle, step, state->attempt, &(Failure){ CAUSE_POLICY, text, value_null() });
        return OK;
    }
    settle->decision->policy = verdict.policy;
    if (gate->signal.len == 0 || gate->is_before) {
        succeed(settle, step, output);
        return OK;
    }
    const RunSignal *signal = run_signal_for(settle->run, step, gate->signal);
    if (signal) {                                               /* F-056: it came before the wait began */
        consume(settle, step, signal);
        if (signal->is_denial) deny(settle, step, signal);
        else succeed(settle, step, output);
        return OK;
    }
    uint32_t payload = decision_payload(settle->decision, output);
    Event *event = decision_event(settle->decision, EVENT_STEP_WAITING, step);
    event->name = gate->signal;
    event->due_ms = gate->timeout_ms ? settle->now_ms + gate->timeout_ms : 0;
    event->payload = payload;
    return OK;
}

void settle_signal(const Settle *settle, uint32_t step, const RunSignal *signal)
{
    consume(settle, step, signal);
    if (signal->is_denial) {
        deny(settle, step, signal);
        return;
    }
    decision_event(settle->decision, EVENT_STEP_RESUMED, step)->name = signal->name;
    if (settle->plan->terms->steps[step].gate.is_before) {
        Event *event = decision_event(settle->decision, EVENT_STEP_REQUEUED, step);
        event->attempt = settle->run->steps[step].attempt;
    } else {
        decision_event(settle->decision, EVENT_STEP_SUCCEEDED, step)->flags = 1;
    }
}

/* --- lost holders ------------------------------------------------------------------------------------------------------- */

/* From the queue, under the same number. */
static Event *put_back(const Settle *settle, uint32_t step)
{
    Event *event = decision_event(settle->decision, EVENT_STEP_REQUEUED, step);
    event->attempt = settle->run->steps[step].attempt - 1u;
    return event;
}

static const Failure output_lost = { CAUSE_OUTPUT_INVALID,
                                     STR_INIT("its effect took place, and the outputs that it declares were lost with its process"), { 0 } };

/* F-015: what was committed counts as done, unless somebody relies on an output that it did not bring along. */
static bool lacks_output(const Settle *settle, uint32_t step)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    bool is_declared = terms->outputs.kind != VALUE_NULL || terms->output_schema.kind != VALUE_NULL;
    return is_declared && !run_active(settle->run, step)->kept_at;
}

/* The same attempt once more: to this process if it can take it, else from the queue. Of a paused run or job nothing is begun. It is
 * admitted and dispatched like any other (E-002), with the input and the key that it had; it has begun, and stays running meanwhile. */
static void execute_again(const Settle *settle, uint32_t step, const Failure *lost)
{
    bool is_held = settle->run->state == RUN_PAUSED || run_holds_job(settle->run, settle->plan, step);
    Place place = is_held ? (Place){ .kind = PLACE_LATER } : settle->env->place(settle->env->context, settle->plan, settle->run, step);
    if (place.kind == PLACE_HERE)
        settle_dispatch(settle, step, settle->run->steps[step].attempt, &place,
                        &(Dispatched){ .payload = EVENT_NO_PAYLOAD });
    else if (place.kind == PLACE_DROPPED) settle_drop(settle, step, &place, lost);
    else put_back(settle, step);
}

static Failure lost_failure(const Settle *settle, uint32_t lost)
{
    Str text = arena_format(settle->decision->arena,
                            "maestro ended %s while this was carried out: it may be what ends it",
                            lost == 1 ? "once" : lost == 2 ? "twice" : "three times and more");
    return (Failure){ CAUSE_LOST, text, value_null() };
}

/* An orderly end is neither a failure nor a loss, but what was spawned stays spawned: where nothing is left of the budget, the task
 * is dropped (E-015). */
static void give_back(const Settle *settle, uint32_t step, Str why)
{
    DropCause drop = retry_drop_again(settle->plan, settle->run, step);
    if (drop) settle_drop(settle, step, &(Place){ .drop = (uint8_t)drop }, &(Failure){ CAUSE_LOST, why, value_null() });
    else put_back(settle, step)->count = run_extras(settle->run, step) + 1u;
}

void settle_orphan(const Settle *settle, uint32_t step, Loss loss, Str why)
{
    const StepRun *state = &settle->run->steps[step];
    const ActiveStep *active = run_active(settle->run, step);
    bool is_remote = active->lease_ms != 0;
    uint32_t lost = settle_lost(step_lost(state), is_remote, loss);
    Event *event = decision_event(settle->decision, EVENT_LEASE_EXPIRED, step);
    event->attempt = state->attempt;
    event->holder = active->holder;
    event->text = why;
    event->count = lost;
    if (state->flags & STEP_ENDING || active->is_overdue) {
        settle_attempt(settle, step, state->attempt, &(Failure){ CAUSE_CANCELLED, why, value_null() });
    } else if (state->flags & STEP_EFFECT_COMMITTED && lacks_output(settle, step)) {
        settle_fail(settle, step, &output_lost);
    } else if (state->flags & STEP_EFFECT_COMMITTED) {
        decision_event(settle->decision, EVENT_STEP_SUCCEEDED, step)->flags = 1;
    } else if (state->flags & STEP_EFFECT_INTENDED) {
        settle_fail(settle, step, &effect_unknown);
    } else if (is_remote) {
        settle_attempt(settle, step, state->attempt, &(Failure){ CAUSE_LEASE_EXPIRED, why, value_null() });
    } else if (loss == LOSS_BY_RELEASE) {
        give_back(settle, step, why);
    } else {
        Failure failure = lost_failure(settle, lost);
        DropCause drop = retry_drop_again(settle->plan, settle->run, step);
        if (lost >= LOST_COUNT_MAX) settle_attempt(settle, step, state->attempt, &failure);
        else if (drop) settle_drop(settle, step, &(Place){ .drop = (uint8_t)drop }, &failure);                  /* E-053 */
        else execute_again(settle, step, &failure);
    }
}
