#include <string.h>

#include "base/limits.h"
#include "core/pause.h"
#include "core/stage_test.h"
#include "harness/test.h"
#include "value/json.h"

#define PAUSE(more) TASK("a", ",\"pause_after\":{\"trigger\":\"ok\"" more "}")
#define PLAN(more) TREE_HEAD "\"steps\":[" PAUSE(more) "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}"

/* Runs to the pause behind the first step. */
static bool to_pause(Stage *s)
{
    return EXPECT_OK(stage_start(s, "{}"), &s->err) && EXPECT_OK(stage_succeed(s, "a", "{\"asked\":true}"), &s->err);
}

static TriggerOutcome outcome(const Stage *s)
{
    const Event *ended = stage_last(s, EVENT_TRIGGER_ENDED);
    return ended ? (TriggerOutcome)ended->sort : TRIGGER_OUTCOME_COUNT;
}

TEST(a_run_pauses_behind_a_step_and_goes_on_by_its_trigger, "proves: A-180 A-190 A-193 A-185 A-208 A-213 A-214 A-272")
{
    STAGE(s, PLAN(",\"timeout_ms\":5000"));
    if (!to_pause(&s)) return;
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_count_last(&s, EVENT_TRIGGER_AWAITED), 1);                 /* all in one record */
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_SUCCEEDED), 1);
    EXPECT_INT(stage_count_last(&s, EVENT_RUN_PAUSED), 1);
    EXPECT_INT(s.run.awaited.due_ms, s.now + 5000);
    EXPECT(run_is_parked(&s.run));
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"by\":\"ana\"}", false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(outcome(&s), TRIGGER_ANSWERED);
    EXPECT_STR(value_get_string(s.outputs[2], "by", STR("")), STR("ana"));      /* under the trigger's name */
    EXPECT_INT(run_value_at(&s.run, 2), s.position);
    EXPECT_STR(stage_last(&s, EVENT_TRIGGER_RECEIVED)->key, STR("127.0.0.1"));
    stage_wait(&s, 10000);                                                      /* its timer comes late: nothing happens */
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_count(&s, EVENT_TRIGGER_TIMED_OUT), 0);
    EXPECT_INT(stage_trigger(&s, "ok", NULL, false), ERR_CONFLICT);             /* once */
    EXPECT_INT(stage_trigger(&s, "other", NULL, false), ERR_NOT_FOUND);
    stage_close(&s);
}

TEST(a_pause_that_asks_nothing_of_a_payload_is_told_from_others, "proves: R-091")
{
    static const struct { const char *name, *plan, *trigger; bool want; } rows[] = {
        { "nothing is declared", PLAN(""), "ok", true },
        { "a schema", PLAN(",\"payload_schema\":{\"type\":\"object\"}"), "ok", false },
        { "a condition", PLAN(",\"resume_when\":\"payload ok\""), "ok", false },
        { "that of another trigger", PLAN(",\"resume_when\":\"payload ok\""), "other", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, rows[i].plan);
        EXPECT_INT(pause_is_plain(&s.plan, str_of(rows[i].trigger)), rows[i].want);
        stage_close(&s);
    }
}

TEST(what_a_trigger_brought_is_read_like_an_output, "proves: A-185")
{
    STAGE(s, TREE_HEAD "\"steps\":[" PAUSE("") "," TASK("b", ",\"input\":{\"who\":\"${outputs.ok.by}\"}") "],\"edges\":[[0,1,\"order\"]]}");
    if (!to_pause(&s)) return;
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"by\":\"ana\"}", false), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_STR(value_get_string(s.last_payload, "who", STR("")), STR("ana"));
    stage_close(&s);
}

TEST(a_payload_that_is_not_as_the_schema_says_changes_nothing, "proves: A-191 A-215")
{
    STAGE(s, PLAN(",\"payload_schema\":{\"type\":\"object\"}"));
    if (!to_pause(&s)) return;
    s.schema_error = "it has no 'approved'";
    EXPECT_INT(stage_trigger(&s, "ok", "{}", false), ERR_INVALID);
    EXPECT(strstr(s.err.text, "payload_schema") && strstr(s.err.text, "approved"));
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_kind(&s, COMMAND_RESUME), ERR_CONFLICT);                   /* nor does a person get around it */
    EXPECT(strstr(s.err.text, "trigger 'ok'") != NULL);
    s.schema_error = NULL;
    REQUIRE_OK(stage_trigger(&s, "ok", "{}", false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);
}

