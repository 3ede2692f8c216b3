#include "ledger/replay.h"

#include <string.h>

#include "core/command.h"
#include "harness/test.h"
#include "ledger/fixture_test.h"
#include "ledger/provenance.h"
#include "value/json.h"

/* --- a run of two steps, with a signal between them --------------------------------------------------------------------- */

static const char plan_text[] =
    "{\"format\":1,\"kind\":\"workflow\",\"id\":\"nightly\",\"tenant\":\"acme\",\"jobs\":["
    "{\"id\":\"build\",\"priority\":\"normal\"},{\"id\":\"ship\",\"priority\":\"normal\"}],"
    "\"steps\":[{\"id\":\"build.make\",\"kind\":\"task\",\"job\":0,\"run\":\"noop\",\"strategy\":\"replay-safe\"},"
    "{\"id\":\"ship.send\",\"kind\":\"task\",\"job\":1,\"run\":\"noop\",\"strategy\":\"replay-safe\"}],\"edges\":[[0,1,\"data\"]]}";

typedef struct Story {
    Arena arena;
    Plan plan;
    Fixture fixture;
    Id id;
} Story;

static void story_make(Story *story)
{
    Value document;
    Error err;
    const Str params = STR("{\"params\":{}}"), output = STR("{\"n\":1}");
    memset(story, 0, sizeof *story);
    arena_init(&story->arena, SIZE_MAX);
    REQUIRE_OK(json_parse(&story->arena, str_of(plan_text), &document, &err), &err);
    REQUIRE_OK(plan_read(&story->arena, document, &story->plan, &err), &err);
    fixture_init(&story->fixture);
    memcpy(story->id.text, story->fixture.runs[1].run_id.ptr, ID_SIZE);
    const Event first[] = {
        { .kind = EVENT_RUN_CREATED, .tenant = STR("acme"), .name = STR("nightly"), .digest = &story->plan.digest, .seed = 7,
          .priority = 1, .source = STR("signal:go") },
        { .kind = EVENT_RUN_DISPATCHED }, { .kind = EVENT_RUN_RUNNING },
        { .kind = EVENT_STEP_READY, .step = 0, .last = 0 },
        { .kind = EVENT_STEP_DISPATCHED, .step = 0, .number = 1, .attempt = 1, .name = STR("local"),
          .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_JOB_MOVED, .job = 0, .state = RUN_DISPATCHED },
        { .kind = EVENT_STEP_RUNNING, .step = 0, .holder = 65537 },
        { .kind = EVENT_JOB_MOVED, .job = 0, .state = RUN_RUNNING },
    };
    const Event second[] = { { .kind = EVENT_SIGNAL_RECEIVED, .name = STR("go"), .sort = SIGNAL_APPROVAL, .count = 1,
                               .step = STEP_NONE, .payload = EVENT_NO_PAYLOAD },
                             { .kind = EVENT_SIGNAL_CONSUMED, .step = 0, .count = 1 } };
    const Event third[] = {
        { .kind = EVENT_STEP_SUCCEEDED, .step = 0 },
        { .kind = EVENT_JOB_MOVED, .job = 0, .state = RUN_SUCCEEDED },
        { .kind = EVENT_STEP_READY, .step = 1, .last = 1 },
        { .kind = EVENT_STEP_DISPATCHED, .step = 1, .number = 2, .attempt = 1, .name = STR("local"),
          .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_STEP_RUNNING, .step = 1, .holder = 65537 },
        { .kind = EVENT_STEP_FAILED, .step = 1, .number = 2, .cause = CAUSE_TIMEOUT, .class_ = CLASS_TRANSIENT,
          .text = STR("too slow"), .payload = EVENT_NO_PAYLOAD },
    };
    fixture_add(&story->fixture, 1, first, 8, &params, 1);
    fixture_add(&story->fixture, 1, second, 2, NULL, 0);
    fixture_add(&story->fixture, 1, third, 6, &output, 1);
}

static void story_end(Story *story)
{
    fixture_deinit(&story->fixture);
    arena_deinit(&story->arena);
}

static Status replay_all(const Story *story, Replay *replay, uint64_t event_max, Error *err)
{
    replay_init(replay, &story->plan, &story->id, 1, event_max);
    for (uint32_t i = 0; i < story->fixture.row_count; i++) {
        Status status = replay_row(replay, &story->fixture.rows[i], err);
        if (status) return status;
    }
    return OK;
}

/* --- replay ---------------------------------------------------------------------------------------------------------------- */

