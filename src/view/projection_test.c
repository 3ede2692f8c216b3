#include "view/projection.h"

#include "core/command.h"
#include "core/terms.h"
#include "harness/test.h"
#include "ledger/record.h"
#include "value/json.h"
#include "view/id_derive.h"

/* --- a run and its records ----------------------------------------------------------------------------------------- */

typedef struct Scene {
    Arena arena;
    Plan plan;
    Run run;
    Projection *projection;
    uint32_t begun_count, *step_numbers;
    uint64_t next_step_run_no, position;
    int64_t now_ms;
    const RowChange *changes;
    uint32_t change_count;
} Scene;

#define TASK(id) "{\"id\":\"" id "\",\"kind\":\"task\",\"name\":\"" id "\",\"run\":\"noop\"}"
#define PLAN(steps, edges, loops) \
    "{\"format\":1,\"kind\":\"workflow\",\"id\":\"orders\",\"tenant\":\"acme\",\"jobs\":[],\"steps\":[" steps "],\"edges\":[" \
    edges "],\"loops\":[" loops "],\"failure_resolution\":{\"strategy\":\"AUTO_RETRY\"}}"

static const char chain_plan[] = PLAN(TASK("a") "," TASK("b") "," TASK("c"), "[0,1,\"order\"],[1,2,\"order\"]", "");

static bool scene_begin(Scene *scene, const char *plan)
{
    *scene = (Scene){ .next_step_run_no = 100, .now_ms = 1000 };
    arena_init(&scene->arena, SIZE_MAX);
    Value document;
    Error err;
    if (!EXPECT_OK(json_parse(&scene->arena, str_of(plan), &document, &err), &err)) return false;
    if (!EXPECT_OK(plan_read(&scene->arena, document, &scene->plan, &err), &err)) return false;
    Id id = id_make((uint8_t[ID_SIZE]){ 1, 2, 3 });
    run_init(&scene->run, &scene->plan, &id, 7);
    scene->step_numbers = ARENA_ARRAY(&scene->arena, uint32_t, scene->plan.step_count);
    scene->projection = projection_make(&scene->arena);
    return true;
}

static void scene_end(Scene *scene)
{
    run_deinit(&scene->run);
    arena_deinit(&scene->arena);
}

static void record_with(Scene *scene, const Event *events, uint32_t count, const Payload *payloads, Str payload)
{
    RecordHead *head = ARENA_NEW(&scene->arena, RecordHead);
    BatchRecord *record = ARENA_NEW(&scene->arena, BatchRecord);
    *head = (RecordHead){ .now_ms = scene->now_ms, .position = ++scene->position };
    *record = (BatchRecord){ .position = scene->position, .run_no = 7, .first_event = scene->run.event_count + 1,
                             .event_count = count, .payload = payload };
    record->hash.bytes[0] = (uint8_t)scene->position;
    projection_replay(scene->projection, &(ProjectionInput){
        .plan = &scene->plan, .run = &scene->run, .head = head, .events = events, .event_count = count, .payloads = payloads,
        .record = record, .begun_count = &scene->begun_count, .step_numbers = scene->step_numbers,
        .next_step_run_no = &scene->next_step_run_no }, &scene->run);
}

#define RECORD(scene, ...) \
    record_with(scene, (const Event[]){ __VA_ARGS__ }, sizeof((const Event[]){ __VA_ARGS__ }) / sizeof(Event), NULL, (Str){ 0 })

/* Events, short. */
#define E(KIND, ...) { .kind = EVENT_##KIND, .payload = EVENT_NO_PAYLOAD, ##__VA_ARGS__ }
#define CREATED E(RUN_CREATED, .tenant = STR_INIT("acme"), .name = STR_INIT("orders"), .revision = 3, .priority = PRIORITY_HIGH), \
    E(RUN_DISPATCHED), E(RUN_RUNNING)
#define READY(s) E(STEP_READY, .step = s, .last = s)
#define DISPATCHED(s, n, a) E(STEP_DISPATCHED, .step = s, .number = n, .attempt = a, .name = STR_INIT("local"))
#define RUNNING(s) E(STEP_RUNNING, .step = s, .holder = 5, .due_ms = 9000)
#define SUCCEEDED(s) E(STEP_SUCCEEDED, .step = s)

