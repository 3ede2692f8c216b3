#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"

/* --- chains, fan-outs -------------------------------------------------------------------------------------------------------- */

static const char chain[] = TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "," TASK("c", "")
                            "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}";

TEST(a_chain_runs_step_by_step, "proves: C-05 R-028 R-030 F-066 F-075")
{
    STAGE(s, chain);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.log[0].kind, EVENT_RUN_CREATED);
    EXPECT_INT(s.log[1].kind, EVENT_RUN_DISPATCHED);
    EXPECT_INT(s.log[2].kind, EVENT_RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    EXPECT_OK(stage_succeed(&s, "a", "{\"x\":1}"), &s.err);
    /* Completing one and starting the next is one decision. */
    EXPECT_INT(s.log[s.first].kind, EVENT_STEP_SUCCEEDED);
    EXPECT_INT(s.log[s.first + 1].kind, EVENT_STEP_READY);
    EXPECT_INT(s.log[s.first + 2].kind, EVENT_STEP_DISPATCHED);
    EXPECT_INT(s.log[s.first + 3].kind, EVENT_STEP_RUNNING);
    EXPECT_INT(s.log_count - s.first, 4);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(s.run.begun_count, 3);
    stage_close(&s);
}

TEST(a_wide_run_is_decided_in_bounded_portions, "proves: C-45 R-028")
{
    /* 100,000 steps between a first and a last one. */
    enum { WIDTH = 100000 };
    Buf plan;
    buf_init(&plan, 64 << 20);
    buf_format(&plan, "%s\"config\":{\"max_concurrency\":50},\"steps\":[{\"id\":\"first\",\"kind\":\"task\"}", TREE_HEAD);
    for (int i = 0; i < WIDTH; i++) buf_format(&plan, ",{\"id\":\"s%d\",\"kind\":\"task\"}", i);
    buf_text(&plan, ",{\"id\":\"last\",\"kind\":\"task\"}],\"edges\":[");
    for (int i = 0; i < WIDTH; i++) buf_format(&plan, "%s[0,%d,\"order\"]", i ? "," : "", i + 1);
    for (int i = 0; i < WIDTH; i++) buf_format(&plan, ",[%d,%d,\"order\"]", i + 1, WIDTH + 1);
    buf_text(&plan, "]}");
    Stage s;
    if (!stage_open_str(&s, buf_peek(&plan))) return;
    buf_deinit(&plan);
    s.is_fast = true;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "first", NULL), &s.err);
    EXPECT_INT(s.run.running_count, 50);
    uint64_t events = s.run.event_count;
    EXPECT(events < 200);                                           /* all ready by one event */
    Command report = { .kind = COMMAND_REPORT, .attempt = 1, .holder = holder_make(1, 1) };
    for (uint32_t i = 1; i <= WIDTH; i++) {
        report.step = i;
        if (!EXPECT_OK(stage_do(&s, &report), &s.err)) break;
    }
    EXPECT_INT(s.run.steps[WIDTH + 1].state, STEP_RUNNING);
    report.step = WIDTH + 1;
    EXPECT_OK(stage_do(&s, &report), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT(run_size(&s.run) < (WIDTH + 2) * 33u + 65536);           /* 32 bytes a step */
    stage_close(&s);
}

TEST(a_wide_run_that_fails_skips_the_rest_by_ranges, "proves: R-029 R-047")
{
    enum { WIDTH = 100000 };
    Buf plan;
    buf_init(&plan, 64 << 20);
    buf_format(&plan, "%s\"config\":{\"max_concurrency\":50},\"steps\":[", TREE_HEAD);
    for (int i = 0; i < WIDTH; i++) buf_format(&plan, "%s{\"id\":\"s%d\",\"kind\":\"task\"}", i ? "," : "", i);
    buf_text(&plan, "]}");
    Stage s;
    if (!stage_open_str(&s, buf_peek(&plan))) return;
    buf_deinit(&plan);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    s.is_fast = true;
    EXPECT_OK(stage_fail(&s, "s7", CAUSE_PERMANENT), &s.err);
    Command report = { .kind = COMMAND_REPORT, .attempt = 1, .holder = holder_make(1, 1) };
    for (uint32_t i = 0; i < 50; i++) {
        if (i == 7) continue;
        report.step = i;
        EXPECT_OK(stage_do(&s, &report), &s.err);
    }
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.open_count, 0);
    EXPECT_INT(s.run.begun_count, WIDTH);
    EXPECT(s.run.event_count < 300 + WIDTH / SKIP_RANGE_COUNT_MAX);
    stage_close(&s);
}

/* --- starting ------------------------------------------------------------------------------------------------------------------ */

#define PARAMS "\"params\":[{\"name\":\"s\",\"type\":\"string\",\"required\":true},{\"name\":\"i\",\"type\":\"integer\",\"required\":false," \
    "\"default\":3},{\"name\":\"n\",\"type\":\"number\",\"required\":false},{\"name\":\"b\",\"type\":\"boolean\",\"required\":false}],"

