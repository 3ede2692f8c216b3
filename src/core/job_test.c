#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define JOB_TASK(id, job, more) "{\"id\":\"" id "\",\"name\":\"" id "\",\"kind\":\"task\",\"job\":" job ",\"run\":\"noop\"" more "}"

/* left: a b c, one after another; right: d; after: e, which needs both. */
#define JOBS(head, a, b, d) \
    PLAN_HEAD head \
    "\"jobs\":[{\"id\":\"left\",\"priority\":\"normal\"},{\"id\":\"right\",\"priority\":\"normal\"},{\"id\":\"after\",\"priority\":\"normal\"}],\"steps\":[" \
    JOB_TASK("a", "0", a) "," \
    JOB_TASK("b", "0", b) "," JOB_TASK("c", "0", "") "," JOB_TASK("d", "1", d) "," JOB_TASK("e", "2", "") "]," \
    "\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,4,\"order\"],[3,4,\"order\"]]}"
#define INDEPENDENT "\"failure_mode\":\"continue-independent\","

enum { LEFT, RIGHT, AFTER };

static Status job_do(Stage *s, CommandKind kind, const char *job)
{
    Command command = { .kind = kind, .job = str_of(job), .actor = STR("user:ana"), .rationale = STR("the disk is full"), .value = value_null() };
    return stage_do(s, &command);
}

static RunState job_state(const Stage *s, uint32_t job) { return (RunState)s->run.jobs[job].state; }

TEST(a_paused_job_begins_nothing_and_the_others_go_on, "proves: F-128 F-129 F-073 F-080")
{
    STAGE(s, JOBS("", "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_PAUSED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_STR(stage_last(&s, EVENT_JOB_PAUSED)->text, STR("the disk is full"));
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);               /* what is under way is finished and recorded */
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    EXPECT_INT(job_state(&s, RIGHT), RUN_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_RUNNING);                           /* only a paused job is left: it is still running */
    EXPECT(run_is_parked(&s.run));                                  /* and need not be in memory */
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);                 /* exactly where it was */
    REQUIRE_OK(stage_succeed(&s, "b", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "c", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "e", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_job_that_has_not_begun_is_paused_in_the_queue, "proves: F-128 F-129")
{
    STAGE(s, JOBS("", "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "after"), &s.err);
    EXPECT_INT(job_state(&s, AFTER), RUN_QUEUED);                   /* M-3 has no way to `paused` from there */
    EXPECT_INT(job_do(&s, COMMAND_PAUSE, "after"), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "'after' is queued and paused before it runs: it is paused already") != NULL);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "b", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "c", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "e"), STEP_QUEUED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "after"), &s.err);
    EXPECT_INT(stage_state(&s, "e"), STEP_RUNNING);
    stage_close(&s);
}

TEST(the_pause_of_a_job_and_that_of_its_run_are_independent, "proves: F-128 F-129")
{
    STAGE(s, JOBS("", "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);                  /* the run goes on, the job does not */
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);                  /* and the other way round */
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);
}

TEST(retries_polls_and_lost_attempts_of_a_paused_job_wait_for_its_resume, "proves: F-128 F-129")
{
    STAGE(s, JOBS("", ",\"retries\":{\"attempts\":3,\"delay_ms\":100}", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    stage_wait(&s, 1000);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);                  /* due, and not begun */
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    s.epoch = 2;
    Command recover = { .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .actor = STR("engine"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &recover), &s.err);                     /* its owner died */
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    EXPECT_INT(job_state(&s, LEFT), RUN_PAUSED);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);                    /* the same attempt */
    stage_close(&s);

    STAGE(p, JOBS("", ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":60000,\"max_attempts\":9}", "", ""));
    REQUIRE_OK(stage_start(&p, "{}"), &p.err);
    REQUIRE_OK(job_do(&p, COMMAND_PAUSE, "left"), &p.err);
    REQUIRE_OK(stage_succeed(&p, "a", "{\"complete\":false}"), &p.err);
    stage_wait(&p, 5000);
    EXPECT_INT(stage_state(&p, "a"), STEP_POLLING);
    EXPECT_INT(stage_step(&p, "a")->attempt, 1);
    REQUIRE_OK(job_do(&p, COMMAND_RESUME, "left"), &p.err);
    EXPECT_INT(stage_state(&p, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&p, "a")->attempt, 2);
    stage_close(&p);
}

