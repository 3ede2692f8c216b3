/* Pulled work with the engine behind it: leases, what is committed together, workers and owners that vanish. */
#include "exec/worker/worker.h"

#include <stdlib.h>
#include <string.h>

#include "engine/breaker.h"
#include "engine/engine.h"
#include "engine/meter.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "store/memory/memory_store.h"
#include "value/json.h"
#include "view/store.h"

enum { WORKER_MAX = 40, HELD_MAX = 64 };

/* What a worker has heard. */
typedef struct Helper {
    char name[16];
    uint32_t answer_count, accepted, refused, cancelled;
    Str tokens[HELD_MAX];               /* leased, not reported */
    uint32_t token_count;
    char tenants[HELD_MAX];             /* first letters of those of its leases, in their order */
    uint32_t lease_count;
    struct Yard *yard;
} Helper;

typedef struct Yard {
    Store *store;
    Engine *engine;
    Executor *pool;
    Executor *executors[2];         /* the pool, and one that has nothing to do: every process has some of these */
    int64_t now_ms, skew_ms;            /* what passes, and what somebody put the wall clock on by */
    uint64_t chance;
    Arena arena;
    EngineReply reply;
    Value settings;                     /* of the runner */
    const TenantQuota *quotas;          /* for the next owner, as are: */
    uint32_t quota_count;
    uint32_t capacity, ceiling;
    const Site *site;
    Str cause;                          /* of the failure of a run */
    Helper helpers[WORKER_MAX];
} Yard;

static bool hear(void *context, const Notice *notice)
{
    engine_notice(((Yard *)context)->engine, notice);
    return true;
}

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    (void)tenant;
    *out = (RunnerOffer){ .executor = ((Yard *)context)->pool, .settings = ((Yard *)context)->settings };
    return str_is_text(runner, "noop") || str_is_text(runner, "log");
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    Yard *yard = context;
    for (size_t i = 0; i < size; i++) {
        yard->chance = yard->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(yard->chance >> 56);
    }
}

static Value json(Yard *yard, const char *text)
{
    Value value = value_null();
    Error err;
    EXPECT_OK(json_parse(&yard->arena, arena_copy(&yard->arena, str_of(text)), &value, &err), &err);
    return value;
}

/* b weighs 2, c weighs 3. */
static uint32_t weight(void *context, Str tenant)
{
    (void)context;
    return str_is_text(tenant, "b") ? 2 : str_is_text(tenant, "c") ? 3 : 1;
}

static void own(Yard *yard)
{
    static const SealKey key = { { 7 } };           /* each owner of the store has it */
    Error err;
    WorkerOptions worker = { .name = STR("workers"),
                             .runners = json(yard, "{\"noop\":{\"queue\":\"q\"},\"log\":{\"queue\":\"d\"}}"),
                             .lease_ms = 30000, .capacity = yard->capacity, .token_key = &key, .sink = { hear, yard } };
    WorkerOptions idle = { .name = STR("idle"), .runners = json(yard, "{\"never\":{}}"), .lease_ms = 30000, .sink = { hear, yard } };
    EXPECT_OK(worker_executor_open(&worker, &yard->pool, &err), &err);
    EXPECT_OK(worker_executor_open(&idle, &yard->executors[1], &err), &err);
    yard->pool->site = yard->site;
    yard->executors[0] = yard->pool;
    EngineOptions options = { .store = yard->store, .log = 1, .tenant_running_max = yard->ceiling,
                              .executors = yard->executors, .executor_count = 2, .runner = find_runner,
                              .weight = weight, .random = chance, .context = yard, .quotas = yard->quotas,
                              .quota_count = yard->quota_count };
    EXPECT_OK(engine_open(&options, &(EngineClock){ yard->now_ms, yard->now_ms }, &yard->engine, &err), &err);
}

static void yard_open(Yard *yard)
{
    memset(yard, 0, sizeof *yard);
    arena_init(&yard->arena, SIZE_MAX);
    yard->store = memory_store_new(NULL);
    yard->now_ms = 1766000000000;
    yard->settings = value_null();
    for (int i = 0; i < WORKER_MAX; i++) {
        yard->helpers[i].yard = yard;
        Buf name = buf_on(yard->helpers[i].name, sizeof yard->helpers[i].name);
        buf_format(&name, "w%d", i);
    }
    own(yard);
}

/* The process is gone, with whatever was not durable. */
static void kill_owner(Yard *yard)
{
    engine_close(yard->engine);
    yard->pool->ops->close(yard->pool);
    yard->executors[1]->ops->close(yard->executors[1]);
}

static void yard_close(Yard *yard)
{
    kill_owner(yard);
    store_close(yard->store);
    arena_deinit(&yard->arena);
}

static void turns(Yard *yard)
{
    for (int i = 0; i < 40; i++) engine_turn(yard->engine, &(EngineClock){ yard->now_ms + yard->skew_ms, yard->now_ms });
}

static void pass(Yard *yard, int64_t ms)
{
    yard->now_ms += ms;
    turns(yard);
}

static void take_reply(void *context, const EngineReply *reply)
{
    ((Yard *)context)->reply = *reply;
}

