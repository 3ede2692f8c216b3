#include "core/retry.h"

#include "core/stage_test.h"
#include "harness/test.h"

TEST(delays_double_up_to_their_ceiling, "proves: F-062 G-04")
{
    static const struct { const char *name; uint32_t failures; int64_t base, most, want; bool exponential; } rows[] = {
        { "the first retry waits the base", 1, 100, 10000, 100, true },
        { "the second doubles", 2, 100, 10000, 200, true },
        { "each further one doubles", 3, 100, 10000, 400, true },
        { "the ceiling holds", 20, 100, 10000, 10000, true },
        { "a ceiling below the base holds", 1, 100, 50, 50, true },
        { "fixed stays", 20, 100, 10000, 100, false },
        { "nothing doubles to nothing", 1000, 0, 10000, 0, true },
        { "ten years do not overflow", 1000, INT64_C(316224000000), INT64_C(316224000000), INT64_C(316224000000), true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        RetryTerms terms = { .delay_ms = rows[i].base, .delay_ms_max = rows[i].most, .is_exponential = rows[i].exponential };
        EXPECT_INT(retry_delay_ms(&terms, rows[i].failures, 1), rows[i].want);
    }
}

TEST(jitter_stays_in_its_range_and_is_the_same_again, "proves: F-062")
{
    RetryTerms terms = { .delay_ms = 1000, .delay_ms_max = 1000, .jitter_ms = 9 };
    uint32_t seen = 0;
    for (uint32_t attempt = 1; attempt <= 200; attempt++) {
        uint64_t seed = retry_seed(77, 5, attempt);
        int64_t delay = retry_delay_ms(&terms, attempt, seed);
        EXPECT(delay >= 1000 && delay <= 1009);
        EXPECT_INT(delay, retry_delay_ms(&terms, attempt, retry_seed(77, 5, attempt)));
        seen |= 1u << (delay - 1000);
    }
    EXPECT_INT(seen, 0x3ff);                                /* every value of the range occurs */
    EXPECT(retry_seed(77, 5, 1) != retry_seed(77, 6, 1));
    EXPECT(retry_seed(77, 5, 1) != retry_seed(78, 5, 1));
}

#define RETRIES(more) ",\"retries\":{\"attempts\":3,\"delay_ms\":1000,\"max_delay_ms\":60000,\"jitter_ms\":0," \
                      "\"strategy\":\"exponential\"" more "}"

TEST(a_transient_failure_is_tried_again_until_the_attempts_are_used, "proves: F-061 F-063 F-064 F-079 F-089 C-30 M-5")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", RETRIES("")) "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Str key = step_key(&s.plan, &s.run, 0, STR(""), &s.log_arena);
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        EXPECT_INT(stage_step(&s, "a")->attempt, attempt);
        EXPECT_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        EXPECT_INT(stage_last(&s, EVENT_ATTEMPT_FAILED)->class_, CLASS_TRANSIENT);
        int64_t delay = attempt == 1 ? 1000 : 2000;
        EXPECT_INT(run_due_ms(&s.run), s.now + delay);
        EXPECT_INT(stage_last(&s, EVENT_STEP_REQUEUED)->due_ms, s.now + delay);
        stage_wait(&s, delay - 1);
        EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
        EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);              /* F-066 */
        stage_wait(&s, 1);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        EXPECT_STR(step_key(&s.plan, &s.run, 0, STR(""), &s.log_arena), key);
    }
    EXPECT_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 3);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(stage_step(&s, "a")->number, 1);
    stage_close(&s);
}

