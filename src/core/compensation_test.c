/* What has been done is undone: in reverse order, one at a time, each effect once. */
#include <string.h>

#include "base/limits.h"
#include "core/compensation.h"
#include "core/stage_test.h"
#include "harness/test.h"

#define UNDO \
    ",\"compensation\":{\"run\":\"undo\",\"timeout_ms\":9000,\"retries\":{\"attempts\":2,\"delay_ms\":1000,\"jitter_ms\":0,\"on\":[\"transient\"]}}"
#define AUTO "\"failure_resolution\":{\"strategy\":\"AUTO_COMPENSATE\",\"compensation_scope\":\"ALL\"},"
/* a, b, c, d one after the other; d cannot be undone. */
#define CHAIN(head) head "\"steps\":[" TASK("a", UNDO) "," TASK("b", UNDO) "," TASK("c", UNDO) "," TASK("d", "") \
    "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"order\"]]}"

/* a, b and c are done, d has failed. */
static bool fail_at_d(Stage *s, const char *plan)
{
    if (!EXPECT(stage_open(s, plan)) || !EXPECT_OK(stage_start(s, "{}"), &s->err)) return false;
    static const char *const done[] = { "a", "b", "c" };
    for (int i = 0; i < 3; i++)
        if (!EXPECT_OK(stage_succeed(s, done[i], "{\"n\":1}"), &s->err)) return false;
    return EXPECT_OK(stage_fail(s, "d", CAUSE_PERMANENT), &s->err);
}

static Status compensate(Stage *s, CompensationScope scope, const char *from)
{
    return stage_do(s, &(Command){ .kind = COMMAND_COMPENSATE, .scope = scope, .name = str_of(from), .value = value_null(),
                                   .actor = STR("user:ana"), .rationale = STR("wrong customer") });
}

static const Compensation *item(const Stage *s, uint32_t index) { return &s->run.rollback.items[index]; }

TEST(a_failed_run_is_undone_in_the_reverse_order_of_its_steps, "proves: A-017 A-074 A-075 A-076 A-081 A-084 A-087 A-088 A-089 A-092 F-153 F-078")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_INT(s.run.state, RUN_COMPENSATING);                      /* in the decision that failed it */
    EXPECT_INT(stage_count_last(&s, EVENT_RUN_FAILED), 1);
    EXPECT_INT(stage_count_last(&s, EVENT_COMPENSATION_STARTED), 1);
    EXPECT_INT(stage_count_last(&s, EVENT_COMPENSATION_PLANNED), 3);
    EXPECT_INT(stage_count_last(&s, EVENT_COMPENSATION_RUNNING), 1);        /* one at a time */
    static const char *const order[] = { "c", "b", "a" };
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_INT(item(&s, i)->step, stage_index(&s, order[i]));
        EXPECT_INT(item(&s, i)->state, COMPENSATION_RUNNING);
        if (i < 2) EXPECT_INT(item(&s, i + 1)->state, COMPENSATION_PENDING);
        EXPECT_OK(stage_undo(&s, order[i], CAUSE_NONE), &s.err);
        EXPECT_INT(item(&s, i)->state, COMPENSATION_SUCCEEDED);
        EXPECT_INT(stage_state(&s, order[i]), STEP_SUCCEEDED);      /* M-4: it stays what it was */
    }
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    EXPECT(run_is_terminal(&s.run));
    EXPECT_STR(stage_last(&s, EVENT_RUN_COMPENSATED)->text, STR("it broke"));
    EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_RUNNING), 3);
    EXPECT_INT(stage_undo(&s, "a", CAUSE_NONE), ERR_CONFLICT);      /* nothing is undone twice */
    stage_close(&s);
}