static uint64_t start(Yard *yard, const char *text)
{
    Catalog catalog;
    Compiled compiled;
    Buf document;
    Error err;
    Digest digest;
    catalog_init(&catalog, &yard->arena);
    compile(&yard->arena, str_of(text), &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    EXPECT(compiled.is_valid);
    buf_init(&document, SIZE_MAX);
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(yard->engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    EXPECT(engine_start(yard->engine,
                        &(EngineStart){ .plan = digest, .tenant = compiled.plan.tenant, .reply = take_reply,
                                        .context = yard, .command.actor = STR("user:test") }));
    turns(yard);
    EXPECT_INT(yard->reply.status, OK);
    return yard->reply.run_no;
}

static void heard(void *context, Value answer)
{
    Helper *helper = context;
    const Value *leases = value_get_text(answer, "leases"), *results = value_get_text(answer, "results");
    helper->answer_count++;
    helper->cancelled += value_get_text(answer, "cancels")->count;
    for (uint32_t i = 0; i < results->count; i++) {
        if (str_is_text(value_get_string(results->items[i], "result", STR("")), "accepted")) helper->accepted++;
        else helper->refused++;
    }
    for (uint32_t i = 0; i < leases->count && helper->lease_count < HELD_MAX; i++)
        helper->tenants[helper->lease_count++] = value_get_string(leases->items[i], "tenant", STR("?")).ptr[0];
    for (uint32_t i = 0; i < leases->count && helper->token_count < HELD_MAX; i++)
        helper->tokens[helper->token_count++] = arena_copy(&helper->yard->arena, value_get_string(leases->items[i], "token", STR("")));
}

static void exchange(Yard *yard, Helper *helper, Str text)
{
    Error err;
    Value request = value_null();
    EXPECT_OK(json_parse(&yard->arena, text, &request, &err), &err);
    EXPECT_OK(worker_exchange(yard->pool, &(WorkerCredential){ .worker = str_of(helper->name) }, request, heard, helper, &err), &err);
    turns(yard);
}

static void pull(Yard *yard, Helper *helper, uint32_t want)
{
    exchange(yard, helper, arena_format(&yard->arena, "{\"want\":%u,\"wait_ms\":60000}", want));
}

/* All that it has, and so much more. */
static void report(Yard *yard, Helper *helper, uint32_t want)
{
    Buf body;
    buf_init(&body, 1u << 20);
    buf_text(&body, "{\"reports\":[");
    for (uint32_t i = 0; i < helper->token_count; i++)
        buf_format(&body, "%s{\"token\":\"%.*s\",\"output\":%u}", i ? "," : "", STR_ARG(helper->tokens[i]), i);
    buf_format(&body, "],\"want\":%u,\"wait_ms\":%u}", want, want ? 60000u : 0u);
    helper->token_count = 0;
    exchange(yard, helper, arena_copy(&yard->arena, buf_peek(&body)));
    buf_deinit(&body);
}

static bool count_row(void *context, const Cell *cells, uint32_t count)
{
    Str *wanted = ((void **)context)[0];
    (void)count;
    if (str_is(cells[RUNS_state].text, *wanted)) ++*(uint32_t *)((void **)context)[1];
    return true;
}

static uint32_t runs_in(Yard *yard, uint64_t last, const char *state)
{
    Error err;
    uint32_t count = 0;
    Str wanted = str_of(state);
    for (uint64_t run_no = 1; run_no <= last; run_no++) {
        QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
        void *context[] = { &wanted, &count };
        EXPECT_OK(store_select(yard->store, &ask, count_row, context, &err), &err);
    }
    return count;
}

#define CHAIN "workflow: w\njobs:\n  a: { tasks: [{ run: noop, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n" \
              "  b: { needs: [a], tasks: [{ run: noop, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n"
#define ONE "workflow: w\njobs:\n  a: { tasks: [{ run: noop, idempotency: replay-safe, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n"

TEST(worker_report_and_next_lease_are_one_commit, "proves: F-071 F-072 C-33")
{
    Yard yard;
    yard_open(&yard);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, CHAIN);
    EXPECT_INT(engine_stats(yard.engine).attempt_under_way, 0);            /* what nobody asks for is not given */
    pull(&yard, helper, 1);
    EXPECT_INT(helper->token_count, 1);
    uint64_t commits = engine_stats(yard.engine).batch_count;
    report(&yard, helper, 1);
    EXPECT_INT(helper->accepted, 1);
    EXPECT_INT(helper->token_count, 1);                                    /* of the next step */
    EXPECT_INT(engine_stats(yard.engine).batch_count, commits + 1);
    report(&yard, helper, 0);
    EXPECT_INT(helper->accepted, 2);
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    yard_close(&yard);
}

TEST(worker_that_vanishes_loses_its_lease_and_its_late_report_is_refused, "proves: F-086 F-087 F-116")
{
    Yard yard;
    yard_open(&yard);
    Helper *lost = &yard.helpers[0], *other = &yard.helpers[1];
    uint64_t run = start(&yard, ONE);
    pull(&yard, lost, 1);
    EXPECT_INT(lost->token_count, 1);
    pull(&yard, other, 1);
    for (int i = 0; i < 29; i++) pass(&yard, 1000);
    EXPECT_INT(other->token_count, 0);
    for (int i = 0; i < 10; i++) pass(&yard, 1000);                        /* its lease, and then the delay of the retry */
    EXPECT_INT(other->token_count, 1);
    report(&yard, lost, 0);
    EXPECT_INT(lost->refused, 1);
    EXPECT_INT(lost->accepted, 0);
    EXPECT_INT(runs_in(&yard, run, "RUNNING"), 1);                         /* unmoved by it */
    report(&yard, other, 0);
    EXPECT_INT(other->accepted, 1);
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    yard_close(&yard);
}

TEST(worker_that_is_heard_of_keeps_its_lease, "proves: F-072 F-086")
{
    Yard yard;
    yard_open(&yard);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, helper, 1);
    for (int i = 0; i < 20; i++) {
        pass(&yard, 20000);
        exchange(&yard, helper, arena_format(&yard.arena, "{\"heartbeats\":[\"%.*s\"]}", STR_ARG(helper->tokens[0])));
    }
    report(&yard, helper, 0);
    EXPECT_INT(helper->accepted, 1);
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    yard_close(&yard);
}

