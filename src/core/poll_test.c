#include <string.h>

#include "base/limits.h"
#include "core/poll.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define POLL(more) TASK("a", ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":10000" more "}")
#define AFTER TASK("b", "")
#define PLAN(more) TREE_HEAD "\"steps\":[" POLL(more) "," AFTER "],\"edges\":[[0,1,\"order\"]]}"
#define DEFAULT ",\"default_output\":{\"paid\":false}"

static const PollRun *poll_of(const Stage *s)
{
    return &s->run.polls[0];
}

static Status answer(Stage *s, const char *json)
{
    return stage_succeed(s, "a", json);
}

TEST(the_first_poll_begins_at_once_and_the_next_ones_after_their_interval, "proves: A-145 A-153 A-156 A-161 A-169 A-164 C-61 C-91")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                             /* not after one interval */
    EXPECT_INT(poll_of(&s)->started_ms, s.now);
    REQUIRE_OK(answer(&s, "{\"complete\":false,\"continue\":true}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_POLLING);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(poll_of(&s)->count, 1);
    EXPECT_INT(poll_of(&s)->due_ms, s.now + 1000);
    EXPECT(run_is_parked(&s.run));                                              /* nothing of it is in memory meanwhile */
    stage_wait(&s, 999);
    EXPECT_INT(stage_state(&s, "a"), STEP_POLLING);
    stage_wait(&s, 1);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    REQUIRE_OK(answer(&s, "{\"complete\":true,\"output\":{\"paid\":true}}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_count(&s, EVENT_POLL_ATTEMPTED), 2);
    EXPECT_INT(stage_count(&s, EVENT_POLL_COMPLETED), 1);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT(value_get_bool(s.outputs[0], "paid", false));
    stage_close(&s);
}

TEST(a_poll_may_ask_for_another_interval_once, "proves: A-151 A-154 C-62")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false,\"continue\":true,\"nextInterval\":3}"), &s.err);
    EXPECT_INT(poll_of(&s)->due_ms, s.now + 3000);
    EXPECT_INT(stage_last(&s, EVENT_POLL_ATTEMPTED)->span_ms, 3000);
    stage_wait(&s, 3000);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    EXPECT_INT(poll_of(&s)->due_ms, s.now + 1000);
    EXPECT_INT(stage_last(&s, EVENT_POLL_ATTEMPTED)->span_ms, 0);
    stage_close(&s);
}

TEST(intervals_double_up_to_their_ceiling_where_they_are_exponential, "proves: A-147 A-167 A-252 C-63")
{
    PollTerms fixed = { .interval_ms = 300, .interval_ms_max = 1000, .duration_ms = 9000 };
    PollTerms doubling = { .interval_ms = 300, .interval_ms_max = 1000, .duration_ms = 9000, .is_exponential = true };
    static const int64_t want[] = { 300, 600, 1000, 1000 };
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_INT(poll_interval_ms(&fixed, i + 1), 300);
        EXPECT_INT(poll_interval_ms(&doubling, i + 1), want[i]);
    }
    EXPECT_INT(poll_interval_ms(&doubling, UINT32_MAX), 1000);
}

TEST(limits_of_attempts_and_of_time_end_the_polls, "proves: A-160 A-165 A-172 A-178 C-66 C-84")
{
    static const struct { const char *plan; uint32_t polls; } rows[] = {
        { PLAN(",\"max_attempts\":3"), 3 },
        { PLAN(""), 10 },
    };
    for (size_t i = 0; i < 2; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        for (uint32_t n = 1; n < rows[i].polls; n++) {
            REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
            stage_wait(&s, 1000);
            EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        }
        REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
        if (i == 1) {
            EXPECT_INT(stage_state(&s, "a"), STEP_POLLING);
            stage_wait(&s, 1000);                                               /* the last moment: no poll is made any more */
        }
        EXPECT_INT(stage_state(&s, "a"), STEP_TIMED_OUT);
        EXPECT_INT(stage_count(&s, EVENT_POLL_TIMED_OUT), 1);
        EXPECT_INT(poll_of(&s)->count, rows[i].polls);
        EXPECT_INT(s.run.state, RUN_FAILED);
        EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);             /* G-04: FailWorkflow is the default */
        EXPECT_INT(s.run.cause, CAUSE_TIMEOUT);
        EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
        stage_close(&s);
    }
}