TEST(parameters_are_checked_exactly, "proves: R-053 G-06 R-041")
{
    static const struct { const char *name, *params; const char *says[2]; } rows[] = {
        { "all given", "{\"s\":\"x\",\"i\":4,\"n\":1.5,\"b\":true}", { NULL } },
        { "defaults are filled in", "{\"s\":\"x\"}", { NULL } },
        { "an integer may be written with a point", "{\"s\":\"x\",\"i\":4.0}", { NULL } },
        { "one is missing", "{}", { "'s' is missing" } },
        { "unknown", "{\"s\":\"x\",\"q\":1}", { "'q' is not declared" } },
        { "a fraction", "{\"s\":\"x\",\"i\":1.5}", { "'i' is not of type integer" } },
        { "a number is no string", "{\"s\":1}", { "'s' is not of type string" } },
        { "a string is no number", "{\"s\":\"x\",\"n\":\"1\"}", { "'n' is not of type number" } },
        { "null is no boolean", "{\"s\":\"x\",\"b\":null}", { "'b' is not of type boolean" } },
        { "all mistakes at once", "{\"q\":1,\"b\":0}", { "'q' is not declared", "'b' is not of type boolean" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, TREE_HEAD PARAMS "\"steps\":[" TASK("a", "") "]}");
        Status status = stage_start(&s, rows[i].params);
        EXPECT_INT(status, rows[i].says[0] ? ERR_INVALID : OK);
        for (int k = 0; k < 2 && rows[i].says[k]; k++) EXPECT(strstr(s.err.text, rows[i].says[k]) != NULL);
        if (status) EXPECT_INT(s.run.event_count, 0);               /* nothing is created */
        else EXPECT(value_get_text(*value_get_text(s.params, "params"), "i") != NULL);
        stage_close(&s);
    }
}

TEST(a_start_has_the_key_that_its_definition_makes, "")
{
    STAGE(s, TREE_HEAD PARAMS "\"idempotency_key\":\"${params.i}\",\"config\":{\"timeout_ms\":60000},\"priority\":\"high\",\"steps\":["
          TASK("a", "") "]}");
    StartRequest request = { .params = value_null(), .payload = value_null() };
    Str key;
    EXPECT_INT(decide_start_key(&s.plan, &request, &s.arena, &key, &s.err), ERR_INVALID);
    REQUIRE_OK(stage_start(&s, "{\"s\":\"x\",\"i\":12}"), &s.err);
    EXPECT_STR(s.run.key, STR("12"));
    EXPECT_INT(s.run.deadline_ms, s.now + 60000);
    EXPECT_INT(s.run.priority, PRIORITY_HIGH);
    EXPECT_INT(s.run.seed, 42);
    EXPECT_INT(s.run.revision, 3);
    EXPECT_STR(s.run.source, STR("manual"));
    EXPECT(memcmp(&s.run.plan_digest, &s.plan.digest, sizeof s.plan.digest) == 0);
    EXPECT_INT(stage_start(&s, "{\"s\":\"x\"}"), ERR_CONFLICT);
    stage_close(&s);
}

TEST(what_runs_cannot_carry_out_is_refused_at_the_start, "")
{
    static const struct { const char *plan, *says; } rows[] = {
        { BOOK_HEAD "\"steps\":[{\"id\":\"a\",\"kind\":\"artifact\",\"execute\":{}}]}", "execute" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].says);
        STAGE(s, rows[i].plan);
        EXPECT_INT(stage_start(&s, "{}"), ERR_INVALID);
        EXPECT(strstr(s.err.text, rows[i].says) != NULL);
        stage_close(&s);
    }
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"compensation\":{\"run\":\"x\"}") "]}");    /* declaring one is fine */
    EXPECT_OK(stage_start(&s, "{}"), &s.err);
    stage_close(&s);
    STAGE(d, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    d.verdicts[HOOK_RUN_START] = VERDICT_DENY;
    EXPECT_INT(stage_start(&d, "{}"), ERR_DENIED);
    stage_close(&d);
}

TEST(a_plan_without_steps_succeeds, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_damaged_snapshot_is_refused, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"before\"}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_signal(&s, "other", false), &s.err);
    Buf whole;
    buf_init(&whole, SIZE_MAX);
    run_encode(&s.run, &whole);
    Run read;
    run_init(&read, &s.plan, &s.run.id, s.run.run_no);
    for (size_t size = 0; size < whole.len; size++)
        EXPECT_INT(run_decode(&read, &s.plan, (Str){ whole.ptr, size }, &s.err), ERR_CORRUPT);
    /* Any single byte changed: refused, or a run that is whole in itself; never a crash. */
    for (size_t at = 0; at < whole.len; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            whole.ptr[at] = (char)(whole.ptr[at] ^ (1 << bit));
            Status status = run_decode(&read, &s.plan, buf_peek(&whole), &s.err);
            EXPECT(status == OK || status == ERR_CORRUPT);
            whole.ptr[at] = (char)(whole.ptr[at] ^ (1 << bit));
        }
    buf_char(&whole, 'x');
    EXPECT_INT(run_decode(&read, &s.plan, buf_peek(&whole), &s.err), ERR_CORRUPT);
    run_deinit(&read);
    buf_deinit(&whole);
    stage_close(&s);
}
