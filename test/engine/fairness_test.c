/* What runs have to bear from others, counted and not timed: how much is written for others between a start and its end, and
 * how many turns that takes. The memory store makes a batch durable at each turn, so a turn is what a commit is elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "harness/test.h"
#include "store/memory/memory_store.h"
#include "value/canonical.h"

/* --- an executor that has what it was given until the next turn --------------------------------------------------------- */

#define TAKEN_COUNT_MAX 4096u

typedef struct Hands {
    Executor port;
    AttemptId taken[TAKEN_COUNT_MAX];
    uint32_t taken_count, taken_max, total;
    uint64_t failing;                       /* number of the run whose steps fail */
} Hands;

static bool hands_execute(Executor *executor, const Attempt *attempt)
{
    Hands *hands = (Hands *)executor;
    if (hands->taken_count == TAKEN_COUNT_MAX) return false;
    hands->taken[hands->taken_count++] = attempt->id;
    hands->total++;
    if (hands->taken_count > hands->taken_max) hands->taken_max = hands->taken_count;
    return true;
}

static void hands_end(Executor *executor, const AttemptId *id)
{
    (void)executor;
    (void)id;
}

static void hands_close(Executor *executor) { (void)executor; }

static const ExecutorOps hands_ops = { .execute = hands_execute, .end = hands_end, .close = hands_close };

/* --- the hall ------------------------------------------------------------------------------------------------------------ */

#define SMALL_COUNT 4u

typedef struct Hall {
    Store *store;
    Hands hands;
    Executor *executors[1];
    Engine *engine;
    int64_t now_ms;
    uint64_t chance, turn;
    Digest small, big, flood;
    uint64_t small_no[SMALL_COUNT], begun_turn[SMALL_COUNT], begun_events[SMALL_COUNT], begun_batches[SMALL_COUNT];
    bool is_open[SMALL_COUNT];
    uint64_t big_no;
    uint8_t big_end;                        /* the event that ended it; 0: none */
    uint32_t flood_open, sample_count;
    uint64_t turn_max, event_max, batch_max;        /* of one small run, from its start to its end */
} Hall;

static EngineClock clock_of(const Hall *hall) { return (EngineClock){ hall->now_ms, hall->now_ms }; }

static void turn_engine(Hall *hall, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hall->now_ms++;
        EngineClock clock = clock_of(hall);
        engine_turn(hall->engine, &clock);
    }
}

static void open_engine(Hall *hall, const EngineOptions *options)
{
    Error err;
    EngineClock clock = clock_of(hall);
    EXPECT_OK(engine_open(options, &clock, &hall->engine, &err), &err);
}

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    (void)tenant;
    (void)runner;
    *out = (RunnerOffer){ .executor = &((Hall *)context)->hands.port, .settings = value_null() };
    return true;
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    Hall *hall = context;
    for (size_t i = 0; i < size; i++) {
        hall->chance = hall->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(hall->chance >> 56);
    }
}

static void take_observation(void *context, const Observation *observation)
{
    Hall *hall = context;
    if (observation->kind != OBSERVE_EVENTS) return;
    uint8_t kind = observation->events[observation->event_count - 1].kind;
    uint64_t run_no = observation->run->run_no;
    if (observation->first_event == 1 && str_is_text(observation->plan->id, "big")) hall->big_no = run_no;
    if (kind != EVENT_RUN_SUCCEEDED && kind != EVENT_RUN_FAILED && kind != EVENT_RUN_CANCELLED) return;
    if (run_no == hall->big_no) hall->big_end = kind;
    if (str_is_text(observation->plan->id, "flood")) hall->flood_open--;
    for (uint32_t i = 0; i < SMALL_COUNT; i++) {
        if (!hall->is_open[i] || hall->small_no[i] != run_no) continue;
        uint64_t turns = hall->turn - hall->begun_turn[i];
        uint64_t events = engine_stats(hall->engine).event_count - hall->begun_events[i];
        if (turns > hall->turn_max) hall->turn_max = turns;
        if (events > hall->event_max) hall->event_max = events;
        uint64_t batches = engine_stats(hall->engine).batch_count - hall->begun_batches[i];
        if (batches > hall->batch_max) hall->batch_max = batches;
        hall->is_open[i] = false;
        hall->sample_count++;
    }
}

