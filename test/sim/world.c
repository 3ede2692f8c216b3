#include "sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "sim/audit.h"
#include "sim/watch.h"

#define BEGIN_MS INT64_C(1800000000000)

/* --- what is told ------------------------------------------------------------------------------------------------------------------ */

void world_fail(World *world, const char *format, ...)
{
    if (world->is_failed) return;
    world->is_failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
}

void world_note(World *world, const char *format, ...)
{
    if (!world->is_verbose || world->is_failed) return;
    printf("%10" PRId64 "  ", world->now_ms - BEGIN_MS);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

/* --- faults ------------------------------------------------------------------------------------------------------------------------ */

static MemoryFault fault(void *context, bool is_read, uint64_t number)
{
    World *world = context;
    const Weather *weather = &world->weather;
    (void)number;
    if (world->is_calm) return MEMORY_FAULT_NONE;
    if (is_read) {
        if (chance(world, weather->read_hold)) return MEMORY_FAULT_HOLD;
        return chance(world, weather->read_fail) ? MEMORY_FAULT_REFUSE : MEMORY_FAULT_NONE;
    }
    static const struct { MemoryFault fault; const char *name; } kinds[] = {
        { MEMORY_FAULT_HOLD, NULL }, { MEMORY_FAULT_REFUSE, "refused" }, { MEMORY_FAULT_LOSE, "lost" },
        { MEMORY_FAULT_KEEP, "kept, and not known" }, { MEMORY_FAULT_FENCE, "fenced" },
    };
    const uint32_t chances[] = { weather->hold, weather->refuse, weather->lose, weather->keep, weather->fence };
    for (uint32_t i = 0; i < 5; i++) {
        if (!chance(world, chances[i])) continue;
        if (kinds[i].name) world_note(world, "commit %" PRIu64 " is %s", number, kinds[i].name);
        return kinds[i].fault;
    }
    return MEMORY_FAULT_NONE;
}

static void make_weather(World *world)
{
    Weather *weather = &world->weather;
    *weather = (Weather){ .slow_ms = 1 + below(world, 800), .fail = below(world, 3000), .meddle = below(world, 1500) };
    if (below(world, 2)) weather->hold = below(world, 6000);
    if (below(world, 2)) weather->read_hold = below(world, 5000);
    if (below(world, 4) == 0) weather->read_fail = below(world, 400);
    if (below(world, 3) == 0) weather->refuse = below(world, 400);
    if (below(world, 3) == 0) weather->lose = below(world, 400);
    if (below(world, 3) == 0) weather->keep = below(world, 400);
    if (below(world, 5) == 0) weather->fence = below(world, 200);
    if (below(world, 3)) weather->crash = below(world, 500);
    if (below(world, 3) == 0) weather->jump = below(world, 300);
    if (below(world, 2)) weather->hang = below(world, 800);
    if (below(world, 2)) weather->repeat = below(world, 3000);
    weather->linger_ms = below(world, 3) ? 40 : below(world, 20000) + 1;
    if (below(world, 2)) weather->ghost = below(world, 6000);
    if (below(world, 4) == 0) weather->deny = below(world, 500);
    if (below(world, 6) == 0) weather->spite = below(world, 3000);
}

/* --- the engine --------------------------------------------------------------------------------------------------------------------- */

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    World *world = context;
    (void)tenant;
    bool is_log = str_is_text(runner, "log"), is_known = is_log || str_is_text(runner, "noop");
    if (!is_known || nth > world->is_shared) return false;
    *out = (RunnerOffer){ .executor = world->ports[is_log ^ nth], .settings = value_null() };
    return true;
}

static void take_chance(void *context, uint8_t *bytes, size_t size)
{
    World *world = context;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)below(world, 256);
}

/* Each plan has policies of its own, known by the digest of the plan. */
static Digest give_policies(void *context, const Plan *plan)
{
    (void)context;
    return plan->digest;
}