TEST(a_signal_reaches_a_paused_job_and_begins_nothing_in_it, "proves: F-128 F-053 C-08")
{
    STAGE(s, JOBS("", ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"after\"}", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_WAITING_SIGNAL);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_PAUSED);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_WAITING_SIGNAL);
    REQUIRE_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);
}

TEST(a_pause_behind_a_step_of_a_paused_job_is_awaited_all_the_same, "proves: F-128 A-190")
{
    STAGE(s, JOBS("", ",\"pause_after\":{\"trigger\":\"ok\",\"timeout_ms\":60000}", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);                            /* it holds the whole run, and so others that need `a` */
    REQUIRE_OK(stage_trigger(&s, "ok", "{}", false), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);
}

TEST(a_cancelled_job_ends_and_what_needs_it_is_skipped, "proves: F-130 F-083 C-34 C-90")
{
    STAGE(s, JOBS(INDEPENDENT, "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "left"), &s.err);
    EXPECT(stage_step(&s, "a")->flags & STEP_ENDING);               /* its executor is told */
    EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
    EXPECT_INT(stage_step(&s, "b")->cause, SKIP_RUN_CANCELLED);
    EXPECT_INT(job_state(&s, LEFT), RUN_RUNNING);
    size_t before = s.log_count;
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "left"), &s.err);         /* once more changes nothing */
    EXPECT_INT(s.log_count, before);
    EXPECT_INT(job_do(&s, COMMAND_PAUSE, "left"), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "being cancelled") != NULL);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);           /* it has ended */
    EXPECT_INT(stage_state(&s, "a"), STEP_CANCELLED);
    EXPECT_INT(job_state(&s, LEFT), RUN_CANCELLED);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);                 /* the other job does not mind */
    EXPECT_INT(s.run.state, RUN_RUNNING);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "e"), STEP_SKIPPED);
    EXPECT_INT(stage_step(&s, "e")->cause, SKIP_PREDECESSOR_FAILED);
    EXPECT_INT(job_state(&s, AFTER), RUN_SKIPPED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.cause, CAUSE_CANCELLED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    EXPECT_STR(s.run.failure, STR("the job 'left' was cancelled"));
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "left"), &s.err);
    Command retry = { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .actor = STR("user:ana"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);                       /* who retries has it done after all */
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "b", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "c", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "e", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_job_is_cancelled_from_every_state_it_can_be_in, "proves: F-130 F-083")
{
    static const struct { const char *name; const char *more; bool is_paused, succeeds, requeues; RunState want; } rows[] = {
        { "running", "", false, false, false, RUN_RUNNING },
        { "paused, with a step under way", "", true, false, false, RUN_PAUSED },
        { "waiting for a signal", ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"after\"}", false, true, false, RUN_WAITING_SIGNAL },
        { "about to be retried", ",\"retries\":{\"attempts\":3,\"delay_ms\":1000}", false, false, true, RUN_RUNNING },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Buf text;
        buf_init(&text, 1 << 16);
        buf_format(&text, PLAN_HEAD INDEPENDENT "\"jobs\":[{\"id\":\"left\",\"priority\":\"normal\"}],\"steps\":["
                   JOB_TASK("a", "0", "%s") "," JOB_TASK("b", "0", "") "],"
                   "\"edges\":[[0,1,\"order\"]]}", rows[i].more);
        Stage s;
        bool is_open = EXPECT(stage_open_str(&s, buf_peek(&text)));
        buf_deinit(&text);
        if (!is_open) return;
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        if (rows[i].succeeds) REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
        if (rows[i].requeues) REQUIRE_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
        if (rows[i].is_paused) REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
        EXPECT_INT(job_state(&s, LEFT), rows[i].want);
        REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "left"), &s.err);
        if (stage_state(&s, "a") == STEP_RUNNING) REQUIRE_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);
        EXPECT_INT(job_state(&s, LEFT), RUN_CANCELLED);
        EXPECT_INT(s.run.state, RUN_FAILED);
        stage_close(&s);
    }
}

