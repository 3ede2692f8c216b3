#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/house.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "ledger/record.h"
#include "store/memory/memory_store.h"
#include "value/json.h"

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

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
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
    EXPECT_OK(engine_open(&options, &(EngineClock){ bench->now_ms, bench->now_ms }, &bench->engine, &err), &err);
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
    for (int i = 0; i < 50; i++) engine_turn(bench->engine, &(EngineClock){ bench->now_ms, bench->now_ms });
}

static void take_reply(void *context, const EngineReply *reply)
{
    Bench *bench = context;
    bench->reply = *reply;
    bench->reply.error = NULL;
    bench->reply_count++;
}

static void send_start(Bench *bench, const char *text, const StartRequest *request, const char *id)
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
    EXPECT(engine_start(bench->engine, &(EngineStart){ .plan = digest, .tenant = compiled.plan.tenant, .reply = take_reply, .request = *request,
                                                       .context = bench, .command = { .actor = STR("user:test"), .id = str_of(id) } }));
}

static void start(Bench *bench, const char *text)
{
    send_start(bench, text, &(StartRequest){ 0 }, "");
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

#define CHAIN \
    "workflow: chain\njobs:\n  a:\n    tasks:\n      - { name: one, run: noop }\n      - { name: two, run: noop }\n      - { name: three, run: noop }\n"

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
    EXPECT_INT(engine_stats(bench.engine).record_count, 3 + 4);         /* of the log: its owner, a revision, that it is active; of the run */
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

#define PERSON "workflow: person\nparams: [{ name: who, type: string, default: Ana }, { name: age, type: integer, required: false }]\njobs:\n" \
               "  a: { tasks: [{ name: one, run: noop }] }\n"

static StartRequest start_of(Bench *bench, const char *params)
{
    Error err;
    StartRequest request = { .key = STR("k"), .params = value_null() };
    if (params) EXPECT_OK(json_parse(&bench->arena, str_of(params), &request.params, &err), &err);
    return request;
}

static void expect_other_start(Bench *bench, const Id *first, uint32_t reply_count)
{
    EXPECT_INT(bench->reply_count, reply_count);
    EXPECT_INT(bench->reply.status, ERR_CONFLICT);
    EXPECT(bench->reply.is_other_start && !bench->reply.is_repeat);
    EXPECT(memcmp(first->text, bench->reply.run_id.text, ID_SIZE) == 0);
}

TEST(a_key_of_a_run_with_other_parameters_is_refused_whether_that_is_durable_or_not, "proves: F-006 F-033")
{
    static const struct { const char *name, *params; bool is_other; } rows[] = {
        { "none are given: the default is meant", NULL, false },
        { "the same are given", "{\"who\":\"Ana\"}", false },
        { "another value", "{\"who\":\"Ben\"}", true },
        { "one more", "{\"age\":7}", true },
    };
    Bench bench;
    begin(&bench);
    send_start(&bench, PERSON, &(StartRequest){ .key = STR("k") }, "");
    StartRequest at_once = start_of(&bench, "{\"who\":\"Ben\"}");
    send_start(&bench, PERSON, &at_once, "");                       /* the first is not durable */
    turns(&bench);
    EXPECT_INT(engine_stats(bench.engine).start_count, 1);
    Id first = bench.reply.run_id;
    expect_other_start(&bench, &first, 2);
    uint32_t count = 2;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            ROW(rows[i].name);
            StartRequest request = start_of(&bench, rows[i].params);
            send_start(&bench, PERSON, &request, "");
            turns(&bench);
            count++;
            if (rows[i].is_other) expect_other_start(&bench, &first, count);
            else EXPECT(bench.reply.is_repeat && !bench.reply.status && memcmp(first.text, bench.reply.run_id.text, ID_SIZE) == 0);
        }
        report_all(&bench);                                         /* and after its end */
    }
    EXPECT_INT(engine_stats(bench.engine).start_count, 1);
    StartRequest again = start_of(&bench, "{\"who\":\"Ben\"}");
    again.is_again = true;
    send_start(&bench, PERSON, &again, "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT(memcmp(first.text, bench.reply.run_id.text, ID_SIZE) != 0);
    EXPECT_INT(engine_stats(bench.engine).start_count, 2);
    end(&bench);
}

TEST(that_a_key_has_a_run_with_other_parameters_is_an_answer_that_is_kept, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    StartRequest ana = start_of(&bench, "{\"who\":\"Ana\"}"), ben = start_of(&bench, "{\"who\":\"Ben\"}");
    send_start(&bench, PERSON, &ana, "s-1");
    turns(&bench);
    Id first = bench.reply.run_id;
    for (uint32_t i = 2; i < 4; i++) {
        send_start(&bench, PERSON, &ben, "s-2");
        turns(&bench);
        expect_other_start(&bench, &first, i);
    }
    end(&bench);
}

