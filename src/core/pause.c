#include "core/pause.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/notify.h"

static const PauseTerms *terms_of(const Settle *settle, uint32_t step)
{
    return &settle->plan->terms->steps[step].pause;
}

static Event *pause_event(const Settle *settle, EventKind kind, uint32_t step)
{
    Event *event = decision_event(settle->decision, kind, step);
    event->name = terms_of(settle, step)->trigger;
    return event;
}

/* --- how pauses end ---------------------------------------------------------------------------------------------------- */

static void end(const Settle *settle, uint32_t step, TriggerOutcome outcome, uint32_t signal, Value payload)
{
    uint32_t index = decision_payload(settle->decision, payload);
    notify_withdraw(settle, STR("the pause has ended"));
    Event *event = pause_event(settle, EVENT_TRIGGER_ENDED, step);
    event->sort = outcome;
    event->count = signal;
    event->payload = index;
}

static void fail_run(const Settle *settle, uint32_t step, Cause cause, Str text)
{
    Event *event = decision_event(settle->decision, EVENT_RUN_FAILING, step);
    event->cause = cause;
    event->class_ = cause_class(cause);
    event->text = text;
}

static void deny(const Settle *settle, uint32_t step, uint32_t signal)
{
    end(settle, step, TRIGGER_DENIED, signal, value_null());
    fail_run(settle, step, CAUSE_SIGNAL_DENIED,
             arena_format(settle->decision->arena, "the trigger '%.*s' was denied", STR_ARG(terms_of(settle, step)->trigger)));
}

void pause_cancel(const Settle *settle)
{
    if (settle->run->awaited.step != STEP_NONE)
        end(settle, settle->run->awaited.step, TRIGGER_CANCELLED, 0, value_null());
}

/* --- what is asked about a payload --------------------------------------------------------------------------------------- */

static Status missing(const Settle *settle, uint32_t which, Error *err)
{
    settle->decision->missing = which;
    settle->decision->missing_is_key = false;
    return error_set(err, ERR_UNAVAILABLE, "the condition of the pause needs a value that is not at hand");
}

/* OK: it resumes the run; ERR_CONFLICT: its condition does not hold; ERR_UNAVAILABLE: fetch something first. */
static Status meets_condition(const Settle *settle, uint32_t step, Value payload, Error *err)
{
    const PauseTerms *terms = terms_of(settle, step);
    if (terms->resume_when == CONDITION_NONE) return OK;
    Value output = value_null();
    const Run *run = settle->run;
    if (run->steps[step].flags & STEP_HAS_OUTPUT) {
        const Value *here = decision_value(settle->decision, settle->plan, step);
        if (here) output = *here;
        else if (!settle->env->output(settle->env->context, run, step, &output)) return missing(settle, step, err);
    }
    ConditionResult result = { .missing = STEP_NONE };
    ConditionAsk asked = { .plan = settle->plan, .run = run, .condition = terms->resume_when, .step = step, .output = &output,
                           .payload = &payload };
    switch (settle->env->condition(settle->env->context, &asked, settle->decision->arena, &result)) {
    case CONDITION_TRUE: return OK;
    case CONDITION_MISSING: return missing(settle, result.missing, err);
    case CONDITION_FALSE: return error_set(err, ERR_CONFLICT, "its condition does not hold");
    case CONDITION_UNDEFINED: return error_set(err, ERR_CONFLICT, "its condition is undefined: %.*s", STR_ARG(result.text));
    case CONDITION_ERROR: break;
    }
    return error_set(err, ERR_CONFLICT, "its condition cannot be evaluated: %.*s", STR_ARG(result.text));
}

static Status meets_schema(const Settle *settle, uint32_t step, Value payload, Error *err)
{
    Value schema = terms_of(settle, step)->payload_schema;
    return schema.kind == VALUE_NULL ? OK : settle->env->schema(settle->env->context, settle->plan, schema, payload, err);
}