/* A new batch begins. */
static void next_batch(Scene *scene)
{
    scene->projection = projection_make(&scene->arena);
    scene->now_ms += 1000;
}

static const RowChange *row_of(Scene *scene, Table table, int64_t second_key)
{
    projection_finish(scene->projection, &scene->changes, &scene->change_count);
    const RowChange *found = NULL;
    for (uint32_t i = 0; i < scene->change_count; i++) {
        const RowChange *change = &scene->changes[i];
        if (change->table != table) continue;
        if (table_info(table)->key_count > 1 && change->cells[1].integer != second_key) continue;
        EXPECT(!found);                     /* one change for each row */
        found = change;
    }
    EXPECT(found != NULL);
    return found;
}

static const RowChange *step_of(Scene *scene, int64_t index) { return row_of(scene, TABLE_STEP_RUNS, index); }

static void expect_text(const RowChange *change, uint32_t column, const char *want)
{
    if (!change) return;
    bool is_given = change->mask & COLUMN_BIT(column);
    if (!EXPECT(is_given && change->cells[column].kind == CELL_TEXT)) return;
    EXPECT_STR(change->cells[column].text, str_of(want));
}

static void expect_int(const RowChange *change, uint32_t column, int64_t want)
{
    if (!change) return;
    bool is_given = change->mask & COLUMN_BIT(column);
    if (!EXPECT(is_given && change->cells[column].kind == CELL_INT)) return;
    EXPECT_INT(change->cells[column].integer, want);
}

static void expect_null(const RowChange *change, uint32_t column)
{
    if (change) EXPECT((change->mask & COLUMN_BIT(column)) && change->cells[column].kind == CELL_NULL);
}

static bool is_given(const RowChange *change, uint32_t column) { return change && change->mask & COLUMN_BIT(column); }

/* --- runs ---------------------------------------------------------------------------------------------------------- */

TEST(a_run_that_begins_is_one_new_row, "proves: A-281")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    const RowChange *run = row_of(&scene, TABLE_RUNS, 0);
    REQUIRE(run);
    EXPECT_INT(run->op, ROW_INSERT);
    EXPECT_INT(run->cells[RUNS_run_no].integer, 7);
    expect_text(run, RUNS_tenant, "acme");
    expect_text(run, RUNS_state, "RUNNING");
    expect_text(run, RUNS_priority, "high");
    expect_text(run, RUNS_current_step, "a");
    expect_text(run, RUNS_failure_resolution_strategy, "AUTO_RETRY");
    expect_int(run, RUNS_definition_version, 3);
    expect_int(run, RUNS_event_count, 6);
    expect_int(run, RUNS_created_ms, 1000);
    expect_int(run, RUNS_started_ms, 1000);
    EXPECT(!is_given(run, RUNS_idempotency_key));
    scene_end(&scene);
}

TEST(a_later_record_gives_only_what_it_changes, "proves: R-071")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    next_batch(&scene);
    RECORD(&scene, SUCCEEDED(0), READY(1), DISPATCHED(1, 2, 1), RUNNING(1));
    const RowChange *run = row_of(&scene, TABLE_RUNS, 0);
    REQUIRE(run);
    EXPECT_INT(run->op, ROW_UPDATE);
    EXPECT_INT(run->mask, COLUMN_BIT(RUNS_current_step) | COLUMN_BIT(RUNS_event_count) | COLUMN_BIT(RUNS_head)
                   | COLUMN_BIT(RUNS_last_position) | COLUMN_BIT(RUNS_updated_ms));
    expect_int(run, RUNS_last_position, 2);
    scene_end(&scene);
}

