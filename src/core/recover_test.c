/* Crashes, lost executors, remote executors, declared keys, places. */
#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"

static const char *const plans[3] = {
    TREE_HEAD "\"steps\":[" TASK("a", ",\"strategy\":\"replay-safe\",\"timeout_ms\":1000") "]}",
    TREE_HEAD "\"steps\":[" TASK("a", ",\"strategy\":\"dedupe-key\",\"timeout_ms\":1000") "]}",
    TREE_HEAD "\"steps\":[" TASK("a", ",\"strategy\":\"effect-recorded\",\"timeout_ms\":1000") "]}",
};

static Status recover(Stage *s)
{
    s->epoch++;
    return stage_do(s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(s->epoch, 0) });
}

static bool says(Str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static Status effect(Stage *s, bool is_committed, const char *text)
{
    Command command = { .kind = COMMAND_EFFECT, .attempt = 1, .holder = holder_make(s->epoch, 1), .is_committed = is_committed,
                        .value = text ? value_string(str_of(text)) : value_null() };
    return stage_do(s, &command);
}

TEST(after_a_crash_the_same_attempt_is_executed_again, "proves: C-22 F-058 F-087 F-089 R-005")
{
    for (int i = 0; i < 3; i++) {
        STAGE(s, plans[i]);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        Str key = step_key(&s.plan, &s.run, 0, STR(""), &s.log_arena);
        s.now += 900;
        EXPECT_OK(recover(&s), &s.err);
        EXPECT_INT(stage_count_last(&s, EVENT_LEASE_EXPIRED), 1);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        EXPECT_INT(stage_step(&s, "a")->attempt, 1);
        EXPECT_STR(step_key(&s.plan, &s.run, 0, STR(""), &s.log_arena), key);
        EXPECT_INT(run_active(&s.run, 0)->holder, holder_make(2, 1));
        EXPECT_INT(run_active(&s.run, 0)->due_ms, s.now + 1000);    /* it has its whole time again */
        Command old = { .kind = COMMAND_REPORT, .attempt = 1, .holder = holder_make(1, 1) };
        EXPECT_INT(stage_do(&s, &old), ERR_CONFLICT);               /* the one who lost it is not heard */
        size_t before = s.log_count;
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(2, 0) }), &s.err);
        EXPECT_INT(s.log_count, before);                            /* harmless when repeated */
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        EXPECT_INT(s.run.state, RUN_SUCCEEDED);
        stage_close(&s);
    }
}

TEST(what_is_repeated_after_a_crash_is_admitted_and_dispatched_anew, "proves: E-002 E-031 E-034 E-018 F-071 C-69")
{
    static const struct { const char *name, *more; Pressure pressure; bool has_room;
                          uint32_t executions, cooperatives[3]; bool is_escalated[3]; } rows[] = {
        { "a normal one", "", { 0 }, true, 3, { 0 }, { false, false, true } },
        { "a heavy one has a cooperative while its budget has room", ",\"intent\":\"heavy\"", { 0 }, true, 2, { 1, 0 }, { false, true } },
        { "from the queue, too", ",\"intent\":\"heavy\"", { 0 }, false, 2, { 1, 0 }, { false, true } },
        { "with a larger budget each time", ",\"intent\":\"heavy\",\"spawn_budget\":6", { 0 }, true, 3, { 1, 1, 1 }, { false, false, true } },
        { "under pressure", ",\"intent\":\"heavy\",\"spawn_budget\":9", { .in_flight = 700 }, true, 3, { 1, 1, 1 } },
        { "none where its budget has no room", ",\"intent\":\"heavy\",\"spawn_budget\":1", { 0 }, true, 1, { 0 }, { true } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        static char plan[512];
        Buf buf = buf_on(plan, sizeof plan - 1);
        buf_format(&buf, TREE_HEAD "\"steps\":[{\"id\":\"a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\"%s}]}", rows[i].more);
        plan[buf.len] = '\0';
        STAGE(s, plan);
        s.pressure = rows[i].pressure;
        s.place_text = STR("local 4000, other 3000");
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        uint32_t spawned = 0;
        for (uint32_t n = 0; n < rows[i].executions && n < 3; n++) {
            const Event *dispatched = stage_last(&s, EVENT_STEP_DISPATCHED);
            Admission admission = admission_unpack(dispatched->flags);
            spawned += 1u + admission.cooperative_count;
            EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), n + 1);
            EXPECT_INT(stage_count_last(&s, EVENT_STEP_DISPATCHED), 1);
            EXPECT_INT(dispatched->attempt, 1);
            EXPECT_STR(dispatched->text, s.place_text);
            EXPECT_INT(admission.cooperative_count, rows[i].cooperatives[n]);
            EXPECT_INT(admission.is_escalated, rows[i].is_escalated[n]);
            EXPECT_INT(admission.pressure.in_flight, rows[i].pressure.in_flight);
            EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
            s.room = rows[i].has_room ? UINT32_MAX : 0;
            EXPECT_OK(recover(&s), &s.err);
            s.room = UINT32_MAX;
            if (!rows[i].has_room && s.run.state == RUN_RUNNING) stage_more(&s);
        }
        EXPECT(spawned <= s.plan.terms->steps[0].retry.spawn_count_max);
        EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
        stage_close(&s);
    }
}

