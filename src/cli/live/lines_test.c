#include "cli/live/lines.h"
#include "cli/live/stand_test.h"
#include "core/run.h"
#include "core/terms.h"
#include "harness/test.h"

/* Tells the event, then folds it, as progress does. */
static void tell(Stand *s, Lines *lines, Event event)
{
    lines_event(lines, &s->out, &s->model, &event, s->now);
    stand_event(s, event);
}

static void tell_start(Stand *s, Lines *lines, uint32_t step)
{
    tell(s, lines, (Event){ .kind = EVENT_STEP_DISPATCHED, .step = step, .attempt = 1 });
    tell(s, lines, (Event){ .kind = EVENT_STEP_RUNNING, .step = step });
}

TEST(a_runbook_is_told_in_the_lines_of_its_document, "proves: K-059 K-063 K-064 K-065 K-066 K-067 K-068 C-42")
{
    Stand s;
    Lines lines = { 0 };
    stand_begin(&s, "db_schema; db_findings; log_findings; combined_findings; llm_enriched");
    s.plan.kind = PLAN_RUNBOOK;
    tell_start(&s, &lines, 0);
    lines_flush(&lines, &s.out, &s.model);
    s.now += 1290;
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = 0 });
    tell_start(&s, &lines, 1);
    tell_start(&s, &lines, 2);
    lines_flush(&lines, &s.out, &s.model);
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_FAILED, .step = 2, .cause = CAUSE_ERROR, .text = STR("ConnectionError") });
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 3, .last = 3, .reason = SKIP_PREDECESSOR_FAILED });
    s.now += 83450;
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = 1 });
    tell_start(&s, &lines, 4);
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_FAILED, .step = 4, .flags = 1, .cause = CAUSE_TIMEOUT });
    lines_complete(&s.out, &s.model);
    EXPECT_STR(buf_peek(&s.out), STR("[INFO] Starting artifact: db_schema\n"
                                     "[INFO] Completed artifact: db_schema (1.2s)\n"
                                     "[INFO] Starting artifacts: db_findings, log_findings (parallel)\n"
                                     "[ERROR] Failed artifact: log_findings - ConnectionError\n"
                                     "[WARN] Skipping artifact: combined_findings (dependency failed)\n"
                                     "[INFO] Completed artifact: db_findings (83.4s)\n"
                                     "[INFO] Starting artifact: llm_enriched\n"
                                     "[WARN] Failed artifact: llm_enriched - timeout\n"
                                     "[INFO] Execution complete: 2 succeeded, 2 failed, 1 skipped\n"));
    stand_end(&s);
}

TEST(a_line_is_one_line_whatever_a_step_writes, "")
{
    Stand s;
    Lines lines = { 0 };
    stand_begin(&s, "a");
    lines_log(&lines, &s.out, &s.model, 0, STR("\033[31mred\033[0m\nand\x07 more"), true);
    EXPECT_STR(buf_peek(&s.out), STR("[WARN] a: red and\xef\xbf\xbd more\n"));
    stand_end(&s);
}

TEST(many_steps_that_start_together_are_named_up_to_a_number_and_counted, "")
{
    Stand s;
    Lines lines = { 0 };
    stand_many(&s, 100, 0);
    for (uint32_t i = 0; i < 100; i++) tell_start(&s, &lines, i);
    lines_flush(&lines, &s.out, &s.model);
    Str text = buf_peek(&s.out);
    EXPECT(str_starts(text, STR("[INFO] Starting artifacts: job-0, job-1, ")));
    EXPECT(str_ends(text, STR("job-15 and 84 more (parallel)\n")));
    stand_end(&s);
}

TEST(what_the_definition_itself_decides_is_no_warning, "")
{
    static const struct { SkipReason reason; const char *want; } rows[] = {
        { SKIP_CONDITION_FALSE, "[INFO] Skipping step: a (condition is false)\n" },
        { SKIP_NOT_ON_ACTIVE_BRANCH, "[INFO] Skipping step: a (branch not taken)\n" },
        { SKIP_PREDECESSOR_FAILED, "[WARN] Skipping step: a (dependency failed)\n" },
        { SKIP_RUN_CANCELLED, "[WARN] Skipping step: a (run cancelled)\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Stand s;
        Lines lines = { 0 };
        stand_begin(&s, "a");
        tell(&s, &lines, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 0, .reason = rows[i].reason });
        EXPECT_STR(buf_peek(&s.out), str_of(rows[i].want));
        stand_end(&s);
    }
}

