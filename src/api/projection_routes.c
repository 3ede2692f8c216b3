/* projection_routes.c - how much longer an execution will take and what it will cost, and by what that is said. */
#include <inttypes.h>

#include "api/aside.h"
#include "api/graph.h"
#include "api/routes.h"
#include "base/limits.h"
#include "core/terms.h"
#include "value/number.h"
#include "view/forecast.h"

typedef struct Past {
    uint32_t run_count;
    int64_t took_ms[FORECAST_RUN_COUNT_MAX], cost_micro[FORECAST_RUN_COUNT_MAX];
    int64_t *step_ms;               /* of each step FORECAST_RUN_COUNT_MAX places ... */
    uint32_t *step_counts;          /* ... of which so many are used */
} Past;

/* Millionths as an exact number. */
static Value money(Call *call, int64_t micro)
{
    Arena *arena = &call->arena;
    return number_make(arena, arena_format(arena, "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000));
}

static int64_t int_of(const Cell *cell) { return cell->kind == CELL_INT ? cell->integer : 0; }

/* What the steps of one that went well took. */
static Status read_steps(Call *call, const Cell *run, const Map *ids, Past *past, Error *err)
{
    StepRows rows;
    Status status = run_steps(&call->arena, call->api->store, run, &rows, err);
    for (size_t i = 0; !status && i < rows.count; i++) {
        const Cell *step = rows.rows[i];
        uint32_t index;
        bool has_times = step[STEP_RUNS_started_ms].kind == CELL_INT && step[STEP_RUNS_finished_ms].kind == CELL_INT;
        if (step_row_state(step) != STEP_SUCCEEDED || !has_times || !map_find(ids, step[STEP_RUNS_step_key].text, &index)) continue;
        if (past->step_counts[index] == FORECAST_RUN_COUNT_MAX) continue;
        past->step_ms[index * FORECAST_RUN_COUNT_MAX + past->step_counts[index]++] =
            step[STEP_RUNS_finished_ms].integer - step[STEP_RUNS_started_ms].integer;
    }
    return status;
}

static Status read_past(Call *call, const Cell *row, const Graph *graph, Past *past, Error *err)
{
    StepRows runs;
    uint32_t step_count = graph->plan->step_count;
    QueryAsk ask = { .query = QUERY_RUNS_OF_REVISION, .param_count = 6, .row_count_max = FORECAST_RUN_COUNT_MAX,
                     .params = { row[RUNS_tenant], row[RUNS_definition_key], row[RUNS_definition_version], cell_int(INT64_MAX),
                                 cell_int(INT64_MAX), cell_text(str_of(run_state_stored(RUN_SUCCEEDED))) } };
    past->step_ms = ARENA_ARRAY(&call->arena, int64_t, (size_t)step_count * FORECAST_RUN_COUNT_MAX + 1u);
    past->step_counts = ARENA_ARRAY(&call->arena, uint32_t, step_count + 1u);
    Status status = row_select_all(&call->arena, call->api->store, &ask, &runs, err);
    for (size_t i = 0; !status && i < runs.count; i++) {
        const Cell *run = runs.rows[i];
        if (run[RUNS_run_no].integer == row[RUNS_run_no].integer || run[RUNS_archived_to].kind == CELL_TEXT) continue;
        past->took_ms[past->run_count] = int_of(&run[RUNS_completed_ms]) - int_of(&run[RUNS_started_ms]);
        past->cost_micro[past->run_count] = int_of(&run[RUNS_cost_micro]);
        if ((i + 1) * step_count <= FORECAST_ROW_COUNT_MAX || i == 0) status = read_steps(call, run, &graph->ids, past, err);
        past->run_count++;
    }
    return status;
}

/* What an hour of whoever offers its runner costs; of one that has begun, of whoever has it. */
static int64_t hour_of(const Call *call, Str tenant, const PlanStep *step, const Cell *row)
{
    CatalogEntry offer;
    bool is_offered = catalog_offer(call->api->catalog, step->runner, tenant, &offer);
    Str name = row && row[STEP_RUNS_executor].kind == CELL_TEXT ? row[STEP_RUNS_executor].text : is_offered ? offer.origin : (Str){ 0 };
    const Value *executor = call->api->catalog->executors.kind == VALUE_OBJECT ? value_get(call->api->catalog->executors, name) : NULL;
    return executor ? value_get_int(*executor, "cost_micro", 0) : 0;
}

static Forecast forecast_now(Call *call, const Graph *graph, const Past *past)
{
    const Plan *plan = graph->plan;
    ForecastStep *steps = ARENA_ARRAY(&call->arena, ForecastStep, plan->step_count + 1u);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const Cell *row = graph->rows[i];
        StepState state = row ? step_row_state(row) : STEP_QUEUED;
        bool is_under_way = row && !step_state_is_final(state) && row[STEP_RUNS_started_ms].kind == CELL_INT;
        steps[i] = (ForecastStep){
            .is_over = row && state != STEP_SUPERSEDED && step_state_is_final(state) && state != STEP_FAILED && state != STEP_TIMED_OUT,
            .elapsed_ms = is_under_way ? call->now_ms - row[STEP_RUNS_started_ms].integer : 0,
            .usual_ms = forecast_median(&past->step_ms[i * FORECAST_RUN_COUNT_MAX], past->step_counts[i]),
            .hour_micro = hour_of(call, plan->tenant, &plan->steps[i], row) };
    }
    return forecast_of(plan, steps, &call->arena);
}

static Value time_value(Call *call, int64_t ms)
{
    Cell cell = cell_int(ms);
    return cell_time(&call->arena, &cell);
}

static Value latency_value(Call *call, const Cell *row, const Forecast *forecast, Past *past)
{
    MemberList members = { .arena = &call->arena };
    bool is_over = row_is_settled(row), is_known = past->run_count && !is_over;
    int64_t began_ms = int_of(&row[RUNS_started_ms]), end_ms = is_over ? int_of(&row[RUNS_completed_ms]) : call->now_ms;
    add_member(&members, "elapsedMs", value_int(end_ms > began_ms ? end_ms - began_ms : 0));
    add_member(&members, "remainingMs", is_over ? value_int(0) : is_known ? value_int(forecast->left_ms) : value_null());
    add_member(&members, "expectedEndAt",
               is_over ? time_value(call, end_ms)
                       : is_known ? time_value(call, end_ms + forecast->left_ms) : value_null());
    add_member(&members, "usualMs", past->run_count ? value_int(forecast_median(past->took_ms, past->run_count)) : value_null());
    add_member(&members, "deadlineAt", cell_value(&row[RUNS_deadline_at]));
    add_member(&members, "stepsLeft", value_int(is_over ? 0 : forecast->left_count));
    add_member(&members, "stepsUnknown", value_int(is_over ? 0 : forecast->unknown_count));
    return member_list_object(&members);
}

static Value cost_value(Call *call, const Cell *row, const Plan *plan, const Forecast *forecast, Past *past)
{
    MemberList members = { .arena = &call->arena };
    int64_t spent = int_of(&row[RUNS_cost_micro]), usual = past->run_count ? forecast_median(past->cost_micro, past->run_count) : 0;
    bool is_over = row_is_settled(row), is_usual = !is_over && usual > 0, is_declared = !is_over && !is_usual && forecast->left_micro > 0;
    int64_t expected = is_usual && usual > spent ? usual : is_declared ? spent + forecast->left_micro : spent;
    bool has_limit = plan->terms->has_cost_max;
    add_member(&members, "spent", money(call, spent));
    add_member(&members, "limit", has_limit ? money(call, plan->terms->cost_max_micro) : value_null());
    add_member(&members, "projected", money(call, expected));
    add_member(&members, "basis",
               value_string(is_over ? STR("reported") : is_usual ? STR("earlier-executions")
                                    : is_declared ? STR("declared-prices") : STR("reported")));
    add_member(&members, "exceedsLimit", value_bool(has_limit && expected > plan->terms->cost_max_micro));
    return member_list_object(&members);
}

static const char method[] =
    "Time: the longest way through the steps that have not ended, each with the median of what it took in earlier executions of this "
    "revision that succeeded; of a step under way what is missing of that. Waiting for people, signals and polls is not in it. Cost: "
    "what attempts reported so far; projected is the median of what earlier executions cost in all, or, where none reported a cost, "
    "what is spent and the declared price of executors for the time that is left.";

static void project(Call *call)
{
    const Cell *row = call->state;
    Graph graph;
    Error err;
    Past *past = ARENA_NEW(&call->arena, Past);
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    if (!graph_read(call, row, &graph)) return;
    if (read_past(call, row, &graph, past, &err)) {
        call_error(call, &err);
        return;
    }
    Forecast forecast = forecast_now(call, &graph, past);
    add_member(&members, "executionId", cell_value(&row[RUNS_id]));
    add_member(&members, "latency", latency_value(call, row, &forecast, past));
    add_member(&members, "cost", cost_value(call, row, graph.plan, &forecast, past));
    add_member(&members, "sampleCount", value_int(past->run_count));
    add_member(&members, "method", value_string(str_of(method)));
    add_member(&links, "self", api_link(call, "%.*s", STR_ARG(call->path)));
    add_member(&links, "execution", api_link(call, "/api/executions/%.*s", STR_ARG(row[RUNS_id].text)));
    add_member(&members, "_links", member_list_object(&links));
    call_value(call, 200, member_list_object(&members));
}

/* Its plan is read, and the steps of what ran before it. */
void route_execution_projection(Call *call)
{
    const Cell *row;
    if (!api_execution(call, &row)) return;
    call->state = (void *)row;
    aside_begin(call, project, /* done= */ NULL);
}
