#include "sim/audit.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "ledger/replay.h"
#include "ledger/record.h"
#include "sim/watch.h"
#include "view/projection.h"
#include "view/queries.h"
#include "view/run_rows.h"

/* --- reading the books ------------------------------------------------------------------------------------------------------------ */

typedef struct Books {
    World *world;
    Arena *arena;
    LedgerRow *rows;
    size_t row_count, row_capacity;
    Verifier *verifier;
} Books;

static Digest digest_cell(const Cell *cell)
{
    Digest digest = { 0 };
    if (cell->text.len == sizeof digest) memcpy(&digest, cell->text.ptr, sizeof digest);
    return digest;
}

static Str text_cell(const Cell *cell) { return cell->kind == CELL_NULL ? (Str){ 0 } : cell->text; }

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Books *books = context;
    (void)count;
    books->rows = arena_grow(books->arena, books->rows, sizeof *books->rows, books->row_count, &books->row_capacity);
    books->rows[books->row_count++] = (LedgerRow){
        .position = (uint64_t)cells[LEDGER_position].integer,
        .run_no = cells[LEDGER_run_no].kind == CELL_NULL ? 0 : (uint64_t)cells[LEDGER_run_no].integer,
        .prev_position = (uint64_t)cells[LEDGER_prev_position].integer,
        .first_event = (uint64_t)cells[LEDGER_first_event].integer, .event_count = (uint32_t)cells[LEDGER_event_count].integer,
        .hash = digest_cell(&cells[LEDGER_hash]), .record = text_cell(&cells[LEDGER_record]),
        .payload = text_cell(&cells[LEDGER_payload]),       /* rows of the ledger do not change: borrowed */
    };
    return true;
}

static void ask_store(World *world, Store *store, const QueryAsk *ask, RowVisit visit, void *context)
{
    Error err;
    if (store_select(store, ask, visit, context, &err)) world_fail(world, "%s: %s", query_info(ask->query)->name, err.text);
}

/* --- the chain --------------------------------------------------------------------------------------------------------------------- */

static void take_finding(void *context, const Finding *finding)
{
    world_fail(context, "the ledger: %s, at %" PRIu64 ": %.*s", finding_name(finding->kind), finding->position,
               STR_ARG(finding->text));
}

static bool take_head(void *context, const Cell *cells, uint32_t count)
{
    LedgerHead *head = context;
    (void)count;
    *head = (LedgerHead){ 1, (uint64_t)cells[LOG_HEADS_position].integer, digest_cell(&cells[LOG_HEADS_head]) };
    return false;
}

static bool take_run_head(void *context, const Cell *cells, uint32_t count)
{
    Books *books = context;
    Error err;
    (void)count;
    RunHead head = { .run_no = (uint64_t)cells[RUNS_run_no].integer, .run_id = cells[RUNS_id].text,
                     .last_position = (uint64_t)cells[RUNS_last_position].integer,
                     .event_count = (uint64_t)cells[RUNS_event_count].integer, .head = digest_cell(&cells[RUNS_head]) };
    if (verify_run(books->verifier, &head, &err)) world_fail(books->world, "%s", err.text);
    return true;
}

static const QueryAsk all_runs = { .query = QUERY_RUNS, .params = { { .kind = CELL_INT, .integer = INT64_MAX } }, .param_count = 3,
                                   .row_count_max = UINT32_MAX };

static void audit_chain(Books *books)
{
    World *world = books->world;
    LedgerHead head = { 0 };
    Verifier verifier;
    Error err;
    ask_store(world, world->store, &(QueryAsk){ .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 }, take_head, &head);
    verify_init(&verifier, &(VerifyOptions){ .log = 1, .head = &head, .has_run_heads = true, .finding = take_finding,
                                             .context = world });
    for (size_t i = 0; i < books->row_count; i++)
        if (verify_row(&verifier, &books->rows[i], &err)) world_fail(world, "%s", err.text);
    books->verifier = &verifier;
    ask_store(world, world->store, &all_runs, take_run_head, books);
    VerifyReport report = verify_end(&verifier);
    if (report.damage_count) world_fail(world, "the ledger is damaged");
    verify_deinit(&verifier);
}