TEST(what_people_do_to_a_job_is_told_with_its_name, "proves: F-128 F-129 F-130")
{
    static const struct { Event event; const char *want; } rows[] = {
        { { .kind = EVENT_JOB_PAUSED, .job = 1, .text = { "x", 1 } }, "[INFO] Job ship paused - x\n" },
        { { .kind = EVENT_JOB_RESUMED, .job = 1 }, "[INFO] Job ship resumed\n" },
        { { .kind = EVENT_JOB_CANCELLING, .job = 0, .text = { "x", 1 } }, "[WARN] Cancelling job build\n" },
        { { .kind = EVENT_JOB_PAUSED, .job = 2 }, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Stand s;
        Lines lines = { 0 };
        stand_begin(&s, "build: make; ship: send sign");
        tell(&s, &lines, rows[i].event);
        EXPECT_STR(buf_peek(&s.out), str_of(rows[i].want));
        EXPECT_INT(model_paused_job(&s.model), i == 0 ? 1 : PLAN_NONE);
        stand_end(&s);
    }
}

/* One event each: what is told of polls, pauses and the run itself. */
TEST(waits_are_told_in_a_line_each, "proves: A-158 A-213 A-214 A-215 A-216 A-217")
{
    static const struct { Event event; const char *want; } rows[] = {
        { { .kind = EVENT_STEP_POLLING, .due_ms = 300000 }, "[INFO] Polling step: a (poll 0, next in 5m00s)\n" },
        { { .kind = EVENT_POLL_TIMED_OUT, .flags = POLL_FAILS, .text = { "too late", 8 } },
          "[ERROR] Timed out step: a - too late\n" },
        { { .kind = EVENT_POLL_TIMED_OUT, .flags = POLL_CONTINUES, .text = { "too late", 8 } },
          "[WARN] Timed out step: a - too late (done with the default output)\n" },
        { { .kind = EVENT_TRIGGER_AWAITED, .name = { "go", 2 }, .due_ms = 86400000 },
          "[INFO] Run awaits trigger: go until 1970-01-02 00:00:00 UTC; maestro approve RUN\n" },
        { { .kind = EVENT_TRIGGER_AWAITED, .name = { "go", 2 }, .due_ms = 86400000, .flags = 1 },
          "[INFO] Run awaits trigger: go; it goes on by itself at 1970-01-02 00:00:00 UTC\n" },
        { { .kind = EVENT_RUN_PAUSED, .flags = PAUSED_FOR_TRIGGER, .text = { "x", 1 } }, "" },
        { { .kind = EVENT_RUN_PAUSED, .flags = PAUSED_FOR_POLL, .text = { "x", 1 } }, "[INFO] Run paused - x\n" },
        { { .kind = EVENT_RUN_PAUSED }, "[INFO] Run paused\n" },
        { { .kind = EVENT_TRIGGER_RECEIVED, .name = { "go", 2 }, .source = { "user:ana", 8 }, .key = { "10.0.0.1", 8 } },
          "[INFO] Trigger received: go from user:ana at 10.0.0.1\n" },
        { { .kind = EVENT_TRIGGER_RECEIVED, .name = { "go", 2 }, .flags = TRIGGER_IS_KEPT },
          "[INFO] Trigger received: go (kept for its pause)\n" },
        { { .kind = EVENT_TRIGGER_RECEIVED, .name = { "go", 2 }, .flags = TRIGGER_IS_UNMET },
          "[WARN] Trigger received: go (its condition does not hold: the run stays paused)\n" },
        { { .kind = EVENT_TRIGGER_REFUSED, .name = { "go\033[2J", 6 }, .text = { "no\nobject", 9 } },
          "[WARN] Trigger refused: go - no object\n" },
        { { .kind = EVENT_TRIGGER_TIMED_OUT, .name = { "go", 2 }, .flags = PAUSE_REMINDS },
          "[WARN] Trigger timed out: go (a reminder follows)\n" },
        { { .kind = EVENT_TRIGGER_REMINDED, .name = { "go", 2 }, .count = 2 }, "[INFO] Reminder 2 of trigger: go\n" },
        { { .kind = EVENT_NOTIFICATION_QUEUED, .name = { "a@b\033", 4 }, .count = 1 }, "[INFO] Notifying: a@b\n" },
        { { .kind = EVENT_NOTIFICATION_SENT, .count = 1, .attempt = 1 }, "[INFO] Notification 1 was received\n" },
        { { .kind = EVENT_NOTIFICATION_FAILED, .count = 1, .attempt = 1, .cause = CAUSE_TRANSIENT, .due_ms = 9, .text = { "no", 2 } },
          "[WARN] Notification 1 failed and is tried again - no\n" },
        { { .kind = EVENT_NOTIFICATION_FAILED, .count = 1, .attempt = 8, .cause = CAUSE_TRANSIENT, .text = { "no", 2 } },
          "[WARN] Notification 1 failed for good - no\n" },
        { { .kind = EVENT_NOTIFICATION_FAILED, .count = 1, .cause = CAUSE_CANCELLED, .text = { "the pause has ended", 19 } },
          "[INFO] Notification 1 is no longer wanted - the pause has ended\n" },
        { { .kind = EVENT_TRIGGER_ENDED, .name = { "go", 2 }, .sort = TRIGGER_SCHEDULED }, "[INFO] Trigger scheduled: go\n" },
        { { .kind = EVENT_RUN_TERMINATING, .flags = 1, .text = { "enough", 6 } },
          "[INFO] Ending run early as succeeded: a - enough\n" },
        { { .kind = EVENT_REACTION_FIRED, .name = { "spike", 5 } }, "[INFO] Reaction to signal: spike\n" },
        { { .kind = EVENT_PARAMS_CHANGED, .text = { "n: 1 -> 2", 9 } }, "[INFO] Parameters changed: n: 1 -> 2\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Stand s;
        Lines lines = { .run_id = STR("RUN") };
        ROW(rows[i].want);
        stand_begin(&s, "a");
        s.now = 0;
        tell(&s, &lines, rows[i].event);
        EXPECT_STR(buf_peek(&s.out), str_of(rows[i].want));
        stand_end(&s);
    }
}

TEST(a_step_that_is_polled_starts_once, "")
{
    Stand s;
    Lines lines = { 0 };
    stand_begin(&s, "a");
    tell_start(&s, &lines, 0);
    lines_flush(&lines, &s.out, &s.model);
    tell(&s, &lines, (Event){ .kind = EVENT_POLL_ATTEMPTED, .step = 0, .count = 1, .flags = 2 });
    tell(&s, &lines, (Event){ .kind = EVENT_STEP_POLLING, .step = 0, .due_ms = s.now + 2000 });
    tell_start(&s, &lines, 0);
    lines_flush(&lines, &s.out, &s.model);
    EXPECT_STR(buf_peek(&s.out), STR("[INFO] Starting step: a\n[INFO] Polling step: a (poll 1, next in 2.0s)\n"));
    stand_end(&s);
}
