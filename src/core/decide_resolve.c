/* decide_resolve.c - decisions about runs that have failed, and about their compensation. */
#include <inttypes.h>

#include "base/limits.h"
#include "core/compensation.h"
#include "core/name.h"
#include "core/pause.h"
#include "core/rerun.h"
#include "core/resolve.h"
#include "core/retry.h"
#include "core/revise.h"
#include "value/json.h"

/* --- who may be asked what -------------------------------------------------------------------------------------------------- */

static Status refuse_state(const Asked *asked, const char *const *instead, const char *why, Error *err)
{
    const char *better = instead[asked->settle.run->state];
    return decide_refuse(asked, err, why, better ? better : "");
}

static const char *const resolve_instead[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = "wait for its end, or cancel it",
    [RUN_DISPATCHED] = "wait for its end, or cancel it",
    [RUN_RUNNING] = "pause it, cancel it, or compensate it",
    [RUN_PAUSED] = "resume it, cancel it, or compensate it",
    [RUN_WAITING_SIGNAL] = "send the signal that it waits for, cancel it, or compensate it",
    [RUN_COMPENSATING] = "wait for the end of its compensation",
    [RUN_COMPENSATION_FAILED] = "use retry-compensation or skip-compensation",
};

/* A run that has failed and is not resolved: it waits for a decision, or for its automatic retry. */
static Status check_failed(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    if (run->state == RUN_FAILED && run->resolution == RESOLUTION_RESOLVED)
        return decide_refuse(asked, err, "it is resolved, which is final", "");
    if (run->state == RUN_FAILED) return OK;
    return refuse_state(asked, resolve_instead, run_is_terminal(run) ? "it has ended" : "it does not wait for a decision", err);
}

static Status find_step(const Asked *asked, Str name, uint32_t *out_step, Error *err)
{
    if (name.len == 0) return error_set(err, ERR_INVALID, "which step? Name one");
    if (name_find_step(asked->settle.plan, name, out_step)) return OK;
    return error_set(err, ERR_NOT_FOUND, "the run has no step '%.*s'", STR_ARG(name));
}

/* --- compensation -------------------------------------------------------------------------------------------------------------- */

static Status read_named(const Asked *asked, RollbackPlan *wanted, Error *err)
{
    Value steps = asked->command->value;
    uint8_t *named = ARENA_ARRAY(asked->settle.decision->arena, uint8_t, asked->settle.run->step_count + 1);
    size_t size = 0;
    if (steps.kind != VALUE_ARRAY || steps.count == 0)
        return error_set(err, ERR_INVALID, "a part of a run is compensated by naming its steps");
    for (uint32_t i = 0; i < steps.count; i++) {
        uint32_t step;
        Str name = steps.items[i].kind == VALUE_STRING ? value_text(steps.items[i]) : STR("");
        Status status = find_step(asked, name, &step, err);
        if (status) return status;
        if (!named[step]) size += asked->settle.plan->steps[step].id.len + 1;
        named[step] = 1;
    }
    if (size > TEXT_SIZE_MAX) return error_set(err, ERR_LIMIT, "the names of these steps exceed TEXT_SIZE_MAX (%u) bytes", TEXT_SIZE_MAX);
    wanted->named = named;
    return OK;
}

static Status read_rollback(const Asked *asked, RollbackPlan *out, Error *err)
{
    const Command *command = asked->command;
    *out = (RollbackPlan){ .scope = command->scope, .from = STEP_NONE };
    if (command->unknown == UNKNOWN_COMPENSATES) out->flags = ROLLBACK_UNKNOWN_IS_DONE;
    if (command->unknown == UNKNOWN_LEAVES) out->flags = ROLLBACK_UNKNOWN_IS_NONE;
    if (command->scope == SCOPE_PARTIAL) return read_named(asked, out, err);
    return command->scope == SCOPE_FROM_STEP ? find_step(asked, command->name, &out->from, err) : OK;
}

static Status check_list(const Asked *asked, const CompensationList *list, Error *err)
{
    if (list->unknown != STEP_NONE)                                                                            /* F-088 */
        return error_set(err, ERR_CONFLICT, "the run is %s: step '%.*s' announced an effect, and nobody knows whether it took place; find "
                         "out, and say whether such effects are to be compensated or left", run_state_name((RunState)asked->settle.run->state),
                         STR_ARG(asked->settle.plan->steps[list->unknown].id));
    if (list->undo_count == 0)
        return decide_refuse(asked, err, "there is nothing to compensate: no step that is meant has a compensation and has been carried out",
                             "retry it, cancel it, or mark it resolved");
    return OK;
}

