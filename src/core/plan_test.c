#include "core/plan.h"

#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

static Status read_plan(Arena *arena, const char *json, Plan *out, Error *err)
{
    Value document;
    Status status = json_parse(arena, str_of(json), &document, err);
    return status ? status : plan_read(arena, document, out, err);
}

#define STEP(id) "{\"id\":\"" id "\",\"kind\":\"artifact\"}"

TEST(a_plan_reads_its_steps_jobs_and_edges, "proves: K-025 K-026")
{
    Arena arena;
    Plan plan;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(
        read_plan(
            &arena,
            "{\"format\":1,\"kind\":\"workflow\",\"id\":\"w\",\"tenant\":\"t\",\"jobs\":[{\"id\":\"j\",\"priority\":\"high\"}],"
            "\"steps\":[{\"id\":\"j.a\",\"kind\":\"task\",\"job\":0,\"run\":\"noop\",\"strategy\":\"replay-safe\"},"
            "{\"id\":\"j.b\",\"name\":\"b\",\"kind\":\"branch\",\"job\":0}],\"edges\":[[0,1,\"branch\",\"k\"]],"
            "\"loops\":[{\"head\":0,\"tail\":1,\"max_iterations\":3}]}",
            &plan, &err),
        &err);
    EXPECT_INT(plan.step_count, 2);
    EXPECT_STR(plan.steps[0].id, STR("j.a"));
    EXPECT_STR(plan.steps[0].runner, STR("noop"));
    EXPECT_INT(plan.steps[0].strategy, STRATEGY_REPLAY_SAFE);
    EXPECT_INT(plan.steps[0].priority, PRIORITY_HIGH);
    EXPECT_INT(plan.steps[0].edge_count, 1);
    EXPECT_INT(plan.steps[1].need_count, 1);
    EXPECT_STR(plan.edges[0].key, STR("k"));
    EXPECT_INT(plan.jobs[0].step_count, 2);
    EXPECT_INT(plan.loops[0].iteration_count_max, 3);
    arena_deinit(&arena);
}

TEST(a_damaged_plan_is_refused, "")
{
    static const struct {
        const char *name, *json, *says;
    } rows[] = {
        { "another format", "{\"format\":9}", "format 9" },
        { "no kind", "{\"format\":1}", "no kind" },
        { "two steps of one id", "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "," STEP("a") "]}",
          "two steps of one id" },
        { "an edge to no step",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "],\"edges\":[[0,1,\"data\"]]}",
          "an edge to no step" },
        { "a negative index",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "],\"edges\":[[-1,0,\"data\"]]}",
          "an edge to no step" },
        { "an edge of no kind",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[[0,1,\"x\"]]}",
          "no kind" },
        { "a cycle",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "," STEP(
              "b") "],\"edges\":[[0,1,\"data\"],[1,0,\"data\"]]}",
          "cycle" },
        { "edges out of order",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "," STEP("b") "," STEP(
              "c") "],\"edges\":[[1,2,\"data\"],[0,1,\"data\"]]}",
          "out of order" },
        { "a step of no job",
          "{\"format\":1,\"kind\":\"workflow\",\"steps\":[{\"id\":\"a\",\"kind\":\"task\",\"job\":3}]}", "no job" },
        { "a job whose steps do not follow one another",
          "{\"format\":1,\"kind\":\"workflow\",\"jobs\":[{\"id\":\"j\",\"priority\":\"low\"}],\"steps\":["
          "{\"id\":\"a\",\"kind\":\"task\",\"job\":0},{\"id\":\"b\",\"kind\":\"task\",\"job\":0}]}",
          "do not follow one another" },
        { "steps that are no list", "{\"format\":1,\"kind\":\"runbook\",\"steps\":{}}", "PLAN_STEP_COUNT_MAX" },
        { "a loop without bound",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "],\"loops\":[{\"head\":0,\"tail\":0}]}",
          "without bound" },
        { "a loop whose tail does not follow its head",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("a") "," STEP("b") "],"
          "\"loops\":[{\"head\":0,\"tail\":1,\"max_iterations\":2}]}",
          "does not follow" },
        { "retries without bound",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[{\"id\":\"a\",\"kind\":\"task\",\"retries\":{\"attempts\":0}}]}",
          "retries without bound" },
        { "a condition that is no text",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[{\"id\":\"a\",\"kind\":\"task\",\"when\":1}]}", "no text" },
        { "a gate without signal",
          "{\"format\":1,\"kind\":\"runbook\",\"steps\":[{\"id\":\"a\",\"kind\":\"task\",\"wait_for_signal\":{}}]}",
          "without signal" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Plan plan;
        Error err;
        ROW(rows[i].name);
        arena_init(&arena, SIZE_MAX);
        EXPECT(read_plan(&arena, rows[i].json, &plan, &err) != OK);
        EXPECT(strstr(err.text, rows[i].says) != NULL);
        arena_deinit(&arena);
    }
}

TEST(a_plan_can_be_ordered_again_and_again, "proves: K-028 C-73")
{
    Arena arena;
    Plan plan;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(
        read_plan(&arena,
                  "{\"format\":1,\"kind\":\"runbook\",\"steps\":[" STEP("d") "," STEP("a") "," STEP("c") "," STEP(
                      "b") "],"
                           "\"edges\":[[1,2,\"data\"],[1,3,\"data\"],[2,0,\"data\"],[3,0,\"data\"]]}",
                  &plan, &err),
        &err);
    static const uint32_t want[] = { 1, 2, 3, 0 };
    for (unsigned round = 0; round < 2; round++) {
        uint32_t order[4];
        plan_order(&plan, &arena, order);
        EXPECT(memcmp(order, want, sizeof want) == 0);
    }
    arena_deinit(&arena);
}