TEST(only_the_causes_named_are_retried, "proves: F-064 F-076 C-34")
{
    static const struct { const char *name, *on; Cause cause; bool retried; } rows[] = {
        { "transient by its class", "\"transient\"", CAUSE_TRANSIENT, true },
        { "an error without class", "\"transient\"", CAUSE_ERROR, true },
        { "timeout is transient", "\"transient\"", CAUSE_TIMEOUT, true },
        { "timeout alone", "\"timeout\"", CAUSE_TIMEOUT, true },
        { "timeout alone, not others", "\"timeout\"", CAUSE_TRANSIENT, false },
        { "lease-expired alone", "\"lease-expired\"", CAUSE_TIMEOUT, false },
        { "policy-blocked if named", "\"policy-blocked\"", CAUSE_POLICY, true },
        { "budget-exceeded if named", "\"budget-exceeded\"", CAUSE_BUDGET_EXCEEDED, true },
        { "policy-blocked not by itself", "\"transient\"", CAUSE_POLICY, false },
        { "permanent never", "\"transient\",\"policy-blocked\",\"permanent\"", CAUSE_PERMANENT, false },
        { "dropped never", "\"transient\",\"dropped\"", CAUSE_DROPPED, false },
        { "nothing named", "", CAUSE_TRANSIENT, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Buf plan;
        buf_init(&plan, 4096);
        buf_format(&plan, "%s\"steps\":[{\"id\":\"a\",\"kind\":\"task\",\"run\":\"noop\",\"retries\":{\"attempts\":3,\"on\":[%s]}}]}",
                   TREE_HEAD, rows[i].on);
        Stage s;
        if (!stage_open_str(&s, buf_peek(&plan))) return;
        EXPECT_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_fail(&s, "a", rows[i].cause), &s.err);
        EXPECT_INT(stage_state(&s, "a"), rows[i].retried ? STEP_QUEUED : STEP_FAILED);
        const Event *event = stage_last(&s, rows[i].retried ? EVENT_ATTEMPT_FAILED : EVENT_STEP_FAILED);
        EXPECT(event && event->class_ == (uint32_t)cause_class(rows[i].cause));
        stage_close(&s);
        buf_deinit(&plan);
    }
}

TEST(a_retry_beyond_the_deadline_or_the_cost_limit_is_not_made, "proves: F-065 C-43 C-44")
{
    STAGE(s, TREE_HEAD "\"config\":{\"timeout_ms\":1500},\"steps\":[" TASK("a", RETRIES("")) "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);                  /* 1000 < 1500 */
    stage_wait(&s, 1000);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_TRANSIENT), &s.err);        /* 1000 + 2000 > 1500 */
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    stage_close(&s);

    STAGE(c, TREE_HEAD "\"config\":{\"cost_limit_micro\":100},\"steps\":[" TASK("a", RETRIES("")) "," TASK("b", "") "]}");
    REQUIRE_OK(stage_start(&c, "{}"), &c.err);
    Command cost = { .kind = COMMAND_COST, .step = 0, .attempt = 1, .holder = holder_make(1, 1), .number = 100 };
    EXPECT_OK(stage_do(&c, &cost), &c.err);
    EXPECT_INT(c.run.cost_micro, 100);
    EXPECT_OK(stage_fail(&c, "a", CAUSE_TRANSIENT), &c.err);
    EXPECT_INT(stage_state(&c, "a"), STEP_FAILED);
    stage_close(&c);
}

TEST(a_blocked_step_is_tried_again_only_when_the_policy_allows_it, "proves: F-064 M-5")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", RETRIES(",\"on\":[\"policy-blocked\"]")) "]}");
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_DENY;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    EXPECT_INT(stage_count(&s, EVENT_VERDICT), 1);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 0);
    stage_wait(&s, 1000);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 0);          /* the re-check says no again */
    EXPECT_INT(stage_count(&s, EVENT_ATTEMPT_FAILED), 2);
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_ALLOW;
    stage_wait(&s, 2000);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "a")->attempt, 3);
    stage_close(&s);

    STAGE(d, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    d.verdicts[HOOK_STEP_DISPATCH] = VERDICT_DENY;
    REQUIRE_OK(stage_start(&d, "{}"), &d.err);
    EXPECT_INT(stage_state(&d, "a"), STEP_FAILED);
    EXPECT_INT(stage_last(&d, EVENT_STEP_FAILED)->class_, CLASS_POLICY_BLOCKED);
    stage_close(&d);
}