/* --- runs made again ------------------------------------------------------------------------------------------------------------------ */

typedef struct Snapshot { bool is_there; uint64_t event_count; Str state; } Snapshot;

static bool take_snapshot(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(Snapshot *)context = (Snapshot){ true, (uint64_t)cells[SNAPSHOTS_event_count].integer, cells[SNAPSHOTS_state].text };
    return false;
}

/* I12: the records alone make the run, and the state that was stored on the way. */
static void audit_run(Books *books, WatchRun *run)
{
    World *world = books->world;
    uint32_t revision = world->watch->revisions[run->plan - world->plans];
    if (!revision || run->run.revision != revision)
        world_fail(world, "run %" PRIu64 " is of revision %" PRIu32 ", and its plan is %" PRIu32, run->run_no, run->run.revision, revision);
    Snapshot snapshot = { 0 };
    ask_store(world, world->store, &(QueryAsk){ .query = QUERY_SNAPSHOT, .params = { cell_int((int64_t)run->run_no) }, .param_count = 1 },
              take_snapshot, &snapshot);
    if (!snapshot.is_there) return;
    Replay replay;
    Error err;
    replay_init(&replay, &run->plan->plan, &run->run.id, run->run_no, snapshot.event_count);
    replay.find_plan = store_plan;
    replay.plans = world->store;
    for (size_t i = 0; i < books->row_count && !world->is_failed; i++)
        if (books->rows[i].run_no == run->run_no && replay_row(&replay, &books->rows[i], &err))
            world_fail(world, "run %" PRIu64 " cannot be made again: %s", run->run_no, err.text);
    if (!world->is_failed && replay_verify(&replay, snapshot.state, &err))
        world_fail(world, "I12: run %" PRIu64 ": %s", run->run_no, err.text);
    replay_deinit(&replay);
}

/* --- rows made again -------------------------------------------------------------------------------------------------------------------- */

typedef struct Rebuild { Run run; uint32_t begun_count; uint32_t *step_numbers; bool is_there; } Rebuild;

/* Projects every record as if for the first time. */
static void project_all(Books *books, Batch *batch)
{
    World *world = books->world;
    Watch *watch = world->watch;
    Projection *projection = projection_make(&batch->arena);
    Rebuild *rebuilds = ARENA_ARRAY(&batch->arena, Rebuild, watch->run_end + 1);
    BatchRecord *records = ARENA_ARRAY(&batch->arena, BatchRecord, books->row_count + 1);
    uint64_t next_step_run_no = 1;
    for (size_t i = 0; i < books->row_count; i++) {
        const LedgerRow *row = &books->rows[i];
        Record record;
        Error err;
        records[i] = (BatchRecord){ .position = row->position, .run_no = row->run_no, .prev_position = row->prev_position,
                                    .first_event = row->first_event, .event_count = row->event_count, .hash = row->hash,
                                    .record = row->record, .payload = row->payload };
        if (!row->run_no) continue;
        CHECK(record_decode(&batch->arena, row->record, &record, &err) == OK);
        const WatchRun *known = watch_run(watch, row->run_no);
        const Plan *plan = &known->plan->plan;
        Rebuild *rebuild = &rebuilds[row->run_no];
        if (!rebuild->is_there) {
            rebuild->is_there = true;
            run_init(&rebuild->run, plan, &known->run.id, row->run_no);
            if (plan->loop_count) rebuild->step_numbers = ARENA_ARRAY(&batch->arena, uint32_t, plan->step_count);
        }
        projection_replay(projection, &(ProjectionInput){
            .plan = plan, .run = &rebuild->run, .head = &record.head, .events = record.events, .event_count = record.event_count,
            .payloads = record.payloads, .record = &records[i], .begun_count = &rebuild->begun_count,
            .step_numbers = rebuild->step_numbers, .next_step_run_no = &next_step_run_no }, &rebuild->run);
    }
    batch->records = records;
    batch->record_count = (uint32_t)books->row_count;
    batch->next_step_run_no = next_step_run_no;
    projection_finish(projection, &batch->changes, &batch->change_count);
    for (uint64_t i = 0; i < watch->run_end; i++)
        if (rebuilds[i].is_there) run_deinit(&rebuilds[i].run);
}

