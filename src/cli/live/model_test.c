#include <string.h>

#include "cli/live/stand_test.h"
#include "harness/test.h"

TEST(states_durations_and_counts_follow_from_events, "proves: R-004")
{
    Stand s;
    stand_begin(&s, "fetch: one two; build: flaky; after: last");
    EXPECT_INT(s.model.total, 4);
    stand_start(&s, 0);
    s.now += 1500;
    stand_step(&s, EVENT_STEP_SUCCEEDED, 0);
    stand_start(&s, 2);
    s.now += 500;
    EXPECT_INT(step_took_ms(&s.model.steps[0], s.now), 1500);
    EXPECT_INT(step_took_ms(&s.model.steps[2], s.now), 500);
    EXPECT_INT(step_took_ms(&s.model.steps[1], s.now), 0);
    EXPECT_INT(s.model.counts[STEP_SUCCEEDED], 1);
    EXPECT_INT(s.model.counts[STEP_RUNNING], 1);
    EXPECT_INT(s.model.counts[STEP_QUEUED], 2);
    EXPECT_INT(s.model.active_count, 1);
    EXPECT_INT(s.model.jobs[0].ended, 1);
    EXPECT_INT(model_took_ms(&s.model, s.now), 2000);
    EXPECT_INT(model_under_way(&s.model), 1);
    stand_end(&s);
}

TEST(an_event_that_comes_twice_is_folded_once, "")
{
    Stand s;
    stand_begin(&s, "a; b");
    stand_start(&s, 0);
    Event done = { .kind = EVENT_STEP_SUCCEEDED, .step = 0 };
    EXPECT(model_event(&s.model, &done, s.number + 1, s.now));
    EXPECT(!model_event(&s.model, &done, s.number + 1, s.now));
    EXPECT(!model_event(&s.model, &(Event){ .kind = EVENT_STEP_FAILED, .step = 0 }, 1, s.now));
    EXPECT_INT(s.model.counts[STEP_SUCCEEDED], 1);
    EXPECT_INT(s.model.counts[STEP_FAILED], 0);
    stand_end(&s);
}

TEST(events_of_steps_that_the_plan_does_not_have_change_nothing, "")
{
    Stand s;
    stand_begin(&s, "a");
    stand_step(&s, EVENT_STEP_RUNNING, 7);
    stand_event(&s, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 0, .last = 9 });
    stand_event(&s, (Event){ .kind = 127, .step = 0 });
    EXPECT_INT(s.model.counts[STEP_QUEUED], 1);
    EXPECT_INT(s.model.active_count, 0);
    stand_end(&s);
}

TEST(a_try_that_failed_waits_as_an_active_step_and_keeps_its_reason, "")
{
    Stand s;
    stand_begin(&s, "a; b");
    stand_start(&s, 1);
    stand_log(&s, 1, "first");
    stand_event(&s, (Event){ .kind = EVENT_ATTEMPT_FAILED, .step = 1, .attempt = 1, .cause = CAUSE_TIMEOUT,
                             .text = STR("late") });
    stand_event(&s, (Event){ .kind = EVENT_STEP_REQUEUED, .step = 1, .attempt = 1, .due_ms = s.now + 3000 });
    EXPECT_INT(s.model.steps[1].state, STEP_QUEUED);
    EXPECT(s.model.steps[1].is_retrying);
    EXPECT_INT(s.model.active_count, 1);
    EXPECT_INT(model_under_way(&s.model), 0);
    EXPECT_STR(str_of(s.model.steps[1].text), STR("late"));
    stand_event(&s, (Event){ .kind = EVENT_STEP_DISPATCHED, .step = 1, .attempt = 2 });
    EXPECT(!s.model.steps[1].is_retrying);
    EXPECT_INT(s.model.steps[1].attempt, 2);
    EXPECT_INT(tail_count(s.model.steps[1].tail), 0);           /* lines belong to a try */
    stand_end(&s);
}

TEST(a_tail_has_the_last_lines_and_counts_all, "")
{
    Stand s;
    stand_begin(&s, "a");
    stand_start(&s, 0);
    char text[32];
    for (int i = 0; i < 25; i++) {
        Buf line = buf_on(text, sizeof text);
        buf_format(&line, "line %d%c", i, '\0');
        stand_log(&s, 0, text);
    }
    const LiveTail *tail = s.model.steps[0].tail;
    EXPECT_INT(tail->line_count, 25);
    EXPECT_INT(tail_count(tail), LIVE_TAIL_COUNT);
    EXPECT_STR(tail_line(tail, 0), STR("line 15"));
    EXPECT_STR(tail_line(tail, LIVE_TAIL_COUNT - 1), STR("line 24"));
    stand_step(&s, EVENT_STEP_SUCCEEDED, 0);
    EXPECT(s.model.steps[0].tail == NULL);
    stand_log(&s, 0, "too late");
    EXPECT(s.model.steps[0].tail == NULL);
    stand_end(&s);
}