TEST(an_attempt_that_takes_too_long_is_ended_and_only_then_tried_again, "proves: F-016 F-062 F-063 C-43")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", RETRIES("") ",\"timeout_ms\":5000") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_STEP_RUNNING)->due_ms, s.now + 5000);
    uint64_t holder = holder_make(1, 1);
    stage_wait(&s, 4999);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_wait(&s, 1);
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_OVERDUE), 1);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);             /* I16: it may be at work still */
    EXPECT_INT(run_due_ms(&s.run), INT64_MAX);
    stage_wait(&s, 100000);
    EXPECT_INT(stage_count(&s, EVENT_STEP_OVERDUE), 1);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 1);
    /* Whatever it reports in the end, it was too late: what it gives is not taken. */
    Command late = { .kind = COMMAND_REPORT, .step = 0, .attempt = 1, .holder = holder };
    EXPECT_OK(stage_do(&s, &late), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    EXPECT_INT(stage_last(&s, EVENT_ATTEMPT_FAILED)->cause, CAUSE_TIMEOUT);
    EXPECT_STR(stage_last(&s, EVENT_ATTEMPT_FAILED)->text, STR("it did not end within 5000 ms"));
    EXPECT_INT(stage_do(&s, &late), ERR_CONFLICT);              /* said again, it is not heard */
    stage_wait(&s, 1000);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    EXPECT_INT(stage_do(&s, &late), ERR_CONFLICT);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

/* An attempt whose time is over, told to end and not yet ended. */
static bool overdue(Stage *s, const char *more)
{
    static char plan[1024];
    Buf buf = buf_on(plan, sizeof plan - 1);
    buf_format(&buf, TREE_HEAD "\"steps\":[{\"id\":\"a\",\"name\":\"a\",\"kind\":\"task\",\"run\":\"noop\",\"timeout_ms\":5000%s}]}", more);
    plan[buf.len] = '\0';
    if (!EXPECT(stage_open(s, plan)) || !EXPECT_OK(stage_start(s, "{}"), &s->err)) return false;
    stage_wait(s, 5000);
    return EXPECT(run_active(&s->run, 0)->is_overdue);
}

TEST(the_last_attempt_too_ends_before_its_step_fails, "proves: F-016")
{
    Stage s;
    if (!overdue(&s, "")) return;
    EXPECT_INT(s.run.state, RUN_RUNNING);                       /* nobody may retry the run while its process lives */
    EXPECT_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_TIMEOUT);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    stage_close(&s);
}

TEST(what_is_overdue_when_its_owner_ends_is_over_at_once, "proves: F-016 F-087")
{
    Stage s;
    if (!overdue(&s, RETRIES(""))) return;
    s.epoch = 2;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(2, 0) }), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_ATTEMPT_FAILED)->cause, CAUSE_TIMEOUT);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);
    stage_wait(&s, 1000);
    EXPECT_INT(stage_step(&s, "a")->attempt, 2);
    EXPECT(!run_active(&s.run, 0)->is_overdue);
    stage_close(&s);
}

TEST(what_is_overdue_and_then_cancelled_is_cancelled, "proves: F-016 F-083")
{
    Stage s;
    if (!overdue(&s, RETRIES(""))) return;
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(s.run.state, RUN_CANCELLED);
    stage_close(&s);
}

TEST(what_its_tenant_has_nothing_left_for_has_failed_whatever_is_reported_of_it, "proves: F-110 F-112 C-34")
{
    static const struct { const char *name; Cause cause; Str said, want; } rows[] = {
        { "an output", CAUSE_NONE, { 0 }, STR_INIT("budget-exceeded: the tenant 't' had nothing left for it") },
        { "a failure of its own", CAUSE_PERMANENT, STR_INIT("no"), STR_INIT("budget-exceeded: the tenant 't' had nothing left for it") },
        { "its end", CAUSE_CANCELLED, STR_INIT("ended"), STR_INIT("budget-exceeded: the tenant 't' had nothing left for it") },
        { "what was used", CAUSE_BUDGET_EXCEEDED, STR_INIT("all of it"), STR_INIT("all of it") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", RETRIES("") ",\"timeout_ms\":5000") "]}");
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        Command spent = { .kind = COMMAND_SPENT, .attempt = 1, .holder = holder_make(1, 1), .rationale = STR("it has used 5 of 5") };
        REQUIRE_OK(stage_do(&s, &spent), &s.err);
        const Event *over = stage_last(&s, EVENT_STEP_OVERDUE);
        EXPECT_INT(over->cause, CAUSE_BUDGET_EXCEEDED);
        EXPECT_STR(over->text, STR("it has used 5 of 5"));
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);         /* I16: it may be at work still */
        EXPECT_OK(stage_do(&s, &spent), &s.err);                /* it was told already */
        stage_wait(&s, 5000);
        EXPECT_INT(stage_count(&s, EVENT_STEP_OVERDUE), 1);
        Command report = { .kind = COMMAND_REPORT, .attempt = 1, .holder = holder_make(1, 1),
                           .report = { rows[i].cause, rows[i].said, value_null() } };
        EXPECT_OK(stage_do(&s, &report), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);          /* its retries are for transient failures */
        EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_BUDGET_EXCEEDED);
        EXPECT_STR(stage_last(&s, EVENT_STEP_FAILED)->text, rows[i].want);
        EXPECT_INT(stage_do(&s, &spent), ERR_CONFLICT);
        stage_close(&s);
    }
}

