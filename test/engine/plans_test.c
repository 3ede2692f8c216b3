/* The plans that an engine has in memory: bounded by their bytes, and never taken from whoever uses them. */
#include "engine/house.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "value/canonical.h"

enum { PLAN_COUNT = 48, STEP_COUNT = 1500 };

/* After its first step it waits for somebody, and leaves the memory. */
static void print_large(Buf *out, int number)
{
    buf_format(out, "workflow: large%d\njobs:\n  a:\n    tasks:\n      - { name: ask, run: noop, pause_after: { trigger: boss } }\n", number);
    for (int i = 1; i < STEP_COUNT; i++) buf_format(out, "      - { name: t%d, run: noop }\n", i);
    buf_char(out, '\0');
}

TEST(plans_that_no_run_in_memory_uses_leave_beyond_their_bytes_and_are_read_again_when_their_runs_go_on, "")
{
    House house;
    uint64_t runs[PLAN_COUNT];
    house_open(&house);
    const PlanCache *plans = &house.engine->plans;
    for (int i = 0; i < PLAN_COUNT; i++) {
        Buf text;
        buf_init(&text, SIZE_MAX);
        print_large(&text, i);
        runs[i] = house_start(&house, text.ptr);
        buf_deinit(&text);
    }
    EXPECT_INT(house.taken_count, PLAN_COUNT);
    EXPECT_INT(plans->count, PLAN_COUNT);                   /* each has an attempt under way: none is given up */
    EXPECT(plans->size > ENGINE_PLAN_SIZE_MAX);
    for (int i = 0; i < PLAN_COUNT; i++) house_report(&house, CAUSE_NONE, NULL);
    EXPECT(plans->size <= ENGINE_PLAN_SIZE_MAX);
    EXPECT(plans->count > 0 && plans->count < PLAN_COUNT);
    for (int i = 0; i < PLAN_COUNT; i++) {
        house_expect(&house, runs[i], "PAUSED", "boss");
        EXPECT_INT(house_command(&house, runs[i], (Command){ .kind = COMMAND_RESUME }, NULL), OK);
        house_expect(&house, runs[i], "RUNNING", "");
    }
    EXPECT_INT(house.taken_count, 2 * PLAN_COUNT);
    EXPECT_INT(plans->count, PLAN_COUNT);
    house_close(&house);
}

/* Each refused where another one looks: the id of the request, the tenant, the parameters, the key, the label, the version. */
TEST(a_plan_that_came_with_a_request_that_is_refused_leaves_the_memory_wherever_that_is, "")
{
    static const struct { const char *name, *head, *id, *tenant; bool is_stored_only; uint32_t revision, seen; Status want; } cases[] = {
        { .name = "an id that was given to another request", .id = "first", .want = ERR_INVALID },
        { .name = "the same, to be stored alone", .id = "first", .is_stored_only = true, .want = ERR_INVALID },
        { .name = "an id that is none", .id = "\xff", .want = ERR_INVALID },
        { .name = "a tenant that it does not belong to", .tenant = "other", .want = ERR_NOT_FOUND },
        { .name = "a parameter that is missing", .head = "params: [{ name: x, type: string, required: true }]\n", .want = ERR_INVALID },
        { .name = "a label that another revision has", .head = "version: \"1.0\"\n", .want = ERR_INVALID },
        { .name = "the same, to be stored alone", .head = "version: \"1.0\"\n", .is_stored_only = true, .want = ERR_INVALID },
        { .name = "a version that it is not", .revision = 7, .want = ERR_NOT_FOUND },
        { .name = "another one has become the active one", .seen = 7, .want = ERR_CONFLICT },
    };
    House house;
    house_open(&house);
    const PlanCache *plans = &house.engine->plans;
    EXPECT(house_ask_start(&house, "workflow: w\nversion: \"1.0\"\njobs: { a: { tasks: [{ run: noop }] } }\n",
                           (EngineStart){ .command.id = STR("first") }));
    EXPECT_INT(house.reply.status, OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        Buf out = buf_on(text, sizeof text);
        ROW(cases[i].name);
        buf_format(&out, "workflow: w\n%sjobs: { a: { tasks: [{ run: noop, name: t%zu }] } }\n", cases[i].head ? cases[i].head : "", i);
        buf_char(&out, '\0');
        EXPECT(house_ask_start(&house, text, (EngineStart){ .tenant = str_of(cases[i].tenant ? cases[i].tenant : ""),
                                                           .command.id = str_of(cases[i].id ? cases[i].id : ""),
                                                           .is_stored_only = cases[i].is_stored_only, .request.revision = cases[i].revision,
                                                           .seen = { .has_active = cases[i].seen, .active = cases[i].seen } }));
        EXPECT_INT(house.reply.status, cases[i].want);
        house_turns(&house);
        house_turns(&house);
        EXPECT_INT(plans->count, 1);
    }
    house_close(&house);
}