static Status compensate_failed(const Asked *asked, const RollbackPlan *wanted, Error *err)
{
    const Settle *settle = &asked->settle;
    Arena *arena = settle->decision->arena;
    if (settle->run->rollback.number >= ROLLBACK_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the run has been rolled back ROLLBACK_COUNT_MAX (%u) times", ROLLBACK_COUNT_MAX);
    CompensationList list = compensation_list(settle->plan, settle->run, wanted, arena);
    Status status = check_list(asked, &list, err);
    if (status) return status;
    Event *event = resolve_decided(settle, DECISION_COMPENSATE, asked->command->actor, asked->command->rationale);
    const uint8_t *named = wanted->named;
    if (wanted->scope == SCOPE_FROM_STEP) {                                     /* A-035: the row names what was meant */
        uint8_t *meant = ARENA_ARRAY(arena, uint8_t, settle->run->step_count);
        for (uint32_t i = 0; i < list.undo_count; i++) meant[list.steps[i]] = 1;
        named = meant;
    }
    event->name = compensation_names(settle->plan, named, arena);
    compensation_start(settle, wanted, &list, asked->command->rationale);
    return OK;
}

/* C-11: what runs is ended first. */
static Status roll_back(const Asked *asked, const RollbackPlan *wanted, Error *err)
{
    const Run *run = asked->settle.run;
    Decision *decision = asked->settle.decision;
    if (run->is_cancelling) return decide_refuse(asked, err, "it ends already", "");
    if (run->is_rolling_back) return OK;
    if (run->is_failing) return decide_refuse(asked, err, "it ends already", "resolve it when it has failed");
    Str names = compensation_names(asked->settle.plan, wanted->named, decision->arena);
    resolve_decided(&asked->settle, DECISION_COMPENSATE, asked->command->actor, asked->command->rationale)->name = names;
    pause_cancel(&asked->settle);
    Event *event = decision_event(decision, EVENT_RUN_ROLLING_BACK, wanted->scope == SCOPE_FROM_STEP ? wanted->from : STEP_NONE);
    event->sort = wanted->scope;
    event->name = names;
    event->flags = wanted->flags;
    event->text = asked->command->rationale;
    return OK;
}

static const char *const compensate_instead[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = "cancel it",
    [RUN_DISPATCHED] = "cancel it",
    [RUN_COMPENSATING] = "wait for its end",
    [RUN_COMPENSATION_FAILED] = "use retry-compensation or skip-compensation",
};

Status decide_compensate(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    RollbackPlan wanted;
    Status status = read_rollback(asked, &wanted, err);
    if (status) return status;
    if (run->state == RUN_FAILED) {
        status = check_failed(asked, err);
        return status ? status : compensate_failed(asked, &wanted, err);
    }
    bool is_under_way = run->state == RUN_RUNNING || run->state == RUN_PAUSED || run->state == RUN_WAITING_SIGNAL;
    if (is_under_way) return roll_back(asked, &wanted, err);
    const char *why = run_is_terminal(run) ? "it has ended" : run->state == RUN_COMPENSATING ? "it is being compensated already"
                    : run->state == RUN_COMPENSATION_FAILED ? "its compensation has failed" : "nothing has been done yet";
    return refuse_state(asked, compensate_instead, why, err);
}

/* --- retries -------------------------------------------------------------------------------------------------------------------- */

/* F-079: permitted by policy, and by what it may still cost. */
static Status check_retry(const Asked *asked, Error *err)
{
    Status status = check_failed(asked, err);
    if (status) return status;
    if (cost_is_spent(asked->settle.plan, asked->settle.run))
        return decide_refuse(asked, err, "it has used up its cost_limit", "compensate it, cancel it, or mark it resolved");
    return decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), err);
}

/* What differs, for people: "amount: 5 -> 7; note: none -> \"x\"". */
static Str difference(Arena *arena, Value before, Value edits)
{
    Buf buf;
    Error err;
    buf_init(&buf, TEXT_SIZE_MAX);
    for (uint32_t i = 0; i < edits.count; i++) {
        const Value *old = value_get(before, value_text(edits.members[i].key));
        buf_format(&buf, "%s%.*s: ", i ? "; " : "", STR_ARG(value_text(edits.members[i].key)));
        if (!old) buf_text(&buf, "none");
        else if (json_print(&buf, *old, JSON_COMPACT, &err)) buf_text(&buf, "?");
        buf_text(&buf, " -> ");
        if (json_print(&buf, edits.members[i].value, JSON_COMPACT, &err)) buf_text(&buf, "?");
    }
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static bool text_has(Str text, Str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++)
        if (str_is(str_slice(text, at, at + part.len), part)) return true;
    return false;
}

