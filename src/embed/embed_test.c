#include <maestro.h>

#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/test.h"

/* --- runners ----------------------------------------------------------------------------------------------------------- */

typedef struct World {
    Maestro *maestro;
    atomic_int quick_count, slow_count, held_count;
    atomic_bool is_released, is_ended_seen;
    MaestroStatus answer;               /* of `answering` */
    MaestroStatus nested;               /* of what a runner asked of its own handle */
} World;

static MaestroStatus quick(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    atomic_fetch_add(&world->quick_count, 1);
    return maestro_call_output(call, attempt->input);
}

static MaestroStatus slow(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    char output[256];
    atomic_fetch_add(&world->slow_count, 1);
    maestro_call_log(call, "first line\nsecond line");
    usleep(2000);
    snprintf(output, sizeof output, "{\"step\": \"%s\", \"attempt\": %u, \"has_key\": %s}", attempt->step, attempt->number,
             attempt->key[0] ? "true" : "false");
    return maestro_call_output(call, output);
}

/* Until it is released, or ended. */
static MaestroStatus held(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    (void)attempt;
    atomic_fetch_add(&world->held_count, 1);
    while (!atomic_load(&world->is_released)) {
        if (maestro_call_is_ended(call)) {
            atomic_store(&world->is_ended_seen, true);
            return maestro_call_fail(call, MAESTRO_UNAVAILABLE, "it was told to stop");
        }
        usleep(1000);
    }
    return MAESTRO_OK;
}

static MaestroStatus answering(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    (void)attempt;
    return maestro_call_fail(call, world->answer, "because");
}

static MaestroStatus gives_no_json(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    (void)context;
    (void)attempt;
    maestro_call_output(call, "{\"a\": ");
    return MAESTRO_OK;
}

static MaestroStatus asks_quickly(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    char *json = NULL;
    (void)call;
    world->nested = maestro_run_read(world->maestro, attempt->run_id, &json, NULL);
    return MAESTRO_OK;
}

static MaestroStatus asks_and_closes(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    World *world = context;
    char *json = NULL;
    world->nested = maestro_close(world->maestro, 0, NULL);
    MaestroStatus status = maestro_run_read(world->maestro, attempt->run_id, &json, NULL);
    maestro_free(json);
    return status ? maestro_call_fail(call, status, "a worker may ask") : MAESTRO_OK;
}

