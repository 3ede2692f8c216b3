#include "policy/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "os/file.h"
#include "policy/hook_input.h"
#include "value/json.h"

static const char config[] =
    "executors:\n"
    "  local: { kind: process, region: eu-west, cloud: on-prem, runners: { work: { command: [\"true\"] } } }\n"
    "policies:\n"
    "  everything: { file: everything.rego, phases: [pre-flight, mid-flight, post-flight] }\n"
    "  ends: { file: ends.rego, phases: [post-flight] }\n"
    "  nameless: { phases: [pre-flight] }\n"
    "  broken: { file: broken.rego }\n"
    "  absent: { file: absent.rego }\n";
static const RegoModuleText files[] = {
    { STR_INIT("everything.rego"), STR_INIT("package maestro\ndeny contains \"forbidden\" if input.step.name == \"forbidden\"\n"
                                            "deny contains \"not him\" if input.actor == \"user:eve\"\n") },
    { STR_INIT("ends.rego"), STR_INIT("package maestro\ndeny contains \"bad end\" if input.step.output.bad\n"
                                      "deny contains \"bad parameter\" if input.run.params.bad\n") },
    { STR_INIT("broken.rego"), STR_INIT("package maestro\nallow if") },
};
static const char definition[] =
    "workflow: w\n"
    "tenant: acme\n"
    "version: \"7\"\n"
    "labels: { team: a }\n"
    "policies: [everything]\n"
    "jobs:\n"
    "  first: { labels: { tier: gold }, tasks: [{ name: a, run: work }, { name: forbidden, run: work }] }\n"
    "  second: { needs: first, policies: [ends], tasks: [{ name: b, run: noop }] }\n";

typedef struct Scene {
    Arena arena;
    Catalog catalog;
    Compiled compiled;
    Guard *guard;
    Run run;
    Error err;
    Value params;
    bool has_params;
} Scene;

static bool scene_open(Scene *scene, const char *text)
{
    *scene = (Scene){ .has_params = true, .params = value_null() };
    arena_init(&scene->arena, SIZE_MAX);
    catalog_init(&scene->catalog, &scene->arena);
    Node *root;
    Diagnostics diagnostics;
    diagnostics_init(&diagnostics, &scene->arena, STR("runners.yaml"), str_of(config));
    if (!EXPECT_OK(node_read(&scene->arena, str_of(config), TEXT_YAML, &root, &scene->err), &scene->err)) return false;
    catalog_add_config(&scene->catalog, &diagnostics, root);
    if (!EXPECT_INT(diagnostics.error_count, 0)) return false;
    scene->catalog.origin = STR("");                /* its files are those built in */
    compile(&scene->arena, str_of(text),
            &(CompileOptions){ .file = STR("w.yaml"), .format = TEXT_YAML, .catalog = &scene->catalog }, &scene->compiled);
    if (!EXPECT(scene->compiled.is_valid)) return false;
    GuardOptions options = { .catalog = &scene->catalog, .built_in = files, .built_in_count = sizeof files / sizeof *files };
    Id id;
    memcpy(id.text, "AP6XYBMPtq8AMXRa6JuX9", sizeof id.text);
    run_init(&scene->run, &scene->compiled.plan, &id, 1);
    return EXPECT_OK(guard_open(&options, &scene->guard, &scene->err), &scene->err);
}

static void scene_close(Scene *scene)
{
    guard_close(scene->guard);
    run_deinit(&scene->run);
    arena_deinit(&scene->arena);
}

static bool give_params(void *context, const Run *run, Value *out)
{
    Scene *scene = context;
    (void)run;
    *out = scene->params;
    return scene->has_params;
}

static const Command by_ana = { .kind = COMMAND_SIGNAL, .actor = STR_INIT("user:ana"), .name = STR_INIT("go"), .sort = SIGNAL_APPROVAL };
static const Digest built_in_digest = { { 1 } };

static Verdict ask_as(Scene *scene, Hook hook, uint32_t step, const char *input_json, const Command *command)
{
    Value input;
    EXPECT_OK(json_parse(&scene->arena, str_of(input_json), &input, &scene->err), &scene->err);
    VerdictAsk ask = { .hook = hook, .plan = &scene->compiled.plan, .run = &scene->run, .step = step, .input = input,
                       .command = command, .now_ms = 1700000000123, .built_in = built_in_digest, .arena = &scene->arena,
                       .params = give_params, .context = scene };
    return guard_verdict(scene->guard, &ask);
}

static Verdict ask(Scene *scene, Hook hook, uint32_t step, const char *input_json)
{
    return ask_as(scene, hook, step, input_json, &by_ana);
}

