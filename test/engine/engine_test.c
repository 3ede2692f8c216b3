#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "lang/compile.h"
#include "store/memory/memory_store.h"

/* --- an executor that reports when it is told to -------------------------------------------------------------------------- */

typedef struct Fake {
    Executor port;
    AttemptId taken[4096];
    uint32_t taken_count, reported, ended;
    bool refuses;
} Fake;

static bool fake_execute(Executor *executor, const Attempt *attempt)
{
    Fake *fake = (Fake *)executor;
    if (fake->refuses) return false;
    fake->taken[fake->taken_count++] = attempt->id;
    return true;
}

static void fake_end(Executor *executor, const AttemptId *id)
{
    (void)id;
    ((Fake *)executor)->ended++;
}

static void fake_close(Executor *executor) { (void)executor; }

static const ExecutorOps fake_ops = { .execute = fake_execute, .end = fake_end, .close = fake_close };

/* --- a workshop ----------------------------------------------------------------------------------------------------------- */

typedef struct Bench {
    Store *store;
    Fake fake;
    Executor *executors[1];
    Engine *engine;
    int64_t now_ms;
    uint64_t chance;
    Arena arena;
    EngineReply reply;
    uint32_t reply_count;
} Bench;

static bool find_runner(void *context, Str tenant, Str runner, RunnerOffer *out)
{
    Bench *bench = context;
    (void)tenant;
    if (!str_is_text(runner, "noop") && !str_is_text(runner, "log")) return false;
    *out = (RunnerOffer){ .executor = &bench->fake.port, .settings = value_null() };
    return true;
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    Bench *bench = context;
    for (size_t i = 0; i < size; i++) {
        bench->chance = bench->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(bench->chance >> 56);
    }
}

static void open_engine(Bench *bench)
{
    Error err;
    EngineOptions options = { .store = bench->store, .log = 1, .executors = bench->executors, .executor_count = 1,
                              .runner = find_runner, .random = chance, .context = bench };
    EXPECT_OK(engine_open(&options, bench->now_ms, &bench->engine, &err), &err);
}

static void begin(Bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->store = memory_store_new(NULL);
    bench->fake.port = (Executor){ .ops = &fake_ops, .name = STR("fake"), .kind = STR("native") };
    bench->executors[0] = &bench->fake.port;
    bench->now_ms = 1800000000000;
    arena_init(&bench->arena, SIZE_MAX);
    open_engine(bench);
}

static void end(Bench *bench)
{
    engine_close(bench->engine);
    store_close(bench->store);
    arena_deinit(&bench->arena);
}

static void turns(Bench *bench)
{
    for (int i = 0; i < 50; i++) engine_turn(bench->engine, bench->now_ms);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Bench *bench = context;
    bench->reply = *reply;
    bench->reply.error = NULL;
    bench->reply_count++;
}

static void start(Bench *bench, const char *text)
{
    Catalog catalog;
    catalog_init(&catalog, &bench->arena);
    Compiled compiled;
    compile(&bench->arena, str_of(text), &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog },
            &compiled);
    EXPECT(compiled.is_valid);
    if (!compiled.is_valid) return;
    Buf document;
    buf_init(&document, SIZE_MAX);
    Error err;
    Digest digest;
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(bench->engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    EXPECT(engine_start(bench->engine, &(EngineStart){ .plan = digest, .tenant = STR("default"), .reply = take_reply,
                                                       .context = bench, .command.actor = STR("user:test") }));
    turns(bench);
}

/* Reports success for everything that is out and was not reported yet. */
static void report_all(Bench *bench)
{
    while (bench->fake.reported < bench->fake.taken_count) {
        Notice notice = { .kind = NOTICE_REPORT, .id = bench->fake.taken[bench->fake.reported++] };
        engine_notice(bench->engine, &notice);
        turns(bench);
    }
}

static bool take_state(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    Str *out = context, state = cells[RUNS_state].text;
    *out = (Str){ memcpy(malloc(state.len), state.ptr, state.len), state.len };
    return false;
}

static void expect_state(Bench *bench, uint64_t run_no, const char *state)
{
    Str got = { 0 };
    Error err;
    EXPECT_OK(store_select(bench->store, &(QueryAsk){ .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 },
                           take_state, &got, &err), &err);
    EXPECT_STR(got, str_of(state));
    free((char *)got.ptr);
}

#define CHAIN "workflow: chain\njobs:\n  a:\n    tasks:\n      - { name: one, run: noop }\n      - { name: two, run: noop }\n      - { name: three, run: noop }\n"

TEST(a_chain_runs_to_its_end, "proves: R-026 R-028")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    EXPECT_INT(bench.reply_count, 1);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.fake.taken_count, 1);
    expect_state(&bench, 1, "RUNNING");
    report_all(&bench);
    EXPECT_INT(bench.fake.taken_count, 3);
    expect_state(&bench, 1, "SUCCEEDED");
    EXPECT_INT(engine_stats(bench.engine).record_count, 4);
    EXPECT(engine_is_idle(bench.engine));
    end(&bench);
}

TEST(a_new_owner_goes_on_where_the_last_one_was, "proves: R-005 F-002")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    bench.fake.reported = 0;
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[bench.fake.reported++] };
    engine_notice(bench.engine, &notice);
    turns(&bench);
    EXPECT_INT(bench.fake.taken_count, 2);
    engine_close(bench.engine);                     /* killed while the second one is out */
    bench.fake.taken_count = bench.fake.reported = 0;
    open_engine(&bench);
    turns(&bench);
    EXPECT_INT(bench.fake.taken_count, 1);          /* the second one again, not the first */
    EXPECT_INT(bench.fake.taken[0].step, 1);
    EXPECT_INT(bench.fake.taken[0].attempt, 1);
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}

