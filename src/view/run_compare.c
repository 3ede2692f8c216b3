/* run_compare.c - two attempts, or two runs, as documents of one form; what differs is what value_diff() finds in them. */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "value/value_diff.h"
#include "view/run_history.h"

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

static Value failure_of(Arena *arena, Value class_, Value cause, Value message, Value details)
{
    MemberList members = { .arena = arena };
    if (cause.kind == VALUE_NULL && message.kind == VALUE_NULL) return value_null();
    add(&members, "class", class_);
    add(&members, "cause", cause);
    add(&members, "message", message);
    if (details.kind != VALUE_NULL) add(&members, "details", details);
    return member_list_object(&members);
}

static Value duration_of(const Cell *begin, const Cell *end)
{
    return begin->kind == CELL_INT && end->kind == CELL_INT ? value_int(end->integer - begin->integer) : value_null();
}

static Value text_or_null(Str text) { return text.len ? value_string(text) : value_null(); }

/* Events without what is of one moment alone: their numbers and times. */
static Value decisions_of(const RunHistory *it, const ValueList *list)
{
    static const char *const momentary[] = { "number", "time", "payload" };
    ValueList out = { .arena = it->arena };
    for (size_t i = 0; i < list->count; i++) {
        MemberList members = { .arena = it->arena };
        for (uint32_t k = 0; k < list->items[i].count; k++) {
            const Member *member = &list->items[i].members[k];
            bool is_kept = true;
            for (size_t m = 0; m < sizeof momentary / sizeof *momentary; m++) is_kept &= !str_is_text(value_text(member->key), momentary[m]);
            if (is_kept) member_list_add(&members, value_text(member->key), member->value);
        }
        value_list_add(&out, member_list_object(&members));
    }
    return value_list_array(&out);
}

/* --- attempts ----------------------------------------------------------------------------------------------------------- */

static Value place_value(const RunHistory *it, const PayloadPlace *place)
{
    const Cell at[3] = { cell_int((int64_t)place->position), cell_int(place->offset), cell_int(place->size) };
    return place->position ? payload_or_null(it->arena, it->store, at) : value_null();
}

/* A later attempt is given the input of the first; what its step run succeeded with may have been kept back until then. */
static Value attempt_value(const RunHistory *it, const HistoryAttempt *attempt)
{
    Arena *arena = it->arena;
    MemberList members = { .arena = arena };
    const Cell *row = attempt->number <= it->steps.count ? it->steps.rows[attempt->number - 1] : NULL;
    Cell begin = cell_int(attempt->dispatched_ms), end = attempt->ended_ms ? cell_int(attempt->ended_ms) : cell_null();
    bool is_kept_back = row && attempt->end == ATTEMPT_SUCCEEDED && !attempt->output.position;
    Value input = attempt->input.position || !row ? place_value(it, &attempt->input) : payload_or_null(arena, it->store, &row[STEP_RUNS_input_at]);
    add(&members, "state", value_string(str_of(attempt_end_name(attempt->end))));
    add(&members, "runner", value_string(it->plan.steps[attempt->step].runner));
    add(&members, "executor", text_or_null(attempt->executor));
    add(&members, "placement", text_or_null(attempt->placement));
    add(&members, "policies", digest_value(arena, &attempt->policy));
    add(&members, "input", input);
    add(&members, "output", is_kept_back ? payload_or_null(arena, it->store, &row[STEP_RUNS_output_at]) : place_value(it, &attempt->output));
    add(&members, "durationMs", duration_of(&begin, &end));
    add(&members, "failure",
        failure_of(arena, attempt->cause ? value_string(str_of(failure_class_name((FailureClass)attempt->class_)))
                                         : value_null(),
                   attempt->cause ? value_string(str_of(cause_name((Cause)attempt->cause))) : value_null(),
                   text_or_null(attempt->message), place_value(it, &attempt->details)));
    add(&members, "decisions", decisions_of(it, &attempt->verdicts));
    add(&members, "events", value_list_array(&attempt->events));
    return member_list_object(&members);
}

