/* Frames as text. What was accepted lies in test/golden/live; MAESTRO_GOLDEN=write accepts new ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/live/stand_test.h"
#include "core/run.h"
#include "core/terms.h"
#include "harness/random.h"
#include "harness/test.h"

/* --- scenes -------------------------------------------------------------------------------------------------------------- */

static void scene_mixed(Stand *s)
{
    stand_begin(s, "fetch: source tools; build: compile test package; lint: lint; approve: approve; deploy: canary all; notify: "
                   "mail");
    stand_start(s, 0);
    stand_start(s, 2);
    stand_start(s, 5);
    s->now += 1240;
    stand_step(s, EVENT_STEP_SUCCEEDED, 0);
    stand_start(s, 1);
    s->now += 2100;
    stand_step(s, EVENT_STEP_SUCCEEDED, 1);
    stand_step(s, EVENT_STEP_SUCCEEDED, 2);
    stand_event(s, (Event){ .kind = EVENT_STEP_DISPATCHED, .step = 3, .attempt = 2, .number = 4 });
    stand_step(s, EVENT_STEP_RUNNING, 3);
    for (int i = 1; i <= 6; i++) {
        char text[64];
        snprintf(text, sizeof text, "case %d of 80: \033[32mok\033[0m", i);
        stand_log(s, 3, text);
    }
    model_progress(&s->model, 3, 75, STR("units"));
    stand_event(s, (Event){ .kind = EVENT_ATTEMPT_FAILED, .step = 5, .attempt = 1, .cause = CAUSE_TIMEOUT,
                            .text = STR("its time is over; killed by signal 15 (SIGTERM)") });
    stand_event(s, (Event){ .kind = EVENT_STEP_REQUEUED, .step = 5, .attempt = 1, .due_ms = s->now + 8500 });
    stand_start(s, 6);
    stand_event(s, (Event){ .kind = EVENT_STEP_WAITING, .step = 6, .name = STR("manager-approval") });
    s->now += 4000;
}

static void scene_failed(Stand *s)
{
    stand_begin(s, "fetch: source tools; build: compile test; deploy: canary all");
    for (uint32_t i = 0; i < 3; i++) {
        stand_start(s, i);
        s->now += 700;
        stand_step(s, EVENT_STEP_SUCCEEDED, i);
    }
    stand_start(s, 3);
    stand_log(s, 3, "assertion failed");
    s->now += 61500;
    stand_fail(s, 3, "exit code 1");
    stand_event(s, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 4, .last = 5, .reason = SKIP_PREDECESSOR_FAILED });
    stand_event(s, (Event){ .kind = EVENT_RUN_FAILED, .step = 3, .cause = CAUSE_ERROR, .text = STR("exit code 1"),
                            .resolution = RESOLUTION_AWAITING_DECISION });
}

static void scene_tall(Stand *s)
{
    stand_many(s, 40, 5);
    for (uint32_t i = 0; i < 100; i++) {
        stand_start(s, i);
        s->now += 10;
        if (i == 37) stand_fail(s, i, "no such table");
        else stand_step(s, EVENT_STEP_SUCCEEDED, i);
    }
    for (uint32_t i = 100; i < 125; i += 5) stand_start(s, i);
    stand_log(s, 105, "row 17 of 4,000");
    s->now += 12000;
}

static void scene_flat(Stand *s)
{
    stand_many(s, 100000, 0);
    for (uint32_t i = 0; i < 5000; i++) {
        stand_start(s, i);
        if (i < 4800) stand_step(s, EVENT_STEP_SUCCEEDED, i);
    }
    stand_event(s, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 90000, .last = 90009, .reason = SKIP_CONDITION_FALSE });
    s->now += 3000;
}

static void scene_tree(Stand *s)
{
    stand_begin(s, "prepare; branch; >left; >right; finish");
    stand_start(s, 0);
    s->now += 90;
    stand_step(s, EVENT_STEP_SUCCEEDED, 0);
    stand_start(s, 1);
    stand_start(s, 2);
    stand_event(s, (Event){ .kind = EVENT_STEP_SKIPPED, .step = 3, .reason = SKIP_NOT_ON_ACTIVE_BRANCH });
    s->now += 2000;
}

static void scene_wide(Stand *s)
{
    stand_begin(s, "取得: データ 設定; e\xcc\x81tape: ve\xcc\x81rifier");
    stand_start(s, 0);
    stand_log(s, 0, "読み込み中 … ファイルを開いています。しばらくお待ちください。もう少しです。");
    stand_start(s, 2);
    s->now += 1000;
}

