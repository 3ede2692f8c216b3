/* What becomes of runs that have failed: strategies, decisions, retries. */
#include <string.h>

#include "core/rerun.h"
#include "core/stage_test.h"
#include "harness/test.h"
#include "value/json.h"

#define UNDO ",\"compensation\":{\"run\":\"undo\"}"
#define RETRY(more) "\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\",\"max_retries\":2,\"retry_delay_ms\":60000" more "},"
#define CHAIN(head) head "\"steps\":[" TASK("a", UNDO) "," TASK("b", UNDO) "," TASK("c", UNDO) "," TASK("d", "") "," TASK("e", "") \
    "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"order\"],[3,4,\"order\"]]}"

static bool fail_at_d(Stage *s, const char *plan)
{
    if (!EXPECT(stage_open(s, plan)) || !EXPECT_OK(stage_start(s, "{}"), &s->err)) return false;
    static const char *const done[] = { "a", "b", "c" };
    for (int i = 0; i < 3; i++)
        if (!EXPECT_OK(stage_succeed(s, done[i], "{\"n\":1}"), &s->err)) return false;
    return EXPECT_OK(stage_fail(s, "d", CAUSE_PERMANENT), &s->err);
}

static Status resolve(Stage *s, DecisionKind decision)
{
    return stage_do(s, &(Command){ .kind = COMMAND_RESOLVE, .decision = decision, .actor = STR("user:ana"), .rationale = STR("I looked"),
                                   .value = value_null() });
}

TEST(a_retry_runs_the_failed_step_anew_and_goes_on, "proves: A-029 A-052 A-062 A-063 A-065 A-236 C-06 C-59 C-87 A-044 A-072")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);     /* the default is a person's decision */
    uint32_t before = stage_step(&s, "d")->number;
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_count_last(&s, EVENT_RUN_REQUEUED) + stage_count_last(&s, EVENT_RUN_DISPATCHED) + stage_count_last(&s, EVENT_RUN_RUNNING), 3);
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_SUPERSEDED), 2);     /* d, and e that was skipped */
    EXPECT_INT(stage_state(&s, "c"), STEP_SUCCEEDED);               /* what is done stays done */
    EXPECT(stage_step(&s, "c")->flags & STEP_HAS_OUTPUT);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "d")->attempt, 1);                    /* M-5: a new task, depth 0 */
    EXPECT_INT(stage_step(&s, "d")->generation, 0);                 /* under the same key */
    EXPECT(stage_step(&s, "d")->number > before);
    EXPECT(s.run.failure.len == 0 && s.run.failed_step == STEP_NONE && s.run.ended_ms == 0);
    const Event *made = stage_last(&s, EVENT_DECISION_MADE);
    EXPECT_INT(made->sort, DECISION_RETRY);
    EXPECT_STR(made->source, STR("user:ana"));
    EXPECT_STR(made->text, STR("I looked"));
    EXPECT_OK(stage_succeed(&s, "d", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "e"), STEP_RUNNING);                 /* reachable again */
    EXPECT_OK(stage_fail(&s, "e", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);                 /* as often as people like */
    EXPECT_OK(stage_succeed(&s, "e", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_run_retries_by_itself_until_its_retries_are_used_up, "proves: A-015 A-016 A-022 A-026 A-027 A-045 A-046 C-30")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD RETRY(",\"backoff\":\"exponential\"")))) return;
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.resolution, RESOLUTION_AUTO_RETRY_SCHEDULED);
    EXPECT_INT(stage_last(&s, EVENT_AUTO_RETRY_SCHEDULED)->attempt, 1);
    EXPECT_INT(run_due_ms(&s.run), s.now + 60000);
    EXPECT(run_is_parked(&s.run) && !run_is_terminal(&s.run));
    stage_wait(&s, 59999);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_wait(&s, 1);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_last(&s, EVENT_STEP_SUPERSEDED)->sort, RETRY_SOURCE_AUTO_RETRY);
    EXPECT_STR(stage_last(&s, EVENT_DECISION_MADE)->source, STR("AUTO_RETRY"));
    EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(run_due_ms(&s.run), s.now + 120000);
    stage_wait(&s, 120000);
    EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
    EXPECT_INT(stage_count(&s, EVENT_AUTO_RETRY_EXHAUSTED), 1);
    EXPECT_INT(s.run.auto_retry_count, 2);
    EXPECT_INT(run_due_ms(&s.run), INT64_MAX);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(s.run.state, RUN_RUNNING);
    stage_close(&s);

    Stage n;                                                        /* nobody has to wait for the clock */
    if (!fail_at_d(&n, CHAIN(TREE_HEAD RETRY("")))) return;
    EXPECT_OK(resolve(&n, DECISION_RETRY), &n.err);
    EXPECT_INT(n.run.state, RUN_RUNNING);
    EXPECT_INT(run_due_ms(&n.run), INT64_MAX);
    stage_close(&n);
}