TEST(failed_steps_are_listed_with_their_lines_and_optional_ones_are_not, "")
{
    Stand s;
    stand_begin(&s, "a; b; c");
    stand_start(&s, 0);
    stand_start(&s, 1);
    stand_log(&s, 1, "why");
    stand_fail(&s, 1, "exit code 1");
    stand_event(&s, (Event){ .kind = EVENT_STEP_FAILED, .step = 0, .flags = 1, .text = STR("never mind") });
    EXPECT_INT(s.model.failed_count, 1);
    EXPECT_INT(s.model.failed[0], 1);
    EXPECT_INT(s.model.counts[STEP_FAILED], 2);
    EXPECT_INT(s.model.optional_failed, 1);
    EXPECT_INT(tail_count(s.model.steps[1].tail), 1);
    stand_end(&s);
}

TEST(a_loop_that_begins_again_makes_its_steps_new, "")
{
    Stand s;
    stand_begin(&s, "review: draft check; publish");
    LoopStep body[] = { { .step = 0 }, { .step = 1 } };
    PlanLoop loop = { .head = 0, .tail = 1, .body = body, .body_count = 2 };
    s.plan.loops = &loop;
    s.plan.loop_count = 1;
    for (uint32_t i = 0; i < 2; i++) {
        stand_start(&s, i);
        stand_step(&s, EVENT_STEP_SUCCEEDED, i);
    }
    EXPECT_INT(model_done(&s.model), 2);
    stand_event(&s, (Event){ .kind = EVENT_LOOP_REPEATED, .step = 0, .last = 1, .count = 2 });
    EXPECT_INT(model_done(&s.model), 0);
    EXPECT_INT(s.model.jobs[0].ended, 0);
    EXPECT_INT(s.model.steps[0].started_ms, 0);
    stand_end(&s);
}

TEST(a_run_is_settled_by_its_end_and_not_by_a_failure_that_is_tried_again, "")
{
    static const struct { const char *name; uint8_t kind, resolution; bool is_settled; } rows[] = {
        { "succeeded", EVENT_RUN_SUCCEEDED, RESOLUTION_NONE, true },
        { "cancelled", EVENT_RUN_CANCELLED, RESOLUTION_NONE, true },
        { "failed, somebody decides", EVENT_RUN_FAILED, RESOLUTION_AWAITING_DECISION, true },
        { "failed, tried again by itself", EVENT_RUN_FAILED, RESOLUTION_AUTO_RETRY_SCHEDULED, false },
        { "paused", EVENT_RUN_PAUSED, RESOLUTION_NONE, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Stand s;
        stand_begin(&s, "a");
        stand_event(&s, (Event){ .kind = rows[i].kind, .resolution = rows[i].resolution });
        EXPECT_INT(s.model.is_settled,
                   run_state_is_settled((RunState)s.model.state, (Resolution)s.model.resolution));
        EXPECT_INT(s.model.is_settled, rows[i].is_settled);
        stand_end(&s);
    }
}

TEST(foreign_text_can_neither_move_a_cursor_nor_colour, "")
{
    static const struct { const char *name, *text, *want; } rows[] = {
        { "plain", "all is well", "all is well" },
        { "colours are left out", "\033[1;31mred\033[0m text", "red text" },
        { "a title for the window", "\033]0;owned\007shown", "shown" },
        { "the same ended otherwise", "\033]8;;http://x\033\\link\033]8;;\033\\", "link" },
        { "a device string", "\033Pq#0;2\033\\after", "after" },
        { "clearing the screen", "\033[2J\033[Hhere", "here" },
        { "a reset", "\033cdone", "done" },
        { "a character set", "\033(0lqk", "lqk" },
        { "not whole", "begin\033[12;", "begin" },
        { "an escape alone", "end\033", "end" },
        { "written over", "10%\r20%\r100%", "100%" },
        { "written over, at its end", "10%\r20%\r", "20%" },
        { "tab and bell", "a\tb\007c", "a b\xef\xbf\xbd" "c" },
        { "an 8-bit control", "a\xc2\x9b" "31mb", "a\xef\xbf\xbd" "31mb" },
        { "bytes that are no text", "a\xff" "b", "a\xef\xbf\xbd" "b" },
        { "a direction", "a\xe2\x80\xae" "b", "a\xef\xbf\xbd" "b" },
        { "wide characters", "日本語", "日本語" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EXPECT_STR(text_clean(&arena, str_of(rows[i].text), false), str_of(rows[i].want));
        Str ascii = text_clean(&arena, str_of(rows[i].text), true);
        for (size_t k = 0; k < ascii.len; k++) EXPECT(ascii.ptr[k] >= ' ' && ascii.ptr[k] <= '~');
    }
    arena_deinit(&arena);
}

TEST(long_lines_are_cut_between_characters, "")
{
    Stand s;
    stand_begin(&s, "a");
    stand_start(&s, 0);
    char text[LIVE_LINE_SIZE_MAX * 2];
    for (size_t i = 0; i + 3 < sizeof text; i += 3) memcpy(text + i, "語", 3);
    model_line(&s.model, 0, (Str){ text, sizeof text / 3 * 3 - 3 }, false);
    Str line = tail_line(s.model.steps[0].tail, 0);
    EXPECT(line.len <= LIVE_LINE_SIZE_MAX && line.len > LIVE_LINE_SIZE_MAX - 3);
    EXPECT_INT(line.len % 3, 0);
    stand_end(&s);
}