/* The declared key of the step is made of one of these parameters. */
static bool key_changes(const Asked *asked, uint32_t step, Value edits)
{
    Str key = asked->settle.plan->terms->steps[step].key;
    if (!key.len) return false;
    bool changes = edits.count && text_has(key, STR("${params["));
    for (uint32_t i = 0; i < edits.count && !changes; i++)
        changes = text_has(key, arena_format(asked->settle.decision->arena, "${params.%.*s", STR_ARG(value_text(edits.members[i].key))));
    return changes;
}

/* I4: what was done is undone under the key that it was done under, which can no longer be made once its parameters have changed.
 * What is only run anew is not undone any more. */
static Status check_keys(const Asked *asked, uint32_t from, Value edits, Error *err)
{
    const Settle *settle = &asked->settle;
    bool is_undone_first = asked->command->mode == COMPENSATE_THEN_RETRY;
    const uint8_t *anew = rerun_set(settle->plan, settle->run, from, settle->decision->arena);
    for (uint32_t i = 0; i < settle->run->step_count; i++) {
        const StepRun *step = &settle->run->steps[i];
        bool has_acted = step->attempt && !(step->flags & STEP_UNDONE)
                      && (step_is_done(step) || step->flags & (STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_WORK_DONE));
        bool is_kept = is_undone_first || !anew[i];
        if (!has_acted || !is_kept || !settle->plan->terms->steps[i].undo.runner.len || !key_changes(asked, i, edits)) continue;
        return error_set(err, ERR_CONFLICT, "the key of step '%.*s', which was carried out, is made of a parameter that is to be changed: it could "
                         "not be undone any more; retry from it or before it, without compensating, or compensate the run",
                         STR_ARG(settle->plan->steps[i].id));
    }
    return OK;
}

/* What a revision fills in by itself: parameters that the run did not have. */
static Value added_params(Arena *arena, Value before, Value whole)
{
    const Value *params = value_get_text(whole, "params");
    MemberList added = { .arena = arena };
    for (uint32_t i = 0; params && params->kind == VALUE_OBJECT && i < params->count; i++)
        if (!value_get(before, value_text(params->members[i].key)))
            member_list_add(&added, value_text(params->members[i].key), params->members[i].value);
    return member_list_object(&added);
}

/* Parameters that hold from the retry on: edits of those that the run has. */
static Status change_params(const Asked *asked, uint32_t from, Error *err)
{
    const Settle *settle = &asked->settle;
    Value edits = asked->command->value, start, whole;
    Arena *arena = settle->decision->arena;
    if (edits.kind == VALUE_NULL && !asked->command->before) return OK;
    if (edits.kind == VALUE_NULL) edits = value_object(arena, NULL, 0);
    if (edits.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "parameters are changed by an object of names and values");
    Status status = check_keys(asked, from, edits, err);
    if (status) return status;
    if (!settle->env->params(settle->env->context, settle->run, &start)) {
        settle->decision->missing = MISSING_PARAMS;
        return error_set(err, ERR_UNAVAILABLE, "the parameters of the run are not at hand");
    }
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    Value before = params && params->kind == VALUE_OBJECT ? *params : value_object(arena, NULL, 0);
    MemberList merged = { .arena = arena };
    for (uint32_t i = 0; i < before.count; i++) member_list_add(&merged, value_text(before.members[i].key), before.members[i].value);
    for (uint32_t i = 0; i < edits.count; i++) member_list_add(&merged, value_text(edits.members[i].key), edits.members[i].value);
    status = decide_params(settle->plan, member_list_object(&merged), payload ? *payload : value_null(), arena, &whole, err);
    if (status) return status;
    if (!edits.count && value_equals(whole, start)) return OK;
    if (!edits.count) edits = added_params(arena, before, whole);
    uint32_t index;
    status = decision_payload_try(settle->decision, "what the parameters and the payload are together", whole, &index, err);
    if (status) return status;
    Event *event = decision_event(settle->decision, EVENT_PARAMS_CHANGED, 0);
    event->payload = index;
    event->text = difference(arena, before, edits);
    return OK;
}