TEST(a_default_that_has_changed_since_is_no_other_start, "")
{
    static const char later[] = "workflow: person\nparams: [{ name: who, type: string, default: Eve }]\njobs:\n"
                                "  a: { tasks: [{ name: one, run: noop }] }\n";
    Bench bench;
    begin(&bench);
    StartRequest none = start_of(&bench, NULL), eve = start_of(&bench, "{\"who\":\"Eve\"}");
    send_start(&bench, PERSON, &none, "");
    turns(&bench);
    Id first = bench.reply.run_id;
    send_start(&bench, later, &none, "");
    turns(&bench);
    EXPECT(bench.reply.is_repeat && memcmp(first.text, bench.reply.run_id.text, ID_SIZE) == 0);
    send_start(&bench, later, &eve, "");
    turns(&bench);
    expect_other_start(&bench, &first, 3);
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

TEST(runs_that_wait_leave_memory_again_when_the_next_owner_has_read_them, "proves: F-053 F-115")
{
    House *house = calloc(1, sizeof *house);
    if (!EXPECT(house)) abort();
    house_open(house);
    uint64_t last = 0;
    for (int i = 0; i < 300; i++) last = house_start(house, GATED);
    uint64_t busy = house_start(house, "workflow: w\njobs:\n  a: { tasks: [{ run: noop, idempotency: replay-safe }] }\n");
    EXPECT_INT(engine_stats(house->engine).run_count, 1);
    house_kill_owner(house);
    house_turns(house);
    EXPECT_INT(engine_state(house->engine), ENGINE_RUNNING);
    EXPECT_INT(engine_stats(house->engine).run_count, 1);              /* the one that has something to do */
    EXPECT_INT(house_command(house, last, (Command){ .kind = COMMAND_SIGNAL, .name = STR("go"), .sort = SIGNAL_APPROVAL }, NULL), OK);
    house_report(house, CAUSE_NONE, NULL);
    house_report(house, CAUSE_NONE, NULL);
    house_expect(house, last, "SUCCEEDED", "");
    house_expect(house, busy, "SUCCEEDED", "");
    EXPECT_INT(engine_stats(house->engine).run_count, 0);
    house_close(house);
    free(house);
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

/* --- revisions ------------------------------------------------------------------------------------------------------------------ */

typedef struct Flags { uint32_t count, active; } Flags;

static bool take_flag(void *context, const Cell *cells, uint32_t count)
{
    Flags *flags = context;
    (void)count;
    flags->count++;
    if (cells[REVISIONS_active].integer) flags->active = flags->active ? UINT32_MAX : (uint32_t)cells[REVISIONS_version].integer;
    return true;
}

/* How many there are, and which one is active; UINT32_MAX for more than one. */
static Flags flags_of(Bench *bench, const char *workflow)
{
    Flags flags = { 0 };
    Error err;
    QueryAsk ask = { .query = QUERY_REVISIONS_OF_WORKFLOW, .param_count = 3,
                     .params = { cell_text(STR("default")), cell_text(str_of(workflow)), cell_int(INT64_MAX) } };
    EXPECT_OK(store_select(bench->store, &ask, take_flag, &flags, &err), &err);
    return flags;
}

static bool take_revision(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[RUNS_definition_version].integer;
    return false;
}

static int64_t revision_of(Bench *bench, uint64_t run_no)
{
    int64_t revision = -1;
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    EXPECT_OK(store_select(bench->store, &ask, take_revision, &revision, &err), &err);
    return revision;
}

static void revise(Bench *bench, uint32_t version, bool is_activation)
{
    EXPECT(engine_revise(bench->engine, &(EngineRevision){ .tenant = STR("default"), .workflow = STR("w"), .version = version,
                                                           .is_activation = is_activation, .reply = take_reply, .context = bench,
                                                           .command.actor = STR("user:test") }));
    turns(bench);
}

#define REVISION(label, task) "workflow: w\n" label "jobs:\n  a: { tasks: [{ name: " task ", run: noop }] }\n"

TEST(plans_of_a_workflow_are_its_revisions_without_a_gap, "proves: R-006 R-037")
{
    Bench bench;
    begin(&bench);
    static const char *const texts[] = { REVISION("", "one"), REVISION("", "two"), REVISION("", "one"), REVISION("", "three"),
                                         "workflow: v\njobs:\n  a: { tasks: [{ name: one, run: noop }] }\n" };
    static const int64_t want[] = { 1, 2, 1, 3, 1 };
    for (uint32_t i = 0; i < 5; i++) {
        start(&bench, texts[i]);
        EXPECT_INT(bench.reply.status, OK);
        EXPECT_INT(revision_of(&bench, i + 1), want[i]);
    }
    EXPECT_INT(flags_of(&bench, "w").count, 3);
    EXPECT_INT(flags_of(&bench, "w").active, 3);
    engine_close(bench.engine);
    open_engine(&bench);                            /* the next owner knows them from the store */
    start(&bench, texts[1]);
    EXPECT_INT(revision_of(&bench, 6), 2);
    EXPECT_INT(flags_of(&bench, "w").count, 3);
    EXPECT_INT(flags_of(&bench, "w").active, 2);
    end(&bench);
}

/* All that are asked for in one turn: each waits for the one before it. */
TEST(plans_that_are_new_at_once_get_numbers_of_their_own, "proves: R-037")
{
    Bench bench;
    begin(&bench);
    static const char *const tasks[] = { "one", "two", "three", "four", "two" };
    for (uint32_t i = 0; i < 5; i++) {
        Catalog catalog;
        Compiled compiled;
        Buf document;
        Digest digest;
        Error err;
        catalog_init(&catalog, &bench.arena);
        Str text = arena_format(&bench.arena, REVISION("", "%s"), tasks[i]);
        compile(&bench.arena, text, &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
        buf_init(&document, SIZE_MAX);
        EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
        EXPECT_OK(engine_plan_add(bench.engine, buf_peek(&document), &digest, &err), &err);
        buf_deinit(&document);
        EXPECT(engine_start(bench.engine, &(EngineStart){ .plan = digest, .tenant = compiled.plan.tenant, .reply = take_reply,
                                                          .context = &bench, .command.actor = STR("user:test") }));
    }
    turns(&bench);
    EXPECT_INT(bench.reply_count, 5);
    EXPECT_INT(flags_of(&bench, "w").count, 4);
    EXPECT(flags_of(&bench, "w").active != UINT32_MAX);
    uint32_t seen = 0;
    for (uint64_t run_no = 1; run_no <= 5; run_no++) seen |= 1u << revision_of(&bench, run_no);
    EXPECT_INT(seen, 0x1e);
    report_all(&bench);
    EXPECT(engine_is_idle(bench.engine));
    end(&bench);
}

TEST(a_label_with_other_content_starts_nothing, "proves: R-006")
{
    Bench bench;
    begin(&bench);
    start(&bench, REVISION("version: \"1.0\"\n", "one"));
    EXPECT_INT(bench.reply.status, OK);
    start(&bench, REVISION("version: \"1.0\"\n", "two"));
    EXPECT_INT(bench.reply.status, ERR_INVALID);
    EXPECT_INT(flags_of(&bench, "w").count, 1);
    EXPECT_INT(revision_of(&bench, 2), -1);
    start(&bench, REVISION("version: \"1.1\"\n", "two"));
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(revision_of(&bench, 2), 2);
    end(&bench);
}

TEST(a_deactivated_revision_is_not_started_until_it_is_activated, "proves: R-039")
{
    Bench bench;
    begin(&bench);
    start(&bench, REVISION("", "one"));
    start(&bench, REVISION("", "two"));
    revise(&bench, 1, true);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT(!bench.reply.is_noop);
    EXPECT_INT(flags_of(&bench, "w").active, 1);
    revise(&bench, 1, true);
    EXPECT(bench.reply.is_noop);
    revise(&bench, 1, false);
    EXPECT_INT(flags_of(&bench, "w").active, 0);
    for (uint32_t round = 0; round < 2; round++) {  /* this owner, and one that has to ask the store */
        ROW(round ? "the next owner" : "the owner that did it");
        start(&bench, REVISION("", "one"));
        EXPECT_INT(bench.reply.status, ERR_CONFLICT);
        start(&bench, REVISION("", "two"));
        EXPECT_INT(bench.reply.status, ERR_CONFLICT);
        EXPECT_INT(revision_of(&bench, 3), -1);
        engine_close(bench.engine);
        open_engine(&bench);
    }
    revise(&bench, 2, true);
    start(&bench, REVISION("", "two"));
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(revision_of(&bench, 3), 2);
    revise(&bench, 9, true);
    EXPECT_INT(bench.reply.status, ERR_NOT_FOUND);
    EXPECT_INT(flags_of(&bench, "w").active, 2);
    end(&bench);
}

static void count_statuses(void *context, const EngineReply *reply)
{
    uint32_t *counts = context;
    counts[reply->status]++;
    if (reply->is_stale) counts[STATUS_COUNT]++;
}

/* All of a row are asked for before any of them is decided, and have seen the same. */
TEST(of_changes_that_saw_the_same_revisions_one_alone_is_done, "proves: F-118 C-51 G-05")
{
    static const struct { const char *name; uint32_t versions[2]; bool is_activation; RevisionSeen seen; uint32_t ok, stale, active; } rows[] = {
        { "both were compared with none", { 1, 2 }, true, { .has_active = true }, 1, 0, 1 },
        { "both were compared with the active one", { 2, 3 }, true, { .has_active = true, .active = 1 }, 1, 0, 2 },
        { "both were compared with one that is not active any more", { 1, 3 }, true, { .has_active = true, .active = 1 }, 0, 0, 2 },
        { "who compares nothing has the last word", { 1, 3 }, true, { 0 }, 2, 0, 3 },
        { "both saw the flag", { 3, 3 }, false, { .has_flag = true, .is_active = true }, 1, 1, 0 },
        { "the flag is the same, and was changed since", { 3, 3 }, false, { .has_flag = true, .updated_ms = -1 }, 0, 2, 0 },
    };
    Bench bench;
    begin(&bench);
    start(&bench, REVISION("", "one"));
    start(&bench, REVISION("", "two"));
    start(&bench, REVISION("", "three"));
    revise(&bench, 3, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        uint32_t counts[STATUS_COUNT + 1] = { 0 };
        RevisionSeen seen = rows[i].seen;
        seen.updated_ms += bench.now_ms;            /* time stands still, and all was changed now */
        for (uint32_t k = 0; k < 2; k++)
            EXPECT(engine_revise(bench.engine, &(EngineRevision){ .tenant = STR("default"), .workflow = STR("w"), .version = rows[i].versions[k],
                                                                  .is_activation = rows[i].is_activation, .seen = seen,
                                                                  .reply = count_statuses, .context = counts, .command.actor = STR("user:test") }));
        turns(&bench);
        EXPECT_INT(counts[OK], rows[i].ok);
        EXPECT_INT(counts[ERR_CONFLICT], 2 - rows[i].ok);
        EXPECT_INT(counts[STATUS_COUNT], rows[i].stale);
        EXPECT_INT(flags_of(&bench, "w").active, rows[i].active);
    }
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
    Faults faults = { 3, 4 };                       /* the owner and the start are in the store */
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

typedef struct FullStore { bool is_full; uint32_t refused_count; } FullStore;

static MemoryFault refuse_while_full(void *context, bool is_read, uint64_t number)
{
    FullStore *store = context;
    (void)number;
    if (is_read || !store->is_full) return MEMORY_FAULT_NONE;
    store->refused_count++;
    return MEMORY_FAULT_REFUSE;
}

/* Who asked was told and nothing is left to commit: it is tried all the same. */
TEST(an_engine_is_stalled_until_a_commit_is_durable, "proves: F-084")
{
    Bench bench;
    begin(&bench);
    engine_close(bench.engine);
    store_close(bench.store);
    FullStore full = { 0 };
    bench.store = memory_store_new(&(MemoryOptions){ .fault = refuse_while_full, .context = &full });
    open_engine(&bench);
    turns(&bench);
    EXPECT(engine_is_ready(bench.engine));
    full.is_full = true;
    start(&bench, CHAIN);
    EXPECT_INT(bench.reply.status, ERR_UNAVAILABLE);
    for (int i = 0; i < 120; i++) {                 /* two minutes */
        bench.now_ms += 1000;
        turns(&bench);
        EXPECT_INT(engine_state(bench.engine), ENGINE_STALLED);
    }
    EXPECT(full.refused_count >= 4 && full.refused_count < 40);         /* ever more rarely */
    full.is_full = false;
    int64_t waited_ms = 0;
    for (; !engine_is_ready(bench.engine) && waited_ms < 60000; waited_ms += 1000) {
        bench.now_ms += 1000;
        turns(&bench);
    }
    EXPECT(engine_is_ready(bench.engine));
    EXPECT(waited_ms <= (int64_t)STORE_RETRY_MS << STORE_RETRY_SHIFT_MAX);
    EXPECT_INT(engine_stats(bench.engine).stall_count, 0);
    start(&bench, CHAIN);
    EXPECT_INT(bench.reply.status, OK);
    end(&bench);
}

static MemoryFault refuse_or_fence(void *context, bool is_read, uint64_t number)
{
    uint64_t fenced = *(uint64_t *)context;
    if (is_read || number < fenced) return MEMORY_FAULT_NONE;
    return number == fenced ? MEMORY_FAULT_FENCE : MEMORY_FAULT_REFUSE;
}

TEST(an_engine_whose_log_another_took_stays_so_whatever_else_fails, "")
{
    Bench bench;
    begin(&bench);
    engine_close(bench.engine);
    store_close(bench.store);
    uint64_t fenced = 3;                            /* the owner and the start are in the store; what follows is refused */
    bench.store = memory_store_new(&(MemoryOptions){ .fault = refuse_or_fence, .context = &fenced });
    open_engine(&bench);
    start(&bench, CHAIN);
    EXPECT_INT(bench.fake.taken_count, 1);
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[bench.fake.reported++] };
    engine_notice(bench.engine, &notice);
    engine_turn(bench.engine, &(EngineClock){ bench.now_ms, bench.now_ms });        /* one is on its way, and another behind it */
    EXPECT(engine_request(bench.engine, &(EngineRequest){ .run_no = 1, .reply = take_reply, .context = &bench,
                                                          .command = { .kind = COMMAND_PAUSE, .value = value_null(),
                                                                       .report.output = value_null() } }));
    for (int i = 0; i < 10; i++) {
        turns(&bench);
        bench.now_ms += 5000;
    }
    EXPECT_INT(engine_state(bench.engine), ENGINE_FENCED);
    EXPECT_INT(bench.fake.taken_count, 1);
    end(&bench);
}

TEST(while_the_store_cannot_be_written_who_asks_is_told_so_and_why, "proves: F-084")
{
    Bench bench;
    begin(&bench);
    engine_close(bench.engine);
    store_close(bench.store);
    Faults faults = { 3, 7 };
    bench.store = memory_store_new(&(MemoryOptions){ .fault = refuse_some, .context = &faults });
    open_engine(&bench);
    start(&bench, CHAIN);
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[bench.fake.reported++] };
    engine_notice(bench.engine, &notice);
    turns(&bench);
    EXPECT_INT(engine_state(bench.engine), ENGINE_STALLED);
    EXPECT_INT(engine_stats(bench.engine).stall_count, 1);
    uint32_t replies = bench.reply_count;
    EngineRequest pause = { .run_no = 1, .reply = take_reply, .context = &bench,
                            .command = { .kind = COMMAND_PAUSE, .value = value_null(), .report.output = value_null() } };
    EXPECT(engine_request(bench.engine, &pause));
    EXPECT(engine_due_ms(bench.engine) <= bench.now_ms);           /* its host need not wait until the store is tried again */
    turns(&bench);
    EXPECT_INT(bench.reply_count, replies + 1);
    EXPECT_INT(bench.reply.status, ERR_UNAVAILABLE);
    start(&bench, REVISION("", "other"));
    EXPECT_INT(bench.reply_count, replies + 2);
    EXPECT_INT(bench.reply.status, ERR_UNAVAILABLE);
    Str trouble = str_of(engine_trouble(bench.engine)->text);
    EXPECT_STR(str_slice(trouble, 0, 28), STR("the store cannot be written:"));
    int64_t waited_ms = 0;                          /* ever more rarely, and then it goes on */
    for (; engine_stats(bench.engine).stall_count && waited_ms < 100000; waited_ms += 500) {
        bench.now_ms += 500;
        turns(&bench);
    }
    EXPECT(waited_ms >= 1000 + 2000 + 4000);
    EXPECT(!engine_trouble(bench.engine));
    EXPECT_INT(bench.fake.taken_count, 2);          /* what was reported meanwhile was kept */
    EXPECT(engine_request(bench.engine, &pause));
    turns(&bench);
    EXPECT_INT(bench.reply.status, OK);
    end(&bench);
}

TEST(a_revision_whose_commit_was_refused_is_not_there, "proves: R-006")
{
    Bench bench;
    begin(&bench);
    engine_close(bench.engine);
    store_close(bench.store);
    Faults faults = { 2, 2 };                       /* the start; the owner is in the store */
    bench.store = memory_store_new(&(MemoryOptions){ .fault = refuse_some, .context = &faults });
    open_engine(&bench);
    start(&bench, REVISION("", "one"));
    EXPECT_INT(bench.reply.status, ERR_UNAVAILABLE);
    EXPECT_INT(flags_of(&bench, "w").count, 0);
    for (int i = 0; i < 10; i++) {
        bench.now_ms += 2000;
        turns(&bench);
    }
    start(&bench, REVISION("", "two"));
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(revision_of(&bench, bench.reply.run_no), 1);
    EXPECT_INT(flags_of(&bench, "w").count, 1);
    end(&bench);
}

/* --- requests with an id ------------------------------------------------------------------------------------------------------ */

static void ask(Bench *bench, CommandKind kind, const char *id, const char *reason)
{
    EXPECT(engine_request(bench->engine, &(EngineRequest){ .run_no = 1, .reply = take_reply, .context = bench,
                                                           .command = { .kind = kind, .id = str_of(id), .rationale = str_of(reason),
                                                                        .actor = STR("user:test"), .name = STR("note"),
                                                                        .value = value_null(), .report.output = value_null() } }));
}

static bool count_row(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    ++*(uint32_t *)context;
    return true;
}

static uint32_t count_rows(Bench *bench, const QueryAsk *query)
{
    uint32_t count = 0;
    Error err;
    EXPECT_OK(store_select(bench->store, query, count_row, &count, &err), &err);
    return count;
}

TEST(a_request_that_comes_again_gets_the_first_answer_and_does_nothing, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    ask(&bench, COMMAND_PAUSE, "p-1", "");
    ask(&bench, COMMAND_PAUSE, "p-1", "");          /* before the first is answered */
    turns(&bench);
    EXPECT_INT(bench.reply_count, 3);
    EXPECT_INT(bench.reply.status, OK);             /* a second pause would be a conflict */
    EXPECT_INT(bench.reply.run_state, RUN_PAUSED);
    uint64_t records = engine_stats(bench.engine).record_count;
    ask(&bench, COMMAND_RESUME, "r-1", "");
    turns(&bench);
    ask(&bench, COMMAND_PAUSE, "p-1", "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.reply.run_state, RUN_PAUSED);  /* as it was then */
    expect_state(&bench, 1, "RUNNING");
    EXPECT_INT(engine_stats(bench.engine).record_count, records + 1);
    engine_close(bench.engine);
    open_engine(&bench);                            /* and of the next owner */
    ask(&bench, COMMAND_PAUSE, "p-1", "");
    turns(&bench);
    EXPECT_INT(bench.reply_count, 6);
    EXPECT_INT(bench.reply.status, OK);
    expect_state(&bench, 1, "RUNNING");
    end(&bench);
}

TEST(an_id_that_was_given_to_another_request_is_refused, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    ask(&bench, COMMAND_PAUSE, "p-1", "");
    ask(&bench, COMMAND_PAUSE, "p-1", "for another reason");        /* while the first is not durable */
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_INVALID);
    EXPECT(bench.reply.is_other_request);
    ask(&bench, COMMAND_CANCEL, "p-1", "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_INVALID);
    EXPECT(bench.reply.is_other_request);
    expect_state(&bench, 1, "PAUSED");
    end(&bench);
}

TEST(a_request_is_another_one_by_each_of_its_terms, "proves: F-006")
{
    static const struct { const char *name; Command command; } rows[] = {
        { "another decision", { .kind = COMMAND_RESOLVE, .decision = DECISION_CANCEL } },
        { "another step", { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY_FROM_STEP, .name = { "two", 3 } } },
        { "another mode", { .kind = COMMAND_RESOLVE, .mode = COMPENSATE_THEN_RETRY } },
        { "another scope", { .kind = COMMAND_RESOLVE, .scope = SCOPE_PARTIAL } },
        { "another word on unknown effects", { .kind = COMMAND_RESOLVE, .unknown = UNKNOWN_LEAVES } },
        { "the step with it", { .kind = COMMAND_RESOLVE, .includes = true } },
        { "another revision", { .kind = COMMAND_RESOLVE, .revision = 2 } },
        { "another way to end it", { .kind = COMMAND_RESOLVE, .undo = CANCEL_COMPENSATES } },
    };
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    EngineRequest asked = { .run_no = 1, .reply = take_reply, .context = &bench,
                            .command = { .kind = COMMAND_RESOLVE, .id = STR("d-1"), .value = value_null(), .report.output = value_null() } };
    EXPECT(engine_request(bench.engine, &asked));
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_CONFLICT);                   /* it has not failed */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EngineRequest other = asked;
        other.command = rows[i].command;
        other.command.id = STR("d-1");
        other.command.value = other.command.report.output = value_null();
        EXPECT(engine_request(bench.engine, &other));
        turns(&bench);
        EXPECT(bench.reply.is_other_request);
        EXPECT(engine_request(bench.engine, &asked));
        turns(&bench);
        EXPECT_INT(bench.reply.status, ERR_CONFLICT);
    }
    end(&bench);
}

static void keep_whole(Bench *bench, const char *id, const char *words)
{
    EXPECT(engine_keep(bench->engine, &(EngineKeep){ .kind = KEEP_REQUEST, .tenant = STR("default"), .name = STR("decisions"), .text = str_of(words),
                                                     .reply = take_reply, .context = bench,
                                                     .command = { .id = str_of(id), .actor = STR("user:test"), .value = value_null(),
                                                                  .report.output = value_null() } }));
    turns(bench);
}

TEST(a_request_in_parts_is_known_by_its_id_and_leaves_no_record, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    uint64_t records = engine_stats(bench.engine).record_count;
    for (int opened = 0; opened < 2; opened++) {                    /* of the next owner, too */
        keep_whole(&bench, "w-1", "resolve one and two");
        EXPECT_INT(bench.reply.status, OK);
        EXPECT_INT(bench.reply.run_no, 0);
        keep_whole(&bench, "w-1", "resolve three");
        EXPECT_INT(bench.reply.status, ERR_INVALID);
        EXPECT(bench.reply.is_other_request);
        if (opened) break;
        EXPECT_INT(engine_stats(bench.engine).record_count, records);
        engine_close(bench.engine);
        open_engine(&bench);
    }
    keep_whole(&bench, "w-2", "resolve three");
    EXPECT_INT(bench.reply.status, OK);
    end(&bench);
}

TEST(a_request_is_known_by_its_second_id_and_by_that_of_each_repetition, "proves: F-006")
{
    static const struct { const char *name, *id, *alias; } rows[] = {
        { "the first", "k", "s-1" }, { "at once, with another second id", "k", "s-2" }, { "later, with a third", "k", "s-3" },
        { "by each of them alone", "s-1", "" }, { "", "s-2", "" }, { "", "s-3", "" },
    };
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EXPECT(engine_request(bench.engine, &(EngineRequest){ .run_no = 1, .reply = take_reply, .context = &bench,
                                                              .command = { .kind = COMMAND_PAUSE, .id = str_of(rows[i].id),
                                                                           .alias = str_of(rows[i].alias), .actor = STR("user:test"),
                                                                           .value = value_null(), .report.output = value_null() } }));
        if (i > 0) turns(&bench);
        if (i > 0) EXPECT_INT(bench.reply_count, i + 2);
        if (i > 0) EXPECT_INT(bench.reply.status, OK);              /* a second pause would be a conflict */
        if (i > 2) {
            engine_close(bench.engine);
            open_engine(&bench);                                    /* and to the next owner */
        }
    }
    end(&bench);
}