TEST(clock_that_is_set_takes_nobodys_lease_and_keeps_none_that_ran_out, "proves: F-072 F-086 F-116")
{
    static const struct { const char *name; int64_t by_ms; } rows[] = {
        { "put on by a day",     86400000 },
        { "put on by a term",       30000 },
        { "put back by an hour", -3600000 },
        { "and on again",         3600000 },
    };
    Yard yard;
    yard_open(&yard);
    Helper *helper = &yard.helpers[0];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        uint64_t run = start(&yard, ONE);
        pull(&yard, helper, 1);
        pass(&yard, 5000);
        yard.skew_ms += rows[i].by_ms;
        pass(&yard, 20000);                                                /* within its term, by the time that passed */
        report(&yard, helper, 0);
        EXPECT_INT(helper->accepted, i + 1);
        EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), i + 1);
    }
    start(&yard, ONE);
    pull(&yard, helper, 1);
    yard.skew_ms += 86400000;
    for (int i = 0; i < 40; i++) pass(&yard, 1000);
    report(&yard, helper, 0);
    EXPECT_INT(helper->refused, 1);
    yard_close(&yard);
}

TEST(worker_reports_to_the_next_owner_what_it_got_from_the_last, "proves: F-010 F-115")
{
    Yard yard;
    yard_open(&yard);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, helper, 1);
    kill_owner(&yard);
    yard.now_ms += 600000;                                                 /* nobody was there for ten minutes */
    own(&yard);
    turns(&yard);
    pass(&yard, 20000);                                                    /* within its one full term */
    report(&yard, helper, 0);
    EXPECT_INT(helper->accepted, 1);
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    report(&yard, helper, 0);
    yard_close(&yard);
}

TEST(report_that_is_said_again_after_thousands_of_others_gets_its_first_answer, "proves: C-33 F-115")
{
    Yard yard;
    yard_open(&yard);
    Helper *first = &yard.helpers[0], *other = &yard.helpers[1];
    start(&yard, ONE);
    pull(&yard, first, 1);
    Str token = first->tokens[0];
    report(&yard, first, 0);
    for (uint32_t left = 4200; left; left -= 60) {                         /* more than an executor remembers */
        for (uint32_t i = 0; i < 60; i++) start(&yard, ONE);
        pull(&yard, other, 60);
        EXPECT_INT(other->token_count, 60);
        report(&yard, other, 0);
    }
    EXPECT_INT(other->accepted, 4200);
    for (uint32_t owner = 1; owner <= 2; owner++) {
        exchange(&yard, first, arena_format(&yard.arena, "{\"reports\":[{\"token\":\"%.*s\",\"output\":666}]}", STR_ARG(token)));
        EXPECT_INT(first->accepted, 1 + owner);
        if (owner > 1) break;
        kill_owner(&yard);
        own(&yard);
        turns(&yard);
    }
    EXPECT_INT(first->refused, 0);
    yard_close(&yard);
}

TEST(what_workers_hold_for_the_last_owner_counts_against_the_ceiling_of_their_tenant, "proves: F-111 F-086")
{
    static const TenantQuota quotas[] = { { STR_INIT("default"), { .running_max = 2, .runtime_ms_max = 600000,
                                                                   .window_ms = INT64_C(86400000) * 365 } } };
    Yard yard;
    yard_open(&yard);
    kill_owner(&yard);
    yard.quotas = quotas;
    yard.quota_count = 1;
    own(&yard);
    Helper *first = &yard.helpers[0], *second = &yard.helpers[1];
    for (int i = 0; i < 4; i++) start(&yard, ONE);
    pull(&yard, first, 4);
    EXPECT_INT(first->token_count, 2);
    kill_owner(&yard);
    own(&yard);
    turns(&yard);
    pull(&yard, second, 4);
    for (int i = 0; i < 20; i++) pass(&yard, 1000);
    EXPECT_INT(second->token_count, 0);                                    /* both places are taken, by whom this owner gave nothing */
    Value seen = engine_tenants(yard.engine, STR("default"), &yard.arena);
    EXPECT_INT(value_get_int(*value_get_text(seen.items[0], "use"), "running", 0), 2);
    EXPECT_INT(value_get_int(*value_get_text(seen.items[0], "use"), "runtimeMs", 0), 40000);      /* and they are charged on */
    report(&yard, first, 0);
    EXPECT_INT(first->accepted, 2);
    pull(&yard, second, 4);
    EXPECT_INT(second->token_count, 2);
    report(&yard, second, 0);
    EXPECT_INT(runs_in(&yard, 4, "SUCCEEDED"), 4);
    yard_close(&yard);
}

/* Another owner, so much later. */
static void take_over(Yard *yard, int64_t ms)
{
    kill_owner(yard);
    yard->now_ms += ms;
    own(yard);
    turns(yard);
}

/* It says that all it has are alive. */
static void beat(Yard *yard, Helper *helper)
{
    Buf body;
    buf_init(&body, 1u << 20);
    buf_text(&body, "{\"heartbeats\":[");
    for (uint32_t i = 0; i < helper->token_count; i++) buf_format(&body, "%s\"%.*s\"", i ? "," : "", STR_ARG(helper->tokens[i]));
    buf_text(&body, "]}");
    exchange(yard, helper, arena_copy(&yard->arena, buf_peek(&body)));
    buf_deinit(&body);
}

static void say(Yard *yard, Helper *helper, const char *list, const char *what)
{
    exchange(yard, helper, arena_format(&yard->arena, "{\"%s\":[{\"token\":\"%.*s\",%s}]}", list, STR_ARG(helper->tokens[0]), what));
}

static int64_t use_of(Yard *yard, const char *name)
{
    Value seen = engine_tenants(yard->engine, STR("default"), &yard->arena);
    return value_get_int(*value_get_text(seen.items[0], "use"), name, -1);
}