static Value attempt_name(const RunHistory *it, const HistoryAttempt *attempt)
{
    MemberList members = { .arena = it->arena };
    Cell begin = cell_int(attempt->dispatched_ms);
    add(&members, "executionId", cell_value(&it->row[RUNS_id]));
    add(&members, "step", value_string(it->plan.steps[attempt->step].id));
    add(&members, "stepIndex", value_int((int64_t)attempt->number - 1));
    add(&members, "attempt", value_int(attempt->attempt));
    add(&members, "startedAt", cell_time(it->arena, &begin));
    return member_list_object(&members);
}

static Value differences(Arena *arena, Value left_name, Value right_name, Value left, Value right)
{
    MemberList members = { .arena = arena };
    ValueDiff diff = { .list = { .arena = arena }, .count_max = DIFF_LINE_COUNT_MAX };
    value_diff(&diff, STR(""), left, right);
    add(&members, "left", left_name);
    add(&members, "right", right_name);
    add(&members, "count", value_int(diff.total));
    add(&members, "differences", value_list_array(&diff.list));
    return member_list_object(&members);
}

Status run_compare_attempts(const RunHistory *it, const AttemptPair *pair, Value *out, Error *err)
{
    const HistoryAttempt *left = history_find(&it->history, pair->left_number, pair->left);
    const HistoryAttempt *right = history_find(&it->history, pair->number, pair->right);
    uint32_t count = 0;
    while (history_find(&it->history, pair->number, count + 1)) count++;
    if (!left || !right)
        return error_set(err, ERR_NOT_FOUND, "there is no attempt %" PRIu32 ": the step has had %" PRIu32, left ? pair->right : pair->left, count);
    *out = differences(it->arena, attempt_name(it, left), attempt_name(it, right), attempt_value(it, left), attempt_value(it, right));
    return OK;
}

Status attempt_pair_read(Str text, AttemptPair *pair, Error *err)
{
    size_t comma = str_find(text, ',', 0);
    uint64_t left, right;
    if (!str_to_u64(str_slice(text, 0, comma), &left) || !str_to_u64(str_slice(text, comma + 1, text.len), &right) || !left || !right
        || left > UINT16_MAX || right > UINT16_MAX)
        return error_set(err, ERR_INVALID, "'attempts' takes two numbers from 1, such as 1,2");
    pair->left = (uint32_t)left;
    pair->right = (uint32_t)right;
    pair->left_number = pair->number;
    return OK;
}

static bool is_step(const PlanStep *step, Str text) { return str_is(step->id, text) || str_is(step->name, text); }

/* The last attempt of a step, and the last one of the step run that it had before. */
static bool find_runs(const RunHistory *it, Str step, AttemptPair *out_pair)
{
    const HistoryAttempt **last = ARENA_ARRAY(it->arena, const HistoryAttempt *, it->plan.step_count + 1u);
    bool is_found = false;
    for (size_t i = 0; i < it->history.attempt_count; i++) {
        const HistoryAttempt *attempt = &it->history.attempts[i], *before = last[attempt->step];
        last[attempt->step] = attempt;
        if (!before || before->number == attempt->number || (step.len && !is_step(&it->plan.steps[attempt->step], step))) continue;
        *out_pair = (AttemptPair){ attempt->number, before->attempt, attempt->attempt, before->number };
        is_found = true;
    }
    return is_found;
}

