#include "engine/condition.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/input.h"
#include "core/name.h"
#include "core/poll.h"
#include "rego/parser.h"
#include "rego/rego.h"

/* The names that a condition knows, in the order of RegoEvalContext.values. */
enum { NAME_PARAMS, NAME_OUTPUTS, NAME_OUTPUT, NAME_PAYLOAD, NAME_RUN, NAME_POLL, NAME_COUNT };
static const Str names[NAME_COUNT] = { STR_INIT("params"), STR_INIT("outputs"), STR_INIT("output"), STR_INIT("payload"),
                                       STR_INIT("run"), STR_INIT("poll") };

#define READ_PARTS_MAX 8u

/* A constant reference of a condition: outputs.validate.total is [outputs, validate, total]. */
typedef struct ConditionRead {
    Str parts[READ_PARTS_MAX];
    uint32_t part_count;
    uint32_t step;                      /* the value it reads, as of run_value_at(), or STEP_NONE: all of them, or another name */
    uint32_t name_count;                /* parts that name the step: one, or job and task */
} ConditionRead;

typedef struct Condition {
    RegoQuery *query;
    ConditionRead *reads;
    uint32_t read_count;
    bool reads_all;                     /* it uses `outputs` as a whole */
} Condition;

struct ConditionSet {
    Arena arena;
    RegoPolicy *policy;                 /* without modules: what queries stand on */
    Condition *conditions;
    uint32_t count;
};

/* --- compile --------------------------------------------------------------------------------------------------------- */

typedef struct Collector { ConditionSet *set; Condition *condition; const Plan *plan; size_t capacity; } Collector;

static void add_read(Collector *collector, const RegoTerm *head, const RegoTerm *const *rest, uint32_t count)
{
    ConditionRead read = { .parts = { head->name }, .part_count = 1, .step = STEP_NONE };
    for (uint32_t i = 0; i < count && read.part_count < READ_PARTS_MAX && rego_term_is_string(rest[i]); i++)
        read.parts[read.part_count++] = arena_copy(&collector->set->arena, value_text(rest[i]->value));
    read.parts[0] = arena_copy(&collector->set->arena, head->name);
    Condition *condition = collector->condition;
    if (str_is(head->name, names[NAME_OUTPUTS])) {
        if (!name_find(collector->plan, read.parts + 1, read.part_count - 1, &read.step, &read.name_count)) {
            read.step = STEP_NONE;
            condition->reads_all = true;
        }
    }
    condition->reads = arena_grow(&collector->set->arena, condition->reads, sizeof read, condition->read_count,
                                  &collector->capacity);
    condition->reads[condition->read_count++] = read;
}

static bool collect_term(void *context, RegoTerm **place)
{
    RegoTerm *term = *place;
    if (term->kind == REGO_TERM_VAR) add_read(context, term, NULL, 0);
    if (term->kind != REGO_TERM_REF || term->items[0]->kind != REGO_TERM_VAR) return true;
    add_read(context, term->items[0], (const RegoTerm *const *)term->items + 1, term->count - 1);
    RegoWalk inner = { .context = context, .term = collect_term };
    for (uint32_t i = 1; i < term->count; i++) rego_walk_term(&inner, &term->items[i]);
    return false;
}

static Status compile_one(ConditionSet *set, const Plan *plan, uint32_t index, Error *err)
{
    Str text = plan->terms->conditions[index].text;
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &scratch);
    RegoBody body;
    RegoParseOptions options = { .keywords = REGO_KEYWORDS_CONDITION };
    Status status = rego_parse_query(&scratch, text, &options, &body, &errors);
    if (!status) {
        Collector collector = { .set = set, .condition = &set->conditions[index], .plan = plan };
        RegoWalk walk = { .context = &collector, .term = collect_term };
        rego_walk_body(&walk, &body);
        status = rego_query_prepare(set->policy, text,
                                    &(RegoQueryOptions){ .capture = true, .names = names, .name_count = NAME_COUNT,
                                                         .keywords = REGO_KEYWORDS_CONDITION },
                                    &set->conditions[index].query, &errors);
    }
    if (status)
        status = error_set(err, ERR_CORRUPT, "the condition '%.*s' of the plan does not compile: %.*s", STR_ARG(text),
                           STR_ARG(errors.count ? errors.items[0].text : STR("no reason given")));
    arena_deinit(&scratch);
    return status;
}