TEST(what_a_failing_run_lets_finish_is_repeated_after_a_crash, "proves: C-22 F-058")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT(run_is_winding(&s.run));
    EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_DISPATCHED), 1);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}

TEST(a_crash_without_room_puts_the_attempt_back_under_its_number, "proves: C-22")
{
    STAGE(s, plans[1]);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    s.room = 0;
    EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    s.room = 1;
    stage_more(&s);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 1);
    stage_close(&s);
}

TEST(a_step_that_ends_its_owner_again_and_again_fails, "proves: F-061 F-063 F-087 E-015 E-018 E-053 E-057 C-34")
{
#define FOUR "\"retries\":{\"attempts\":4,\"jitter_ms\":0,\"delay_ms\":1000}"
    static const struct { const char *name, *more; bool has_room; uint32_t executions; const char *drop, *budget; } rows[] = {
        { "one attempt is executed three times", "", true, 3 },
        { "and so where it waits for room in between", "", false, 3 },
        { "a spawn budget of one permits no second", ",\"spawn_budget\":1", true, 1, "spawn-budget", "spawn_budget of 1 is used up" },
        { "a spawn budget of two permits one more", ",\"spawn_budget\":2", true, 2, "spawn-budget", "spawn_budget of 2 is used up" },
        { "and so where that waits for room", ",\"spawn_budget\":2", false, 2, "spawn-budget", "spawn_budget of 2 is used up" },
        { "each further attempt is executed once", "," FOUR, true, 6, "retry-depth" },
        { "only while the spawn budget lasts", ",\"spawn_budget\":4," FOUR, true, 4, "spawn-budget", "spawn_budget of 4 is used up" },
        { "with retries the budget permits no more either", ",\"spawn_budget\":2," FOUR, true, 2, "spawn-budget", "spawn_budget of 2" },
        { "unless that is not among the causes", ",\"retries\":{\"attempts\":4,\"on\":[\"timeout\"]}", true, 3 },
        { "which the budget does not ask for", ",\"spawn_budget\":2,\"retries\":{\"attempts\":4,\"on\":[\"timeout\"]}",
          true, 2, "spawn-budget", "spawn_budget of 2" },
    };
#undef FOUR
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        static char plan[512];
        Buf buf = buf_on(plan, sizeof plan - 1);
        buf_format(&buf, TREE_HEAD "\"steps\":[{\"id\":\"a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\"%s}]}", rows[i].more);
        plan[buf.len] = '\0';
        STAGE(s, plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        uint32_t executions = 0;
        while (s.run.state == RUN_RUNNING && executions <= rows[i].executions) {
            if (stage_state(&s, "a") == STEP_QUEUED) {              /* it waits for its retry, or for room */
                s.room = UINT32_MAX;
                if (run_due_ms(&s.run) != INT64_MAX) stage_wait(&s, run_due_ms(&s.run) - s.now);
                else stage_more(&s);
            }
            executions++;
            if (!rows[i].has_room) s.room = 0;
            EXPECT_OK(recover(&s), &s.err);
        }
        EXPECT_INT(executions, rows[i].executions);
        EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, rows[i].drop ? CAUSE_DROPPED : CAUSE_LOST);
        EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->class_, rows[i].drop ? CLASS_PERMANENT : CLASS_TRANSIENT);
        EXPECT_INT(stage_count(&s, EVENT_STEP_DROPPED), rows[i].drop ? 1 : 0);
        if (rows[i].drop) EXPECT_STR(stage_last(&s, EVENT_STEP_DROPPED)->name, str_of(rows[i].drop));
        if (rows[i].drop) EXPECT_INT(stage_last(&s, EVENT_STEP_DROPPED)->cause, CAUSE_LOST);
        EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
        EXPECT(str_starts(s.run.failure, rows[i].drop ? STR("dropped by ") : STR("maestro ended")));
        EXPECT(says(s.run.failure, "maestro ended"));
        EXPECT(says(s.run.failure, rows[i].budget ? rows[i].budget : ""));
        EXPECT(rows[i].budget || !says(s.run.failure, "spawn_budget"));
        stage_close(&s);
    }
}