TEST(a_run_that_ends_is_completed_exactly_when_it_is_settled, "proves: R-043")
{
    static const struct { const char *name; Event event; const char *state; bool is_completed; } rows[] = {
        { "succeeded", E(RUN_SUCCEEDED), "SUCCEEDED", true },
        { "cancelled", E(RUN_CANCELLED), "CANCELLED", true },
        { "failed for good", E(RUN_FAILED, .step = 1, .cause = CAUSE_PERMANENT, .class_ = CLASS_PERMANENT,
                               .resolution = RESOLUTION_RESOLVED, .text = STR_INIT("broken")), "FAILED", true },
        { "failed, someone decides", E(RUN_FAILED, .step = STEP_NONE, .cause = CAUSE_PERMANENT, .class_ = CLASS_PERMANENT,
                                       .resolution = RESOLUTION_AWAITING_DECISION, .text = STR_INIT("broken")), "FAILED", true },
        { "failed, tried again", E(RUN_FAILED, .step = 1, .cause = CAUSE_TIMEOUT, .class_ = CLASS_TRANSIENT,
                                   .resolution = RESOLUTION_AUTO_RETRY_SCHEDULED, .text = STR_INIT("late")), "FAILED", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Scene scene;
        if (!scene_begin(&scene, chain_plan)) return;
        RECORD(&scene, CREATED);
        next_batch(&scene);
        record_with(&scene, &rows[i].event, 1, NULL, (Str){ 0 });
        const RowChange *run = row_of(&scene, TABLE_RUNS, 0);
        expect_text(run, RUNS_state, rows[i].state);
        EXPECT(is_given(run, RUNS_completed_ms) == rows[i].is_completed);
        if (rows[i].event.kind == EVENT_RUN_FAILED) {
            expect_text(run, RUNS_error_message, i == 4 ? "late" : "broken");
            expect_text(run, RUNS_error_class, i == 4 ? "transient" : "permanent");
            EXPECT(is_given(run, RUNS_failed_step_key) == (rows[i].event.step != STEP_NONE));
        }
        scene_end(&scene);
    }
}

/* --- steps --------------------------------------------------------------------------------------------------------- */

TEST(several_transitions_of_one_step_in_one_batch_are_one_row, "proves: R-045")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    scene.now_ms = 1500;
    RECORD(&scene, SUCCEEDED(0), READY(1), DISPATCHED(1, 2, 1), RUNNING(1));
    const RowChange *first = step_of(&scene, 0), *second = step_of(&scene, 1);
    REQUIRE(first && second);
    EXPECT_INT(first->op, ROW_INSERT);
    expect_text(first, STEP_RUNS_status, "SUCCEEDED");
    expect_text(first, STEP_RUNS_result, "COMPLETED");
    expect_text(first, STEP_RUNS_step_key, "a");
    expect_text(first, STEP_RUNS_step_type, "task");
    expect_int(first, STEP_RUNS_started_ms, 1000);
    expect_int(first, STEP_RUNS_finished_ms, 1500);
    expect_int(first, STEP_RUNS_step_run_no, 100);
    expect_int(second, STEP_RUNS_step_run_no, 101);
    expect_text(second, STEP_RUNS_status, "RUNNING");
    EXPECT_INT(scene.next_step_run_no, 102);
    EXPECT_INT(scene.change_count, 3);
    ROW("a row that exists is updated");
    next_batch(&scene);
    RECORD(&scene, SUCCEEDED(1));
    second = step_of(&scene, 1);
    REQUIRE(second);
    EXPECT_INT(second->op, ROW_UPDATE);
    EXPECT_INT(second->cells[STEP_RUNS_workflow_id].integer, 7);
    EXPECT(!is_given(second, STEP_RUNS_id));
    scene_end(&scene);
}

TEST(payloads_are_named_by_position_offset_and_size, "proves: R-049")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    const Payload payloads[] = { { .offset = 0, .size = 10 }, { .offset = 10, .size = 20 }, { .offset = 30, .size = 5 } };
    Event events[] = { CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0) };
    events[0].payload = 0;
    events[4].payload = 1;
    record_with(&scene, events, 6, payloads, (Str){ 0 });
    const RowChange *run = row_of(&scene, TABLE_RUNS, 0), *step = step_of(&scene, 0);
    expect_int(run, RUNS_params_at, 1);
    expect_int(run, RUNS_params_size, 10);
    expect_int(step, STEP_RUNS_input_at, 1);
    expect_int(step, STEP_RUNS_input_offset, 10);
    expect_int(step, STEP_RUNS_input_size, 20);
    next_batch(&scene);
    ROW("an output is kept back while its step waits");
    Event waits = E(STEP_WAITING, .step = 0, .name = STR_INIT("go"), .due_ms = 77);
    waits.payload = 2;
    record_with(&scene, &waits, 1, payloads, (Str){ 0 });
    step = step_of(&scene, 0);
    expect_int(step, STEP_RUNS_output_at, 2);
    expect_text(step, STEP_RUNS_waiting_for, "go");
    expect_text(step, STEP_RUNS_status, "WAITING_SIGNAL");
    ROW("and gone when it fails");
    next_batch(&scene);
    RECORD(&scene, E(STEP_FAILED, .step = 0, .cause = CAUSE_SIGNAL_DENIED, .class_ = CLASS_PERMANENT, .text = STR_INIT("no")));
    step = step_of(&scene, 0);
    expect_null(step, STEP_RUNS_output_at);
    expect_text(step, STEP_RUNS_result, "FAILED");
    expect_text(step, STEP_RUNS_error_message, "no");
    scene_end(&scene);
}

