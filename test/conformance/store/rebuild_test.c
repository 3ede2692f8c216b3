/* rebuild_test.c - W2: the ledger alone gives the same rows again, whatever the batches were and whoever stores them.
 *
 * Random runs of a plan with a loop, a branch and retries are decided event by event, recorded in batches of random sizes,
 * and stored. Then the ledger is read back, each record applied and projected anew into a second store, and every table that
 * follows from events is compared row by row.
 */
#include <stdlib.h>
#include <string.h>

#include "core/run.h"
#include "ledger/chain.h"
#include "ledger/record.h"
#include "store/memory/memory_store.h"
#include "store_case.h"
#include "value/json.h"
#include "view/projection.h"
#include "view/rebuild.h"

#define RUN_COUNT 12u
#define TASK(id) "{\"id\":\"" id "\",\"kind\":\"task\",\"name\":\"" id "\",\"run\":\"noop\"}"

static const char plan_text[] =
    "{\"format\":1,\"kind\":\"workflow\",\"id\":\"orders\",\"tenant\":\"acme\",\"jobs\":[],\"steps\":["
    TASK("a") "," TASK("b") "," TASK("c") "," TASK("d") "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"order\"]],"
    "\"loops\":[{\"head\":1,\"tail\":2,\"max_iterations\":9,\"when\":\"true\",\"on_max\":\"fail\"}]}";

typedef struct Actor {
    Run run;
    uint32_t begun_count, step_numbers[4], attempt;
    uint64_t last_position;
    Digest head;
    uint32_t step, round;
    bool is_begun, is_over, is_waiting;
} Actor;

typedef struct World {
    StoreCase *it;
    Plan plan;
    Actor actors[RUN_COUNT];
    uint64_t chance;
} World;

static uint32_t roll(World *world, uint32_t below)
{
    world->chance = world->chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(world->chance >> 33) % below;
}

static bool plan_make(StoreCase *it, Plan *out)
{
    Value document;
    Error err;
    return EXPECT_OK(json_parse(&it->arena, str_of(plan_text), &document, &err), &err)
        && EXPECT_OK(plan_read(&it->arena, document, out, &err), &err);
}

static Event event_of(EventKind kind, uint32_t step) { return (Event){ .kind = (uint8_t)kind, .step = step, .payload = EVENT_NO_PAYLOAD }; }

/* The next step begins, or the first one of a round. */
static uint32_t begin_step(Actor *actor, Event *events, uint32_t count)
{
    events[count] = event_of(EVENT_STEP_READY, actor->step);
    events[count++].last = actor->step;
    events[count] = event_of(EVENT_STEP_DISPATCHED, actor->step);
    events[count].number = actor->run.begun_count + 1;
    events[count].name = STR("local");
    events[count++].attempt = actor->attempt = 1;
    events[count] = event_of(EVENT_STEP_RUNNING, actor->step);
    events[count++].holder = 1;
    return count;
}