TEST(steps_that_ran_side_by_side_are_undone_in_the_order_of_their_ending, "proves: A-074 F-167")
{
    STAGE(s, TREE_HEAD AUTO "\"steps\":[" TASK("a", UNDO) "," TASK("b", UNDO) "," TASK("c", UNDO) "," TASK("d", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    static const char *const order[] = { "a", "c", "b" };
    for (uint32_t i = 0; i < 3; i++) EXPECT_OK(stage_undo(&s, order[i], CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);
}

TEST(a_compensation_has_attempts_of_its_own_and_stops_the_rest_when_they_are_used_up, "proves: A-077 A-090 A-091 A-108 A-110 A-112 C-88 F-067")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_OK(stage_undo(&s, "c", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(item(&s, 0)->state, COMPENSATION_FAILED);
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT_INT(run_due_ms(&s.run), s.now + 1000);                   /* a time that is stored */
    EXPECT(run_is_parked(&s.run));
    stage_wait(&s, 999);
    EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_RUNNING), 1);
    stage_wait(&s, 1);
    EXPECT_INT(item(&s, 0)->attempt, 2);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATION_FAILED);
    EXPECT_INT(item(&s, 1)->state, COMPENSATION_PENDING);
    EXPECT(run_is_parked(&s.run) && !run_is_terminal(&s.run));
    EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_ATTEMPT_FAILED), 2);
    EXPECT_STR(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->text, STR("it cannot be undone"));
    stage_close(&s);

    Stage p;                                                        /* what no attempt can help is not tried again */
    if (!fail_at_d(&p, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_OK(stage_undo(&p, "c", CAUSE_PERMANENT), &p.err);
    EXPECT_INT(p.run.state, RUN_COMPENSATION_FAILED);
    stage_close(&p);

    Stage t;                                                        /* its own deadline */
    if (!fail_at_d(&t, CHAIN(TREE_HEAD AUTO))) return;
    stage_wait(&t, 9000);
    EXPECT_INT(stage_count_last(&t, EVENT_COMPENSATION_OVERDUE), 1);
    EXPECT_INT(item(&t, 0)->state, COMPENSATION_RUNNING);           /* I16: until it has ended */
    EXPECT_INT(run_due_ms(&t.run), INT64_MAX);
    EXPECT_OK(stage_undo(&t, "c", CAUSE_NONE), &t.err);             /* too late, whatever it says */
    EXPECT_INT(stage_last(&t, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, CAUSE_TIMEOUT);
    EXPECT_INT(item(&t, 0)->state, COMPENSATION_FAILED);
    stage_close(&t);
}

TEST(a_failed_compensation_is_retried_with_more_attempts_or_skipped, "proves: A-095 A-105 A-106 A-240 C-82")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_INT(stage_kind(&s, COMMAND_RETRY_COMPENSATION), ERR_CONFLICT);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(stage_kind(&s, COMMAND_RETRY_COMPENSATION), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT_INT(item(&s, 0)->attempt, 2);                            /* counted on, never reset */
    EXPECT_INT(item(&s, 0)->attempt_max, 3);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATION_FAILED);
    Command skip = { .kind = COMMAND_SKIP_COMPENSATION, .name = STR("b"), .value = value_null() };
    EXPECT_INT(stage_do(&s, &skip), ERR_CONFLICT);                  /* it has not failed */
    skip.name = STR("nobody");
    EXPECT_INT(stage_do(&s, &skip), ERR_NOT_FOUND);
    skip.name = STR("c");
    EXPECT_OK(stage_do(&s, &skip), &s.err);
    EXPECT_INT(item(&s, 0)->state, COMPENSATION_SKIPPED);
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT_OK(stage_undo(&s, "b", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_SKIP_COMPENSATION, .includes = true, .value = value_null() }), &s.err);
    EXPECT_INT(item(&s, 2)->state, COMPENSATION_SKIPPED);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    EXPECT_INT(stage_kind(&s, COMMAND_SKIP_COMPENSATION), ERR_CONFLICT);
    stage_close(&s);
}

TEST(a_scope_says_which_steps_are_undone, "proves: A-031 A-080 A-085 A-086 C-13 A-104 F-131")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    EXPECT_INT(s.run.state, RUN_FAILED);                            /* C-16: declaring is not undoing */
    EXPECT_OK(compensate(&s, SCOPE_FROM_STEP, "b"), &s.err);
    EXPECT_INT(s.run.rollback.count, 2);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    const Event *made = stage_last(&s, EVENT_DECISION_MADE);
    EXPECT_INT(made->sort, DECISION_COMPENSATE);
    EXPECT_STR(made->source, STR("user:ana"));
    EXPECT_STR(made->text, STR("wrong customer"));
    stage_close(&s);

    Stage p;
    if (!fail_at_d(&p, CHAIN(TREE_HEAD))) return;
    Value names[] = { value_string(STR("c")), value_string(STR("d")) };
    Command part = { .kind = COMMAND_COMPENSATE, .scope = SCOPE_PARTIAL, .value = value_array(names, 2) };
    EXPECT_OK(stage_do(&p, &part), &p.err);
    EXPECT_INT(p.run.rollback.count, 2);
    EXPECT_INT(item(&p, 1)->state, COMPENSATION_SKIPPED);           /* d is named, and there is nothing to do */
    EXPECT_OK(stage_undo(&p, "c", CAUSE_NONE), &p.err);
    EXPECT_INT(p.run.state, RUN_COMPENSATED);
    stage_close(&p);
}