static bool take_cause(void *context, const Cell *cells, uint32_t count)
{
    Yard *yard = context;
    (void)count;
    yard->cause = cells[RUNS_error_cause].kind == CELL_TEXT ? arena_copy(&yard->arena, cells[RUNS_error_cause].text) : STR("");
    return false;
}

static Str cause_of(Yard *yard, uint64_t run_no)
{
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    EXPECT_OK(store_select(yard->store, &ask, take_cause, yard, &err), &err);
    return yard->cause;
}

TEST(what_workers_hold_for_the_last_owner_is_ended_where_its_tenant_has_nothing_left, "proves: F-110 F-112 C-34")
{
    static const Site priced = { .cost_micro = 3600000000 };              /* one a second */
    static const struct { const char *name, *message; bool is_priced; QuotaTerms terms; } rows[] = {
        { "time", NULL, false, { .runtime_ms_max = 60000, .window_ms = INT64_C(86400000) * 365 } },
        { "the price of the executor", NULL, true, { .has_cost_max = true, .cost_micro_max = 60000000, .window_ms = INT64_C(86400000) * 365 } },
        { "money that was reported to the last owner", "\"message\":{\"cost\":59.5}", false,
          { .has_cost_max = true, .cost_micro_max = 60000000, .window_ms = INT64_C(86400000) * 365 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        TenantQuota quota = { STR_INIT("default"), rows[i].terms };
        Yard yard;
        yard_open(&yard);
        yard.quotas = &quota;
        yard.quota_count = 1;
        yard.site = rows[i].is_priced ? &priced : NULL;
        take_over(&yard, 0);
        Helper *helper = &yard.helpers[0], *other = &yard.helpers[1];
        uint64_t run = start(&yard, ONE);
        pull(&yard, helper, 1);
        for (int s = 0; s < 14; s++) pass(&yard, 1000);
        if (rows[i].message) say(&yard, helper, "messages", rows[i].message);
        take_over(&yard, 25000);                                          /* in which its worker goes on */
        EXPECT_INT(use_of(&yard, "running"), 1);
        EXPECT_INT(use_of(&yard, "runtimeMs"), 39000);                    /* what the last one charged, and since */
        beat(&yard, helper);
        for (int s = 0; s < 20; s++) pass(&yard, 1000);
        beat(&yard, helper);
        EXPECT_INT(helper->cancelled, 0);
        if (rows[i].message) {                                            /* the rest of it is used by another one: both have cost something */
            start(&yard, ONE);
            pull(&yard, other, 1);
            say(&yard, other, "messages", "\"message\":{\"cost\":0.5}");
        }
        pass(&yard, 1000);
        beat(&yard, helper);
        EXPECT_INT(helper->cancelled, 1);
        EXPECT_INT(runs_in(&yard, run, "FAILED"), 0);                     /* it has ended when its worker says so */
        EXPECT_INT(use_of(&yard, "running"), rows[i].message ? 2 : 1);
        say(&yard, helper, "reports", "\"failure\":{\"cause\":\"cancelled\"}");
        EXPECT_INT(helper->accepted, 1);
        EXPECT_INT(runs_in(&yard, run, "FAILED"), 1);
        EXPECT_STR(cause_of(&yard, run), STR("budget-exceeded"));
        EXPECT_INT(use_of(&yard, "running"), rows[i].message ? 1 : 0);
        yard_close(&yard);
    }
}

/* What it was told, if it lives on as if nothing had been said, is the last that counts. */
TEST(worker_that_does_not_end_when_told_loses_its_lease_and_its_place, "proves: F-086 F-087 F-110 F-112 C-34")
{
    static const struct { const char *name; bool is_cancelled, is_taken_over; const char *state, *cause; QuotaTerms terms; } rows[] = {
        { "time", false, false, "FAILED", "budget-exceeded", { .runtime_ms_max = 9500, .window_ms = INT64_C(86400000) * 365 } },
        { "money", false, false, "FAILED", "budget-exceeded",
          { .has_cost_max = true, .cost_micro_max = 1000000, .window_ms = INT64_C(86400000) * 365 } },
        { "a person", true, false, "CANCELLED", "", { .window_ms = INT64_C(86400000) * 365 } },
        { "time, and the owner changes", false, true, "FAILED", "budget-exceeded", { .runtime_ms_max = 9500, .window_ms = INT64_C(86400000) * 365 } },
        { "a person, and the owner changes", true, true, "CANCELLED", "", { .window_ms = INT64_C(86400000) * 365 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        TenantQuota quota = { STR_INIT("default"), rows[i].terms };
        Yard yard;
        yard_open(&yard);
        yard.quotas = &quota;
        yard.quota_count = 1;
        yard.capacity = 1;
        take_over(&yard, 0);
        Helper *deaf = &yard.helpers[0];
        uint64_t run = start(&yard, "workflow: w\njobs:\n  a: { tasks: [{ run: noop }] }\n");
        pull(&yard, deaf, 1);
        EXPECT_INT(deaf->token_count, 1);
        if (rows[i].terms.has_cost_max) say(&yard, deaf, "messages", "\"message\":{\"cost\":1}");
        for (int s = 0; s < 9; s++) pass(&yard, 1000);
        if (!rows[i].terms.has_cost_max) beat(&yard, deaf);
        pass(&yard, 1000);
        if (rows[i].is_cancelled)
            EXPECT(engine_request(yard.engine,
                                  &(EngineRequest){ .run_no = run, .command = { .kind = COMMAND_CANCEL,
                                                                                .actor = STR("user:test") } }));
        turns(&yard);
        if (rows[i].is_taken_over) take_over(&yard, 0);
        beat(&yard, deaf);
        beat(&yard, deaf);
        EXPECT(deaf->cancelled >= 1);
        for (int s = 0; s < 28; s++) {
            pass(&yard, 1000);
            if (s % 5 == 0) beat(&yard, deaf);
        }
        if (!rows[i].terms.has_cost_max) EXPECT_INT(runs_in(&yard, run, "RUNNING"), 1);        /* it has its term to say that it has ended */
        for (int s = 0; s < 5; s++) {
            pass(&yard, 1000);
            beat(&yard, deaf);
        }
        EXPECT_INT(runs_in(&yard, run, rows[i].state), 1);
        EXPECT_STR(cause_of(&yard, run), str_of(rows[i].cause));
        EXPECT_INT(use_of(&yard, "running"), 0);
        EngineGauge gauge;
        engine_gauge(yard.engine, &gauge);
        EXPECT_INT(gauge.executors[0].under_way, 0);
        uint32_t accepted = deaf->accepted;
        report(&yard, deaf, 0);
        EXPECT_INT(deaf->accepted, accepted);
        EXPECT_INT(runs_in(&yard, run, rows[i].state), 1);
        yard_close(&yard);
    }
}

TEST(what_is_reported_of_an_attempt_that_its_tenant_has_nothing_left_for_is_no_success, "proves: F-110 F-112")
{
    static const TenantQuota quotas[] = { { STR_INIT("default"), { .runtime_ms_max = 5000, .window_ms = INT64_C(86400000) * 365 } } };
    Yard yard;
    yard_open(&yard);
    yard.quotas = quotas;
    yard.quota_count = 1;
    take_over(&yard, 0);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, helper, 1);
    for (int s = 0; s < 6; s++) pass(&yard, 1000);
    beat(&yard, helper);
    EXPECT_INT(helper->cancelled, 1);
    report(&yard, helper, 0);
    EXPECT_INT(helper->accepted, 1);
    EXPECT_INT(runs_in(&yard, run, "FAILED"), 1);
    EXPECT_STR(cause_of(&yard, run), STR("budget-exceeded"));
    yard_close(&yard);
}

static MemoryFault refuse_commits(void *context, bool is_read, uint64_t number)
{
    (void)number;
    return !is_read && *(const bool *)context ? MEMORY_FAULT_REFUSE : MEMORY_FAULT_NONE;
}

/* The yard with a store that refuses commits for as long as `is_refusing` says. */
static void own_store_that_refuses(Yard *yard, bool *is_refusing)
{
    kill_owner(yard);
    store_close(yard->store);
    yard->store = memory_store_new(&(MemoryOptions){ .fault = refuse_commits, .context = is_refusing });
    own(yard);
}

TEST(what_is_under_way_goes_on_while_the_store_refuses_again_and_again, "proves: F-116 F-086")
{
    bool is_refusing = false;
    Yard yard;
    yard_open(&yard);
    own_store_that_refuses(&yard, &is_refusing);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, helper, 1);
    is_refusing = true;
    say(&yard, helper, "messages", "\"message\":{\"cost\":1}");           /* decided, refused, and decided again */
    for (int s = 0; s < 8; s++) pass(&yard, 1000);
    beat(&yard, helper);
    EXPECT_INT(helper->cancelled, 0);
    is_refusing = false;
    for (int s = 0; s < 8; s++) pass(&yard, 1000);
    beat(&yard, helper);
    EXPECT_INT(helper->cancelled, 0);
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    yard_close(&yard);
}

TEST(end_that_was_not_recorded_is_decided_again_and_nobody_hears_of_it_before, "proves: F-110 F-085")
{
    static const TenantQuota quotas[] = { { STR_INIT("default"), { .runtime_ms_max = 5000, .window_ms = INT64_C(86400000) * 365 } } };
    bool is_refusing = false;
    Yard yard;
    yard_open(&yard);
    yard.quotas = quotas;
    yard.quota_count = 1;
    own_store_that_refuses(&yard, &is_refusing);
    Helper *helper = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, helper, 1);
    is_refusing = true;
    for (int s = 0; s < 8; s++) pass(&yard, 1000);
    beat(&yard, helper);
    EXPECT_INT(helper->cancelled, 0);                                     /* I11 */
    is_refusing = false;
    for (int s = 0; s < 8; s++) pass(&yard, 1000);
    beat(&yard, helper);
    EXPECT_INT(helper->cancelled, 1);
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, run, "FAILED"), 1);
    EXPECT_STR(cause_of(&yard, run), STR("budget-exceeded"));
    yard_close(&yard);
}