TEST(a_run_is_made_again_up_to_any_event, "proves: F-005 F-206")
{
    static const struct { uint64_t at; RunState run; StepState first, second; } cases[] = {
        { 1, RUN_QUEUED, STEP_QUEUED, STEP_QUEUED },        { 3, RUN_RUNNING, STEP_QUEUED, STEP_QUEUED },
        { 5, RUN_RUNNING, STEP_DISPATCHED, STEP_QUEUED },   { 7, RUN_RUNNING, STEP_RUNNING, STEP_QUEUED },
        { 11, RUN_RUNNING, STEP_SUCCEEDED, STEP_QUEUED },   { 15, RUN_RUNNING, STEP_SUCCEEDED, STEP_RUNNING },
        { 16, RUN_RUNNING, STEP_SUCCEEDED, STEP_FAILED },   { REPLAY_ALL, RUN_RUNNING, STEP_SUCCEEDED, STEP_FAILED },
    };
    Story story;
    story_make(&story);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Replay replay;
        Error err;
        EXPECT_OK(replay_all(&story, &replay, cases[i].at, &err), &err);
        EXPECT_INT(replay.run.event_count, cases[i].at == REPLAY_ALL ? 16 : cases[i].at);
        EXPECT_INT(replay.run.state, cases[i].run);
        EXPECT_INT(replay.run.steps[0].state, cases[i].first);
        EXPECT_INT(replay.run.steps[1].state, cases[i].second);
        replay_deinit(&replay);
    }
    story_end(&story);
}

TEST(a_stored_state_is_verified_against_the_events, "proves: F-005")
{
    Story story;
    Replay replay, earlier;
    Error err;
    Buf bytes;
    story_make(&story);
    REQUIRE_OK(replay_all(&story, &replay, REPLAY_ALL, &err), &err);
    REQUIRE_OK(replay_all(&story, &earlier, 12, &err), &err);
    buf_init(&bytes, SIZE_MAX);
    run_encode(&replay.run, &bytes);
    EXPECT_OK(replay_verify(&replay, buf_peek(&bytes), &err), &err);
    EXPECT_INT(replay_verify(&earlier, buf_peek(&bytes), &err), ERR_CORRUPT);
    EXPECT_STR(str_of(err.text),
               STR("the stored state is not what the events make (stored -> made): run: cause timeout -> none"));
    EXPECT_INT(replay_verify(&replay, STR("no state"), &err), ERR_CORRUPT);
    buf_deinit(&bytes);
    replay_deinit(&replay);
    replay_deinit(&earlier);
    story_end(&story);
}

TEST(a_run_is_made_again_from_its_snapshot_on, "proves: F-005")
{
    Story story;
    Replay whole, early, behind;
    Error err;
    Buf bytes, lines;
    story_make(&story);
    REQUIRE_OK(replay_all(&story, &whole, REPLAY_ALL, &err), &err);
    REQUIRE_OK(replay_all(&story, &early, 10, &err), &err);
    buf_init(&bytes, SIZE_MAX);
    buf_init(&lines, SIZE_MAX);
    run_encode(&early.run, &bytes);                             /* behind the second record */
    replay_init(&behind, &story.plan, &story.id, 1, REPLAY_ALL);
    REQUIRE_OK(replay_from(&behind, buf_peek(&bytes), &story.fixture.rows[1], &err), &err);
    EXPECT_INT(replay_row(&behind, &story.fixture.rows[1], &err), ERR_CORRUPT);        /* it is in the snapshot already */
    EXPECT_OK(replay_row(&behind, &story.fixture.rows[2], &err), &err);
    run_diff(&story.plan, &whole.run, &behind.run, &lines);
    EXPECT_STR(buf_peek(&lines), STR(""));
    replay_deinit(&behind);
    replay_init(&behind, &story.plan, &story.id, 1, REPLAY_ALL);
    EXPECT_INT(replay_from(&behind, buf_peek(&bytes), &story.fixture.rows[0], &err), ERR_CORRUPT);
    EXPECT_INT(replay_from(&behind, STR("no state"), &story.fixture.rows[1], &err), ERR_CORRUPT);
    replay_deinit(&behind);
    replay_deinit(&early);
    replay_deinit(&whole);
    buf_deinit(&bytes);
    buf_deinit(&lines);
    story_end(&story);
}

TEST(records_that_were_changed_are_not_folded, "proves: F-005")
{
    Story story;
    Replay replay;
    Error err;
    story_make(&story);
    for (uint32_t row = 0; row < story.fixture.row_count; row++) {
        for (size_t at = 0; at < story.fixture.rows[row].record.len; at++) {
            char *byte = (char *)story.fixture.rows[row].record.ptr + at;
            *byte = (char)(*byte ^ (1 << at % 8));
            EXPECT(replay_all(&story, &replay, REPLAY_ALL, &err) != OK);
            replay_deinit(&replay);
            *byte = (char)(*byte ^ (1 << at % 8));
        }
    }
    LedgerRow first = story.fixture.rows[0];
    story.fixture.rows[0] = story.fixture.rows[1];
    EXPECT_INT(replay_all(&story, &replay, REPLAY_ALL, &err), ERR_CORRUPT);
    replay_deinit(&replay);
    story.fixture.rows[0] = first;
    Plan other = story.plan;
    other.digest.bytes[0] ^= 1;
    replay_init(&replay, &other, &story.id, 1, REPLAY_ALL);
    EXPECT_INT(replay_row(&replay, &first, &err), ERR_CONFLICT);
    replay_deinit(&replay);
    story_end(&story);
}

