#include "core/stage_test.h"
#include "harness/test.h"

#define END(condition, state) ",\"terminate_when\":{\"condition\":\"" condition "\",\"state\":\"" state "\",\"reason\":\"enough\"}"
#define PLAN(condition, state) \
    TREE_HEAD "\"steps\":[" TASK("a", END(condition, state)) "," TASK("b", "") "," TASK("c", "") "],\"edges\":[[0,1,\"order\"]]}"

TEST(a_run_ends_behind_a_step_that_says_so, "proves: A-117 A-120 A-122 A-123 A-128 A-144 C-83")
{
    static const struct { const char *plan; RunState state; } rows[] = {
        { PLAN("output stop", "SUCCEEDED"), RUN_SUCCEEDED },
        { PLAN("output stop", "FAILED"), RUN_FAILED },
    };
    for (size_t i = 0; i < 2; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(stage_succeed(&s, "a", "{\"stop\":true}"), &s.err);
        EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);                          /* nothing behind it began */
        EXPECT(stage_step(&s, "c")->flags & STEP_ENDING);                       /* what is under way is told to end */
        REQUIRE_OK(stage_fail(&s, "c", CAUSE_CANCELLED), &s.err);
        EXPECT_INT(s.run.state, rows[i].state);
        EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
        EXPECT_INT(stage_step(&s, "b")->cause, SKIP_TERMINATED_EARLY);
        EXPECT_INT(stage_state(&s, "c"), STEP_CANCELLED);
        if (i == 1) {
            EXPECT_INT(s.run.resolution, RESOLUTION_RESOLVED);                  /* nobody has to decide on it */
            EXPECT_STR(s.run.failure, STR("enough"));
            EXPECT(run_is_terminal(&s.run));
        }
        EXPECT_INT(stage_count(&s, EVENT_RUN_TERMINATING), 1);
        stage_close(&s);
    }
}

TEST(a_condition_that_does_not_hold_lets_the_run_go_on, "proves: A-122 A-138")
{
    STAGE(s, PLAN("output stop", "FAILED"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{\"stop\":false}"), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_count(&s, EVENT_TERMINATION_DECLINED), 1);
    stage_close(&s);

    STAGE(e, PLAN("error", "SUCCEEDED"));
    REQUIRE_OK(stage_start(&e, "{}"), &e.err);
    REQUIRE_OK(stage_succeed(&e, "a", NULL), &e.err);
    EXPECT_INT(e.run.cause, CAUSE_CONDITION_ERROR);                             /* never silently false */
    REQUIRE_OK(stage_succeed(&e, "c", NULL), &e.err);
    EXPECT_INT(e.run.state, RUN_FAILED);
    stage_close(&e);
}

TEST(an_end_is_asked_before_the_pause_of_the_same_step, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", END("yes", "SUCCEEDED") ",\"pause_after\":{\"trigger\":\"t\"}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(stage_count(&s, EVENT_TRIGGER_AWAITED), 0);
    stage_close(&s);
}

TEST(a_job_ends_the_run_behind_its_last_task, "proves: A-117")
{
    STAGE(s, PLAN_HEAD "\"jobs\":[{\"id\":\"j\",\"priority\":\"normal\""
          END("yes", "SUCCEEDED") "},{\"id\":\"k\",\"priority\":\"normal\"}],\"steps\":["
          "{\"id\":\"j.a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\",\"job\":0},"
          "{\"id\":\"j.b\",\"name\":\"b\",\"kind\":\"task\",\"run\":\"noop\",\"job\":0},"
          "{\"id\":\"k.c\",\"name\":\"c\",\"kind\":\"task\",\"run\":\"noop\",\"job\":1}],"
          "\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "j.a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "j.b"), STEP_RUNNING);
    REQUIRE_OK(stage_succeed(&s, "j.b", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "k.c"), STEP_SKIPPED);
    stage_close(&s);
}

TEST(what_the_condition_needs_is_fetched_first, "")
{
    STAGE(s, PLAN("hidden", "SUCCEEDED"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    s.hidden = MISSING_PARAMS;
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    s.hidden = STEP_NONE;
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_RUN_TERMINATING), 1);
    stage_close(&s);
}

TEST(an_output_that_is_not_at_hand_is_fetched_for_the_question, "")
{
    STAGE(s, PLAN("hidden", "SUCCEEDED"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    s.hidden = MISSING_PARAMS;
    REQUIRE_OK(stage_succeed(&s, "a", "{\"n\":1}"), &s.err);
    EXPECT_INT(s.missing, MISSING_PARAMS);
    s.hidden = 0;
    stage_more(&s);                                                             /* in a later decision, as after a crash */
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(s.missing, 0);
    s.hidden = STEP_NONE;
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_RUN_TERMINATING), 1);
    stage_close(&s);
}

TEST(an_undefined_end_is_declined_and_says_so, "proves: A-122")
{
    STAGE(s, PLAN("undefined", "SUCCEEDED"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_STR(stage_last(&s, EVENT_TERMINATION_DECLINED)->text, STR("undefined: undefined"));
    stage_close(&s);
}