static bool digest_is(const Digest *a, const Digest *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* --- which apply -------------------------------------------------------------------------------------------------- */

TEST(policies_of_a_workflow_apply_to_its_steps_and_those_of_a_job_beside_them, "proves: F-032")
{
    Scene scene;
    REQUIRE(scene_open(&scene, definition));
    REQUIRE_OK(guard_admit(scene.guard, scene.compiled.plan.document, &scene.err), &scene.err);
    EXPECT_INT(ask(&scene, HOOK_STEP_DISPATCH, 0, "{}").kind, VERDICT_ALLOW);
    Verdict denied = ask(&scene, HOOK_STEP_DISPATCH, 1, "{}");
    EXPECT_INT(denied.kind, VERDICT_DENY);
    EXPECT_STR(denied.text, STR("everything: forbidden"));
    EXPECT_STR(denied.name, STR("everything"));
    EXPECT_INT(ask(&scene, HOOK_STEP_END, 0, "{\"bad\":true}").kind, VERDICT_ALLOW);
    EXPECT_STR(ask(&scene, HOOK_STEP_END, 2, "{\"bad\":true}").text, STR("ends: bad end"));
    EXPECT_INT(ask(&scene, HOOK_STEP_DISPATCH, 2, "{\"bad\":true}").kind, VERDICT_ALLOW);      /* not its phase */
    EXPECT_STR(ask_as(&scene, HOOK_STEP_END, 2, "{}", &(Command){ .actor = STR("user:eve") }).text, STR("everything: not him"));
    scene_close(&scene);
}

TEST(a_denial_has_the_digest_of_its_policy_and_of_its_input_and_records_have_that_of_all, "")
{
    Scene scene;
    REQUIRE(scene_open(&scene, definition));
    Verdict allowed = ask(&scene, HOOK_STEP_DISPATCH, 0, "{}"), denied = ask(&scene, HOOK_STEP_DISPATCH, 1, "{}");
    Verdict other = ask(&scene, HOOK_STEP_DISPATCH, 1, "{\"x\":1}"), again = ask(&scene, HOOK_STEP_DISPATCH, 1, "{}");
    Digest all = guard_digest(scene.guard, scene.compiled.plan.document);
    Digest in_force = guard_policies(scene.guard, &scene.compiled.plan);
    EXPECT(memcmp(&all, &in_force, sizeof all) == 0);
    EXPECT(guard_is_named(scene.compiled.plan.document));
    EXPECT(digest_is(&allowed.policy, &all));
    EXPECT(digest_is(&denied.policy, &all));
    EXPECT(!digest_is(&denied.denier, &all));
    EXPECT(!digest_is(&denied.input, &other.input));
    EXPECT(digest_is(&denied.input, &again.input));
    scene_close(&scene);
}

TEST(where_no_policy_applies_the_built_in_one_allows, "proves: G-14")
{
    Scene scene;
    REQUIRE(scene_open(&scene, "workflow: w\njobs: { a: { tasks: [{ name: a, run: noop }] } }\n"));
    Verdict verdict = ask(&scene, HOOK_STEP_DISPATCH, 0, "{}");
    EXPECT_INT(verdict.kind, VERDICT_ALLOW);
    EXPECT(digest_is(&verdict.policy, &built_in_digest));
    EXPECT_INT(guard_verdict_count(scene.guard), 0);
    scene_close(&scene);
}

TEST(plans_that_share_a_place_in_memory_keep_their_own_policies, "")
{
    static Scene scene, other;
    REQUIRE(scene_open(&scene, definition));
    REQUIRE(scene_open(&other, "workflow: w\njobs: { a: { tasks: [{ name: forbidden, run: noop }] } }\n"));
    other.compiled.plan.digest = scene.compiled.plan.digest;
    other.compiled.plan.digest.bytes[1] ^= 1;
    Guard *own = other.guard;
    other.guard = scene.guard;
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(ask(&scene, HOOK_STEP_DISPATCH, 1, "{}").kind, VERDICT_DENY);
        EXPECT_INT(ask(&other, HOOK_STEP_DISPATCH, 0, "{}").kind, VERDICT_ALLOW);
    }
    other.guard = own;
    scene_close(&other);
    scene_close(&scene);
}

/* --- what cannot be asked ----------------------------------------------------------------------------------------- */

