#include "core/placement.h"

#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/test.h"
#include "value/json.h"

static Arena arena;

static Value parsed(const char *text)
{
    Value value = value_null();
    Error err;
    EXPECT_OK(json_parse(&arena, str_of(text), &value, &err), &err);
    return value;
}

static Site site(const char *region, const char *capabilities, int64_t cost_micro)
{
    return (Site){ .region = str_of(region), .capabilities = capabilities ? parsed(capabilities) : value_null(), .tenants = value_null(),
                   .cost_micro = cost_micro };
}

static Str printed(const Candidate *candidates, uint32_t count, uint32_t chosen)
{
    static char storage[PLACEMENT_TEXT_SIZE_MAX];
    Buf text = buf_on(storage, sizeof storage);
    placement_print(&text, candidates, count, chosen);
    return buf_peek(&text);
}

TEST(an_executor_has_to_meet_every_constraint_of_workflow_and_job, "proves: F-025")
{
    static const struct {
        const char *name, *workflow, *job, *bound, *region;
        const char *cloud, *capabilities, *tenants;
        bool is_dedicated;
        PlacementReason want;
    } rows[] = {
        { "nothing is asked", NULL, NULL, NULL, "", "", NULL, NULL, false, PLACEMENT_FITS },
        { "the region is one of those", "{\"regions\":[\"eu-west\",\"eu-central\"]}", NULL, NULL, "eu-central", "",
          NULL, NULL, false, PLACEMENT_FITS },
        { "the region is none of those", "{\"regions\":[\"eu-west\"]}", NULL, NULL, "us-east", "", NULL, NULL, false, PLACEMENT_REGION },
        { "the region is not told", "{\"regions\":[\"eu-west\"]}", NULL, NULL, "", "", NULL, NULL, false, PLACEMENT_REGION },
        { "the job narrows the workflow", "{\"regions\":[\"eu-west\",\"eu-central\"]}", "{\"regions\":[\"eu-west\"]}",
          NULL, "eu-central", "", NULL, NULL, false, PLACEMENT_REGION },
        { "the job does not widen it", "{\"regions\":[\"eu-west\"]}", "{\"regions\":[\"us-east\"]}", NULL, "us-east",
          "", NULL, NULL, false, PLACEMENT_REGION },
        { "the cloud", "{\"clouds\":[\"a\"]}", NULL, NULL, "", "b", NULL, NULL, false, PLACEMENT_CLOUD },
        { "its cloud", "{\"clouds\":[\"a\"]}", NULL, NULL, "", "a", NULL, NULL, false, PLACEMENT_FITS },
        { "shared where dedicated is asked", "{\"tenancy\":\"dedicated\"}", NULL, NULL, "", "", NULL, NULL, false, PLACEMENT_TENANCY },
        { "dedicated", "{\"tenancy\":\"dedicated\"}", NULL, NULL, "", "", NULL, NULL, true, PLACEMENT_FITS },
        { "a capability is missing", "{\"requires\":[\"docker\",\"gpu\"]}", NULL, NULL, "", "", "[\"docker\"]", NULL, false, PLACEMENT_CAPABILITY },
        { "all capabilities", "{\"requires\":[\"docker\"]}", "{\"requires\":[\"gpu\"]}", NULL, "", "",
          "[\"gpu\",\"docker\"]", NULL, false, PLACEMENT_FITS },
        { "data stays within", "{\"data_sovereignty\":[\"eu\"]}", NULL, NULL, "eu-west", "", NULL, NULL, false, PLACEMENT_FITS },
        { "data leaves", "{\"data_sovereignty\":[\"eu\"]}", NULL, NULL, "us-east", "", NULL, NULL, false, PLACEMENT_SOVEREIGNTY },
        { "a name that only begins alike", "{\"data_sovereignty\":[\"eu\"]}", NULL, NULL, "europa", "", NULL, NULL, false, PLACEMENT_SOVEREIGNTY },
        { "its own tenant", NULL, NULL, NULL, "", "", NULL, "[\"acme\"]", false, PLACEMENT_FITS },
        { "somebody else's", NULL, NULL, NULL, "", "", NULL, "[\"other\"]", false, PLACEMENT_TENANT },
        { "bound elsewhere than defined", "{\"regions\":[\"eu-west\"]}", "{\"regions\":[\"eu-west\"]}",
          "{\"regions\":[\"us-east\"]}", "us-east", "", NULL, NULL, false, PLACEMENT_FITS },
        { "no longer where it was defined", "{\"regions\":[\"eu-west\"]}", NULL, "{\"regions\":[\"us-east\"]}",
          "eu-west", "", NULL, NULL, false, PLACEMENT_REGION },
        { "what is not bound stays as defined", "{\"requires\":[\"gpu\"]}", NULL, "{\"regions\":[\"us-east\"]}",
          "us-east", "", NULL, NULL, false, PLACEMENT_CAPABILITY },
        { "where data may be is not rebound", "{\"data_sovereignty\":[\"eu\"]}", NULL, "{\"regions\":[\"us-east\"]}",
          "us-east", "", NULL, NULL, false, PLACEMENT_SOVEREIGNTY },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Site place = site(rows[i].region, rows[i].capabilities, 0);
        place.cloud = str_of(rows[i].cloud);
        place.is_dedicated = rows[i].is_dedicated;
        if (rows[i].tenants) place.tenants = parsed(rows[i].tenants);
        PlacementTerms terms = { 0 };
        if (rows[i].workflow) terms.parts[terms.count++] = parsed(rows[i].workflow);
        if (rows[i].job) terms.parts[terms.count++] = parsed(rows[i].job);
        Candidate candidate = { .name = STR("it"), .site = &place };
        PlacementAsk ask = { .terms = &terms, .bound = rows[i].bound ? parsed(rows[i].bound) : value_null(), .tenant = STR("acme") };
        uint32_t chosen = placement_choose(&ask, &candidate, 1);
        EXPECT_INT(candidate.reason, rows[i].want);
        EXPECT_INT(chosen, rows[i].want == PLACEMENT_FITS ? 0 : PLACEMENT_NONE);
        EXPECT(placement_may_wait(&candidate, 1) == (rows[i].want == PLACEMENT_FITS));
    }
    arena_deinit(&arena);
}

