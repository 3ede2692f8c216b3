/* Gates and signals. */
#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define GATE(when, timeout) ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"" when "\"" timeout "}"
#define TWO(gate) TREE_HEAD "\"steps\":[" TASK("a", gate) "," TASK("b", ",\"input\":{\"v\":\"${outputs.a.v}\"}") "],\"edges\":[[0,1,\"data\"]]}"

TEST(a_gate_after_the_work_keeps_the_output_back, "proves: F-053 F-074 F-081 C-08")
{
    STAGE(s, TWO(GATE("after", "")));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{\"v\":5}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);
    EXPECT_INT(s.run.state, RUN_WAITING_SIGNAL);
    EXPECT_INT(s.run.running_count, 0);
    EXPECT(!(stage_step(&s, "a")->flags & STEP_HAS_OUTPUT));
    EXPECT(run_is_parked(&s.run));
    EXPECT_OK(stage_signal(&s, "other", false), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(value_get_int(s.last_payload, "v", 0), 5);
    EXPECT_INT(stage_count(&s, EVENT_SIGNAL_CONSUMED), 1);
    stage_close(&s);
}

TEST(a_gate_before_the_work_holds_it, "proves: F-053 F-081")
{
    STAGE(s, TWO(GATE("before", "")));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);
    EXPECT_INT(s.run.state, RUN_WAITING_SIGNAL);
    EXPECT_INT(stage_step(&s, "a")->attempt, 0);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 1);
    EXPECT_INT(stage_step(&s, "a")->number, 1);
    EXPECT_OK(stage_succeed(&s, "a", "{\"v\":5}"), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);
}

TEST(a_signal_that_came_early_satisfies_the_wait_at_once, "proves: F-052 F-056")
{
    static const char *const plans[] = { TWO(GATE("after", "")), TWO(GATE("before", "")) };
    for (size_t i = 0; i < 2; i++) {
        STAGE(s, plans[i]);
        s.room = 0;
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        if (i == 0) EXPECT_OK(stage_signal(&s, "go", false), &s.err);
        s.room = UINT32_MAX;
        stage_more(&s);
        if (i == 1) EXPECT_OK(stage_signal(&s, "go", false), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        EXPECT_OK(stage_succeed(&s, "a", "{\"v\":5}"), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
        EXPECT_INT(stage_count(&s, EVENT_SIGNAL_RECEIVED), 1);
        EXPECT_INT(stage_last(&s, EVENT_SIGNAL_RECEIVED)->sort, SIGNAL_APPROVAL);
        stage_close(&s);
    }
    STAGE(b, TREE_HEAD "\"config\":{\"max_concurrency\":1},\"steps\":[" TASK("x", "") "," TASK("a", GATE("before", "")) "]}");
    REQUIRE_OK(stage_start(&b, "{}"), &b.err);
    EXPECT_OK(stage_signal(&b, "go", false), &b.err);
    EXPECT_OK(stage_succeed(&b, "x", NULL), &b.err);
    EXPECT_INT(stage_state(&b, "a"), STEP_RUNNING);
    EXPECT_INT(stage_count_last(&b, EVENT_SIGNAL_CONSUMED), 1);
    stage_close(&b);
}

TEST(a_signal_serves_every_waiting_step_once, "proves: F-056")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", GATE("before", "")) "," TASK("b", GATE("before", "")) "," TASK("c", GATE("after", ""))
          "],\"edges\":[[0,2,\"order\"]],\"loops\":[{\"head\":0,\"tail\":0,\"max_iterations\":2,\"on_max\":\"continue\",\"when\":\"yes\"}]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_WAITING_SIGNAL);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);          /* the second round needs another one */
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);                /* which is also there for c, from the first on */
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(stage_count(&s, EVENT_SIGNAL_CONSUMED), 4);
    stage_close(&s);
}