TEST(tries_after_the_first_have_rows_of_their_own, "proves: A-276")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    next_batch(&scene);
    RECORD(&scene, E(ATTEMPT_FAILED, .step = 0, .attempt = 1, .cause = CAUSE_TIMEOUT, .class_ = CLASS_TRANSIENT, .text = STR_INIT("late")),
           E(STEP_REQUEUED, .step = 0, .attempt = 1, .due_ms = 5000));
    const RowChange *step = step_of(&scene, 0);
    expect_text(step, STEP_RUNS_status, "PENDING");
    expect_int(step, STEP_RUNS_retry_ms, 5000);
    expect_null(step, STEP_RUNS_holder);
    const RowChange *attempt = row_of(&scene, TABLE_ATTEMPTS, 0);
    REQUIRE(attempt);
    EXPECT_INT(attempt->cells[ATTEMPTS_attempt].integer, 1);
    expect_text(attempt, ATTEMPTS_error_cause, "timeout");
    next_batch(&scene);
    ROW("the second, under the number that its step run has");
    RECORD(&scene, DISPATCHED(0, 1, 2), RUNNING(0));
    step = step_of(&scene, 0);
    REQUIRE(step);
    EXPECT_INT(step->op, ROW_UPDATE);
    expect_int(step, STEP_RUNS_attempt, 2);
    EXPECT(!is_given(step, STEP_RUNS_started_ms));          /* that of the first try stays */
    attempt = row_of(&scene, TABLE_ATTEMPTS, 0);
    REQUIRE(attempt);
    EXPECT_INT(attempt->cells[ATTEMPTS_attempt].integer, 2);
    expect_int(attempt, ATTEMPTS_started_ms, scene.now_ms);
    EXPECT_INT(scene.next_step_run_no, 101);
    scene_end(&scene);
}

TEST(steps_that_never_ran_have_results_too, "proves: R-047")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0),
           E(STEP_FAILED, .step = 0, .number = 1, .cause = CAUSE_INPUT_INVALID, .class_ = CLASS_PERMANENT, .text = STR_INIT("bad input")),
           E(RUN_FAILING, .step = 0, .cause = CAUSE_INPUT_INVALID, .class_ = CLASS_PERMANENT),
           E(STEP_SKIPPED, .step = 1, .last = 2, .number = 2, .reason = SKIP_PREDECESSOR_FAILED));
    const RowChange *failed = step_of(&scene, 0), *second = step_of(&scene, 1), *third = step_of(&scene, 2);
    REQUIRE(failed && second && third);
    EXPECT_INT(failed->op, ROW_INSERT);
    expect_text(failed, STEP_RUNS_result, "FAILED");
    expect_text(second, STEP_RUNS_step_key, "b");
    expect_text(third, STEP_RUNS_step_key, "c");
    expect_text(third, STEP_RUNS_status, "SKIPPED");
    expect_text(third, STEP_RUNS_skip_reason, skip_reason_name(SKIP_PREDECESSOR_FAILED));
    EXPECT_INT(scene.next_step_run_no, 103);
    scene_end(&scene);
}