TEST(what_workers_hold_for_the_last_owner_takes_places_of_their_executor, "proves: F-086 F-007 E-058")
{
    Yard yard;
    yard_open(&yard);
    yard.capacity = 3;
    take_over(&yard, 0);
    Helper *one = &yard.helpers[0], *two = &yard.helpers[1], *late = &yard.helpers[2];
    for (int i = 0; i < 6; i++) start(&yard, ONE);
    pull(&yard, one, 1);
    pull(&yard, two, 2);
    EXPECT_INT(one->token_count + two->token_count, 3);
    take_over(&yard, 1000);
    pull(&yard, late, 5);                                                  /* who comes first after a restart has nothing of them */
    for (int i = 0; i < 5; i++) pass(&yard, 1000);
    EXPECT_INT(late->token_count, 0);
    EngineGauge gauge;
    engine_gauge(yard.engine, &gauge);
    EXPECT_INT(gauge.executors[0].under_way, 3);
    EXPECT_INT(gauge.live_leases, 3);
    report(&yard, one, 0);                                                 /* one comes back: there is room for one */
    EXPECT_INT(late->token_count, 1);
    pass(&yard, 1000);
    pull(&yard, late, 5);
    EXPECT_INT(late->token_count, 1);
    for (int i = 0; i < 40; i++) {                                         /* the other one does not: its leases run out */
        pass(&yard, 1000);
        beat(&yard, late);
        EXPECT(late->token_count <= 3);
    }
    EXPECT_INT(late->token_count, 3);
    report(&yard, late, 5);
    report(&yard, late, 0);
    EXPECT_INT(runs_in(&yard, 6, "SUCCEEDED"), 6);
    engine_gauge(yard.engine, &gauge);
    EXPECT_INT(gauge.executors[0].under_way, 0);
    yard_close(&yard);
}