static MaestroStatus speaks(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    (void)context;
    (void)attempt;
    static const char *const good[] = { "{\"effect\": {\"mail\": 1}}", "{\"effectCommitted\": true}", "{\"cost\": 0.25}",
                                        "{\"progress\": 0.5}", "{\"heartbeat\": true}", "{\"signal\": \"go\"}" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (maestro_call_message(call, good[i], NULL)) return maestro_call_fail(call, MAESTRO_CORRUPT, good[i]);
    MaestroError err;
    if (maestro_call_message(call, "{\"nonsense\": 1}", &err) != MAESTRO_INVALID) return MAESTRO_CORRUPT;
    return maestro_call_output(call, "\"said\"");
}

/* --- a world ------------------------------------------------------------------------------------------------------------ */

static MaestroStatus world_open(World *world, const char *store, uint32_t thread_count, MaestroError *err)
{
    const MaestroRunner runners[] = {
        { .name = "quick", .run = quick, .context = world, .is_quick = true },
        { .name = "slow", .run = slow, .context = world },
        { .name = "held", .run = held, .context = world },
        { .name = "answering", .run = answering, .context = world },
        { .name = "gives-no-json", .run = gives_no_json, .context = world },
        { .name = "asks-quickly", .run = asks_quickly, .context = world, .is_quick = true },
        { .name = "asks-and-closes", .run = asks_and_closes, .context = world },
        { .name = "speaks", .run = speaks, .context = world },
    };
    return maestro_open(&(MaestroOptions){ .store = store, .runners = runners, .actor = "user:test",
                                           .runner_count = sizeof runners / sizeof *runners, .thread_count = thread_count },
                        &world->maestro, err);
}

static MaestroStatus run_text(World *world, const char *yaml, const MaestroSubmit *submit, MaestroSubmitted *out, MaestroError *err)
{
    MaestroDefinition *definition;
    MaestroStatus status = maestro_compile(world->maestro, yaml, NULL, &definition, NULL, err);
    if (status) return status;
    status = maestro_submit(world->maestro, definition, submit, out, err);
    maestro_definition_free(definition);
    return status;
}

#define ONE_TASK(runner) "workflow: one\njobs: { a: { tasks: [{ name: t, run: " runner " }] } }\n"

/* Runs it to its end: what the run is then, or why that was impossible. */
static const char *cause_of(World *world, const char *yaml, char out[4096])
{
    MaestroSubmitted run;
    MaestroError err;
    char *json = NULL;
    bool is_known = !run_text(world, yaml, NULL, &run, &err) && !maestro_wait(world->maestro, run.id, 10000, NULL, &err)
                    && !maestro_run_read(world->maestro, run.id, &json, &err);
    snprintf(out, 4096, "%s", is_known ? json : err.text);
    maestro_free(json);
    return out;
}

static void wait_for(atomic_int *count, int wanted)
{
    for (int i = 0; i < 5000 && atomic_load(count) < wanted; i++) usleep(1000);
}

typedef struct Place { char folder[64], store[128]; } Place;

static bool place_make(Place *place)
{
    snprintf(place->folder, sizeof place->folder, "%s/maestro-embed-XXXXXX", P_tmpdir);
    if (!mkdtemp(place->folder)) return false;
    snprintf(place->store, sizeof place->store, "sqlite:%s/store.db", place->folder);
    return true;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

/* With all that is in it, whoever put it there. */
static void place_remove(Place *place)
{
    if (place->folder[0]) EXPECT_INT(nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    place->folder[0] = 0;
}

/* A place that is gone at the end of its test, however that ends. */
#define PLACE(name) __attribute__((cleanup(place_remove))) Place name = { 0 }

/* --- what works --------------------------------------------------------------------------------------------------------- */

static const char two_tasks[] =
    "workflow: two\n"
    "params: [{ name: who, type: string }]\n"
    "jobs:\n"
    "  first: { tasks: [{ name: f, run: quick, input: { hello: \"${params.who}\" } }] }\n"
    "  second: { needs: [first], tasks: [{ name: s, run: slow }] }\n";

TEST(functions_of_the_program_carry_out_a_definition, "")
{
    static const char *const stores[] = { "memory:", NULL };
    PLACE(place);
    REQUIRE(place_make(&place));
    for (int i = 0; i < 2; i++) {
        ROW(stores[i] ? stores[i] : "sqlite");
        World world = { 0 };
        MaestroError err = { 0 };
        MaestroSubmitted run;
        MaestroRunState state = MAESTRO_RUN_QUEUED;
        char *json = NULL;
        REQUIRE(EXPECT_INT(world_open(&world, stores[i] ? stores[i] : place.store, 0, &err), MAESTRO_OK));
        EXPECT_INT(run_text(&world, two_tasks, &(MaestroSubmit){ .params = "{\"who\": \"Ana\"}" }, &run, &err), MAESTRO_OK);
        EXPECT_INT(maestro_wait(world.maestro, run.id, MAESTRO_FOREVER, &state, &err), MAESTRO_OK);
        EXPECT_INT(state, MAESTRO_RUN_SUCCEEDED);
        EXPECT(!run.is_repeat);
        EXPECT_INT(maestro_run_outputs(world.maestro, run.id, &json, &err), MAESTRO_OK);
        EXPECT(strstr(json, "{\"hello\":\"Ana\"}") && strstr(json, "\"attempt\":1") && strstr(json, "\"has_key\":true"));
        maestro_free(json);
        EXPECT_INT(maestro_run_read(world.maestro, run.id, &json, &err), MAESTRO_OK);
        EXPECT(strstr(json, "\"state\":\"succeeded\"") && strstr(json, "\"params\":{\"who\":\"Ana\"}") && strstr(json, "\"settled\":true"));
        maestro_free(json);
        EXPECT_INT(maestro_run_steps(world.maestro, run.id, &json, &err), MAESTRO_OK);
        EXPECT(strstr(json, "\"step\":\"first.f\"") && strstr(json, "\"step\":\"second.s\""));
        maestro_free(json);
        EXPECT_INT(maestro_run_step(world.maestro, run.id, "second.s", &json, &err), MAESTRO_OK);
        EXPECT(strstr(json, "\"state\":\"succeeded\"") != NULL);
        maestro_free(json);
        EXPECT_INT(maestro_run_step(world.maestro, run.id, "third", &json, &err), MAESTRO_NOT_FOUND);
        EXPECT_INT(maestro_close(world.maestro, 1000, &err), MAESTRO_OK);
    }
    place_remove(&place);
}

TEST(a_key_that_has_a_run_gives_that_run_also_after_opening_again, "")
{
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted first, again, other;
    REQUIRE(place_make(&place));
    const MaestroSubmit submit = { .key = "order-17" };
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, ONE_TASK("quick"), &submit, &first, &err), MAESTRO_OK);
    EXPECT_INT(maestro_wait(world.maestro, first.id, 10000, NULL, &err), MAESTRO_OK);
    EXPECT_INT(maestro_close(world.maestro, 1000, &err), MAESTRO_OK);
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, ONE_TASK("quick"), &submit, &again, &err), MAESTRO_OK);
    EXPECT(again.is_repeat);
    EXPECT(strcmp(again.id, first.id) == 0);
    EXPECT_INT(maestro_wait(world.maestro, again.id, 10000, NULL, &err), MAESTRO_OK);
    EXPECT_INT(atomic_load(&world.quick_count), 1);
    EXPECT_INT(run_text(&world, ONE_TASK("quick"), &(MaestroSubmit){ .key = "order-17", .is_again = true }, &other, &err), MAESTRO_OK);
    EXPECT(!other.is_repeat);
    EXPECT_INT(maestro_wait(world.maestro, other.id, 10000, NULL, &err), MAESTRO_OK);
    EXPECT_INT(atomic_load(&world.quick_count), 2);
    maestro_close(world.maestro, 1000, NULL);
    place_remove(&place);
}