TEST(a_condition_that_does_not_hold_keeps_the_run_paused, "proves: A-192 A-183 A-207")
{
    STAGE(s, PLAN(",\"resume_when\":\"payload ok\""));
    if (!to_pause(&s)) return;
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"ok\":false}", false), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_last(&s, EVENT_TRIGGER_RECEIVED)->flags, TRIGGER_IS_UNMET);
    REQUIRE_OK(stage_trigger(&s, "ok", "{}", false), &s.err);                   /* undefined is not met */
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_kind(&s, COMMAND_RESUME), ERR_CONFLICT);
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"ok\":true}", false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);
}

TEST(a_signal_that_meets_the_condition_resumes_the_run, "proves: A-189 C-100")
{
    STAGE(s, PLAN(",\"resume_when\":\"payload ok\""));
    if (!to_pause(&s)) return;
    Command signal = { .kind = COMMAND_SIGNAL, .name = STR("stock"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &signal), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    REQUIRE_OK(json_parse(&s.log_arena, STR("{\"ok\":true}"), &signal.value, &s.err), &s.err);
    REQUIRE_OK(stage_do(&s, &signal), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(outcome(&s), TRIGGER_ANSWERED);
    EXPECT(value_get_bool(s.outputs[2], "ok", false));
    stage_close(&s);
}

TEST(a_person_resumes_a_run_whose_pause_asks_for_nothing, "proves: A-187")
{
    STAGE(s, PLAN(",\"timeout_ms\":1000"));
    if (!to_pause(&s)) return;
    EXPECT_INT(stage_kind(&s, COMMAND_PAUSE), ERR_CONFLICT);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(outcome(&s), TRIGGER_RESUMED);
    stage_wait(&s, 5000);                                                       /* not resumed again by its own timer */
    EXPECT_INT(stage_count(&s, EVENT_TRIGGER_ENDED), 1);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);
}

TEST(a_pause_may_end_by_itself, "proves: A-188 A-202 A-203 A-210 A-217")
{
    STAGE(s, PLAN(",\"auto_resume_after_ms\":14000"));
    if (!to_pause(&s)) return;
    EXPECT_INT(stage_last(&s, EVENT_TRIGGER_AWAITED)->flags, 1);
    stage_wait(&s, 13999);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    stage_wait(&s, 1);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(outcome(&s), TRIGGER_SCHEDULED);
    stage_close(&s);
}

TEST(a_trigger_that_does_not_come_has_the_consequence_that_is_declared, "proves: A-184 A-209 A-216 C-64 C-100")
{
    STAGE(s, PLAN(",\"timeout_ms\":1000"));
    if (!to_pause(&s)) return;
    stage_wait(&s, 1000);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    EXPECT_INT(s.run.cause, CAUSE_TIMEOUT);
    EXPECT_INT(outcome(&s), TRIGGER_TIMEOUT);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    Command retry = { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);                                        /* awaited again, the step is not run again */
    EXPECT_INT(stage_step(&s, "a")->attempt, 1);
    EXPECT_INT(s.run.awaited.due_ms, s.now + 1000);
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);

    STAGE(r, PLAN(",\"timeout_ms\":1000,\"on_timeout\":\"Reminder\",\"reminders\":2"));
    if (!to_pause(&r)) return;
    for (uint32_t i = 1; i <= 2; i++) {
        stage_wait(&r, 1000);
        EXPECT_INT(r.run.state, RUN_PAUSED);
        EXPECT_INT(stage_count(&r, EVENT_TRIGGER_REMINDED), i);
        EXPECT_INT(r.run.awaited.due_ms, r.now + 1000);
    }
    stage_wait(&r, 1000);
    EXPECT_INT(r.run.state, RUN_FAILED);
    stage_close(&r);

    STAGE(a, PLAN(",\"timeout_ms\":1000,\"on_timeout\":\"AutoApprove\",\"default_payload\":{\"approved\":true}"));
    if (!to_pause(&a)) return;
    stage_wait(&a, 1000);
    EXPECT_INT(a.run.state, RUN_RUNNING);
    EXPECT_INT(outcome(&a), TRIGGER_AUTO_APPROVED);
    EXPECT(value_get_bool(a.outputs[2], "approved", false));
    stage_close(&a);
}