TEST(a_refusal_is_kept_and_a_lack_is_not, "proves: F-006")
{
    Bench bench;
    begin(&bench);
    ask(&bench, COMMAND_RESUME, "r-1", "");         /* there is no run yet */
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_NOT_FOUND);
    start(&bench, CHAIN);
    ask(&bench, COMMAND_RESUME, "r-1", "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_CONFLICT);   /* decided now: it is not paused */
    ask(&bench, COMMAND_PAUSE, "p-1", "");
    turns(&bench);
    ask(&bench, COMMAND_RESUME, "r-1", "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_CONFLICT);   /* as it was answered first */
    expect_state(&bench, 1, "PAUSED");
    char text[REQUEST_ID_SIZE_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ask(&bench, COMMAND_RESUME, text, "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_INVALID);
    ask(&bench, COMMAND_RESUME, "\xff", "");
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_INVALID);
    expect_state(&bench, 1, "PAUSED");
    end(&bench);
}

TEST(requests_are_forgotten_in_portions_when_their_time_is_over, "")
{
    Bench bench;
    begin(&bench);
    start(&bench, GATED);
    for (uint32_t i = 0; i < REQUEST_PURGE_COUNT + 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "s-%u", i);
        ask(&bench, COMMAND_SIGNAL, id, "");
        turns(&bench);
        EXPECT_INT(bench.reply.status, OK);
    }
    QueryAsk kept = { .query = QUERY_REQUESTS_EXPIRED, .params = { cell_int(INT64_MAX) }, .param_count = 1 };
    EXPECT_INT(count_rows(&bench, &kept), REQUEST_PURGE_COUNT + 40);
    bench.now_ms += REQUEST_KEEP_MS - 1000;
    turns(&bench);
    EXPECT_INT(count_rows(&bench, &kept), REQUEST_PURGE_COUNT + 40);
    bench.now_ms += REQUEST_PURGE_MS + 1000;
    for (int i = 0; i < 50 && count_rows(&bench, &kept) > REQUEST_PURGE_COUNT; i++)
        engine_turn(bench.engine, &(EngineClock){ bench.now_ms, bench.now_ms });
    EXPECT_INT(count_rows(&bench, &kept), 40);
    turns(&bench);
    EXPECT_INT(count_rows(&bench, &kept), 0);
    ask(&bench, COMMAND_SIGNAL, "s-0", "");
    turns(&bench);
    EXPECT_INT(count_rows(&bench, &kept), 1);       /* a new one */
    end(&bench);
}

/* --- what the log tells of itself --------------------------------------------------------------------------------------------- */

typedef struct LogEvents { Arena *arena; Event events[16]; uint32_t count; } LogEvents;

static bool take_log_event(void *context, const Cell *cells, uint32_t count)
{
    LogEvents *log = context;
    Record record;
    Error err;
    (void)count;
    EXPECT_OK(record_decode(log->arena, cells[LEDGER_record].text, &record, &err), &err);
    if (cells[LEDGER_run_no].kind != CELL_NULL) return true;
    EXPECT_INT(record.head.run_id.len, 0);
    EXPECT_INT(record.head.first_event, log->count + 1);
    if (log->count < 16) log->events[log->count++] = record.events[0];
    return true;
}

static void read_log(Bench *bench, LogEvents *log)
{
    Error err;
    *log = (LogEvents){ .arena = &bench->arena };
    EXPECT_OK(store_select(bench->store, &(QueryAsk){ .query = QUERY_RECORDS, .params = { cell_int(1) }, .param_count = 1 },
                           take_log_event, log, &err), &err);
}

TEST(the_log_tells_of_each_owner_and_of_each_jump_of_the_clock, "")
{
    Bench bench;
    LogEvents log;
    begin(&bench);
    turns(&bench);
    int64_t steady_ms = bench.now_ms;
    const int64_t jumps[] = { 3600000, 30000, -7200000 };
    for (size_t i = 0; i < 3; i++) {
        bench.now_ms += jumps[i] + 10;
        steady_ms += 10;
        for (int j = 0; j < 5; j++) engine_turn(bench.engine, &(EngineClock){ bench.now_ms, steady_ms });
    }
    bench.now_ms += 90000;                          /* no jump: time has passed */
    steady_ms += 90000;
    for (int j = 0; j < 5; j++) engine_turn(bench.engine, &(EngineClock){ bench.now_ms, steady_ms });
    read_log(&bench, &log);
    EXPECT_INT(log.count, 3);
    EXPECT_INT(log.events[0].kind, EVENT_OWNER_CHANGED);
    EXPECT_INT(log.events[0].count, 1);
    EXPECT_INT(log.events[1].kind, EVENT_CLOCK_JUMPED);
    EXPECT_INT(log.events[1].count, 3600000);
    EXPECT_INT(log.events[1].flags, 0);
    EXPECT_INT(log.events[2].count, 7200000);
    EXPECT_INT(log.events[2].flags, 1);
    engine_close(bench.engine);
    open_engine(&bench);                            /* its clock is still behind the log */
    turns(&bench);
    read_log(&bench, &log);
    EXPECT_INT(log.count, 5);
    EXPECT_INT(log.events[3].kind, EVENT_OWNER_CHANGED);
    EXPECT_INT(log.events[3].count, 2);
    EXPECT_INT(log.events[4].kind, EVENT_CLOCK_JUMPED);
    EXPECT_INT(log.events[4].flags, 1);
    end(&bench);
}

static void take_line(void *context, const Observation *observation)
{
    if (observation->kind == OBSERVE_LOG) *(int64_t *)context = observation->now_ms;
}

TEST(a_line_has_the_time_at_which_it_came_and_none_before_the_last, "")
{
    static const struct { const char *name; int64_t wall_ms, steady_ms, want_ms; } rows[] = {
        { "after a long sleep",                   900, 900, 900 },
        { "within the same millisecond",            0,   0, 900 },
        { "the clock was set back by a second",  -990,  10, 910 },
        { "and goes on from there",                40,  40, 950 },
    };
    Bench bench;
    int64_t line_ms = 0;
    begin(&bench);
    start(&bench, CHAIN);
    engine_observe(bench.engine, take_line, &line_ms);
    int64_t begun_ms = bench.now_ms, steady_ms = bench.now_ms;
    Notice notice = { .kind = NOTICE_LOG, .id = bench.fake.taken[0], .text = STR("said"), .value = value_null() };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EngineClock clock = { bench.now_ms += rows[i].wall_ms, steady_ms += rows[i].steady_ms };
        engine_tick(bench.engine, &clock);
        engine_notice(bench.engine, &notice);
        EXPECT_INT(line_ms - begun_ms, rows[i].want_ms);
        for (int j = 0; j < 5; j++) engine_turn(bench.engine, &clock);
    }
    end(&bench);
}