TEST(what_workers_hold_for_the_last_owner_counts_against_the_ceiling_of_all_tenants, "proves: F-111")
{
    Yard yard;
    yard_open(&yard);
    yard.ceiling = 2;
    take_over(&yard, 0);
    Helper *first = &yard.helpers[0], *second = &yard.helpers[1];
    for (int i = 0; i < 4; i++) start(&yard, ONE);
    pull(&yard, first, 4);
    EXPECT_INT(first->token_count, 2);
    take_over(&yard, 1000);
    pull(&yard, second, 4);
    pass(&yard, 1000);
    EXPECT_INT(second->token_count, 0);
    EXPECT_INT(use_of(&yard, "running"), 2);
    report(&yard, first, 0);
    EXPECT_INT(second->token_count, 2);
    report(&yard, second, 0);
    EXPECT_INT(runs_in(&yard, 4, "SUCCEEDED"), 4);
    yard_close(&yard);
}

TEST(what_undoes_a_step_for_the_last_owner_counts_and_is_not_ended, "proves: F-110 F-111")
{
    static const TenantQuota quotas[] = { { STR_INIT("default"), { .running_max = 1, .runtime_ms_max = 20000,
                                                                   .window_ms = INT64_C(86400000) * 365 } } };
    Yard yard;
    yard_open(&yard);
    yard.quotas = quotas;
    yard.quota_count = 1;
    take_over(&yard, 0);
    Helper *helper = &yard.helpers[0], *other = &yard.helpers[1];
    uint64_t run = start(&yard, "workflow: w\non_failure: compensate_all\njobs:\n  a: { tasks: [{ run: noop, compensation: noop }] }\n"
                                "  b: { needs: [a], tasks: [{ run: noop }] }\n");
    pull(&yard, helper, 1);
    report(&yard, helper, 1);
    say(&yard, helper, "reports", "\"failure\":{\"cause\":\"permanent\"}");
    helper->token_count = 0;
    pull(&yard, helper, 1);
    EXPECT_INT(helper->token_count, 1);                                    /* what undoes a */
    start(&yard, ONE);
    take_over(&yard, 1000);
    EXPECT_INT(use_of(&yard, "running"), 1);
    pull(&yard, other, 1);
    for (int i = 0; i < 40; i++) {
        pass(&yard, 1000);
        beat(&yard, helper);
    }
    EXPECT_INT(helper->cancelled, 0);                                      /* who has no time left has to be able to clean up */
    EXPECT_INT(other->token_count, 0);
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, run, "COMPENSATED"), 1);
    EXPECT_INT(use_of(&yard, "running"), 0);
    yard_close(&yard);
}

TEST(half_of_the_workers_vanish_and_nothing_is_lost, "proves: F-116 F-087")
{
    enum { RUNS = 1000, WORKERS = 40, EACH = 25 };
    Yard *yard = malloc(sizeof *yard);
    REQUIRE(yard);
    yard_open(yard);
    uint64_t last = 0;
    for (int i = 0; i < RUNS; i++) last = start(yard, ONE);
    for (int i = 0; i < WORKERS; i++) pull(yard, &yard->helpers[i], EACH);
    EXPECT_INT(engine_stats(yard->engine).attempt_under_way, RUNS);        /* 1,000 leases are out */
    uint32_t accepted = 0;
    for (int i = 0; i < WORKERS / 2; i++) report(yard, &yard->helpers[i], 0);
    for (int second = 0; second < 60; second++) pass(yard, 1000);          /* the others are not heard of again */
    for (int i = 0; i < WORKERS / 2; i++) {
        pull(yard, &yard->helpers[i], EACH);
        report(yard, &yard->helpers[i], 0);
        accepted += yard->helpers[i].accepted;
    }
    EXPECT_INT(accepted, RUNS);                                            /* each effect once */
    EXPECT_INT(runs_in(yard, last, "SUCCEEDED"), RUNS);
    yard_close(yard);
    free(yard);
}

/* --- what holds attempts back ---------------------------------------------------------------------------------------------- */

#define PATIENT "workflow: w\njobs:\n  a: { tasks: [{ run: noop, retries: { attempts: 9, delay: 1s, max_delay: 1s, jitter_ms: 0 } }] }\n"

static void fail_all(Yard *yard, Helper *helper)
{
    for (; helper->token_count; helper->token_count--)
        exchange(yard, helper,
                 arena_format(&yard->arena,
                              "{\"reports\":[{\"token\":\"%.*s\",\"failure\":{\"cause\":\"transient\",\"message\":\"no\"}}]}",
                              STR_ARG(helper->tokens[helper->token_count - 1])));
}

TEST(circuit_of_one_tenant_opens_and_others_do_not_notice, "proves: R-108 F-109 F-007 F-094")
{
    Yard yard;
    yard_open(&yard);
    yard.settings = json(&yard, "{\"breaker\":{\"failures\":2,\"open_ms\":10000}}");
    Helper *helper = &yard.helpers[0];
    start(&yard, PATIENT);
    for (int i = 0; i < 2; i++) {
        pull(&yard, helper, 1);
        pass(&yard, 1000);
        EXPECT_INT(helper->token_count, 1);
        fail_all(&yard, helper);
    }
    pull(&yard, helper, 1);
    pass(&yard, 9000);
    EXPECT_INT(helper->token_count, 0);                                    /* its retry was due after a second */
    start(&yard, "tenant: acme\n" PATIENT);
    EXPECT_INT(helper->token_count, 1);                                    /* of acme, whose circuit is closed */
    report(&yard, helper, 1);
    EXPECT_INT(helper->token_count, 0);
    pass(&yard, 1000);
    EXPECT_INT(helper->token_count, 1);                                    /* the one that tries */
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, 2, "SUCCEEDED"), 2);
    yard_close(&yard);
}

