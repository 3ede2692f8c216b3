/* More than can be carried out, for a simulated day: what is admitted is not dropped, waits no longer in the evening than in the
 * morning, and needs no more memory. Time is the test's: an attempt takes a minute, and six are carried out at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "store/memory/memory_store.h"
#include "value/canonical.h"

enum { CAPACITY = 6, TAKES_S = 60, RUNS_IN_MEMORY = 64, DAY_S = 86400, HOUR_S = 3600, RUN_MAX = 20000, OPEN_MAX = 64 };

typedef struct Open { AttemptId id; int64_t due_ms; uint32_t attempt; } Open;

typedef struct Hall {
    Executor port;
    Store *store;
    Engine *engine;
    Executor *executors[1];
    Arena arena;
    Open open[OPEN_MAX];
    uint32_t open_count, open_max, run_max;
    int64_t now_ms;
    uint64_t chance, offered, refused, admitted, ended, failed;
    int64_t started_ms[RUN_MAX];
    uint32_t waits_s[RUN_MAX];              /* from start to end, in the order of the ends */
} Hall;

static bool take(Executor *executor, const Attempt *attempt)
{
    Hall *hall = (Hall *)executor;
    if (hall->open_count == OPEN_MAX) return false;
    hall->open[hall->open_count++] = (Open){ attempt->id, hall->now_ms + TAKES_S * 1000, attempt->id.attempt };
    if (hall->open_count > hall->open_max) hall->open_max = hall->open_count;
    return true;
}

static void end(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void end_all(Executor *executor) { (void)executor; }
static const ExecutorOps ops = { .execute = take, .end = end, .close = end_all };

static bool find_runner(void *context, Str tenant, Str runner, RunnerOffer *out)
{
    (void)tenant;
    *out = (RunnerOffer){ .executor = &((Hall *)context)->port, .settings = value_null() };
    return str_is_text(runner, "noop");
}

static uint64_t next(Hall *hall)
{
    hall->chance = hall->chance * 6364136223846793005u + 1442695040888963407u;
    return hall->chance >> 33;
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)next(context);
}

static void replied(void *context, const EngineReply *reply)
{
    Hall *hall = context;
    EXPECT_INT(reply->status, OK);
    if (reply->run_no < RUN_MAX) hall->started_ms[reply->run_no] = hall->now_ms;
}

static void observe(void *context, const Observation *seen)
{
    Hall *hall = context;
    for (uint32_t i = 0; seen->kind == OBSERVE_EVENTS && i < seen->event_count; i++) {
        bool is_end = seen->events[i].kind == EVENT_RUN_SUCCEEDED;
        hall->failed += seen->events[i].kind == EVENT_RUN_FAILED;
        if (is_end && hall->ended < RUN_MAX) hall->waits_s[hall->ended++] = (uint32_t)((hall->now_ms - hall->started_ms[seen->run->run_no]) / 1000);
    }
}

/* One of thirty fails for now, the first time that it is tried. */
static void report_due(Hall *hall)
{
    for (uint32_t i = 0; i < hall->open_count;) {
        Open one = hall->open[i];
        if (one.due_ms > hall->now_ms) {
            i++;
            continue;
        }
        hall->open[i] = hall->open[--hall->open_count];
        bool fails = one.attempt == 1 && next(hall) % 30 == 0;
        engine_notice(hall->engine, &(Notice){ .kind = NOTICE_REPORT, .id = one.id, .value = value_null(),
                                               .report = { .cause = fails ? CAUSE_TRANSIENT : CAUSE_NONE, .output = value_null() } });
    }
}

static Hall *hall_open(void)
{
    Hall *hall = calloc(1, sizeof *hall);
    Error err;
    if (!EXPECT(hall)) return NULL;
    arena_init(&hall->arena, SIZE_MAX);
    hall->port = (Executor){ .ops = &ops, .name = STR("hall"), .kind = STR("native"), .capacity = CAPACITY };
    hall->executors[0] = &hall->port;
    hall->store = memory_store_new(NULL);
    hall->now_ms = 1766000000000;
    EngineOptions options = { .store = hall->store, .log = 1, .executors = hall->executors, .executor_count = 1, .runner = find_runner,
                              .random = chance, .context = hall, .run_count_max = RUNS_IN_MEMORY };
    EXPECT_OK(engine_open(&options, &(EngineClock){ hall->now_ms, hall->now_ms }, &hall->engine, &err), &err);
    engine_observe(hall->engine, observe, hall);
    return hall;
}

