/* Several executors that offer one runner: who gets what, who gets it when that one fails, refuses or is gone, and what is recorded of
 * it. Executors do nothing until they are told to. */
#include <string.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "store/memory/memory_store.h"
#include "value/canonical.h"
#include "value/json.h"

enum { PLACES = 3, HELD_MAX = 64 };

typedef struct Square Square;
typedef struct Booth {
    Executor port;
    Square *square;
    Site site;
    AttemptId held[HELD_MAX];
    uint32_t held_count, offered;
    bool refuses, is_gone;
} Booth;

struct Square {
    Store *store;
    Engine *engine;
    Booth booths[PLACES];
    Executor *ports[PLACES];
    Value settings[PLACES];
    Arena arena;
    int64_t now_ms;
    uint64_t chance;
    EngineReply reply;
    char text[4096];                    /* rationales of dispatches and reasons of deferrals, a line each */
    uint32_t deferred_count;
};

static bool take(Executor *executor, const Attempt *attempt)
{
    Booth *booth = (Booth *)executor;
    booth->offered++;
    if (booth->refuses || booth->held_count == HELD_MAX) return false;
    booth->held[booth->held_count++] = attempt->id;
    return true;
}

static bool has_room(Executor *executor, Str tenant, Str runner, uint32_t taken)
{
    (void)tenant, (void)runner, (void)taken;
    return !((Booth *)executor)->is_gone;
}

static void end(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void close_booth(Executor *executor) { (void)executor; }
static const ExecutorOps ops = { .execute = take, .has_room = has_room, .end = end, .close = close_booth };

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    Square *square = context;
    (void)tenant;
    if (nth >= PLACES || !str_is_text(runner, "noop")) return false;
    *out = (RunnerOffer){ .executor = square->ports[nth], .settings = square->settings[nth] };
    return true;
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    Square *square = context;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)((square->chance = square->chance * 6364136223846793005u + 1442695040888963407u) >> 56);
}

static void observe(void *context, const Observation *seen)
{
    Square *square = context;
    for (uint32_t i = 0; seen->kind == OBSERVE_EVENTS && i < seen->event_count; i++) {
        const Event *event = &seen->events[i];
        bool is_told = event->kind == EVENT_STEP_DISPATCHED || event->kind == EVENT_STEP_DEFERRED;
        square->deferred_count += event->kind == EVENT_STEP_DEFERRED;
        Buf line = buf_on(square->text + strlen(square->text), sizeof square->text - strlen(square->text) - 1);
        if (is_told) buf_format(&line, "%.*s\n", STR_ARG(event->text));
    }
}

static void turns(Square *square)
{
    for (int i = 0; i < 40; i++) engine_turn(square->engine, &(EngineClock){ square->now_ms, square->now_ms });
}

static void square_open(Square *square)
{
    static const struct { const char *name, *region; int64_t cost; } rows[PLACES] = {
        { "dear", "eu-west", 2000000 }, { "east", "eu-east", 500000 }, { "far", "us-east", 0 } };
    Error err;
    memset(square, 0, sizeof *square);
    arena_init(&square->arena, SIZE_MAX);
    for (int i = 0; i < PLACES; i++) {
        Booth *booth = &square->booths[i];
        booth->site = (Site){ .region = str_of(rows[i].region), .capabilities = value_null(), .tenants = value_null(), .cost_micro = rows[i].cost };
        booth->port = (Executor){ .ops = &ops, .name = str_of(rows[i].name), .kind = STR("native"), .capacity = 4, .site = &booth->site };
        square->ports[i] = &booth->port;
        square->settings[i] = value_null();
    }
    square->store = memory_store_new(NULL);
    square->now_ms = 1766000000000;
    EngineOptions options = { .store = square->store, .log = 1, .executors = square->ports, .executor_count = PLACES, .runner = find_runner,
                              .random = chance, .context = square };
    EXPECT_OK(engine_open(&options, &(EngineClock){ square->now_ms, square->now_ms }, &square->engine, &err), &err);
    engine_observe(square->engine, observe, square);
    turns(square);
}

static void square_close(Square *square)
{
    engine_close(square->engine);
    store_close(square->store);
    arena_deinit(&square->arena);
}

static void take_reply(void *context, const EngineReply *reply) { ((Square *)context)->reply = *reply; }