TEST(what_an_owner_gives_back_does_not_count_as_lost, "proves: C-22 F-087")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"spawn_budget\":8") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t i = 0; i < 2 * LOST_COUNT_MAX; i++) {
        s.room = 0;
        Command release = { .kind = COMMAND_RELEASE, .holder = holder_make(s.epoch, 0) };
        EXPECT_OK(stage_do(&s, &release), &s.err);
        EXPECT_INT(stage_last(&s, EVENT_LEASE_EXPIRED)->count, 0);
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        size_t before = s.log_count;
        EXPECT_OK(stage_do(&s, &release), &s.err);                  /* there is nothing more to give back ... */
        EXPECT_OK(recover(&s), &s.err);                             /* ... and nothing for the next owner to recover */
        EXPECT_INT(s.log_count, before);
        s.room = UINT32_MAX;
        stage_more(&s);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        EXPECT_INT(stage_step(&s, "a")->attempt, 1);
        EXPECT_INT(stage_step(&s, "a")->retry, 0);
    }
    EXPECT_OK(recover(&s), &s.err);                                 /* one that dies, however, counts */
    EXPECT_INT(stage_last(&s, EVENT_LEASE_EXPIRED)->count, 1);
    Command foreign = { .kind = COMMAND_RELEASE, .holder = holder_make(s.epoch - 1, 0) };
    size_t before = s.log_count;
    EXPECT_OK(stage_do(&s, &foreign), &s.err);                      /* an owner gives back its own alone */
    EXPECT_INT(s.log_count, before);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(what_was_spawned_stays_counted_however_its_execution_ended, "proves: E-015 E-016 E-017 E-018 E-053 E-057 C-69")
{
    enum { RELEASE, CRASH, FAIL };
    static const struct { const char *name, *more; uint8_t ends[6]; uint32_t executions, spawned; Cause cause; } rows[] = {
        { "a budget of one is used up by an orderly end", ",\"spawn_budget\":1", { RELEASE }, 1, 1, CAUSE_LOST },
        { "three are as many as one attempt has", "", { RELEASE, RELEASE, RELEASE }, 3, 3, CAUSE_LOST },
        { "a heavy one has cooperatives each time", ",\"intent\":\"heavy\",\"spawn_budget\":5", { RELEASE, RELEASE, RELEASE }, 3, 5, CAUSE_LOST },
        { "a death before it", "", { CRASH, RELEASE, RELEASE }, 3, 3, CAUSE_LOST },
        { "and behind it", "", { RELEASE, RELEASE, CRASH }, 3, 3, CAUSE_LOST },
        { "a retry behind it", ",\"spawn_budget\":2,\"retries\":{\"attempts\":4,\"jitter_ms\":0,\"delay_ms\":0}",
          { RELEASE, FAIL }, 2, 2, CAUSE_ERROR },
        { "and before it", ",\"spawn_budget\":3,\"retries\":{\"attempts\":4,\"jitter_ms\":0,\"delay_ms\":0}",
          { FAIL, RELEASE, CRASH }, 3, 3, CAUSE_LOST },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        static char plan[512];
        Buf buf = buf_on(plan, sizeof plan - 1);
        buf_format(&buf, TREE_HEAD "\"steps\":[{\"id\":\"a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\"%s}]}", rows[i].more);
        plan[buf.len] = '\0';
        STAGE(s, plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        uint32_t executions = 0, spawned = 0;
        while (stage_state(&s, "a") == STEP_RUNNING && executions < 6) {
            Admission admission = admission_unpack(stage_last(&s, EVENT_STEP_DISPATCHED)->flags);
            spawned += 1u + admission.cooperative_count;
            uint8_t end = rows[i].ends[executions++];
            EXPECT_INT(admission.is_escalated, executions == rows[i].executions);
            if (end == FAIL) EXPECT_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);
            if (end == CRASH) EXPECT_OK(recover(&s), &s.err);
            s.room = end == RELEASE ? 0 : UINT32_MAX;               /* who ends begins nothing */
            if (end == RELEASE) EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RELEASE, .holder = holder_make(s.epoch, 0) }), &s.err);
            s.room = UINT32_MAX;
            if (end == RELEASE) s.epoch++;
            if (end == RELEASE && stage_state(&s, "a") == STEP_QUEUED) stage_more(&s);
        }
        EXPECT_INT(executions, rows[i].executions);
        EXPECT_INT(spawned, rows[i].spawned);
        EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
        EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_DROPPED);
        EXPECT_STR(stage_last(&s, EVENT_STEP_DROPPED)->name, STR("spawn-budget"));
        EXPECT_INT(stage_last(&s, EVENT_STEP_DROPPED)->cause, rows[i].cause);
        EXPECT(says(s.run.failure, "is used up"));
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .value = value_null() }), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);             /* a new task, with a new budget */
        stage_close(&s);
    }
}