TEST(a_rollback_that_means_nothing_is_refused, "proves: A-040 F-084")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    Value names[] = { value_string(STR("d")) }, nobody[] = { value_string(STR("x")) };
    size_t before = s.log_count;
    static const struct { const char *name; CompensationScope scope; bool has_list, is_nobody; Status want; } rows[] = {
        { "a part of nothing", SCOPE_PARTIAL, false, false, ERR_INVALID },
        { "a part without what can be undone", SCOPE_PARTIAL, true, false, ERR_CONFLICT },
        { "a step that is not there", SCOPE_PARTIAL, true, true, ERR_NOT_FOUND },
        { "from a step that is not said", SCOPE_FROM_STEP, false, false, ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Value list = !rows[i].has_list ? value_null() : value_array(rows[i].is_nobody ? nobody : names, 1);
        Command command = { .kind = COMMAND_COMPENSATE, .scope = rows[i].scope, .value = list };
        EXPECT_INT(stage_do(&s, &command), rows[i].want);
    }
    EXPECT_INT(s.log_count, before);
    stage_close(&s);
}

#define RECORDED ",\"strategy\":\"effect-recorded\"" UNDO

static Status effect(Stage *s, const char *step, bool is_committed)
{
    uint32_t index = stage_index(s, step);
    return stage_do(s, &(Command){ .kind = COMMAND_EFFECT, .step = index, .attempt = s->run.steps[index].attempt,
                                   .holder = run_active(&s->run, index)->holder, .is_committed = is_committed, .value = value_int(5) });
}

TEST(an_effect_that_nobody_knows_holds_the_compensation, "proves: F-088 C-15 C-60 A-023")
{
    STAGE(s, TREE_HEAD AUTO "\"steps\":[" TASK("a", UNDO) "," TASK("b", RECORDED) "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{}"), &s.err);
    EXPECT_OK(effect(&s, "b", false), &s.err);
    EXPECT_OK(stage_fail(&s, "b", CAUSE_ERROR), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);                            /* in spite of its strategy */
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    EXPECT_INT(compensate(&s, SCOPE_FULL, ""), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "'b'") != NULL);
    Command told = { .kind = COMMAND_COMPENSATE, .unknown = UNKNOWN_COMPENSATES, .value = value_null() };
    EXPECT_OK(stage_do(&s, &told), &s.err);
    EXPECT_INT(s.run.rollback.count, 2);
    EXPECT(s.run.steps[1].output_at != 0 && !(s.run.steps[1].flags & STEP_HAS_OUTPUT));     /* the effect it announced */
    EXPECT_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);

    STAGE(n, TREE_HEAD "\"steps\":[" TASK("a", UNDO) "," TASK("b", RECORDED) "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    EXPECT_OK(stage_succeed(&n, "a", "{}"), &n.err);
    EXPECT_OK(effect(&n, "b", false), &n.err);
    EXPECT_OK(effect(&n, "b", true), &n.err);
    EXPECT_OK(stage_fail(&n, "b", CAUSE_ERROR), &n.err);            /* its effect took place, and it failed */
    EXPECT_OK(compensate(&n, SCOPE_FULL, ""), &n.err);
    EXPECT_OK(stage_undo(&n, "b", CAUSE_NONE), &n.err);
    EXPECT_OK(stage_undo(&n, "a", CAUSE_NONE), &n.err);
    stage_close(&n);
}

TEST(work_that_was_done_before_its_gate_was_denied_is_undone, "proves: F-162 C-60")
{
    STAGE(s, TREE_HEAD AUTO "\"steps\":[" TASK("a", UNDO ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"after\"}") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{\"rows\":3}"), &s.err);
    EXPECT_OK(stage_signal(&s, "go", true), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT(s.run.steps[0].output_at != 0);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);
}