/* --- beginning ---------------------------------------------------------------------------------------------------------------- */

/* The trigger of this pause that came before it, or NULL. */
static const RunSignal *kept_trigger(const Settle *settle, uint32_t step)
{
    const RunSignal *signal = run_signal_for(settle->run, step, terms_of(settle, step)->trigger);
    return signal && signal->is_trigger ? signal : NULL;
}

/* What was kept answers the pause as it would have, had it come now; a payload that does not resume it is used up. */
static Begin take_kept(const Settle *settle, uint32_t step, const RunSignal *signal)
{
    Value payload = value_null();
    uint32_t which = settle->run->step_count + terms_of(settle, step)->slot;
    bool has_payload = run_value_at(settle->run, which) == signal->at;
    if (has_payload && !settle->env->output(settle->env->context, settle->run, which, &payload)) {
        settle->decision->missing = which;
        settle->decision->missing_is_key = false;
        return BEGIN_MISSING;
    }
    Error err;
    Status status = signal->is_denial ? OK : meets_condition(settle, step, payload, &err);
    if (status == ERR_UNAVAILABLE) return BEGIN_MISSING;
    decision_event(settle->decision, EVENT_SIGNAL_CONSUMED, step)->count = signal->number;
    if (status) return BEGIN_DONE;                              /* the pause begins in the next round */
    pause_event(settle, EVENT_TRIGGER_AWAITED, step);
    if (signal->is_denial) deny(settle, step, signal->number);
    else end(settle, step, TRIGGER_ANSWERED, signal->number, value_null());
    return BEGIN_DONE;
}

Begin pause_begin(const Settle *settle)
{
    const Run *run = settle->run;
    uint32_t step = run->pauses[0];
    const PauseTerms *terms = terms_of(settle, step);
    const RunSignal *kept = kept_trigger(settle, step);
    if (kept) return take_kept(settle, step, kept);
    if (run->state == RUN_WAITING_SIGNAL) decision_event(settle->decision, EVENT_RUN_RUNNING, 0);
    bool resumes = terms->resume_ms != 0;
    int64_t span = resumes ? terms->resume_ms : terms->timeout_ms;
    Event *event = pause_event(settle, EVENT_TRIGGER_AWAITED, step);
    event->due_ms = span ? settle->now_ms + span : 0;
    event->flags = resumes;
    notify_queue(settle, step, /* reminder= */ 0);
    if (run->state == RUN_PAUSED) return BEGIN_DONE;
    event = decision_event(settle->decision, EVENT_RUN_PAUSED, 0);
    event->flags = PAUSED_FOR_TRIGGER;
    event->text = arena_format(settle->decision->arena, "it awaits the trigger '%.*s'", STR_ARG(terms->trigger));
    return BEGIN_DONE;
}

/* --- triggers ---------------------------------------------------------------------------------------------------------------------- */

/* C-99: the step of a pause of that name that is still ahead on some path of the run, or STEP_NONE. */
static uint32_t pause_ahead(const Settle *settle, Str name)
{
    const PlanTerms *terms = settle->plan->terms;
    const Run *run = settle->run;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        uint32_t step = terms->pauses[i];
        if (!str_is(terms->steps[step].pause.trigger, name)) continue;
        if (!step_state_is_final((StepState)run->steps[step].state)) return step;
        for (uint32_t p = 0; p < run->pause_count; p++)
            if (run->pauses[p] == step) return step;
        for (uint32_t l = 0; l < settle->plan->loop_count; l++)          /* another round may come to it */
            for (uint32_t b = 0; run->loop_ends[l] == LOOP_GOES_ON && b < settle->plan->loops[l].body_count; b++)
                if (settle->plan->loops[l].body[b].step == step) return step;
    }
    return STEP_NONE;
}

