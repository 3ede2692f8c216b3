/* In which order steps begin that are ready: by level, by how long they have waited, and then as they came. */
#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"

/* A low job and a high one are ready from the beginning; beside them a chain whose next link is ready when the last has ended.
 * One step works at a time. */
#define CHAIN_BESIDE(level) PLAN_HEAD "\"config\":{\"max_concurrency\":1},\"jobs\":[" \
    "{\"id\":\"a\",\"priority\":\"" level "\"},{\"id\":\"b\",\"priority\":\"" level "\"}," \
    "{\"id\":\"c\",\"priority\":\"" level "\"},{\"id\":\"low\",\"priority\":\"low\"}],\"steps\":[" \
    "{\"id\":\"a\",\"kind\":\"task\",\"job\":0},{\"id\":\"b\",\"kind\":\"task\",\"job\":1}," \
    "{\"id\":\"c\",\"kind\":\"task\",\"job\":2},{\"id\":\"low\",\"kind\":\"task\",\"job\":3}],\"edges\":[[0,1,\"order\"],[1,2,\"order\"]]}"

/* The steps in the order in which they began, when each takes `step_ms`. */
static void order_of(const char *plan, int64_t step_ms, char out[64])
{
    out[0] = '\0';
    STAGE(s, plan);
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    for (uint32_t n = 0; n < s.plan.step_count; n++) {
        uint32_t step = 0;
        while (step < s.plan.step_count && s.run.steps[step].state != STEP_RUNNING) step++;
        REQUIRE(step < s.plan.step_count);
        Buf buf = buf_on(out + strlen(out), 64 - strlen(out));
        buf_format(&buf, "%.*s ", STR_ARG(s.plan.steps[step].id));
        buf_char(&buf, '\0');
        stage_wait(&s, step_ms);
        char name[16];
        Buf text = buf_on(name, sizeof name);
        buf_str(&text, s.plan.steps[step].id);
        buf_char(&text, '\0');
        EXPECT_OK(stage_succeed(&s, name, NULL), &s.err);
    }
    EXPECT_INT(s.run.state, RUN_SUCCEEDED);
    stage_close(&s);
}