TEST(the_best_score_over_capability_latency_and_cost_is_chosen, "proves: F-094 G-01")
{
    arena_init(&arena, SIZE_MAX);
    Site plain = site("a", NULL, 0), dear = site("b", NULL, 990000), rich = site("c", "[\"gpu\",\"ssd\",\"fpga\"]", 0);
    static const struct { const char *name; uint32_t latencies[3], taken[3], want; } rows[] = {
        { "of equals the one that costs less and has less to spare", { 0, 0, 0 }, { 0, 0, 0 }, 0 },
        { "who is slow loses", { 60000, 100, 100 }, { 0, 0, 0 }, 2 },
        { "who is nearly full loses to who has room", { 0, 0, 0 }, { 940, 0, 100 }, 2 },
    };
    const Site *sites[] = { &plain, &dear, &rich };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Candidate candidates[3];
        for (uint32_t c = 0; c < 3; c++)
            candidates[c] = (Candidate){ .name = sites[c]->region, .site = sites[c], .latency_ms = rows[i].latencies[c], .taken = rows[i].taken[c] };
        PlacementAsk ask = { .bound = value_null(), .tenant = STR("t") };
        uint32_t chosen = placement_choose(&ask, candidates, 3);
        EXPECT_INT(chosen, rows[i].want);
        Candidate again[3];
        for (uint32_t c = 0; c < 3; c++) again[c] = candidates[c], again[c].score = 0, again[c].what = (Str){ 0 };
        EXPECT_INT(placement_choose(&ask, again, 3), chosen);
        for (uint32_t c = 0; c < 3; c++) EXPECT_INT(again[c].score, candidates[c].score);
    }
    /* 1000 for the fit, the latency, the cost and the room each. */
    Candidate alone = { .name = STR("a"), .site = &plain };
    PlacementAsk ask = { .bound = value_null() };
    EXPECT_INT(placement_choose(&ask, &alone, 1), 0);
    EXPECT_INT(alone.score, 4000);
    /* A third of the fit for two capabilities beyond what is asked for; what it costs beside what the cheapest does. */
    PlacementTerms terms = { .parts = { parsed("{\"requires\":[\"gpu\"]}") }, .count = 1 };
    Site cheap = site("d", "[\"gpu\"]", 90000);
    Candidate two[] = { { .name = STR("c"), .site = &rich, .latency_ms = 9 }, { .name = STR("d"), .site = &cheap, .latency_ms = 4, .taken = 250 } };
    ask.terms = &terms;
    EXPECT_INT(placement_choose(&ask, two, 2), 1);
    EXPECT_INT(two[0].score, 333 + 500 + 1000 + 1000);
    EXPECT_INT(two[1].score, 1000 + 1000 + 100 + 750);
    EXPECT_STR(printed(two, 2, 1), STR("d 2850, c 2833"));
    arena_deinit(&arena);
}