TEST(a_key_that_has_a_run_with_other_parameters_is_a_conflict, "")
{
    static const char yaml[] = "workflow: person\nparams: [{ name: who, type: string }]\njobs:\n  a: { tasks: [{ name: x, run: quick }] }\n";
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted first, again;
    REQUIRE(place_make(&place));
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, yaml, &(MaestroSubmit){ .key = "k", .params = "{\"who\":\"Ana\"}" }, &first, &err), MAESTRO_OK);
    EXPECT_INT(run_text(&world, yaml, &(MaestroSubmit){ .key = "k", .params = "{\"who\":\"Ben\"}" }, &again, &err), MAESTRO_CONFLICT);
    EXPECT(strstr(err.text, first.id) && strstr(err.text, "who is \"Ana\" there and \"Ben\" here"));
    EXPECT_INT(run_text(&world, yaml, &(MaestroSubmit){ .key = "k", .params = "{\"who\":\"Ana\"}" }, &again, &err), MAESTRO_OK);
    EXPECT(again.is_repeat);
    EXPECT_INT(maestro_wait(world.maestro, first.id, 10000, NULL, &err), MAESTRO_OK);
    maestro_close(world.maestro, 1000, NULL);
    place_remove(&place);
}

TEST(a_run_that_was_cut_off_goes_on_when_the_store_is_opened_again, "")
{
    static const char yaml[] = "workflow: cut\njobs:\n  a: { tasks: [{ name: x, run: quick }] }\n"
                               "  b: { needs: [a], tasks: [{ name: y, run: held }] }\n";
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run;
    MaestroRunState state = MAESTRO_RUN_QUEUED;
    REQUIRE(place_make(&place));
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, yaml, NULL, &run, &err), MAESTRO_OK);
    wait_for(&world.held_count, 1);
    EXPECT_INT(maestro_close(world.maestro, 0, &err), MAESTRO_OK);
    EXPECT(atomic_load(&world.is_ended_seen));
    atomic_store(&world.is_released, true);
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(maestro_wait(world.maestro, run.id, 10000, &state, &err), MAESTRO_OK);
    EXPECT_INT(state, MAESTRO_RUN_SUCCEEDED);
    EXPECT_INT(atomic_load(&world.quick_count), 1);
    EXPECT_INT(atomic_load(&world.held_count), 2);
    maestro_close(world.maestro, 1000, NULL);
    place_remove(&place);
}

TEST(closing_waits_for_functions_under_way, "")
{
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run;
    REQUIRE(place_make(&place));
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, ONE_TASK("slow"), NULL, &run, &err), MAESTRO_OK);
    wait_for(&world.slow_count, 1);
    EXPECT_INT(maestro_close(world.maestro, 5000, &err), MAESTRO_OK);
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(maestro_wait(world.maestro, run.id, 10000, NULL, &err), MAESTRO_OK);
    EXPECT_INT(atomic_load(&world.slow_count), 1);
    maestro_close(world.maestro, 0, NULL);
    place_remove(&place);
}

