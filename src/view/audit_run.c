/* audit_run.c - one run: its records replayed, and every row that the store has of it held against what they make. */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "view/audit_parts.h"
#include "view/rebuild.h"
#include "view/row_key.h"
#include "view/run_rows.h"

/* How the rows of a run are read, table by table: a question that takes the run and a cursor, and its columns. */
static const struct RunTable {
    uint8_t table, query, cursor_count, cursor[2];
    bool is_text;                   /* the second column of the cursor */
    bool is_from;                   /* the question includes the cursor itself */
} run_tables[] = {
    { TABLE_STEP_RUNS, QUERY_STEP_RUNS, 1, { STEP_RUNS_step_index }, .is_from = true },
    { TABLE_ATTEMPTS, QUERY_ATTEMPTS_OF_RUN, 2, { ATTEMPTS_step_index, ATTEMPTS_attempt } },
    { TABLE_DECISIONS, QUERY_DECISIONS, 2, { DECISIONS_created_ms, DECISIONS_id }, .is_text = true },
    { TABLE_BRANCHES, QUERY_BRANCHES, 2, { BRANCHES_evaluated_ms, BRANCHES_id }, .is_text = true },
    { TABLE_COMPENSATIONS, QUERY_COMPENSATIONS_BY_STATUS, 2, { COMPENSATIONS_status, COMPENSATIONS_id }, .is_text = true },
    { TABLE_TRIGGER_PAYLOADS, QUERY_TRIGGER_PAYLOADS, 2, { TRIGGER_PAYLOADS_received_ms, TRIGGER_PAYLOADS_id }, .is_text = true },
    { TABLE_SIGNALS, QUERY_SIGNALS, 1, { SIGNALS_number } },
    { TABLE_OUTBOX, QUERY_OUTBOX_OF_RUN, 1, { OUTBOX_entry_no } },
};
/* Of a step run, not of a run: the question takes its id. */
static const struct RunTable poll_table = { TABLE_POLLS, QUERY_POLLS_OF_STEP_RUN, 1, { POLLS_attempt_number } };

typedef struct Comparing {
    Audit *audit;
    const Cell *row;                /* of the run */
    Str run_id;
    Rebuild rebuild;
    Arena arena;                    /* of this try: positions, the snapshot, cursors */
    uint64_t *positions;            /* of its records, the newest first */
    size_t position_count, position_capacity;
    const Cell *snapshot, *timer;   /* NULL: there is none */
    bool is_snapshot_met;
    const struct RunTable *table;
    Cell cursor[2];
    uint32_t seen;                  /* rows of a page */
    int64_t step_run_no;            /* of the step run before this one */
    Cell *polled;                   /* ids of the step runs that were polled */
    size_t polled_count, polled_capacity;
    Status status;                  /* of what was asked between */
    Error *err;
} Comparing;

/* --- records ------------------------------------------------------------------------------------------------------- */

static bool take_position(void *context, const Cell *cells, uint32_t count)
{
    Comparing *it = context;
    (void)count;
    it->positions = arena_grow(&it->arena, it->positions, sizeof *it->positions, it->position_count, &it->position_capacity);
    it->positions[it->position_count++] = (uint64_t)cells[LEDGER_position].integer;
    it->cursor[0] = cells[LEDGER_prev_position];
    return true;
}

static Status read_positions(Comparing *it, Error *err)
{
    size_t seen;
    it->cursor[0] = it->row[RUNS_last_position];
    do {
        seen = it->position_count;
        QueryAsk ask = { .query = QUERY_RUN_POSITIONS, .params = { it->cursor[0], cell_int(0) }, .param_count = 2 };
        Status status = store_select(it->audit->store, &ask, take_position, it, err);
        if (status) return status;
    } while (it->position_count > seen && it->cursor[0].kind == CELL_INT && it->cursor[0].integer > 0);
    return OK;
}

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Comparing *it = context;
    (void)count;
    LedgerRow row = ledger_row_of(cells);
    it->seen++;
    it->status = rebuild_record(&it->rebuild, &row, it->err);
    return false;
}