TEST(what_is_given_back_ends_as_its_strategy_says, "proves: F-058")
{
    static const struct { const char *name; bool intends, commits, is_ending; StepState state; } rows[] = {
        { "an effect that was committed is done", true, true, false, STEP_SUCCEEDED },
        { "of one that was announced nobody knows", true, false, false, STEP_FAILED },
        { "what was to be ended has ended", false, false, true, STEP_CANCELLED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, plans[2]);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        if (rows[i].intends) EXPECT_OK(effect(&s, false, "intent"), &s.err);
        if (rows[i].commits) EXPECT_OK(effect(&s, true, "done"), &s.err);
        if (rows[i].is_ending) EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_CANCEL }), &s.err);
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RELEASE, .holder = holder_make(s.epoch, 0) }), &s.err);
        EXPECT_INT(stage_state(&s, "a"), rows[i].state);
        stage_close(&s);
    }
}

TEST(who_decides_to_retry_lets_it_be_lost_anew, "proves: C-34")
{
    STAGE(s, plans[0]);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t i = 0; i < LOST_COUNT_MAX; i++) EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .value = value_null() }), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(step_lost(stage_step(&s, "a")), 0);
    EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(an_announced_effect_decides_what_a_crash_means, "proves: C-22 F-060 F-088")
{
    STAGE(s, plans[2]);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(effect(&s, true, NULL), ERR_CONFLICT);               /* nothing was announced */
    EXPECT_OK(effect(&s, false, "will pay"), &s.err);
    EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_EFFECT_UNKNOWN);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    stage_close(&s);

    STAGE(c, plans[2]);
    REQUIRE_OK(stage_start(&c, "{}"), &c.err);
    EXPECT_OK(effect(&c, false, "will pay"), &c.err);
    EXPECT_OK(effect(&c, true, "paid"), &c.err);
    uint64_t at = c.position;
    EXPECT_OK(recover(&c), &c.err);
    EXPECT_INT(stage_state(&c, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_step(&c, "a")->output_at, at);                 /* where the committed effect is recorded */
    EXPECT_STR(value_text(c.outputs[0]), STR("paid"));
    EXPECT_INT(c.run.state, RUN_SUCCEEDED);
    stage_close(&c);
}