TEST(a_run_is_paused_resumed_signalled_and_cancelled, "")
{
    static const char yaml[] = "workflow: gate\njobs: { a: { tasks: [{ name: t, run: quick, wait_for_signal: go }] } }\n";
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run, other;
    MaestroRunState state = MAESTRO_RUN_QUEUED;
    char *json = NULL;
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, yaml, NULL, &run, &err), MAESTRO_OK);
    EXPECT_INT(maestro_wait(world.maestro, run.id, 50, &state, &err), MAESTRO_TIMEOUT);
    EXPECT_INT(err.status, MAESTRO_TIMEOUT);
    EXPECT_INT(maestro_wait(world.maestro, run.id, 0, NULL, NULL), MAESTRO_TIMEOUT);
    EXPECT_INT(maestro_pause(world.maestro, run.id, "lunch", &err), MAESTRO_OK);
    EXPECT_INT(maestro_run_read(world.maestro, run.id, &json, &err), MAESTRO_OK);
    EXPECT(strstr(json, "\"state\":\"paused\"") != NULL);
    maestro_free(json);
    EXPECT_INT(maestro_resume(world.maestro, run.id, NULL, &err), MAESTRO_OK);
    EXPECT_INT(maestro_signal(world.maestro, run.id, &(MaestroSignal){ .name = "go", .payload = "{\"ok\": 1}" }, &err), MAESTRO_OK);
    EXPECT_INT(maestro_wait(world.maestro, run.id, 10000, &state, &err), MAESTRO_OK);
    EXPECT_INT(state, MAESTRO_RUN_SUCCEEDED);
    EXPECT_INT(maestro_pause(world.maestro, run.id, NULL, &err), MAESTRO_CONFLICT);
    EXPECT_INT(run_text(&world, ONE_TASK("held"), NULL, &other, &err), MAESTRO_OK);
    wait_for(&world.held_count, 1);
    EXPECT_INT(maestro_cancel(world.maestro, other.id, "not wanted", &err), MAESTRO_OK);
    EXPECT_INT(maestro_wait(world.maestro, other.id, 10000, &state, &err), MAESTRO_OK);
    EXPECT_INT(state, MAESTRO_RUN_CANCELLED);
    EXPECT(atomic_load(&world.is_ended_seen));
    maestro_close(world.maestro, 0, NULL);
}

TEST(a_function_says_what_it_does_and_waits_until_that_is_durable, "")
{
    World world = { 0 };
    MaestroError err;
    char text[4096];
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    static const char yaml[] = "workflow: s\njobs:\n  a:\n    tasks:\n"
                               "      - { name: t, run: speaks, idempotency: effect-recorded, compensation: quick }\n";
    EXPECT(strstr(cause_of(&world, yaml, text), "\"state\":\"succeeded\"") != NULL);
    maestro_close(world.maestro, 0, NULL);
}

/* --- what is refused ---------------------------------------------------------------------------------------------------- */

TEST(what_a_function_answers_becomes_the_cause_of_the_failure, "")
{
    static const struct { MaestroStatus answer; const char *cause; } cases[] = {
        { MAESTRO_INVALID, "input-invalid" }, { MAESTRO_DENIED, "policy" },        { MAESTRO_LIMIT, "permanent" },
        { MAESTRO_UNAVAILABLE, "transient" }, { MAESTRO_TIMEOUT, "timeout" },      { MAESTRO_NOT_FOUND, "error" },
        { (MaestroStatus)77, "error" },
    };
    World world = { 0 };
    MaestroError err;
    char text[4096], want[64];
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].cause);
        world.answer = cases[i].answer;
        snprintf(want, sizeof want, "\"cause\":\"%s\"", cases[i].cause);
        const char *got = cause_of(&world, ONE_TASK("answering"), text);
        EXPECT(strstr(got, want) && strstr(got, "because") && strstr(got, "\"step\":\"a.t\""));
    }
    ROW("no JSON");
    EXPECT(strstr(cause_of(&world, ONE_TASK("gives-no-json"), text), "\"cause\":\"output-invalid\"") != NULL);
    maestro_close(world.maestro, 0, NULL);
}