TEST(a_retry_from_a_step_runs_anew_whatever_comes_after_it, "proves: A-030 A-047 A-048 A-050 A-053 A-055 A-058 A-060 A-061 A-069 C-87")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b"), .value = value_null() }), &s.err);
    EXPECT_INT(stage_count_last(&s, EVENT_STEP_SUPERSEDED), 4);
    EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(stage_step(&s, "b")->generation, 1);                 /* it was done: it is executed under the next key */
    EXPECT_INT(stage_state(&s, "c"), STEP_QUEUED);
    EXPECT(!(stage_step(&s, "c")->flags & STEP_HAS_OUTPUT));        /* no stale output can be read */
    EXPECT_INT(stage_last(&s, EVENT_DECISION_MADE)->sort, DECISION_RETRY_FROM_STEP);
    EXPECT_INT(stage_last(&s, EVENT_DECISION_MADE)->step, 1);
    static const char *const rest[] = { "b", "c", "d", "e" };
    for (int i = 0; i < 4; i++) EXPECT_OK(stage_succeed(&s, rest[i], NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(what_comes_after_is_undone_before_it_is_run_anew, "proves: A-054 A-056 A-059 A-082 A-257 C-57 C-58")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    Command from = { .kind = COMMAND_RETRY_FROM, .name = STR("b"), .mode = COMPENSATE_THEN_RETRY, .value = value_null() };
    EXPECT_OK(stage_do(&s, &from), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATING);
    EXPECT_INT(s.run.rollback.count, 1);                            /* c alone: strictly after b */
    EXPECT_INT(stage_count(&s, EVENT_STEP_SUPERSEDED), 0);          /* before anything is reset */
    EXPECT_OK(stage_undo(&s, "c", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATION_FAILED);               /* the retry waits */
    EXPECT_OK(stage_kind(&s, COMMAND_RETRY_COMPENSATION), &s.err);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    EXPECT_INT(stage_count_last(&s, EVENT_RUN_FAILED), 1);          /* compensating, failed, running in one decision */
    EXPECT_INT(s.run.state, RUN_RUNNING);
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    static const char *const rest[] = { "b", "c", "d" };
    for (int i = 0; i < 3; i++) EXPECT_OK(stage_succeed(&s, rest[i], NULL), &s.err);
    EXPECT_INT(stage_step(&s, "c")->generation, 1);
    EXPECT_OK(stage_fail(&s, "e", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_COMPENSATE, .value = value_null() }), &s.err);
    EXPECT_INT(s.run.rollback.number, 2);                           /* what was done anew is undone anew */
    EXPECT_INT(s.run.rollback.count, 3);
    static const char *const order[] = { "c", "b", "a" };
    for (int i = 0; i < 3; i++) EXPECT_OK(stage_undo(&s, order[i], CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    stage_close(&s);
}

TEST(a_retry_from_a_step_that_was_not_completed_is_refused, "proves: A-057")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    static const struct { const char *name; Status want; } rows[] = { { "x", ERR_NOT_FOUND }, { "e", ERR_CONFLICT }, { "", ERR_INVALID } };
    size_t before = s.log_count;
    for (size_t i = 0; i < 3; i++) {
        ROW(rows[i].name);
        EXPECT_INT(stage_do(&s, &(Command){ .kind = COMMAND_RETRY_FROM, .name = str_of(rows[i].name), .value = value_null() }), rows[i].want);
    }
    EXPECT_INT(s.log_count, before);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(stage_do(&s, &(Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b"), .value = value_null() }), ERR_CONFLICT);
    stage_close(&s);
}

TEST(a_failed_run_is_marked_resolved_or_cancelled_for_good, "proves: A-032 A-033 A-014 C-07 C-10")
{
    static const struct { DecisionKind decision; RunState state; } rows[] = {
        { DECISION_MARK_RESOLVED, RUN_FAILED }, { DECISION_CANCEL, RUN_CANCELLED }
    };
    for (int i = 0; i < 2; i++) {
        Stage s;
        ROW(decision_kind_name(rows[i].decision));
        if (!fail_at_d(&s, CHAIN(TREE_HEAD "\"failure_resolution\":{\"on_cancel\":\"COMPENSATE\"},"))) return;
        EXPECT_OK(resolve(&s, rows[i].decision), &s.err);
        EXPECT_INT(s.run.state, rows[i].state);                     /* C-10: a decision to cancel never compensates */
        EXPECT(run_is_terminal(&s.run));
        EXPECT_INT(stage_last(&s, EVENT_DECISION_MADE)->sort, rows[i].decision);
        EXPECT_STR(s.run.failure, STR("it broke"));
        for (DecisionKind again = 0; again < DECISION_KIND_COUNT; again++) EXPECT(resolve(&s, again) != OK);
        stage_close(&s);
    }
}

TEST(the_deadline_takes_the_place_of_the_strategy, "proves: A-025 C-43")
{
    static const struct { const char *plan; RunState state; Resolution resolution; } rows[] = {
        { CHAIN(TREE_HEAD "\"config\":{\"timeout_ms\":5000},\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\",\"on_timeout\":\"FAIL\"},"),
          RUN_FAILED, RESOLUTION_RESOLVED },
        { CHAIN(TREE_HEAD "\"config\":{\"timeout_ms\":5000},\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\",\"on_timeout\":\"AWAIT_DECISION\"},"),
          RUN_FAILED, RESOLUTION_AWAITING_DECISION },
        { CHAIN(TREE_HEAD "\"config\":{\"timeout_ms\":5000},\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\",\"on_timeout\":\"COMPENSATE\"},"),
          RUN_COMPENSATING, RESOLUTION_NONE },
    };
    for (int i = 0; i < 3; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        stage_wait(&s, 5000);
        EXPECT_OK(stage_fail(&s, "b", CAUSE_ERROR), &s.err);
        EXPECT_INT(s.run.state, rows[i].state);
        EXPECT_INT(s.run.resolution, rows[i].resolution);
        if (rows[i].resolution == RESOLUTION_AWAITING_DECISION) {
            EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);         /* its time begins anew */
            EXPECT_INT(s.run.deadline_ms, s.now + 5000);
            EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
        }
        if (rows[i].state == RUN_COMPENSATING) EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
        stage_close(&s);
    }
}

TEST(a_retry_needs_the_policy_and_money, "proves: F-079")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    s.verdicts[HOOK_RUN_RESUME] = VERDICT_DENY;
    EXPECT_INT(resolve(&s, DECISION_RETRY), ERR_DENIED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
    STAGE(c, TREE_HEAD "\"config\":{\"cost_limit_micro\":10}," RETRY("") "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&c, "{}"), &c.err);
    EXPECT_OK(stage_do(&c, &(Command){ .kind = COMMAND_COST, .attempt = 1, .holder = holder_make(1, 1), .number = 10,
                                       .value = value_null() }), &c.err);
    EXPECT_OK(stage_fail(&c, "a", CAUSE_PERMANENT), &c.err);
    EXPECT_INT(c.run.resolution, RESOLUTION_AWAITING_DECISION);     /* nothing is retried that may not cost */
    EXPECT_INT(resolve(&c, DECISION_RETRY), ERR_CONFLICT);
    stage_close(&c);
}

TEST(what_an_earlier_run_of_a_step_said_is_not_taken_for_a_later_one, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Command cost = { .kind = COMMAND_COST, .attempt = 1, .step_run = s.run.steps[0].number, .holder = holder_make(s.epoch, 1), .notice = 1,
                     .number = 10, .value = value_null() };
    Command report = { .kind = COMMAND_REPORT, .attempt = 1, .step_run = cost.step_run, .holder = cost.holder,
                       .report = { .cause = CAUSE_PERMANENT }, .value = value_null() };
    EXPECT_OK(stage_do(&s, &cost), &s.err);
    EXPECT_OK(stage_do(&s, &report), &s.err);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);                 /* attempt 1 again, and the same holder */
    EXPECT_INT(stage_do(&s, &cost), ERR_CONFLICT);
    EXPECT_INT(stage_do(&s, &report), ERR_CONFLICT);
    EXPECT_INT(s.run.cost_micro, 10);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    cost.step_run = s.run.steps[0].number;
    EXPECT_OK(stage_do(&s, &cost), &s.err);
    EXPECT_INT(s.run.cost_micro, 20);
    stage_close(&s);
}

#define BRANCHED TREE_HEAD "\"steps\":[" TASK("a", "") \
    ",{\"id\":\"k\",\"kind\":\"branch\",\"select\":\"param p\",\"cases\":[\"x\",\"y\"],\"converge\":4}," \
    TASK("x", "") "," TASK("y", "") "," TASK("z", "") "],\"edges\":[[0,1,\"order\"],[1,2,\"branch\",\"x\"],[1,3,\"branch\",\"y\"],[2,4,\"order\"]," \
    "[3,4,\"order\"]],\"params\":[{\"name\":\"p\",\"type\":\"string\"}]}"

TEST(a_retry_stays_on_the_branch_that_was_taken, "proves: A-258")
{
    STAGE(s, BRANCHED);
    REQUIRE_OK(stage_start(&s, "{\"p\":\"x\"}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_step(&s, "y")->cause, SKIP_NOT_ON_ACTIVE_BRANCH);
    EXPECT_OK(stage_fail(&s, "x", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(stage_state(&s, "x"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "y"), STEP_SKIPPED);                 /* left alone */
    EXPECT_INT(stage_count(&s, EVENT_BRANCH_TAKEN), 1);
    EXPECT_OK(stage_fail(&s, "x", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RETRY_FROM, .name = STR("k"), .value = value_null() }), &s.err);
    EXPECT_INT(stage_count(&s, EVENT_BRANCH_TAKEN), 2);             /* the branch is asked again */
    EXPECT_INT(stage_step(&s, "y")->cause, SKIP_NOT_ON_ACTIVE_BRANCH);
    EXPECT_OK(stage_succeed(&s, "x", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "z", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_loop_that_used_up_its_rounds_goes_round_anew, "proves: A-029")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "," TASK("c", "") "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"]],"
          "\"loops\":[{\"head\":0,\"tail\":1,\"max_iterations\":2,\"on_max\":\"fail\",\"when\":\"rounds 3\"}]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    }
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(s.run.loops[0], 0);
    stage_close(&s);
}

TEST(the_steps_that_are_run_anew_are_one_pure_function, "proves: A-052 A-053 A-058")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    static const struct { const char *from; uint32_t count; } rows[] = { { NULL, 2 }, { "d", 2 }, { "c", 3 }, { "a", 5 } };
    for (int i = 0; i < 4; i++) {
        uint32_t from = rows[i].from ? stage_index(&s, rows[i].from) : STEP_NONE;
        EXPECT_INT(rerun_count(rerun_set(&s.plan, &s.run, from, &s.arena), s.run.step_count), rows[i].count);
    }
    stage_close(&s);
}

/* What the first format did not know is made up for as well as can be: nothing is lost that it had. */
TEST(a_snapshot_of_the_first_format_is_read, "")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    Buf first, again;
    buf_init(&first, SIZE_MAX);
    buf_init(&again, SIZE_MAX);
    run_encode_like(&s.run, &s.plan, STR("\x01"), &first);
    Run read;
    run_init(&read, &s.plan, &s.run.id, s.run.run_no);
    if (EXPECT_OK(run_decode(&read, &s.plan, buf_peek(&first), &s.err), &s.err)) {
        run_encode_like(&read, &s.plan, buf_peek(&first), &again);
        EXPECT(str_is(buf_peek(&first), buf_peek(&again)));
        EXPECT_INT(read.state, RUN_FAILED);
        EXPECT_STR(read.failure, s.run.failure);
    }
    run_deinit(&read);
    first.ptr[0] = 3;                                               /* of a newer maestro */
    run_init(&read, &s.plan, &s.run.id, s.run.run_no);
    EXPECT_INT(run_decode(&read, &s.plan, buf_peek(&first), &s.err), ERR_CORRUPT);
    run_deinit(&read);
    buf_deinit(&first);
    buf_deinit(&again);
    stage_close(&s);
}

TEST(a_retry_may_change_parameters_and_records_what_differs, "proves: A-048 A-049")
{
    STAGE(s, TREE_HEAD "\"params\":[{\"name\":\"amount\",\"type\":\"integer\"},{\"name\":\"note\",\"type\":\"string\",\"default\":\"\"}],\"steps\":["
          TASK("a", "") "," TASK("b", ",\"input\":{\"n\":\"${params.amount}\"}") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{\"amount\":5}"), &s.err);
    REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
    REQUIRE_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
    Command retry = { .kind = COMMAND_RETRY_FROM, .name = STR("b"), .value = value_null() };
    REQUIRE_OK(json_parse(&s.log_arena, STR("{\"amount\":\"many\"}"), &retry.value, &s.err), &s.err);
    EXPECT_INT(stage_do(&s, &retry), ERR_INVALID);
    EXPECT_INT(s.run.state, RUN_FAILED);
    REQUIRE_OK(json_parse(&s.log_arena, STR("{\"amount\":7}"), &retry.value, &s.err), &s.err);
    s.hidden = MISSING_PARAMS;
    EXPECT_INT(stage_do(&s, &retry), ERR_UNAVAILABLE);
    s.hidden = STEP_NONE;
    REQUIRE_OK(stage_do(&s, &retry), &s.err);
    EXPECT_STR(stage_last(&s, EVENT_PARAMS_CHANGED)->text, STR("amount: 5 -> 7"));
    EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
    EXPECT_INT(value_get_int(s.last_payload, "n", 0), 7);
    EXPECT_INT(s.run.params_at, s.position);
    stage_close(&s);
}

TEST(a_parameter_that_a_key_was_made_of_is_not_changed_behind_what_may_be_undone, "proves: F-090 A-048")
{
    static const struct { const char *name, *from, *edits; RetryMode mode; Status status; } rows[] = {
        { "what stays done could not be undone under its key", "b", "{\"n\":7}", RETRY_ONLY, ERR_CONFLICT },
        { "nor what is compensated before the retry", "a", "{\"n\":7}", COMPENSATE_THEN_RETRY, ERR_CONFLICT },
        { "what is run anew gets another key", "a", "{\"n\":7}", RETRY_ONLY, OK },
        { "another parameter is none of the key's", "b", "{\"m\":7}", RETRY_ONLY, OK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, TREE_HEAD "\"params\":[{\"name\":\"n\",\"type\":\"integer\"},{\"name\":\"m\",\"type\":\"integer\",\"default\":1}],\"steps\":["
              TASK("a", ",\"strategy\":\"dedupe-key\",\"key\":\"k-${params.n}\",\"compensation\":{\"run\":\"undo\"}") "," TASK("b", "")
              "],\"edges\":[[0,1,\"order\"]]}");
        REQUIRE_OK(stage_start(&s, "{\"n\":5}"), &s.err);
        REQUIRE_OK(stage_succeed(&s, "a", NULL), &s.err);
        REQUIRE_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
        Command retry = { .kind = COMMAND_RETRY_FROM, .name = str_of(rows[i].from), .mode = rows[i].mode, .includes = true, .value = value_null() };
        REQUIRE_OK(json_parse(&s.log_arena, str_of(rows[i].edits), &retry.value, &s.err), &s.err);
        size_t before = s.log_count;
        EXPECT_INT(stage_do(&s, &retry), rows[i].status);
        if (rows[i].status) EXPECT_INT(s.log_count, before);
        stage_close(&s);
    }
}

/* The same steps with the same reports: what becomes of the run is written in its definition and nowhere else. */
TEST(what_follows_a_failure_is_the_definitions_word_alone, "proves: A-007")
{
    static const struct { const char *name, *plan; RunState state; Resolution resolution; } rows[] = {
        { "nothing said", CHAIN(TREE_HEAD), RUN_FAILED, RESOLUTION_AWAITING_DECISION },
        { "AWAIT_DECISION", CHAIN(TREE_HEAD "\"failure_resolution\":{\"strategy\":\"AWAIT_DECISION\"},"), RUN_FAILED,
          RESOLUTION_AWAITING_DECISION },
        { "AUTO_RETRY", CHAIN(TREE_HEAD RETRY("")), RUN_FAILED, RESOLUTION_AUTO_RETRY_SCHEDULED },
        { "AUTO_COMPENSATE", CHAIN(TREE_HEAD "\"failure_resolution\":{\"strategy\":\"AUTO_COMPENSATE\"},"), RUN_COMPENSATING,
          RESOLUTION_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Stage s;
        if (!fail_at_d(&s, rows[i].plan)) return;
        EXPECT_INT(s.run.state, rows[i].state);
        EXPECT_INT(s.run.resolution, rows[i].resolution);
        stage_close(&s);
    }
}

TEST(every_decision_every_retry_and_every_compensation_is_recorded, "proves: A-010")
{
    Stage s;
    if (!fail_at_d(&s, CHAIN(TREE_HEAD))) return;
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);
    EXPECT_OK(stage_fail(&s, "d", CAUSE_PERMANENT), &s.err);
    EXPECT_OK(resolve(&s, DECISION_COMPENSATE), &s.err);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_TRANSIENT), &s.err);        /* tried again */
    stage_wait(&s, run_due_ms(&s.run) - s.now);
    EXPECT_OK(stage_undo(&s, "c", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "b", CAUSE_NONE), &s.err);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    static const struct { EventKind kind; size_t count; } wanted[] = {
        { EVENT_DECISION_MADE, 3 },             { EVENT_RUN_REQUEUED, 2 },              { EVENT_STEP_SUPERSEDED, 4 },
        { EVENT_STEP_FAILED, 3 },               { EVENT_COMPENSATION_STARTED, 1 },      { EVENT_COMPENSATION_PLANNED, 3 },
        { EVENT_COMPENSATION_RUNNING, 4 },      { EVENT_COMPENSATION_ATTEMPT_FAILED, 1 }, { EVENT_COMPENSATION_SUCCEEDED, 3 },
        { EVENT_RUN_COMPENSATED, 1 },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        test_expect(stage_count(&s, wanted[i].kind) == wanted[i].count, __FILE__, __LINE__, "%zu events of kind %d, not %zu",
                    stage_count(&s, wanted[i].kind), (int)wanted[i].kind, wanted[i].count);
    }
    for (size_t i = 0; i < s.log_count; i++)
        if (s.log[i].kind == EVENT_DECISION_MADE) EXPECT_STR(s.log[i].source, STR("user:ana"));
    stage_close(&s);
}

/* The context of a run is its parameters and the outputs so far: what was known before a step ended stays what it was. */
TEST(an_output_makes_a_new_context_and_leaves_the_old_one_as_it_was, "proves: R-051")
{
    STAGE(s, CHAIN(TREE_HEAD));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", "{\"n\":1}"), &s.err);
    uint64_t first_at = stage_step(&s, "a")->output_at;
    Buf before, again;
    buf_init(&before, 1 << 20);
    buf_init(&again, 1 << 20);
    run_encode(&s.run, &before);
    EXPECT_OK(stage_succeed(&s, "b", "{\"n\":2}"), &s.err);
    EXPECT_INT(stage_step(&s, "a")->output_at, first_at);           /* nothing of it was written over */
    Run old;
    run_init(&old, &s.plan, &s.run.id, s.run.run_no);
    REQUIRE_OK(run_decode(&old, &s.plan, buf_peek(&before), &s.err), &s.err);
    EXPECT(old.steps[0].flags & STEP_HAS_OUTPUT && !(old.steps[1].flags & STEP_HAS_OUTPUT));
    run_encode(&old, &again);
    EXPECT_STR(buf_peek(&again), buf_peek(&before));
    EXPECT(s.run.steps[1].flags & STEP_HAS_OUTPUT && s.run.steps[1].output_at != first_at);
    run_deinit(&old);
    buf_deinit(&before);
    buf_deinit(&again);
    stage_close(&s);
}

/* Announces an effect in step "a", then fails. */
static bool act_and_fail(Stage *s, bool is_committed, Cause cause)
{
    if (!EXPECT_OK(stage_start(s, "{}"), &s->err)) return false;
    Command effect = { .kind = COMMAND_EFFECT, .step = 0, .attempt = 1, .holder = holder_make(1, 1), .value = value_int(1) };
    if (!EXPECT_OK(stage_do(s, &effect), &s->err)) return false;
    effect.is_committed = true;
    if (is_committed && !EXPECT_OK(stage_do(s, &effect), &s->err)) return false;
    return EXPECT_OK(stage_fail(s, "a", cause), &s->err);
}

TEST(no_strategy_repeats_an_effect_by_itself, "proves: C-22 A-015")
{
    static const char plan[] = TREE_HEAD RETRY("") "\"steps\":[" TASK("a", ",\"strategy\":\"effect-recorded\"") "]}";
    for (int i = 0; i < 2; i++) {
        STAGE(s, plan);
        if (!act_and_fail(&s, i == 1, CAUSE_ERROR)) return;
        EXPECT_INT(s.run.state, RUN_FAILED);
        EXPECT_INT(s.run.resolution, RESOLUTION_AWAITING_DECISION);
        if (i == 0) EXPECT_INT(s.run.cause, CAUSE_EFFECT_UNKNOWN);              /* told, whatever the program died of */
        EXPECT_OK(resolve(&s, DECISION_RETRY), &s.err);                         /* a person may */
        EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
        stage_close(&s);
    }
}

/* --- another revision ---------------------------------------------------------------------------------------------------------- */

#define REVISION_HEAD TREE_HEAD "\"params\":[{\"name\":\"n\",\"type\":\"integer\",\"default\":1}],"
#define REVISION_TAIL "\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}"
#define REVISION_FIRST REVISION_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "," TASK("c", "") "]," REVISION_TAIL

/* A run of that plan whose second step has failed. */
static void fail_second(Stage *s)
{
    REQUIRE_OK(stage_start(s, "{}"), &s->err);
    REQUIRE_OK(stage_succeed(s, "a", "{\"v\":1}"), &s->err);
    REQUIRE_OK(stage_fail(s, "b", CAUSE_PERMANENT), &s->err);
    REQUIRE(s->run.state == RUN_FAILED);
}

/* Retried with that document as revision 2: from a step, or what failed. */
static Status retry_revised(Stage *s, const char *json, const char *from, RetryMode mode)
{
    Value document;
    Plan before = s->plan, after;
    Status status = json_parse(&s->plan_arena, str_of(json), &document, &s->err);
    if (!status) status = plan_read(&s->plan_arena, document, &after, &s->err);
    if (!EXPECT_OK(status, &s->err)) return status;
    Command retry = { .kind = from ? COMMAND_RETRY_FROM : COMMAND_RESOLVE, .decision = DECISION_RETRY, .name = str_of(from ? from : ""),
                      .value = value_null(), .mode = mode, .revision = 2, .before = &before };
    s->plan = after;
    status = stage_do(s, &retry);
    if (status) s->plan = before;
    return status;
}

TEST(a_retry_goes_on_with_another_revision_of_the_same_shape, "proves: A-048")
{
    static const char *const froms[] = { "b", "a", NULL };
    for (size_t i = 0; i < 3; i++) {
        ROW(froms[i] ? froms[i] : "what failed");
        STAGE(s, REVISION_FIRST);
        fail_second(&s);
        Digest first = s.run.plan_digest;
        REQUIRE_OK(retry_revised(&s, REVISION_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", ",\"input\":{\"k\":2}") "," TASK("c", "") "],"
                                 REVISION_TAIL, froms[i], RETRY_ONLY), &s.err);
        const Event *revised = stage_last(&s, EVENT_RUN_REVISED);
        REQUIRE(revised != NULL);
        EXPECT_INT(revised->revision, 2);
        EXPECT_STR(revised->text, STR("b"));
        EXPECT_INT(s.run.revision, 2);
        EXPECT(memcmp(&s.run.plan_digest, &s.plan.digest, sizeof first) == 0 && memcmp(&s.run.plan_digest, &first, sizeof first) != 0);
        if (i == 1) REQUIRE_OK(stage_succeed(&s, "a", "{\"v\":1}"), &s.err);
        EXPECT_INT(stage_state(&s, "a"), STEP_SUCCEEDED);
        EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
        EXPECT_INT(value_get_int(s.last_payload, "k", 0), 2);               /* its input is the new one's */
        REQUIRE_OK(stage_succeed(&s, "b", NULL), &s.err);
        REQUIRE_OK(stage_succeed(&s, "c", NULL), &s.err);
        EXPECT_INT(s.run.state, RUN_SUCCEEDED);
        stage_close(&s);
    }
}