TEST(a_cancelled_step_has_failed_if_it_had_begun, "")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    next_batch(&scene);
    RECORD(&scene, E(RUN_CANCELLING), E(STEP_CANCELLED, .step = 0));
    const RowChange *step = step_of(&scene, 0);
    expect_text(step, STEP_RUNS_status, "CANCELLED");
    expect_text(step, STEP_RUNS_result, "FAILED");
    expect_text(step, STEP_RUNS_error_message, "cancelled");
    expect_int(row_of(&scene, TABLE_RUNS, 0), RUNS_cancel_requested, 1);
    scene_end(&scene);
}

TEST(a_loop_that_begins_again_supersedes_and_keeps_the_results, "proves: R-046")
{
    Scene scene;
    if (!scene_begin(&scene, PLAN(TASK("a") "," TASK("b"), "[0,1,\"order\"]",
                                  "{\"head\":0,\"tail\":1,\"max_iterations\":3,\"when\":\"true\",\"on_max\":\"fail\"}"))) return;
    RECORD(&scene, CREATED, READY(0), DISPATCHED(0, 1, 1), RUNNING(0));
    RECORD(&scene, SUCCEEDED(0), READY(1), DISPATCHED(1, 2, 1), RUNNING(1));
    next_batch(&scene);
    RECORD(&scene, SUCCEEDED(1), E(LOOP_REPEATED, .step = 0, .last = 1, .count = 2), READY(0), DISPATCHED(0, 3, 1), RUNNING(0));
    const RowChange *tail = step_of(&scene, 1), *head = step_of(&scene, 0), *again = step_of(&scene, 2);
    REQUIRE(tail && head && again);
    expect_text(tail, STEP_RUNS_status, "SUPERSEDED");
    expect_text(tail, STEP_RUNS_result, "COMPLETED");
    EXPECT_INT(head->op, ROW_UPDATE);
    EXPECT_INT(head->mask, COLUMN_BIT(STEP_RUNS_status) | COLUMN_BIT(STEP_RUNS_superseded_at));
    EXPECT_INT(again->op, ROW_INSERT);
    expect_text(again, STEP_RUNS_step_key, "a");
    EXPECT_INT(scene.step_numbers[0], 3);
    EXPECT_INT(scene.step_numbers[1], 0);
    scene_end(&scene);
}

/* --- the rest ------------------------------------------------------------------------------------------------------ */

TEST(a_branch_leaves_its_decision, "proves: A-130 A-221")
{
    Scene scene;
    if (!scene_begin(&scene, PLAN("{\"id\":\"choose\",\"kind\":\"branch\",\"name\":\"choose\",\"select\":\"params.x\",\"cases\":"
                                  "{\"mail\":[1],\"post\":[2]}}," TASK("send") "," TASK("print"),
                                  "[0,1,\"branch\",\"mail\"],[0,2,\"branch\",\"post\"]", ""))) return;
    const Payload payloads[] = { { .offset = 0, .size = 19 } };
    Event events[] = { CREATED, READY(0), DISPATCHED(0, 1, 1), E(STEP_RUNNING, .step = 0),
                       E(BRANCH_TAKEN, .step = 0, .name = STR_INIT("mail,post")), SUCCEEDED(0), READY(1), DISPATCHED(1, 2, 1) };
    events[6].payload = 0;
    record_with(&scene, events, sizeof events / sizeof *events, payloads, STR("0123456789abcdef{\"selected\":\"mail\"}"));
    const RowChange *branch = row_of(&scene, TABLE_BRANCHES, 0);
    REQUIRE(branch);
    EXPECT_INT(branch->op, ROW_INSERT);
    Id want = id_derive(&scene.run.id, DERIVED_BRANCH, 7);
    EXPECT_STR(branch->cells[BRANCHES_id].text, id_peek(&want));
    expect_text(branch, BRANCHES_branch_point_key, "choose");
    expect_text(branch, BRANCHES_condition_class, "params.x");
    expect_text(branch, BRANCHES_selected_branches, "[\"mail\",\"post\"]");
    expect_text(branch, BRANCHES_input_summary, "{\"selected\":\"mail\"}");
    expect_text(step_of(&scene, 1), STEP_RUNS_branch_key, "mail");
    EXPECT(!is_given(step_of(&scene, 0), STEP_RUNS_branch_key));
    scene_end(&scene);
}

