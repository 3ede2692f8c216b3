/* More than can be carried out, for a simulated day: what is admitted is not dropped, waits no longer in the evening than in the
 * morning, and needs no more memory. Time is the test's: an attempt takes a minute, and six are carried out at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "engine/heap.h"
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
    size_t heap_max[DAY_S / HOUR_S];        /* bytes of the process in each hour, but for those that the store keeps */
} Hall;

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* A store in memory keeps the history of all runs, as a file would: what is allocated inside it is counted apart. */
static const StoreOps *plain_ops;
static StoreOps counted_ops;
static size_t store_size;

static bool counted_submit(Store *store, Batch *batch)
{
    size_t before = heap_size();
    bool is_taken = plain_ops->submit(store, batch);
    store_size += heap_size() - before;
    return is_taken;
}

static bool counted_poll(Store *store, Completion *out)
{
    size_t before = heap_size();
    bool has_one = plain_ops->poll(store, out);
    store_size += heap_size() - before;
    return has_one;
}

static bool counted_read(Store *store, const QueryAsk *ask, uint64_t read_id)
{
    size_t before = heap_size();
    bool is_taken = plain_ops->read(store, ask, read_id);
    store_size += heap_size() - before;
    return is_taken;
}

static void count_apart(Store *store)
{
    plain_ops = store->ops;
    counted_ops = *plain_ops;
    counted_ops.submit = counted_submit;
    counted_ops.poll = counted_poll;
    counted_ops.read = counted_read;
    store->ops = &counted_ops;
    store_size = 0;
}

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

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
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