/* Another revision can take the place of the run's at all: asked before anything is looked for in its plan. */
static Status check_revision(const Asked *asked, Error *err)
{
    const Plan *after = asked->settle.plan;
    if (!asked->command->before) return OK;
    Status status = check_failed(asked, err);
    if (!status) status = revise_check_shape(asked->command->before, after, err);
    if (!status && after->terms->unsupported.len)
        status = error_set(err, ERR_CONFLICT, "that revision uses what this version cannot carry out: %.*s", STR_ARG(after->terms->unsupported));
    return status;
}

/* What is kept fits the other revision; from now on the run is one of that. */
static Status change_revision(const Asked *asked, uint32_t from, Error *err)
{
    const Settle *settle = &asked->settle;
    const Plan *before = asked->command->before;
    bool is_undone_first = asked->command->mode == COMPENSATE_THEN_RETRY && from != STEP_NONE;
    const uint8_t *anew = rerun_set(settle->plan, settle->run, from, settle->decision->arena);
    Status status = revise_check_kept(settle, before, anew, is_undone_first, err);
    if (status) return status;
    Event *event = decision_event(settle->decision, EVENT_RUN_REVISED, 0);
    event->revision = asked->command->revision;
    event->digest = &settle->plan->digest;
    event->text = revise_differences(before, settle->plan, settle->decision->arena);
    return OK;
}

/* Nothing that is invalid comes after the first event: a refusal of that kind is recorded with what was decided before it. */
static Status change_terms(const Asked *asked, uint32_t from, Error *err)
{
    Status status = change_params(asked, from, err);
    return status || !asked->command->before ? status : change_revision(asked, from, err);
}

static Status retry_failed(const Asked *asked, Error *err)
{
    Status status = check_revision(asked, err);
    if (!status) status = check_retry(asked, err);
    if (!status && asked->command->before) status = change_terms(asked, STEP_NONE, err);
    if (status) return status;
    resolve_decided(&asked->settle, DECISION_RETRY, asked->command->actor, asked->command->rationale);
    settle_requeue(&asked->settle, RETRY_SOURCE_FAILED_RETRY, STEP_NONE);
    return OK;
}