static Verdict give_verdict(void *context, const VerdictAsk *ask)
{
    World *world = context;
    Verdict verdict = { .kind = VERDICT_ALLOW, .policy = give_policies(context, ask->plan) };
    if (world->is_calm || !chance(world, world->weather.deny)) return verdict;
    verdict.kind = VERDICT_DENY;
    verdict.text = STR("not today");
    return verdict;
}

static bool take_epoch(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = (uint64_t)cells[LOG_HEADS_epoch].integer;
    return false;
}

static uint64_t read_epoch(World *world)
{
    uint64_t epoch = 0;
    Error err;
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (store_select(world->store, &ask, take_epoch, &epoch, &err)) world_fail(world, "%s", err.text);
    return epoch;
}

/* In some worlds two tenants are held to something: what lacks room, time or money waits, is ended, or goes on in the next window. */
static const TenantQuota quotas[] = {
    { STR_INIT("acme"), { .running_max = 2, .cpu_milli_max = 3000, .window_ms = 60000 } },
    { STR_INIT("umbrella"), { .runtime_ms_max = 20000, .has_cost_max = true, .cost_micro_max = 40, .window_ms = 60000 } },
};

static uint32_t quota_count(const World *world) { return world->seed % 6 == 0 ? sizeof quotas / sizeof *quotas : 0; }

uint32_t world_ceiling(const World *world, Str tenant)
{
    for (uint32_t i = 0; i < quota_count(world); i++)
        if (str_is(quotas[i].tenant, tenant)) return (uint32_t)quotas[i].terms.running_max;
    return 0;
}

static void open_engine(World *world)
{
    world->jump_count = 0;                          /* what the last one did not write down nobody knows */
    world->skew_seen_ms = world->skew_ms;
    EngineOptions options = { .store = world->store, .log = 1, .owner = STR("sim"), .executors = world->ports,
                              .executor_count = EXECUTORS, .runner = find_runner, .random = take_chance,
                              .verdict = give_verdict, .policies = give_policies, .verdict_context = world, .context = world,
                              .queue_count_max = world->seed % 7 == 0 ? 12 : 0,
                              .tenant_running_max = world->seed % 5 == 0 ? 3 : 0,
                              .quotas = quotas, .quota_count = quota_count(world),
                              .request_ms = INT64_C(3600000) * 24 * 365 };      /* clocks jump, and nothing is to be forgotten */
    Error err;
    if (engine_open(&options, &(EngineClock){ world->now_ms + world->skew_ms, world->now_ms }, &world->engine, &err)) {
        world_fail(world, "no engine: %s", err.text);
        return;
    }
    world->engine_count++;
    world->holder_epoch = read_epoch(world);
    engine_observe(world->engine, watch_observe, world->watch);
}

/* The process is killed: what it had in flight is there or not, as the disk pleased, and nobody gets an answer. */
static void crash(World *world, const char *why)
{
    uint32_t written = below(world, 4);
    uint32_t in_flight = memory_store_crash(world->store, written);
    world_note(world, "--- %s; of %u commits in flight at most %u were written", why, in_flight, written);
    engine_close(world->engine);
    world->engine = NULL;
    for (uint32_t i = 0; i < world->ask_count; i++)
        if (!world->asks[i].is_answered) world->asks[i].is_lost = true;
    attempts_crash(world);
    watch_sync(world->watch);
    open_engine(world);
}

static void turn_engine(World *world)
{
    int64_t by = world->skew_ms - world->skew_seen_ms;
    world->skew_seen_ms = world->skew_ms;
    if ((by > CLOCK_JUMP_MS || by < -CLOCK_JUMP_MS) && world->jump_count < JUMPS_MAX) world->jumps[world->jump_count++] = by;
    engine_turn(world->engine, &(EngineClock){ world->now_ms + world->skew_ms, world->now_ms });
}