TEST(a_definition_with_mistakes_is_refused_with_its_place, "")
{
    static const struct { const char *name, *yaml, *text; uint32_t line; } cases[] = {
        { "no YAML", "a: [\n", "x.yaml:2:1", 2 },
        { "an unknown key", ONE_TASK("quick") "bojs: {}\n", "bojs", 3 },
        { "an unknown runner", ONE_TASK("slwo"), "slwo", 2 },
        { "a runner that starts programs", ONE_TASK("shell"), "shell", 0 },
        { "a configuration", "executors: {}\n", "", 0 },
        { "no UTF-8", "workflow: \xff\n", "UTF-8", 0 },
    };
    World world = { 0 };
    MaestroError err;
    MaestroDefinition *definition;
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        err = (MaestroError){ 0 };
        EXPECT_INT(maestro_compile(world.maestro, cases[i].yaml, "x.yaml", &definition, NULL, &err), MAESTRO_INVALID);
        EXPECT(strstr(err.text, cases[i].text) != NULL);
        EXPECT_INT(err.line, cases[i].line);
    }
    char *report = NULL;
    EXPECT_INT(maestro_compile(world.maestro, cases[1].yaml, "x.yaml", &definition, &report, &err), MAESTRO_INVALID);
    EXPECT(report && strstr(report, "\"message\"") && strstr(report, "x.yaml"));
    maestro_free(report);
    EXPECT_INT(maestro_compile(world.maestro, NULL, NULL, &definition, NULL, NULL), MAESTRO_INVALID);
    maestro_close(world.maestro, 0, NULL);
}

