#include "core/input.h"

#include <string.h>

#include "base/limits.h"
#include "core/name.h"
#include "core/stage_test.h"
#include "harness/test.h"
#include "value/json.h"

static const char two_jobs[] = PLAN_HEAD
    "\"params\":[{\"name\":\"n\",\"type\":\"integer\",\"required\":true},{\"name\":\"s\",\"type\":\"string\",\"required\":false,"
    "\"default\":\"d\"}],\"jobs\":[{\"id\":\"j\",\"priority\":\"normal\"},{\"id\":\"k\",\"priority\":\"normal\"}],\"steps\":["
    "{\"id\":\"j.a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\",\"job\":0},"
    "{\"id\":\"j.x\",\"name\":\"x\",\"kind\":\"task\",\"run\":\"noop\",\"job\":0},"
    "{\"id\":\"k.x\",\"name\":\"x\",\"kind\":\"task\",\"run\":\"noop\",\"job\":1,\"input\":%s}],"
    "\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}";

static Status secret(void *context, Str name, Str *out, Error *err)
{
    (void)context;
    *out = STR("hush ${params.n}");
    if (str_is(name, STR("BUSY"))) return error_set(err, ERR_UNAVAILABLE, "nobody answers");
    return str_is(name, STR("KEY")) ? OK : error_set(err, ERR_NOT_FOUND, "there is none");
}

/* Runs the two first tasks; the third, with that input, is ready and waits for room. */
static bool until_third(Stage *s, const char *input)
{
    Buf plan;
    buf_init(&plan, 1 << 16);
    const char *at = strstr(two_jobs, "%s");
    buf_bytes(&plan, two_jobs, (size_t)(at - two_jobs));
    buf_text(&plan, input);
    buf_text(&plan, at + 2);
    bool is_open = stage_open_str(s, buf_peek(&plan));
    buf_deinit(&plan);
    if (!is_open) return false;
    EXPECT_OK(stage_start(s, "{\"params\":{\"n\":7},\"payload\":{\"commit\":\"c0ffee\",\"deep\":{\"er\":[1,2.50]}}}"), &s->err);
    EXPECT_OK(stage_succeed(s, "j.a", "{\"v\":1.50,\"list\":[{\"t\":\"${params.s}\"}],\"o\":{\"k\":null}}"), &s->err);
    s->room = 0;
    return EXPECT_OK(stage_succeed(s, "j.x", NULL), &s->err);
}

typedef struct Row { const char *name, *input, *want; } Row;