TEST(circuit_is_tried_while_an_attempt_of_before_goes_on_and_closes_by_that_alone, "proves: R-108")
{
    Yard yard;
    yard_open(&yard);
    yard.settings = json(&yard, "{\"breaker\":{\"failures\":2,\"open_ms\":10000}}");
    Helper *slow = &yard.helpers[0], *quick = &yard.helpers[1];
    start(&yard, ONE);
    pull(&yard, slow, 1);
    EXPECT_INT(slow->token_count, 1);
    for (int i = 0; i < 2; i++) {
        start(&yard, "workflow: w\njobs:\n  a: { tasks: [{ run: noop }] }\n");
        pull(&yard, quick, 1);
        fail_all(&yard, quick);
    }
    EXPECT_INT(engine_stats(yard.engine).circuit_counts[BREAKER_OPEN], 1);
    for (int i = 0; i < 8; i++) start(&yard, ONE);
    pull(&yard, quick, 8);
    pass(&yard, 9000);
    EXPECT_INT(quick->token_count, 0);
    beat(&yard, slow);
    pass(&yard, 1000);
    EXPECT_INT(quick->token_count, 1);                                     /* the one that tries */
    report(&yard, slow, 0);                                                /* how it was before says nothing of how it is */
    EXPECT_INT(engine_stats(yard.engine).circuit_counts[BREAKER_HALF_OPEN], 1);
    pull(&yard, slow, 8);
    EXPECT_INT(slow->token_count, 0);
    report(&yard, quick, 0);
    EXPECT_INT(engine_stats(yard.engine).circuit_counts[BREAKER_HALF_OPEN], 0);
    static const uint32_t most[] = { 2, 2, 4, 4 };                         /* it doubles after as many successes, not after each */
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        for (int k = 0; k < 4; k++) pull(&yard, slow, 8);
        EXPECT_INT(slow->token_count, most[i]);
        say(&yard, slow, "reports", "\"output\":1");
        for (uint32_t k = 1; k < slow->token_count; k++) slow->tokens[k - 1] = slow->tokens[k];
        slow->token_count--;
    }
    yard_close(&yard);
}

TEST(every_lease_that_was_lost_is_told_by_the_answer_to_the_first_heartbeat_of_it, "proves: F-086 F-087 F-072")
{
    static const struct { const char *name; bool is_taken_over; } rows[] = { { "by whom it had them from", false }, { "by the next owner", true } };
    enum { HELPERS = 10, EACH = 60 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Yard yard;
        yard_open(&yard);
        for (int h = 0; h < HELPERS; h++) {
            for (int k = 0; k < EACH; k++) start(&yard, "workflow: w\njobs:\n  a: { tasks: [{ run: noop }] }\n");
            pull(&yard, &yard.helpers[h], EACH);
            EXPECT_INT(yard.helpers[h].token_count, EACH);
        }
        if (rows[i].is_taken_over) take_over(&yard, 1000);
        for (int s = 0; s < 33; s++) pass(&yard, 1000);
        EXPECT_INT(runs_in(&yard, HELPERS * EACH, "FAILED"), HELPERS * EACH);
        for (int h = 0; h < HELPERS; h++) {
            beat(&yard, &yard.helpers[h]);
            EXPECT_INT(yard.helpers[h].answer_count, 2);
            EXPECT(yard.helpers[h].cancelled >= EACH);
        }
        yard_close(&yard);
    }
}

TEST(lease_that_runs_out_opens_the_circuit_at_its_due_time, "proves: F-087 F-116 R-108 F-094")
{
    Yard yard;
    yard_open(&yard);
    yard.settings = json(&yard, "{\"breaker\":{\"failures\":1,\"open_ms\":10000}}");
    Helper *lost = &yard.helpers[0], *other = &yard.helpers[1];
    uint64_t run = start(&yard, ONE);
    pull(&yard, lost, 1);
    pull(&yard, other, 1);
    pass(&yard, 29999);
    EXPECT_INT(engine_stats(yard.engine).circuit_open_count, 0);
    EXPECT_INT(yard.pool->under_way, 1);
    pass(&yard, 1);                                                        /* the millisecond in which it is due */
    EXPECT_INT(engine_stats(yard.engine).circuit_open_count, 1);
    EXPECT_INT(yard.pool->under_way, 0);
    EXPECT_INT(engine_stats(yard.engine).attempt_under_way, 0);
    pass(&yard, 9999);
    EXPECT_INT(other->token_count, 0);                                     /* its retry was due after a second; the circuit is open */
    pass(&yard, 1);
    EXPECT_INT(other->token_count, 1);
    report(&yard, lost, 0);
    EXPECT_INT(lost->refused, 1);
    report(&yard, other, 0);
    EXPECT_INT(engine_stats(yard.engine).circuit_open_count, 1);           /* it was counted once */
    EXPECT_INT(runs_in(&yard, run, "SUCCEEDED"), 1);
    yard_close(&yard);
}

TEST(worker_that_does_not_end_what_was_cancelled_says_nothing_of_its_runner, "proves: R-108")
{
    Yard yard;
    yard_open(&yard);
    yard.settings = json(&yard, "{\"breaker\":{\"failures\":1,\"open_ms\":10000}}");
    Helper *lost = &yard.helpers[0];
    uint64_t run = start(&yard, ONE);
    pull(&yard, lost, 1);
    EXPECT_INT(lost->token_count, 1);
    EXPECT(engine_request(yard.engine, &(EngineRequest){ .run_no = run, .command = { .kind = COMMAND_CANCEL, .actor = STR("user:test") } }));
    pass(&yard, 30000);
    EXPECT_INT(runs_in(&yard, run, "CANCELLED"), 1);
    EXPECT_INT(engine_stats(yard.engine).circuit_open_count, 0);
    yard_close(&yard);
}