TEST(an_effect_that_was_withdrawn_is_as_one_that_nobody_announced, "proves: C-22 F-060")
{
    STAGE(s, plans[2]);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Command withdraw = { .kind = COMMAND_EFFECT, .attempt = 1, .holder = holder_make(1, 1), .is_withdrawn = true, .value = value_null() };
    EXPECT_INT(stage_do(&s, &withdraw), ERR_CONFLICT);              /* nothing was announced */
    EXPECT_OK(effect(&s, false, "will pay"), &s.err);
    EXPECT_OK(stage_do(&s, &withdraw), &s.err);
    EXPECT(!(s.run.steps[0].flags & STEP_EFFECT_INTENDED));
    EXPECT_INT(effect(&s, true, NULL), ERR_CONFLICT);
    EXPECT_OK(recover(&s), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                 /* it may be tried again */
    EXPECT_OK(effect(&s, false, "will pay"), &s.err);
    EXPECT_OK(effect(&s, true, "paid"), &s.err);
    withdraw.holder = holder_make(2, 1);
    EXPECT_INT(stage_do(&s, &withdraw), ERR_CONFLICT);              /* what was done was done */
    EXPECT_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);
    EXPECT_INT(s.run.cause, CAUSE_ERROR);
    stage_close(&s);

    STAGE(f, plans[2]);
    REQUIRE_OK(stage_start(&f, "{}"), &f.err);
    EXPECT_OK(effect(&f, false, "will pay"), &f.err);
    withdraw.holder = holder_make(1, 1);
    EXPECT_OK(stage_do(&f, &withdraw), &f.err);
    EXPECT_OK(stage_fail(&f, "a", CAUSE_PERMANENT), &f.err);
    EXPECT_INT(f.run.cause, CAUSE_PERMANENT);                       /* and not effect-unknown */
    stage_close(&f);
}

TEST(a_remote_executor_accepts_holds_a_lease_and_renews_it, "proves: F-070 F-072 F-086 F-087 C-91 G-04")
{
    STAGE(s, TREE_HEAD "\"lease\":{\"duration_ms\":20000,\"heartbeat_ms\":5000},\"steps\":["
          TASK("a", ",\"retries\":{\"attempts\":2,\"jitter_ms\":0,\"delay_ms\":1000}") "]}");
    s.place = PLACE_THERE;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_DISPATCHED);
    EXPECT_INT(run_due_ms(&s.run), s.now + 15000);
    Command report = { .kind = COMMAND_REPORT, .attempt = 1, .holder = 99 };
    EXPECT_INT(stage_do(&s, &report), ERR_CONFLICT);                /* it has not been accepted */
    Command accept = { .kind = COMMAND_ACCEPT, .attempt = 1, .holder = 99 };
    EXPECT_OK(stage_do(&s, &accept), &s.err);
    EXPECT_INT(stage_do(&s, &accept), ERR_CONFLICT);
    EXPECT_INT(run_due_ms(&s.run), s.now + 20000);
    EXPECT(!run_renew(&s.run, 0, 1, 98, s.now + 60000, RENEWAL_BY_HOLDER));
    EXPECT(!run_renew(&s.run, 0, 2, 99, s.now + 60000, RENEWAL_BY_HOLDER));
    s.now += 10000;
    EXPECT(run_renew(&s.run, 0, 1, 99, s.now + 20000, RENEWAL_BY_HOLDER));
    EXPECT(run_renew(&s.fold, 0, 1, 99, s.now + 20000, RENEWAL_BY_HOLDER));
    EXPECT_INT(run_due_ms(&s.run), s.now + 20000);
    s.is_fast = true;                                               /* heartbeats are not in the snapshot */
    stage_wait(&s, 19999);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_wait(&s, 1);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);                  /* a failed attempt, to be retried */
    EXPECT_INT(stage_step(&s, "a")->cause, CAUSE_LEASE_EXPIRED);
    stage_wait(&s, 1000);
    EXPECT_INT(stage_state(&s, "a"), STEP_DISPATCHED);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    stage_close(&s);
}