TEST(a_policy_that_cannot_be_used_is_told_before_the_run_and_permits_nothing, "")
{
    static const struct { const char *name, *want; } cases[] = {
        { "nameless", "the policy 'nameless' cannot be used: it is registered without a file (runners.yaml)" },
        { "broken", "the policy 'broken' cannot be used: broken.rego:2:" },
        { "absent", "the policy 'absent' cannot be used: absent.rego: no such file is built in" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static Scene scene;
        char text[256];
        ROW(cases[i].name);
        snprintf(text, sizeof text, "workflow: w\npolicies: [%s]\njobs: { a: { tasks: [{ name: a, run: noop }] } }\n", cases[i].name);
        REQUIRE(scene_open(&scene, text));
        EXPECT_INT(guard_admit(scene.guard, scene.compiled.plan.document, &scene.err), ERR_INVALID);
        EXPECT_STR(str_slice(str_of(scene.err.text), 0, strlen(cases[i].want)), str_of(cases[i].want));
        EXPECT_INT(ask(&scene, HOOK_STEP_DISPATCH, 0, "{}").kind, VERDICT_LATER);
        static const Hook others[] = { HOOK_RUN_START, HOOK_STEP_END, HOOK_RUN_RESUME, HOOK_SIGNAL };
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            Verdict verdict = ask(&scene, others[k], others[k] == HOOK_STEP_END ? 0 : STEP_NONE, "{}");
            EXPECT_INT(verdict.kind, VERDICT_DENY);
            EXPECT_STR(str_slice(verdict.text, 0, strlen(cases[i].want)), str_of(cases[i].want));
        }
        scene_close(&scene);
    }
}

TEST(a_policy_that_this_process_does_not_know_makes_a_step_wait, "")
{
    Scene scene;
    REQUIRE(scene_open(&scene, definition));
    guard_close(scene.guard);
    REQUIRE_OK(guard_open(&(GuardOptions){ .catalog = NULL }, &scene.guard, &scene.err), &scene.err);
    EXPECT_INT(ask(&scene, HOOK_STEP_DISPATCH, 0, "{}").kind, VERDICT_LATER);
    EXPECT_STR(ask(&scene, HOOK_SIGNAL, STEP_NONE, "{}").text,
               STR("the policy 'everything' cannot be used: it is not registered in the configuration of this process"));
    scene_close(&scene);
}

/* --- what they are told ------------------------------------------------------------------------------------------- */

TEST(parameters_are_fetched_where_a_policy_can_read_them, "")
{
    Scene scene;
    REQUIRE(scene_open(&scene, definition));
    scene.has_params = false;
    EXPECT_INT(ask(&scene, HOOK_STEP_END, 0, "{}").kind, VERDICT_ALLOW);            /* what applies there reads none */
    EXPECT_INT(ask(&scene, HOOK_STEP_END, 2, "{}").kind, VERDICT_MISSING);
    scene.has_params = true;
    REQUIRE_OK(json_parse(&scene.arena, STR("{\"params\":{\"bad\":1},\"payload\":null}"), &scene.params, &scene.err), &scene.err);
    EXPECT_STR(ask(&scene, HOOK_STEP_END, 2, "{}").text, STR("ends: bad parameter"));
    scene_close(&scene);
}

static void expect_input(Scene *scene, Hook hook, uint32_t step, const char *input_json, const char *want)
{
    Value input, params, payload = value_int(5), placement = value_bool(true);
    ROW(hook_name(hook));
    EXPECT_OK(json_parse(&scene->arena, str_of(input_json), &input, &scene->err), &scene->err);
    EXPECT_OK(json_parse(&scene->arena, STR("{\"n\":1}"), &params, &scene->err), &scene->err);
    VerdictAsk question = { .hook = hook, .plan = &scene->compiled.plan, .run = &scene->run, .step = step, .input = input,
                            .command = &by_ana, .now_ms = 1700000000123, .arena = &scene->arena };
    HookFacts facts = { .params = &params, .payload = &payload, .placement = step == STEP_NONE ? NULL : &placement, .has_now = true };
    Value document = hook_input(&scene->arena, &question, &facts);
    Buf text;
    buf_init(&text, 1u << 16);
    EXPECT_OK(json_print(&text, document, JSON_COMPACT, &scene->err), &scene->err);
    EXPECT_STR(buf_peek(&text), str_of(want));
    for (uint32_t i = 1; i < document.count; i++)           /* the order in which members are found */
        EXPECT(value_compare(document.members[i - 1].key, document.members[i].key) < 0);
    for (uint32_t i = 0; i < document.count; i++)
        for (uint32_t k = 1; document.members[i].value.kind == VALUE_OBJECT && k < document.members[i].value.count; k++)
            EXPECT(value_compare(document.members[i].value.members[k - 1].key, document.members[i].value.members[k].key) < 0);
    buf_deinit(&text);
}