Status condition_set_make(const Plan *plan, ConditionSet **out_set, Error *err)
{
    ConditionSet *set = calloc(1, sizeof *set);
    CHECK(set);
    arena_init(&set->arena, SIZE_MAX);
    set->count = plan->terms->condition_count;
    set->conditions = ARENA_ARRAY(&set->arena, Condition, set->count + 1);
    RegoErrors errors;
    rego_errors_init(&errors, &set->arena);
    CHECK(rego_compile(NULL, 0, value_null(), NULL, &set->policy, &errors) == OK);
    for (uint32_t i = 0; i < set->count; i++) {
        Status status = compile_one(set, plan, i, err);
        if (status) {
            condition_set_free(set);
            return status;
        }
    }
    *out_set = set;
    return OK;
}

void condition_set_free(ConditionSet *set)
{
    if (!set) return;
    for (uint32_t i = 0; i < set->count; i++) rego_query_free(set->conditions[i].query);
    rego_policy_free(set->policy);
    arena_deinit(&set->arena);
    free(set);
}

/* --- ask ------------------------------------------------------------------------------------------------------------- */

typedef struct Asking {
    const ConditionAsk *ask;
    const ConditionReader *reader;
    Arena *arena;
    ConditionResult *out;
} Asking;

/* outputs.job.task beside outputs.task: an object of objects, grown one output at a time. */
static Value put_in(Arena *arena, Value object, const Str *path, uint32_t count, Value value)
{
    if (!count) return value;
    const Value *inside = value_get(object, path[0]);
    Value inner = put_in(arena, inside ? *inside : value_null(), path + 1, count - 1, value);
    uint32_t old = object.kind == VALUE_OBJECT ? object.count : 0;
    Member *members = ARENA_ARRAY(arena, Member, old + 1);
    for (uint32_t i = 0; i < old; i++) members[i] = object.members[i];
    members[old] = (Member){ value_string(path[0]), inner };
    return value_object(arena, members, old + 1);           /* of equal keys the last one stays */
}

/* Under every name that a condition may use for it. */
static Value put_step(Asking *asking, Value outputs, uint32_t step, Value value)
{
    const Plan *plan = asking->ask->plan;
    uint32_t found, used;
    if (step >= plan->step_count) {                         /* of a pause */
        const Str *trigger = &plan->terms->steps[plan->terms->pauses[step - plan->step_count]].pause.trigger;
        bool is_found = name_find(plan, trigger, 1, &found, &used) && found == step;
        return is_found ? put_in(asking->arena, outputs, trigger, 1, value) : outputs;
    }
    const PlanStep *info = &plan->steps[step];
    if (info->job != PLAN_NONE)
        outputs = put_in(asking->arena, outputs, (Str[]){ plan->jobs[info->job].id, info->name }, 2, value);
    if (name_find(plan, &info->name, 1, &found, &used) && found == step)
        outputs = put_in(asking->arena, outputs, &info->name, 1, value);
    return outputs;
}

/* Whether a condition finds a value there. */
static bool has_value(const Run *run, uint32_t which)
{
    return which >= run->step_count ? run_value_at(run, which) != 0 : (run->steps[which].flags & STEP_HAS_OUTPUT) != 0;
}

static bool take_output(Asking *asking, uint32_t step, Value *out)
{
    if (asking->reader->output(asking->reader->context, asking->ask->run, step, out)) return true;
    asking->out->missing = step;
    return false;
}

static bool gather_outputs(Asking *asking, const Condition *condition, Value *out)
{
    const Run *run = asking->ask->run;
    *out = value_object(asking->arena, NULL, 0);
    Value value;
    if (condition->reads_all) {
        for (uint32_t i = 0; i < run_value_count(run); i++) {
            if (!has_value(run, i)) continue;
            if (!take_output(asking, i, &value)) return false;
            *out = put_step(asking, *out, i, value);
        }
        return true;
    }
    for (uint32_t i = 0; i < condition->read_count; i++) {
        const ConditionRead *read = &condition->reads[i];
        if (read->step == STEP_NONE || !has_value(run, read->step)) continue;
        if (!take_output(asking, read->step, &value)) return false;
        *out = put_in(asking->arena, *out, read->parts + 1, read->name_count, value);
    }
    return true;
}

