/* How runs fail, are paused and are cancelled. */
#include <string.h>

#include "core/stage_test.h"
#include "harness/test.h"
#include "value/json.h"

/* a and b side by side, c behind a, d behind b, w waits, all in one run. */
#define WIDE(head) head "\"steps\":[" TASK("a", "") "," TASK("b", "") "," TASK("c", "") "," TASK("d", "") "," \
    TASK("w", ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"before\"}") "," \
    TASK("r", ",\"retries\":{\"attempts\":3,\"jitter_ms\":0}") "],\"edges\":[[0,2,\"order\"],[1,3,\"order\"]]}"

TEST(fail_fast_lets_running_steps_finish_and_skips_the_rest, "proves: R-029 R-030 R-059 R-060 R-061 R-062 C-17 C-19 C-98 G-13 F-076 C-07")
{
    STAGE(s, WIDE(TREE_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "r", CAUSE_TRANSIENT), &s.err);
    EXPECT_INT(stage_state(&s, "w"), STEP_WAITING_SIGNAL);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT(s.run.is_failing);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "w"), STEP_CANCELLED);               /* at once */
    EXPECT_INT(stage_state(&s, "r"), STEP_FAILED);                  /* not tried again */
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "c"), STEP_QUEUED);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "d"), STEP_SKIPPED);                 /* nothing new starts */
    EXPECT_INT(stage_step(&s, "c")->cause, SKIP_PREDECESSOR_FAILED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    const Event *event = stage_last(&s, EVENT_RUN_FAILED);
    EXPECT_INT(event->step, stage_index(&s, "a"));
    EXPECT_INT(event->cause, CAUSE_PERMANENT);
    EXPECT_INT(event->class_, CLASS_PERMANENT);
    EXPECT_STR(event->text, STR("it broke"));                       /* */
    EXPECT_INT(s.run.begun_count, 6);
    EXPECT(s.run.ended_ms == s.now && run_is_parked(&s.run));
    stage_close(&s);
}