TEST(who_was_told_to_end_keeps_nothing_by_its_heartbeats, "proves: F-086 F-087 F-110 F-112")
{
    static const struct { const char *name; CommandKind kind; RunState want; Cause cause; } rows[] = {
        { "by its tenant's envelope", COMMAND_SPENT, RUN_FAILED, CAUSE_BUDGET_EXCEEDED },
        { "by a person", COMMAND_CANCEL, RUN_CANCELLED, CAUSE_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, TREE_HEAD "\"lease\":{\"duration_ms\":20000,\"heartbeat_ms\":5000},\"steps\":[" TASK("a", "") "]}");
        s.place = PLACE_THERE;
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        REQUIRE_OK(stage_do(&s, &(Command){ .kind = COMMAND_ACCEPT, .attempt = 1, .holder = 99 }), &s.err);
        REQUIRE_OK(stage_do(&s, &(Command){ .kind = rows[i].kind, .attempt = 1, .holder = 99 }), &s.err);
        EXPECT(!run_renew(&s.run, 0, 1, 99, s.now + 60000, RENEWAL_BY_HOLDER));
        EXPECT(run_renew(&s.run, 0, 1, 99, s.now + 30000, RENEWAL_BY_OWNER));      /* a new one: its holder has to hear of it first */
        EXPECT(run_renew(&s.fold, 0, 1, 99, s.now + 30000, RENEWAL_BY_OWNER));
        s.is_fast = true;                                       /* renewals are not in the snapshot */
        stage_wait(&s, 29999);
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        stage_wait(&s, 1);
        EXPECT_INT(s.run.state, rows[i].want);
        EXPECT_INT(s.run.cause, rows[i].cause);
        stage_close(&s);
    }
}

TEST(a_remote_attempt_that_is_overdue_ends_with_its_lease_at_the_latest, "proves: F-016 F-086 F-087 F-116")
{
    STAGE(s, TREE_HEAD "\"lease\":{\"duration_ms\":20000,\"heartbeat_ms\":5000},\"steps\":[" TASK("a", RETRIES("") ",\"timeout_ms\":5000") "]}");
    s.place = PLACE_THERE;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Command accept = { .kind = COMMAND_ACCEPT, .attempt = 1, .holder = 99 };
    REQUIRE_OK(stage_do(&s, &accept), &s.err);
    stage_wait(&s, 5000);
    EXPECT(run_active(&s.run, 0)->is_overdue);
    EXPECT(!run_renew(&s.run, 0, 1, 99, s.now + 60000, RENEWAL_BY_HOLDER));        /* its heartbeats keep it no longer */
    stage_wait(&s, 14999);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_wait(&s, 1);
    EXPECT_INT(stage_state(&s, "a"), STEP_QUEUED);              /* rerouted: the next one to accept gets it */
    EXPECT_INT(stage_count(&s, EVENT_LEASE_EXPIRED), 1);
    EXPECT_INT(stage_last(&s, EVENT_ATTEMPT_FAILED)->cause, CAUSE_TIMEOUT);
    stage_close(&s);
}