static uint32_t decide(World *world, Actor *actor, Event *events)
{
    uint32_t count = 0, what = roll(world, 10);
    if (!actor->is_begun) {
        events[count] = event_of(EVENT_RUN_CREATED, 0);
        events[count].tenant = STR("acme");
        events[count].name = STR("orders");
        events[count].digest = &world->plan.digest;
        events[count++].payload = 0;
        events[count++] = event_of(EVENT_RUN_DISPATCHED, 0);
        events[count++] = event_of(EVENT_RUN_RUNNING, 0);
        actor->is_begun = true;
        return begin_step(actor, events, count);
    }
    if (actor->is_waiting) {
        actor->is_waiting = false;
        events[count] = event_of(EVENT_SIGNAL_RECEIVED, 0);
        events[count].name = STR("go");
        events[count].sort = 3;
        events[count++].count = actor->run.signal_count + 1;
        events[count++] = event_of(EVENT_STEP_RESUMED, actor->step);
        return count;
    }
    if (what == 0) {                            /* a try fails and is followed by another */
        events[count] = event_of(EVENT_ATTEMPT_FAILED, actor->step);
        events[count].attempt = actor->attempt;
        events[count].cause = CAUSE_TIMEOUT;
        events[count].class_ = CLASS_TRANSIENT;
        events[count++].text = STR("late");
        events[count] = event_of(EVENT_STEP_REQUEUED, actor->step);
        events[count++].attempt = actor->attempt;
        events[count] = event_of(EVENT_STEP_DISPATCHED, actor->step);
        events[count].number = actor->run.steps[actor->step].number;
        events[count].name = STR("other");
        events[count++].attempt = ++actor->attempt;
        events[count] = event_of(EVENT_STEP_RUNNING, actor->step);
        events[count++].holder = 2;
        return count;
    }
    if (what == 1) {                            /* it waits, its output kept back */
        actor->is_waiting = true;
        events[count] = event_of(EVENT_STEP_WAITING, actor->step);
        events[count].name = STR("go");
        events[count++].payload = 0;
        return count;
    }
    if (what == 2 && actor->step == 3) {        /* the run fails */
        events[count] = event_of(EVENT_STEP_FAILED, 3);
        events[count].cause = CAUSE_PERMANENT;
        events[count].class_ = CLASS_PERMANENT;
        events[count++].text = STR("broken");
        events[count] = event_of(EVENT_RUN_FAILED, 3);
        events[count].cause = CAUSE_PERMANENT;
        events[count].class_ = CLASS_PERMANENT;
        events[count].resolution = RESOLUTION_AWAITING_DECISION;
        events[count++].text = STR("broken");
        actor->is_over = true;
        return count;
    }
    events[count] = event_of(EVENT_STEP_SUCCEEDED, actor->step);
    if (actor->run.steps[actor->step].flags & STEP_IN_ACTIVE && actor->run.active[actor->run.steps[actor->step].next].kept_at)
        events[count++].flags = 1;
    else events[count++].payload = 0;
    if (actor->step == 2 && roll(world, 3)) {   /* once more through the loop */
        events[count] = event_of(EVENT_LOOP_REPEATED, 1);
        events[count].last = 2;
        events[count++].count = ++actor->round + 1;
        actor->step = 1;
        return begin_step(actor, events, count);
    }
    if (actor->step == 2) {
        events[count] = event_of(EVENT_LOOP_LEFT, 1);
        events[count].last = 2;
        events[count++].count = actor->round + 1;
    }
    if (actor->step == 3) {
        events[count++] = event_of(EVENT_RUN_SUCCEEDED, 0);
        actor->is_over = true;
        return count;
    }
    actor->step++;
    return begin_step(actor, events, count);
}

static void act(World *world, Actor *actor, Batch *batch, BatchRecord *record, Projection *projection)
{
    StoreCase *it = world->it;
    Event *events = ARENA_ARRAY(&it->arena, Event, 12);
    uint64_t first_event = actor->run.event_count + 1;
    uint32_t count = decide(world, actor, events);
    EventPlace place = { it->now_ms, ++it->head.position };
    for (uint32_t i = 0; i < count; i++) run_apply(&actor->run, &world->plan, &events[i], &place);
    RecordHead head = { .log = 1, .position = place.position, .run_id = id_peek(&actor->run.id), .first_event = first_event,
                        .now_ms = it->now_ms, .actor = STR("test") };
    Str text = STR("{\"params\":{},\"payload\":null}");
    Payload *payload = ARENA_NEW(&it->arena, Payload);
    Buf bytes, beside;
    buf_init(&bytes, SIZE_MAX);
    buf_init(&beside, SIZE_MAX);
    uint8_t salt[SALT_SIZE] = { 9 };
    bool has_payload = false;
    for (uint32_t i = 0; i < count; i++) has_payload |= events[i].payload != EVENT_NO_PAYLOAD;
    record_encode(&head, events, count, &text, has_payload, salt, &bytes, &beside, payload);
    *record = (BatchRecord){ .position = place.position, .run_no = actor->run.run_no, .prev_position = actor->last_position,
                             .first_event = first_event, .event_count = count, .record = arena_copy(&it->arena, buf_peek(&bytes)),
                             .payload = arena_copy(&it->arena, buf_peek(&beside)) };
    buf_deinit(&bytes);
    buf_deinit(&beside);
    record->hash = actor->head = chain_record(&actor->head, record->record);
    it->head.head = chain_log(&it->head.head, &record->hash);
    actor->last_position = place.position;
    projection_record(projection, &(ProjectionInput){
        .plan = &world->plan, .run = &actor->run, .head = &head, .events = events, .event_count = count, .payloads = payload,
        .record = record, .begun_count = &actor->begun_count, .step_numbers = actor->step_numbers,
        .next_step_run_no = &it->head.next_step_run_no });
    batch->record_count++;
}

