#include "core/begin.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/poll.h"
#include "core/reaction.h"
#include "core/retry.h"

/* --- conditions --------------------------------------------------------------------------------------------------------- */

static ConditionAnswer ask(const Settle *settle, uint32_t step, uint32_t condition, ConditionResult *out)
{
    ConditionAsk asked = { .plan = settle->plan, .run = settle->run, .condition = condition, .step = step };
    *out = (ConditionResult){ .missing = STEP_NONE };
    return settle->env->condition(settle->env->context, &asked, settle->decision->arena, out);
}

static Begin missing(const Settle *settle, uint32_t what)
{
    settle->decision->missing = what;
    settle->decision->missing_is_key = false;
    return BEGIN_MISSING;
}

static Begin fail(const Settle *settle, uint32_t step, Cause cause, Str text)
{
    settle_fail(settle, step, &(Failure){ cause, text, value_null() });
    return BEGIN_DONE;
}

/* A condition that must hold for `step` .. `last`; BEGIN_GO where it holds. */
static Begin check_condition(const Settle *settle, uint32_t step, uint32_t last, uint32_t condition)
{
    if (condition == CONDITION_NONE) return BEGIN_GO;
    ConditionResult result;
    ConditionAnswer answer = ask(settle, step, condition, &result);
    if (answer == CONDITION_TRUE) return BEGIN_GO;
    if (answer == CONDITION_MISSING) return missing(settle, result.missing);
    if (answer == CONDITION_ERROR) return fail(settle, step, CAUSE_CONDITION_ERROR, result.text);
    Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
    event->last = last;
    event->number = settle->run->steps[step].number ? 0 : settle_number(settle, step);
    event->reason = SKIP_CONDITION_FALSE;
    if (answer == CONDITION_UNDEFINED)
        event->text = arena_format(settle->decision->arena, "undefined: %.*s", STR_ARG(result.text));
    return BEGIN_DONE;
}

static Begin check_conditions(const Settle *settle, uint32_t step)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    const PlanStep *plan_step = &settle->plan->steps[step];
    if (terms->job_when != CONDITION_NONE) {
        uint32_t last = step + settle->plan->jobs[plan_step->job].step_count - 1;
        Begin begin = check_condition(settle, step, last, terms->job_when);
        if (begin != BEGIN_GO) return begin;
    }
    return check_condition(settle, step, step, terms->when);
}

/* --- steps that the engine itself carries out ----------------------------------------------------------------------------- */

static Begin begin_sequence(const Settle *settle, uint32_t step)
{
    settle_enter(settle, step);
    if (run_open_children(settle->run, settle->plan, step) == 0) decision_event(settle->decision, EVENT_STEP_SUCCEEDED, step);
    return BEGIN_DONE;
}

static bool has_case(const StepTerms *terms, Str key)
{
    for (uint32_t i = 0; terms->cases.kind == VALUE_ARRAY && i < terms->cases.count; i++)
        if (terms->cases.items[i].kind == VALUE_STRING && str_is(value_text(terms->cases.items[i]), key)) return true;
    return false;
}

typedef struct Choice {
    const StepTerms *terms;
    Buf keys;                           /* taken, by commas */
    Str strange;                        /* a selection that is no case */
    bool is_strange, is_several;
} Choice;

static void choose(Choice *choice, Value selected)
{
    if (selected.kind == VALUE_STRING && has_case(choice->terms, value_text(selected))) {
        if (choice->keys.len) buf_char(&choice->keys, ',');
        buf_str(&choice->keys, value_text(selected));
        return;
    }
    if (!choice->is_strange && selected.kind == VALUE_STRING) choice->strange = value_text(selected);
    choice->is_strange = true;
}

/* What `select` gives: a key, or a list or set of keys, which for an exclusive branch has exactly one. */
static void choose_all(Choice *choice, Value selected)
{
    bool is_list = selected.kind == VALUE_ARRAY || selected.kind == VALUE_SET;
    choice->is_several = is_list && selected.count > 1 && !choice->terms->is_inclusive;
    if (choice->is_several) return;
    if (!is_list) {
        choose(choice, selected);
        return;
    }
    for (uint32_t i = 0; i < selected.count; i++) choose(choice, selected.items[i]);
    if (selected.count == 0) choice->is_strange = true;
}