/* The snapshot is of the end of some record: the run as it was then. */
static void compare_snapshot(Comparing *it, uint64_t position)
{
    const Cell *snapshot = it->snapshot;
    Error why;
    if (!snapshot || it->rebuild.options.pass) return;
    if ((uint64_t)snapshot[SNAPSHOTS_event_count].integer != it->rebuild.replay.run.event_count) return;
    it->is_snapshot_met = true;
    Str state = snapshot[SNAPSHOTS_state].kind == CELL_BLOB ? snapshot[SNAPSHOTS_state].text : (Str){ 0 };
    Digest digest = digest_of(state);
    audit_column(it->audit, it->run_id, TABLE_SNAPSHOTS, snapshot, SNAPSHOTS_position, cell_int((int64_t)position));
    audit_column(it->audit, it->run_id, TABLE_SNAPSHOTS, snapshot, SNAPSHOTS_digest,
                 cell_blob((Str){ (const char *)digest.bytes, sizeof digest.bytes }));
    if (replay_verify(&it->rebuild.replay, state, &why))
        audit_tell(it->audit, FINDING_ROW, it->run_id, "maestro_snapshots (%" PRId64 ") state: %s",
                   snapshot[SNAPSHOTS_run_no].integer, why.text);
}

static Status fold_records(Comparing *it, Error *err)
{
    it->err = err;
    for (size_t i = it->position_count; i-- > 0;) {
        QueryAsk ask = { .query = QUERY_RECORD, .params = { cell_int((int64_t)it->positions[i]) }, .param_count = 1 };
        it->seen = 0;
        Status status = store_select(it->audit->store, &ask, take_record, it, err);
        if (!status) status = it->status;
        if (!status && !it->seen) status = error_set(err, ERR_CORRUPT, "record %" PRIu64 " is missing", it->positions[i]);
        if (status) return status;
        compare_snapshot(it, it->positions[i]);
    }
    return OK;
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

/* The number by which the row lies: in append order, so that it grows with the step runs of a run. Which one it has to be the
 * log alone could tell. */
static void compare_number(Comparing *it, const Cell *cells)
{
    int64_t number = cells[STEP_RUNS_step_run_no].integer;
    bool is_sound = number > it->step_run_no && (!it->audit->step_run_no_end || (uint64_t)number < it->audit->step_run_no_end);
    if (!is_sound)
        audit_tell(it->audit, FINDING_ROW, it->run_id, "maestro_step_runs (%" PRId64 ", %" PRId64 ") step_run_no: found %" PRId64
                   ", expected one after %" PRId64 " and before %" PRIu64, cells[STEP_RUNS_workflow_id].integer,
                   cells[STEP_RUNS_step_index].integer, number, it->step_run_no, it->audit->step_run_no_end);
    else it->step_run_no = number;
    if (is_sound && (uint64_t)number > it->audit->step_run_no_last) it->audit->step_run_no_last = (uint64_t)number;
}

static void compare_row(Comparing *it, Table table, const Cell *cells)
{
    if (!rebuild_is_mine(&it->rebuild, table, cells)) return;
    const Cell *expected = rebuild_find(&it->rebuild, table, cells);
    const TableInfo *info = table_info(table);
    it->audit->report->row_count++;
    if (!expected) {
        audit_tell(it->audit, FINDING_ROW, it->run_id, "%.*s: no record makes this row",
                   STR_ARG(audit_place(&it->audit->scratch, table, cells)));
        return;
    }
    for (uint32_t i = info->key_count; i < info->column_count; i++)
        if (table != TABLE_STEP_RUNS || i != STEP_RUNS_step_run_no)
            audit_column(it->audit, it->run_id, table, cells, i, expected[i]);
}

static void note_polled(Comparing *it, const Cell *cells)
{
    bool is_polled = cells[STEP_RUNS_poll_started_at].kind != CELL_NULL || cells[STEP_RUNS_poll_attempt_count].integer > 0;
    if (!is_polled || cells[STEP_RUNS_id].kind != CELL_TEXT) return;
    it->polled = arena_grow(&it->arena, it->polled, sizeof *it->polled, it->polled_count, &it->polled_capacity);
    it->polled[it->polled_count++] = cell_text(arena_copy(&it->arena, cells[STEP_RUNS_id].text));
}

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Comparing *it = context;
    (void)count;
    it->seen++;
    for (uint32_t i = 0; i < it->table->cursor_count; i++) {
        Cell cell = cells[it->table->cursor[i]];
        if (cell.kind == CELL_TEXT || cell.kind == CELL_BLOB) cell.text = arena_copy(&it->arena, cell.text);
        it->cursor[i] = cell;
    }
    if (it->table->is_from) it->cursor[0].integer++;
    if (it->table->table == TABLE_STEP_RUNS && !it->rebuild.options.pass) compare_number(it, cells);
    if (it->table->table == TABLE_STEP_RUNS) note_polled(it, cells);
    compare_row(it, (Table)it->table->table, cells);
    return true;
}