#define INPUT_HEAD(hook, phase, placement) "{\"actor\":\"user:ana\",\"hook\":\"" hook "\",\"labels\":{\"team\":\"a\"}," \
    "\"now\":\"2023-11-14T22:13:20.123Z\",\"phase\":\"" phase "\"," placement \
    "\"run\":{\"id\":\"AP6XYBMPtq8AMXRa6JuX9\",\"params\":{\"n\":1},\"payload\":5,\"state\":\"queued\"},"
#define INPUT_TAIL "\"tenant\":\"acme\",\"version\":\"7\",\"workflow\":\"w\"}"

TEST(the_document_of_each_hook_is_as_documented, "")
{
    Scene scene;
    REQUIRE(scene_open(&scene, definition));
    expect_input(&scene, HOOK_RUN_START, STEP_NONE, "{}", INPUT_HEAD("run-start", "pre-flight", "") INPUT_TAIL);
    expect_input(&scene, HOOK_STEP_DISPATCH, 0, "{\"i\":1}",
                 INPUT_HEAD("step-dispatch", "pre-flight", "\"placement\":true,")
                 "\"step\":{\"attempt\":1,\"id\":\"first.a\",\"input\":{\"i\":1},\"job\":\"first\",\"labels\":{\"tier\":\"gold\"},"
                 "\"name\":\"a\",\"runner\":\"work\"}," INPUT_TAIL);
    scene.run.steps[2].attempt = 2;
    expect_input(&scene, HOOK_STEP_END, 2, "{\"o\":1}",
                 INPUT_HEAD("step-end", "post-flight", "\"placement\":true,")
                 "\"step\":{\"attempt\":2,\"id\":\"second.b\",\"job\":\"second\",\"name\":\"b\",\"output\":{\"o\":1},\"runner\":\"noop\"},"
                 INPUT_TAIL);
    expect_input(&scene, HOOK_RUN_RESUME, STEP_NONE, "null", INPUT_HEAD("run-resume", "mid-flight", "") INPUT_TAIL);
    expect_input(&scene, HOOK_SIGNAL, STEP_NONE, "7",
                 INPUT_HEAD("signal", "mid-flight", "")
                 "\"signal\":{\"denial\":false,\"kind\":\"approval\",\"name\":\"go\",\"payload\":7}," INPUT_TAIL);
    scene_close(&scene);
}

/* --- for everything ----------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!EXPECT(file != NULL)) return;
    fputs(text, file);
    fclose(file);
}

TEST(a_policy_given_by_its_path_applies_to_everything, "")
{
    Scene scene;
    REQUIRE(scene_open(&scene, "workflow: w\njobs: { a: { tasks: [{ name: a, run: noop }] } }\n"));
    char folder[] = P_tmpdir "/guard-test-XXXXXX";
    REQUIRE(mkdtemp(folder) != NULL);
    Str path = arena_format(&scene.arena, "%s/all.rego", folder);
    write_file(path.ptr, "package maestro\ndeny contains input.hook if input.hook != \"step-end\"");
    guard_close(scene.guard);
    scene.guard = NULL;
    REQUIRE_OK(guard_open(&(GuardOptions){ .paths = &path.ptr, .path_count = 1 }, &scene.guard, &scene.err), &scene.err);
    EXPECT_STR(ask(&scene, HOOK_RUN_START, STEP_NONE, "{}").text, STR("all.rego: run-start"));
    EXPECT_STR(ask(&scene, HOOK_STEP_DISPATCH, 0, "{}").text, STR("all.rego: step-dispatch"));
    EXPECT_STR(ask(&scene, HOOK_RUN_RESUME, STEP_NONE, "null").text, STR("all.rego: run-resume"));
    EXPECT_STR(ask(&scene, HOOK_SIGNAL, STEP_NONE, "null").text, STR("all.rego: signal"));
    Verdict verdict = ask(&scene, HOOK_STEP_END, 0, "{}");
    Digest digest = guard_digest(scene.guard, scene.compiled.plan.document);
    EXPECT_INT(verdict.kind, VERDICT_ALLOW);
    EXPECT(digest_is(&verdict.policy, &digest));
    EXPECT_INT(guard_verdict_count(scene.guard), 5);
    unlink(path.ptr);
    Guard *none;
    EXPECT_INT(guard_open(&(GuardOptions){ .paths = &path.ptr, .path_count = 1 }, &none, &scene.err), ERR_NOT_FOUND);
    EXPECT(str_starts(str_of(scene.err.text), STR("the policy '")));
    rmdir(folder);
    scene_close(&scene);
}