TEST(an_unhealthy_executor_is_not_chosen, "proves: F-094")
{
    arena_init(&arena, SIZE_MAX);
    Site here = site("a", NULL, 0);
    static const PlacementReason reasons[] = { PLACEMENT_HELD, PLACEMENT_REFUSING, PLACEMENT_FULL };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        ROW(placement_reason_name(reasons[i]));
        Candidate candidates[] = { { .name = STR("best"), .site = &here, .reason = reasons[i], .is_home = true },
                                   { .name = STR("slow"), .site = &here, .latency_ms = 90000, .taken = 900 } };
        PlacementAsk ask = { .bound = value_null() };
        EXPECT_INT(placement_choose(&ask, candidates, 2), 1);
        EXPECT_INT(placement_choose(&ask, candidates, 1), PLACEMENT_NONE);
        EXPECT(placement_may_wait(candidates, 1));
    }
    arena_deinit(&arena);
}

TEST(who_failed_the_last_try_is_chosen_only_where_nobody_else_can_be, "proves: F-116")
{
    arena_init(&arena, SIZE_MAX);
    Site here = site("eu-west", NULL, 0), there = site("us-east", NULL, 0);
    PlacementAsk ask = { .bound = value_null() };
    Candidate candidates[] = { { .name = STR("west"), .site = &here, .is_last = true, .is_home = true },
                               { .name = STR("east"), .site = &there, .taken = 900, .latency_ms = 9000 } };
    EXPECT_INT(placement_choose(&ask, candidates, 2), 1);
    EXPECT_STR(printed(candidates, 2, 1), STR("east 2100; not west: the last try failed there; rerouted from west"));
    Candidate bound[] = { { .name = STR("west"), .site = &here, .is_last = true }, { .name = STR("east"), .site = &there } };
    PlacementTerms terms = { .parts = { parsed("{\"regions\":[\"eu-west\"]}") }, .count = 1 };
    ask.terms = &terms;
    EXPECT_INT(placement_choose(&ask, bound, 2), 0);
    EXPECT_STR(printed(bound, 2, 0), STR("west 4000; not east: region us-east"));
    arena_deinit(&arena);
}

TEST(a_job_stays_where_it_began_and_what_is_built_in_is_bound_by_nothing, "")
{
    arena_init(&arena, SIZE_MAX);
    Site here = site("eu-west", NULL, 5000000), there = site("eu-west", NULL, 0);
    PlacementAsk ask = { .bound = value_null() };
    Candidate candidates[] = { { .name = STR("dear"), .site = &here, .is_home = true, .taken = 800 }, { .name = STR("free"), .site = &there } };
    EXPECT_INT(placement_choose(&ask, candidates, 2), 0);
    PlacementTerms terms = { .parts = { parsed("{\"regions\":[\"us-east\"],\"requires\":[\"gpu\"]}") }, .count = 1 };
    Candidate built_in = { .name = STR("built-in") };
    ask.terms = &terms;
    EXPECT_INT(placement_choose(&ask, &built_in, 1), 0);
    arena_deinit(&arena);
}