Status run_find_pair(const RunHistory *it, Str step, AttemptPair *out_pair, Error *err)
{
    bool is_known = !step.len;
    for (uint32_t i = 0; !is_known && i < it->plan.step_count; i++) is_known = is_step(&it->plan.steps[i], step);
    if (!is_known) return error_set(err, ERR_NOT_FOUND, "the run has no step '%.*s'", STR_ARG(step));
    for (size_t i = it->history.attempt_count; i-- > 0;) {
        const HistoryAttempt *attempt = &it->history.attempts[i];
        if (attempt->attempt < 2 || (step.len && !is_step(&it->plan.steps[attempt->step], step))) continue;
        *out_pair = (AttemptPair){ attempt->number, attempt->attempt - 1, attempt->attempt, attempt->number };
        return OK;
    }
    if (find_runs(it, step, out_pair)) return OK;
    return error_set(err, ERR_NOT_FOUND, step.len ? "the step '%.*s' was not tried twice" : "no step of the run was tried twice%.*s",
                     STR_ARG(step));
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static Value step_value(const RunHistory *it, const Cell *row)
{
    Arena *arena = it->arena;
    MemberList members = { .arena = arena };
    add(&members, "state", value_string(str_of(step_state_name(step_row_state(row)))));
    add(&members, "attempts", cell_value(&row[STEP_RUNS_attempt]));
    add(&members, "executor", cell_value(&row[STEP_RUNS_executor]));
    add(&members, "input", payload_or_null(arena, it->store, &row[STEP_RUNS_input_at]));
    add(&members, "output", payload_or_null(arena, it->store, &row[STEP_RUNS_output_at]));
    add(&members, "durationMs", duration_of(&row[STEP_RUNS_started_ms], &row[STEP_RUNS_finished_ms]));
    add(&members, "skipReason", cell_value(&row[STEP_RUNS_skip_reason]));
    add(&members, "failure", failure_of(arena, cell_value(&row[STEP_RUNS_error_class]), cell_value(&row[STEP_RUNS_error_cause]),
                                        cell_value(&row[STEP_RUNS_error_message]),
                                        payload_or_null(arena, it->store, &row[STEP_RUNS_details_at])));
    return member_list_object(&members);
}

/* A step that was run anew counts by its last step run. */
static Value run_value(const RunHistory *it)
{
    Arena *arena = it->arena;
    const Cell *row = it->row;
    MemberList members = { .arena = arena }, steps = { .arena = arena };
    Value start = payload_or_null(arena, it->store, &row[RUNS_params_at]);
    const Value *params = value_get_text(start, "params");
    for (size_t i = 0; i < it->steps.count; i++)
        member_list_add(&steps, it->steps.rows[i][STEP_RUNS_step_key].text, step_value(it, it->steps.rows[i]));
    add(&members, "workflow", cell_value(&row[RUNS_definition_key]));
    add(&members, "version", cell_value(&row[RUNS_definition_version]));
    add(&members, "plan", digest_value(arena, &it->plan.digest));
    add(&members, "policies", digest_value(arena, &it->history.policy));
    add(&members, "parameters", params ? *params : start);
    add(&members, "source", cell_value(&row[RUNS_source]));
    add(&members, "state", value_string(str_of(run_state_name(row_state(row)))));
    add(&members, "durationMs", duration_of(&row[RUNS_started_ms], &row[RUNS_completed_ms]));
    add(&members, "failure", failure_of(arena, cell_value(&row[RUNS_error_class]), cell_value(&row[RUNS_error_cause]),
                                        cell_value(&row[RUNS_error_message]), value_null()));
    add(&members, "decisions", decisions_of(it, &it->history.decisions));
    add(&members, "steps", member_list_object(&steps));
    return member_list_object(&members);
}

static Value run_name(const RunHistory *it)
{
    MemberList members = { .arena = it->arena };
    add(&members, "executionId", cell_value(&it->row[RUNS_id]));
    add(&members, "startedAt", cell_time(it->arena, &it->row[RUNS_started_ms]));
    return member_list_object(&members);
}

Value run_compare_runs(const RunHistory *left, const RunHistory *right)
{
    return differences(left->arena, run_name(left), run_name(right), run_value(left), run_value(right));
}
