#include <string.h>

#include "core/reaction.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define ON(actions) "\"on_signal\":{\"go\":[" actions "]},"
#define RETRIED ",\"retries\":{\"attempts\":2,\"attempts_max\":4,\"delay_ms\":1000,\"jitter_ms\":0},\"spawn_budget\":20"
#define PLAN(actions) TREE_HEAD ON(actions) "\"steps\":[" TASK("a", RETRIED) "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}"

TEST(a_signal_acts_on_the_run_like_a_command, "proves: F-054")
{
    static const struct { const char *plan; RunState state; } rows[] = {
        { PLAN("\"pause_all\""), RUN_PAUSED },
        { PLAN("\"cancel\""), RUN_RUNNING },                                    /* what runs is being ended */
        { PLAN("\"resume\""), RUN_RUNNING },                                    /* it is not paused: nothing happens */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(stage_signal(&s, "other", false), &s.err);
        EXPECT_INT(stage_count(&s, EVENT_REACTION_FIRED), 0);
        REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
        EXPECT_INT(stage_count(&s, EVENT_REACTION_FIRED), 1);
        EXPECT_INT(s.run.state, rows[i].state);
        if (i == 1) EXPECT(s.run.is_cancelling);
        stage_close(&s);
    }
    STAGE(r, TREE_HEAD "\"on_signal\":{\"stop\":[\"pause_all\"],\"go\":[\"resume\"]},\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&r, "{}"), &r.err);
    REQUIRE_OK(stage_signal(&r, "stop", false), &r.err);
    EXPECT_INT(r.run.state, RUN_PAUSED);
    REQUIRE_OK(stage_signal(&r, "go", false), &r.err);
    EXPECT_INT(r.run.state, RUN_RUNNING);
    stage_close(&r);
}

TEST(a_policy_that_no_longer_permits_it_pauses_the_run, "proves: F-054")
{
    STAGE(s, PLAN("\"policy_recheck\""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_DENY;
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_count(&s, EVENT_VERDICT), 1);
    stage_close(&s);
}

TEST(a_short_circuit_ends_the_run_or_a_task_with_its_outcome, "proves: F-054")
{
    STAGE(s, PLAN("{\"short_circuit\":{\"outcome\":\"succeeded\",\"reason\":\"done elsewhere\"}}"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(stage_step(&s, "b")->cause, SKIP_TERMINATED_EARLY);
    stage_close(&s);

    static const struct { const char *plan; StepState begun, ahead; RunState run; } rows[] = {
        { PLAN("{\"short_circuit\":{\"target\":\"a\",\"outcome\":\"succeeded\"}}"), STEP_SUCCEEDED, STEP_RUNNING, RUN_RUNNING },
        { PLAN("{\"short_circuit\":{\"target\":\"a\",\"outcome\":\"skipped\"}}"), STEP_SUCCEEDED, STEP_RUNNING, RUN_RUNNING },
        { PLAN("{\"short_circuit\":{\"target\":\"a\",\"outcome\":\"failed\"}}"), STEP_FAILED, STEP_SKIPPED, RUN_FAILED },
    };
    for (size_t i = 0; i < 3; i++) {
        STAGE(t, rows[i].plan);
        REQUIRE_OK(stage_start(&t, "{}"), &t.err);
        REQUIRE_OK(stage_signal(&t, "go", false), &t.err);
        EXPECT(stage_step(&t, "a")->flags & STEP_ENDING);
        REQUIRE_OK(stage_fail(&t, "a", CAUSE_CANCELLED), &t.err);
        EXPECT_INT(stage_state(&t, "a"), rows[i].begun);
        EXPECT_INT(stage_state(&t, "b"), rows[i].ahead);
        EXPECT_INT(t.run.state, rows[i].run);
        stage_close(&t);
    }
    static const struct { const char *plan; StepState b; RunState run; } ahead[] = {
        { PLAN("{\"short_circuit\":{\"target\":\"b\",\"outcome\":\"succeeded\"}}"), STEP_SUCCEEDED, RUN_SUCCEEDED },
        { PLAN("{\"short_circuit\":{\"target\":\"b\",\"outcome\":\"skipped\"}}"), STEP_SKIPPED, RUN_SUCCEEDED },
        { PLAN("{\"short_circuit\":{\"target\":\"b\",\"outcome\":\"failed\"}}"), STEP_FAILED, RUN_FAILED },
    };
    for (size_t i = 0; i < 3; i++) {
        STAGE(t, ahead[i].plan);
        REQUIRE_OK(stage_start(&t, "{}"), &t.err);
        REQUIRE_OK(stage_signal(&t, "go", false), &t.err);
        REQUIRE_OK(stage_succeed(&t, "a", NULL), &t.err);
        EXPECT_INT(stage_state(&t, "b"), ahead[i].b);                           /* it was not begun */
        EXPECT_INT(t.run.state, ahead[i].run);
        stage_close(&t);
    }
}

/* Cut before it has chosen, a branch leads nowhere: the run goes on where its cases meet. */
TEST(a_short_circuit_over_a_branch_does_not_hang_the_run, "proves: F-054")
{
    static const struct { const char *outcome; StepState branch; RunState run; } rows[] = {
        { "succeeded", STEP_SKIPPED, RUN_SUCCEEDED }, { "skipped", STEP_SKIPPED, RUN_SUCCEEDED }, { "failed", STEP_FAILED, RUN_FAILED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].outcome);
        static char plan[1024];
        Buf buf = buf_on(plan, sizeof plan - 1);
        buf_format(&buf, TREE_HEAD
                   "\"on_signal\":{\"go\":[{\"short_circuit\":{\"target\":\"b\",\"outcome\":\"%s\"}}]},\"steps\":["
                   TASK("a", "")
                   ",{\"id\":\"b\",\"name\":\"b\",\"kind\":\"branch\",\"cases\":[\"then\",\"else\"],\"condition\":\"yes\",\"converge\":3},"
                   TASK("c", "") "," TASK("d", "")
                   "],\"edges\":[[0,1,\"order\"],[1,2,\"branch\",\"then\"],[1,3,\"branch\",\"else\"],[2,3,\"order\"]]}",
                   rows[i].outcome);
        plan[buf.len] = '\0';
        STAGE(s, plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
        REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
        EXPECT_INT(stage_state(&s, "b"), rows[i].branch);
        if (stage_state(&s, "d") == STEP_RUNNING) EXPECT_OK(stage_succeed(&s, "d", NULL), &s.err);
        EXPECT_INT(s.run.state, rows[i].run);
        stage_close(&s);
    }
}

TEST(amplified_retries_stay_within_their_bound, "proves: F-055")
{
    STAGE(s, PLAN("{\"amplify_retries\":{\"tasks\":[\"a\"],\"attempts\":4,\"delay_ms\":10}}"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    stage_wait(&s, 1000);
    for (uint32_t attempt = 2; attempt < 4; attempt++) {
        REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        EXPECT(run_due_ms(&s.run) <= s.now + 40);                               /* shorter than it was declared */
        stage_wait(&s, 40);
    }
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(stage_step(&s, "a")->attempt, 4);
    stage_close(&s);
}

TEST(of_several_reactions_to_one_signal_none_contradicts_another, "proves: F-054")
{
    STAGE(s, PLAN("{\"short_circuit\":{\"target\":\"a\",\"outcome\":\"failed\"}},{\"short_circuit\":{\"target\":\"a\",\"outcome\":\"succeeded\"}},"
                  "\"pause_all\",\"cancel\""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_count(&s, EVENT_REACTION_FIRED), 4);
    EXPECT_INT(stage_count(&s, EVENT_STEP_CANCELLING), 1);
    EXPECT_INT(s.run.state, RUN_PAUSED);                                        /* the first that moves the run is the one */
    EXPECT(!s.run.is_cancelling);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    stage_close(&s);

    STAGE(l, TREE_HEAD "\"on_signal\":{\"go\":[\"resume\"]},\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&l, "{}"), &l.err);
    REQUIRE_OK(stage_kind(&l, COMMAND_PAUSE), &l.err);
    l.verdicts[HOOK_RUN_RESUME] = VERDICT_LATER;
    EXPECT_INT(stage_signal(&l, "go", false), ERR_UNAVAILABLE);                 /* asked again as a whole */
    l.verdicts[HOOK_RUN_RESUME] = VERDICT_ALLOW;
    REQUIRE_OK(stage_signal(&l, "go", false), &l.err);
    EXPECT_INT(l.run.state, RUN_RUNNING);
    stage_close(&l);
}