/* What was selected is told where a record can hold it: with a default it may be anything that a condition gives. */
static void take(const Settle *settle, uint32_t step, Str keys, Value selected, Str text)
{
    uint32_t payload;
    Error err;
    if (decision_payload_try(settle->decision, "the selection", selected, &payload, &err)) payload = EVENT_NO_PAYLOAD;
    settle_enter(settle, step);
    Event *event = decision_event(settle->decision, EVENT_BRANCH_TAKEN, step);
    event->name = keys;
    event->payload = payload;
    event->text = text;
    decision_event(settle->decision, EVENT_STEP_SUCCEEDED, step);
}

/* {"selected": ...}: what the choice was made by. A set is written as a list. */
static Value summary(Arena *arena, Value selected)
{
    if (selected.kind == VALUE_SET) selected.kind = VALUE_ARRAY;
    Member *member = ARENA_NEW(arena, Member);
    *member = (Member){ value_string(STR("selected")), selected };
    return value_object(arena, member, 1);
}

static Begin begin_select(const Settle *settle, uint32_t step, const ConditionResult *result, bool is_defined)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    Arena *arena = settle->decision->arena;
    Choice choice = { .terms = terms, .is_strange = !is_defined };
    buf_init(&choice.keys, TEXT_SIZE_MAX);
    if (is_defined) choose_all(&choice, result->value);
    Str text = STR("");
    if (!is_defined) text = arena_format(arena, "undefined: %.*s", STR_ARG(result->text));
    else if (choice.is_strange && choice.strange.len) text = arena_format(arena, "there is no case '%.*s'", STR_ARG(choice.strange));
    else if (choice.is_strange) text = STR("the selection names no case");
    Begin begin = BEGIN_DONE;
    if (choice.is_strange && terms->otherwise.len) choose(&choice, value_string(terms->otherwise));
    bool is_chosen = choice.keys.len && (!choice.is_strange || terms->otherwise.len);
    if (choice.is_several)
        begin = fail(settle, step, CAUSE_CONDITION_ERROR,
                     STR("the selection names several cases, and an exclusive branch takes one"));
    else if (buf_overflowed(&choice.keys)) begin = fail(settle, step, CAUSE_CONDITION_ERROR, STR("the selection is too long"));
    else if (!is_chosen) begin = fail(settle, step, CAUSE_CONDITION_UNDEFINED, text);
    else take(settle, step, arena_copy(arena, buf_peek(&choice.keys)), is_defined ? summary(arena, result->value) : value_null(), text);
    buf_deinit(&choice.keys);
    return begin;
}

static Begin begin_branch(const Settle *settle, uint32_t step)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    ConditionResult result = { 0 };
    ConditionAnswer answer = CONDITION_TRUE;
    if (terms->select != CONDITION_NONE) answer = ask(settle, step, terms->select, &result);
    if (answer == CONDITION_MISSING) return missing(settle, result.missing);
    if (answer == CONDITION_ERROR) return fail(settle, step, CAUSE_CONDITION_ERROR, result.text);
    if (terms->is_selecting) return begin_select(settle, step, &result, answer != CONDITION_UNDEFINED);
    bool holds = answer == CONDITION_TRUE;
    Str text = answer == CONDITION_UNDEFINED
                 ? arena_format(settle->decision->arena, "undefined: %.*s", STR_ARG(result.text)) : STR("");
    take(settle, step, holds ? STR("then") : STR("else"), summary(settle->decision->arena, value_bool(holds)), text);
    return BEGIN_DONE;
}

/* --- steps of runners --------------------------------------------------------------------------------------------------------- */

/* A gate before the work: the step waits, even if only for a moment where the signal is there already. */
static Begin check_gate(const Settle *settle, uint32_t step)
{
    const GateTerms *gate = &settle->plan->terms->steps[step].gate;
    if (gate->signal.len == 0 || !gate->is_before) return BEGIN_GO;
    settle_enter(settle, step);
    Event *event = decision_event(settle->decision, EVENT_STEP_WAITING, step);
    event->name = gate->signal;
    event->due_ms = gate->timeout_ms ? settle->now_ms + gate->timeout_ms : 0;
    const RunSignal *signal = run_signal_for(settle->run, step, gate->signal);
    if (signal) settle_signal(settle, step, signal);
    return BEGIN_DONE;
}

