#include "base/limits.h"
#include "core/notify.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define PAUSE(more) TASK("a", ",\"pause_after\":{\"trigger\":\"ok\",\"notify\":[\"https://a.example/hook\",\"mail/send\"]" more "}")
#define PLAN(more) TREE_HEAD "\"steps\":[" PAUSE(more) "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}"

static bool to_pause(Stage *s)
{
    return EXPECT_OK(stage_start(s, "{}"), &s->err) && EXPECT_OK(stage_succeed(s, "a", NULL), &s->err);
}

typedef struct Seen { Effect items[8]; uint32_t count; } Seen;

static void take(void *context, const Effect *effect)
{
    Seen *seen = context;
    if (effect->kind == EFFECT_NOTIFY && seen->count < 8) seen->items[seen->count++] = *effect;
}

static Seen open_ones(const Stage *s)
{
    Seen seen = { .count = 0 };
    pending(&s->plan, &s->run, take, &seen);
    return seen;
}

static Status report(Stage *s, const Effect *effect, Cause cause)
{
    Command command = { .kind = COMMAND_REPORT, .step = effect->step, .attempt = effect->attempt, .holder = 1, .value = value_null(),
                        .report = { .cause = cause, .message = STR("no"), .output = value_null() } };
    return stage_do(s, &command);
}

TEST(whoever_is_named_is_notified_of_a_pause_until_it_is_received, "proves: A-182 A-190")
{
    STAGE(s, PLAN(""));
    if (!to_pause(&s)) return;
    EXPECT_INT(stage_count_last(&s, EVENT_TRIGGER_AWAITED), 1);                 /* in the record of the pause itself */
    EXPECT_INT(stage_count_last(&s, EVENT_NOTIFICATION_QUEUED), 2);
    const Event *queued = stage_last(&s, EVENT_NOTIFICATION_QUEUED);
    EXPECT_STR(queued->name, STR("mail/send"));
    EXPECT(queued->key.len > 0 && queued->count == 2 && queued->due_ms == s.now);
    EXPECT_INT(run_due_ms(&s.run), s.now);
    Seen seen = open_ones(&s);
    if (!EXPECT_INT(seen.count, 2)) return;
    EXPECT_OK(report(&s, &seen.items[0], CAUSE_NONE), &s.err);
    EXPECT_INT(stage_count_last(&s, EVENT_NOTIFICATION_SENT), 1);
    EXPECT_INT(report(&s, &seen.items[0], CAUSE_NONE), ERR_CONFLICT);           /* once */
    EXPECT_INT(open_ones(&s).count, 1);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_OK(report(&s, &seen.items[1], CAUSE_NONE), &s.err);
    EXPECT_INT(open_ones(&s).count, 0);
    EXPECT_INT(run_due_ms(&s.run), INT64_MAX);
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_count(&s, EVENT_NOTIFICATION_FAILED), 0);
    stage_close(&s);
}

TEST(tries_of_a_notification_are_bounded_and_further_and_further_apart, "proves: A-182")
{
    STAGE(s, PLAN(""));
    if (!to_pause(&s)) return;
    int64_t before = 0;
    for (uint32_t i = 1; i <= NOTIFY_ATTEMPT_COUNT_MAX; i++) {
        Seen seen = open_ones(&s);
        if (!EXPECT_INT(seen.count, 2)) return;
        EXPECT_INT(attempt_number(seen.items[0].attempt), i);
        EXPECT_OK(report(&s, &seen.items[0], CAUSE_TRANSIENT), &s.err);
        EXPECT_INT(report(&s, &seen.items[0], CAUSE_TRANSIENT), ERR_CONFLICT);  /* that try is over */
        const Event *failed = stage_last(&s, EVENT_NOTIFICATION_FAILED);
        EXPECT_INT(failed->attempt, i);
        EXPECT_INT(failed->due_ms != 0, i < NOTIFY_ATTEMPT_COUNT_MAX);
        if (!failed->due_ms) break;
        int64_t wait = failed->due_ms - s.now;
        EXPECT(wait >= NOTIFY_DELAY_MS && wait <= NOTIFY_DELAY_MS_MAX + (int64_t)NOTIFY_JITTER_MS);
        EXPECT(wait > before || wait >= NOTIFY_DELAY_MS_MAX);
        before = wait;
        stage_wait(&s, wait);
    }
    EXPECT_INT(open_ones(&s).count, 1);                                         /* the other one has its own tries */
    EXPECT_INT(s.run.state, RUN_PAUSED);                                        /* and the run does not mind */
    Seen other = open_ones(&s);
    EXPECT_OK(report(&s, &other.items[0], CAUSE_PERMANENT), &s.err);            /* not worth another try */
    EXPECT_INT(open_ones(&s).count, 0);
    stage_close(&s);
}

TEST(the_end_of_a_pause_withdraws_its_notifications_and_a_reminder_replaces_them, "proves: A-182 A-184 C-100")
{
    STAGE(s, PLAN(""));
    if (!to_pause(&s)) return;
    Seen seen = open_ones(&s);
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    EXPECT_INT(stage_count_last(&s, EVENT_NOTIFICATION_FAILED), 2);
    EXPECT_INT(stage_last(&s, EVENT_NOTIFICATION_FAILED)->cause, CAUSE_CANCELLED);
    EXPECT_INT(open_ones(&s).count, 0);
    EXPECT_INT(report(&s, &seen.items[0], CAUSE_NONE), ERR_CONFLICT);           /* who comes late changes nothing */
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    stage_close(&s);

    STAGE(r, PLAN(",\"timeout_ms\":1000,\"on_timeout\":\"Reminder\",\"reminders\":1"));
    if (!to_pause(&r)) return;
    seen = open_ones(&r);
    EXPECT_OK(report(&r, &seen.items[0], CAUSE_NONE), &r.err);
    r.now += 1000;
    EXPECT_OK(stage_kind(&r, COMMAND_TIMER), &r.err);
    EXPECT_INT(stage_count_last(&r, EVENT_NOTIFICATION_FAILED), 1);             /* the one that nobody had received */
    EXPECT_INT(stage_count_last(&r, EVENT_NOTIFICATION_QUEUED), 2);
    EXPECT_INT(stage_last(&r, EVENT_NOTIFICATION_QUEUED)->flags, 1);
    EXPECT_INT(stage_last(&r, EVENT_NOTIFICATION_QUEUED)->count, 4);
    EXPECT_INT(open_ones(&r).count, 2);
    EXPECT_OK(stage_kind(&r, COMMAND_CANCEL), &r.err);
    EXPECT_INT(open_ones(&r).count, 0);
    stage_close(&r);
}

TEST(a_trigger_that_came_before_its_pause_leaves_nobody_to_notify, "proves: A-182")
{
    STAGE(s, PLAN(""));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_trigger(&s, "ok", NULL, false), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_count(&s, EVENT_NOTIFICATION_QUEUED), 0);
    stage_close(&s);
}
