/* Stories of runs that wait: for triggers, polls, keys and owners. Time is the test's; owners die by engine_close(). */
#include "engine/engine.h"

#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "ledger/record.h"
#include "store/memory/memory_store.h"
#include "value/json.h"

enum { TAKEN_MAX = 4096 };

typedef struct House {
    Executor port;
    Store *store;
    Engine *engine;
    int64_t now_ms;
    uint64_t chance;
    Arena arena;
    Executor *executors[1];
    AttemptId taken[TAKEN_MAX];
    Str keys[TAKEN_MAX];                    /* idempotency keys of these */
    uint32_t taken_count, reported;
    EngineReply reply;
    char why[512];                          /* of a refusal */
} House;

static bool house_execute(Executor *executor, const Attempt *attempt)
{
    House *house = (House *)executor;
    if (house->taken_count == TAKEN_MAX) return false;
    house->keys[house->taken_count] = arena_copy(&house->arena, attempt->key);
    house->taken[house->taken_count++] = attempt->id;
    return true;
}

static void house_end(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void house_close(Executor *executor) { (void)executor; }
static const ExecutorOps house_ops = { .execute = house_execute, .end = house_end, .close = house_close };

static bool find_runner(void *context, Str tenant, Str runner, RunnerOffer *out)
{
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

static void turns(House *house)
{
    for (int i = 0; i < 40; i++) engine_turn(house->engine, &(EngineClock){ house->now_ms, house->now_ms });
}

static void open_owner(House *house)
{
    Error err;
    EngineOptions options = { .store = house->store, .log = 1, .executors = house->executors, .executor_count = 1,
                              .runner = find_runner, .random = chance, .context = house };
    EXPECT_OK(engine_open(&options, &(EngineClock){ house->now_ms, house->now_ms }, &house->engine, &err), &err);
    turns(house);
}

static void house_open(House *house)
{
    memset(house, 0, sizeof *house);
    house->store = memory_store_new(NULL);
    house->port = (Executor){ .ops = &house_ops, .name = STR("here"), .kind = STR("native") };
    house->executors[0] = &house->port;
    house->now_ms = 1800000000000;
    arena_init(&house->arena, SIZE_MAX);
    open_owner(house);
}

static void house_end_all(House *house)
{
    engine_close(house->engine);
    store_close(house->store);
    arena_deinit(&house->arena);
}

/* The process is killed, and its attempts with it. */
static void kill_owner(House *house)
{
    engine_close(house->engine);
    house->reported = house->taken_count;
    open_owner(house);
}

static void take_reply(void *context, const EngineReply *reply)
{
    House *house = context;
    house->reply = *reply;
    house->reply.error = NULL;
    house->why[0] = '\0';
    if (reply->error) memcpy(house->why, reply->error->text, sizeof house->why - 1);
}

/* Its number. */
static uint64_t start(House *house, const char *text)
{
    Catalog catalog;
    Compiled compiled;
    Buf document;
    Error err;
    Digest digest;
    catalog_init(&catalog, &house->arena);
    compile(&house->arena, str_of(text), &(CompileOptions){ .file = STR("t.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    if (!EXPECT(compiled.is_valid)) return 0;
    buf_init(&document, SIZE_MAX);
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(house->engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    EXPECT(engine_start(house->engine, &(EngineStart){ .plan = digest, .tenant = compiled.plan.tenant, .reply = take_reply, .context = house,
                                                       .command.actor = STR("user:test") }));
    turns(house);
    return house->reply.run_no;
}

static Status command(House *house, uint64_t run_no, Command wish, const char *value)
{
    Error err;
    wish.value = value_null();
    if (value) EXPECT_OK(json_parse(&house->arena, str_of(value), &wish.value, &err), &err);
    if (!wish.actor.len) wish.actor = STR("user:test");
    EXPECT(engine_request(house->engine, &(EngineRequest){ .run_no = run_no, .command = wish, .reply = take_reply, .context = house }));
    turns(house);
    return house->reply.status;
}

/* The oldest attempt that has not reported does so. */
static void report(House *house, Cause cause, const char *output)
{
    Error err;
    if (!EXPECT(house->reported < house->taken_count)) return;
    Notice notice = { .kind = NOTICE_REPORT, .id = house->taken[house->reported++], .report = { .cause = cause, .output = value_null() } };
    if (cause) notice.report.message = STR("broken");
    if (output) EXPECT_OK(json_parse(&house->arena, str_of(output), &notice.report.output, &err), &err);
    engine_notice(house->engine, &notice);
    turns(house);
}

static void wait_ms(House *house, int64_t ms)
{
    house->now_ms += ms;
    turns(house);
}

/* --- what is in the store ----------------------------------------------------------------------------------------------------- */

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

static uint32_t count_of(House *house, uint64_t run_no, EventKind kind) { return search(house, run_no, kind).count; }

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

static void expect_row(House *house, uint64_t run_no, const char *state, const char *trigger)
{
    Row row = { 0 };
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    EXPECT_OK(store_select(house->store, &ask, take_row, &row, &err), &err);
    EXPECT_STR(str_of(row.state), str_of(state));
    EXPECT_STR(str_of(row.trigger), str_of(trigger));
}

/* --- pauses --------------------------------------------------------------------------------------------------------------------- */

#define PAUSE(more) "workflow: p\njobs:\n  a:\n    tasks:\n      - { name: ask, run: noop, pause_after: { trigger: boss" more " } }\n" \
                    "      - { name: act, run: noop }\n"

static const Command resume_it = { .kind = COMMAND_RESUME };
static const Command trigger_it = { .kind = COMMAND_TRIGGER, .name = STR_INIT("boss") };

TEST(a_resumed_pause_is_not_resumed_again_by_its_own_timer, "proves: A-188")
{
    static const struct { const char *name, *text; } rows[] = {
        { "scheduled", PAUSE(", auto_resume_after: 1h") }, { "approved", PAUSE(", timeout: 1h, on_timeout: auto_approve") },
        { "failing", PAUSE(", timeout: 1h") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int dies = 0; dies < 2; dies++) {
            ROW(rows[i].name);
            House house;
            house_open(&house);
            uint64_t run = start(&house, rows[i].text);
            report(&house, CAUSE_NONE, NULL);
            expect_row(&house, run, "PAUSED", "boss");
            wait_ms(&house, 1800000);
            EXPECT_INT(command(&house, run, resume_it, NULL), OK);
            expect_row(&house, run, "RUNNING", "");
            EXPECT_INT(house.taken_count, 2);
            EXPECT_INT(command(&house, run, (Command){ .kind = COMMAND_PAUSE }, NULL), OK);
            if (dies) kill_owner(&house);
            wait_ms(&house, 3 * 3600000);                           /* its time comes, and finds a pause that is none of its own */
            expect_row(&house, run, "PAUSED", "");
            EXPECT_INT(count_of(&house, run, EVENT_TRIGGER_ENDED), 1);
            EXPECT_INT(search(&house, run, EVENT_TRIGGER_ENDED).sort, TRIGGER_RESUMED);
            EXPECT_INT(count_of(&house, run, EVENT_RUN_FAILING), 0);
            EXPECT_INT(command(&house, run, resume_it, NULL), OK);
            if (dies) house.reported = house.taken_count - 1;
            report(&house, CAUSE_NONE, NULL);
            expect_row(&house, run, "SUCCEEDED", "");
            house_end_all(&house);
        }
}

TEST(stop_on_a_suspended_run_ends_it_for_good, "proves: C-09")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, PAUSE(", auto_resume_after: 1h"));
    report(&house, CAUSE_NONE, NULL);
    kill_owner(&house);
    EXPECT_INT(command(&house, run, (Command){ .kind = COMMAND_CANCEL }, NULL), OK);
    expect_row(&house, run, "CANCELLED", "");
    EXPECT_INT(search(&house, run, EVENT_TRIGGER_ENDED).sort, TRIGGER_CANCELLED);
    uint32_t taken = house.taken_count;
    wait_ms(&house, 2 * 3600000);
    EXPECT_INT(command(&house, run, resume_it, NULL), ERR_CONFLICT);
    EXPECT_INT(command(&house, run, trigger_it, "{}"), ERR_CONFLICT);
    EXPECT_INT(house.taken_count, taken);
    EXPECT_INT(count_of(&house, run, EVENT_TRIGGER_ENDED), 1);
    expect_row(&house, run, "CANCELLED", "");
    house_end_all(&house);
}

TEST(a_late_trigger_after_a_manual_resume_is_refused_and_recorded_nowhere_as_an_answer, "proves: C-99")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, PAUSE(""));
    report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(command(&house, run, resume_it, NULL), OK);
    EXPECT_INT(command(&house, run, trigger_it, "{\"late\":true}"), ERR_CONFLICT);
    EXPECT(strstr(house.why, "no longer awaited") != NULL);
    EXPECT_INT(count_of(&house, run, EVENT_TRIGGER_RECEIVED), 0);
    EXPECT_INT(count_of(&house, run, EVENT_TRIGGER_ENDED), 1);
    EXPECT_INT(search(&house, run, EVENT_TRIGGER_ENDED).sort, TRIGGER_RESUMED);
    report(&house, CAUSE_NONE, NULL);
    expect_row(&house, run, "SUCCEEDED", "");
    EXPECT_INT(command(&house, run, trigger_it, "{\"late\":true}"), ERR_CONFLICT);
    house_end_all(&house);
}

TEST(a_trigger_that_comes_before_its_pause_outlives_the_owner_and_answers_it_once, "proves: C-99")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, PAUSE(", resume_when: payload.ok == true"));
    EXPECT_INT(command(&house, run, trigger_it, "{\"ok\":true}"), OK);
    kill_owner(&house);                                             /* while the task before the pause is carried out */
    EXPECT_INT(house.taken_count, 2);
    house.reported = 1;
    report(&house, CAUSE_NONE, NULL);
    expect_row(&house, run, "RUNNING", "");                         /* it did not wait */
    EXPECT_INT(search(&house, run, EVENT_TRIGGER_ENDED).sort, TRIGGER_ANSWERED);
    EXPECT_INT(count_of(&house, run, EVENT_RUN_PAUSED), 0);
    EXPECT_INT(command(&house, run, trigger_it, "{\"ok\":true}"), ERR_CONFLICT);
    report(&house, CAUSE_NONE, NULL);
    expect_row(&house, run, "SUCCEEDED", "");
    EXPECT_INT(count_of(&house, run, EVENT_TRIGGER_ENDED), 1);
    house_end_all(&house);
}

/* --- polls ---------------------------------------------------------------------------------------------------------------------- */

TEST(a_poll_survives_its_owners_for_days_and_is_made_once_an_interval, "proves: A-157 A-174 C-87")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, "workflow: w\njobs:\n  a:\n    tasks:\n      - { name: wait, run: noop, poll: { interval: 6h, max_duration: 20d } }\n");
    for (uint32_t day = 0; day < 12; day++)
        for (uint32_t poll = 0; poll < 4; poll++) {
            if (!EXPECT_INT(house.taken_count, day * 4 + poll + 1)) return;
            report(&house, CAUSE_NONE, "{\"complete\":false}");
            EXPECT_INT(engine_stats(house.engine).run_count, 0);    /* nothing of it is in memory */
            wait_ms(&house, 3 * 3600000);
            if (poll == 1) kill_owner(&house);
            EXPECT_INT(house.taken_count, day * 4 + poll + 1);      /* no owner makes one before its time */
            wait_ms(&house, 3 * 3600000);
        }
    for (uint32_t i = 1; i < house.taken_count; i++) EXPECT(!str_is(house.keys[i], house.keys[i - 1]));
    engine_close(house.engine);                                     /* nobody is there for two days: one poll is made late, once */
    house.reported = house.taken_count;
    house.now_ms += 48 * 3600000;
    open_owner(&house);
    EXPECT_INT(house.taken_count, 50);                              /* the one that was under way, again */
    EXPECT_STR(house.keys[49], house.keys[48]);
    report(&house, CAUSE_NONE, "{\"complete\":true,\"output\":{\"paid\":true}}");
    expect_row(&house, run, "SUCCEEDED", "");
    EXPECT_INT(count_of(&house, run, EVENT_POLL_ATTEMPTED), 49);
    house_end_all(&house);
}