TEST(a_definition_may_ask_to_cancel_what_runs, "proves: G-13")
{
    STAGE(s, WIDE(TREE_HEAD "\"on_fail_fast\":\"cancel\","));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT(stage_step(&s, "b")->flags & STEP_ENDING);
    EXPECT(stage_step(&s, "r")->flags & STEP_ENDING);
    EXPECT_OK(stage_fail(&s, "b", CAUSE_ERROR), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_CANCELLED);
    EXPECT_OK(stage_succeed(&s, "r", NULL), &s.err);                /* it was faster than the wish to end it */
    EXPECT_INT(stage_state(&s, "r"), STEP_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}

TEST(independent_steps_go_on_where_the_definition_says_so, "proves: C-17 C-18 K-039 K-062")
{
    STAGE(s, WIDE(BOOK_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(stage_state(&s, "c"), STEP_SKIPPED);
    EXPECT_INT(stage_step(&s, "c")->cause, SKIP_PREDECESSOR_FAILED);
    EXPECT(!s.run.is_failing);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    EXPECT_OK(stage_succeed(&s, "d", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "r", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_WAITING_SIGNAL);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_OK(stage_succeed(&s, "w", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_STR(stage_last(&s, EVENT_RUN_FAILED)->text, STR("it broke"));
    stage_close(&s);
}

TEST(a_run_may_succeed_without_an_optional_artifact, "proves: C-18 K-021")
{
    static const struct { const char *plan; RunState want; } rows[] = {
        { BOOK_HEAD
          "\"steps\":[{\"id\":\"a\",\"kind\":\"artifact\",\"run\":\"x\",\"optional\":true},{\"id\":\"b\",\"kind\":\"artifact\",\"run\":\"x\"},"
          "{\"id\":\"c\",\"kind\":\"artifact\",\"run\":\"x\"}],\"edges\":[[0,1,\"data\"]]}", RUN_SUCCEEDED },
        { BOOK_HEAD "\"steps\":[{\"id\":\"a\",\"kind\":\"artifact\",\"run\":\"x\"},{\"id\":\"b\",\"kind\":\"artifact\",\"run\":\"x\"},"
          "{\"id\":\"c\",\"kind\":\"artifact\",\"run\":\"x\"}],\"edges\":[[0,1,\"data\"]]}", RUN_FAILED },
    };
    for (size_t i = 0; i < 2; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
        EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
        EXPECT_INT(s.run.state, RUN_RUNNING);
        EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);
        EXPECT_INT(s.run.state, rows[i].want);
        stage_close(&s);
    }
}

TEST(an_output_that_is_not_as_declared_fails_the_step, "proves: R-049 F-075")
{
    static const struct { const char *name, *output; bool valid; } rows[] = {
        { "as declared", "{\"s\":\"x\",\"i\":1.0,\"n\":2.5,\"b\":true,\"o\":{},\"l\":[]}", true },
        { "a fraction is no integer", "{\"s\":\"x\",\"i\":1.5,\"n\":2.5,\"b\":true,\"o\":{},\"l\":[]}", false },
        { "one is missing", "{\"s\":\"x\",\"i\":1,\"n\":2.5,\"b\":true,\"o\":{}}", false },
        { "another type", "{\"s\":1,\"i\":1,\"n\":2.5,\"b\":true,\"o\":{},\"l\":[]}", false },
        { "nothing at all", NULL, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"outputs\":{\"s\":\"string\",\"i\":\"integer\",\"n\":\"number\",\"b\":\"boolean\","
              "\"o\":\"object\",\"l\":\"array\"},\"retries\":{\"attempts\":3}") "]}");
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", rows[i].output), &s.err);
        EXPECT_INT(stage_state(&s, "a"), rows[i].valid ? STEP_SUCCEEDED : STEP_FAILED);
        if (!rows[i].valid) EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_OUTPUT_INVALID);
        if (!rows[i].valid) EXPECT(!(stage_step(&s, "a")->flags & STEP_HAS_OUTPUT));
        stage_close(&s);
    }
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"output_schema\":{}") "]}");
    s.schema_error = "must be something else";
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{}"), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_OUTPUT_INVALID);
    stage_close(&s);
    STAGE(n, TREE_HEAD "\"steps\":[" TASK("a", ",\"input\":{\"x\":1},\"input_schema\":{}") "]}");
    n.schema_error = "must be something else";
    REQUIRE_OK(stage_start(&n, "{}"), &n.err);
    EXPECT_INT(stage_last(&n, EVENT_STEP_FAILED)->cause, CAUSE_INPUT_INVALID);
    EXPECT_INT(stage_count(&n, EVENT_STEP_DISPATCHED), 0);
    stage_close(&n);
    STAGE(v, TREE_HEAD "\"steps\":[" TASK("a", ",\"input\":{\"x\":1},\"input_schema\":{}") "]}");
    REQUIRE_OK(stage_start(&v, "{}"), &v.err);
    EXPECT_INT(stage_state(&v, "a"), STEP_RUNNING);
    stage_close(&v);
}

TEST(the_deadline_ends_the_run, "proves: C-43 K-010")
{
    static const struct { const char *plan; Resolution want; } rows[] = {
        { WIDE(TREE_HEAD
               "\"config\":{\"timeout_ms\":5000},\"failure_resolution\":{\"strategy\":\"AWAIT_DECISION\",\"on_timeout\":\"AWAIT_DECISION\"},"),
          RESOLUTION_AWAITING_DECISION },
        { WIDE(BOOK_HEAD "\"config\":{\"timeout_ms\":5000},\"failure_resolution\":{\"strategy\":\"AWAIT_DECISION\",\"on_timeout\":\"FAIL\"},"),
          RESOLUTION_RESOLVED },
    };
    for (size_t i = 0; i < 2; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_INT(run_due_ms(&s.run), s.now + 5000);
        EXPECT_INT(stage_last(&s, EVENT_STEP_RUNNING)->due_ms, s.now + 5000);
        EXPECT_OK(stage_fail(&s, "r", CAUSE_TRANSIENT), &s.err);
        stage_wait(&s, 500);
        EXPECT_INT(s.run.state, RUN_RUNNING);
        EXPECT_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);           /* time goes on while it is paused */
        stage_wait(&s, 4500);
        EXPECT(s.run.is_failing);
        EXPECT(stage_step(&s, "a")->flags & STEP_ENDING);
        EXPECT_INT(stage_state(&s, "w"), STEP_CANCELLED);
        EXPECT_OK(stage_fail(&s, "a", CAUSE_ERROR), &s.err);
        EXPECT_OK(stage_fail(&s, "b", CAUSE_ERROR), &s.err);
        EXPECT_INT(s.run.state, RUN_FAILED);
        EXPECT_INT(s.run.cause, CAUSE_DEADLINE);
        EXPECT_INT(s.run.resolution, rows[i].want);
        EXPECT_INT(stage_step(&s, "c")->cause, SKIP_PREDECESSOR_FAILED);
        stage_close(&s);
    }
}

