#include "engine/house.h"

#include <string.h>

#include "harness/test.h"
#include "lang/compile.h"
#include "ledger/record.h"
#include "store/memory/memory_store.h"
#include "value/json.h"

static bool house_execute(Executor *executor, const Attempt *attempt)
{
    House *house = (House *)executor;
    if (house->taken_count == TAKEN_MAX) return false;
    house->keys[house->taken_count] = arena_copy(&house->arena, attempt->key);
    house->taken[house->taken_count++] = attempt->id;
    return true;
}

static void house_executor_end(Executor *executor, const AttemptId *id)
{
    House *house = (House *)executor;
    if (house->ended_count < TAKEN_MAX) house->ended[house->ended_count++] = *id;
}

static void house_executor_close(Executor *executor) { (void)executor; }
static const ExecutorOps house_ops = { .execute = house_execute, .end = house_executor_end, .close = house_executor_close };

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    (void)tenant;
    *out = (RunnerOffer){ .executor = &((House *)context)->port, .settings = value_null() };
    return str_is_text(runner, "noop");
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    House *house = context;
    for (size_t i = 0; i < size; i++) {
        house->chance = house->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(house->chance >> 56);
    }
}

void house_turns(House *house)
{
    for (int i = 0; i < 40; i++) engine_turn(house->engine, &(EngineClock){ house->now_ms, house->now_ms });
}

void house_own(House *house)
{
    Error err;
    EngineOptions options = { .store = house->store, .log = 1, .executors = house->executors, .executor_count = 1,
                              .runner = find_runner, .random = chance, .context = house, .quotas = house->quotas,
                              .quota_count = house->quota_count };
    EXPECT_OK(engine_open(&options, &(EngineClock){ house->now_ms, house->now_ms }, &house->engine, &err), &err);
    house_turns(house);
}

void house_open(House *house)
{
    memset(house, 0, sizeof *house);
    house->store = memory_store_new(NULL);
    house->port = (Executor){ .ops = &house_ops, .name = STR("here"), .kind = STR("native") };
    house->executors[0] = &house->port;
    house->now_ms = 1800000000000;
    arena_init(&house->arena, SIZE_MAX);
    house_own(house);
}

void house_close(House *house)
{
    engine_close(house->engine);
    store_close(house->store);
    arena_deinit(&house->arena);
}

/* The process is killed, and its attempts with it. */
void house_kill_owner(House *house)
{
    engine_close(house->engine);
    house->reported = house->taken_count;
    house_own(house);
}

static void take_reply(void *context, const EngineReply *reply)
{
    House *house = context;
    house->reply = *reply;
    house->reply.error = NULL;
    house->why[0] = '\0';
    if (reply->error) memcpy(house->why, reply->error->text, sizeof house->why - 1);
}

bool house_ask_start(House *house, const char *text, EngineStart start)
{
    Catalog catalog;
    Compiled compiled;
    Buf document;
    Error err;
    catalog_init(&catalog, &house->arena);
    compile(&house->arena, str_of(text), &(CompileOptions){ .file = STR("t.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    if (!EXPECT(compiled.is_valid)) return false;
    buf_init(&document, SIZE_MAX);
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(house->engine, buf_peek(&document), &start.plan, &err), &err);
    buf_deinit(&document);
    if (!start.tenant.len) start.tenant = compiled.plan.tenant;
    start.reply = take_reply;
    start.context = house;
    start.command.actor = STR("user:test");
    bool is_taken = engine_start(house->engine, &start);
    house_turns(house);
    return is_taken;
}

/* Its number. */
uint64_t house_start(House *house, const char *text)
{
    EXPECT(house_ask_start(house, text, (EngineStart){ 0 }));
    return house->reply.run_no;
}

Status house_command(House *house, uint64_t run_no, Command wish, const char *value)
{
    Error err;
    wish.value = value_null();
    if (value) EXPECT_OK(json_parse(&house->arena, str_of(value), &wish.value, &err), &err);
    if (!wish.actor.len) wish.actor = STR("user:test");
    EXPECT(engine_request(house->engine, &(EngineRequest){ .run_no = run_no, .command = wish, .reply = take_reply, .context = house }));
    house_turns(house);
    return house->reply.status;
}

/* The oldest attempt that has not reported does so. */
void house_report(House *house, Cause cause, const char *output)
{
    Error err;
    if (!EXPECT(house->reported < house->taken_count)) return;
    Notice notice = { .kind = NOTICE_REPORT, .id = house->taken[house->reported++], .report = { .cause = cause, .output = value_null() } };
    if (cause) notice.report.message = STR("broken");
    if (output) EXPECT_OK(json_parse(&house->arena, str_of(output), &notice.report.output, &err), &err);
    engine_notice(house->engine, &notice);
    house_turns(house);
}

void house_wait(House *house, int64_t ms)
{
    house->now_ms += ms;
    house_turns(house);
}


typedef struct Search { uint64_t run_no; EventKind kind; uint32_t count; uint64_t sort; Arena arena; } Search;

static bool search_record(void *context, const Cell *cells, uint32_t count)
{
    Search *search = context;
    Record record;
    Error err;
    (void)count;
    if (cells[LEDGER_run_no].kind == CELL_NULL || (uint64_t)cells[LEDGER_run_no].integer != search->run_no) return true;
    arena_reset(&search->arena);
    EXPECT_OK(record_decode(&search->arena, cells[LEDGER_record].text, &record, &err), &err);
    for (uint32_t i = 0; i < record.event_count; i++) {
        if (record.events[i].kind != search->kind) continue;
        search->count++;
        search->sort = record.events[i].sort;
    }
    return true;
}

static Search search(House *house, uint64_t run_no, EventKind kind)
{
    Search search = { .run_no = run_no, .kind = kind };
    Error err;
    arena_init(&search.arena, SIZE_MAX);
    EXPECT_OK(store_select(house->store, &(QueryAsk){ .query = QUERY_RECORDS, .params = { cell_int(0) }, .param_count = 1,
                                                      .row_count_max = UINT32_MAX }, search_record, &search, &err), &err);
    arena_deinit(&search.arena);
    return search;
}

uint32_t house_count(House *house, uint64_t run_no, EventKind kind) { return search(house, run_no, kind).count; }
uint64_t house_last_sort(House *house, uint64_t run_no, EventKind kind) { return search(house, run_no, kind).sort; }

typedef struct Row { char state[32], trigger[32]; } Row;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Row *row = context;
    (void)count;
    const Cell *state = &cells[RUNS_state], *trigger = &cells[RUNS_awaiting_trigger_key];
    memcpy(row->state, state->text.ptr, state->text.len < 31 ? state->text.len : 31);
    if (trigger->kind != CELL_NULL) memcpy(row->trigger, trigger->text.ptr, trigger->text.len < 31 ? trigger->text.len : 31);
    return false;
}

void house_expect(House *house, uint64_t run_no, const char *state, const char *trigger)
{
    Row row = { 0 };
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    EXPECT_OK(store_select(house->store, &ask, take_row, &row, &err), &err);
    EXPECT_STR(str_of(row.state), str_of(state));
    EXPECT_STR(str_of(row.trigger), str_of(trigger));
}