static Status refuse_trigger(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    Str name = asked->command->name;
    const PlanTerms *terms = settle->plan->terms;
    bool is_known = false;
    for (uint32_t i = 0; i < terms->pause_count; i++)
        is_known = is_known || str_is(terms->steps[terms->pauses[i]].pause.trigger, name);
    if (!is_known)
        return error_set(err, ERR_NOT_FOUND, "the run's definition has no pause for the trigger '%.*s'", STR_ARG(name));
    return decide_refuse(asked, err, "that trigger is no longer awaited: its pause is over, or will not come", "");
}

static Event *received(const Asked *asked, uint32_t flags)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    uint32_t payload = decision_payload(settle->decision, command->value);
    Event *event = decision_event(settle->decision, EVENT_TRIGGER_RECEIVED, 0);
    event->name = command->name;
    event->source = command->actor;
    event->key = command->origin;
    event->payload = payload;
    event->count = settle->run->signal_count + 1;
    event->flags = flags | (uint32_t)command->is_denial;
    return event;
}

/* a payload that is not what the schema says changes nothing, and that it came is recorded. */
static Status check_payload(const Asked *asked, uint32_t step, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    if (command->is_denial) return OK;
    Status status = meets_schema(settle, step, command->value, err);
    if (status != ERR_INVALID) return status;
    Event *event = decision_event(settle->decision, EVENT_TRIGGER_REFUSED, 0);
    event->name = command->name;
    event->source = command->actor;
    event->key = command->origin;
    event->text = arena_copy(settle->decision->arena, str_of(err->text));
    error_prefix(err, "the payload of '%.*s' is not what payload_schema says: ", STR_ARG(command->name));
    return ERR_INVALID;
}

Status decide_trigger(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    const Run *run = settle->run;
    if (command->name.len == 0 || command->name.len > NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "a trigger has a key of 1 to NAME_SIZE_MAX (%u) bytes", NAME_SIZE_MAX);
    if (run_state_is_settled((RunState)run->state, (Resolution)run->resolution))
        return decide_refuse(asked, err, "triggers are no longer taken", "");
    if (run_is_winding(run) || run->state == RUN_COMPENSATING) return decide_refuse(asked, err, "nothing new starts", "");
    uint32_t step = run->awaited.step;
    bool is_awaited = step != STEP_NONE && str_is(terms_of(settle, step)->trigger, command->name);
    if (!is_awaited) step = pause_ahead(settle, command->name);
    if (step == STEP_NONE) return refuse_trigger(asked, err);
    if (run->signal_count >= RUN_SIGNAL_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the run keeps RUN_SIGNAL_COUNT_MAX (%u) signals already", RUN_SIGNAL_COUNT_MAX);
    Status status = check_payload(asked, step, err);
    if (!status) status = decide_ask_policy(asked, HOOK_SIGNAL, command->value, err);
    if (status) return status;
    if (!is_awaited) {
        received(asked, TRIGGER_IS_KEPT);
        return OK;
    }
    status = command->is_denial ? OK : meets_condition(settle, step, command->value, err);
    if (status && status != ERR_CONFLICT) return status;
    if (!status && !command->is_denial) status = decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), err);
    if (status && status != ERR_CONFLICT) return status;
    uint32_t number = run->signal_count + 1;
    received(asked, status ? TRIGGER_IS_UNMET : 0);
    decision_event(settle->decision, EVENT_SIGNAL_CONSUMED, step)->count = number;
    if (status) return OK;                                      /* it goes on awaiting */
    if (command->is_denial) deny(settle, step, number);
    else end(settle, step, TRIGGER_ANSWERED, number, value_null());
    return OK;
}

Status pause_signal(const Asked *asked, uint32_t number, Error *err)
{
    const Settle *settle = &asked->settle;
    const Run *run = settle->run;
    uint32_t step = run->awaited.step;
    if (step == STEP_NONE || run_is_winding(run) || asked->command->is_denial) return OK;
    if (terms_of(settle, step)->resume_when == CONDITION_NONE) return OK;
    Error why;
    if (meets_schema(settle, step, asked->command->value, &why)) return OK;
    Status status = meets_condition(settle, step, asked->command->value, err);
    if (status == ERR_CONFLICT) return OK;
    if (!status) status = decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), err);
    if (status) return status;
    decision_event(settle->decision, EVENT_SIGNAL_CONSUMED, step)->count = number;
    end(settle, step, TRIGGER_ANSWERED, number, value_null());
    return OK;
}