/* All that one question answers, page by page. */
static Status compare_pages(Comparing *it, Cell owner, Error *err)
{
    do {
        it->seen = 0;
        QueryAsk ask = { .query = (Query)it->table->query, .param_count = 1u + it->table->cursor_count,
                         .params = { owner, it->cursor[0], it->cursor[1] } };
        Status status = store_select(it->audit->store, &ask, take_row, it, err);
        if (status) return status;
    } while (it->seen);
    return OK;
}

static Status compare_tables(Comparing *it, Error *err)
{
    it->polled_count = 0;
    for (size_t i = 0; i < sizeof run_tables / sizeof *run_tables; i++) {
        it->table = &run_tables[i];
        bool is_status = it->table->table == TABLE_COMPENSATIONS;
        it->cursor[0] = is_status ? cell_text(STR("")) : cell_int(it->table->is_from ? 0 : INT64_MIN);
        it->cursor[1] = it->table->is_text ? cell_text(STR("")) : cell_int(INT64_MIN);
        Cell owner = it->row[RUNS_run_no];
        if (it->table->table == TABLE_OUTBOX) {             /* a run is a range of entries */
            it->cursor[0] = cell_int(outbox_entry((uint64_t)owner.integer, 0) - 1);
            owner = cell_int(outbox_entry((uint64_t)owner.integer, RUN_NOTIFICATION_COUNT_MAX));
        }
        Status status = compare_pages(it, owner, err);
        if (status) return status;
    }
    it->table = &poll_table;
    for (size_t i = 0; i < it->polled_count; i++) {
        it->cursor[0] = cell_int(INT64_MIN);
        Status status = compare_pages(it, it->polled[i], err);
        if (status) return status;
    }
    return OK;
}

/* A declared key is the row of whichever run has used it last, and that one's records make it, too. */
static void compare_key(Comparing *it, const Cell *expected)
{
    const Cell *found;
    QueryAsk ask = { .query = QUERY_DEDUPE, .param_count = 4, .params = { expected[0], expected[1], expected[2], expected[3] } };
    Status status = row_select(&it->arena, it->audit->store, &ask, &found, it->err);
    if (status) {
        it->status = status;
        return;
    }
    if (found && !cell_is(&found[DEDUPE_run_no], &it->row[RUNS_run_no])) return;
    it->audit->report->row_count++;
    if (found) {
        Audit *audit = it->audit;
        audit->keys = arena_grow(&audit->key_arena, audit->keys, sizeof *audit->keys, audit->key_count, &audit->key_capacity);
        audit->keys[audit->key_count++] = audit_key_hash(expected);
    }
    if (found) audit_column(it->audit, it->run_id, TABLE_DEDUPE, found, DEDUPE_step_index, expected[DEDUPE_step_index]);
    else audit_tell(it->audit, FINDING_ROW, it->run_id, "%.*s: the row is missing",
                    STR_ARG(audit_place(&it->audit->scratch, TABLE_DEDUPE, expected)));
}