TEST(only_the_failed_step_is_undone_where_the_scope_says_so, "proves: A-023 C-60")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD
                             "\"failure_resolution\":{\"strategy\":\"AUTO_COMPENSATE\",\"compensation_scope\":\"FAILED_STEP_ONLY\"},")))
        return;
    EXPECT_INT(s.run.state, RUN_COMPENSATED);                       /* d has no recorded effect: its record is skipped */
    EXPECT_INT(s.run.rollback.count, 1);
    EXPECT_INT(item(&s, 0)->state, COMPENSATION_SKIPPED);
    EXPECT(stage_last(&s, EVENT_COMPENSATION_PLANNED)->text.len > 0);
    stage_close(&s);
}

TEST(a_definition_may_name_what_is_undone, "proves: F-167 C-13 C-14")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD "\"failure_resolution\":{\"strategy\":\"AUTO_COMPENSATE\",\"compensation_scope\":\"PARTIAL\","
                             "\"compensate\":[\"a\",\"c\",\"d\"]},"))) return;
    EXPECT_INT(s.run.rollback.count, 3);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    EXPECT_INT(item(&s, 2)->state, COMPENSATION_SKIPPED);           /* recorded as nothing to compensate */
    stage_close(&s);
}

TEST(cancelling_compensates_where_the_definition_or_the_request_says_so, "proves: A-024 A-083 C-09 C-10 F-083 C-11")
{
    static const struct { const char *name, *plan; CancelUndo undo; bool is_paused, is_undone; } rows[] = {
        { "as defined", CHAIN(TREE_HEAD "\"failure_resolution\":{\"on_cancel\":\"COMPENSATE\"},"), CANCEL_AS_DEFINED, false, true },
        { "the request says more than the definition", CHAIN(TREE_HEAD), CANCEL_COMPENSATES, false, true },
        { "and less", CHAIN(TREE_HEAD "\"failure_resolution\":{\"on_cancel\":\"COMPENSATE\"},"), CANCEL_LEAVES, false, false },
        { "by default nothing is undone", CHAIN(TREE_HEAD), CANCEL_AS_DEFINED, false, false },
        { "a paused run passes failed", CHAIN(TREE_HEAD), CANCEL_COMPENSATES, true, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        if (rows[i].is_paused) EXPECT_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_CANCEL, .undo = rows[i].undo, .value = value_null() }), &s.err);
        EXPECT_OK(stage_fail(&s, "b", CAUSE_CANCELLED), &s.err);
        EXPECT_INT(s.run.state, rows[i].is_undone ? RUN_COMPENSATING : RUN_CANCELLED);
        if (rows[i].is_undone) {
            EXPECT(s.run.cancel_requested);
            size_t before = s.log_count;
            EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);      /* once more: nothing to record */
            EXPECT_INT(s.log_count, before);
            EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
            EXPECT_INT(s.run.state, RUN_COMPENSATED);
            EXPECT(strcmp(run_status(RUN_COMPENSATED, RESOLUTION_NONE, s.run.cancel_requested), "CANCELLED") == 0);
        }
        stage_close(&s);
    }
    STAGE(n, CHAIN(TREE_HEAD));                                     /* nothing is to be compensated: cancelled at once */
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    EXPECT_OK(stage_do(&n, &(Command){ .kind = COMMAND_CANCEL, .undo = CANCEL_COMPENSATES, .value = value_null() }), &n.err);
    EXPECT_OK(stage_fail(&n, "a", CAUSE_CANCELLED), &n.err);
    EXPECT_INT(n.run.state, RUN_CANCELLED);
    stage_close(&n);
}

TEST(a_run_under_way_can_be_rolled_back, "proves: F-077 C-11 F-131")
{
    STAGE(s, CHAIN(TREE_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_OK(compensate(&s, SCOPE_FULL, ""), &s.err);
    EXPECT(stage_step(&s, "b")->flags & STEP_ENDING);               /* what runs is ended first */
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_kind(&s, COMMAND_PAUSE), ERR_CONFLICT);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);                /* it was faster */
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT_INT(stage_count(&s, EVENT_RUN_FAILED), 0);
    EXPECT_INT(stage_step(&s, "c")->cause, SKIP_RUN_CANCELLED);
    EXPECT_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);
}