static Hall *hall_open(const EngineOptions *bounds)
{
    Hall *hall = calloc(1, sizeof *hall);
    Error err;
    if (!EXPECT(hall)) return NULL;
    arena_init(&hall->arena, SIZE_MAX);
    hall->port = (Executor){ .ops = &ops, .name = STR("hall"), .kind = STR("native"), .capacity = CAPACITY };
    hall->executors[0] = &hall->port;
    hall->store = memory_store_new(NULL);
    count_apart(hall->store);
    hall->now_ms = 1766000000000;
    EngineOptions options = { .store = hall->store, .log = 1, .executors = hall->executors, .executor_count = 1, .runner = find_runner,
                              .random = chance, .context = hall, .run_count_max = bounds->run_count_max, .size_max = bounds->size_max };
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
    compile(&hall->arena,
            STR("workflow: w\nparams: [{ name: large, type: string, default: \"\" }]\njobs:\n  a: { tasks: [{ run: noop, intent: heavy, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n"),
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
            bool is_taken = engine_start(hall->engine,
                                         &(EngineStart){ .plan = plan, .tenant = STR("default"), .reply = replied,
                                                         .context = hall, .command.actor = STR("user:test") });
            hall->admitted += is_taken;
            hall->refused += !is_taken;
        }
        report_due(hall);
        for (int i = 0; i < 4; i++) engine_turn(hall->engine, &(EngineClock){ hall->now_ms, hall->now_ms });
        uint32_t runs = engine_stats(hall->engine).run_count;
        if (runs > hall->run_max) hall->run_max = runs;
        size_t heap = heap_size() - store_size, *most = &hall->heap_max[second / HOUR_S % (DAY_S / HOUR_S)];
        if (second < seconds && heap > *most) *most = heap;
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

TEST(rfc_10_ten_times_the_capacity_for_a_day_drops_nothing_that_was_admitted, "proves: E-058 E-059 E-060 C-94")
{
    Hall *hall = hall_open(&(EngineOptions){ .run_count_max = RUNS_IN_MEMORY });
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
    size_t first = 0, second = 0;
    for (int hour = 1; hour < 12; hour++) first = hall->heap_max[hour] > first ? hall->heap_max[hour] : first;
    for (int hour = 12; hour < 24; hour++) second = hall->heap_max[hour] > second ? hall->heap_max[hour] : second;
    EXPECT(store_size > 10 * (second > first ? second - first : 0));       /* what grows is what a file would hold */
    test_expect(second <= first + first / 50, __FILE__, __LINE__, "%zu bytes before noon, %zu after it, %zu in the store", first, second, store_size);
    hall_close(hall);
}

TEST(what_is_admitted_waits_as_long_whatever_is_offered_beyond, "proves: E-060")
{
    static const uint32_t factors[] = { 1, 2, 5, 10 };
    uint32_t waits[4];
    for (int i = 0; i < 4; i++) {
        Hall *hall = hall_open(&(EngineOptions){ .run_count_max = RUNS_IN_MEMORY });
        if (!hall) return;
        offer(hall, factors[i], 6 * HOUR_S);
        EXPECT_INT(hall->ended, hall->admitted);
        waits[i] = p99(hall, 0, hall->ended);
        hall_close(hall);
    }
    EXPECT(waits[3] <= waits[1] * 12 / 10);
}

/* --- large parameters -------------------------------------------------------------------------------------------------- */

enum { LARGE_SIZE = 128 << 10, LARGE_BOUND = 16 << 20, LARGE_BURST = 150, LARGE_MINUTES = 20 };

/* What the engine allocates beside what it counts: arenas and buffers of the decision at hand, tables. */
enum { LARGE_BESIDE = 4 << 20 };

typedef struct Peak { size_t counted, heap; } Peak;

static void turn_and_look(Hall *hall, size_t idle, Peak *peak)
{
    engine_turn(hall->engine, &(EngineClock){ hall->now_ms, hall->now_ms });
    size_t counted = engine_stats(hall->engine).size, heap = heap_size() - store_size - idle;
    if (counted > peak->counted) peak->counted = counted;
    if (heap > peak->heap) peak->heap = heap;
}

static void offer_large(Hall *hall, Value params)
{
    Digest plan = plan_add(hall);
    for (uint32_t i = 0; i < LARGE_BURST; i++, hall->offered++) {
        bool is_taken = engine_start(hall->engine, &(EngineStart){ .plan = plan, .tenant = STR("default"), .reply = replied, .context = hall,
                                                                   .request.params = params, .command.actor = STR("user:test") });
        hall->admitted += is_taken;
        hall->refused += !is_taken;
    }
}

static Value large_params(Hall *hall)
{
    MemberList members = { .arena = &hall->arena };
    char *text = arena_bytes(&hall->arena, LARGE_SIZE);
    memset(text, 'x', LARGE_SIZE);
    member_list_add(&members, STR("large"), value_string((Str){ text, LARGE_SIZE }));
    return member_list_object(&members);
}

TEST(bytes_stay_below_their_bound_under_ten_times_the_capacity_of_runs_with_large_parameters, "proves: E-060 C-94")
{
    Hall *hall = hall_open(&(EngineOptions){ .run_count_max = RUN_MAX, .size_max = LARGE_BOUND });
    if (!hall) return;
    Value params = large_params(hall);
    size_t idle = heap_size() - store_size;
    Peak peak = { 0 };
    /* All that is too much at once: in each burst what ten times the capacity is in the time to the next one. */
    uint32_t between = LARGE_BURST * TAKES_S / (10 * CAPACITY);
    for (uint32_t second = 0; second < LARGE_MINUTES * 60 || hall->ended + hall->failed < hall->admitted; second++) {
        hall->now_ms += 1000;
        if (second < LARGE_MINUTES * 60 && second % between == 0) offer_large(hall, params);
        report_due(hall);
        for (int i = 0; i < 8; i++) turn_and_look(hall, idle, &peak);
        if (!EXPECT(second < DAY_S)) break;                         /* it would go on for ever */
    }
    EngineStats stats = engine_stats(hall->engine);
    EXPECT_INT(hall->ended, hall->admitted);
    EXPECT_INT(hall->failed, 0);
    EXPECT_INT(stats.full_counts[FULL_MEMORY], hall->refused);
    EXPECT(hall->refused > 0 && hall->admitted * LARGE_SIZE > 4u * LARGE_BOUND);
    test_expect(peak.counted <= LARGE_BOUND, __FILE__, __LINE__, "%zu bytes counted, of %d", peak.counted, LARGE_BOUND);
    test_expect(peak.heap <= LARGE_BOUND + LARGE_BESIDE, __FILE__, __LINE__, "%zu bytes allocated, of %d", peak.heap, LARGE_BOUND);
    EXPECT_INT(stats.hot_size, 0);
    hall_close(hall);
}

TEST(an_executor_that_keeps_what_it_is_given_gets_no_more_than_its_share_of_the_memory, "proves: E-060")
{
    Hall *hall = hall_open(&(EngineOptions){ .run_count_max = RUN_MAX, .size_max = 8 * LARGE_SIZE });
    if (!hall) return;
    hall->port.is_keeper = true;
    offer_large(hall, large_params(hall));
    EXPECT(hall->admitted > 4);
    for (uint32_t second = 0; second < HOUR_S && hall->ended < hall->admitted; second++) {
        hall->now_ms += 1000;
        report_due(hall);
        for (int i = 0; i < 8; i++) engine_turn(hall->engine, &(EngineClock){ hall->now_ms, hall->now_ms });
    }
    EXPECT_INT(hall->ended, hall->admitted);
    EXPECT(hall->open_max <= 8 / ENGINE_OUT_SHARE + 1);            /* of the six that it would take */
    hall_close(hall);
}