typedef struct Listing { Arena *arena; Cell *cells; size_t count, capacity; uint32_t width; } Listing;

static bool list_row(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    listing->width = count;
    for (uint32_t i = 0; i < count; i++) {
        listing->cells = arena_grow(listing->arena, listing->cells, sizeof(Cell), listing->count, &listing->capacity);
        listing->cells[listing->count++] = cells[i];
    }
    return true;
}

static bool cells_equal(const Cell *a, const Cell *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == CELL_NULL) return true;
    return a->kind == CELL_INT ? a->integer == b->integer : str_is(a->text, b->text);
}

/* The same question to both stores; `except` is a column that may differ. */
static void compare(Books *books, Store *other, const QueryAsk *ask, uint32_t except)
{
    World *world = books->world;
    const TableInfo *info = table_info((Table)query_info(ask->query)->table);
    Listing live = { .arena = books->arena }, made = { .arena = books->arena };
    ask_store(world, world->store, ask, list_row, &live);
    ask_store(world, other, ask, list_row, &made);
    if (live.count != made.count)
        world_fail(world, "%s has %zu cells, and %zu made again (run %" PRId64 ")", info->name, live.count, made.count,
                   ask->params[0].integer);
    for (size_t i = 0; i < live.count && !world->is_failed; i++) {
        uint32_t column = (uint32_t)(i % live.width);
        if (column != except && !cells_equal(&live.cells[i], &made.cells[i]))
            world_fail(world, "%s.%s, row %zu, is not what the ledger makes (of %" PRId64 "): %" PRId64
                       " or '%.*s', made again %" PRId64 " or '%.*s'",
                       info->name, info->columns[column].name, i / live.width, ask->params[0].integer,
                       live.cells[i].kind == CELL_INT ? live.cells[i].integer : -1,
                       live.cells[i].kind >= CELL_TEXT ? (int)live.cells[i].text.len : 0,
                       live.cells[i].kind >= CELL_TEXT ? live.cells[i].text.ptr : "",
                       made.cells[i].kind == CELL_INT ? made.cells[i].integer : -1,
                       made.cells[i].kind >= CELL_TEXT ? (int)made.cells[i].text.len : 0,
                       made.cells[i].kind >= CELL_TEXT ? made.cells[i].text.ptr : "");
    }
}

static void compare_run(Books *books, Store *other, const WatchRun *run)
{
    Cell no = cell_int((int64_t)run->run_no);
    compare(books, other, &(QueryAsk){ .query = QUERY_STEP_RUNS, .params = { no, cell_int(0) }, .param_count = 2 },
            STEP_RUNS_step_run_no);                 /* numbers of commits that were lost are not given out again */
    for (uint32_t i = 0; i < run->run.begun_count && !books->world->is_failed; i++)
        compare(books, other, &(QueryAsk){ .query = QUERY_ATTEMPTS, .params = { no, cell_int(i), cell_int(-1) }, .param_count = 3 },
                UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_BRANCHES, .params = { no, cell_int(-1), cell_text(STR("")) }, .param_count = 3 },
            UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_DECISIONS, .params = { no, cell_int(-1), cell_text(STR("")) }, .param_count = 3 },
            UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_TRIGGER_PAYLOADS, .params = { no, cell_int(-1), cell_text(STR("")) }, .param_count = 3 },
            UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_COMPENSATIONS, .params = { no }, .param_count = 1 }, UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_OUTBOX_OF_RUN, .param_count = 2, .params = {
            cell_int(outbox_entry(run->run_no, RUN_NOTIFICATION_COUNT_MAX)), cell_int(outbox_entry(run->run_no, 0)) } }, UINT32_MAX);
    compare(books, other, &(QueryAsk){ .query = QUERY_SIGNALS, .params = { no, cell_int(-1) }, .param_count = 2 }, UINT32_MAX);
}