TEST(a_crash_hands_the_same_compensation_over_again, "proves: F-068 F-002 F-090")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    uint32_t attempt = stage_undo_report(&s).attempt;
    Command before = stage_undo_report(&s);
    s.epoch = 2;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .value = value_null() }), &s.err);
    EXPECT_INT(stage_count_last(&s, EVENT_COMPENSATION_ORPHANED), 1);
    EXPECT_INT(stage_undo_report(&s).attempt, attempt);             /* the same attempt, so the same key */
    EXPECT_INT(holder_epoch(s.run.rollback.active.holder), 2);
    EXPECT_INT(stage_do(&s, &before), ERR_CONFLICT);                /* who had it is no longer heard */
    EXPECT_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_SUCCEEDED), 3);   /* c was not undone again */
    Str key = compensation_key(&s.plan, &s.run, 0, STR(""), &s.arena);
    EXPECT_STR(key, STR("abcdefghijklmnopqrstu/a/compensation"));
    stage_close(&s);
}

TEST(what_the_admission_of_a_compensation_was_decided_by_is_recorded, "proves: E-002 E-031")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    static const uint32_t pressures[] = { 700, 300 };
    s.pressure.in_flight = pressures[0];
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    for (uint32_t i = 0; i < 2; i++) {
        const Event *started = stage_last(&s, EVENT_COMPENSATION_RUNNING);
        EXPECT_INT(admission_unpack(started->flags).pressure.in_flight, pressures[i]);
        s.pressure.in_flight = pressures[1];                        /* each time it is handed over, it is asked again */
        s.epoch++;
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(s.epoch, 0), .value = value_null() }), &s.err);
    }
    stage_close(&s);
}

TEST(a_compensation_that_ends_its_owner_again_and_again_has_failed, "proves: F-068 A-090")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    for (uint32_t lost = 1; lost <= LOST_COUNT_MAX; lost++) {
        EXPECT_INT(item(&s, 0)->attempt, 1);
        s.epoch++;
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(s.epoch, 0), .value = value_null() }), &s.err);
        EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ORPHANED)->count, lost);
    }
    EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, CAUSE_LOST);
    stage_wait(&s, 1000);
    EXPECT_INT(item(&s, 0)->attempt, 2);                            /* its second and last attempt */
    s.epoch++;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(s.epoch, 0), .value = value_null() }), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATION_FAILED);
    stage_close(&s);
}

TEST(a_compensation_that_is_given_back_does_not_count_as_lost, "proves: F-068")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    for (uint32_t i = 0; i < 2 * LOST_COUNT_MAX; i++) {
        s.room = 0;
        EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RELEASE, .holder = holder_make(s.epoch, 0), .value = value_null() }), &s.err);
        EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ORPHANED)->count, 0);
        EXPECT_INT(s.answer, ADVANCE_LATER);
        s.epoch++;
        s.room = UINT32_MAX;
        stage_more(&s);
        EXPECT_INT(item(&s, 0)->state, COMPENSATION_RUNNING);
        EXPECT_INT(item(&s, 0)->attempt, 1);
    }
    stage_close(&s);
}

TEST(a_remote_executor_accepts_and_loses_a_compensation, "proves: A-090 F-087")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    s.place = PLACE_THERE;
    EXPECT_OK(compensate(&s, SCOPE_FULL, ""), &s.err);
    Command accept = stage_undo_report(&s);
    accept.kind = COMMAND_ACCEPT;
    accept.holder = 77;
    EXPECT_OK(stage_do(&s, &accept), &s.err);
    EXPECT_INT(stage_do(&s, &accept), ERR_CONFLICT);
    stage_wait(&s, 9000);
    EXPECT(s.run.rollback.active.is_overdue);                       /* told to end, and silent: its lease runs out */
    stage_wait(&s, s.plan.terms->lease_ms - 9000);
    EXPECT_INT(item(&s, 0)->state, COMPENSATION_FAILED);
    stage_wait(&s, 1000);
    EXPECT_INT(item(&s, 0)->attempt, 2);
    stage_wait(&s, ACCEPT_MS_DEFAULT);
    EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, CAUSE_NOT_ACCEPTED);
    stage_close(&s);
}

