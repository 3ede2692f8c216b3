/* run_provenance.c - what each output of a run came from. */
#include "ledger/provenance.h"
#include "view/run_history.h"

/* Of what a payload says, so that equal contents have equal digests; null where there is none, or it was erased. */
static Value payload_digest(const RunHistory *it, const Cell *at)
{
    Value value;
    Digest digest;
    Error err;
    if (payload_read(it->arena, it->store, at, &value, &err) || canonical_digest(value, &digest, &err)) return value_null();
    return digest_value(it->arena, &digest);
}

static const Cell *row_of(const RunHistory *it, uint32_t step)
{
    uint32_t number = it->replay.run.steps[step].number;
    return number && number <= it->steps.count ? it->steps.rows[number - 1] : NULL;
}

/* The steps whose outputs the step reads, or that it follows. */
static Value inputs_of(const RunHistory *it, uint32_t step)
{
    ValueList inputs = { .arena = it->arena };
    for (uint32_t from = 0; from < it->plan.step_count; from++) {
        const PlanStep *source = &it->plan.steps[from];
        for (uint32_t e = source->edge_first; e < source->edge_first + source->edge_count; e++) {
            if (it->plan.edges[e].to != step) continue;
            const Cell *row = row_of(it, from);
            MemberList input = { .arena = it->arena };
            if (!row || row[STEP_RUNS_output_at].kind != CELL_INT) continue;
            member_list_add(&input, STR("step"), value_string(source->id));
            member_list_add(&input, STR("reads"), value_bool(it->plan.edges[e].kind == EDGE_DATA));
            member_list_add(&input, STR("digest"), payload_digest(it, &row[STEP_RUNS_output_at]));
            value_list_add(&inputs, member_list_object(&input));
        }
    }
    return value_list_array(&inputs);
}

static Value output_value(const RunHistory *it, uint32_t step, const Cell *row)
{
    MemberList members = { .arena = it->arena };
    uint32_t number = it->replay.run.steps[step].number;
    const HistoryAttempt *attempt = history_find(&it->history, number, (uint32_t)row[STEP_RUNS_attempt].integer);
    member_list_add(&members, STR("step"), value_string(it->plan.steps[step].id));
    member_list_add(&members, STR("resultId"), cell_value(&row[STEP_RUNS_id]));
    member_list_add(&members, STR("output"), payload_digest(it, &row[STEP_RUNS_output_at]));
    member_list_add(&members, STR("record"), cell_value(&row[STEP_RUNS_output_at]));
    member_list_add(&members, STR("runner"), value_string(it->plan.steps[step].runner));
    member_list_add(&members, STR("executor"), cell_value(&row[STEP_RUNS_executor]));
    member_list_add(&members, STR("attempt"), cell_value(&row[STEP_RUNS_attempt]));
    member_list_add(&members, STR("policies"), digest_value(it->arena, attempt ? &attempt->policy : &it->history.policy));
    member_list_add(&members, STR("decisions"), attempt ? value_list_array(&attempt->verdicts) : value_array(NULL, 0));
    member_list_add(&members, STR("input"), payload_digest(it, &row[STEP_RUNS_input_at]));
    member_list_add(&members, STR("inputs"), inputs_of(it, step));
    return member_list_object(&members);
}

Value run_provenance_value(const RunHistory *it)
{
    MemberList members = { .arena = it->arena }, revision = { .arena = it->arena };
    ValueList outputs = { .arena = it->arena };
    const Cell *row = it->row;
    member_list_add(&revision, STR("namespace"), cell_value(&row[RUNS_tenant]));
    member_list_add(&revision, STR("workflowId"), cell_value(&row[RUNS_definition_key]));
    member_list_add(&revision, STR("version"), cell_value(&row[RUNS_definition_version]));
    member_list_add(&revision, STR("digest"), digest_value(it->arena, &it->plan.digest));
    for (uint32_t i = 0; i < it->plan.step_count; i++) {
        const Cell *step = row_of(it, i);
        if (step && step[STEP_RUNS_output_at].kind == CELL_INT) value_list_add(&outputs, output_value(it, i, step));
    }
    member_list_add(&members, STR("executionId"), cell_value(&row[RUNS_id]));
    member_list_add(&members, STR("revision"), member_list_object(&revision));
    member_list_add(&members, STR("parameters"), payload_digest(it, &row[RUNS_params_at]));
    member_list_add(&members, STR("policies"), digest_value(it->arena, &it->history.policy));
    member_list_add(&members, STR("source"), cell_value(&row[RUNS_source]));
    member_list_add(&members, STR("outputs"), value_list_array(&outputs));
    member_list_add(&members, STR("decisions"), value_list_array(&it->history.decisions));
    member_list_add(&members, STR("graph"), provenance_graph(it->arena, &it->plan, &it->replay.run));
    return member_list_object(&members);
}