TEST(cancelling_ends_what_runs_and_skips_the_rest, "proves: F-083 C-09 C-10 C-19 M-4")
{
    STAGE(s, WIDE(TREE_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "r", CAUSE_TRANSIENT), &s.err);
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT(s.run.is_cancelling && s.run.cancel_requested);
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_CANCELLING), 2);
    EXPECT_INT(stage_state(&s, "w"), STEP_CANCELLED);
    EXPECT_INT(stage_state(&s, "r"), STEP_SKIPPED);                 /* it was queued: M-4 */
    EXPECT_INT(stage_step(&s, "r")->cause, SKIP_RUN_CANCELLED);
    size_t before = s.log_count;
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);              /* a second one changes nothing */
    EXPECT_INT(s.log_count, before);
    EXPECT_INT(stage_kind(&s, COMMAND_PAUSE), ERR_CONFLICT);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_CANCELLED);
    EXPECT_OK(stage_succeed(&s, "b", "{}"), &s.err);
    EXPECT_INT(s.run.state, RUN_CANCELLED);
    EXPECT_INT(stage_step(&s, "c")->cause, SKIP_RUN_CANCELLED);
    EXPECT_INT(stage_step(&s, "d")->cause, SKIP_RUN_CANCELLED);
    before = s.log_count;
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT_INT(s.log_count, before);
    EXPECT_INT(stage_fail(&s, "a", CAUSE_ERROR), ERR_CONFLICT);
    stage_close(&s);
}

TEST(a_failed_run_that_waits_for_a_decision_can_be_cancelled, "proves: C-10 C-07")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT_INT(s.run.state, RUN_CANCELLED);
    stage_close(&s);
}

TEST(while_paused_what_runs_ends_and_nothing_starts, "proves: F-073 F-080")
{
    STAGE(s, WIDE(TREE_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "r", CAUSE_TRANSIENT), &s.err);
    EXPECT_OK(stage_kind(&s, COMMAND_PAUSE), &s.err);
    EXPECT_INT(s.run.state, RUN_PAUSED);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "c"), STEP_QUEUED);
    stage_wait(&s, 2000);                                           /* the retry is due */
    EXPECT_INT(stage_state(&s, "r"), STEP_QUEUED);
    EXPECT_OK(stage_signal(&s, "go", false), &s.err);
    EXPECT_INT(stage_state(&s, "w"), STEP_QUEUED);
    EXPECT(!run_is_parked(&s.run));                                 /* b runs */
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT(run_is_parked(&s.run));
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_DENY;
    EXPECT_INT(stage_kind(&s, COMMAND_RESUME), ERR_DENIED);
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_LATER;
    EXPECT_INT(stage_kind(&s, COMMAND_RESUME), ERR_UNAVAILABLE);
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_ALLOW;
    EXPECT_OK(stage_kind(&s, COMMAND_RESUME), &s.err);
    const char *const now_running[] = { "c", "d", "r", "w" };
    for (int i = 0; i < 4; i++) EXPECT_INT(stage_state(&s, now_running[i]), STEP_RUNNING);
    stage_close(&s);

    STAGE(e, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");           /* a paused run does not succeed by itself */
    REQUIRE_OK(stage_start(&e, "{}"), &e.err);
    EXPECT_OK(stage_kind(&e, COMMAND_PAUSE), &e.err);
    EXPECT_OK(stage_succeed(&e, "a", NULL), &e.err);
    EXPECT_INT(e.run.state, RUN_PAUSED);
    EXPECT_OK(stage_kind(&e, COMMAND_RESUME), &e.err);
    EXPECT_INT(e.run.state, RUN_SUCCEEDED);
    stage_close(&e);

    STAGE(f, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&f, "{}"), &f.err);
    EXPECT_OK(stage_kind(&f, COMMAND_PAUSE), &f.err);
    EXPECT_OK(stage_fail(&f, "a", CAUSE_PERMANENT), &f.err);        /* but it fails by itself */
    EXPECT_INT(f.run.state, RUN_FAILED);
    stage_close(&f);
}

/* --- every command in every state of a run ------------------------------------------------------------------------------------------ */

typedef enum Phase { PHASE_NEW, PHASE_RUNNING, PHASE_PAUSED, PHASE_WAITING, PHASE_FAILING, PHASE_CANCELLING, PHASE_SUCCEEDED,
                     PHASE_FAILED, PHASE_RESOLVED, PHASE_CANCELLED, PHASE_UNDOING, PHASE_STUCK, PHASE_UNDONE, PHASE_COUNT } Phase;