TEST(a_timeout_may_go_on_with_a_default, "proves: A-148 A-149 C-84")
{
    STAGE(s, PLAN(",\"max_attempts\":1,\"on_timeout\":\"ContinueWithDefault\"" DEFAULT));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_TIMED_OUT);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT(value_get_text(s.outputs[0], "paid") && !value_get_bool(s.outputs[0], "paid", true));
    REQUIRE_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_timeout_may_pause_the_run_and_polls_anew_when_it_goes_on, "proves: A-150 C-84")
{
    STAGE(s, PLAN(",\"max_attempts\":1,\"on_timeout\":\"PauseWorkflow\""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_TIMED_OUT);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(s.run.paused_for, PAUSED_FOR_POLL);
    EXPECT(run_is_parked(&s.run));
    uint32_t number = stage_step(&s, "a")->number;
    stage_wait(&s, 100000);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                             /* a new step run, with new limits */
    EXPECT_INT(stage_count(&s, EVENT_STEP_SUPERSEDED), 1);
    EXPECT_INT(stage_last(&s, EVENT_STEP_SUPERSEDED)->count, number);
    EXPECT(stage_step(&s, "a")->number > number);
    EXPECT_INT(poll_of(&s)->count, 0);
    EXPECT_INT(poll_of(&s)->started_ms, s.now);
    REQUIRE_OK(answer(&s, "{\"complete\":true}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);

    STAGE(t, PLAN(",\"max_attempts\":1,\"on_timeout\":\"PauseWorkflow\""));
    REQUIRE_OK(stage_start(&t, "{}"), &t.err);
    REQUIRE_OK(answer(&t, "{\"complete\":false}"), &t.err);
    REQUIRE_OK(stage_kind(&t, COMMAND_CANCEL), &t.err);
    EXPECT_INT(t.run.state, RUN_CANCELLED);
    EXPECT_INT(t.run.open_count, 0);
    stage_close(&t);
}

TEST(a_poll_that_gives_up_ends_as_its_definition_says, "proves: A-155 A-179 G-19")
{
    static const struct { const char *plan; StepState step; RunState run; } rows[] = {
        { PLAN(""), STEP_FAILED, RUN_FAILED },
        { PLAN(",\"on_abort\":\"PauseWorkflow\""), STEP_TIMED_OUT, RUN_PAUSED },
        { PLAN(",\"on_abort\":\"ContinueWithDefault\"" DEFAULT), STEP_TIMED_OUT, RUN_RUNNING },
    };
    for (size_t i = 0; i < 3; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(answer(&s, "{\"complete\":false,\"continue\":false}"), &s.err);
        EXPECT_INT(stage_count(&s, EVENT_POLL_ABORTED), 1);
        EXPECT_INT(stage_state(&s, "a"), rows[i].step);
        EXPECT_INT(s.run.state, rows[i].run);
        if (i == 0) EXPECT_INT(cause_class((Cause)s.run.cause), CLASS_PERMANENT);
        stage_close(&s);
    }
}

TEST(what_is_no_answer_of_a_poll_is_a_failed_attempt, "proves: A-151 A-173")
{
    static const char *const wrong[] = { "7", "{}", "{\"complete\":1}", "{\"complete\":false,\"continue\":\"no\"}",
                                         "{\"complete\":false,\"nextInterval\":0}", "{\"complete\":false,\"nextInterval\":\"1m\"}",
                                         "{\"complete\":false,\"nextInterval\":1e300}" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ROW(wrong[i]);
        STAGE(s, PLAN(""));
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(answer(&s, wrong[i]), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
        EXPECT_INT(s.run.cause, CAUSE_OUTPUT_INVALID);
        EXPECT_INT(stage_count(&s, EVENT_POLL_ATTEMPTED), 0);
        stage_close(&s);
    }
}

TEST(each_poll_has_its_own_tries_and_its_own_generation_of_the_key, "proves: C-87 C-88")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"retries\":{\"attempts\":2,\"delay_ms\":10,\"jitter_ms\":0},\"spawn_budget\":2,"
          "\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":100000}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t poll = 0; poll < 4; poll++) {
        EXPECT_INT(stage_step(&s, "a")->generation, poll);
        REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        stage_wait(&s, 10);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        EXPECT_INT(stage_step(&s, "a")->generation, poll);                      /* within one poll it stays */
        REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
        EXPECT_INT(stage_step(&s, "a")->retry, 0);
        stage_wait(&s, 1000);
    }
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    stage_wait(&s, 10);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    stage_close(&s);
}

TEST(what_earlier_polls_gave_is_kept_within_bounds, "proves: A-173")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"poll\":{\"interval_ms\":1,\"max_duration_ms\":1000000}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t i = 1; i <= POLL_RESULT_COUNT_MAX + 5; i++) {
        REQUIRE_OK(answer(&s, "{\"complete\":false,\"output\":{\"status\":\"pending\"}}"), &s.err);
        Value results = s.outputs[0];
        EXPECT_INT(results.count, i < POLL_RESULT_COUNT_MAX ? i : POLL_RESULT_COUNT_MAX);
        EXPECT_INT(value_get_int(results.items[results.count - 1], "attempt", 0), i);
        stage_wait(&s, 1);
    }
    s.hidden = 0;                                                               /* not at hand: asked for, and nothing is decided */
    EXPECT_INT(answer(&s, "{\"complete\":false}"), ERR_UNAVAILABLE);
    s.hidden = STEP_NONE;
    char large[POLL_RESULTS_SIZE_MAX];
    memset(large, 'x', sizeof large);
    memcpy(large, "{\"complete\":false,\"output\":\"", 28);
    memcpy(large + sizeof large - 3, "\"}", 3);
    REQUIRE_OK(answer(&s, large), &s.err);
    EXPECT_INT(value_get_text(s.outputs[0].items[s.outputs[0].count - 1], "output")->kind, VALUE_NULL);
    stage_close(&s);
}