/* Polls before, between and after, and a run that is paused for a trigger. */
static void scene_waits(Stand *s)
{
    static StepTerms steps[6];
    static PlanTerms terms;
    stand_begin(s, "pay: payment; stock: supplier; ship: carrier; ask: request; done: report mail");
    PollTerms poll = { .interval_ms = 300000, .duration_ms = 172800000, .count_max = 576 };
    for (uint32_t i = 0; i < 3; i++) steps[i].poll = poll;
    terms = (PlanTerms){ .steps = steps };
    s->plan.terms = &terms;
    for (uint32_t i = 0; i < 4; i++) stand_start(s, i);
    s->now += 1500;
    stand_event(s, (Event){ .kind = EVENT_POLL_ATTEMPTED, .step = 0, .attempt = 1, .count = 3, .flags = 2 });
    stand_event(s, (Event){ .kind = EVENT_STEP_POLLING, .step = 0, .due_ms = s->now + 300000 });
    stand_event(s, (Event){ .kind = EVENT_POLL_ATTEMPTED, .step = 1, .attempt = 1, .count = 576, .flags = 2 });
    stand_event(s, (Event){ .kind = EVENT_POLL_TIMED_OUT, .step = 1, .flags = POLL_CONTINUES });
    stand_event(s, (Event){ .kind = EVENT_POLL_ATTEMPTED, .step = 2, .attempt = 1, .count = 1, .flags = 1 });
    stand_step(s, EVENT_STEP_SUCCEEDED, 2);
    s->now += 61000;
}

static void scene_paused(Stand *s)
{
    scene_waits(s);
    stand_step(s, EVENT_STEP_SUCCEEDED, 3);
    stand_event(s, (Event){ .kind = EVENT_TRIGGER_AWAITED, .step = 3, .name = STR("manager-approval"),
                            .due_ms = s->now + 604800000 });
    stand_event(s, (Event){ .kind = EVENT_RUN_PAUSED, .flags = PAUSED_FOR_TRIGGER });
}

static const struct { const char *file; void (*scene)(Stand *); uint32_t width, height; PenStyle style; } golden[] = {
    { "mixed.80x24.txt", scene_mixed, 80, 24, { 0 } },
    { "mixed.80x12.txt", scene_mixed, 80, 12, { 0 } },
    { "mixed.80x8.txt", scene_mixed, 80, 8, { 0 } },
    { "mixed.40x20.txt", scene_mixed, 40, 20, { 0 } },
    { "mixed.20x10.txt", scene_mixed, 20, 10, { 0 } },
    { "mixed.80x24.ascii.txt", scene_mixed, 80, 24, { .ascii = true } },
    { "mixed.80x24.color.txt", scene_mixed, 80, 24, { .color = true } },
    { "failed.80x24.txt", scene_failed, 80, 24, { 0 } },
    { "tall.80x20.txt", scene_tall, 80, 20, { 0 } },
    { "tall.80x60.txt", scene_tall, 80, 60, { 0 } },
    { "tall.80x6.txt", scene_tall, 80, 6, { 0 } },
    { "flat.80x20.txt", scene_flat, 80, 20, { 0 } },
    { "tree.80x24.txt", scene_tree, 80, 24, { 0 } },
    { "wide.44x12.txt", scene_wide, 44, 12, { 0 } },
    { "waits.80x24.txt", scene_waits, 80, 24, { 0 } },
    { "paused.80x24.txt", scene_paused, 80, 24, { 0 } },
    { "paused.80x24.ascii.txt", scene_paused, 80, 24, { .ascii = true } },
};

TEST(frames_are_as_they_were_accepted, "")
{
    const char *mode = getenv("MAESTRO_GOLDEN");
    bool is_write = mode && strcmp(mode, "write") == 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        ROW(golden[i].file);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, golden[i].file);
        Stand s;
        golden[i].scene(&s);
        Str frame = stand_frame(&s, golden[i].width, golden[i].height, golden[i].style);
        FILE *file = is_write ? fopen(path, "w") : NULL;
        if (file) {
            fwrite(frame.ptr, 1, frame.len, file);
            fclose(file);
        }
        EXPECT_STR(frame, test_read_file(path));
        stand_end(&s);
    }
}

/* --- whatever happens ---------------------------------------------------------------------------------------------------- */

static void expect_fits(Str frame, uint32_t width, uint32_t height)
{
    uint32_t count = 0;
    for (size_t at = 0; at < frame.len; count++) {
        size_t end = str_find(frame, '\n', at);
        Str line = str_slice(frame, at, end);
        EXPECT_INT(utf8_valid_size(line), line.len);
        if (!EXPECT(utf8_width(line) <= width)) printf("    %u columns: %.*s\n", width, STR_ARG(line));
        for (size_t k = 0; k < line.len; k++) EXPECT((unsigned char)line.ptr[k] >= ' ');
        at = end + 1;
    }
    if (!EXPECT(count < height || (height == 1 && count == 1))) printf("    %ux%u has %u lines\n", width, height, count);
}