TEST(what_nobody_accepts_is_offered_again_within_its_spawn_budget, "proves: F-070 M-4 M-5")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");           /* one attempt: three dispatches */
    s.place = PLACE_THERE;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t dispatch = 1; dispatch <= 3; dispatch++) {
        EXPECT_INT(stage_step(&s, "a")->attempt, dispatch);
        EXPECT_INT(stage_state(&s, "a"), STEP_DISPATCHED);
        stage_wait(&s, 14999);
        EXPECT_INT(stage_state(&s, "a"), STEP_DISPATCHED);
        stage_wait(&s, 1);
        if (dispatch == 3) break;
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        Command late = { .kind = COMMAND_ACCEPT, .attempt = dispatch, .holder = 99 };
        EXPECT_INT(stage_do(&s, &late), ERR_CONFLICT);
        stage_wait(&s, run_due_ms(&s.run) - s.now);
    }
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_DROPPED);
    EXPECT_INT(stage_last(&s, EVENT_STEP_DROPPED)->cause, CAUSE_NOT_ACCEPTED);
    EXPECT_STR(stage_last(&s, EVENT_STEP_DROPPED)->name, STR("spawn-budget"));
    EXPECT(str_starts(stage_last(&s, EVENT_STEP_FAILED)->text, STR("dropped by spawn-budget: ")));
    stage_close(&s);
}

TEST(reports_are_heard_only_from_who_holds_the_attempt, "proves: F-084 F-087")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    static const struct { const char *name; uint32_t step, attempt; uint64_t holder; Status want; } rows[] = {
        { "no such step", 9, 1, 1 << HOLDER_SLOT_BITS | 1, ERR_NOT_FOUND },
        { "another attempt", 0, 2, 1 << HOLDER_SLOT_BITS | 1, ERR_CONFLICT },
        { "another holder", 0, 1, 2 << HOLDER_SLOT_BITS | 1, ERR_CONFLICT },
        { "nobody", 0, 1, 0, ERR_CONFLICT },
        { "the one who has it", 0, 1, 1 << HOLDER_SLOT_BITS | 1, OK },
        { "once more", 0, 1, 1 << HOLDER_SLOT_BITS | 1, ERR_CONFLICT },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Command report = { .kind = COMMAND_REPORT, .step = rows[i].step, .attempt = rows[i].attempt, .holder = rows[i].holder };
        EXPECT_INT(stage_do(&s, &report), rows[i].want);
    }
    stage_close(&s);
    STAGE(m, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&m, "{}"), &m.err);
    Command silent = { .kind = COMMAND_REPORT, .attempt = 1, .holder = holder_make(1, 1), .report = { .cause = CAUSE_ERROR } };
    EXPECT_OK(stage_do(&m, &silent), &m.err);
    EXPECT(stage_last(&m, EVENT_STEP_FAILED)->text.len > 0);        /* */
    stage_close(&m);
}