TEST(lease_that_runs_out_leaves_its_place_at_its_due_time, "proves: F-087 F-116 E-058")
{
    Yard yard;
    yard_open(&yard);
    kill_owner(&yard);
    yard.capacity = 1;
    own(&yard);
    Helper *lost = &yard.helpers[0], *other = &yard.helpers[1];
    uint64_t run = start(&yard, ONE);
    pull(&yard, lost, 1);
    EXPECT_INT(lost->token_count, 1);
    uint64_t next = start(&yard, ONE);
    pull(&yard, other, 1);
    pass(&yard, 29999);
    EXPECT_INT(other->token_count, 0);                                     /* the only place is taken */
    pass(&yard, 1);
    EXPECT_INT(other->token_count, 1);
    EXPECT_INT(lost->cancelled, 0);                                        /* it asked for nothing meanwhile ... */
    exchange(&yard, lost, arena_format(&yard.arena, "{\"heartbeats\":[\"%.*s\"]}", STR_ARG(lost->tokens[0])));
    EXPECT_INT(lost->cancelled, 1);                                        /* ... and is told so once, when it is heard of */
    report(&yard, other, 1);
    pass(&yard, 1000);
    report(&yard, other, 0);
    EXPECT_INT(runs_in(&yard, next, "SUCCEEDED"), 2);
    EXPECT(run < next);
    yard_close(&yard);
}

TEST(rate_of_a_runner_is_kept_and_nobody_is_dropped, "proves: F-093")
{
    Yard yard;
    yard_open(&yard);
    yard.settings = json(&yard, "{\"rate\":{\"count\":2,\"per_ms\":1000}}");
    Helper *helper = &yard.helpers[0];
    for (int i = 0; i < 6; i++) start(&yard, ONE);
    pull(&yard, helper, 6);
    EXPECT_INT(helper->token_count, 2);
    for (uint32_t second = 1; second <= 2; second++) {
        pull(&yard, helper, 6);
        pass(&yard, 900);
        EXPECT_INT(helper->token_count, 2 * second);
        pass(&yard, 100 + 1000 / RATE_SLOT_COUNT + 1);
        EXPECT_INT(helper->token_count, 2 + 2 * second);
    }
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, 6, "SUCCEEDED"), 6);
    yard_close(&yard);
}

static const ExecutorOps *own_ops;
static uint32_t asked_count;

static bool count_asked(Executor *executor, Str tenant, Str runner, uint32_t taken)
{
    asked_count++;
    return own_ops->has_room(executor, tenant, runner, taken);
}

TEST(a_backlog_of_a_queue_that_nobody_asks_for_costs_other_queues_nothing, "proves: F-007 F-109")
{
    enum { BACKLOG = 200 };
    static ExecutorOps counted;
    Yard yard;
    yard_open(&yard);
    own_ops = yard.pool->ops;
    counted = *own_ops;
    counted.has_room = count_asked;
    yard.pool->ops = &counted;
    Helper *helper = &yard.helpers[0];
    for (int i = 0; i < BACKLOG; i++) start(&yard, "workflow: d\njobs:\n  a: { tasks: [{ log: x }] }\n");
    start(&yard, ONE);
    asked_count = 0;
    exchange(&yard, helper, STR("{\"queues\":[\"q\"],\"want\":1,\"wait_ms\":60000}"));
    EXPECT_INT(helper->token_count, 1);
    EXPECT(asked_count < BACKLOG / 2);                              /* none of them is looked at for it; one a turn is, whatever came */
    report(&yard, helper, 0);
    EXPECT_INT(runs_in(&yard, BACKLOG + 1, "SUCCEEDED"), 1);
    exchange(&yard, helper, STR("{\"queues\":[\"d\"],\"want\":50,\"wait_ms\":60000}"));
    EXPECT_INT(helper->token_count, 50);                            /* and whoever asks for them gets as many as it wants */
    yard_close(&yard);
}

TEST(room_is_shared_by_weight_and_nobody_waits_for_more_than_twice_what_others_weigh, "proves: F-109 F-007")
{
    enum { EACH = 20, GRANTS = 36 };
    Yard yard;
    yard_open(&yard);
    Helper *helper = &yard.helpers[0];
    static const char *const flows[] = { "tenant: a\n" ONE, "tenant: b\n" ONE, "tenant: c\n" ONE };
    for (int i = 0; i < EACH; i++)
        for (int t = 0; t < 3; t++) start(&yard, flows[t]);
    pull(&yard, helper, 1);
    for (int i = 1; i < GRANTS; i++) report(&yard, helper, 1);          /* one at a time, and all of them wait */
    uint32_t counts[3] = { 0 }, last[3] = { 0 };
    EXPECT_INT(helper->lease_count, GRANTS);
    for (uint32_t i = 0; i < helper->lease_count; i++) {
        int t = helper->tenants[i] - 'a';
        if (!EXPECT(t >= 0 && t < 3)) break;
        uint32_t others = t == 0 ? 5 : t == 1 ? 4 : 3;
        if (counts[t]) EXPECT(i - last[t] <= 2 * others + 1);           /* the bound: twice what the others weigh */
        counts[t]++;
        last[t] = i;
    }
    EXPECT_INT(counts[0], GRANTS / 6);
    EXPECT_INT(counts[1], GRANTS / 3);
    EXPECT_INT(counts[2], GRANTS / 2);
    for (int i = 0; i < 3 * EACH; i++) report(&yard, helper, 1);        /* nobody's share is kept from those who are left */
    EXPECT_INT(runs_in(&yard, 3 * EACH, "SUCCEEDED"), 3 * EACH);
    yard_close(&yard);
}
