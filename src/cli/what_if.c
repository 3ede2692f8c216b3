#include "cli/what_if.h"

#include <string.h>

#include "cli/human.h"
#include "cli/params_read.h"
#include "core/decide.h"
#include "value/schema.h"

typedef struct Surroundings { Arena *arena; Store *store; const Cell *row; } Surroundings;

static bool read_params(void *context, const Run *run, Value *out)
{
    const Surroundings *around = context;
    Error err;
    (void)run;
    return params_now(around->arena, around->store, around->row, out, &err) == OK;
}

static bool read_output(void *context, const Run *run, uint32_t which, Value *out)
{
    const Surroundings *around = context;
    const Cell *step = NULL;
    Error err;
    if (which >= run->step_count) return false;             /* payloads of pauses: no decision on a failure looks at them */
    QueryAsk ask = { .query = QUERY_STEP_RUN, .param_count = 2,
                     .params = { around->row[RUNS_run_no], cell_int((int64_t)run->steps[which].number - 1) } };
    if (row_select(around->arena, around->store, &ask, &step, &err)) return false;
    *out = step ? payload_or_null(around->arena, around->store, &step[STEP_RUNS_output_at]) : value_null();
    return true;
}

static Verdict allow(void *context, Hook hook, const Plan *plan, const Run *run, uint32_t step, Value input)
{
    (void)context, (void)hook, (void)plan, (void)run, (void)step, (void)input;
    return (Verdict){ .kind = VERDICT_ALLOW };
}

static Status check_schema(void *context, const Plan *plan, Value schema, Value instance, Error *err)
{
    const Surroundings *around = context;
    const Schema *compiled;
    (void)plan;
    Status status = schema_compile(around->arena, schema, &compiled, NULL, err);
    return status ? status : schema_require(compiled, instance, around->arena, err);
}

static void take_nothing(void *context, const Observation *observation)
{
    (void)context, (void)observation;
}

Status what_if_open(Follow *follow, Store *store, const Cell *row, Error *err)
{
    Status status = follow_open(follow, store, row, /* has_logs= */ false, err);
    for (uint32_t count = 1; !status && count;) status = follow_look(follow, take_nothing, NULL, &count, err);
    return status;
}

Status what_if(Arena *arena, const Follow *follow, const Cell *row, const Plan *target, const Command *command, Error *err)
{
    Surroundings around = { arena, follow->store, row };
    DecideEnv env = { .context = &around, .params = read_params, .output = read_output, .verdict = allow, .schema = check_schema };
    Command asked = *command;
    if (memcmp(&target->digest, &follow->plan.digest, sizeof target->digest) != 0) asked.before = &follow->plan;
    Decision decision;
    decision_init(&decision, arena);
    return decide(&env, target, &follow->replay.run, &asked, human_now_ms(), &decision, err);
}