/* --- tenants ------------------------------------------------------------------------------------------------------------------------ */

TEST(tenants_that_have_nothing_are_forgotten_and_come_back, "")
{
    Bench bench;
    begin(&bench);
    for (uint32_t i = 0; i < 3 * TENANT_IDLE_COUNT_MAX; i++) {
        Str tenant = arena_format(&bench.arena, "tenant-%u", i);
        bench.reply.status = OK;
        EXPECT(engine_request(bench.engine, &(EngineRequest){ .run_no = 7, .tenant = tenant, .reply = take_reply, .context = &bench,
                                                              .command = { .kind = COMMAND_PAUSE, .value = value_null(),
                                                                           .report.output = value_null() } }));
        engine_turn(bench.engine, &(EngineClock){ bench.now_ms, bench.now_ms });
    }
    turns(&bench);
    EXPECT_INT(bench.reply_count, 3 * TENANT_IDLE_COUNT_MAX);
    EXPECT_INT(bench.reply.status, ERR_NOT_FOUND);
    start(&bench, CHAIN);
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}

/* --- timeouts ----------------------------------------------------------------------------------------------------------------------- */

TEST(the_next_attempt_is_handed_over_when_the_last_one_has_ended, "proves: F-016 F-062")
{
    Bench bench;
    begin(&bench);
    start(&bench, "workflow: slow\njobs:\n  a:\n    tasks:\n"
                  "      - { name: one, run: noop, timeout: 5s, retries: { attempts: 2, delay: 1s, jitter_ms: 0 } }\n");
    EXPECT_INT(bench.fake.taken_count, 1);
    bench.now_ms += 5000;
    turns(&bench);
    EXPECT_INT(bench.fake.ended, 1);                /* told to end ... */
    bench.now_ms += 600000;
    turns(&bench);
    EXPECT_INT(bench.fake.taken_count, 1);          /* ... and while it lives, nobody else begins (I16) */
    EXPECT_INT(bench.fake.ended, 1);
    Notice notice = { .kind = NOTICE_REPORT, .id = bench.fake.taken[0], .report = { .cause = CAUSE_CANCELLED, .message = STR("ended") } };
    engine_notice(bench.engine, &notice);
    turns(&bench);
    bench.now_ms += 2000;
    turns(&bench);
    EXPECT_INT(bench.fake.taken_count, 2);
    EXPECT_INT(bench.fake.taken[1].attempt, 2);
    bench.fake.reported = 1;
    report_all(&bench);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}

