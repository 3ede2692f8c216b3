/* use_case_test.c - each use case of the server's document by itself, on the store in memory and with an executor that stands in. */
#include <string.h>

#include "core/decide.h"
#include "core/input.h"
#include "engine/house.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "os/thread.h"
#include "value/canonical.h"
#include "value/json.h"
#include "view/run_rows.h"

#define ONE "workflow: w\njobs:\n  a: { tasks: [{ name: one, run: noop }] }\n"
#define TWO "workflow: w\njobs:\n  a: { tasks: [{ name: two, run: noop }] }\n"

static void take_reply(void *context, const EngineReply *reply)
{
    House *house = context;
    house->reply = *reply;
    house->reply.error = NULL;
}

static Status revise(House *house, uint32_t version, bool is_activation, bool is_removal)
{
    EngineRevision revision = { .tenant = STR("default"), .workflow = STR("w"), .version = version, .is_activation = is_activation,
                                .is_removal = is_removal, .reply = take_reply, .context = house, .command.actor = STR("user:test") };
    EXPECT(engine_revise(house->engine, &revision));
    house_turns(house);
    return house->reply.status;
}

static const Cell *revision_row(House *house, uint32_t version)
{
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_REVISION, .param_count = 3,
                     .params = { cell_text(STR("default")), cell_text(STR("w")), cell_int(version) } };
    EXPECT_OK(row_select(&house->arena, house->store, &ask, &row, &err), &err);
    return row;
}

static bool count_row(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    ++*(uint32_t *)context;
    return true;
}

/* How many executions of a revision there are. */
static uint32_t run_count(House *house, uint32_t version)
{
    uint32_t count = 0;
    Error err;
    QueryAsk ask = { .query = QUERY_RUNS_OF_REVISION, .param_count = 6,
                     .params = { cell_text(STR("default")), cell_text(STR("w")), cell_int(version), cell_int(INT64_MAX), cell_int(INT64_MAX),
                                 cell_null() } };
    EXPECT_OK(store_select(house->store, &ask, count_row, &count, &err), &err);
    return count;
}

/* --- one by one ------------------------------------------------------------------------------------------------------------- */

static void create_revision(House *house)
{
    house_start(house, ONE);
    EXPECT(revision_row(house, 1) != NULL);
    EXPECT(revision_row(house, 2) == NULL);
}

static void activate_revision(House *house)
{
    house_start(house, ONE);
    house_start(house, TWO);
    EXPECT_INT(revise(house, 1, true, false), OK);
    EXPECT_INT(revision_row(house, 1)[REVISIONS_active].integer, 1);
    EXPECT_INT(revision_row(house, 2)[REVISIONS_active].integer, 0);
    EXPECT_INT(revise(house, 9, true, false), ERR_NOT_FOUND);
}

static void deactivate_revision(House *house)
{
    house_start(house, ONE);
    EXPECT_INT(revise(house, 1, false, false), OK);
    EXPECT_INT(revision_row(house, 1)[REVISIONS_active].integer, 0);
}

/* A revision that has run stays, and so does an active one. */
static void delete_revision(House *house)
{
    house_start(house, ONE);
    EXPECT_INT(revise(house, 1, false, true), ERR_CONFLICT);
    EXPECT_INT(revise(house, 1, false, false), OK);
    EXPECT_INT(revise(house, 1, false, true), ERR_CONFLICT);
    EXPECT(revision_row(house, 1) != NULL);
}

static void execute_workflow(House *house)
{
    uint64_t run = house_start(house, ONE);
    EXPECT_INT(house->taken_count, 1);
    house_report(house, CAUSE_NONE, "{\"sum\":7}");
    house_expect(house, run, "SUCCEEDED", NULL);
}

static void get_execution_status(House *house)
{
    uint64_t run = house_start(house, ONE);
    house_expect(house, run, "RUNNING", NULL);
    house_report(house, CAUSE_PERMANENT, NULL);
    house_expect(house, run, "FAILED", NULL);
}

static void list_executions(House *house)
{
    house_start(house, ONE);
    house_start(house, ONE);
    house_start(house, TWO);
    EXPECT_INT(run_count(house, 1), 2);
    EXPECT_INT(run_count(house, 2), 1);
    EXPECT_INT(run_count(house, 3), 0);
}

TEST(each_use_case_works_by_itself_on_the_store_in_memory, "proves: R-086 R-088")
{
    static const struct { const char *name; void (*play)(House *house); } cases[] = {
        { "create revision", create_revision },         { "activate revision", activate_revision },
        { "deactivate revision", deactivate_revision }, { "delete revision", delete_revision },
        { "execute workflow", execute_workflow },       { "get execution status", get_execution_status },
        { "list executions", list_executions },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static House house;
        ROW(cases[i].name);
        house_open(&house);
        cases[i].play(&house);
        house_close(&house);
    }
}

/* --- values that are shared ------------------------------------------------------------------------------------------------ */

enum { THREAD_COUNT = 4, ROUND_COUNT = 2000 };

typedef struct Reader { const Plan *plan; Value params; uint32_t wrong_count; Digest digest; } Reader;

/* What readers of a plan do, all at once: check parameters, fill in inputs, print, compare. */
static void read_plan(void *context)
{
    Reader *reader = context;
    for (uint32_t i = 0; i < ROUND_COUNT; i++) {
        Arena arena;
        Error err;
        Str key;
        InputResult filled = { 0 };
        StartRequest request = { .params = reader->params, .payload = value_null() };
        MemberList start = { .arena = &arena };
        arena_init(&arena, SIZE_MAX);
        member_list_add(&start, STR("params"), reader->params);
        member_list_add(&start, STR("payload"), value_null());
        bool is_right = !decide_start_key(reader->plan, &request, &arena, &key, &err) && str_is_text(key, "k-7")
                     && input_fill_start(member_list_object(&start), &arena, value_string(STR("n is ${params.n}")), &filled) == INPUT_OK
                     && str_is_text(value_text(filled.value), "n is 7") && !canonical_digest(reader->plan->document, &reader->digest, &err);
        reader->wrong_count += !is_right;
        arena_deinit(&arena);
    }
}

TEST(plans_and_values_are_shared_between_threads_and_never_change, "proves: R-090")
{
    Arena arena;
    Catalog catalog;
    Compiled compiled;
    Error err;
    Digest before;
    Reader readers[THREAD_COUNT];
    Thread threads[THREAD_COUNT];
    Value params;
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    compile(&arena, STR("workflow: w\nidempotency_key: \"k-${params.n}\"\nparams: [{ name: n, type: integer }]\njobs:\n"
                        "  a: { tasks: [{ name: one, run: noop, input: { n: \"${params.n}\" } }] }\n"),
            &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    REQUIRE(compiled.is_valid);
    REQUIRE_OK(json_parse(&arena, STR("{\"n\":7}"), &params, &err), &err);
    REQUIRE_OK(canonical_digest(compiled.plan.document, &before, &err), &err);
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        readers[i] = (Reader){ .plan = &compiled.plan, .params = params };
        REQUIRE_OK(thread_start(&threads[i], "reader", read_plan, &readers[i], &err), &err);
    }
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        thread_join(&threads[i]);
        EXPECT_INT(readers[i].wrong_count, 0);
        EXPECT_INT(memcmp(&readers[i].digest, &before, sizeof before), 0);
    }
    arena_deinit(&arena);
}