TEST(no_poll_begins_unless_its_run_runs, "proves: C-98 A-159")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    stage_wait(&s, 5000);
    EXPECT_INT(stage_state(&s, "a"), STEP_POLLING);
    EXPECT_INT(run_due_ms(&s.run), INT64_MAX);                                  /* and nothing spins meanwhile */
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                             /* missed, and made late, once */
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    stage_wait(&s, 60000);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_TIMED_OUT);                           /* too late for another */
    stage_close(&s);
}

TEST(a_failing_run_ends_its_polls_at_once, "proves: C-98")
{
    STAGE(s, TREE_HEAD "\"steps\":[" POLL("") "," AFTER "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    REQUIRE_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_CANCELLED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    Command retry = { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                             /* with counters from the start */
    EXPECT_INT(poll_of(&s)->count, 0);
    EXPECT_INT(poll_of(&s)->started_ms, s.now);
    stage_close(&s);
}

TEST(a_poll_that_was_under_way_in_a_crash_is_made_again, "proves: A-157 A-174")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    stage_wait(&s, 1000);
    s.epoch = 2;
    Command recover = { .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &recover), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    EXPECT_INT(poll_of(&s)->count, 1);
    REQUIRE_OK(answer(&s, "{\"complete\":true}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    stage_close(&s);
}

TEST(polls_survive_many_owners_as_long_as_each_gives_an_answer, "proves: A-157 A-174 C-88")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t i = 0; i < 3 * LOST_COUNT_MAX; i++) {
        s.epoch++;
        Command recover = { .kind = COMMAND_RECOVER, .holder = holder_make(s.epoch, 0), .value = value_null() };
        EXPECT_OK(stage_do(&s, &recover), &s.err);                              /* its owner dies in every one of them */
        EXPECT_INT(stage_last(&s, EVENT_LEASE_EXPIRED)->count, 1);
        EXPECT_INT(stage_step(&s, "a")->attempt, i + 1);
        if (!EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING)) break;
        REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
        EXPECT_INT(poll_of(&s)->count, i + 1);
        stage_wait(&s, 1000);
    }
    REQUIRE_OK(answer(&s, "{\"complete\":true}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    stage_close(&s);
}

TEST(a_poll_that_no_remote_executor_takes_is_offered_again, "proves: A-175")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    s.place = PLACE_THERE;
    stage_wait(&s, 1000);
    EXPECT_INT(stage_state(&s, "a"), STEP_POLLING);
    EXPECT(poll_is_offered(&s.plan, &s.run, 0));
    Command accept = { .kind = COMMAND_ACCEPT, .step = 0, .attempt = 2, .holder = holder_make(1, 9), .value = value_null() };
    stage_wait(&s, ACCEPT_MS_DEFAULT);
    EXPECT(!poll_is_offered(&s.plan, &s.run, 0));
    EXPECT_INT(stage_do(&s, &accept), ERR_CONFLICT);                            /* too late */
    stage_close(&s);

    STAGE(t, TREE_HEAD "\"steps\":[" TASK("a", ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":1000000}") "]}");
    REQUIRE_OK(stage_start(&t, "{}"), &t.err);
    REQUIRE_OK(answer(&t, "{\"complete\":false}"), &t.err);
    t.place = PLACE_THERE;
    stage_wait(&t, 1000);
    REQUIRE_OK(stage_do(&t, &accept), &t.err);
    EXPECT_INT(stage_state(&t, "a"), STEP_RUNNING);
    stage_close(&t);
}