TEST(a_revision_that_does_not_fit_what_is_kept_is_refused_by_the_name_of_the_step, "proves: A-048")
{
#define STEPS(a, b, c) REVISION_HEAD "\"steps\":[" a "," b "," c "]," REVISION_TAIL
    static const struct { const char *name, *plan, *from, *says; RetryMode mode; Status status; } rows[] = {
        { "another step", STEPS(TASK("a", ""), TASK("x", ""), TASK("c", "")), "b", "where the run has step 'b', that revision has 'x'",
          RETRY_ONLY, ERR_CONFLICT },
        { "a step more", REVISION_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "," TASK("c", "") "," TASK("d", "") "]," REVISION_TAIL,
          "b", "step 'd' is new", RETRY_ONLY, ERR_CONFLICT },
        { "a step less", REVISION_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}", "b", "step 'c' is missing",
          RETRY_ONLY, ERR_CONFLICT },
        { "other needs", REVISION_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") ","
          TASK("c", "") "],\"edges\":[[0,1,\"order\"],[0,2,\"order\"]]}",
          "b", "step 'a' is needed by others", RETRY_ONLY, ERR_CONFLICT },
        { "a pause", STEPS(TASK("a", ""), TASK("b", ",\"pause_after\":{\"trigger\":\"t\"}"), TASK("c", "")), "b", "step 'b' pauses",
          RETRY_ONLY, ERR_CONFLICT },
        { "a gate", STEPS(TASK("a", ",\"wait_for_signal\":{\"signal\":\"s\"}"), TASK("b", ""), TASK("c", "")), "b", "step 'a' waits", RETRY_ONLY,
          ERR_CONFLICT },
        { "an output that is kept", STEPS(TASK("a", ",\"outputs\":{\"w\":\"integer\"}"), TASK("b", ""), TASK("c", "")), "b",
          "step 'a' was done and would be kept", RETRY_ONLY, ERR_CONFLICT },
        { "an output that is made anew", STEPS(TASK("a", ",\"outputs\":{\"w\":\"integer\"}"), TASK("b", ""), TASK("c", "")), "a", "",
          RETRY_ONLY, OK },
        { "an output that it has", STEPS(TASK("a", ",\"outputs\":{\"v\":\"integer\"}"), TASK("b", ""), TASK("c", "")), "b", "", RETRY_ONLY, OK },
        { "the key of what may be undone", STEPS(TASK("a", ",\"compensation\":{\"run\":\"noop\"},\"key\":\"k\""), TASK("b", ""),
          TASK("c", "")), "b", "step 'a' was carried out and has another idempotency_key", RETRY_ONLY, ERR_CONFLICT },
        { "a parameter without a value", TREE_HEAD "\"params\":[{\"name\":\"m\",\"type\":\"integer\"}],\"steps\":[" TASK("a", "") ","
          TASK("b", "") "," TASK("c", "") "]," REVISION_TAIL, "b", "m", RETRY_ONLY, ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        STAGE(s, REVISION_FIRST);
        fail_second(&s);
        uint64_t events = s.run.event_count, revision = s.run.revision;
        EXPECT_INT(retry_revised(&s, rows[i].plan, rows[i].from, rows[i].mode), rows[i].status);
        if (rows[i].status) {
            EXPECT(strstr(s.err.text, rows[i].says) != NULL);
            EXPECT_INT(s.run.event_count, events);
            EXPECT_INT(s.run.revision, revision);
        }
        stage_close(&s);
    }
}