TEST(a_denial_fails_the_run_and_is_told_from_a_timeout, "proves: A-183")
{
    STAGE(s, PLAN(""));
    if (!to_pause(&s)) return;
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, true), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.cause, CAUSE_SIGNAL_DENIED);
    EXPECT_INT(outcome(&s), TRIGGER_DENIED);
    stage_close(&s);

    STAGE(c, PLAN(""));
    if (!to_pause(&c)) return;
    REQUIRE_OK(stage_kind(&c, COMMAND_CANCEL), &c.err);
    EXPECT_INT(c.run.state, RUN_CANCELLED);
    EXPECT_INT(outcome(&c), TRIGGER_CANCELLED);
    stage_close(&c);
}

TEST(a_trigger_that_comes_before_its_pause_is_kept_for_it, "proves: C-99")
{
    STAGE(s, PLAN(",\"resume_when\":\"payload ok\""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"ok\":true}", false), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_TRIGGER_RECEIVED)->flags, TRIGGER_IS_KEPT);
    s.hidden = 2;                                                               /* its payload has to be fetched first */
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(s.missing, 2);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    s.hidden = STEP_NONE;
    stage_more(&s);
    while (s.answer == ADVANCE_EVENTS) stage_more(&s);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_count(&s, EVENT_RUN_PAUSED), 0);                           /* it passes */
    EXPECT_INT(outcome(&s), TRIGGER_ANSWERED);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);

    STAGE(n, PLAN(",\"resume_when\":\"payload ok\""));
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    REQUIRE_OK(stage_trigger(&n, "ok", "{\"ok\":false}", false), &n.err);
    REQUIRE_OK(stage_succeed(&n, "a", NULL), &n.err);
    EXPECT_INT(n.run.state, RUN_PAUSED);                                        /* what does not meet the condition is used up */
    REQUIRE_OK(stage_trigger(&n, "ok", "{\"ok\":true}", false), &n.err);
    EXPECT_INT(n.run.state, RUN_RUNNING);
    stage_close(&n);
}

TEST(pauses_are_awaited_one_after_the_other, "proves: C-89 A-194")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"pause_after\":{\"trigger\":\"x\",\"timeout_ms\":1000}") ","
          TASK("b", ",\"pause_after\":{\"trigger\":\"y\",\"timeout_ms\":1000}") "," TASK("c", "") "," TASK("d", "")
          "],\"edges\":[[0,2,\"order\"],[1,2,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(s.run.awaited.step, 1);
    stage_wait(&s, 500);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);                           /* what runs is finished */
    EXPECT_INT(s.run.awaited.step, 1);
    REQUIRE_OK(stage_trigger(&s, "y", NULL, false), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(stage_count(&s, EVENT_RUN_PAUSED), 1);                           /* it did not run in between */
    EXPECT_INT(s.run.awaited.step, 0);
    EXPECT_INT(s.run.awaited.due_ms, s.now + 1000);                             /* its time begins now */
    EXPECT_INT(stage_state(&s, "c"), STEP_QUEUED);
    REQUIRE_OK(stage_trigger(&s, "x", NULL, false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "c"), STEP_RUNNING);
    stage_close(&s);
}