TEST(wrong_arguments_are_refused_and_nothing_happens, "")
{
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run;
    char *json = NULL, *long_key = malloc(4096);
    REQUIRE(long_key != NULL);
    memset(long_key, 'k', 4095);
    long_key[4095] = '\0';
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    const MaestroSubmit submits[] = { { .params = "{" }, { .params = "[]" }, { .params = "{\"unknown\": 1}" }, { .params = NULL },
                                      { .params = "{\"who\": 1}" } };
    for (size_t i = 0; i < sizeof submits / sizeof *submits; i++) {
        ROW(submits[i].params ? submits[i].params : "nothing");
        EXPECT_INT(run_text(&world, two_tasks, &submits[i], &run, &err), MAESTRO_INVALID);
    }
    ROW(NULL);
    EXPECT_INT(run_text(&world, two_tasks, &(MaestroSubmit){ .params = "{\"who\":\"A\"}", .key = long_key }, &run, &err), MAESTRO_LIMIT);
    EXPECT_INT(maestro_wait(world.maestro, "no id", 0, NULL, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_wait(world.maestro, NULL, 0, NULL, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_wait(world.maestro, "AAAAAAAAAAAAAAAAAAAAA", 0, NULL, &err), MAESTRO_NOT_FOUND);
    EXPECT_INT(maestro_run_read(world.maestro, "AAAAAAAAAAAAAAAAAAAAA", &json, &err), MAESTRO_NOT_FOUND);
    EXPECT_INT(maestro_cancel(world.maestro, "AAAAAAAAAAAAAAAAAAAAA", NULL, &err), MAESTRO_NOT_FOUND);
    EXPECT_INT(run_text(&world, ONE_TASK("held"), NULL, &run, &err), MAESTRO_OK);
    EXPECT_INT(maestro_signal(world.maestro, run.id, &(MaestroSignal){ .name = NULL }, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_signal(world.maestro, run.id, &(MaestroSignal){ .name = "" }, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_signal(world.maestro, run.id, &(MaestroSignal){ .name = "n", .kind = "noise" }, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_signal(world.maestro, run.id, &(MaestroSignal){ .name = "n", .payload = "{" }, &err), MAESTRO_INVALID);
    EXPECT_INT(maestro_pause(world.maestro, run.id, "\xc3", &err), MAESTRO_INVALID);
    EXPECT(json == NULL);
    maestro_close(world.maestro, 0, NULL);
    free(long_key);
}

/* --- policies ----------------------------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool is_written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && is_written;
}

/* A handle with one quick runner, that policy for all runs and that config. */
static MaestroStatus guarded_open(World *world, const char *policy, const char *config, MaestroError *err)
{
    const MaestroRunner runners[] = { { .name = "quick", .run = quick, .context = world, .is_quick = true } };
    return maestro_open(&(MaestroOptions){ .store = "memory:", .runners = runners, .runner_count = 1, .config = config,
                                           .policies = &policy, .policy_count = policy ? 1 : 0 }, &world->maestro, err);
}

#define PARAMS "params: [{ name: who, type: string, default: nobody }]\n"
#define QUICK_JOBS "jobs: { a: { tasks: [{ name: t, run: quick }] } }\n"
static const char not_for_eve[] = "package maestro\ndeny contains \"not for Eve\" if input.run.params.who == \"Eve\"\n";

/* Whether a run of that definition ends well for Ana, and Eve is refused by the policy. */
static void expect_guarded(World *world, const char *yaml)
{
    MaestroError err = { 0 };
    MaestroSubmitted run;
    MaestroRunState state = MAESTRO_RUN_QUEUED;
    int before = atomic_load(&world->quick_count);
    EXPECT_INT(run_text(world, yaml, &(MaestroSubmit){ .params = "{\"who\": \"Eve\"}" }, &run, &err), MAESTRO_DENIED);
    EXPECT(strstr(err.text, "not for Eve") != NULL);
    REQUIRE(EXPECT_INT(run_text(world, yaml, &(MaestroSubmit){ .params = "{\"who\": \"Ana\"}" }, &run, &err), MAESTRO_OK));
    EXPECT_INT(maestro_wait(world->maestro, run.id, 10000, &state, &err), MAESTRO_OK);
    EXPECT_INT(state, MAESTRO_RUN_SUCCEEDED);
    EXPECT_INT(atomic_load(&world->quick_count), before + 1);
}

TEST(policies_of_the_handle_are_asked_for_every_run_and_those_of_a_definition_for_its_own, "")
{
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run;
    char path[256], config[512];
    REQUIRE(place_make(&place));
    snprintf(path, sizeof path, "%s/eve.rego", place.folder);
    REQUIRE(write_file(path, not_for_eve));
    REQUIRE(EXPECT_INT(guarded_open(&world, path, NULL, &err), MAESTRO_OK));
    expect_guarded(&world, "workflow: plain\n" PARAMS QUICK_JOBS);
    maestro_close(world.maestro, 0, NULL);

    snprintf(config, sizeof config, "policies: { eve: { file: %s } }\n", path);
    REQUIRE(EXPECT_INT(guarded_open(&world, NULL, config, &err), MAESTRO_OK));
    expect_guarded(&world, "workflow: named\npolicies: [eve]\n" PARAMS QUICK_JOBS);
    EXPECT_INT(run_text(&world, "workflow: plain\n" PARAMS QUICK_JOBS, &(MaestroSubmit){ .params = "{\"who\": \"Eve\"}" }, &run, &err),
               MAESTRO_OK);
    maestro_close(world.maestro, 0, NULL);
    unlink(path);
    place_remove(&place);
}

TEST(a_definition_that_names_a_policy_that_is_not_there_is_not_started, "")
{
    static const char *const definitions[] = {
        "workflow: w\npolicies: [gone]\n" QUICK_JOBS,
        "workflow: w\njobs: { a: { policies: [gone], tasks: [{ name: t, run: quick }] } }\n",
        "workflow: w\njobs: { a: { tasks: [{ name: f, run: quick }, { name: t, run: quick, policies: [gone] }] } }\n",
    };
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run;
    REQUIRE(EXPECT_INT(guarded_open(&world, NULL, "policies: { gone: { file: no-such-file.rego } }\n", &err), MAESTRO_OK));
    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++) {
        ROW(definitions[i]);
        EXPECT_INT(run_text(&world, definitions[i], NULL, &run, &err), MAESTRO_INVALID);
        EXPECT(strstr(err.text, "the policy 'gone' cannot be used: ") != NULL);
    }
    ROW(NULL);
    EXPECT_INT(run_text(&world, "workflow: w\npolicies: [unheard-of]\n" QUICK_JOBS, NULL, &run, &err), MAESTRO_INVALID);
    maestro_close(world.maestro, 0, NULL);
    EXPECT_INT(atomic_load(&world.quick_count), 0);

    World other = { 0 };
    EXPECT_INT(guarded_open(&other, "no-such-file.rego", NULL, &err), MAESTRO_NOT_FOUND);
    EXPECT(strstr(err.text, "the policy 'no-such-file.rego' cannot be used: ") != NULL);
}

TEST(a_handle_that_cannot_be_opened_says_why, "")
{
    static const MaestroRunner nameless[] = { { .run = quick } }, empty[] = { { .name = "x" } },
                               taken[] = { { .name = "log", .run = quick } },
                               twice[] = { { .name = "x", .run = quick }, { .name = "x", .run = quick } },
                               one[] = { { .name = "x", .run = quick } };
    static const struct { const char *name; MaestroOptions options; MaestroStatus want; } cases[] = {
        { "no store", { 0 }, MAESTRO_INVALID },
        { "an unknown kind", { .store = "mongo://x" }, MAESTRO_UNAVAILABLE },
        { "no such folder", { .store = "sqlite:nowhere/at/all.db" }, MAESTRO_DENIED },
        { "a runner without a name", { .store = "memory:", .runners = nameless, .runner_count = 1 }, MAESTRO_INVALID },
        { "a runner without a function", { .store = "memory:", .runners = empty, .runner_count = 1 }, MAESTRO_INVALID },
        { "the name of a built-in", { .store = "memory:", .runners = taken, .runner_count = 1 }, MAESTRO_CONFLICT },
        { "a name twice", { .store = "memory:", .runners = twice, .runner_count = 2 }, MAESTRO_CONFLICT },
        { "too many threads", { .store = "memory:", .runners = one, .runner_count = 1, .thread_count = 100000 }, MAESTRO_LIMIT },
        { "a config with mistakes", { .store = "memory:", .config = "exekutors: {}\n" }, MAESTRO_INVALID },
        { "a config that is no YAML", { .store = "memory:", .config = "[" }, MAESTRO_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Maestro *maestro = NULL;
        MaestroError err = { 0 };
        EXPECT_INT(maestro_open(&cases[i].options, &maestro, &err), cases[i].want);
        EXPECT(maestro == NULL && err.text[0]);
        maestro_close(maestro, 0, NULL);
    }
    EXPECT_INT(maestro_close(NULL, 0, NULL), MAESTRO_OK);
}

TEST(a_store_has_one_owner, "")
{
    PLACE(place);
    World world = { 0 }, other = { 0 };
    MaestroError err;
    REQUIRE(place_make(&place));
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(world_open(&other, place.store, 0, &err), MAESTRO_CONFLICT);
    maestro_close(world.maestro, 0, NULL);
    EXPECT_INT(world_open(&other, place.store, 0, &err), MAESTRO_OK);
    maestro_close(other.maestro, 0, NULL);
    place_remove(&place);
}

TEST(a_quick_runner_may_not_ask_its_engine_and_no_runner_may_close_it, "")
{
    World world = { 0 };
    MaestroError err;
    char text[4096];
    REQUIRE(EXPECT_INT(world_open(&world, "memory:", 0, &err), MAESTRO_OK));
    EXPECT(strstr(cause_of(&world, ONE_TASK("asks-quickly"), text), "succeeded") != NULL);
    EXPECT_INT(world.nested, MAESTRO_CONFLICT);
    world.nested = MAESTRO_OK;
    EXPECT(strstr(cause_of(&world, ONE_TASK("asks-and-closes"), text), "\"state\":\"succeeded\"") != NULL);
    EXPECT_INT(world.nested, MAESTRO_CONFLICT);
    maestro_close(world.maestro, 0, NULL);
}

/* --- many threads -------------------------------------------------------------------------------------------------------- */

#define THREAD_COUNT 8
#define RUN_COUNT 25

typedef struct Crowd { World *world; const MaestroDefinition *definition; atomic_int succeeded_count, failed_count; } Crowd;

static void *crowd_run(void *context)
{
    Crowd *crowd = context;
    for (int i = 0; i < RUN_COUNT; i++) {
        MaestroSubmitted run;
        MaestroRunState state = MAESTRO_RUN_QUEUED;
        char *json = NULL;
        MaestroStatus status = maestro_submit(crowd->world->maestro, crowd->definition,
                                              &(MaestroSubmit){ .params = "{\"who\": \"Ana\"}" }, &run, NULL);
        if (!status) status = maestro_wait(crowd->world->maestro, run.id, 60000, &state, NULL);
        if (!status) status = maestro_run_outputs(crowd->world->maestro, run.id, &json, NULL);
        bool is_good = !status && state == MAESTRO_RUN_SUCCEEDED && strstr(json, "\"hello\":\"Ana\"");
        atomic_fetch_add(is_good ? &crowd->succeeded_count : &crowd->failed_count, 1);
        maestro_free(json);
    }
    return NULL;
}

TEST(many_threads_submit_and_wait_at_once, "")
{
    static const char *const stores[] = { "memory:", NULL };
    for (int i = 0; i < 2; i++) {
        ROW(stores[i] ? stores[i] : "sqlite");
        PLACE(place);
        World world = { 0 };
        MaestroError err;
        MaestroDefinition *definition;
        pthread_t threads[THREAD_COUNT];
        REQUIRE(place_make(&place));
        REQUIRE(EXPECT_INT(world_open(&world, stores[i] ? stores[i] : place.store, 8, &err), MAESTRO_OK));
        REQUIRE(EXPECT_INT(maestro_compile(world.maestro, two_tasks, NULL, &definition, NULL, &err), MAESTRO_OK));
        Crowd crowd = { .world = &world, .definition = definition };
        for (int k = 0; k < THREAD_COUNT; k++) REQUIRE(pthread_create(&threads[k], NULL, crowd_run, &crowd) == 0);
        for (int k = 0; k < THREAD_COUNT; k++) pthread_join(threads[k], NULL);
        EXPECT_INT(atomic_load(&crowd.succeeded_count), THREAD_COUNT * RUN_COUNT);
        EXPECT_INT(atomic_load(&crowd.failed_count), 0);
        EXPECT_INT(atomic_load(&world.quick_count), THREAD_COUNT * RUN_COUNT);
        EXPECT_INT(atomic_load(&world.slow_count), THREAD_COUNT * RUN_COUNT);
        maestro_definition_free(definition);
        maestro_close(world.maestro, 1000, NULL);
        place_remove(&place);
    }
}

typedef struct Late { World *world; char id[MAESTRO_RUN_ID_SIZE]; MaestroStatus got; atomic_int begun_count; } Late;

static void *late_wait(void *context)
{
    Late *late = context;
    atomic_fetch_add(&late->begun_count, 1);
    late->got = maestro_wait(late->world->maestro, late->id, MAESTRO_FOREVER, NULL, NULL);
    return NULL;
}

/* As good as a full disk: no file of this process may grow. */
static void limit_files(rlim_t size)
{
    struct rlimit limit;
    EXPECT_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    EXPECT_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(while_the_store_cannot_be_written_who_waits_is_told_why, "")
{
    PLACE(place);
    World world = { 0 };
    MaestroError err;
    MaestroSubmitted run, other;
    MaestroRunState state = MAESTRO_RUN_QUEUED;
    REQUIRE(place_make(&place));
    REQUIRE(EXPECT_INT(world_open(&world, place.store, 0, &err), MAESTRO_OK));
    EXPECT_INT(run_text(&world, ONE_TASK("held"), NULL, &run, &err), MAESTRO_OK);
    wait_for(&world.held_count, 1);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_files(1024);
    atomic_store(&world.is_released, true);
    MaestroStatus waited = maestro_wait(world.maestro, run.id, MAESTRO_FOREVER, &state, &err);
    char text[sizeof err.text];
    snprintf(text, sizeof text, "%s", err.text);
    MaestroStatus asked = run_text(&world, ONE_TASK("quick"), NULL, &other, &err);
    limit_files(RLIM_INFINITY);
    EXPECT_INT(waited, MAESTRO_UNAVAILABLE);
    EXPECT(strstr(text, "the store cannot be written") != NULL);
    EXPECT_INT(asked, MAESTRO_UNAVAILABLE);
    while ((waited = maestro_wait(world.maestro, run.id, MAESTRO_FOREVER, &state, &err)) == MAESTRO_UNAVAILABLE) usleep(1000);
    EXPECT_INT(waited, MAESTRO_OK);                 /* what was reported meanwhile was kept */
    EXPECT_INT(state, MAESTRO_RUN_SUCCEEDED);
    EXPECT_INT(atomic_load(&world.held_count), 1);
    maestro_close(world.maestro, 1000, NULL);
    signal(SIGXFSZ, before);
    place_remove(&place);
}

TEST(closing_sends_home_who_waits, "")
{
    static const char *const stores[] = { "memory:", NULL };
    for (int i = 0; i < 2; i++) {
        ROW(stores[i] ? stores[i] : "sqlite");
        PLACE(place);
        World world = { 0 };
        MaestroError err;
        MaestroSubmitted run;
        pthread_t thread;
        REQUIRE(place_make(&place));
        REQUIRE(EXPECT_INT(world_open(&world, stores[i] ? stores[i] : place.store, 0, &err), MAESTRO_OK));
        EXPECT_INT(run_text(&world, ONE_TASK("held"), NULL, &run, &err), MAESTRO_OK);
        wait_for(&world.held_count, 1);
        Late late = { .world = &world, .got = MAESTRO_OK };
        memcpy(late.id, run.id, sizeof late.id);
        REQUIRE(pthread_create(&thread, NULL, late_wait, &late) == 0);
        wait_for(&late.begun_count, 1);
        usleep(20000);
        EXPECT_INT(maestro_close(world.maestro, 0, &err), MAESTRO_OK);
        pthread_join(thread, NULL);
        EXPECT_INT(late.got, MAESTRO_UNAVAILABLE);
        place_remove(&place);
    }
}