/* --- what is offered ------------------------------------------------------------------------------------------------------------------ */

static void order(Bench *bench, uint64_t run_no, const Command *given)
{
    Command command = *given;
    command.actor = STR("user:test");
    command.value = command.report.output = value_null();
    bench->reply = (EngineReply){ .status = ERR_CORRUPT };
    EXPECT(engine_request(bench->engine, &(EngineRequest){ .run_no = run_no, .reply = take_reply, .context = bench, .command = command }));
    turns(bench);
}

static void report_one(Bench *bench, Cause cause)
{
    Notice notice = { .kind = NOTICE_REPORT, .id = bench->fake.taken[bench->fake.reported++], .report = { .cause = cause } };
    engine_notice(bench->engine, &notice);
    turns(bench);
}

TEST(runs_are_started_paused_resumed_resolved_retried_and_cancelled, "proves: A-277")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    EXPECT_INT(bench.reply.status, OK);
    order(&bench, 1, &(Command){ .kind = COMMAND_PAUSE });
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.reply.run_state, RUN_PAUSED);
    order(&bench, 1, &(Command){ .kind = COMMAND_RESUME });
    EXPECT_INT(bench.reply.status, OK);
    report_one(&bench, CAUSE_NONE);
    report_one(&bench, CAUSE_PERMANENT);
    expect_state(&bench, 1, "FAILED");
    order(&bench, 1, &(Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY });
    EXPECT_INT(bench.reply.status, OK);
    report_one(&bench, CAUSE_PERMANENT);
    order(&bench, 1, &(Command){ .kind = COMMAND_RETRY_FROM, .name = STR("a.one") });
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.fake.taken[bench.fake.taken_count - 1].step, 0);
    order(&bench, 1, &(Command){ .kind = COMMAND_CANCEL });
    EXPECT_INT(bench.reply.status, OK);
    report_one(&bench, CAUSE_CANCELLED);
    expect_state(&bench, 1, "CANCELLED");
    end(&bench);
}