/* The first path that leads nowhere, for the record of an undefined condition. */
static Str missing_path(Arena *arena, const Condition *condition, const Value *values)
{
    for (uint32_t i = 0; i < condition->read_count; i++) {
        const ConditionRead *read = &condition->reads[i];
        uint32_t name = 0;
        while (name < NAME_COUNT && !str_is(read->parts[0], names[name])) name++;
        if (name == NAME_COUNT) continue;
        const Value *at = &values[name];
        for (uint32_t part = 1; at && part < read->part_count; part++)
            at = rego_is_defined(*at) ? value_get(*at, read->parts[part]) : NULL;
        if (at && rego_is_defined(*at)) continue;
        Str text = read->parts[0];
        for (uint32_t part = 1; part < read->part_count; part++)
            text = arena_format(arena, "%.*s.%.*s", STR_ARG(text), STR_ARG(read->parts[part]));
        return text;
    }
    return (Str){ 0 };
}

static ConditionAnswer judge(const RegoResult *result, ConditionResult *out)
{
    if (!result->count) return CONDITION_UNDEFINED;
    for (uint32_t i = 0; i < result->count; i++) {
        const RegoAnswer *answer = &result->answers[i];
        bool holds = true;
        for (uint32_t j = 0; j < answer->expression_count; j++) {
            Value value = answer->expressions[j].value;
            if (value.kind == VALUE_BOOL && !value.count) holds = false;
        }
        if (i == 0 && answer->expression_count) out->value = answer->expressions[0].value;
        if (holds) return CONDITION_TRUE;
    }
    return CONDITION_FALSE;
}

ConditionAnswer condition_ask(const ConditionSet *set, const ConditionAsk *ask, const ConditionReader *reader, Arena *arena,
                              ConditionResult *out)
{
    const Condition *condition = &set->conditions[ask->condition];
    *out = (ConditionResult){ .missing = STEP_NONE };
    Asking asking = { ask, reader, arena, out };
    Value values[NAME_COUNT], start;
    for (uint32_t i = 0; i < NAME_COUNT; i++) values[i] = rego_undefined();
    if (!reader->params(reader->context, ask->run, &start)) {
        out->missing = MISSING_PARAMS;
        return CONDITION_MISSING;
    }
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    if (params) values[NAME_PARAMS] = *params;
    if (ask->payload) values[NAME_PAYLOAD] = *ask->payload;
    else if (payload && payload->kind != VALUE_NULL) values[NAME_PAYLOAD] = *payload;
    if (ask->output) values[NAME_OUTPUT] = *ask->output;
    if (ask->step < ask->run->step_count && step_polls(&ask->plan->terms->steps[ask->step]))
        values[NAME_POLL] = poll_value(ask->plan, ask->run, ask->step, arena);
    values[NAME_RUN] = run_value(ask->plan, ask->run, ask->step, arena);
    if (!gather_outputs(&asking, condition, &values[NAME_OUTPUTS])) return CONDITION_MISSING;

    Arena working;
    arena_init(&working, SIZE_MAX);
    RegoEvalContext context = {
        .arena = &working, .strict = true, .values = values,
        .budget = { .step_count_max = CONDITION_STEP_COUNT_MAX, .size_max = CONDITION_EVAL_SIZE_MAX },
    };
    RegoResult result;
    RegoEvalError error;
    ConditionAnswer answer = CONDITION_ERROR;
    out->step_count = CONDITION_STEP_COUNT_MAX;             /* one that fails may have taken them all */
    if (rego_eval(condition->query, rego_undefined(), &context, &result, &error)) {
        out->text = arena_copy(arena, str_of(error.error.text));
    } else {
        out->step_count = result.step_count;
        answer = judge(&result, out);
        out->value = value_copy(arena, out->value);
        if (answer == CONDITION_UNDEFINED) out->text = missing_path(arena, condition, values);
    }
    arena_deinit(&working);
    return answer;
}