TEST(a_revision_may_bring_parameters_that_have_defaults, "proves: A-048")
{
    STAGE(s, REVISION_FIRST);
    fail_second(&s);
    REQUIRE_OK(retry_revised(
        &s, TREE_HEAD
        "\"params\":[{\"name\":\"n\",\"type\":\"integer\",\"default\":1},{\"name\":\"speed\",\"type\":\"string\",\"default\":\"slow\"}],\"steps\":["
        TASK("a", "") "," TASK("b", "") "," TASK("c", "") "]," REVISION_TAIL, "b", RETRY_ONLY), &s.err);
    const Event *changed = stage_last(&s, EVENT_PARAMS_CHANGED);
    if (EXPECT(changed)) EXPECT(memmem(changed->text.ptr, changed->text.len, "speed", 5) != NULL);
    stage_close(&s);
}

TEST(a_revision_that_cannot_be_carried_out_is_refused, "proves: F-084")
{
    STAGE(s, REVISION_FIRST);
    fail_second(&s);
    EXPECT_INT(retry_revised(&s, REVISION_HEAD "\"steps\":[" TASK("a", "") ","
                             TASK("b", ",\"canary\":{\"percent\":5}") "," TASK("c", "") "]," REVISION_TAIL,
                             "b", RETRY_ONLY), ERR_CONFLICT);
    EXPECT(strstr(s.err.text, "canary") != NULL);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}