TEST(a_signal_leaves_a_row, "")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    RECORD(&scene, CREATED, E(SIGNAL_RECEIVED, .name = STR_INIT("go"), .sort = SIGNAL_APPROVAL, .count = 1, .source = STR_INIT("user:ana")));
    const RowChange *signal = row_of(&scene, TABLE_SIGNALS, 1);
    expect_text(signal, SIGNALS_name, "go");
    expect_text(signal, SIGNALS_kind, "approval");
    expect_text(signal, SIGNALS_source, "user:ana");
    scene_end(&scene);
}

TEST(a_declared_key_names_the_step_run_that_has_it, "")
{
    Scene scene;
    if (!scene_begin(&scene, PLAN("{\"id\":\"a\",\"kind\":\"task\",\"name\":\"a\",\"run\":\"noop\",\"key\":\"k\"}," TASK("b"), "", "")))
        return;
    bool is_declared = scene.plan.terms->steps[0].key.len > 0;
    Event events[] = { CREATED, READY(0), DISPATCHED(0, 1, 1) };
    events[4].key = STR("order-7");
    events[4].count = 2;
    record_with(&scene, events, 5, NULL, (Str){ 0 });
    EXPECT(is_declared);
    const RowChange *dedupe = NULL;
    projection_finish(scene.projection, &scene.changes, &scene.change_count);
    for (uint32_t i = 0; i < scene.change_count; i++)
        if (scene.changes[i].table == TABLE_DEDUPE) dedupe = &scene.changes[i];
    REQUIRE(dedupe);
    EXPECT_STR(dedupe->cells[DEDUPE_key].text, STR("order-7"));
    EXPECT_INT(dedupe->cells[DEDUPE_generation].integer, 2);
    expect_int(dedupe, DEDUPE_run_no, 7);
    expect_int(dedupe, DEDUPE_step_index, 0);
    scene_end(&scene);
}

TEST(rows_added_by_hand_are_merged_by_key, "")
{
    Scene scene;
    if (!scene_begin(&scene, chain_plan)) return;
    Cell first[2] = { cell_int(7), cell_int(50) }, second[2] = { cell_int(7), cell_int(60) }, other[2] = { cell_int(8), cell_int(1) };
    projection_row(scene.projection, TABLE_TIMERS, ROW_PUT, UINT64_MAX, first);
    projection_row(scene.projection, TABLE_TIMERS, ROW_PUT, UINT64_MAX, other);
    projection_row(scene.projection, TABLE_TIMERS, ROW_PUT, UINT64_MAX, second);
    projection_finish(scene.projection, &scene.changes, &scene.change_count);
    REQUIRE(scene.change_count == 2);
    EXPECT_INT(scene.changes[0].op, ROW_PUT);
    EXPECT_INT(scene.changes[0].cells[TIMERS_due_ms].integer, 60);
    EXPECT_INT(first[1].integer, 50);                       /* what was given stays as it is */
    projection_row(scene.projection, TABLE_TIMERS, ROW_DELETE, 0, first);
    projection_finish(scene.projection, &scene.changes, &scene.change_count);
    EXPECT_INT(scene.changes[0].op, ROW_DELETE);
    projection_row(scene.projection, TABLE_TIMERS, ROW_PUT, UINT64_MAX, second);
    projection_finish(scene.projection, &scene.changes, &scene.change_count);
    EXPECT_INT(scene.changes[0].op, ROW_PUT);
    EXPECT_INT(scene.change_count, 2);
    ROW("many keys, of texts too");
    for (int64_t i = 0; i < 5000; i++) {
        Cell *cells = ARENA_ARRAY(&scene.arena, Cell, 5);
        cells[REQUESTS_tenant] = cell_text(STR("acme"));
        cells[REQUESTS_key] = cell_text(arena_format(&scene.arena, "key-%lld", (long long)(i % 2500)));
        cells[REQUESTS_expires_ms] = cell_int(i);
        projection_row(scene.projection, TABLE_REQUESTS, ROW_PUT, COLUMN_BIT(REQUESTS_expires_ms), cells);
    }
    projection_finish(scene.projection, &scene.changes, &scene.change_count);
    EXPECT_INT(scene.change_count, 2502);
    EXPECT_INT(scene.changes[2].cells[REQUESTS_expires_ms].integer, 2500);
    scene_end(&scene);
}