TEST(a_retry_from_before_a_pause_awaits_it_again, "proves: A-260 A-265")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"poll\":{\"interval_ms\":1,\"max_duration_ms\":1000},\"pause_after\":{\"trigger\":\"ok\"}") ","
          TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{\"complete\":true}"), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);                                        /* after the poll is complete */
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"n\":1}", false), &s.err);
    REQUIRE_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
    Command retry = { .kind = COMMAND_RETRY_FROM, .name = STR("a"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(run_value_at(&s.run, 2), 0);                                     /* no stale answer can be read */
    REQUIRE_OK(stage_succeed(&s, "a", "{\"complete\":true}"), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    REQUIRE_OK(stage_trigger(&s, "ok", "{\"n\":2}", false), &s.err);
    EXPECT_INT(value_get_int(s.outputs[2], "n", 0), 2);
    stage_close(&s);
}

TEST(a_policy_may_forbid_that_a_trigger_resumes_the_run, "")
{
    STAGE(s, PLAN(""));
    if (!to_pause(&s)) return;
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_DENY;
    EXPECT_INT(stage_trigger(&s, "ok", NULL, false), ERR_DENIED);
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_ALLOW;
    s.verdicts[HOOK_SIGNAL] = VERDICT_LATER;
    EXPECT_INT(stage_trigger(&s, "ok", NULL, false), ERR_UNAVAILABLE);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    stage_close(&s);
}

TEST(a_run_that_a_person_paused_awaits_its_trigger_once_it_goes_on, "proves: C-89")
{
    STAGE(s, PLAN(",\"timeout_ms\":1000"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.awaited.step, STEP_NONE);
    stage_wait(&s, 5000);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_INT(s.run.awaited.step, 0);
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);
}

TEST(what_the_condition_of_a_pause_needs_is_fetched_first, "proves: A-253")
{
    STAGE(s, PLAN(",\"resume_when\":\"hidden\""));
    if (!to_pause(&s)) return;
    s.hidden = MISSING_PARAMS;
    EXPECT_INT(stage_trigger(&s, "ok", NULL, false), ERR_UNAVAILABLE);
    EXPECT_INT(stage_kind(&s, COMMAND_RESUME), ERR_UNAVAILABLE);
    s.hidden = 0;                                                               /* the output of its own step */
    EXPECT_INT(stage_trigger(&s, "ok", NULL, false), ERR_UNAVAILABLE);
    s.hidden = STEP_NONE;
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);

    STAGE(e, PLAN(",\"resume_when\":\"error\""));
    if (!to_pause(&e)) return;
    REQUIRE_OK(stage_trigger(&e, "ok", NULL, false), &e.err);                   /* never silently true */
    EXPECT_INT(e.run.state, RUN_PAUSED);
    EXPECT_INT(stage_last(&e, EVENT_TRIGGER_RECEIVED)->flags, TRIGGER_IS_UNMET);
    stage_close(&e);
}

TEST(triggers_are_bounded_and_named, "proves: A-253")
{
    STAGE(s, PLAN(",\"resume_when\":\"payload ok\""));
    if (!to_pause(&s)) return;
    EXPECT_INT(stage_trigger(&s, "", NULL, false), ERR_INVALID);
    char name[NAME_SIZE_MAX + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT_INT(stage_trigger(&s, name, NULL, false), ERR_INVALID);
    s.is_fast = true;
    for (uint32_t i = 0; i < RUN_SIGNAL_COUNT_MAX; i++) REQUIRE_OK(stage_trigger(&s, "ok", "{\"ok\":false}", false), &s.err);
    EXPECT_INT(stage_trigger(&s, "ok", "{\"ok\":true}", false), ERR_LIMIT);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    stage_close(&s);
}

TEST(a_default_payload_is_made_when_it_is_needed, "proves: A-184 A-253")
{
    STAGE(s, TREE_HEAD "\"params\":[{\"name\":\"p\",\"type\":\"integer\"}],\"steps\":["
          PAUSE(",\"timeout_ms\":1000,\"on_timeout\":\"AutoApprove\",\"default_payload\":{\"n\":\"${params.p}\"}") "]}");
    REQUIRE_OK(stage_start(&s, "{\"p\":3}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    s.hidden = MISSING_PARAMS;
    s.now += 1000;
    EXPECT_INT(stage_kind(&s, COMMAND_TIMER), ERR_UNAVAILABLE);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    s.hidden = STEP_NONE;
    stage_wait(&s, 1);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(value_get_int(s.outputs[1], "n", 0), 3);
    stage_close(&s);

    STAGE(w, PLAN(",\"timeout_ms\":1000,\"on_timeout\":\"AutoApprove\",\"default_payload\":\"${params.none}\""));
    if (!to_pause(&w)) return;
    stage_wait(&w, 1000);
    EXPECT_INT(w.run.state, RUN_FAILED);
    EXPECT_INT(w.run.cause, CAUSE_INPUT_INVALID);
    EXPECT_INT(outcome(&w), TRIGGER_TIMEOUT);
    stage_close(&w);
}

TEST(outcomes_of_pauses_have_names, "")
{
    static const char *const names[TRIGGER_OUTCOME_COUNT] = { "answered", "resumed", "scheduled", "auto-approved", "denied", "timed-out",
                                                              "cancelled" };
    for (int i = 0; i < TRIGGER_OUTCOME_COUNT; i++) EXPECT_STR(str_of(trigger_outcome_name((TriggerOutcome)i)), str_of(names[i]));
}

TEST(what_became_of_a_trigger_that_was_received_has_a_name, "")
{
    static const struct { uint32_t flags; const char *name; } cases[] = {
        { 0, "answered" }, { TRIGGER_IS_DENIAL, "denied" }, { TRIGGER_IS_KEPT, "kept" }, { TRIGGER_IS_UNMET, "unmet" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) EXPECT_STR(str_of(trigger_flags_name(cases[i].flags)), str_of(cases[i].name));
}