static void take_missing(void *context, Table table, const Cell *cells)
{
    Comparing *it = context;
    if (it->status) return;
    if (table == TABLE_DEDUPE) compare_key(it, cells);
    else audit_tell(it->audit, FINDING_ROW, it->run_id, "%.*s: the row is missing",
                    STR_ARG(audit_place(&it->audit->scratch, table, cells)));
}

static void compare_timer(Comparing *it)
{
    int64_t due_ms = it->rebuild.due_ms;
    Cell expected = due_ms == INT64_MAX ? cell_null() : cell_int(due_ms);
    if (it->timer) audit_column(it->audit, it->run_id, TABLE_TIMERS, it->timer, TIMERS_due_ms, expected);
    else if (due_ms != INT64_MAX)
        audit_tell(it->audit, FINDING_ROW, it->run_id, "maestro_timers (%" PRId64 "): the row is missing",
                   it->row[RUNS_run_no].integer);
}

/* --- one try ------------------------------------------------------------------------------------------------------- */

static Status pass(Comparing *it, const RebuildOptions *options, Error *err)
{
    rebuild_init(&it->rebuild, options);
    it->rebuild.replay.find_plan = store_plan;
    it->rebuild.replay.plans = it->audit->store;
    it->status = OK;
    it->step_run_no = 0;
    Status status = fold_records(it, err);
    if (!status) {
        compare_row(it, TABLE_RUNS, it->row);
        status = compare_tables(it, err);
    }
    if (!status) rebuild_rest(&it->rebuild, take_missing, it);
    if (!status) status = it->status;
    if (!status && !options->pass) {
        compare_timer(it);
        if (it->snapshot && !it->is_snapshot_met)
            audit_tell(it->audit, FINDING_ROW, it->run_id, "maestro_snapshots (%" PRId64 ") event_count: found %" PRId64
                       ", where no record ends", it->row[RUNS_run_no].integer, it->snapshot[SNAPSHOTS_event_count].integer);
    }
    rebuild_deinit(&it->rebuild);
    return status;
}

static Status compare(Comparing *it, Error *err)
{
    const Plan *plan;
    Digest digest = cell_digest(&it->row[RUNS_plan_digest]);
    RebuildOptions options = { .run_no = (uint64_t)it->row[RUNS_run_no].integer };
    if (it->row[RUNS_id].kind != CELL_TEXT || !id_read(it->row[RUNS_id].text, &options.id))
        return error_set(err, ERR_CORRUPT, "its id is none");
    Status status = audit_plan(it->audit, &digest, &plan, err);
    if (!status) status = read_positions(it, err);
    QueryAsk ask = { .query = QUERY_SNAPSHOT, .params = { it->row[RUNS_run_no] }, .param_count = 1 };
    if (!status) status = row_select(&it->arena, it->audit->store, &ask, &it->snapshot, err);
    ask.query = QUERY_TIMER;
    if (!status) status = row_select(&it->arena, it->audit->store, &ask, &it->timer, err);
    options.plan = plan;
    options.pass_count = 1 + (uint32_t)(((uint64_t)it->row[RUNS_event_count].integer + plan->step_count) / AUDIT_ROW_COUNT);
    for (; !status && options.pass < options.pass_count; options.pass++) status = pass(it, &options, err);
    return status;
}

typedef struct KeptFinding { struct KeptFinding *next; FindingKind kind; Str text; } KeptFinding;
typedef struct Kept { Arena arena; KeptFinding *first, **last; uint32_t count; } Kept;