static bool bring_to(Stage *s, Phase phase)
{
    static const char plan[] = TREE_HEAD "\"config\":{\"timeout_ms\":900000},\"failure_resolution\":{\"on_timeout\":\"FAIL\"},\"steps\":["
        TASK("a", "") "," TASK("b", ",\"compensation\":{\"run\":\"undo\"},\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"before\"}") "]}";
    if (!stage_open(s, plan)) return false;
    if (phase == PHASE_NEW) return true;
    EXPECT_OK(stage_start(s, "{}"), &s->err);
    switch (phase) {
    case PHASE_PAUSED: EXPECT_OK(stage_kind(s, COMMAND_PAUSE), &s->err); break;
    case PHASE_WAITING: EXPECT_OK(stage_succeed(s, "a", NULL), &s->err); break;
    case PHASE_FAILING: EXPECT_OK(stage_signal(s, "go", false), &s->err); EXPECT_OK(stage_fail(s, "a", CAUSE_PERMANENT), &s->err); break;
    case PHASE_CANCELLING: EXPECT_OK(stage_kind(s, COMMAND_CANCEL), &s->err); break;
    case PHASE_SUCCEEDED:
        EXPECT_OK(stage_signal(s, "go", false), &s->err);
        EXPECT_OK(stage_succeed(s, "a", NULL), &s->err);
        EXPECT_OK(stage_succeed(s, "b", NULL), &s->err);
        break;
    case PHASE_FAILED: case PHASE_UNDOING: case PHASE_STUCK: case PHASE_UNDONE:
        EXPECT_OK(stage_signal(s, "go", false), &s->err);
        EXPECT_OK(stage_succeed(s, "b", NULL), &s->err);
        EXPECT_OK(stage_fail(s, "a", CAUSE_PERMANENT), &s->err);
        if (phase != PHASE_FAILED) EXPECT_OK(stage_kind(s, COMMAND_COMPENSATE), &s->err);
        if (phase == PHASE_STUCK) EXPECT_OK(stage_undo(s, "b", CAUSE_PERMANENT), &s->err);
        if (phase == PHASE_UNDONE) EXPECT_OK(stage_undo(s, "b", CAUSE_NONE), &s->err);
        break;
    case PHASE_RESOLVED: stage_wait(s, 900000); EXPECT_OK(stage_fail(s, "a", CAUSE_ERROR), &s->err); break;
    case PHASE_CANCELLED: EXPECT_OK(stage_kind(s, COMMAND_CANCEL), &s->err); EXPECT_OK(stage_fail(s, "a", CAUSE_ERROR), &s->err); break;
    case PHASE_NEW: case PHASE_RUNNING: case PHASE_COUNT: break;
    }
    return true;
}