/* The process ends of its own will: it starts nothing more, and lets end what runs, as far as that takes no longer than this. */
static void drain(World *world)
{
    world_note(world, "--- told to end");
    for (uint32_t i = 0; i < 40 && !world->is_failed && engine_state(world->engine) != ENGINE_FENCED; i++) {
        if (engine_drain(world->engine)) break;
        attempts_deliver(world);
        turn_engine(world);
        world->now_ms += below(world, 50);
    }
}

/* What it still has then it gives back, unless its patience ends or the store refuses: then it has died as far as the log knows. */
static void give_back(World *world)
{
    for (uint32_t i = 0; i < 40 && !world->is_failed && !engine_trouble(world->engine); i++) {
        if (engine_release(world->engine)) break;
        attempts_deliver(world);
        turn_engine(world);
        watch_sync(world->watch);
    }
}

/* --- time --------------------------------------------------------------------------------------------------------------------------- */

static int64_t engine_due(const World *world)
{
    int64_t due = engine_due_ms(world->engine);
    return due == INT64_MAX ? due : due - world->skew_ms;
}

static void pass_time(World *world)
{
    int64_t due = attempts_due_ms(world), next = engine_due(world);
    if (next < due) due = next;
    switch (below(world, 8)) {
    case 0: case 1: break;                                          /* much happens in one moment */
    case 2: world->now_ms += below(world, 300); break;
    default:
        if (due > world->now_ms && due < world->now_ms + 30000) world->now_ms = due;
        else world->now_ms += below(world, 20);
        break;
    }
}

static void jump_clock(World *world)
{
    int64_t by = (int64_t)below(world, 600000) - 300000;
    if (below(world, 5) == 0) by *= 20;
    world->skew_ms += by;
    world_note(world, "--- the clock jumps by %" PRId64 " ms", by);
}

static void turn(World *world)
{
    world->turn_count++;
    turn_engine(world);
    watch_sync(world->watch);
    if (engine_state(world->engine) == ENGINE_FENCED && !world->is_failed) crash(world, "another owner took the log");
}

/* --- the story ------------------------------------------------------------------------------------------------------------------------ */

static bool all_settled(const World *world)
{
    for (uint64_t i = 0; i < world->watch->run_end; i++)
        if (world->watch->runs[i] && !watch_is_settled(world->watch->runs[i])) return false;
    return true;
}

static void storm(World *world)
{
    const Weather *weather = &world->weather;
    uint32_t rounds = 40 + world->start_count * (4 + below(world, 12));
    for (uint32_t round = 0; round < rounds && !world->is_failed; round++) {
        if (world->started_count < world->start_count && below(world, 3) == 0)
            for (uint32_t count = 1 + below(world, 4); count && world->started_count < world->start_count; count--)
                people_start(world);
        if (chance(world, weather->meddle)) people_meddle(world);
        if (chance(world, weather->meddle)) people_repeat(world);
        if (chance(world, weather->jump)) jump_clock(world);
        attempts_deliver(world);
        for (uint32_t turns = 1 + below(world, 3); turns && !world->is_failed; turns--) turn(world);
        bool is_worst = world->watch->is_delicate && chance(world, weather->spite);
        world->watch->is_delicate = false;
        if ((is_worst || chance(world, weather->crash)) && !world->is_failed) {
            bool is_orderly = below(world, 4) == 0;
            if (is_orderly) drain(world);
            if (is_orderly && below(world, 3)) give_back(world);
            crash(world, is_orderly ? "ended" : "killed");
        }
        if (world->started_count == world->start_count && round % 16 == 0 && all_settled(world)) break;
        pass_time(world);
    }
    while (world->started_count < world->start_count && !world->is_failed) people_start(world);
}