static bool count_results(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    if (cells[STEP_RUNS_result].kind == CELL_TEXT) ++*(uint32_t *)context;
    return true;
}

static uint32_t results_of(Bench *bench, uint64_t run_no)
{
    uint32_t count = 0;
    Error err;
    QueryAsk ask = { .query = QUERY_STEP_RUNS, .params = { cell_int((int64_t)run_no), cell_int(-1) }, .param_count = 2 };
    EXPECT_OK(store_select(bench->store, &ask, count_results, &count, &err), &err);
    return count;
}

/* A sequence is carried out step by step; the result of each is in the store before the next one is given away. */
TEST(each_step_of_a_sequence_is_persisted_before_the_next_begins, "proves: R-058 C-93")
{
    Bench bench;
    begin(&bench);
    start(&bench, CHAIN);
    for (uint32_t index = 0; index < 3; index++) {
        EXPECT_INT(bench.fake.taken_count, index + 1);
        EXPECT_INT(bench.fake.taken[index].step, index);            /* where it is now */
        EXPECT_INT(results_of(&bench, 1), index);
        report_one(&bench, CAUSE_NONE);
    }
    EXPECT_INT(results_of(&bench, 1), 3);
    expect_state(&bench, 1, "SUCCEEDED");
    end(&bench);
}