TEST(work_under_a_declared_key_is_done_once, "proves: F-059 C-87")
{
    static const char plan[] = TREE_HEAD "\"params\":[{\"name\":\"o\",\"type\":\"integer\",\"default\":4}],\"steps\":["
        TASK("a", ",\"strategy\":\"dedupe-key\",\"key\":\"${params.o}\"") "]}";
    STAGE(s, plan);
    s.dedupe = (Dedupe){ .kind = DEDUPE_DONE, .source = STR("run-x"), .output = value_int(9) };
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(s.outputs[0].integer, 9);
    EXPECT_STR(stage_last(&s, EVENT_STEP_SUCCEEDED)->source, STR("run-x"));
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);

    STAGE(w, plan);
    w.dedupe = (Dedupe){ .kind = DEDUPE_UNDER_WAY, .source = STR("run-x") };
    REQUIRE_OK(stage_start(&w, "{}"), &w.err);
    EXPECT_INT(w.answer, ADVANCE_LATER);
    EXPECT_STR(stage_last(&w, EVENT_DEDUPE_WAITING)->key, STR("4"));
    stage_more(&w);
    EXPECT_INT(stage_count(&w, EVENT_DEDUPE_WAITING), 1);           /* recorded once */
    w.dedupe.kind = DEDUPE_MISSING;
    stage_more(&w);
    EXPECT_INT(w.answer, ADVANCE_MISSING);
    w.dedupe.kind = DEDUPE_NONE;
    stage_more(&w);
    EXPECT_INT(stage_state(&w, "a"), STEP_RUNNING);
    EXPECT_STR(stage_last(&w, EVENT_STEP_DISPATCHED)->key, STR("4"));
    stage_close(&w);

    STAGE(d, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");           /* a derived key is nobody else's */
    d.dedupe = (Dedupe){ .kind = DEDUPE_DONE };
    REQUIRE_OK(stage_start(&d, "{}"), &d.err);
    EXPECT_INT(stage_state(&d, "a"), STEP_RUNNING);
    stage_close(&d);
}

TEST(a_declared_key_that_no_record_holds_fails_its_step, "proves: C-87")
{
    STAGE(s, TREE_HEAD "\"params\":[{\"name\":\"o\",\"type\":\"string\"}],\"steps\":["
          TASK("a", ",\"strategy\":\"dedupe-key\",\"key\":\"${params.o}\"") "]}");
    Buf params;
    buf_init(&params, 2 * IDEMPOTENCY_KEY_SIZE_MAX);
    buf_text(&params, "{\"o\":\"");
    for (uint32_t i = 0; i <= IDEMPOTENCY_KEY_SIZE_MAX; i++) buf_char(&params, 'k');
    buf_text(&params, "\"}");
    buf_char(&params, '\0');
    REQUIRE_OK(stage_start(&s, params.ptr), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_INPUT_INVALID);
    buf_deinit(&params);
    stage_close(&s);
}

TEST(a_step_without_a_place_waits_or_fails, "proves: C-94 F-071")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    s.place = PLACE_LATER;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    s.place = PLACE_DEFERRED;
    stage_more(&s);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 1);            /* recorded once */
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_LATER;
    s.place = PLACE_HERE;
    stage_more(&s);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_ALLOW;
    stage_more(&s);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_close(&s);
    STAGE(n, TREE_HEAD "\"steps\":[" TASK("a", ",\"retries\":{\"attempts\":9}") "]}");
    n.place = PLACE_NEVER;
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    EXPECT_INT(stage_state(&n, "a"), STEP_FAILED);
    EXPECT_INT(stage_last(&n, EVENT_STEP_FAILED)->class_, CLASS_PERMANENT);
    stage_close(&n);
    STAGE(w, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    w.place = PLACE_NEVER;
    w.place_text = STR("every place is in the wrong region");
    REQUIRE_OK(stage_start(&w, "{}"), &w.err);
    EXPECT_STR(stage_last(&w, EVENT_STEP_FAILED)->text, w.place_text);
    stage_close(&w);
}