static Digest add_plan(Hall *hall, const char *id, uint32_t step_count, uint32_t running_max)
{
    Buf text;
    Error err;
    Digest digest = { 0 };
    buf_init(&text, SIZE_MAX);
    buf_format(&text, "{\"config\":{\"max_concurrency\":%u},\"edges\":[],\"format\":1,\"id\":\"%s\",", running_max, id);
    buf_text(&text, "\"kind\":\"workflow\",\"steps\":[");
    for (uint32_t i = 0; i < step_count; i++)
        buf_format(&text, "%s{\"id\":\"s%u\",\"kind\":\"task\",\"name\":\"s%u\",\"run\":\"noop\"}", i ? "," : "", i, i);
    buf_format(&text, "],\"tenant\":\"%s\"}", id);
    EXPECT_OK(engine_plan_add(hall->engine, buf_peek(&text), &digest, &err), &err);
    buf_deinit(&text);
    return digest;
}

static void open_hall(Hall *hall, const EngineOptions *given)
{
    memset(hall, 0, sizeof *hall);
    hall->store = memory_store_new(NULL);
    hall->hands.port = (Executor){ .ops = &hands_ops, .name = STR("hands"), .kind = STR("native"), .capacity = 1024 };
    hall->executors[0] = &hall->hands.port;
    hall->now_ms = 1800000000000;
    EngineOptions options = *given;
    options.store = hall->store;
    options.log = 1;
    options.executors = hall->executors;
    options.executor_count = 1;
    options.runner = find_runner;
    options.random = chance;
    options.context = hall;
    open_engine(hall, &options);
    engine_observe(hall->engine, take_observation, hall);
}

static void close_hall(Hall *hall)
{
    engine_close(hall->engine);
    store_close(hall->store);
}

static void take_small(void *context, const EngineReply *reply)
{
    EXPECT_INT(reply->status, OK);
    *(uint64_t *)context = reply->run_no;
}

static void start(Hall *hall, const Digest *plan, const char *tenant, ReplyTo reply, void *context)
{
    EngineStart request = { .plan = *plan, .tenant = str_of(tenant), .command.actor = STR("user:test"), .reply = reply,
                            .context = context };
    EXPECT(engine_start(hall->engine, &request));
}

static void report_taken(Hall *hall)
{
    uint32_t count = hall->hands.taken_count;
    AttemptId taken[TAKEN_COUNT_MAX];
    memcpy(taken, hall->hands.taken, count * sizeof *taken);
    hall->hands.taken_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        Notice notice = { .kind = NOTICE_REPORT, .id = taken[i], .value = value_null(), .report.output = value_null() };
        if (taken[i].run_no == hall->hands.failing) notice.report.cause = CAUSE_PERMANENT;
        engine_notice(hall->engine, &notice);
    }
}

/* One turn in which the measured tenant has its few runs under way, and another one as many as it likes. */
static void turn(Hall *hall, uint32_t flood_count)
{
    for (uint32_t i = 0; i < SMALL_COUNT; i++) {
        if (hall->is_open[i]) continue;
        hall->is_open[i] = true;
        hall->begun_turn[i] = hall->turn;
        hall->begun_events[i] = engine_stats(hall->engine).event_count;
        hall->begun_batches[i] = engine_stats(hall->engine).batch_count;
        start(hall, &hall->small, "small", take_small, &hall->small_no[i]);
    }
    for (; hall->flood_open < flood_count; hall->flood_open++) start(hall, &hall->flood, "flood", NULL, NULL);
    report_taken(hall);
    hall->turn++;
    turn_engine(hall, 1);
}

typedef struct Borne { uint64_t turn_max, event_max, batch_max; uint32_t count; } Borne;

/* The most that a small run had to bear until then; then it is counted anew. */
static Borne borne(Hall *hall)
{
    Borne result = { hall->turn_max, hall->event_max, hall->batch_max, hall->sample_count };
    hall->turn_max = hall->event_max = hall->batch_max = hall->sample_count = 0;
    return result;
}

static Borne alone(Hall *hall)
{
    for (int i = 0; i < 400; i++) turn(hall, 0);
    borne(hall);
    for (int i = 0; i < 400; i++) turn(hall, 0);
    return borne(hall);
}