/* --- what one compartment does to another ------------------------------------------------------------------------------------------------- */

typedef struct Told { uint64_t run_no; uint8_t kinds[64]; uint32_t count; } Told;

static void take_events(void *context, const Observation *observation)
{
    Told *told = context;
    if (observation->kind != OBSERVE_EVENTS || observation->run->run_no != told->run_no) return;
    for (uint32_t i = 0; i < observation->event_count && told->count < 64; i++) told->kinds[told->count++] = observation->events[i].kind;
}

#define TENANT_CHAIN(name) "workflow: " name "\ntenant: " name \
    "\njobs:\n  a:\n    tasks:\n      - { name: one, run: noop }\n      - { name: two, run: noop }\n"

/* Everything that happened to the run of `quiet`, with or without the others around it. */
static Told quiet_run(bool has_others)
{
    Bench bench;
    begin(&bench);
    uint32_t others = has_others ? 2 : 0;
    for (uint32_t i = 0; i < others; i++) start(&bench, i ? TENANT_CHAIN("failing") : TENANT_CHAIN("paused"));
    start(&bench, TENANT_CHAIN("quiet"));
    Told told = { .run_no = bench.reply.run_no };
    engine_observe(bench.engine, take_events, &told);
    if (has_others) {
        order(&bench, 1, &(Command){ .kind = COMMAND_PAUSE });
        EXPECT_INT(bench.reply.status, OK);
        Notice failure = { .kind = NOTICE_REPORT, .id = bench.fake.taken[1], .report = { .cause = CAUSE_PERMANENT } };
        engine_notice(bench.engine, &failure);
        turns(&bench);
        expect_state(&bench, 2, "FAILED");
        EngineRequest flood = { .run_no = 1, .tenant = STR("paused"), .command = { .kind = COMMAND_PAUSE, .value = value_null(),
                                                                                    .report.output = value_null() } };
        uint32_t taken = 0;
        while (engine_request(bench.engine, &flood)) taken++;       /* until its own queue is full */
        EXPECT_INT(taken, ENGINE_QUEUE_COUNT_MAX);
    }
    bench.fake.reported = others;
    report_one(&bench, CAUSE_NONE);
    EXPECT_INT(bench.fake.taken_count, others + 2);
    report_one(&bench, CAUSE_NONE);
    expect_state(&bench, told.run_no, "SUCCEEDED");
    end(&bench);
    return told;
}

TEST(failures_pauses_and_floods_of_one_tenant_change_nothing_of_anothers_run, "proves: F-007")
{
    Told alone = quiet_run(false), beside = quiet_run(true);
    EXPECT_INT(beside.count, alone.count);
    EXPECT(memcmp(beside.kinds, alone.kinds, sizeof alone.kinds) == 0);
}