TEST(what_an_attempt_says_again_counts_once_and_another_owner_counts_anew, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    uint64_t holder = holder_make(s.epoch, 1);
    Command cost = { .kind = COMMAND_COST, .attempt = 1, .holder = holder, .notice = 3, .number = 10, .value = value_null() };
    Command signal = { .kind = COMMAND_SIGNAL, .attempt = 1, .holder = holder, .notice = 4, .name = STR("go"), .value = value_null() };
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(stage_do(&s, &cost), &s.err);
        EXPECT_OK(stage_do(&s, &signal), &s.err);
    }
    EXPECT_INT(s.run.cost_micro, 10);
    EXPECT_INT(s.run.signal_count, 1);
    cost.notice = 5;
    signal.notice = 6;
    EXPECT_OK(stage_do(&s, &cost), &s.err);
    EXPECT_OK(stage_do(&s, &signal), &s.err);
    EXPECT_INT(s.run.cost_micro, 20);
    EXPECT_INT(s.run.signal_count, 2);
    EXPECT_OK(recover(&s), &s.err);
    cost.holder = signal.holder = holder_make(s.epoch, 1);
    cost.notice = 1;
    signal.notice = 4;                                              /* the same number, of another owner */
    EXPECT_OK(stage_do(&s, &cost), &s.err);
    EXPECT_OK(stage_do(&s, &signal), &s.err);
    EXPECT_INT(s.run.cost_micro, 30);
    EXPECT_INT(s.run.signal_count, 3);
    stage_close(&s);
}

TEST(a_step_whose_runner_is_unknown_to_the_next_owner_waits_for_one_that_knows_it, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    s.place = PLACE_DEFERRED;
    s.place_text = STR("waits for a process that knows the runner 'x'");
    REQUIRE_OK(recover(&s), &s.err);
    stage_more(&s);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    EXPECT_INT(stage_step(&s, "a")->attempt, 0);                    /* the one that was cut off does not count */
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 1);
    EXPECT_STR(stage_last(&s, EVENT_STEP_DEFERRED)->text, s.place_text);
    s.place = PLACE_HERE;
    stage_more(&s);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 1);
    stage_close(&s);
}

TEST(a_step_whose_executor_is_full_does_not_hold_up_the_others, "")
{
    /* The first three find no place; engine-made steps behind them still go on. */
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") ",{\"id\":\"q\",\"kind\":\"sequence\"}]}");
    s.place = PLACE_LATER;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "q"), STEP_SUCCEEDED);
    EXPECT_INT(s.answer, ADVANCE_LATER);
    stage_close(&s);
}

TEST(urgent_steps_go_first_and_equals_in_their_order, "proves: F-019 F-021 G-16 C-45 K-012")
{
    STAGE(s, PLAN_HEAD "\"config\":{\"max_concurrency\":1},\"jobs\":[{\"id\":\"l\",\"priority\":\"low\"},{\"id\":\"n\",\"priority\":\"normal\"},"
          "{\"id\":\"m\",\"priority\":\"normal\"},{\"id\":\"c\",\"priority\":\"critical\"}],\"steps\":[{\"id\":\"l.a\",\"kind\":\"task\",\"job\":0},"
          "{\"id\":\"n.a\",\"kind\":\"task\",\"job\":1},{\"id\":\"m.a\",\"kind\":\"task\",\"job\":2},{\"id\":\"c.a\",\"kind\":\"task\",\"job\":3}]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    const char *const order[] = { "c.a", "n.a", "m.a", "l.a" };
    for (int i = 0; i < 4; i++) {
        EXPECT_INT(s.run.running_count, 1);
        EXPECT_INT(stage_state(&s, order[i]), STEP_RUNNING);
        EXPECT_OK(stage_succeed(&s, order[i], NULL), &s.err);
    }
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_committed_effect_whose_declared_output_is_lost_awaits_a_decision, "proves: F-015 F-075")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"strategy\":\"effect-recorded\",\"outputs\":{\"ok\":\"boolean\"}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Command effect = { .kind = COMMAND_EFFECT, .step = 0, .attempt = 1, .holder = holder_make(1, 1), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &effect), &s.err);
    effect.is_committed = true;
    REQUIRE_OK(stage_do(&s, &effect), &s.err);
    s.epoch = 2;
    Command recover = { .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &recover), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    stage_close(&s);
}

TEST(what_a_paused_run_had_under_way_waits_for_its_resumption, "proves: F-073")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    s.epoch = 2;
    Command recover = { .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &recover), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    REQUIRE_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_close(&s);
}