static Begin fill(const Settle *settle, uint32_t step, Value written, bool has_paths, Value *out)
{
    InputResult result;
    switch (settle_fill(settle, step, written, has_paths, &result)) {
    case INPUT_OK: *out = result.value; return BEGIN_GO;
    case INPUT_MISSING: return missing(settle, result.missing);
    case INPUT_WRONG: break;
    }
    return fail(settle, step, CAUSE_INPUT_INVALID, result.text);
}

static Begin check_input(const Settle *settle, uint32_t step, Value *out_input)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    Value args;
    Begin begin = fill(settle, step, terms->args, terms->args_have_paths, &args);
    if (begin != BEGIN_GO) return begin;
    begin = fill(settle, step, terms->input, terms->input_has_paths, out_input);
    if (begin != BEGIN_GO || terms->input_schema.kind == VALUE_NULL) return begin;
    Error err;
    if (settle->env->schema(settle->env->context, settle->plan, terms->input_schema, *out_input, &err) == OK)
        return BEGIN_GO;
    Str text = arena_format(settle->decision->arena, "the input is not what input_schema says: %s", err.text);
    return fail(settle, step, CAUSE_INPUT_INVALID, text);
}

/* The declared key, and whether its work has been done or is under way elsewhere. */
static Begin check_key(const Settle *settle, uint32_t step, Str *out_key)
{
    const StepTerms *terms = &settle->plan->terms->steps[step];
    Decision *decision = settle->decision;
    *out_key = STR("");
    if (terms->key.len == 0) return BEGIN_GO;
    Value filled;
    Str text = arena_format(decision->arena, "%.*s ", STR_ARG(terms->key));     /* the space makes a lone path a text, too */
    Begin begin = fill(settle, step, value_string(text), true, &filled);
    if (begin != BEGIN_GO) return begin;
    Str declared = str_slice(value_text(filled), 0, filled.count - 1);
    if (declared.len > IDEMPOTENCY_KEY_SIZE_MAX) {
        text = arena_format(decision->arena, "its idempotency key has %zu bytes, more than IDEMPOTENCY_KEY_SIZE_MAX (%u)", declared.len,
                            IDEMPOTENCY_KEY_SIZE_MAX);
        return fail(settle, step, CAUSE_INPUT_INVALID, text);
    }
    *out_key = step_key(settle->plan, settle->run, step, declared, decision->arena);
    if (settle->plan->steps[step].strategy != STRATEGY_DEDUPE_KEY) return BEGIN_GO;
    Dedupe dedupe = settle->env->dedupe(settle->env->context, settle->run, step, terms->domain, *out_key);
    if (dedupe.kind == DEDUPE_NONE) return BEGIN_GO;
    if (dedupe.kind == DEDUPE_MISSING) {
        decision->missing = step;
        decision->missing_is_key = true;
        return BEGIN_MISSING;
    }
    if (dedupe.kind == DEDUPE_DONE) {
        settle_enter(settle, step);
        uint32_t payload = decision_payload(decision, dedupe.output);
        Event *event = decision_event(decision, EVENT_STEP_SUCCEEDED, step);
        event->payload = payload;
        event->source = dedupe.source;
        return BEGIN_DONE;
    }
    if (settle->run->steps[step].flags & STEP_DEFER_NOTED) return BEGIN_LATER;
    Event *event = decision_event(decision, EVENT_DEDUPE_WAITING, step);
    event->key = *out_key;
    event->source = dedupe.source;
    return BEGIN_DONE;
}

