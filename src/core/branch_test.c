/* Branches, joins, step trees, guarded cycles. */
#include <string.h>

#include "core/stage_test.h"
#include "harness/test.h"

#define BRANCH(id, more) "{\"id\":\"" id "\",\"name\":\"" id "\",\"kind\":\"branch\"," more "}"
#define ABC "\"cases\":[\"a\",\"b\",\"c\"]"

/* r chooses among a, b, c, which come together in z; after z comes y. */
#define ROUTE(select) TREE_HEAD "\"params\":[{\"name\":\"k\",\"type\":\"string\",\"required\":false}],\"steps\":[" \
    BRANCH("r", ABC ",\"converge\":4,\"type\":\"inclusive\",\"select\":\"" select "\"") "," TASK("a", "") "," TASK("b", "") "," \
    TASK("c", "") "," TASK("z", "") "," TASK("y", "") "],\"edges\":[[0,1,\"branch\",\"a\"],[0,2,\"branch\",\"b\"]," \
    "[0,3,\"branch\",\"c\"],[1,4,\"order\"],[2,4,\"order\"],[3,4,\"order\"],[4,5,\"order\"]]}"

TEST(arms_that_are_taken_run_and_come_together_for_every_subset, "proves: F-027 C-19 C-40")
{
    static const struct { const char *plan, *taken; } rows[] = {
        { ROUTE("pick a"), "a" },     { ROUTE("pick b"), "b" },     { ROUTE("pick c"), "c" },       { ROUTE("pick a,b"), "ab" },
        { ROUTE("pick a,c"), "ac" },  { ROUTE("pick b,c"), "bc" },  { ROUTE("pick a,b,c"), "abc" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].taken);
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_INT(stage_state(&s, "r"), STEP_SUCCEEDED);
        const char *arms[] = { "a", "b", "c" };
        for (int arm = 0; arm < 3; arm++) {
            bool is_taken = strchr(rows[i].taken, arms[arm][0]) != NULL;
            EXPECT_INT(stage_state(&s, arms[arm]), is_taken ? STEP_RUNNING : STEP_SKIPPED);
            if (!is_taken) EXPECT_INT(stage_step(&s, arms[arm])->cause, SKIP_NOT_ON_ACTIVE_BRANCH);
        }
        for (int arm = 0; arm < 3; arm++) {
            if (stage_state(&s, arms[arm]) != STEP_RUNNING) continue;
            EXPECT_INT(stage_state(&s, "z"), STEP_QUEUED);          /* not before every arm taken has arrived */
            EXPECT_OK(stage_succeed(&s, arms[arm], NULL), &s.err);
        }
        EXPECT_OK(stage_succeed(&s, "z", NULL), &s.err);
        EXPECT_OK(stage_succeed(&s, "y", NULL), &s.err);
        EXPECT_INT(s.run.state, RUN_SUCCEEDED);
        EXPECT_INT(s.run.begun_count, 6);                           /* C-20: skipped ones have a number, too */
        stage_close(&s);
    }
}