TEST(what_a_person_binds_a_run_to_is_checked, "proves: F-133")
{
    arena_init(&arena, SIZE_MAX);
    static const struct { const char *text, *want; } rows[] = {
        { "{\"regions\":[\"eu-central\"],\"clouds\":[\"a\"],\"requires\":[\"gpu\"]}", NULL },
        { "{}", NULL },
        { "[]", "an object" },
        { "{\"region\":[\"eu\"]}", "no 'region'" },
        { "{\"data_sovereignty\":[\"eu\"]}", "no 'data_sovereignty'" },
        { "{\"regions\":\"eu\"}", "PLACEMENT_NAME_COUNT_MAX (16)" },
        { "{\"regions\":[]}", "1 to" },
        { "{\"regions\":[1]}", "a text of 1 to NAME_SIZE_MAX" },
        { "{\"regions\":[\"\"]}", "a text of 1 to NAME_SIZE_MAX" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].text);
        Error err = { 0 };
        Status status = placement_check_bound(parsed(rows[i].text), &err);
        EXPECT_INT(status, rows[i].want ? ERR_INVALID : OK);
        if (rows[i].want) EXPECT(strstr(err.text, rows[i].want) != NULL);
    }
    arena_deinit(&arena);
}

/* --- in a run --------------------------------------------------------------------------------------------------------------- */

static Status rebind(Stage *stage, const char *text)
{
    Command command = { .kind = COMMAND_REBIND, .actor = STR("user:ana"), .rationale = STR("it is full there"), .value = value_null() };
    EXPECT_OK(json_parse(&stage->plan_arena, str_of(text), &command.value, &stage->err), &stage->err);
    return stage_do(stage, &command);
}

TEST(what_cannot_be_placed_says_so_once_for_each_binding, "proves: F-133")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", ",\"compensation\":{\"run\":\"noop\"}") "," TASK("b", "") "],\"edges\":[[0,1,\"order\"]]}");
    s.place = PLACE_DEFERRED;
    s.place_text = STR("nobody is there");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 1);
    EXPECT_OK(rebind(&s, "{\"regions\":[\"eu\"]}"), &s.err);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 2);
    EXPECT_STR(s.run.bound, STR("{\"regions\":[\"eu\"]}"));
    EXPECT_OK(rebind(&s, "{\"regions\":[\"eu\"]}"), &s.err);          /* the same again is nothing */
    EXPECT_INT(stage_count(&s, EVENT_RUN_REBOUND), 1);
    s.place = PLACE_HERE;
    s.place_text = STR("local 4000");
    stage_more(&s);
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(run_place(&s.run, 0), placement_mark(STR("local")));
    EXPECT_OK(rebind(&s, "{}"), &s.err);
    EXPECT_STR(s.run.bound, STR(""));
    EXPECT_OK(stage_succeed(&s, "a", "{}"), &s.err);
    EXPECT_OK(stage_fail(&s, "b", CAUSE_PERMANENT), &s.err);
    /* The same of what undoes a step. */
    s.place = PLACE_DEFERRED;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_COMPENSATE, .actor = STR("user:ana"), .value = value_null() }), &s.err);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 3);
    EXPECT_OK(rebind(&s, "{\"clouds\":[\"a\"]}"), &s.err);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DEFERRED), 4);
    s.place = PLACE_HERE;
    stage_more(&s);
    EXPECT_OK(stage_undo(&s, "a", CAUSE_NONE), &s.err);
    EXPECT_INT(s.run.state, RUN_COMPENSATED);
    EXPECT_INT(rebind(&s, "{}"), ERR_CONFLICT);
    stage_close(&s);
}

TEST(an_attempt_that_its_owner_lost_is_dispatched_anew_where_it_goes_elsewhere, "proves: F-071")
{
    STAGE(s, TREE_HEAD "\"steps\":[" TASK("a", "") "],\"edges\":[]}");
    s.place_text = STR("local 4000, other 3000");
    REQUIRE_OK(stage_start(&s, "{}"), &s.err);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 1);
    s.run.places[0] = s.fold.places[0] = placement_mark(STR("other"));          /* as if it had been placed there */
    s.epoch = 2;
    EXPECT_OK(stage_do(&s, &(Command){ .kind = COMMAND_RECOVER, .holder = holder_make(2, 0), .value = value_null() }), &s.err);
    stage_more(&s);
    EXPECT_INT(stage_count(&s, EVENT_STEP_DISPATCHED), 2);                      /* not only begun again: the record says where */
    EXPECT_INT(stage_state(&s, "a"), STEP_RUNNING);
    EXPECT_INT(run_place(&s.run, 0), placement_mark(STR("local")));
    stage_close(&s);
}