TEST(a_job_that_is_cancelled_before_it_begins_is_cancelled_and_not_skipped, "proves: F-130 C-90 M-3")
{
    STAGE(s, JOBS(INDEPENDENT, "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "after"), &s.err);
    EXPECT_INT(stage_state(&s, "e"), STEP_SKIPPED);
    EXPECT_INT(job_state(&s, AFTER), RUN_CANCELLED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "b", "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "c", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}

TEST(a_cancel_that_comes_too_late_leaves_the_job_as_it_is, "proves: F-130")
{
    STAGE(s, JOBS("", "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "right"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);               /* all of it was done before its executor heard */
    EXPECT_INT(stage_state(&s, "d"), STEP_SUCCEEDED);
    EXPECT_INT(job_state(&s, RIGHT), RUN_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(job_do(&s, COMMAND_CANCEL, "right"), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "the job 'right' is succeeded: it has ended") != NULL);
    stage_close(&s);
}

TEST(a_cancelled_job_fails_the_run_by_the_rules_of_any_failure, "proves: F-130 G-13 A-014 A-017")
{
    STAGE(f, JOBS("", "", "", ""));                                 /* fail-fast: nothing new starts, what runs may end */
    REQUIRE_OK(stage_start(&f, "{}"), &f.err);
    REQUIRE_OK(job_do(&f, COMMAND_CANCEL, "left"), &f.err);
    EXPECT(f.run.is_failing);
    EXPECT(!(stage_step(&f, "d")->flags & STEP_ENDING));
    REQUIRE_OK(stage_fail(&f, "a", CAUSE_ERROR), &f.err);
    EXPECT_INT(job_state(&f, LEFT), RUN_CANCELLED);
    REQUIRE_OK(stage_succeed(&f, "d", "{}"), &f.err);
    EXPECT_INT(f.run.state, RUN_FAILED);
    stage_close(&f);

    STAGE(o, JOBS("", "", "", ",\"optional\":true"));               /* what is optional does not fail it */
    REQUIRE_OK(stage_start(&o, "{}"), &o.err);
    REQUIRE_OK(job_do(&o, COMMAND_CANCEL, "right"), &o.err);
    REQUIRE_OK(stage_fail(&o, "d", CAUSE_ERROR), &o.err);
    EXPECT_INT(job_state(&o, RIGHT), RUN_CANCELLED);
    EXPECT_INT(o.run.failed_step, STEP_NONE);
    stage_close(&o);

    /* What a person has cancelled is not repeated by itself. */
    STAGE(r, JOBS("\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\",\"max_retries\":3,\"retry_delay_ms\":10},", "", "", ""));
    REQUIRE_OK(stage_start(&r, "{}"), &r.err);
    REQUIRE_OK(job_do(&r, COMMAND_CANCEL, "left"), &r.err);
    REQUIRE_OK(stage_fail(&r, "a", CAUSE_ERROR), &r.err);
    REQUIRE_OK(stage_succeed(&r, "d", "{}"), &r.err);
    EXPECT_INT(r.run.state, RUN_FAILED);
    EXPECT_INT(r.run.resolution, RESOLUTION_AWAITING_DECISION);
    stage_close(&r);
}

TEST(a_poll_that_holds_the_run_ends_with_its_job, "proves: F-130 C-84")
{
    STAGE(s, JOBS(INDEPENDENT,
                  ",\"poll\":{\"interval_ms\":1000,\"max_duration_ms\":5000,\"max_attempts\":1,\"on_timeout\":\"PauseWorkflow\"}",
                  "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{\"complete\":false}"), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    REQUIRE_OK(job_do(&s, COMMAND_CANCEL, "left"), &s.err);
    EXPECT_INT(job_state(&s, LEFT), RUN_CANCELLED);
    EXPECT_INT(s.run.held_count, 0);
    EXPECT_INT(s.run.state, RUN_RUNNING);                           /* nothing is left that it was paused for */
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}

TEST(a_pause_of_a_job_outlives_a_retry_of_its_run, "proves: F-128 F-129")
{
    STAGE(s, JOBS("", "", "", ""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", "{}"), &s.err);
    REQUIRE_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(job_do(&s, COMMAND_RESUME, "left"), ERR_CONFLICT);
    Command retry = { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .actor = STR("user:ana"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    EXPECT_INT(job_state(&s, LEFT), RUN_PAUSED);
    REQUIRE_OK(job_do(&s, COMMAND_RESUME, "left"), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);
}

TEST(what_cannot_be_done_to_a_job_is_refused_with_its_state_and_a_reason, "proves: F-084 F-128 F-129 F-130")
{
    STAGE(s, JOBS(INDEPENDENT, "", "", ""));
    static const CommandKind kinds[] = { COMMAND_PAUSE, COMMAND_RESUME, COMMAND_CANCEL };
    for (size_t i = 0; i < 3; i++) {
        EXPECT_INT(job_do(&s, kinds[i], "left"), ERR_CONFLICT);
        EXPECT(strstr(s.err.text, "the run is queued: none of its jobs has begun") != NULL);
    }
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_INT(job_do(&s, kinds[i], "nowhere"), ERR_NOT_FOUND);
        EXPECT_STR(str_of(s.err.text), STR("the run has no job 'nowhere'"));
    }
    EXPECT_INT(job_do(&s, COMMAND_SIGNAL, "left"), ERR_INVALID);
    EXPECT_INT(job_do(&s, COMMAND_RESUME, "left"), ERR_CONFLICT);
    EXPECT_STR(str_of(s.err.text), STR("the job 'left' is running: it is not paused; pause it first, or cancel it"));
    Command undo = { .kind = COMMAND_CANCEL, .job = STR("left"), .undo = CANCEL_COMPENSATES, .value = value_null() };
    EXPECT_INT(stage_do(&s, &undo), ERR_INVALID);
    REQUIRE_OK(job_do(&s, COMMAND_PAUSE, "left"), &s.err);
    EXPECT_INT(job_do(&s, COMMAND_PAUSE, "left"), ERR_CONFLICT);
    EXPECT_STR(str_of(s.err.text), STR("the job 'left' is paused: it is paused already; resume it, or cancel it"));
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_DENY;
    EXPECT_INT(job_do(&s, COMMAND_RESUME, "left"), ERR_DENIED);     /* F-080 */
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_ALLOW;
    REQUIRE_OK(stage_succeed(&s, "d", "{}"), &s.err);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_INT(job_do(&s, kinds[i], "right"), ERR_CONFLICT);
        EXPECT_STR(str_of(s.err.text), STR("the job 'right' is succeeded: it has ended"));
    }
    REQUIRE_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT_INT(job_do(&s, COMMAND_RESUME, "left"), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "being cancelled") != NULL);
    REQUIRE_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);
    EXPECT_INT(s.run.state, RUN_CANCELLED);
    EXPECT_INT(job_do(&s, COMMAND_PAUSE, "left"), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "the run is cancelled: it has ended") != NULL);
    stage_close(&s);

    STAGE(t, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&t, "{}"), &t.err);
    EXPECT_INT(job_do(&t, COMMAND_PAUSE, "a"), ERR_NOT_FOUND);
    EXPECT_STR(str_of(t.err.text), STR("the run has no job 'a': its definition has none, so pause the whole run"));
    stage_close(&t);
}