TEST(every_command_has_an_answer_in_every_state, "proves: F-084 C-09 F-083")
{
    static const RunState states[PHASE_COUNT] = { RUN_QUEUED, RUN_RUNNING, RUN_PAUSED, RUN_WAITING_SIGNAL, RUN_RUNNING, RUN_RUNNING,
                                                  RUN_SUCCEEDED, RUN_FAILED, RUN_FAILED, RUN_CANCELLED, RUN_COMPENSATING,
                                                  RUN_COMPENSATION_FAILED, RUN_COMPENSATED };
    /* o: accepted, n: accepted and nothing changes, c: refused with a conflict, f: not found */
    static const struct { CommandKind kind; char want[PHASE_COUNT + 1]; } rows[] = {
        /*                   new run pau wai fai can suc fai res can und stu don */
        { COMMAND_START, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_ACCEPT, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_REPORT, { 'c', 'o', 'o', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_EFFECT, { 'c', 'o', 'o', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_COST, { 'c', 'o', 'o', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_SIGNAL, { 'o', 'o', 'o', 'o', 'o', 'o', 'c', 'c', 'c', 'c', 'o', 'c', 'c' } },
        { COMMAND_TRIGGER, { 'f', 'f', 'f', 'f', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_TIMER, { 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n', 'n' } },
        { COMMAND_ORPHANED, { 'c', 'o', 'o', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_SPENT, { 'c', 'o', 'o', 'c', 'c', 'n', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_RECOVER, { 'n', 'o', 'o', 'n', 'o', 'o', 'n', 'n', 'n', 'n', 'o', 'n', 'n' } },
        { COMMAND_RELEASE, { 'n', 'o', 'o', 'n', 'o', 'o', 'n', 'n', 'n', 'n', 'o', 'n', 'n' } },
        { COMMAND_PAUSE, { 'c', 'o', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_RESUME, { 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_CANCEL, { 'o', 'o', 'o', 'o', 'o', 'n', 'c', 'o', 'c', 'n', 'o', 'o', 'c' } },
        { COMMAND_RESOLVE, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_RETRY_FROM, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_COMPENSATE, { 'c', 'o', 'o', 'o', 'c', 'c', 'c', 'o', 'c', 'c', 'c', 'c', 'c' } },
        { COMMAND_RETRY_COMPENSATION, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'o', 'c' } },
        { COMMAND_SKIP_COMPENSATION, { 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c', 'o', 'c' } },
        { COMMAND_REBIND, { 'o', 'o', 'o', 'o', 'o', 'o', 'c', 'o', 'c', 'c', 'o', 'o', 'c' } },
    };
    EXPECT_INT(sizeof rows / sizeof *rows, COMMAND_KIND_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int phase = 0; phase < PHASE_COUNT; phase++) {
            Stage s;
            ROW(command_kind_name(rows[i].kind));
            if (!bring_to(&s, (Phase)phase)) return;
            EXPECT_INT(s.run.state, states[phase]);
            Command command = { .kind = rows[i].kind, .step = 0, .attempt = 1, .holder = holder_make(1, 1), .name = STR("x"),
                                .value = value_null() };
            if (rows[i].kind == COMMAND_RETRY_FROM) command.name = STR("a");
            if (rows[i].kind == COMMAND_SKIP_COMPENSATION) command.name = STR("");
            if (rows[i].kind == COMMAND_RECOVER) command.holder = holder_make(2, 0), s.epoch = 2;
            if (rows[i].kind == COMMAND_REBIND) REQUIRE_OK(json_parse(&s.plan_arena, STR("{\"regions\":[\"eu\"]}"), &command.value, &s.err), &s.err);
            size_t before = s.log_count;
            Status status = stage_do(&s, &command);
            char got = status == ERR_CONFLICT ? 'c' : status == ERR_NOT_FOUND ? 'f' : status ? '?' : s.log_count == before ? 'n' : 'o';
            test_expect(got == rows[i].want[phase], __FILE__, __LINE__, "%s in phase %d: got %c, want %c (%s)",
                        command_kind_name(rows[i].kind), phase, got, rows[i].want[phase], s.err.text);
            if (status) EXPECT(s.err.text[0] && s.log_count == before);     /* F-084: says why, and changes nothing */
            if (status && rows[i].kind >= COMMAND_PAUSE)
                EXPECT(strstr(s.err.text, run_state_name((RunState)s.run.state)) != NULL);
            stage_close(&s);
        }
}

TEST(what_would_exceed_the_blast_radius_needs_an_approval, "proves: F-035 G-21 C-44")
{
    STAGE(s, TREE_HEAD "\"blast_radius\":{\"budget\":2},\"steps\":[" TASK("a", ",\"strategy\":\"replay-safe\"") ","
          TASK("b", ",\"compensation\":{\"run\":\"undo\"}") "," TASK("c", ",\"blast_radius\":2") "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(s.run.blast_used, 1);                            /* what is replay-safe weighs nothing */
    REQUIRE_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "c"), STEP_FAILED);
    EXPECT_INT(s.run.cause, CAUSE_BLAST_RADIUS);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    EXPECT_INT(stage_step(&s, "c")->attempt, 0);                /* blocked before it was dispatched */
    Command retry = { .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY, .actor = STR("user:ana"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_INT(stage_state(&s, "c"), STEP_RUNNING);
    EXPECT_INT(s.run.blast_used, 3);
    Command release = { .kind = COMMAND_RELEASE, .holder = holder_make(1, 0), .actor = STR("engine"), .value = value_null() };
    REQUIRE_OK(stage_do(&s, &release), &s.err);
    EXPECT_INT(s.run.blast_used, 3);                            /* given back and begun again: still one */
    EXPECT_INT(stage_state(&s, "c"), STEP_RUNNING);
    REQUIRE_OK(stage_fail(&s, "c", CAUSE_PERMANENT), &s.err);
    REQUIRE_OK(stage_kind(&s, COMMAND_COMPENSATE), &s.err);
    REQUIRE_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.blast_used, 2);                            /* what was undone no longer counts */
    stage_close(&s);
}