TEST(many_compensations_are_planned_in_bounded_decisions, "proves: A-088")
{
    Buf plan;
    buf_init(&plan, 1 << 22);
    buf_text(&plan, TREE_HEAD "\"config\":{\"max_concurrency\":4000},\"steps\":[");
    for (int i = 0; i < 3000; i++)
        buf_format(&plan, "%s{\"id\":\"s%d\",\"kind\":\"task\",\"run\":\"noop\",\"compensation\":{\"run\":\"undo\"}}",
                   i ? "," : "", i);
    buf_text(&plan, "]}");
    Stage s;
    bool is_open = stage_open_str(&s, buf_peek(&plan));
    buf_deinit(&plan);
    if (!is_open) return;
    s.is_fast = true;
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t i = 0; i < 2999; i++) {
        Command report = { .kind = COMMAND_REPORT, .step = i, .attempt = 1, .holder = holder_make(1, 1), .value = value_null() };
        if (!EXPECT_OK(stage_do(&s, &report), &s.err)) return;
    }
    EXPECT_OK(stage_fail(&s, "s2999", CAUSE_PERMANENT), &s.err);
    uint64_t position = s.position;
    EXPECT_OK(compensate(&s, SCOPE_FULL, ""), &s.err);
    EXPECT(s.position >= position + 3);                             /* a decision has its bound */
    EXPECT_INT(s.run.rollback.count, 2999);
    EXPECT_INT(item(&s, 0)->step, 2998);
    EXPECT_INT(item(&s, 2998)->step, 0);
    EXPECT_INT(item(&s, 1)->state, COMPENSATION_PENDING);
    EXPECT_OK(stage_undo(&s, "s2998", CAUSE_PERMANENT), &s.err);
    Command skip = { .kind = COMMAND_SKIP_COMPENSATION, .includes = true, .value = value_null() };
    EXPECT_INT(stage_do(&s, &skip), ERR_LIMIT);                     /* more than a decision takes, told by name */
    EXPECT(strstr(s.err.text, "DECISION_EVENT_COUNT_MAX") != NULL);
    stage_close(&s);
}

#define PATHS ",\"compensation\":{\"run\":\"undo\",\"args\":[\"${outputs.a.n}\"],\"input\":{\"n\":\"${outputs.a.n}\"},\"retries\":{\"attempts\":1}}"
#define WITH_PATHS TREE_HEAD AUTO "\"steps\":[" TASK("a", PATHS) "," TASK("d", "") "],\"edges\":[[0,1,\"order\"]]}"

TEST(a_compensation_is_given_what_its_input_names, "proves: A-097")
{
    static const struct { const char *name, *output; bool is_hidden; Cause cause; } rows[] = {
        { "at hand", "{\"n\":7}", false, CAUSE_NONE }, { "fetched first", "{\"n\":7}", true, CAUSE_NONE },
        { "not there", "{\"m\":7}", false, CAUSE_INPUT_INVALID },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, WITH_PATHS);
        EXPECT_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", rows[i].output), &s.err);
        if (rows[i].is_hidden) s.hidden = stage_index(&s, "a");
        EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
        if (rows[i].is_hidden) {
            EXPECT_INT(s.answer, ADVANCE_MISSING);
            EXPECT_INT(s.missing, stage_index(&s, "a"));
            EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_RUNNING), 0);
            s.hidden = STEP_NONE;
            stage_more(&s);
        }
        EXPECT_INT(s.run.state, rows[i].cause ? RUN_COMPENSATION_FAILED : RUN_COMPENSATING);
        EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_RUNNING), rows[i].cause ? 0 : 1);
        if (rows[i].cause) EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, rows[i].cause);
        else EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
        stage_close(&s);
    }
}

TEST(a_compensation_that_nobody_takes_or_a_policy_cannot_judge_is_not_begun, "proves: A-102")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_MISSING;
    EXPECT_OK(compensate(&s, SCOPE_FULL, ""), &s.err);
    EXPECT_INT(s.answer, ADVANCE_MISSING);
    EXPECT_INT(s.missing, MISSING_PARAMS);
    EXPECT_INT(stage_count(&s, EVENT_COMPENSATION_RUNNING), 0);
    s.verdicts[HOOK_STEP_DISPATCH] = VERDICT_ALLOW;
    s.place = PLACE_NEVER;
    stage_more(&s);
    EXPECT_INT(s.run.state, RUN_COMPENSATION_FAILED);
    EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->class_, CLASS_PERMANENT);
    stage_close(&s);
}