TEST(a_plan_that_came_with_a_start_that_the_engine_has_no_room_for_leaves_the_memory, "")
{
    House house;
    house_open(&house);
    (void)engine_drain(house.engine);
    EXPECT(!house_ask_start(&house, "workflow: w\njobs: { a: { tasks: [{ run: noop }] } }\n", (EngineStart){ 0 }));
    house_turns(&house);
    house_turns(&house);
    EXPECT_INT(house.engine->plans.count, 0);
    house_close(&house);
}

static void print_plan(House *house, Buf *out, Str *out_tenant)
{
    Catalog catalog;
    Compiled compiled;
    Error err;
    catalog_init(&catalog, &house->arena);
    compile(&house->arena, STR("workflow: w\njobs: { a: { tasks: [{ run: noop }] } }\n"),
            &(CompileOptions){ .file = STR("t.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    buf_init(out, SIZE_MAX);
    EXPECT_OK(canonical_print(out, compiled.plan.document, &err), &err);
    *out_tenant = compiled.plan.tenant;
}

/* The one that was given has not left by then: who gives it says when it is wanted. */
TEST(a_plan_waits_for_the_start_that_it_was_given_for, "")
{
    House house;
    Digest digest;
    Error err;
    Buf document;
    Str tenant;
    house_open(&house);
    print_plan(&house, &document, &tenant);
    EXPECT_OK(engine_plan_add(house.engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    for (int i = 0; i < 5; i++) house_turns(&house);
    EXPECT_INT(house.engine->plans.count, 1);
    EXPECT(engine_start(house.engine, &(EngineStart){ .plan = digest, .tenant = tenant, .command.actor = STR("user:test") }));
    house_turns(&house);
    EXPECT_INT(house.taken_count, 1);
    house_close(&house);
}

/* A sanitizer sees that each is freed once. */
TEST(a_plan_that_was_read_before_is_the_engines_once_it_is_given_to_it, "")
{
    House house;
    EnginePlan *first, *second, *kept;
    Digest digest, again;
    Error err;
    Buf document;
    Str tenant;
    house_open(&house);
    print_plan(&house, &document, &tenant);
    EXPECT_OK(engine_plan_read(buf_peek(&document), &first, &err), &err);
    EXPECT_OK(engine_plan_read(buf_peek(&document), &second, &err), &err);
    EXPECT_OK(engine_plan_read(buf_peek(&document), &kept, &err), &err);
    EXPECT_INT(engine_plan_read(STR("{"), &kept, &err), ERR_INVALID);
    buf_deinit(&document);
    engine_plan_take(house.engine, first, &digest);
    EXPECT(engine_start(house.engine, &(EngineStart){ .plan = digest, .tenant = tenant, .command.actor = STR("user:test") }));
    house_turns(&house);
    EXPECT_INT(house.taken_count, 1);
    engine_plan_take(house.engine, second, &again);         /* it has it already, and goes on with that */
    EXPECT(memcmp(&digest, &again, sizeof digest) == 0);
    EXPECT_INT(house.engine->plans.count, 1);
    engine_plan_free(kept);                                 /* nobody was given that one */
    engine_plan_free(NULL);
    house_close(&house);
}