TEST(a_denial_or_a_timeout_fails_what_waits, "proves: F-082")
{
    static const struct { const char *plan; bool denied; Cause cause; } rows[] = {
        { TWO(GATE("after", "")), true, CAUSE_SIGNAL_DENIED },
        { TWO(GATE("before", "")), true, CAUSE_SIGNAL_DENIED },
        { TWO(GATE("after", ",\"timeout_ms\":100")), false, CAUSE_TIMEOUT },
        { TWO(GATE("before", ",\"timeout_ms\":100")), false, CAUSE_TIMEOUT },
    };
    for (size_t i = 0; i < 4; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        if (stage_state(&s, "a") == STEP_RUNNING) EXPECT_OK(stage_succeed(&s, "a", "{\"v\":5}"), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);
        if (rows[i].denied) EXPECT_OK(stage_signal(&s, "go", true), &s.err);
        else stage_wait(&s, 99);
        if (!rows[i].denied) EXPECT_INT(stage_state(&s, "a"), STEP_WAITING_SIGNAL);
        if (!rows[i].denied) stage_wait(&s, 1);
        EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
        EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, rows[i].cause);
        EXPECT_INT(s.run.state, RUN_FAILED);
        EXPECT(!(stage_step(&s, "a")->flags & STEP_HAS_OUTPUT));        /* */
        stage_close(&s);
    }
    STAGE(s, TWO(GATE("after", "")));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_signal(&s, "go", true), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{\"v\":5}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    stage_close(&s);
}

TEST(signals_are_bounded_and_refused_when_nobody_can_use_them, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    s.is_fast = true;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_signal(&s, "", false), ERR_INVALID);
    for (uint32_t i = 0; i < RUN_SIGNAL_COUNT_MAX; i++) EXPECT_OK(stage_signal(&s, "x", false), &s.err);
    EXPECT_INT(stage_signal(&s, "x", false), ERR_LIMIT);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_signal(&s, "x", false), ERR_CONFLICT);
    stage_close(&s);
    STAGE(d, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&d, "{}"), &d.err);
    d.verdicts[HOOK_SIGNAL] = VERDICT_DENY;
    EXPECT_INT(stage_signal(&d, "x", false), ERR_DENIED);
    d.verdicts[HOOK_SIGNAL] = VERDICT_LATER;
    EXPECT_INT(stage_signal(&d, "x", false), ERR_UNAVAILABLE);
    stage_close(&d);
}

TEST(a_job_waits_after_its_tasks, "proves: F-053 F-069")
{
    STAGE(s, PLAN_HEAD "\"jobs\":[{\"id\":\"j\",\"priority\":\"normal\",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"after\"}}],"
          "\"steps\":[{\"id\":\"j.a\",\"kind\":\"task\",\"job\":0},{\"id\":\"j.b\",\"kind\":\"task\",\"job\":0}],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "j.a", NULL), &s.err);
    EXPECT_INT(s.run.jobs[0].state, RUN_RUNNING);
    EXPECT_OK(stage_succeed(&s, "j.b", NULL), &s.err);
    EXPECT_INT(s.run.jobs[0].state, RUN_WAITING_SIGNAL);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(s.run.jobs[0].state, RUN_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    static const uint32_t want[] = { RUN_DISPATCHED, RUN_RUNNING, RUN_WAITING_SIGNAL, RUN_RUNNING, RUN_SUCCEEDED };
    uint32_t at = 0;
    for (size_t i = 0; i < s.log_count; i++)
        if (s.log[i].kind == EVENT_JOB_MOVED) {
            REQUIRE(at < 5);
            EXPECT_INT(s.log[i].state, want[at]);
            at++;
        }
    EXPECT_INT(at, 5);
    stage_close(&s);
}

TEST(many_waiting_steps_are_resumed_in_bounded_decisions, "")
{
    Buf plan;
    buf_init(&plan, 1 << 20);
    buf_format(&plan, "%s\"config\":{\"max_concurrency\":100000},\"steps\":[", TREE_HEAD);
    for (int i = 0; i < 2000; i++)
        buf_format(&plan, "%s{\"id\":\"s%d\",\"kind\":\"task\",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"before\"}}", i ? "," : "", i);
    buf_text(&plan, "]}");
    Stage s;
    if (!stage_open_str(&s, buf_peek(&plan))) return;
    s.is_fast = true;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.run.waiting_count, 2000);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(s.run.running_count, 2000);
    stage_close(&s);
    buf_deinit(&plan);
}