/* I6: results that were changed after they were written would not be those that the records give from nothing. */
static void audit_rows(Books *books)
{
    World *world = books->world;
    if (!books->row_count) return;
    Store *other = memory_store_new(NULL);
    LogHead head;
    Error err;
    CHECK(store_own(other, 1, &head, &err) == OK);
    Batch batch = { .log = 1, .epoch = head.epoch, .first_position = 1 };
    arena_init(&batch.arena, SIZE_MAX);
    project_all(books, &batch);
    Completion completion;
    if (!store_submit(other, &batch) || !store_poll(other, &completion) || completion.outcome != STORE_DURABLE)
        world_fail(world, "the rows made again are refused: %s", completion.error.text);
    if (!world->is_failed) compare(books, other, &all_runs, UINT32_MAX);
    for (uint64_t i = 0; i < world->watch->run_end && !world->is_failed; i++)
        if (world->watch->runs[i]) compare_run(books, other, world->watch->runs[i]);
    store_close(other);
    arena_deinit(&batch.arena);
}

/* --- what is left ---------------------------------------------------------------------------------------------------------------------- */

static bool take_timer(void *context, const Cell *cells, uint32_t count)
{
    World *world = context;
    (void)count;
    const WatchRun *run = watch_run(world->watch, (uint64_t)cells[TIMERS_run_no].integer);
    if (!run || watch_is_settled(run)) world_fail(world, "run %" PRId64 " has ended and has a timer", cells[TIMERS_run_no].integer);
    return true;
}

/* Nothing of a run that has ended can still happen. */
static void audit_rest(World *world)
{
    for (uint64_t i = 0; i < world->watch->run_end && !world->is_failed; i++) {
        const WatchRun *run = world->watch->runs[i];
        if (!run) continue;
        if (run->run.open_count || run->run.active_count || run->run.running_count)
            world_fail(world, "run %" PRIu64 " has ended with %u steps open, %u active, %u running", run->run_no,
                       run->run.open_count, run->run.active_count, run->run.running_count);
    }
    for (uint32_t i = 0; i < EXECUTORS; i++)
        if (world->ports[i]->under_way) world_fail(world, "executor %u has %u attempts in the end", i, world->ports[i]->under_way);
    if (engine_stats(world->engine).attempt_under_way) world_fail(world, "the engine has attempts out in the end");
    ask_store(world, world->store, &(QueryAsk){ .query = QUERY_TIMERS_DUE, .params = { cell_int(INT64_MAX) }, .param_count = 1 },
              take_timer, world);
}

static void take_trouble(void *context, Str text) { world_fail(context, "the store: %.*s", STR_ARG(text)); }

void audit(World *world)
{
    Books books = { .world = world, .arena = &world->scratch };
    Error err;
    arena_reset(&world->scratch);
    audit_rest(world);
    ask_store(world, world->store, &(QueryAsk){ .query = QUERY_RECORDS, .params = { cell_int(0) }, .param_count = 1,
                                                .row_count_max = UINT32_MAX }, take_row, &books);
    if (store_check(world->store, take_trouble, world, &err)) world_fail(world, "%s", err.text);
    if (!world->is_failed) audit_chain(&books);
    for (uint64_t i = 0; i < world->watch->run_end && !world->is_failed; i++)
        if (world->watch->runs[i]) audit_run(&books, world->watch->runs[i]);
    if (!world->is_failed) audit_rows(&books);
}
