/* What tenants are held to: at their starts, before each attempt, while attempts are under way, and by the next owner. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/house.h"
#include "harness/test.h"
#include "ledger/record.h"
#include "value/json.h"
#include "value/number.h"

enum { WINDOW_MS = 3600000, JOB_MAX = 40 };

/* A house whose owner knows these limits. */
static House *open_held(const TenantQuota *quotas, uint32_t count)
{
    House *house = calloc(1, sizeof *house);
    if (!EXPECT(house)) abort();
    house_open(house);
    engine_close(house->engine);
    house->quotas = quotas;
    house->quota_count = count;
    house->port.kind = STR("process");
    house->now_ms += WINDOW_MS - house->now_ms % WINDOW_MS;        /* a window begins */
    house_own(house);
    return house;
}

static void close_held(House *house)
{
    house_close(house);
    free(house);
}

/* A run of so many jobs beside one another, each of which declares these resources; NULL: none. */
static uint64_t start_many(House *house, const char *tenant, uint32_t count, const char *resources)
{
    Buf text;
    buf_init(&text, SIZE_MAX);
    buf_format(&text, "workflow: w\ntenant: %s\nconfig: { max_concurrency: 1000 }\njobs:\n", tenant);
    for (uint32_t i = 0; i < count; i++) {
        buf_format(&text, "  j%u:\n", i);
        if (resources) buf_format(&text, "    resources: { %s }\n", resources);
        buf_text(&text, "    tasks: [{ run: noop }]\n");
    }
    buf_char(&text, '\0');
    uint64_t run_no = house_start(house, text.ptr);
    buf_deinit(&text);
    return run_no;
}

static uint32_t under_way(const House *house) { return house->taken_count - house->reported; }

/* Whatever is taken reports, until nothing is left; the most that were under way at a time. */
static uint32_t finish_all(House *house)
{
    uint32_t most = 0;
    while (under_way(house)) {
        if (under_way(house) > most) most = under_way(house);
        house_report(house, CAUSE_NONE, NULL);
    }
    return most;
}

typedef struct Found { EventKind kind; uint64_t run_no; char text[1024]; uint32_t cause, count; } Found;

static bool look(void *context, const Cell *cells, uint32_t count)
{
    Found *found = context;
    Arena arena;
    Record record;
    Error err;
    (void)count;
    if (cells[LEDGER_run_no].kind == CELL_NULL || (uint64_t)cells[LEDGER_run_no].integer != found->run_no) return true;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(record_decode(&arena, cells[LEDGER_record].text, &record, &err), &err);
    for (uint32_t i = 0; i < record.event_count; i++) {
        const Event *event = &record.events[i];
        if (event->kind != found->kind) continue;
        size_t size = event->text.len < sizeof found->text ? event->text.len : sizeof found->text - 1;
        memcpy(found->text, event->text.ptr, size);
        found->text[size] = '\0';
        found->cause = event->cause;
        found->count++;
    }
    arena_deinit(&arena);
    return true;
}

/* The last event of that kind of the run. */
static Found find(House *house, uint64_t run_no, EventKind kind)
{
    Found found = { .kind = kind, .run_no = run_no };
    Error err;
    QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int(0) }, .param_count = 1, .row_count_max = UINT32_MAX };
    EXPECT_OK(store_select(house->store, &ask, look, &found, &err), &err);
    return found;
}

static Value tenant_of(House *house, const char *name)
{
    Value list = engine_tenants(house->engine, str_of(name), &house->arena);
    EXPECT_INT(list.count, 1);
    return list.items[0];
}

static int64_t number(Value tenant, const char *part, const char *name)
{
    const Value *members = value_get_text(tenant, part);
    return members ? value_get_int(*members, name, -1) : -1;
}

/* --- at a time ------------------------------------------------------------------------------------------------------------------ */

TEST(a_tenant_has_no_more_attempts_under_way_than_max_concurrency_and_others_as_many_as_they_like, "proves: F-111 F-007")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .running_max = 3, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    uint64_t held = start_many(house, "acme", JOB_MAX, NULL);
    EXPECT_INT(under_way(house), 3);
    start_many(house, "other", JOB_MAX, NULL);
    EXPECT_INT(under_way(house), 3 + JOB_MAX);                      /* nobody else is held back */
    EXPECT_INT(number(tenant_of(house, "acme"), "use", "running"), 3);
    EXPECT_INT(number(tenant_of(house, "acme"), "left", "running"), 0);
    EXPECT(strstr(find(house, held, EVENT_STEP_DEFERRED).text, "the tenant 'acme' has 3 attempts under way"));
    uint32_t before = house->taken_count;
    for (uint32_t i = 0; i < 3; i++) house_report(house, CAUSE_NONE, NULL);         /* those three: the first that were taken */
    EXPECT_INT(house->taken_count, before + 3);                     /* each that ends lets one begin */
    finish_all(house);
    house_expect(house, held, "SUCCEEDED", "");
    EXPECT_INT(number(tenant_of(house, "acme"), "use", "running"), 0);
    close_held(house);
}