static Begin check_policy(const Settle *settle, uint32_t step, Value input)
{
    Verdict verdict = settle->env->verdict(settle->env->context, HOOK_STEP_DISPATCH, settle->plan, settle->run, step, input);
    if (verdict.kind == VERDICT_ALLOW) {
        settle->decision->policy = verdict.policy;
        return BEGIN_GO;
    }
    if (verdict.kind == VERDICT_LATER) return BEGIN_LATER;
    if (verdict.kind == VERDICT_MISSING) return missing(settle, MISSING_PARAMS);
    Decision *decision = settle->decision;
    decision_verdict(decision, HOOK_STEP_DISPATCH, step, &verdict);
    Str text = arena_format(decision->arena, "a policy does not permit it: %.*s", STR_ARG(verdict.text));
    settle_attempt(settle, step, settle->run->steps[step].attempt + 1u, &(Failure){ CAUSE_POLICY, text, value_null() });
    return BEGIN_DONE;
}

static Begin place_refused(const Settle *settle, uint32_t step, const Place *place)
{
    if (place->kind == PLACE_LATER) return BEGIN_LATER;
    if (place->kind == PLACE_NEVER) {
        Str runner = settle->plan->steps[step].runner;
        Str text = place->rationale.len ? place->rationale
                                        : arena_format(settle->decision->arena, "no executor offers the runner '%.*s'",
                                                       STR_ARG(runner));
        return fail(settle, step, CAUSE_PERMANENT, text);
    }
    if (place->kind == PLACE_DROPPED) {
        settle_drop(settle, step, place, &(Failure){ CAUSE_NONE, place->rationale, value_null() });
        return BEGIN_DONE;
    }
    if (settle->run->steps[step].flags & STEP_DEFER_NOTED) return BEGIN_LATER;
    Event *event = decision_event(settle->decision, EVENT_STEP_DEFERRED, step);
    event->count = place->pressure;
    event->text = place->rationale;
    return BEGIN_DONE;
}

/* F-035, G-21: it has not begun, and would take what was started and not undone beyond its budget. */
static bool blast_is_spent(const Settle *settle, uint32_t step)
{
    const PlanTerms *terms = settle->plan->terms;
    const Run *run = settle->run;
    if (!terms->has_blast_max || !terms->steps[step].weight) return false;
    return run->blast_used + terms->steps[step].weight > terms->blast_max + run->blast_approved;
}

static Str blast_text(const Settle *settle, uint32_t step)
{
    const PlanTerms *terms = settle->plan->terms;
    return arena_format(settle->decision->arena, "its weight of %" PRIu32 " would exceed the blast-radius budget of %" PRIu32 ", of which %" PRIu64
                        " are used; who retries it approves it", terms->steps[step].weight, terms->blast_max, settle->run->blast_used);
}

static Begin begin_work(const Settle *settle, uint32_t step)
{
    if (cost_is_spent(settle->plan, settle->run))
        return fail(settle, step, CAUSE_BUDGET_EXCEEDED, STR("the run has used up its cost_limit"));
    Place place = settle->env->place(settle->env->context, settle->plan, settle->run, step);
    if (place.kind != PLACE_HERE && place.kind != PLACE_THERE) return place_refused(settle, step, &place);
    Value input;
    Str key;
    Begin begin = check_input(settle, step, &input);
    if (begin == BEGIN_GO) begin = check_key(settle, step, &key);
    if (begin == BEGIN_GO) begin = check_policy(settle, step, input);
    if (begin != BEGIN_GO) return begin;
    Dispatched what = { key, decision_payload(settle->decision, input) };
    settle_dispatch(settle, step, settle->run->steps[step].attempt + 1u, &place, &what);
    return BEGIN_DONE;
}

Begin begin_step(const Settle *settle, uint32_t step)
{
    Begin begin = BEGIN_GO;
    const ReactionTerms *cut = reaction_cut(settle->plan, settle->run, step);
    if (cut) {                                                  /* F-054 */
        reaction_end(settle, step, cut);
        return BEGIN_DONE;
    }
    if (poll_is_over(settle, step)) {
        Error err;
        return poll_time_out(settle, step, &err) ? BEGIN_MISSING : BEGIN_DONE;
    }
    /* What has a number has been asked already: it is tried again, or has passed its gate. */
    if (settle->run->steps[step].number == 0 || settle->run->steps[step].flags & STEP_RENEWED) {
        begin = check_conditions(settle, step);
        if (begin != BEGIN_GO) return begin;
        if (settle->plan->steps[step].kind == STEP_BRANCH) return begin_branch(settle, step);
        if (settle->plan->steps[step].kind == STEP_SEQUENCE) return begin_sequence(settle, step);
        if (blast_is_spent(settle, step)) return fail(settle, step, CAUSE_BLAST_RADIUS, blast_text(settle, step));
        begin = check_gate(settle, step);
    }
    return begin == BEGIN_GO ? begin_work(settle, step) : begin;
}