static void random_event(Stand *s, Random *random)
{
    static const EventKind kinds[] = { EVENT_STEP_DISPATCHED, EVENT_STEP_RUNNING, EVENT_STEP_SUCCEEDED, EVENT_STEP_FAILED,
                                       EVENT_ATTEMPT_FAILED, EVENT_STEP_REQUEUED, EVENT_STEP_SKIPPED, EVENT_STEP_CANCELLED,
                                       EVENT_STEP_WAITING, EVENT_STEP_RESUMED, EVENT_STEP_CANCELLING, EVENT_POLL_ATTEMPTED,
                                       EVENT_STEP_POLLING, EVENT_POLL_TIMED_OUT, EVENT_TRIGGER_AWAITED, EVENT_TRIGGER_ENDED,
                                       EVENT_RUN_PAUSED, EVENT_RUN_RUNNING, EVENT_RUN_TERMINATING, EVENT_STEP_SUPERSEDED };
    static const char *const texts[] = { "", "exit code 1", "日本語のとても長い説明文です。まだまだ続きます。", "a\nb\033[2Jc\r", "\xff\xfe" };
    Event event = { .kind = (uint8_t)kinds[random_below(random, sizeof kinds / sizeof *kinds)],
                    .step = (uint32_t)random_below(random, s->plan.step_count), .attempt = (uint32_t)random_below(random, 12),
                    .cause = (uint32_t)random_below(random, CAUSE_COUNT),
                    .flags = (uint32_t)random_below(random, POLL_ACTION_COUNT),
                    .reason = (uint32_t)random_below(random, SKIP_REASON_COUNT), .due_ms = s->now + 100000,
                    .text = str_of(texts[random_below(random, 5)]), .name = str_of(texts[random_below(random, 5)]) };
    stand_event(s, event);
    stand_log(s, event.step, texts[random_below(random, 5)]);
    s->now += (int64_t)random_below(random, 5000000);
}

/* The counters and lists that were kept step by step are those of a count from scratch. */
static void expect_counts(const Stand *s)
{
    const LiveModel *model = &s->model;
    uint32_t counts[STEP_STATE_COUNT] = { 0 }, active = 0, defaults = 0;
    for (uint32_t i = 0; i < s->plan.step_count; i++) {
        const LiveStep *step = &model->steps[i];
        counts[step->state] += model_counts(model, i);
        bool is_active = step->state == STEP_QUEUED ? step->is_retrying : !step_state_is_final((StepState)step->state);
        EXPECT_INT(step->active_at != PLAN_NONE, is_active);
        if (is_active) EXPECT_INT(model->active[step->active_at], i);
        active += is_active;
        defaults += step->state == STEP_TIMED_OUT && step->is_default && model_counts(model, i);
    }
    EXPECT_INT(model->default_count, defaults);
    EXPECT_INT(model_failed(model) + model_succeeded(model),
               counts[STEP_FAILED] + counts[STEP_TIMED_OUT] + counts[STEP_SUCCEEDED]);
    EXPECT_INT(model->active_count, active);
    for (int i = 0; i < STEP_STATE_COUNT; i++) EXPECT_INT(model->counts[i], counts[i]);
}

TEST(no_frame_is_taller_or_wider_than_the_terminal_whatever_happens, "")
{
    static const char *const plans[] = { "a", "a: b c d; e; f: g", "出荷: 確認する-とても長い名前の手順です 二; x: y",
                                         "one; two; >three; >four; five: six seven", "a: b c d e f g h i j k l m n o p q r s t" };
    Random random = { .state = 7 };
    for (uint32_t round = 0; round < 60; round++) {
        Stand s;
        if (round % 6 == 5) stand_many(&s, 30, round % 4);
        else stand_begin(&s, plans[round % 6]);
        for (uint32_t i = 0; i < 60; i++) {
            random_event(&s, &random);
            uint32_t width = 1 + (uint32_t)random_below(&random, 120), height = 1 + (uint32_t)random_below(&random, 40);
            expect_fits(stand_frame(&s, width, height, (PenStyle){ .ascii = random_below(&random, 2) }), width, height);
        }
        expect_counts(&s);
        stand_end(&s);
    }
}

TEST(colour_adds_nothing_but_colour, "")
{
    Stand s;
    scene_mixed(&s);
    Buf plain;
    buf_init(&plain, SIZE_MAX);
    Str colored = stand_frame(&s, 80, 24, (PenStyle){ .color = true });
    for (size_t at = 0; at < colored.len; at++) {
        if (colored.ptr[at] == '\033') at = str_find(colored, 'm', at);
        else buf_char(&plain, colored.ptr[at]);
    }
    EXPECT(plain.len < colored.len);
    EXPECT_STR(buf_peek(&plain), stand_frame(&s, 80, 24, (PenStyle){ 0 }));
    buf_deinit(&plain);
    stand_end(&s);
}