static bool commit_some(World *world)
{
    StoreCase *it = world->it;
    Batch *batch = ARENA_NEW(&it->arena, Batch);
    BatchRecord *records = ARENA_ARRAY(&it->arena, BatchRecord, 64);
    *batch = (Batch){ .log = 1, .epoch = it->head.epoch, .first_position = it->head.position + 1, .head_before = it->head.head };
    Projection *projection = projection_make(&it->arena);
    it->now_ms += roll(world, 50);
    for (uint32_t left = 1 + roll(world, 40); left; left--) {
        Actor *actor = &world->actors[roll(world, RUN_COUNT)];
        if (!actor->is_over) act(world, actor, batch, &records[batch->record_count], projection);
    }
    projection_finish(projection, &batch->changes, &batch->change_count);
    batch->records = records;
    batch->head_after = it->head.head;
    batch->next_run_no = RUN_COUNT + 1;
    batch->next_step_run_no = it->head.next_step_run_no;
    batch->now_ms = it->now_ms;
    Error err = { 0 };
    if (!EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE)) return EXPECT_STR(str_of(err.text), STR(""));
    for (uint32_t i = 0; i < RUN_COUNT; i++)
        if (!world->actors[i].is_over) return true;
    return false;
}

/* --- again --------------------------------------------------------------------------------------------------------- */

typedef struct Again {
    StoreCase *to;
    const Plan *plan;
    Run runs[RUN_COUNT + 1];
    uint32_t begun_counts[RUN_COUNT + 1], step_numbers[RUN_COUNT + 1][4];
} Again;

static void again_row(Again *replay, const Cell *cells)
{
    StoreCase *to = replay->to;
    Record record;
    Error err;
    if (!EXPECT_OK(record_decode(&to->arena, cells[LEDGER_record].text, &record, &err), &err)) return;
    uint64_t run_no = (uint64_t)cells[LEDGER_run_no].integer;
    Run *run = &replay->runs[run_no];
    if (!run->steps) {
        Id id;
        memcpy(id.text, record.head.run_id.ptr, ID_SIZE);
        id.text[ID_SIZE] = 0;
        run_init(run, replay->plan, &id, run_no);
    }
    BatchRecord *raw = ARENA_NEW(&to->arena, BatchRecord);
    *raw = (BatchRecord){ .position = record.head.position, .run_no = run_no,
                          .prev_position = (uint64_t)cells[LEDGER_prev_position].integer, .first_event = record.head.first_event,
                          .event_count = record.event_count, .record = cells[LEDGER_record].text,
                          .payload = cells[LEDGER_payload].kind == CELL_NULL ? (Str){ 0 } : cells[LEDGER_payload].text };
    memcpy(raw->hash.bytes, cells[LEDGER_hash].text.ptr, DIGEST_SIZE);
    Projection *projection = projection_make(&to->arena);
    projection_replay(projection, &(ProjectionInput){
        .plan = replay->plan, .run = run, .head = &record.head, .events = record.events, .event_count = record.event_count,
        .payloads = record.payloads, .record = raw, .begun_count = &replay->begun_counts[run_no],
        .step_numbers = replay->step_numbers[run_no], .next_step_run_no = &to->head.next_step_run_no }, run);
    Batch *batch = ARENA_NEW(&to->arena, Batch);
    *batch = (Batch){ .log = 1, .epoch = to->head.epoch, .first_position = raw->position, .head_before = to->head.head,
                      .head_after = chain_log(&to->head.head, &raw->hash), .next_run_no = RUN_COUNT + 1,
                      .next_step_run_no = to->head.next_step_run_no, .records = raw, .record_count = 1 };
    projection_finish(projection, &batch->changes, &batch->change_count);
    to->head.position = raw->position;
    to->head.head = batch->head_after;
    EXPECT_INT(batch_commit(to, batch, &err), STORE_DURABLE);
}

static void expect_same_rows(StoreCase *a, StoreCase *b, Query query, const Cell *params, uint32_t param_count)
{
    Answer left = ask(a, query, params, param_count, 100000), right = ask(b, query, params, param_count, 100000);
    EXPECT_INT(left.row_count, right.row_count);
    for (uint32_t i = 0; i < left.row_count * left.cell_count && left.row_count == right.row_count; i++) {
        Cell x = left.cells[i], y = right.cells[i];
        bool is_same = x.kind == y.kind && (x.kind == CELL_NULL || (x.kind == CELL_INT ? x.integer == y.integer : str_is(x.text, y.text)));
        if (!EXPECT(is_same)) return;
    }
}

/* --- in passes ----------------------------------------------------------------------------------------------------- */

typedef struct Whole { Rebuild *passes; uint32_t pass_count, found_count; } Whole;

static void expect_in_one_pass(void *context, Table table, const Cell *cells)
{
    Whole *whole = context;
    uint32_t found = 0;
    for (uint32_t i = 0; i < whole->pass_count; i++) {
        const Cell *row = rebuild_find(&whole->passes[i], table, cells);
        EXPECT(rebuild_is_mine(&whole->passes[i], table, cells) == (row != NULL));
        found += row != NULL;
        for (uint32_t c = 0; row && c < table_info(table)->column_count; c++) EXPECT_INT(row[c].kind, cells[c].kind);
    }
    EXPECT_INT(found, 1);
    whole->found_count++;
}