/* --- retries -------------------------------------------------------------------------------------------------------------------- */

TEST(a_selective_retry_reruns_no_more_than_its_set, "proves: A-053")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop }] }\n  b: { needs: a, tasks: [{ name: t, run: noop }] }\n"
                                 "  c: { needs: a, tasks: [{ name: t, run: noop }] }\n  d: { needs: [b, c], tasks: [{ name: t, run: noop }] }\n"
                                 "failure_mode: continue-independent\n");
    report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house.taken_count, 3);                               /* b and c, at once */
    report(&house, CAUSE_PERMANENT, NULL);
    EXPECT_INT(command(&house, run, (Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b.t") }, NULL), ERR_CONFLICT);   /* c runs still */
    report(&house, CAUSE_NONE, NULL);
    expect_row(&house, run, "FAILED", "");
    EXPECT_INT(command(&house, run, (Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b.t") }, NULL), OK);
    EXPECT_INT(house.taken_count, 4);
    EXPECT_INT(house.taken[3].step, house.taken[1].step);           /* b, and neither a nor c */
    EXPECT_INT(count_of(&house, run, EVENT_STEP_SUPERSEDED), 2);    /* b and d */
    kill_owner(&house);
    EXPECT_INT(house.taken_count, 5);
    report(&house, CAUSE_NONE, NULL);
    report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house.taken_count, 6);
    expect_row(&house, run, "SUCCEEDED", "");
    house_end_all(&house);
}

/* --- keys ------------------------------------------------------------------------------------------------------------------------ */

#define KEYED "{ strategy: dedupe-key, key: one, domain: d }"

/* Two steps of a run and one of another have one key: one is carried out, the others take what it gave, whoever owns the log. */
TEST(a_memoised_fan_out_does_not_hang, "proves: F-059")
{
    for (int kills = 0; kills < 3; kills++) {
        House house;
        house_open(&house);
        static const char fan[] = "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop, idempotency: " KEYED " }] }\n"
                                  "  b: { tasks: [{ name: t, run: noop, idempotency: " KEYED " }] }\n  c: { needs: [a, b], tasks: [{ name: t, run: noop }] }\n";
        uint64_t first = start(&house, fan), second = start(&house, fan);
        EXPECT_INT(house.taken_count, 1);
        if (kills >= 1) kill_owner(&house);
        uint32_t taken = kills >= 1 ? 2 : 1;
        EXPECT_INT(house.taken_count, taken);                       /* one of the four, and only one */
        if (kills >= 1) house.reported = taken - 1;
        report(&house, CAUSE_NONE, "{\"x\":1}");
        EXPECT_INT(house.taken_count, taken + 2);                   /* c of both */
        if (kills == 2) kill_owner(&house);
        while (house.reported < house.taken_count) report(&house, CAUSE_NONE, NULL);
        expect_row(&house, first, "SUCCEEDED", "");
        expect_row(&house, second, "SUCCEEDED", "");
        EXPECT(engine_is_idle(house.engine));
        house_end_all(&house);
    }
}

/* --- owners ---------------------------------------------------------------------------------------------------------------------- */

TEST(an_owner_that_ends_in_order_gives_back_what_it_has_and_nothing_counts_as_lost, "proves: C-22")
{
    House house;
    house_open(&house);
    uint64_t run = start(&house, "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop }] }\n");
    for (uint32_t i = 0; i < 3 * LOST_COUNT_MAX; i++) {
        EXPECT_INT(house.taken_count, i + 1);
        EXPECT(!engine_release(house.engine));
        turns(&house);
        EXPECT(engine_release(house.engine));
        EXPECT_INT(house.taken_count, i + 1);                       /* an owner that ends begins nothing */
        Notice late = { .kind = NOTICE_REPORT, .id = house.taken[i], .report = { .output = value_null() } };
        engine_notice(house.engine, &late);
        turns(&house);
        expect_row(&house, run, "RUNNING", "");                     /* what was given back is not heard */
        kill_owner(&house);
    }
    EXPECT_INT(house.taken_count, 3 * LOST_COUNT_MAX + 1);
    report(&house, CAUSE_NONE, NULL);
    expect_row(&house, run, "SUCCEEDED", "");
    house_end_all(&house);
}