TEST(a_next_owner_reads_more_runs_than_it_would_at_a_time_where_they_wait_for_what_it_reads, "proves: F-111 F-115")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .running_max = 2, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    for (uint32_t i = 0; i < ENGINE_RECOVER_RUN_COUNT + 100; i++) start_many(house, "acme", 1, NULL);
    EXPECT_INT(under_way(house), 2);
    house_kill_owner(house);
    for (uint32_t i = 0; i < 100; i++) house_turns(house);
    EXPECT_INT(engine_state(house->engine), ENGINE_RUNNING);
    EXPECT_INT(under_way(house), 2);
    close_held(house);
}

TEST(cores_and_memory_of_what_is_under_way_stay_within_the_envelope, "proves: F-110")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .cpu_milli_max = 4000, .memory_mb_max = 1000, .window_ms = WINDOW_MS } } };
    static const struct { const char *name, *resources, *text; uint32_t at_a_time; } rows[] = {
        { "by cores", "cpu: 1.5, memory_mb: 1", "it needs 1.500 cores, and of the cpu of the tenant 'acme', 4.000 cores, 3.000 cores are in use", 2 },
        { "by memory", "cpu: 1, memory_mb: 300", "it needs 300 MB, and of the memory_mb of the tenant 'acme', 1000 MB, 900 MB are in use", 3 },
        { "a program that declares no cores has one", "memory_mb: 10", "it needs 1.000 cores", 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        House *house = open_held(quotas, 1);
        uint64_t run_no = start_many(house, "acme", JOB_MAX, rows[i].resources);
        EXPECT_INT(under_way(house), rows[i].at_a_time);
        Found why = find(house, run_no, EVENT_STEP_DEFERRED);
        EXPECT(strstr(why.text, rows[i].text));
        EXPECT_INT(finish_all(house), rows[i].at_a_time);
        EXPECT_INT(house->taken_count, JOB_MAX);                    /* all are carried out in the end */
        house_expect(house, run_no, "SUCCEEDED", "");
        close_held(house);
    }
}

TEST(what_could_never_begin_is_refused_at_the_start_and_says_why, "proves: F-110 F-093")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .cpu_milli_max = 4000, .memory_mb_max = 1000, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    start_many(house, "acme", 1, "cpu: 4.001, memory_mb: 1");
    EXPECT_INT(house->reply.status, ERR_INVALID);
    EXPECT(strstr(house->why, "it needs 4.001 cores, and the tenant 'acme' may have 4.000 cores at a time"));
    start_many(house, "acme", 1, "cpu: 1, memory_mb: 1001");
    EXPECT_INT(house->reply.status, ERR_INVALID);
    EXPECT(strstr(house->why, "it needs 1001 MB"));
    start_many(house, "acme", 1, "cpu: 1");
    EXPECT_INT(house->reply.status, ERR_INVALID);
    EXPECT(strstr(house->why, "has to declare resources.memory_mb"));
    start_many(house, "other", 1, "cpu: 64, memory_mb: 100000");
    EXPECT_INT(house->reply.status, OK);
    start_many(house, "acme", 1, "cpu: 4, memory_mb: 1000");
    EXPECT_INT(house->reply.status, OK);
    EXPECT_INT(under_way(house), 2);
    close_held(house);
}

TEST(one_large_step_that_ended_makes_room_for_many_small_ones, "")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .cpu_milli_max = 8000, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    start_many(house, "acme", 1, "cpu: 8");
    for (int i = 0; i < 12; i++) start_many(house, "acme", 1, "cpu: 1");
    EXPECT_INT(under_way(house), 1);
    house_report(house, CAUSE_NONE, NULL);
    house_wait(house, 1);
    EXPECT_INT(under_way(house), 8);
    finish_all(house);
    EXPECT_INT(house->taken_count, 13);
    close_held(house);
}

/* --- in a window ------------------------------------------------------------------------------------------------------------------ */