/* --- rounds --------------------------------------------------------------------------------------------------------------------- */

/* The next larger loop that ends with this tail, or PLAN_NONE. */
static uint32_t loop_around(const Plan *plan, uint32_t tail, uint32_t inner)
{
    uint32_t best = PLAN_NONE;
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        const PlanLoop *loop = &plan->loops[l];
        if (loop->tail != tail || l == inner) continue;
        if (inner != PLAN_NONE) {
            uint32_t size = plan->loops[inner].body_count;
            if (loop->body_count < size || (loop->body_count == size && l < inner)) continue;
        }
        if (best == PLAN_NONE || loop->body_count < plan->loops[best].body_count) best = l;
    }
    return best;
}

static void leave_loop(const Settle *settle, uint32_t index, Cause cause, Str text)
{
    const PlanLoop *loop = &settle->plan->loops[index];
    Event *event = decision_event(settle->decision, EVENT_LOOP_LEFT, loop->head);
    event->last = loop->tail;
    event->count = settle->run->loops[index] + 1;
    event->cause = cause;
    event->class_ = cause_class(cause);
    event->text = text;
}

/* One loop: BEGIN_DONE where it goes round again, BEGIN_GO where it is left. */
static Begin ask_loop(const Settle *settle, uint32_t index)
{
    const PlanTerms *terms = settle->plan->terms;
    const PlanLoop *loop = &settle->plan->loops[index];
    const StepRun *tail = &settle->run->steps[loop->tail];
    Arena *arena = settle->decision->arena;
    bool is_done = step_is_done(tail) || (tail->state == STEP_SKIPPED && tail->cause == SKIP_CONDITION_FALSE);
    ConditionResult result = { 0 };
    ConditionAnswer answer = CONDITION_TRUE;
    if (!is_done) answer = CONDITION_FALSE;                     /* what failed or was not reached is not repeated */
    else if (terms->loop_conditions[index] != CONDITION_NONE)
        answer = ask(settle, loop->tail, terms->loop_conditions[index], &result);
    if (answer == CONDITION_MISSING) return missing(settle, result.missing);
    uint32_t round = settle->run->loops[index] + 1;
    if (answer == CONDITION_TRUE && round < loop->iteration_count_max) {
        Event *event = decision_event(settle->decision, EVENT_LOOP_REPEATED, loop->head);
        event->last = loop->tail;
        event->count = round + 1;
        return BEGIN_DONE;
    }
    Cause cause = CAUSE_NONE;
    Str text = STR("");
    if (answer == CONDITION_UNDEFINED) text = arena_format(arena, "undefined: %.*s", STR_ARG(result.text));
    if (answer == CONDITION_ERROR) {
        cause = CAUSE_CONDITION_ERROR;
        text = result.text;
    }
    if (answer == CONDITION_TRUE) {
        text = arena_format(arena, "the condition for going back from '%.*s' to '%.*s' still holds after %" PRIu32 " rounds",
                            STR_ARG(settle->plan->steps[loop->tail].id), STR_ARG(settle->plan->steps[loop->head].id), round);
        if (terms->loop_fails[index]) cause = CAUSE_PERMANENT;
    }
    leave_loop(settle, index, cause, text);
    return BEGIN_GO;
}

Begin begin_round(const Settle *settle, uint32_t tail)
{
    uint32_t events = settle->decision->event_count;
    for (uint32_t l = loop_around(settle->plan, tail, PLAN_NONE); l != PLAN_NONE; l = loop_around(settle->plan, tail, l)) {
        Begin begin = ask_loop(settle, l);
        if (begin == BEGIN_MISSING) settle->decision->event_count = events;         /* asked again as a whole */
        if (begin != BEGIN_GO) return begin;
    }
    return BEGIN_DONE;
}