TEST(an_unknown_or_undefined_selection_takes_the_default_or_fails, "proves: C-85")
{
    static const struct { const char *name, *select, *more, *params; const char *taken; Cause cause; } rows[] = {
        { "undefined, default", "param k", ",\"default\":\"b\"", "{}", "b", 0 },
        { "undefined, no default", "param k", "", "{}", NULL, CAUSE_CONDITION_UNDEFINED },
        { "unknown, default", "pick q", ",\"default\":\"b\"", "{}", "b", 0 },
        { "unknown, no default", "pick q", "", "{}", NULL, CAUSE_CONDITION_UNDEFINED },
        { "several where one is wanted", "pick a,b", "", "{}", NULL, CAUSE_CONDITION_ERROR },
        { "several, default", "pick a,b", ",\"default\":\"b\"", "{}", NULL, CAUSE_CONDITION_ERROR },
        { "an error", "error", ",\"default\":\"b\"", "{}", NULL, CAUSE_CONDITION_ERROR },
        { "known", "param k", "", "{\"k\":\"a\"}", "a", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buf plan;
        buf_init(&plan, 4096);
        ROW(rows[i].name);
        buf_format(&plan, "%s\"params\":[{\"name\":\"k\",\"type\":\"string\",\"required\":false}],\"steps\":[{\"id\":\"r\","
                   "\"kind\":\"branch\",\"cases\":[\"a\",\"b\"],\"select\":\"%s\"%s}," TASK("a", "") "," TASK("b", "")
                   "],\"edges\":[[0,1,\"branch\",\"a\"],[0,2,\"branch\",\"b\"]]}", TREE_HEAD, rows[i].select, rows[i].more);
        Stage s;
        if (!stage_open_str(&s, buf_peek(&plan))) return;
        EXPECT_OK(stage_start(&s, rows[i].params), &s.err);
        if (rows[i].taken) {
            EXPECT_INT(stage_state(&s, rows[i].taken), STEP_RUNNING);
            EXPECT_STR(stage_last(&s, EVENT_BRANCH_TAKEN)->name, str_of(rows[i].taken));
        } else {
            EXPECT_INT(stage_state(&s, "r"), STEP_FAILED);
            EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, rows[i].cause);
            EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->class_, CLASS_PERMANENT);
        }
        stage_close(&s);
        buf_deinit(&plan);
    }
}

TEST(a_need_from_outside_does_not_start_what_stands_in_an_arm, "")
{
    /* o has nothing to do with the branch; x (a case) and w (behind it) need it as well, and z reads x after the join. */
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("o", "") "," BRANCH("r", "\"cases\":[\"a\",\"b\"],\"converge\":5,\"select\":\"pick b\"")
          "," TASK("x", "") "," TASK("w", "") "," TASK("v", "") "," TASK("m", "") "," TASK("z", "") "],\"edges\":["
          "[0,2,\"order\"],[0,3,\"data\"],[0,5,\"order\"],[1,2,\"branch\",\"a\"],[1,4,\"branch\",\"b\"],[2,3,\"order\"],"
          "[2,6,\"data\"],[3,5,\"order\"],[4,5,\"order\"],[5,6,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "o", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "x"), STEP_SKIPPED);
    EXPECT_INT(stage_state(&s, "w"), STEP_SKIPPED);
    EXPECT_INT(stage_step(&s, "w")->cause, SKIP_NOT_ON_ACTIVE_BRANCH);
    EXPECT_OK(stage_succeed(&s, "v", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "m", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "z"), STEP_RUNNING);                 /* though an output it reads was not produced */
    stage_close(&s);
}

TEST(what_follows_a_skipped_step_goes_on, "proves: F-029 F-030 C-19 C-90")
{
    STAGE(s, PLAN_HEAD "\"jobs\":[{\"id\":\"j\",\"priority\":\"normal\",\"when\":\"no\"},{\"id\":\"k\",\"priority\":\"normal\"}],"
          "\"steps\":[{\"id\":\"j.a\",\"kind\":\"task\",\"job\":0},{\"id\":\"j.b\",\"kind\":\"task\",\"job\":0},"
          "{\"id\":\"k.c\",\"kind\":\"task\",\"job\":1,\"when\":\"undefined\"},{\"id\":\"k.d\",\"kind\":\"task\",\"job\":1}],"
          "\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(s.run.jobs[0].state, RUN_SKIPPED);
    EXPECT_INT(stage_step(&s, "j.b")->cause, SKIP_CONDITION_FALSE);
    EXPECT_INT(stage_state(&s, "k.c"), STEP_SKIPPED);
    EXPECT(stage_last(&s, EVENT_STEP_SKIPPED)->text.len > 0);       /* that it was undefined is recorded */
    EXPECT_INT(stage_state(&s, "k.d"), STEP_RUNNING);
    EXPECT_INT(s.run.jobs[1].state, RUN_RUNNING);
    EXPECT_OK(stage_succeed(&s, "k.d", NULL), &s.err);
    EXPECT_INT(s.run.jobs[1].state, RUN_SUCCEEDED);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_condition_that_cannot_be_evaluated_fails_its_step, "proves: C-85")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"when\":\"error\"") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_CONDITION_ERROR);
    EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    stage_close(&s);
}