TEST(paths_are_filled_in, "proves: R-027 R-050 R-052")
{
    static const Row rows[] = {
        { "a lone path keeps its type", "{\"a\":\"${params.n}\",\"b\":\"${outputs.j.a.v}\"}", "{\"a\":7,\"b\":1.50}" },
        { "inside a text it is printed", "{\"a\":\"n=${params.n};v=${outputs.a.v};o=${outputs.a.o}\"}",
          "{\"a\":\"n=7;v=1.50;o={\\\"k\\\":null}\"}" },
        { "a default is there", "{\"a\":\"${params.s}\"}", "{\"a\":\"d\"}" },
        { "a bare name is of the payload", "{\"a\":\"${commit}\",\"b\":\"${payload.deep.er[1]}\"}", "{\"a\":\"c0ffee\",\"b\":2.50}" },
        { "quoted names and indices", "{\"a\":\"${outputs[\\\"a\\\"]['list'][0].t}\"}", "{\"a\":\"${params.s}\"}" },
        { "what was filled in is not scanned again", "{\"a\":\"<${outputs.a.list[0].t}>\"}", "{\"a\":\"<${params.s}>\"}" },
        { "whole values", "{\"a\":\"${outputs.a.list}\",\"b\":[\"${outputs.a.o}\",1]}",
          "{\"a\":[{\"t\":\"${params.s}\"}],\"b\":[{\"k\":null},1]}" },
        { "an escape", "{\"a\":\"$${HOME} $5\"}", "{\"a\":\"${HOME} $5\"}" },
        { "secrets stay as written", "{\"a\":\"${secrets.KEY}\",\"b\":\"x ${secrets.KEY} ${params.n}\"}",
          "{\"a\":\"${secrets.KEY}\",\"b\":\"x ${secrets.KEY} 7\"}" },
        { "the run", "{\"a\":\"${run.id}\",\"b\":\"${run.workflow}/${run.tenant}/${run.version}\",\"c\":\"${run.attempt}\","
          "\"d\":\"${run.trigger}\",\"e\":\"${run.iteration}\"}",
          "{\"a\":\"abcdefghijklmnopqrstu\",\"b\":\"w/t/3\",\"c\":1,\"d\":\"manual\",\"e\":1}" },
        { "the output of a step that gave none is null", "{\"a\":\"${outputs.j.x}\"}", "{\"a\":null}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Stage s;
        ROW(rows[i].name);
        if (!until_third(&s, rows[i].input)) return;
        s.room = UINT32_MAX;
        stage_more(&s);
        const Event *event = stage_last(&s, EVENT_STEP_DISPATCHED);
        REQUIRE(event && event->step == 2 && event->payload != EVENT_NO_PAYLOAD);
        Buf text;
        buf_init(&text, 4096);
        Error err;
        EXPECT_OK(json_print(&text, s.last_payload, JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&text), str_of(rows[i].want));
        buf_deinit(&text);
        stage_close(&s);
    }
}

TEST(a_path_that_leads_nowhere_fails_the_step_by_name, "proves: F-014 C-85")
{
    static const Row rows[] = {
        { "no such parameter", "{\"a\":\"${params.q}\"}", "${params.q}" },
        { "no such member", "{\"a\":[\"${outputs.a.v.deeper}\"]}", "${outputs.a.v.deeper}" },
        { "no such index", "\"${outputs.a.list[1]}\"", "${outputs.a.list[1]}" },
        { "no such step", "\"${outputs.nobody.x}\"", "${outputs.nobody.x}" },
        { "a name that two jobs have", "\"${outputs.x}\"", "${outputs.x}" },
        { "no such name in the payload", "\"x${branch}\"", "${branch}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Stage s;
        ROW(rows[i].name);
        if (!until_third(&s, rows[i].input)) return;
        s.room = UINT32_MAX;
        stage_more(&s);
        EXPECT_INT(stage_state(&s, "k.x"), STEP_FAILED);
        const Event *event = stage_last(&s, EVENT_STEP_FAILED);
        REQUIRE(event != NULL);
        EXPECT_INT(event->cause, CAUSE_INPUT_INVALID);
        EXPECT_INT(event->class_, CLASS_PERMANENT);
        char text[256] = { 0 };
        memcpy(text, event->text.ptr, event->text.len < 255 ? event->text.len : 255);
        EXPECT(strstr(text, rows[i].want) != NULL);
        EXPECT_INT(stage_count_last(&s, EVENT_STEP_DISPATCHED), 0);
        stage_close(&s);
    }
}

TEST(an_optional_output_that_is_missing_is_left_out, "")
{
    STAGE(s, PLAN_HEAD "\"jobs\":[{\"id\":\"j\",\"priority\":\"normal\"},{\"id\":\"k\",\"priority\":\"normal\"}],\"steps\":["
          "{\"id\":\"j.a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\",\"job\":0,\"when\":\"no\"},"
          "{\"id\":\"k.b\",\"name\":\"b\",\"kind\":\"task\",\"run\":\"noop\",\"job\":1,\"optional_outputs\":[\"a\"],"
          "\"input\":{\"x\":\"${outputs.a.v}\",\"y\":[\"${outputs.a}\",2],\"z\":\"<${outputs.j.a.v}>\"}}],\"edges\":[[0,1,\"data\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "j.a"), STEP_SKIPPED);
    EXPECT_INT(stage_state(&s, "k.b"), STEP_RUNNING);
    Buf text;
    buf_init(&text, 4096);
    EXPECT_OK(json_print(&text, s.last_payload, JSON_COMPACT, &s.err), &s.err);
    EXPECT_STR(buf_peek(&text), STR("{\"y\":[null,2],\"z\":\"<>\"}"));
    buf_deinit(&text);
    stage_close(&s);
}

TEST(secrets_are_filled_in_only_where_an_attempt_is_handed_over, "")
{
    Stage s;
    if (!until_third(&s, "{\"a\":\"${secrets.KEY}\",\"b\":\"n=${params.n} ${secrets.KEY}\"}")) return;
    EXPECT(s.plan.terms->steps[2].has_secrets);
    EXPECT(!s.plan.terms->steps[0].has_secrets);
    DecideEnv env = stage_world(&s);
    InputScope scope = { .env = &env, .plan = &s.plan, .run = &s.run, .step = 2, .arena = &s.log_arena, .secret = secret };
    InputResult result = { 0 };
    REQUIRE(input_fill(&scope, s.plan.terms->steps[2].input, &result) == INPUT_OK);
    EXPECT_STR(value_text(*value_get_text(result.value, "a")), STR("hush ${params.n}"));
    EXPECT_STR(value_text(*value_get_text(result.value, "b")), STR("n=7 hush ${params.n}"));
    Value unknown = value_string(STR("${secrets.OTHER}"));
    EXPECT_INT(input_fill(&scope, unknown, &result), INPUT_WRONG);
    EXPECT_STR(result.text, STR("${secrets.OTHER}: there is none"));
    EXPECT(!result.is_transient);
    EXPECT_INT(input_fill(&scope, value_string(STR("${secrets.BUSY}")), &result), INPUT_WRONG);
    EXPECT(result.is_transient);
    stage_close(&s);
}

TEST(an_input_that_no_record_could_hold_is_refused, "")
{
    Stage s;
    if (!until_third(&s, "{}")) return;
    size_t size = INPUT_SIZE_MAX / 2;
    char *large = arena_bytes(&s.log_arena, size);
    memset(large, 'x', size);
    s.outputs[0] = value_string((Str){ large, size });
    DecideEnv env = stage_world(&s);
    InputScope scope = { .env = &env, .plan = &s.plan, .run = &s.run, .step = 2, .arena = &s.log_arena };
    InputResult result = { 0 };
    Value twice[2] = { value_string(STR("${outputs.a}")), value_string(STR("${outputs.a}")) };
    EXPECT_INT(input_fill(&scope, value_array(twice, 1), &result), INPUT_OK);
    EXPECT_INT(input_fill(&scope, value_array(twice, 2), &result), INPUT_WRONG);
    EXPECT_INT(input_fill(&scope, value_string(STR("${outputs.a}${outputs.a}${outputs.a}")), &result), INPUT_WRONG);
    stage_close(&s);
}

TEST(what_is_not_at_hand_is_named_and_asked_for_again, "")
{
    Stage s;
    if (!until_third(&s, "{\"a\":\"${outputs.a.v}\",\"b\":\"${params.n}\"}")) return;
    s.room = UINT32_MAX;
    s.hidden = 0;
    stage_more(&s);
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(s.missing, 0);
    s.hidden = MISSING_PARAMS;
    stage_more(&s);
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(s.missing, MISSING_PARAMS);
    s.hidden = STEP_NONE;
    stage_more(&s);
    EXPECT_INT(stage_state(&s, "k.x"), STEP_RUNNING);
    stage_close(&s);
}

TEST(names_mean_tasks_of_jobs_or_lone_tasks, "")
{
    Stage s;
    if (!until_third(&s, "{}")) return;
    static const struct { Str parts[2]; uint32_t count; bool found; uint32_t step, used; } rows[] = {
        { { STR_INIT("a"), STR_INIT("v") }, 2, true, 0, 1 },  { { STR_INIT("j"), STR_INIT("a") }, 2, true, 0, 2 },
        { { STR_INIT("k"), STR_INIT("x") }, 2, true, 2, 2 },  { { STR_INIT("x"), STR_INIT("v") }, 2, false, 0, 0 },
        { { STR_INIT("j"), STR_INIT("b") }, 2, false, 0, 0 }, { { STR_INIT("a"), STR_INIT("") }, 1, true, 0, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t step = 0, used = 0;
        EXPECT_INT(name_find(&s.plan, rows[i].parts, rows[i].count, &step, &used), rows[i].found);
        if (!rows[i].found) continue;
        EXPECT_INT(step, rows[i].step);
        EXPECT_INT(used, rows[i].used);
    }
    EXPECT(!name_find(&s.plan, NULL, 0, &(uint32_t){ 0 }, &(uint32_t){ 0 }));
    stage_close(&s);
}