TEST(a_polled_step_can_be_undone, "proves: A-262")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"compensation\":{\"run\":\"undo\"},\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":9000,"
          "\"max_attempts\":1,\"on_timeout\":\"ContinueWithDefault\",\"default_output\":1}") "," AFTER "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    REQUIRE_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_COMPENSATE), &s.err);
    REQUIRE_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);
}

TEST(what_a_default_is_made_of_is_fetched_or_fails_the_step, "proves: A-149 A-252")
{
    static const char plan[] = TREE_HEAD "\"params\":[{\"name\":\"p\",\"type\":\"integer\"}],\"steps\":["
        TASK("a", ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":9000,\"max_attempts\":1,\"on_timeout\":\"ContinueWithDefault\","
             "\"default_output\":{\"n\":\"${params.p}\"}}") "]}";
    STAGE(s, plan);
    REQUIRE_OK(stage_start(&s, "{\"p\":4}"), &s.err);
    s.hidden = MISSING_PARAMS;
    EXPECT_INT(answer(&s, "{\"complete\":false}"), ERR_UNAVAILABLE);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    s.hidden = STEP_NONE;
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    EXPECT_INT(value_get_int(s.outputs[0], "n", 0), 4);
    stage_close(&s);

    STAGE(w, TREE_HEAD "\"steps\":[" TASK("a", ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":9000,\"max_attempts\":1,"
          "\"on_timeout\":\"ContinueWithDefault\",\"default_output\":\"${params.none}\"}") "]}");
    REQUIRE_OK(stage_start(&w, "{}"), &w.err);
    REQUIRE_OK(answer(&w, "{\"complete\":false}"), &w.err);
    EXPECT_INT(stage_state(&w, "a"), STEP_FAILED);
    EXPECT_INT(w.run.cause, CAUSE_INPUT_INVALID);
    stage_close(&w);
}

TEST(a_poll_knows_which_one_it_is, "proves: A-173")
{
    STAGE(s, TREE_HEAD "\"steps\":["
          TASK("a",
               ",\"input\":{\"n\":\"${poll.attempt}\",\"of\":\"${poll.max_attempts}\",\"since\":\"${poll.started_at}\"},"
               "\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":9000,\"max_attempts\":7}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(value_get_int(s.last_payload, "n", 0), 1);
    EXPECT_INT(value_get_int(s.last_payload, "of", 0), 7);
    REQUIRE_OK(answer(&s, "{\"complete\":false}"), &s.err);
    stage_wait(&s, 1000);
    EXPECT_INT(value_get_int(s.last_payload, "n", 0), 2);
    EXPECT(value_get_string(s.last_payload, "since", STR("")).len > 0);
    REQUIRE_OK(answer(&s, "{\"complete\":true}"), &s.err);
    EXPECT_INT(value_get_int(poll_value(&s.plan, &s.run, 0, &s.arena), "attempt", 0), 2);       /* of one that has ended: the last */
    stage_close(&s);

    STAGE(n, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    EXPECT_INT(poll_value(&n.plan, &n.run, 0, &n.arena).kind, VALUE_NULL);
    stage_close(&n);
}