/* --- declared keys ---------------------------------------------------------------------------------------------------------- */

#define KEYED "workflow: keyed\njobs:\n  a: { tasks: [{ name: one, run: noop, idempotency: { strategy: dedupe-key, key: fixed, domain: d } }] }\n"

TEST(a_key_with_a_result_is_not_executed_again, "proves: F-059")
{
    Bench bench;
    begin(&bench);
    start(&bench, KEYED);
    EXPECT_INT(bench.fake.taken_count, 1);
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    start(&bench, KEYED);
    EXPECT_INT(bench.fake.taken_count, 1);
    expect_state(&bench, 2, "SUCCEEDED");
    end(&bench);
}

TEST(a_key_that_is_under_way_is_waited_for, "")
{
    Bench bench;
    begin(&bench);
    start(&bench, KEYED);
    start(&bench, KEYED);
    EXPECT_INT(bench.fake.taken_count, 1);          /* the second one waits */
    expect_state(&bench, 2, "RUNNING");
    report_all(&bench);
    EXPECT_INT(bench.fake.taken_count, 1);
    expect_state(&bench, 1, "SUCCEEDED");
    expect_state(&bench, 2, "SUCCEEDED");
    end(&bench);
}

TEST(a_key_whose_holder_failed_is_taken_by_the_next, "")
{
    Bench bench;
    begin(&bench);
    start(&bench, KEYED);
    start(&bench, KEYED);
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[bench.fake.reported++],
                      .report = { .cause = CAUSE_PERMANENT, .message = STR("broken") } };
    engine_notice(bench.engine, &notice);
    turns(&bench);
    expect_state(&bench, 1, "FAILED");
    EXPECT_INT(bench.fake.taken_count, 2);
    report_all(&bench);
    expect_state(&bench, 2, "SUCCEEDED");
    end(&bench);
}

/* --- starts with a key ------------------------------------------------------------------------------------------------------ */

#define STARTED "workflow: started\nidempotency_key: only-one\njobs:\n  a: { tasks: [{ name: one, run: noop }] }\n"

TEST(a_second_start_with_the_same_key_is_the_first_ones_run, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    start(&bench, STARTED);
    Id first = bench.reply.run_id;
    start(&bench, STARTED);
    EXPECT_INT(bench.reply_count, 2);
    EXPECT(bench.reply.is_repeat);
    EXPECT(memcmp(first.text, bench.reply.run_id.text, ID_SIZE) == 0);
    report_all(&bench);
    start(&bench, STARTED);                         /* after its end, too */
    EXPECT(bench.reply.is_repeat);
    EXPECT_INT(engine_stats(bench.engine).start_count, 1);
    end(&bench);
}

/* --- waiting ---------------------------------------------------------------------------------------------------------------- */

#define GATED "workflow: gated\njobs:\n  a: { tasks: [{ name: one, run: noop, wait_for_signal: { signal: go, when: before } }] }\n"

TEST(a_run_that_waits_leaves_memory_and_comes_back_by_its_signal, "proves: F-053")
{
    Bench bench;
    begin(&bench);
    start(&bench, GATED);
    expect_state(&bench, 1, "WAITING_SIGNAL");
    EXPECT_INT(engine_stats(bench.engine).run_count, 0);
    EXPECT(engine_request(bench.engine, &(EngineRequest){ .run_no = 1, .reply = take_reply, .context = &bench,
                                                          .command = { .kind = COMMAND_SIGNAL, .name = STR("go"),
                                                                       .sort = SIGNAL_APPROVAL, .value = value_null(),
                                                                       .report.output = value_null() } }));
    turns(&bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.fake.taken_count, 1);
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}

TEST(a_command_for_a_run_that_is_not_there_is_refused, "proves: F-084")
{
    Bench bench;
    begin(&bench);
    EXPECT(engine_request(bench.engine, &(EngineRequest){ .run_no = 7, .reply = take_reply, .context = &bench,
                                                          .command = { .kind = COMMAND_PAUSE, .value = value_null(),
                                                                       .report.output = value_null() } }));
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_NOT_FOUND);
    end(&bench);
}

/* --- a store that refuses ----------------------------------------------------------------------------------------------------- */

typedef struct Faults { uint64_t first, last; } Faults;

static MemoryFault refuse_some(void *context, bool is_read, uint64_t number)
{
    const Faults *faults = context;
    return !is_read && number >= faults->first && number <= faults->last ? MEMORY_FAULT_REFUSE : MEMORY_FAULT_NONE;
}

TEST(a_report_whose_commit_was_refused_is_decided_again, "proves: R-093")
{
    Bench bench;
    begin(&bench);
    engine_close(bench.engine);
    store_close(bench.store);
    Faults faults = { 2, 3 };
    bench.store = memory_store_new(&(MemoryOptions){ .fault = refuse_some, .context = &faults });
    open_engine(&bench);
    start(&bench, CHAIN);
    EXPECT_INT(bench.fake.taken_count, 1);
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[bench.fake.reported++] };
    engine_notice(bench.engine, &notice);
    turns(&bench);
    EXPECT_INT(engine_state(bench.engine), ENGINE_STALLED);
    EXPECT_INT(bench.fake.taken_count, 1);          /* nothing that rests on it has left */
    for (int i = 0; i < 10; i++) {
        bench.now_ms += 2000;
        turns(&bench);
    }
    EXPECT_INT(engine_state(bench.engine), ENGINE_RUNNING);
    EXPECT_INT(bench.fake.taken_count, 2);
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}