TEST(money_that_is_used_up_ends_who_costs_holds_who_waits_and_refuses_who_comes, "proves: F-112 F-093")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .running_max = 2, .has_cost_max = true,
                                                                .cost_micro_max = 5000000, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    uint64_t spender = start_many(house, "acme", 1, NULL), idle = start_many(house, "acme", 1, NULL), waiting = start_many(house, "acme", 1, NULL);
    EXPECT_INT(under_way(house), 2);
    engine_notice(house->engine, &(Notice){ .kind = NOTICE_COST, .id = house->taken[0], .number = 4999999, .value = value_null() });
    house_wait(house, 2000);
    EXPECT_INT(house->ended_count, 0);
    EXPECT_INT(number(tenant_of(house, "acme"), "left", "running"), 0);
    engine_notice(house->engine, &(Notice){ .kind = NOTICE_COST, .id = house->taken[0], .number = 1, .value = value_null() });
    house_wait(house, 2000);
    EXPECT_INT(house->ended_count, 1);                              /* the one that costs, and not the one that costs nothing */
    EXPECT(house->ended[0].run_no == spender);
    house_report(house, CAUSE_CANCELLED, NULL);
    Found failed = find(house, spender, EVENT_STEP_FAILED);
    EXPECT_INT(failed.cause, CAUSE_BUDGET_EXCEEDED);
    EXPECT(strstr(failed.text, "the tenant 'acme' has used 5.000000 of its cost of 5.000000"));
    house_report(house, CAUSE_NONE, NULL);
    house_expect(house, idle, "SUCCEEDED", "");
    EXPECT_INT(under_way(house), 0);                                /* what has not begun is held back, and says so */
    house_wait(house, 5000);
    EXPECT_INT(under_way(house), 0);
    start_many(house, "acme", 1, NULL);
    EXPECT_INT(house->reply.status, ERR_LIMIT);
    EXPECT(house->reply.is_over_quota);
    EXPECT(strstr(house->why, "budget-exceeded: the tenant 'acme' has used 5.000000 of its cost of 5.000000; the next window begins at 20"));
    start_many(house, "other", 1, NULL);
    EXPECT_INT(house->reply.status, OK);
    house_report(house, CAUSE_NONE, NULL);
    house_kill_owner(house);                                        /* another owner knows it */
    EXPECT_INT(under_way(house), 0);
    start_many(house, "acme", 1, NULL);
    EXPECT_INT(house->reply.status, ERR_LIMIT);
    house_wait(house, WINDOW_MS);                                   /* a new window: what was held goes on by itself */
    EXPECT_INT(under_way(house), 1);
    finish_all(house);
    house_expect(house, waiting, "SUCCEEDED", "");
    start_many(house, "acme", 1, NULL);
    EXPECT_INT(house->reply.status, OK);
    close_held(house);
}

TEST(time_that_is_used_up_ends_what_is_under_way_and_is_remembered_by_the_next_owner, "proves: F-110")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .runtime_ms_max = 60000, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    uint64_t first = start_many(house, "acme", 2, NULL);
    for (int i = 0; i < 20; i++) house_wait(house, 1000);           /* two attempts of 20 s */
    EXPECT_INT(number(tenant_of(house, "acme"), "use", "runtimeMs"), 40000);
    house_report(house, CAUSE_NONE, NULL);
    house_report(house, CAUSE_NONE, NULL);
    house_expect(house, first, "SUCCEEDED", "");
    house_kill_owner(house);
    EXPECT_INT(number(tenant_of(house, "acme"), "use", "runtimeMs"), 40000);
    EXPECT_INT(number(tenant_of(house, "acme"), "left", "runtimeMs"), 20000);
    uint64_t second = start_many(house, "acme", 1, NULL);
    for (int i = 0; i < 19; i++) house_wait(house, 1000);
    EXPECT_INT(house->ended_count, 0);
    house_wait(house, 1000);
    EXPECT_INT(house->ended_count, 1);
    house_report(house, CAUSE_CANCELLED, NULL);
    EXPECT_INT(find(house, second, EVENT_STEP_FAILED).cause, CAUSE_BUDGET_EXCEEDED);
    start_many(house, "acme", 1, NULL);
    EXPECT(house->reply.status == ERR_LIMIT && strstr(house->why, "has used 60.000 s of its runtime of 60.000 s"));
    close_held(house);
}

TEST(an_hour_of_an_executor_has_its_price, "proves: F-112")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .has_cost_max = true, .cost_micro_max = 1000000,
                                                                .window_ms = 100 * (int64_t)WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    static const Site site = { .cost_micro = 3600000 };             /* a thousandth a second */
    house->port.site = &site;
    uint64_t run_no = start_many(house, "acme", 1, NULL);
    for (int i = 0; i < 99; i++) house_wait(house, 10000);
    EXPECT_INT(house->ended_count, 0);
    Value cost = *value_get_text(*value_get_text(tenant_of(house, "acme"), "use"), "cost");
    EXPECT_INT(number_compare(cost, number_make(&house->arena, STR("0.99"))), 0);
    house_wait(house, 10000);
    EXPECT_INT(house->ended_count, 1);
    house_report(house, CAUSE_CANCELLED, NULL);
    EXPECT_INT(find(house, run_no, EVENT_STEP_FAILED).cause, CAUSE_BUDGET_EXCEEDED);
    close_held(house);
}

TEST(who_is_ended_by_a_person_is_cancelled_and_not_over_its_budget, "")
{
    static const TenantQuota quotas[] = { { STR_INIT("acme"), { .runtime_ms_max = 60000, .window_ms = WINDOW_MS } } };
    House *house = open_held(quotas, 1);
    uint64_t run_no = start_many(house, "acme", 1, NULL);
    EXPECT_INT(house_command(house, run_no, (Command){ .kind = COMMAND_CANCEL }, NULL), OK);
    EXPECT_INT(house->ended_count, 1);
    house_report(house, CAUSE_CANCELLED, NULL);
    house_expect(house, run_no, "CANCELLED", "");
    EXPECT_INT(find(house, run_no, EVENT_STEP_FAILED).count, 0);
    close_held(house);
}