bool pause_is_plain(const Plan *plan, Str trigger)
{
    for (uint32_t i = 0; i < plan->terms->pause_count; i++) {
        const PauseTerms *terms = &plan->terms->steps[plan->terms->pauses[i]].pause;
        if (str_is(terms->trigger, trigger) && (terms->payload_schema.kind != VALUE_NULL || terms->resume_when != CONDITION_NONE)) return false;
    }
    return true;
}

Status pause_resume(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    uint32_t step = settle->run->awaited.step;
    Str trigger = terms_of(settle, step)->trigger;
    Error why;
    Status status = meets_schema(settle, step, value_null(), &why);
    if (!status) {
        status = meets_condition(settle, step, value_null(), &why);
        if (status == ERR_UNAVAILABLE) {
            *err = why;
            return status;
        }
    }
    if (status)
        return error_set(err, ERR_CONFLICT,
                         "the run is paused: it awaits the trigger '%.*s' with a payload, and without one %s; send it with `maestro trigger`, "
                         "or cancel the run", STR_ARG(trigger), why.text);
    end(settle, step, TRIGGER_RESUMED, 0, value_null());
    return OK;
}

/* --- time ------------------------------------------------------------------------------------------------------------------------------ */

static Status approve(const Settle *settle, uint32_t step, Error *err)
{
    const PauseTerms *terms = terms_of(settle, step);
    InputResult filled;
    switch (settle_fill(settle, step, terms->otherwise, terms->otherwise_has_paths, &filled)) {
    case INPUT_MISSING: return missing(settle, filled.missing, err);
    case INPUT_WRONG:
        end(settle, step, TRIGGER_TIMEOUT, 0, value_null());
        fail_run(settle, step, CAUSE_INPUT_INVALID, filled.text);
        return OK;
    case INPUT_OK: break;
    }
    pause_event(settle, EVENT_TRIGGER_TIMED_OUT, step)->flags = PAUSE_APPROVES;
    end(settle, step, TRIGGER_AUTO_APPROVED, 0, filled.value);
    return OK;
}

Status pause_timer(const Settle *settle, Error *err)
{
    const Awaited *awaited = &settle->run->awaited;
    const PauseTerms *terms = terms_of(settle, awaited->step);
    uint32_t step = awaited->step;
    if (terms->resume_ms) {
        end(settle, step, TRIGGER_SCHEDULED, 0, value_null());
        return OK;
    }
    if (terms->on_timeout == PAUSE_APPROVES) return approve(settle, step, err);
    if (terms->on_timeout == PAUSE_REMINDS && awaited->reminder_count < terms->reminder_count_max) {
        pause_event(settle, EVENT_TRIGGER_TIMED_OUT, step)->flags = PAUSE_REMINDS;
        Event *event = pause_event(settle, EVENT_TRIGGER_REMINDED, step);
        event->due_ms = settle->now_ms + terms->timeout_ms;                                                      /* C-100 */
        event->count = awaited->reminder_count + 1;
        notify_withdraw(settle, STR("a reminder takes its place"));
        notify_queue(settle, step, awaited->reminder_count + 1);
        return OK;
    }
    pause_event(settle, EVENT_TRIGGER_TIMED_OUT, step)->flags = PAUSE_FAILS;
    end(settle, step, TRIGGER_TIMEOUT, 0, value_null());
    fail_run(settle, step, CAUSE_TIMEOUT,
             arena_format(settle->decision->arena, "the trigger '%.*s' did not come within %" PRId64 " ms", STR_ARG(terms->trigger),
                          terms->timeout_ms));
    return OK;
}