TEST(a_branch_that_is_skipped_takes_no_case_and_what_is_behind_goes_on, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" BRANCH("r", "\"cases\":[\"a\",\"b\"],\"converge\":3,\"select\":\"pick a\",\"when\":\"no\"") ","
          TASK("a", "") "," TASK("b", "") "," TASK("z", "") "],\"edges\":[[0,1,\"branch\",\"a\"],[0,2,\"branch\",\"b\"],"
          "[1,3,\"order\"],[2,3,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "a"), STEP_SKIPPED);
    EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
    EXPECT_INT(stage_state(&s, "z"), STEP_RUNNING);
    stage_close(&s);
}

/* --- step trees --------------------------------------------------------------------------------------------------------------- */

#define SEQ(id, more) "{\"id\":\"" id "\",\"name\":\"" id "\",\"kind\":\"sequence\"" more "}"
#define IF(id, cond, more) "{\"id\":\"" id "\",\"kind\":\"branch\",\"cases\":[\"then\",\"else\"],\"condition\":\"" cond "\"" more "}"
/* s( a, if(t; then b) ), d */
#define TREE(s_more, cond) TREE_HEAD "\"params\":[{\"name\":\"p\",\"type\":\"boolean\",\"default\":true}],\"steps\":[" SEQ("s", s_more) "," \
    TASK("a", ",\"parent\":0") "," IF("t", cond, ",\"parent\":0,\"converge\":4") "," TASK("b", ",\"parent\":2") "," TASK("d", "") \
    "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"branch\",\"then\"],[2,4,\"branch\",\"else\"],[3,4,\"order\"]]}"