TEST(an_overdue_compensation_whose_owner_dies_has_run_out_of_time, "proves: A-090")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD AUTO))) return;
    stage_wait(&s, 9000);
    EXPECT_INT(stage_count_last(&s, EVENT_COMPENSATION_OVERDUE), 1);
    s.epoch++;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(s.epoch, 0), .value = value_null() }), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, CAUSE_TIMEOUT);
    EXPECT_INT(item(&s, 0)->attempt, 1);
    stage_close(&s);
}

TEST(why_a_step_is_not_undone_is_told, "proves: A-075")
{
    STAGE(s, TREE_HEAD "\"failure_mode\":\"continue-independent\",\"steps\":[" TASK("a", UNDO) "," TASK("b", "") ","
          TASK("c", UNDO) "," TASK("d", UNDO) "],\"edges\":[[2,3,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_OK(stage_fail(&s, "c", CAUSE_PERMANENT), &s.err);
    EXPECT_STR(compensation_why_none(&s.plan, &s.run, stage_index(&s, "b")), STR("it has no compensation"));
    EXPECT_STR(compensation_why_none(&s.plan, &s.run, stage_index(&s, "c")), STR("it failed, and no effect of it is recorded"));
    EXPECT_STR(compensation_why_none(&s.plan, &s.run, stage_index(&s, "d")), STR("it was not carried out"));
    EXPECT_STR(compensation_why_none(&s.plan, &s.run, stage_index(&s, "a")),
               STR("its result is another run's"));                 /* of what succeeded, nothing else */
    EXPECT_OK(compensate(&s, SCOPE_FULL, ""), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_STR(compensation_why_none(&s.plan, &s.run, stage_index(&s, "a")), STR("it has been compensated already"));
    stage_close(&s);
}

/* What is counted is counted up to a limit that the refusal names. The counters are set by hand: nobody waits for that many. */
TEST(rollbacks_and_attempts_to_undo_have_their_limits, "proves: A-090 F-084")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    s.run.rollback.number = s.fold.rollback.number = ROLLBACK_COUNT_MAX;
    EXPECT_INT(compensate(&s, SCOPE_FULL, ""), ERR_LIMIT);
    EXPECT(strstr(s.err.text, "ROLLBACK_COUNT_MAX") != NULL);
    Command retry = { .kind = COMMAND_RETRY_FROM, .name = STR("a"), .mode = COMPENSATE_THEN_RETRY, .value = value_null() };
    EXPECT_INT(stage_do(&s, &retry), ERR_LIMIT);
    EXPECT(strstr(s.err.text, "ROLLBACK_COUNT_MAX") != NULL);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);

    Stage a;
    if (!fail_at_d(&a, CHAIN(TREE_HEAD AUTO))) return;
    EXPECT_OK(stage_undo(&a, "c", CAUSE_PERMANENT), &a.err);
    a.run.rollback.items[0].attempt = a.fold.rollback.items[0].attempt = ATTEMPT_COUNT_MAX;
    EXPECT_INT(stage_kind(&a, COMMAND_RETRY_COMPENSATION), ERR_LIMIT);
    EXPECT(strstr(a.err.text, "ATTEMPT_COUNT_MAX") != NULL);
    EXPECT_INT(a.run.state, RUN_COMPENSATION_FAILED);
    stage_close(&a);
}

TEST(what_the_dispatcher_drops_has_failed_and_says_so, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"retries\":{\"attempts\":1}") "]}");
    s.place = PLACE_DROPPED;
    s.place_text = STR("its budget is spent");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_FAILED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);

    Stage c;
    if (!fail_at_d(&c, CHAIN(TREE_HEAD))) return;
    c.place = PLACE_DROPPED;
    c.place_text = STR("its budget is spent");
    EXPECT_OK(compensate(&c, SCOPE_FULL, ""), &c.err);
    EXPECT_INT(stage_last(&c, EVENT_COMPENSATION_ATTEMPT_FAILED)->cause, CAUSE_DROPPED);
    EXPECT_INT(c.run.state, RUN_COMPENSATION_FAILED);
    stage_close(&c);
}