TEST(a_step_that_has_waited_long_counts_as_one_level_higher_but_never_as_critical, "proves: G-16 F-021")
{
    static const struct { const char *name, *plan; int64_t step_ms; const char *want; } rows[] = {
        { "by level while nobody has waited long", CHAIN_BESIDE("normal"), 1000, "a b c low " },
        { "just not long enough", CHAIN_BESIDE("normal"), PRIORITY_AGE_MS / 2 - 1000, "a b c low " },
        { "low counts as normal, and has waited longer", CHAIN_BESIDE("normal"), PRIORITY_AGE_MS, "a low b c " },
        { "after two steps", CHAIN_BESIDE("normal"), PRIORITY_AGE_MS / 2, "a b low c " },
        { "low counts as normal, not as high", CHAIN_BESIDE("high"), PRIORITY_AGE_MS * 10, "a b c low " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[64];
        ROW(rows[i].name);
        order_of(rows[i].plan, rows[i].step_ms, got);
        EXPECT_STR(str_of(got), str_of(rows[i].want));
    }
    char got[64];
    ROW("high never counts as critical");
    order_of(PLAN_HEAD "\"config\":{\"max_concurrency\":1},\"jobs\":[{\"id\":\"a\",\"priority\":\"critical\"},"
             "{\"id\":\"b\",\"priority\":\"critical\"},{\"id\":\"h\",\"priority\":\"high\"}],\"steps\":["
             "{\"id\":\"a\",\"kind\":\"task\",\"job\":0},{\"id\":\"b\",\"kind\":\"task\",\"job\":1},"
             "{\"id\":\"h\",\"kind\":\"task\",\"job\":2}],\"edges\":[[0,1,\"order\"]]}", PRIORITY_AGE_MS * 10, got);
    EXPECT_STR(str_of(got), STR("a b h "));
}

TEST(how_long_a_step_has_been_ready_survives_a_restart, "proves: G-16")
{
    STAGE(s, CHAIN_BESIDE("normal"));
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    stage_wait(&s, PRIORITY_AGE_MS);
    Buf bytes;
    Run again;
    buf_init(&bytes, SIZE_MAX);
    run_encode(&s.run, &bytes);
    run_init(&again, &s.plan, &s.run.id, s.run.run_no);
    REQUIRE_OK(run_decode(&again, &s.plan, buf_peek(&bytes), &s.err), &s.err);
    run_deinit(&s.run);
    s.run = again;
    EXPECT_OK(stage_succeed(&s, "a", NULL), &s.err);
    EXPECT_INT(stage_state(&s, "low"), STEP_RUNNING);
    buf_deinit(&bytes);
    stage_close(&s);
}

/* --- the parts of a decision ------------------------------------------------------------------------------------------------ */

typedef struct Seen { uint32_t count, step; } Seen;

static void see(void *context, const Effect *effect)
{
    Seen *seen = context;
    seen->count++;
    seen->step = effect->step;
}

/* Three parts with a task each, none of which does the work of another: the finaliser records the end, the advancer says what
 * comes next, and what is to be dispatched follows from the state that they leave. */
TEST(ending_a_step_deciding_what_follows_and_dispatching_are_three_parts, "proves: A-278")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    DecideEnv env = stage_world(&s);
    Decision ended, next;
    EventPlace place = { s.now, s.position + 1 };
    Command report = { .kind = COMMAND_REPORT, .step = 0, .attempt = 1, .holder = run_active(&s.run, 0)->holder,
                       .value = value_null(), .report.output = value_null() };
    decision_init(&ended, &s.arena);
    REQUIRE_OK(decide(&env, &s.plan, &s.run, &report, s.now, &ended, &s.err), &s.err);
    EXPECT_INT(ended.event_count, 1);                               /* the end of the step, and nothing of what follows */
    EXPECT_INT(ended.events[0].kind, EVENT_STEP_SUCCEEDED);
    EXPECT_INT(ended.events[0].step, 0);
    run_apply(&s.run, &s.plan, &ended.events[0], &place);
    EXPECT_INT(stage_state(&s, "b"), STEP_QUEUED);
    Seen seen = { 0, 0 };
    pending(&s.plan, &s.run, see, &seen);
    EXPECT_INT(seen.count, 0);                                      /* nobody has decided on b yet: nothing to dispatch */
    decision_init(&next, &s.arena);
    bool is_dispatched = false;
    for (uint32_t done = 0; advance(&env, &s.plan, &s.run, s.now, 1024, &next) == ADVANCE_EVENTS;)
        for (; done < next.event_count; done++) {
            EXPECT(next.events[done].step == 1);                    /* the advancer speaks of the next one alone */
            is_dispatched |= next.events[done].kind == EVENT_STEP_DISPATCHED;
            run_apply(&s.run, &s.plan, &next.events[done], &place);
        }
    EXPECT(is_dispatched);
    pending(&s.plan, &s.run, see, &seen);
    EXPECT_INT(seen.count, 1);
    EXPECT_INT(seen.step, 1);
    stage_close(&s);
}

TEST(step_runs_have_these_states_and_these_ways_between_them, "proves: A-238 A-239")
{
    /* By stored names, and the states between them that are read as PENDING or RUNNING passed through. */
    static const char *const states[] = { "PENDING", "RUNNING", "SUCCEEDED", "POLLING", "FAILED", "TIMED_OUT", "SKIPPED",
                                          "SUPERSEDED" };
    static const struct { StepState way[4]; } ways[] = {
        { { STEP_QUEUED, STEP_DISPATCHED, STEP_RUNNING } }, { { STEP_QUEUED, STEP_SKIPPED } },
        { { STEP_QUEUED, STEP_SUPERSEDED } },               { { STEP_RUNNING, STEP_SUCCEEDED } },
        { { STEP_RUNNING, STEP_POLLING } },                 { { STEP_RUNNING, STEP_FAILED } },
        { { STEP_POLLING, STEP_RUNNING, STEP_POLLING } },   { { STEP_POLLING, STEP_SUCCEEDED } },
        { { STEP_POLLING, STEP_FAILED } },                  { { STEP_POLLING, STEP_TIMED_OUT } },
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int found = 0;
        ROW(states[i]);
        for (int state = 0; state < STEP_STATE_COUNT; state++)
            found += strcmp(step_state_stored((StepState)state), states[i]) == 0;
        EXPECT_INT(found, 1);
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int k = 0; k < 3 && ways[i].way[k + 1] != STEP_QUEUED; k++) {
            ROW(step_state_name(ways[i].way[k]));
            EXPECT(step_can(ways[i].way[k], ways[i].way[k + 1]));
        }
    for (int state = 0; state < STEP_STATE_COUNT; state++) {
        EXPECT(!step_can(STEP_SUPERSEDED, (StepState)state));
        EXPECT(!step_can(STEP_SUCCEEDED, (StepState)state) || state == STEP_SUPERSEDED);
    }
    EXPECT(!step_can(STEP_QUEUED, STEP_SUCCEEDED));
    EXPECT(!step_can(STEP_QUEUED, STEP_POLLING));
}