static void never_told(void *context, Table table, const Cell *cells)
{
    (void)context, (void)table, (void)cells;
    EXPECT(!"a row of a pass that the whole does not have");
}

/* The rows of a run made at once, and a share of them at a time. */
static void expect_same_in_passes(const World *world, const Answer *ledger, uint64_t run_no)
{
    enum { PASS_COUNT = 3 };
    Rebuild all[PASS_COUNT + 1];
    for (uint32_t i = 0; i <= PASS_COUNT; i++)
        rebuild_init(&all[i], &(RebuildOptions){ .plan = &world->plan, .id = world->actors[run_no - 1].run.id, .run_no = run_no,
                                                 .pass = i ? i - 1 : 0, .pass_count = i ? PASS_COUNT : 1 });
    for (uint32_t r = 0; r < ledger->row_count; r++) {
        const Cell *cells = ledger->cells + (size_t)r * ledger->cell_count;
        if ((uint64_t)cells[LEDGER_run_no].integer != run_no) continue;
        LedgerRow row = { .position = (uint64_t)cells[LEDGER_position].integer, .run_no = run_no,
                          .prev_position = (uint64_t)cells[LEDGER_prev_position].integer,
                          .first_event = (uint64_t)cells[LEDGER_first_event].integer,
                          .event_count = (uint32_t)cells[LEDGER_event_count].integer, .record = cells[LEDGER_record].text,
                          .payload = cells[LEDGER_payload].kind == CELL_NULL ? (Str){ 0 } : cells[LEDGER_payload].text };
        memcpy(row.hash.bytes, cells[LEDGER_hash].text.ptr, DIGEST_SIZE);
        Error err;
        for (uint32_t i = 0; i <= PASS_COUNT; i++) EXPECT_OK(rebuild_record(&all[i], &row, &err), &err);
    }
    Whole whole = { .passes = all + 1, .pass_count = PASS_COUNT };
    rebuild_rest(&all[0], expect_in_one_pass, &whole);
    EXPECT(whole.found_count > 2);
    for (uint32_t i = 0; i <= PASS_COUNT; i++) {
        if (i) rebuild_rest(&all[i], never_told, NULL);
        rebuild_deinit(&all[i]);
    }
}

STORE_CASE(replaying_the_ledger_gives_the_same_rows, "proves: F-005")
{
    for (uint64_t seed = 1; seed <= (it->adapter == ADAPTER_MEMORY ? 20 : 1); seed++) {
        StoreCase from = *it, to;
        if (seed > 1 && !store_case_begin(&from, ADAPTER_MEMORY)) return;
        if (!store_case_begin(&to, ADAPTER_MEMORY)) return;
        World world = { .it = &from, .chance = seed };
        if (!plan_make(&from, &world.plan)) return;
        for (uint32_t i = 0; i < RUN_COUNT; i++) {
            Id id = id_make((uint8_t[ID_SIZE]){ (uint8_t)i, 7 });
            run_init(&world.actors[i].run, &world.plan, &id, i + 1);
        }
        while (commit_some(&world)) { }

        Again replay = { .to = &to, .plan = &world.plan };
        Cell begin = cell_int(1);
        Answer ledger = ask(&from, QUERY_RECORDS, &begin, 1, 100000);
        EXPECT_INT(ledger.row_count, from.head.position);
        for (uint32_t i = 0; i < ledger.row_count; i++) again_row(&replay, ledger.cells + (size_t)i * ledger.cell_count);
        Cell runs[] = { cell_int(INT64_MAX), cell_null(), cell_null() };
        expect_same_rows(&from, &to, QUERY_RUNS, runs, 3);
        for (uint32_t i = 1; i <= RUN_COUNT; i++) {
            Cell run[] = { cell_int(i), cell_int(0) };
            expect_same_rows(&from, &to, QUERY_STEP_RUNS, run, 2);
            expect_same_rows(&from, &to, QUERY_SIGNALS, run, 2);
            for (uint32_t s = 0; s < 60; s++) {
                Cell step[] = { cell_int(i), cell_int(s), cell_int(0) };
                expect_same_rows(&from, &to, QUERY_ATTEMPTS, step, 3);
            }
        }
        EXPECT_INT(from.head.next_step_run_no, to.head.next_step_run_no);
        for (uint32_t i = 1; i <= RUN_COUNT; i++) expect_same_in_passes(&world, &ledger, i);
        for (uint32_t i = 0; i < RUN_COUNT; i++) {
            run_deinit(&world.actors[i].run);
            run_deinit(&replay.runs[i + 1]);
        }
        store_case_end(&to);
        if (seed > 1) store_case_end(&from);
        else it->arena = from.arena, it->head = from.head;
    }
}