static Digest plan_add(Hall *hall)
{
    Catalog catalog;
    Compiled compiled;
    Buf document;
    Error err;
    Digest digest = { 0 };
    catalog_init(&catalog, &hall->arena);
    compile(&hall->arena, STR("workflow: w\njobs:\n  a: { tasks: [{ run: noop, intent: heavy, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n"),
            &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    EXPECT(compiled.is_valid);
    buf_init(&document, SIZE_MAX);
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(hall->engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    return digest;
}

/* `factor` times what it can carry out, for so many seconds; then until all has ended. */
static void offer(Hall *hall, uint32_t factor, uint32_t seconds)
{
    Digest plan = plan_add(hall);
    for (uint32_t second = 0; second < seconds || hall->ended + hall->failed < hall->admitted; second++) {
        hall->now_ms += 1000;
        uint64_t due = second < seconds ? (uint64_t)(second + 1) * factor * CAPACITY / TAKES_S : hall->offered;
        for (; hall->offered < due; hall->offered++) {
            bool is_taken = engine_start(hall->engine, &(EngineStart){ .plan = plan, .tenant = STR("default"), .reply = replied, .context = hall, .command.actor = STR("user:test") });
            hall->admitted += is_taken;
            hall->refused += !is_taken;
        }
        report_due(hall);
        for (int i = 0; i < 4; i++) engine_turn(hall->engine, &(EngineClock){ hall->now_ms, hall->now_ms });
        uint32_t runs = engine_stats(hall->engine).run_count;
        if (runs > hall->run_max) hall->run_max = runs;
        if (!EXPECT(second < seconds + DAY_S)) return;              /* it would go on for ever */
    }
}

static void hall_close(Hall *hall)
{
    engine_close(hall->engine);
    store_close(hall->store);
    arena_deinit(&hall->arena);
    free(hall);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of the ends from the first to before the last. */
static uint32_t p99(Hall *hall, uint64_t first, uint64_t last)
{
    uint64_t count = last - first;
    uint32_t *copy = malloc(count * sizeof *copy);
    if (!EXPECT(copy && count)) return 0;
    memcpy(copy, hall->waits_s + first, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_size);
    uint32_t found = copy[count * 99 / 100];
    free(copy);
    return found;
}

TEST(ten_times_the_capacity_for_a_day_drops_nothing_that_was_admitted, "proves: E-058 E-059 E-060 E-055 C-94 F-007")
{
    Hall *hall = hall_open();
    if (!hall) return;
    offer(hall, 10, DAY_S);
    EngineStats stats = engine_stats(hall->engine);
    EXPECT_INT(hall->ended, hall->admitted);
    EXPECT_INT(hall->failed, 0);
    for (int i = 0; i < DROP_CAUSE_COUNT; i++) EXPECT_INT(stats.drop_counts[i], 0);
    EXPECT(hall->refused > hall->offered * 85 / 100);              /* what is too much is refused at the door */
    EXPECT(hall->admitted > (uint64_t)DAY_S * CAPACITY / TAKES_S * 80 / 100);       /* and the capacity is used */
    EXPECT(hall->open_max <= CAPACITY);
    EXPECT(hall->run_max <= RUNS_IN_MEMORY);                       /* however long it lasts */
    uint64_t part = hall->ended / 12;
    uint32_t morning = p99(hall, part, 3 * part), evening = p99(hall, 9 * part, 11 * part);
    EXPECT(evening <= morning * 11 / 10);                          /* seconds of the test's own time */
    hall_close(hall);
}

TEST(what_is_admitted_waits_as_long_whatever_is_offered_beyond, "proves: E-060 F-007")
{
    static const uint32_t factors[] = { 1, 2, 5, 10 };
    uint32_t waits[4];
    for (int i = 0; i < 4; i++) {
        Hall *hall = hall_open();
        if (!hall) return;
        offer(hall, factors[i], 6 * HOUR_S);
        EXPECT_INT(hall->ended, hall->admitted);
        waits[i] = p99(hall, 0, hall->ended);
        hall_close(hall);
    }
    EXPECT(waits[3] <= waits[1] * 12 / 10);
}