static void start(Square *square, const char *text)
{
    Catalog catalog;
    Compiled compiled;
    Buf document;
    Error err;
    Digest digest;
    catalog_init(&catalog, &square->arena);
    compile(&square->arena, str_of(text), &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    EXPECT(compiled.is_valid);
    buf_init(&document, SIZE_MAX);
    EXPECT_OK(canonical_print(&document, compiled.plan.document, &err), &err);
    EXPECT_OK(engine_plan_add(square->engine, buf_peek(&document), &digest, &err), &err);
    buf_deinit(&document);
    EXPECT(engine_start(square->engine, &(EngineStart){ .plan = digest, .tenant = compiled.plan.tenant, .reply = take_reply, .context = square,
                                                        .command.actor = STR("user:test") }));
    turns(square);
    EXPECT_INT(square->reply.status, OK);
}

static void say(Square *square, int booth, Cause cause)
{
    Booth *at = &square->booths[booth];
    REQUIRE(at->held_count > 0);
    AttemptId id = at->held[--at->held_count];
    engine_notice(square->engine, &(Notice){ .kind = NOTICE_REPORT, .id = id, .value = value_null(),
                                             .report = { .cause = cause, .message = STR("as told"), .output = value_null() } });
    turns(square);
}

static void pass(Square *square, int64_t ms)
{
    square->now_ms += ms;
    turns(square);
}

static void rebind(Square *square, const char *bound)
{
    Error err;
    Command command = { .kind = COMMAND_REBIND, .actor = STR("user:ana"), .rationale = STR("mars is far"), .report.output = value_null() };
    REQUIRE_OK(json_parse(&square->arena, str_of(bound), &command.value, &err), &err);
    EXPECT(engine_request(square->engine, &(EngineRequest){ .run_no = square->reply.run_no, .command = command,
                                                            .reply = take_reply, .context = square }));
    turns(square);
    EXPECT_INT(square->reply.status, OK);
}

#define TASK_WITH(more) "workflow: w\n" more "jobs:\n  a: { tasks: [{ name: t, run: noop, retries: { attempts: 3, delay: 1s, jitter_ms: 0 } }] }\n"

TEST(placement_chooses_by_score_and_the_record_has_candidates_scores_and_rejections, "proves: F-071 F-094")
{
    Square square;
    square_open(&square);
    start(&square, TASK_WITH("placement: { regions: [eu-west, eu-east] }\n"));
    EXPECT_INT(square.booths[1].held_count, 1);                 /* the cheaper of the two that qualify */
    EXPECT_STR(str_of(square.text), STR("east 4000, dear 3253; not far: region us-east\n"));
    say(&square, 1, CAUSE_NONE);
    EXPECT_INT(square.reply.status, OK);
    square_close(&square);
}

TEST(placement_that_fails_for_now_goes_to_another_executor_and_says_so, "proves: F-094 F-116")
{
    Square square;
    square_open(&square);
    start(&square, TASK_WITH(""));
    EXPECT_INT(square.booths[2].held_count, 1);
    say(&square, 2, CAUSE_TRANSIENT);
    pass(&square, 1000);
    EXPECT_INT(square.booths[1].held_count, 1);
    EXPECT(strstr(square.text, "far: the last try failed there; rerouted from far\n") != NULL);
    say(&square, 1, CAUSE_TIMEOUT);
    pass(&square, 2000);
    EXPECT_INT(square.booths[2].held_count, 1);                 /* only the last one is avoided */
    say(&square, 2, CAUSE_NONE);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    square_close(&square);
}

TEST(placement_that_is_refused_goes_to_another_executor, "proves: F-094")
{
    Square square;
    square_open(&square);
    square.booths[2].refuses = true;
    start(&square, TASK_WITH(""));
    EXPECT_INT(square.booths[2].offered, 1);
    pass(&square, 1000);
    EXPECT_INT(square.booths[1].held_count, 1);
    EXPECT(strstr(square.text, "rerouted from far\n") != NULL);
    EXPECT_INT(square.booths[2].offered, 1);
    say(&square, 1, CAUSE_NONE);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    square_close(&square);
}

TEST(placement_passes_by_who_has_no_room_is_gone_or_is_held_back, "proves: F-094 R-108")
{
    Square square;
    Error err;
    square_open(&square);
    square.booths[2].is_gone = true;
    start(&square, TASK_WITH(""));
    EXPECT_INT(square.booths[1].held_count, 1);
    EXPECT(strstr(square.text, "not far: no room") != NULL);
    say(&square, 1, CAUSE_NONE);
    square.booths[2].is_gone = false;
    square_close(&square);

    square_open(&square);                                       /* a circuit of one executor says nothing of another */
    REQUIRE_OK(json_parse(&square.arena, STR("{\"breaker\":{\"failures\":1,\"open_ms\":60000}}"), &square.settings[2], &err), &err);
    start(&square, TASK_WITH("config: { max_concurrency: 1 }\n"));
    say(&square, 2, CAUSE_TRANSIENT);
    EXPECT_INT(engine_stats(square.engine).circuit_counts[BREAKER_OPEN], 1);
    start(&square, TASK_WITH("description: another\n"));
    EXPECT_INT(square.booths[1].held_count, 1);
    EXPECT(strstr(square.text, "not far: circuit or rate") != NULL);
    square_close(&square);
}

TEST(placement_waits_at_all_who_may_take_it_and_the_first_that_has_room_gets_it, "proves: F-094")
{
    Square square;
    square_open(&square);
    for (int i = 0; i < PLACES; i++) square.booths[i].is_gone = true;
    start(&square, TASK_WITH("placement: { regions: [eu-west, eu-east] }\n"));
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    EXPECT_INT(square.deferred_count, 0);                       /* that there is no room is nothing to record */
    square.booths[2].is_gone = false;
    engine_notice(square.engine, &(Notice){ .kind = NOTICE_ROOM, .teller = square.ports[2], .value = value_null() });
    turns(&square);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);       /* it does not qualify */
    square.booths[0].is_gone = false;
    engine_notice(square.engine, &(Notice){ .kind = NOTICE_ROOM, .teller = square.ports[0], .value = value_null() });
    turns(&square);
    EXPECT_INT(square.booths[0].held_count, 1);
    square_close(&square);
}