static Status compensate_then_retry(const Asked *asked, uint32_t step, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    RollbackPlan wanted = { .scope = SCOPE_FROM_STEP, .from = step, .flags = ROLLBACK_THEN_RETRIES };
    if (!command->includes) wanted.flags |= ROLLBACK_EXCLUDES_STEP;                                            /* C-57 */
    if (command->unknown == UNKNOWN_COMPENSATES) wanted.flags |= ROLLBACK_UNKNOWN_IS_DONE;
    if (command->unknown == UNKNOWN_LEAVES) wanted.flags |= ROLLBACK_UNKNOWN_IS_NONE;
    if (settle->run->rollback.number >= ROLLBACK_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the run has been rolled back ROLLBACK_COUNT_MAX (%u) times", ROLLBACK_COUNT_MAX);
    CompensationList list = compensation_list(settle->plan, settle->run, &wanted, settle->decision->arena);
    if (list.unknown != STEP_NONE) return check_list(asked, &list, err);
    Status status = change_terms(asked, step, err);
    if (status) return status;
    resolve_decided(settle, DECISION_RETRY_FROM_STEP, command->actor, command->rationale)->step = step;
    if (list.count) compensation_start(settle, &wanted, &list, command->rationale);
    else settle_requeue(settle, RETRY_SOURCE_RETRY_FROM_STEP, step);
    return OK;
}

Status decide_retry_from(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    uint32_t step;
    Status status = check_revision(asked, err);
    if (!status) status = find_step(asked, asked->command->name, &step, err);
    if (!status) status = check_retry(asked, err);
    if (status) return status;
    StepState state = (StepState)settle->run->steps[step].state;
    if (state == STEP_SKIPPED || !step_state_is_final(state))                                                  /* A-057 */
        return error_set(err, ERR_CONFLICT, "step '%.*s' was not completed: it is %s; retry from a step that was carried out",
                         STR_ARG(settle->plan->steps[step].id), step_state_name(state));
    if (asked->command->mode == COMPENSATE_THEN_RETRY) return compensate_then_retry(asked, step, err);
    status = change_terms(asked, step, err);
    if (status) return status;
    resolve_decided(settle, DECISION_RETRY_FROM_STEP, asked->command->actor, asked->command->rationale)->step = step;
    settle_requeue(settle, RETRY_SOURCE_RETRY_FROM_STEP, step);
    return OK;
}

/* --- the decision ------------------------------------------------------------------------------------------------------------------ */

static Status cancel_failed(const Asked *asked, Error *err)
{
    Status status = check_failed(asked, err);
    return status ? status : decide_cancel(asked, err);
}

static Status mark_resolved(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    Decision *decision = asked->settle.decision;
    Status status = check_failed(asked, err);
    if (status) return status;
    resolve_decided(&asked->settle, DECISION_MARK_RESOLVED, asked->command->actor, asked->command->rationale);
    Event *event = decision_event(decision, EVENT_RUN_FAILED, run->failed_step);
    event->cause = run->cause;
    event->class_ = cause_class((Cause)run->cause);
    event->resolution = RESOLUTION_RESOLVED;
    event->text = arena_copy(decision->arena, run->failure);
    return OK;
}

static Status compensate_decided(const Asked *asked, Error *err)
{
    Status status = check_failed(asked, err);
    return status ? status : decide_compensate(asked, err);
}

Status decide_resolve(const Asked *asked, Error *err)
{
    static const DecideKind decisions[DECISION_KIND_COUNT] = {
        [DECISION_RETRY] = retry_failed, [DECISION_RETRY_FROM_STEP] = decide_retry_from, [DECISION_COMPENSATE] = compensate_decided,
        [DECISION_CANCEL] = cancel_failed, [DECISION_MARK_RESOLVED] = mark_resolved,
    };
    if (asked->command->decision >= DECISION_KIND_COUNT) return error_set(err, ERR_INVALID, "there is no such decision");
    return decisions[asked->command->decision](asked, err);
}

/* --- a compensation that failed -------------------------------------------------------------------------------------------------------- */

static const char *const stuck_instead[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = "cancel it",
    [RUN_DISPATCHED] = "cancel it",
    [RUN_RUNNING] = "pause it, cancel it, or compensate it",
    [RUN_PAUSED] = "resume it, cancel it, or compensate it",
    [RUN_WAITING_SIGNAL] = "cancel it, or compensate it",
    [RUN_FAILED] = "resolve it",
    [RUN_COMPENSATING] = "wait for its end",
};

static Status check_stuck(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    if (run->state == RUN_COMPENSATION_FAILED) return OK;
    if (run_is_terminal(run)) return decide_refuse(asked, err, "it has ended", "");
    return refuse_state(asked, stuck_instead, "no compensation of it has failed", err);
}

static Event *stuck_event(const Asked *asked, EventKind kind, uint32_t index)
{
    const Rollback *rollback = &asked->settle.run->rollback;
    Event *event = decision_event(asked->settle.decision, kind, rollback->items[index].step);
    event->number = rollback->earlier_count + index + 1;
    event->text = asked->command->rationale;
    return event;
}

Status decide_retry_compensation(const Asked *asked, Error *err)
{
    Status status = check_stuck(asked, err);
    if (status) return status;
    const Rollback *rollback = &asked->settle.run->rollback;
    const Compensation *item = &rollback->items[rollback->at];
    uint32_t more = asked->settle.plan->terms->steps[item->step].undo.retry.attempt_count_max;
    uint32_t attempts = item->attempt + more;                                                                  /* C-82 */
    if (attempts > ATTEMPT_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "a compensation is attempted at most ATTEMPT_COUNT_MAX (%u) times; skip it", ATTEMPT_COUNT_MAX);
    stuck_event(asked, EVENT_COMPENSATION_RESUMED, rollback->at)->count = attempts > item->attempt_max ? attempts : item->attempt_max;
    return OK;
}

Status decide_skip_compensation(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Rollback *rollback = &settle->run->rollback;
    Status status = check_stuck(asked, err);
    if (status) return status;
    uint32_t stuck = rollback->items[rollback->at].step;
    if (asked->command->name.len) {
        uint32_t step;
        status = find_step(asked, asked->command->name, &step, err);
        if (status) return status;
        if (step != stuck)
            return error_set(err, ERR_CONFLICT, "the compensation of step '%.*s' has not failed: skip that of '%.*s', or all that remain",
                             STR_ARG(settle->plan->steps[step].id), STR_ARG(settle->plan->steps[stuck].id));
    }
    if (asked->command->includes && rollback->count - rollback->at + 1 > DECISION_EVENT_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "more than DECISION_EVENT_COUNT_MAX (%u) compensations remain; skip them one by one",
                         DECISION_EVENT_COUNT_MAX);
    for (uint32_t i = rollback->at; i < rollback->count && (i == rollback->at || asked->command->includes); i++)
        if (rollback->items[i].state == COMPENSATION_PENDING || rollback->items[i].state == COMPENSATION_FAILED)
            stuck_event(asked, EVENT_COMPENSATION_SKIPPED, i);
    stuck_event(asked, EVENT_COMPENSATION_RESUMED, rollback->at);
    return OK;
}