TEST(a_sequence_runs_while_its_steps_are_open, "proves: R-032 R-033 G-23 C-20 C-91")
{
    STAGE(s, TREE("", "is p"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "s"), STEP_RUNNING);
    EXPECT_INT(s.run.running_count, 1);                             /* the sequence holds no place and no lease */
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "t"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "s"), STEP_RUNNING);
    EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "s"), STEP_SUCCEEDED);
    EXPECT(!(stage_step(&s, "s")->flags & STEP_HAS_OUTPUT) && !(stage_step(&s, "t")->flags & STEP_HAS_OUTPUT));
    EXPECT_OK(stage_succeed(&s, "d", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    const char *order[] = { "s", "a", "t", "b", "d" };              /* pre-order */
    for (uint32_t i = 0; i < 5; i++) EXPECT_INT(stage_step(&s, order[i])->number, i + 1);
    stage_close(&s);
}

TEST(a_choice_takes_one_side, "proves: R-033")
{
    static const struct { const char *plan; bool then; } rows[] = {
        { TREE("", "yes"), true }, { TREE("", "no"), false }, { TREE("", "undefined"), false },
    };
    for (size_t i = 0; i < 3; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        EXPECT_INT(stage_state(&s, "b"), rows[i].then ? STEP_RUNNING : STEP_SKIPPED);
        EXPECT_INT(stage_state(&s, "d"), rows[i].then ? STEP_QUEUED : STEP_RUNNING);
        if (!rows[i].then) EXPECT_INT(stage_state(&s, "s"), STEP_SUCCEEDED);
        stage_close(&s);
    }
}

TEST(a_sequence_that_is_skipped_skips_what_it_holds, "proves: F-030")
{
    STAGE(s, TREE(",\"when\":\"no\"", "yes"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_step(&s, "s")->cause, SKIP_CONDITION_FALSE);
    EXPECT_INT(stage_step(&s, "a")->cause, SKIP_CONDITION_FALSE);
    EXPECT_INT(stage_step(&s, "t")->cause, SKIP_CONDITION_FALSE);
    EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    stage_close(&s);
}

TEST(a_sequence_fails_with_what_it_holds, "proves: R-029 R-059 R-060 R-061")
{
    STAGE(s, TREE("", "yes"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_PERMANENT), &s.err);
    EXPECT_INT(stage_state(&s, "s"), STEP_FAILED);
    EXPECT_INT(stage_state(&s, "d"), STEP_SKIPPED);
    EXPECT_INT(stage_step(&s, "d")->cause, SKIP_PREDECESSOR_FAILED);
    EXPECT_INT(s.run.state, RUN_FAILED);
    EXPECT_INT(s.run.failed_step, stage_index(&s, "a"));
    EXPECT_INT(s.run.begun_count, 5);
    stage_close(&s);
}

TEST(a_sequence_without_steps_succeeds_at_once, "")
{
    STAGE(s, TREE_HEAD "\"steps\":[" SEQ("s", "") "," TASK("a", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_state(&s, "s"), STEP_SUCCEEDED);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    stage_close(&s);
}

/* --- guarded cycles -------------------------------------------------------------------------------------------------------------- */

/* b, c go round; d follows; e hangs on b alone. */
#define CYCLE(when, most, on_max) TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", ",\"input\":{\"round\":\"${run.iteration}\"}") "," \
    TASK("c", "") "," TASK("d", "") "," TASK("e", "") "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[1,4,\"order\"],[2,3,\"order\"]]," \
    "\"loops\":[{\"head\":1,\"tail\":2,\"max_iterations\":" most ",\"on_max\":\"" on_max "\",\"when\":\"" when "\"}]}"

TEST(a_guarded_cycle_goes_round_while_its_condition_holds, "proves: F-027 C-87")
{
    STAGE(s, CYCLE("rounds 3", "10", "fail"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    Str keys[3];
    for (uint32_t round = 1; round <= 3; round++) {
        EXPECT_INT(stage_step(&s, "b")->generation, round - 1);
        EXPECT_INT(value_get_int(s.last_payload, "round", 0), round);
        keys[round - 1] = step_key(&s.plan, &s.run, 1, STR(""), &s.log_arena);
        EXPECT_OK(stage_succeed(&s, "b", "{\"x\":1}"), &s.err);
        EXPECT_INT(stage_state(&s, "e"), STEP_QUEUED);              /* what follows the cycle waits until it is left */
        EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);
        if (round == 3) break;
        EXPECT_INT(stage_state(&s, "b"), STEP_RUNNING);
        EXPECT_INT(stage_state(&s, "d"), STEP_QUEUED);
        EXPECT(stage_step(&s, "b")->flags & STEP_HAS_OUTPUT);       /* the last round's output stays readable */
    }
    EXPECT(!str_is(keys[0], keys[1]) && !str_is(keys[1], keys[2]));
    EXPECT_INT(stage_count(&s, EVENT_LOOP_REPEATED), 2);
    EXPECT_INT(stage_last(&s, EVENT_LOOP_LEFT)->count, 3);
    EXPECT_INT(stage_state(&s, "d"), STEP_RUNNING);
    EXPECT_INT(stage_state(&s, "e"), STEP_RUNNING);
    EXPECT_OK(stage_succeed(&s, "d", NULL), &s.err);
    EXPECT_OK(stage_succeed(&s, "e", NULL), &s.err);
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(s.run.begun_count, 3 + 2 * 3);
    stage_close(&s);
}

TEST(a_cycle_at_its_bound_fails_or_goes_on_as_declared, "proves: F-027")
{
    static const struct { const char *plan; bool fails; } rows[] = {
        { CYCLE("yes", "2", "fail"), true }, { CYCLE("yes", "2", "continue"), false }, { CYCLE("error", "2", "continue"), true },
        { CYCLE("undefined", "2", "fail"), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        STAGE(s, rows[i].plan);
        REQUIRE_OK(stage_start(&s, "{}"), &s.err);
        EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
        while (stage_state(&s, "b") == STEP_RUNNING) {
            EXPECT_OK(stage_succeed(&s, "b", NULL), &s.err);
            EXPECT_OK(stage_succeed(&s, "c", NULL), &s.err);
        }
        EXPECT(stage_count(&s, EVENT_LOOP_REPEATED) <= 1);          /* two rounds at most */
        EXPECT_INT(s.run.state, rows[i].fails ? RUN_FAILED : RUN_RUNNING);
        EXPECT_INT(stage_state(&s, "d"), rows[i].fails ? STEP_SKIPPED : STEP_RUNNING);
        stage_close(&s);
    }
}

TEST(cycles_inside_one_another_count_their_own_rounds, "proves: F-027")
{
    /* b goes round within a..c. */
    STAGE(s, PLAN_HEAD
          "\"jobs\":[{\"id\":\"a\",\"priority\":\"normal\"},{\"id\":\"b\",\"priority\":\"normal\"},{\"id\":\"c\",\"priority\":\"normal\"}],"
          "\"steps\":[{\"id\":\"a.a\",\"kind\":\"task\",\"job\":0},{\"id\":\"b.b\",\"kind\":\"task\",\"job\":1},{\"id\":\"c.c\",\"kind\":\"task\",\"job\":2}],"
          "\"edges\":[[0,1,\"order\"],[1,2,\"order\"]],\"loops\":["
          "{\"head\":0,\"tail\":2,\"max_iterations\":2,\"on_max\":\"continue\",\"when\":\"yes\"},"
          "{\"head\":1,\"tail\":1,\"max_iterations\":3,\"on_max\":\"continue\",\"when\":\"yes\"}]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    uint32_t counts[3] = { 0 };
    for (int guard = 0; guard < 50 && s.run.state == RUN_RUNNING; guard++)
        for (uint32_t i = 0; i < 3; i++) {
            if (s.run.steps[i].state != STEP_RUNNING) continue;
            static const char *const ids[] = { "a.a", "b.b", "c.c" };
            counts[i]++;
            EXPECT_OK(stage_succeed(&s, ids[i], NULL), &s.err);
        }
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(counts[0], 2);
    EXPECT_INT(counts[1], 6);
    EXPECT_INT(counts[2], 2);
    EXPECT_INT(s.run.jobs[1].state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(cycles_that_end_with_the_same_step_go_round_the_inner_one_first, "proves: F-027")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]],\"loops\":["
          "{\"head\":0,\"tail\":1,\"max_iterations\":2,\"on_max\":\"continue\",\"when\":\"yes\"},"
          "{\"head\":1,\"tail\":1,\"max_iterations\":3,\"on_max\":\"continue\",\"when\":\"yes\"}]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    uint32_t counts[2] = { 0 };
    for (int guard = 0; guard < 50 && s.run.state == RUN_RUNNING; guard++) {
        bool is_first = s.run.steps[0].state == STEP_RUNNING;
        counts[!is_first]++;
        EXPECT_OK(stage_succeed(&s, is_first ? "a" : "b", NULL), &s.err);
    }
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    EXPECT_INT(counts[0], 2);
    EXPECT_INT(counts[1], 6);
    stage_close(&s);
}

TEST(a_sequence_ends_with_the_run_that_is_cancelled, "proves: C-09")
{
    STAGE(s, TREE("", "is p"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_OK(stage_kind(&s, COMMAND_CANCEL), &s.err);
    EXPECT_OK(stage_fail(&s, "a", CAUSE_CANCELLED), &s.err);
    EXPECT_INT(s.run.state, RUN_CANCELLED);
    EXPECT_INT(stage_state(&s, "s"), STEP_CANCELLED);
    EXPECT_INT(stage_state(&s, "b"), STEP_SKIPPED);
    stage_close(&s);
}

TEST(a_step_that_comes_after_the_money_is_gone_is_not_begun, "proves: C-44")
{
    STAGE(s, TREE_HEAD "\"config\":{\"cost_limit_micro\":10},\"failure_mode\":\"continue-independent\",\"steps\":[" TASK("a", "") "," TASK("b", "")
          "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    Command cost = { .kind = COMMAND_COST, .attempt = 1, .holder = holder_make(1, 1), .number = 10, .value = value_null() };
    EXPECT_OK(stage_do(&s, &cost), &s.err);
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "b"), STEP_FAILED);
    EXPECT_INT(stage_last(&s, EVENT_STEP_FAILED)->cause, CAUSE_BUDGET_EXCEEDED);
    stage_close(&s);
}