TEST(placement_that_nobody_meets_is_deferred_once_until_the_run_is_bound_elsewhere, "proves: F-133 F-071")
{
    Square square;
    square_open(&square);
    start(&square, TASK_WITH("placement: { regions: [mars] }\n"));
    for (int i = 0; i < 5; i++) pass(&square, 60000);
    EXPECT_INT(square.deferred_count, 1);
    EXPECT_STR(str_of(square.text),
               STR("no executor that offers 'noop' qualifies: not dear: region eu-west, east: region eu-east, far: region us-east\n"));
    rebind(&square, "{\"regions\":[\"venus\"]}");
    rebind(&square, "{\"regions\":[\"eu-west\"]}");
    EXPECT_INT(square.deferred_count, 2);                       /* once for each binding that nobody meets */
    EXPECT_INT(square.booths[0].held_count, 1);
    say(&square, 0, CAUSE_NONE);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    square_close(&square);
}

TEST(placement_keeps_a_job_together_and_measures_what_attempts_take, "proves: F-094")
{
    Square square;
    square_open(&square);
    start(&square,
          "workflow: w\njobs:\n  a: { tasks: [{ name: x, run: noop }, { name: y, run: noop }] }\n  b: { needs: [a], tasks: [{ name: z, run: noop }] }\n");
    EXPECT_INT(square.booths[2].held_count, 1);
    pass(&square, 600000);
    say(&square, 2, CAUSE_NONE);                                /* ten minutes: the others are not known to be slow */
    EXPECT_INT(square.booths[2].held_count, 1);                 /* all the same the job stays */
    say(&square, 2, CAUSE_NONE);
    EXPECT_INT(square.booths[1].held_count, 1);
    say(&square, 1, CAUSE_NONE);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    square_close(&square);
}

TEST(placement_of_what_undoes_a_step_is_where_it_was_done_and_then_elsewhere, "proves: F-094 F-116 F-133")
{
    Square square;
    square_open(&square);
    start(&square, "workflow: w\nfailure_resolution: { strategy: auto_compensate }\njobs:\n  a:\n    tasks:\n"
                   "      - { name: x, run: noop, compensation: { run: noop, retries: { attempts: 4, strategy: fixed, delay: 1s, jitter_ms: 0 } } }\n"
                   "      - { name: y, run: noop }\n");
    pass(&square, 600000);                                      /* slow: by score alone it would not be chosen again */
    say(&square, 2, CAUSE_NONE);
    say(&square, 2, CAUSE_PERMANENT);
    EXPECT_INT(square.booths[2].held_count, 1);                 /* what undoes x, where x was done */
    say(&square, 2, CAUSE_TRANSIENT);
    pass(&square, 1000);
    EXPECT_INT(square.booths[1].held_count, 1);
    rebind(&square, "{\"regions\":[\"mars\"]}");               /* what is under way stays where it is */
    EXPECT_INT(square.booths[1].held_count, 1);
    say(&square, 1, CAUSE_TRANSIENT);
    for (int i = 0; i < 5; i++) pass(&square, 1000);
    EXPECT_INT(square.deferred_count, 1);
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    rebind(&square, "{}");
    EXPECT_INT(square.booths[0].held_count + square.booths[2].held_count, 1);
    say(&square, square.booths[0].held_count ? 0 : 2, CAUSE_NONE);
    EXPECT_INT(square.reply.run_state, RUN_COMPENSATING);       /* as the answer to rebind had it */
    EXPECT_INT(engine_stats(square.engine).attempt_under_way, 0);
    square_close(&square);
}