/* What others may have written meanwhile: of each batch a share, a decision that was begun below it included. */
static uint64_t bearable(uint64_t turn_count)
{
    return turn_count * (BATCH_SHARE_MIN + 2 * DECISION_WEIGHT_MAX + 128);
}

TEST(a_run_of_a_hundred_thousand_steps_leaves_others_their_turns, "")
{
    static const struct { const char *name; bool fails, is_cancelled; uint8_t want; } rows[] = {
        { "it is started and carried out", false, false, EVENT_RUN_SUCCEEDED },
        { "it fails", true, false, EVENT_RUN_FAILED },
        { "it is cancelled", false, true, EVENT_RUN_CANCELLED },
    };
    static Hall hall;
    open_hall(&hall, &(EngineOptions){ 0 });
    hall.small = add_plan(&hall, "small", 1, 10);
    hall.big = add_plan(&hall, "big", 100000, 256);
    Borne before = alone(&hall);
    EXPECT(before.count > 100);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        hall.big_end = 0;
        hall.big_no = hall.hands.failing = 0;
        start(&hall, &hall.big, "big", NULL, NULL);
        for (int n = 0; !hall.big_end && n < 100000; n++) {
            if (hall.big_no && rows[i].fails) hall.hands.failing = hall.big_no;
            EngineRequest cancel = { .run_no = hall.big_no, .command = { .kind = COMMAND_CANCEL, .value = value_null() } };
            if (rows[i].is_cancelled && n == 5) EXPECT(hall.big_no && engine_request(hall.engine, &cancel));
            turn(&hall, 0);
        }
        EXPECT_INT(hall.big_end, rows[i].want);
        Borne beside = borne(&hall);
        EXPECT(beside.count > 10);
        EXPECT(beside.turn_max < 3 * before.turn_max);
        EXPECT(beside.event_max <= before.event_max + bearable(beside.turn_max));
    }
    close_hall(&hall);
}

TEST(a_tenant_that_offers_fifty_times_as_much_waits_for_itself, "")
{
    static Hall hall;
    open_hall(&hall, &(EngineOptions){ 0 });
    hall.small = add_plan(&hall, "small", 1, 10);
    hall.flood = add_plan(&hall, "flood", 1, 10);
    Borne before = alone(&hall);
    for (int i = 0; i < 400; i++) turn(&hall, SMALL_COUNT * 50);
    Borne beside = borne(&hall);
    EXPECT(beside.count > 100);
    EXPECT(beside.batch_max <= 2);          /* its start and its end: what was handed over and has ended is in the next commit */
    EXPECT(beside.turn_max < 2 * before.turn_max);
    EXPECT(beside.event_max <= before.event_max + bearable(beside.turn_max));
    close_hall(&hall);
}

TEST(a_tenant_never_has_more_under_way_than_its_ceiling, "proves: F-111")
{
    static Hall hall;
    enum { CEILING = 7 };
    open_hall(&hall, &(EngineOptions){ .tenant_running_max = CEILING });
    hall.big = add_plan(&hall, "big", 100, 100);
    for (int i = 0; i < 5; i++) start(&hall, &hall.big, "big", NULL, NULL);       /* 500 steps that could all begin */
    for (int i = 0; i < 2000 && hall.hands.total < 500; i++) {
        turn_engine(&hall, 1);
        EXPECT(engine_stats(hall.engine).attempt_under_way <= CEILING);
        if (i % 3 == 2) report_taken(&hall);
    }
    EXPECT_INT(hall.hands.total, 500);                                              /* and all are carried out in the end */
    EXPECT_INT(hall.hands.taken_max, CEILING);                                      /* it was reached, and not passed */
    close_hall(&hall);
}

/* --- what is durable before an attempt is handed over ---------------------------------------------------------------------- */

static MemoryFault hold_all(void *context, bool is_read, uint64_t number)
{
    (void)number;
    return !is_read && *(const bool *)context ? MEMORY_FAULT_HOLD : MEMORY_FAULT_NONE;
}