static void keep(void *context, const Finding *finding)
{
    Kept *kept = context;
    if (++kept->count > AUDIT_FINDING_COUNT_MAX) return;
    KeptFinding *it = ARENA_NEW(&kept->arena, KeptFinding);
    *it = (KeptFinding){ .kind = finding->kind, .text = arena_copy(&kept->arena, finding->text) };
    *kept->last = it;
    kept->last = &it->next;
}

/* What was found by one try. It counts where the run's row is afterwards what it was before. */
static Status try_run(Audit *audit, const Cell *row, Kept *kept, AuditReport *report, Error *err)
{
    AuditOptions options = { .finding = keep, .context = kept };
    const AuditOptions *told = audit->options;
    AuditReport *total = audit->report;
    Comparing it = { .audit = audit, .row = row, .run_id = row[RUNS_id].kind == CELL_TEXT ? row[RUNS_id].text : STR("") };
    audit->options = &options;
    audit->report = report;
    arena_init(&it.arena, SIZE_MAX);
    Status status = compare(&it, err);
    if (status == ERR_CORRUPT) {
        audit_tell(audit, FINDING_ROW, it.run_id, "its rows cannot be compared: %s", err->text);
        status = OK;
    } else if (status == ERR_UNAVAILABLE && strstr(err->text, "newer")) {
        audit_tell(audit, FINDING_NEWER, it.run_id, "its rows were not compared: %s", err->text);
        status = OK;
    }
    arena_deinit(&it.arena);
    audit->options = told;
    audit->report = total;
    return status;
}

static bool row_is(const Cell *a, const Cell *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!cell_is(&a[i], &b[i])) return false;
    return true;
}

static void pass_on(Audit *audit, Str run_id, const Kept *kept, const AuditReport *report)
{
    audit->report->row_count += report->row_count;
    for (const KeptFinding *it = kept->first; it; it = it->next) audit_tell(audit, it->kind, run_id, "%.*s", STR_ARG(it->text));
    if (kept->count > AUDIT_FINDING_COUNT_MAX)
        audit_tell(audit, FINDING_ROW, run_id, "and %" PRIu32 " more", kept->count - AUDIT_FINDING_COUNT_MAX);
}

/* Where the store is in use, runs have begun steps since the head of the log was read: as it is now, it is past all that the row
 * at hand knows of. */
static Status read_number_end(Audit *audit, Arena *arena, Error *err)
{
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    const Cell *head = NULL;
    if (!audit->step_run_no_end) return OK;
    Status status = row_select(arena, audit->store, &ask, &head, err);
    if (!status && head) audit->step_run_no_end = (uint64_t)head[LOG_HEADS_next_step_run_no].integer;
    return status;
}

Status audit_compare_run(Audit *audit, const Cell *row, Error *err)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Status status = OK;
    bool is_still = false;
    for (uint32_t left = AUDIT_TRY_COUNT_MAX; !status && !is_still && left; left--) {
        Kept kept = { 0 };
        AuditReport report = { 0 };
        size_t key_count = audit->key_count;
        arena_init(&kept.arena, SIZE_MAX);
        kept.last = &kept.first;
        const Cell *after = NULL;
        status = read_number_end(audit, &arena, err);
        if (!status) status = try_run(audit, row, &kept, &report, err);
        QueryAsk ask = { .query = QUERY_RUN, .params = { row[RUNS_run_no] }, .param_count = 1 };
        if (!status) status = row_select(&arena, audit->store, &ask, &after, err);
        is_still = !status && (!after || row_is(row, after, table_info(TABLE_RUNS)->column_count));
        if (is_still) pass_on(audit, row[RUNS_id].text, &kept, &report);
        else audit->key_count = key_count;
        arena_deinit(&kept.arena);
        if (after) row = after;
    }
    if (!status && !is_still)
        audit_tell(audit, FINDING_BUSY, row[RUNS_id].text, "it goes on all the time; its rows were not compared");
    arena_deinit(&arena);
    return status;
}