TEST(events_that_name_what_the_plan_does_not_have_are_refused, "")
{
    static const Event events[] = {
        { .kind = EVENT_STEP_RUNNING, .step = 2, .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_STEP_READY, .step = 0, .last = 5, .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_JOB_MOVED, .job = 2, .state = RUN_RUNNING, .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_RUN_CREATED, .payload = EVENT_NO_PAYLOAD },
    };
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++) {
        Story story;
        Replay replay;
        Error err;
        story_make(&story);
        fixture_add(&story.fixture, 1, &events[i], 1, NULL, 0);
        EXPECT_INT(replay_all(&story, &replay, REPLAY_ALL, &err), ERR_CORRUPT);
        replay_deinit(&replay);
        story_end(&story);
    }
}

TEST(two_states_differ_in_lines_that_people_read, "proves: F-134")
{
    Story story;
    Replay before, after;
    Error err;
    Buf lines;
    story_make(&story);
    REQUIRE_OK(replay_all(&story, &before, 8, &err), &err);
    REQUIRE_OK(replay_all(&story, &after, REPLAY_ALL, &err), &err);
    buf_init(&lines, SIZE_MAX);
    run_diff(&story.plan, &before.run, &before.run, &lines);
    EXPECT_INT(lines.len, 0);
    run_diff(&story.plan, &before.run, &after.run, &lines);
    buf_char(&lines, '\0');
    static const char *const wanted[] = {
        "run: cause none -> timeout\n", "run: failed step none -> ship.send\n", "run: events 8 -> 16\n", "run: signals 0 -> 1\n",
        "run: failure \"\" -> \"too slow\"\n", "job build: state running -> succeeded\n",
        "step build.make: state running -> succeeded\n", "step build.make: output none -> record 3\n",
        "step ship.send: state queued -> failed\n", "step build.make: holder 65537 -> 0\n",
    };
    for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ROW(wanted[i]);
        EXPECT(strstr(lines.ptr, wanted[i]) != NULL);
    }
    buf_deinit(&lines);
    replay_deinit(&before);
    replay_deinit(&after);
    story_end(&story);
}

/* --- provenance ------------------------------------------------------------------------------------------------------------ */

static bool has_node(Value graph, const char *id)
{
    const Value *nodes = value_get_text(graph, "nodes");
    for (uint32_t i = 0; i < nodes->count; i++)
        if (str_is_text(value_get_string(nodes->items[i], "id", STR("")), id)) return true;
    return false;
}

TEST(provenance_is_asked_in_both_directions, "proves: F-207")
{
    Story story;
    Replay replay;
    Error err;
    Value graph, part;
    story_make(&story);
    REQUIRE_OK(replay_all(&story, &replay, REPLAY_ALL, &err), &err);
    graph = provenance_graph(&story.arena, &story.plan, &replay.run);
    static const char *const all[] = { "task:build.make", "task:ship.send", "job:build", "job:ship", "run:Abcdefgh-0123456789_1",
                                       "trigger:signal:go", "signal:1" };
    EXPECT_INT(value_get_text(graph, "nodes")->count, 7);
    for (uint32_t i = 0; i < 7; i++) EXPECT(has_node(graph, all[i]));

    ROW("why did the last task run");
    REQUIRE_OK(provenance_trace(&story.arena, graph, STR("task:ship.send"), PROVENANCE_CAUSES, &part, &err), &err);
    EXPECT_INT(value_get_text(part, "nodes")->count, 7);
    ROW("what came of the signal");
    REQUIRE_OK(provenance_trace(&story.arena, graph, STR("signal:1"), PROVENANCE_EFFECTS, &part, &err), &err);
    EXPECT_INT(value_get_text(part, "nodes")->count, 7);
    ROW("why did the first task run");
    REQUIRE_OK(provenance_trace(&story.arena, graph, STR("task:build.make"), PROVENANCE_CAUSES, &part, &err), &err);
    EXPECT(!has_node(part, "task:ship.send"));
    EXPECT(has_node(part, "signal:1"));
    EXPECT(has_node(part, "trigger:signal:go"));
    ROW("what came of the last task");
    REQUIRE_OK(provenance_trace(&story.arena, graph, STR("task:ship.send"), PROVENANCE_EFFECTS, &part, &err), &err);
    EXPECT_INT(value_get_text(part, "nodes")->count, 1);
    EXPECT_INT(value_get_text(part, "edges")->count, 0);
    ROW("what is not there");
    EXPECT_INT(provenance_trace(&story.arena, graph, STR("task:none"), PROVENANCE_CAUSES, &part, &err), ERR_NOT_FOUND);
    replay_deinit(&replay);
    story_end(&story);
}

TEST(what_has_not_happened_has_no_provenance, "proves: F-207")
{
    Story story;
    Replay replay;
    Error err;
    story_make(&story);
    REQUIRE_OK(replay_all(&story, &replay, 8, &err), &err);
    Value graph = provenance_graph(&story.arena, &story.plan, &replay.run);
    EXPECT(has_node(graph, "task:build.make"));
    EXPECT(!has_node(graph, "task:ship.send"));
    EXPECT(!has_node(graph, "signal:1"));
    replay_deinit(&replay);
    story_end(&story);
}