TEST(nothing_is_dispatched_before_its_record_is_durable_and_after_a_crash_once, "proves: F-115")
{
    static Hall hall;
    bool is_held = false;
    for (uint32_t written = 0; written <= 1; written++) {                           /* the crash: before, or after the record */
        ROW(written ? "the record was written" : "the record was lost");
        open_hall(&hall, &(EngineOptions){ 0 });
        engine_close(hall.engine);
        store_close(hall.store);
        hall.store = memory_store_new(&(MemoryOptions){ .fault = hold_all, .context = &is_held });
        EngineOptions options = { .store = hall.store, .log = 1, .executors = hall.executors, .executor_count = 1,
                                  .runner = find_runner, .random = chance, .context = &hall };
        open_engine(&hall, &options);
        hall.small = add_plan(&hall, "small", 1, 10);
        turn_engine(&hall, 50);
        is_held = true;
        start(&hall, &hall.small, "small", NULL, NULL);
        turn_engine(&hall, 50);
        EXPECT_INT(hall.hands.total, 0);                                            /* decided, on its way, and not durable */
        EXPECT_INT(memory_store_crash(hall.store, written), 1);
        engine_close(hall.engine);
        is_held = false;
        open_engine(&hall, &options);
        turn_engine(&hall, 50);
        EXPECT_INT(hall.hands.total, written);                                      /* what the record says is done, and once */
        if (written) {                                              /* a crash after the hand-over: the same attempt */
            AttemptId first = hall.hands.taken[0];
            memory_store_crash(hall.store, 0);
            engine_close(hall.engine);
            hall.hands.taken_count = 0;
            open_engine(&hall, &options);
            turn_engine(&hall, 50);
            EXPECT_INT(hall.hands.taken_count, 1);
            EXPECT_INT(hall.hands.taken[0].attempt, first.attempt);                 /* known by its number and key */
            report_taken(&hall);
            turn_engine(&hall, 50);
            EXPECT_INT(hall.hands.taken_count, 0);                                  /* and never again once it has reported */
        }
        close_hall(&hall);
    }
}

/* --- priorities ------------------------------------------------------------------------------------------------------------------------ */

/* A run of one step, of that priority; its number is 1 for the first one. */
static void start_level(Hall *hall, const char *level)
{
    Buf text;
    Error err;
    Digest digest = { 0 };
    buf_init(&text, SIZE_MAX);
    buf_format(&text, "{\"edges\":[],\"format\":1,\"id\":\"w-%s\",\"kind\":\"workflow\",\"priority\":\"%s\",\"steps\":[{\"id\":\"s\","
               "\"kind\":\"task\",\"name\":\"s\",\"run\":\"noop\"}],\"tenant\":\"one\"}", level, level);
    EXPECT_OK(engine_plan_add(hall->engine, buf_peek(&text), &digest, &err), &err);
    buf_deinit(&text);
    start(hall, &digest, "one", NULL, NULL);
    turn_engine(hall, 5);
}

/* Which run has the only place; then it is free. */
static uint64_t next_run(Hall *hall)
{
    turn_engine(hall, 5);
    if (!EXPECT_INT(hall->hands.taken_count, 1)) return 0;
    uint64_t run_no = hall->hands.taken[0].run_no;
    report_taken(hall);
    return run_no;
}

TEST(who_waits_for_room_goes_by_the_priority_of_its_steps_and_age_raises_one_level, "proves: F-021 G-16")
{
    Hall hall;
    open_hall(&hall, &(EngineOptions){ 0 });
    hall.hands.port.capacity = 1;
    start_level(&hall, "normal");                                   /* 1: has the place */
    static const char *const levels[] = { "low", "normal", "high", "critical", "normal", "critical" };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) start_level(&hall, levels[i]);
    static const uint64_t order[] = { 1, 5, 7, 4, 3, 6, 2 };        /* by level, and of one level first come, first served */
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) EXPECT_INT(next_run(&hall), order[i]);

    start_level(&hall, "normal");                                   /* 8 */
    start_level(&hall, "low");                                      /* 9 */
    hall.now_ms += PRIORITY_AGE_MS;                                 /* by now it counts as normal, and came before them */
    start_level(&hall, "normal");
    start_level(&hall, "high");
    start_level(&hall, "critical");
    static const uint64_t aged[] = { 8, 12, 11, 9, 10 };
    for (size_t i = 0; i < sizeof aged / sizeof *aged; i++) EXPECT_INT(next_run(&hall), aged[i]);
    close_hall(&hall);
}