static void tell_stuck(World *world)
{
    for (uint64_t i = 0; i < world->watch->run_end; i++) {
        const WatchRun *run = world->watch->runs[i];
        if (!run || watch_is_settled(run)) continue;
        char text[512];
        Buf buf = buf_on(text, sizeof text - 1);
        for (uint32_t s = 0; s < run->run.step_count && buf.len < 400; s++)
            if (!step_state_is_final((StepState)run->run.steps[s].state))
                buf_format(&buf, " %u:%s%s", s, step_state_name((StepState)run->run.steps[s].state),
                           run->run.steps[s].flags & STEP_ENDING ? "(ending)" : "");
        text[buf.len] = '\0';
        world_fail(world, "run %" PRIu64 " (%.*s) does not end: it is %s%s, steps%s", run->run_no, STR_ARG(run->run.definition),
                   run_state_name((RunState)run->run.state), run->run.is_cancelling ? ", cancelling" : run->run.is_failing ? ", failing" : "", text);
        return;
    }
    EngineStats stats = engine_stats(world->engine);
    world_fail(world, "every run has ended, and the engine is not idle: %u attempts under way, %u batches, %u runs in memory",
               stats.attempt_under_way, stats.batch_under_way, stats.run_count);
}

/* Without faults everything ends: by itself, or because somebody resumes and signals what waits for that. */
static void calm(World *world)
{
    world_note(world, "--- calm");
    world->is_calm = true;
    uint64_t records = 0;
    for (uint32_t round = 0, stale = 0; !world->is_failed; round++) {
        attempts_deliver(world);
        turn(world);
        if (world->watch->record_count != records) stale = 0;
        records = world->watch->record_count;
        if (round % 4) continue;
        if (all_settled(world) && engine_is_idle(world->engine) && attempts_due_ms(world) == INT64_MAX) return;
        int64_t due = attempts_due_ms(world), next = engine_due(world);
        if (next < due) due = next;
        if (due > world->now_ms && due != INT64_MAX) world->now_ms = due;
        else world->now_ms++;
        stale++;
        if (stale % 6 == 3 && engine_state(world->engine) == ENGINE_RUNNING) attempts_calm(world);
        if (stale % 8 == 0 || round % 512 == 0) people_settle(world);         /* reminders never cease by themselves */
        if (stale > 200 || round > 400000) tell_stuck(world);
    }
}

/* The log tells of its last owner, and of every jump of the clock that this one has seen. */
static void check_log(World *world)
{
    uint64_t epoch = read_epoch(world);
    if (epoch != world->watch->owner_epoch)
        world_fail(world, "the log tells of owner %" PRIu64 ", and owner %" PRIu64 " has it", world->watch->owner_epoch, epoch);
    if (world->jump_count) world_fail(world, "%u jumps of the clock were not written down", world->jump_count);
}

static void check_asks(World *world)
{
    for (uint32_t i = 0; i < world->ask_count && !world->is_failed; i++)
        if (!world->asks[i].is_answered && !world->asks[i].is_lost) world_fail(world, "c%u was never answered", i);
}

bool world_run(World *world)
{
    if (!plans_make(world)) return false;
    open_engine(world);
    if (!world->is_failed) storm(world);
    if (!world->is_failed) calm(world);
    if (!world->is_failed) check_asks(world);
    if (!world->is_failed) check_log(world);
    if (!world->is_failed) audit(world);
    return !world->is_failed;
}

void world_init(World *world, uint64_t seed, bool is_verbose)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->is_verbose = is_verbose;
    world->random.state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 8; i++) random_next(&world->random);
    world->now_ms = BEGIN_MS;
    world->start_count = 1 + below(world, RUNS_MAX / 2);
    arena_init(&world->arena, SIZE_MAX);
    arena_init(&world->scratch, SIZE_MAX);
    world->watch = watch_new(world);
    make_weather(world);
    world->store = memory_store_new(&(MemoryOptions){ .fault = fault, .context = world });
    attempts_init(world);
}

void world_deinit(World *world)
{
    if (world->store) memory_store_crash(world->store, 0);
    engine_close(world->engine);
    watch_free(world->watch);
    store_close(world->store);
    arena_deinit(&world->arena);
    arena_deinit(&world->scratch);
}
