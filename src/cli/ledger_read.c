#include "cli/ledger_read.h"

#include <string.h>

#include "base/limits.h"
#include "view/run_rows.h"

RunHead run_head_of(const Cell *row)
{
    return (RunHead){ .run_no = (uint64_t)row[RUNS_run_no].integer, .run_id = row[RUNS_id].text,
                      .last_position = (uint64_t)row[RUNS_last_position].integer,
                      .event_count = (uint64_t)row[RUNS_event_count].integer, .head = cell_digest(&row[RUNS_head]) };
}

/* --- where it ends ------------------------------------------------------------------------------------------------------------ */

Status ledger_head(Store *store, LedgerHead *out_head, Error *err)
{
    Arena arena;
    const Cell *row;
    arena_init(&arena, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    Status status = row_select(&arena, store, &ask, &row, err);
    if (!status) *out_head = (LedgerHead){ .log = 1 };
    if (!status && row) {
        out_head->position = (uint64_t)row[LOG_HEADS_position].integer;
        out_head->head = cell_digest(&row[LOG_HEADS_head]);
    }
    arena_deinit(&arena);
    return status;
}

/* --- its rows ----------------------------------------------------------------------------------------------------------------- */

typedef struct Walk {
    uint64_t next, last;
    uint32_t seen;
    size_t size;                    /* of what one read has brought */
    LedgerVisit visit;
    void *context;
    Status status;
    Error *err;
} Walk;

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Walk *walk = context;
    LedgerRow row = ledger_row_of(cells);
    (void)count;
    if (row.position > walk->last) return false;
    walk->seen++;
    walk->next = row.position + 1;
    walk->status = walk->visit(walk->context, &row, walk->err);
    walk->size += row.record.len + row.payload.len;
    return !walk->status && walk->size < STORE_READ_SIZE;
}

Status ledger_rows(Store *store, uint64_t first, uint64_t last, LedgerVisit visit, void *context, Error *err)
{
    Walk walk = { .next = first, .last = last, .visit = visit, .context = context, .err = err };
    do {
        walk.seen = 0;
        walk.size = 0;
        QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int((int64_t)walk.next) }, .param_count = 1 };
        Status status = store_select(store, &ask, take_record, &walk, err);
        /* Visits take time, too: a read that ran out of its own goes on behind the last row that was visited. */
        if (status && !(status == ERR_LIMIT && walk.seen)) return status;
    } while (!walk.status && walk.seen);
    return walk.status;
}

/* --- the ends of runs --------------------------------------------------------------------------------------------------------- */

typedef struct Heads {
    Arena arena;                    /* of one page */
    StepRows rows;
} Heads;

static bool take_run(void *context, const Cell *cells, uint32_t count)
{
    Heads *heads = context;
    StepRows *rows = &heads->rows;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(&heads->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(&heads->arena, cells, count);
    return true;
}

typedef struct Earlier { RunHead *head; uint64_t position; bool is_found; } Earlier;

static bool take_earlier(void *context, const Cell *cells, uint32_t count)
{
    Earlier *earlier = context;
    LedgerRow row = ledger_row_of(cells);
    (void)count;
    if (row.position > earlier->position) return true;
    earlier->head->last_position = row.position;
    earlier->head->event_count = row.first_event + row.event_count - 1;
    earlier->head->head = row.hash;
    earlier->is_found = true;
    return false;
}

/* Where the run stood at that position; false where it had not begun. */
static Status head_at(Store *store, RunHead *head, uint64_t position, bool *out_is_there, Error *err)
{
    *out_is_there = true;
    if (head->last_position <= position) return OK;
    Earlier earlier = { .head = head, .position = position };
    QueryAsk ask = { .query = QUERY_RUN_TAIL, .params = { cell_int((int64_t)head->last_position), cell_int(0) }, .param_count = 2 };
    Status status = store_select(store, &ask, take_earlier, &earlier, err);
    *out_is_there = earlier.is_found;
    return status;
}

Status ledger_run_heads(Store *store, uint64_t position, RunHeadVisit visit, void *context, Error *err)
{
    Heads heads;
    int64_t cursor = INT64_MAX;
    Status status;
    arena_init(&heads.arena, SIZE_MAX);
    do {
        arena_reset(&heads.arena);
        heads.rows = (StepRows){ 0 };
        QueryAsk ask = { .query = QUERY_RUNS, .params = { cell_int(cursor), cell_null(), cell_null() }, .param_count = 3,
                         .row_count_max = 1000 };
        status = store_select(store, &ask, take_run, &heads, err);
        for (size_t i = 0; !status && i < heads.rows.count; i++) {
            bool is_there;
            RunHead head = run_head_of(heads.rows.rows[i]);
            cursor = (int64_t)head.run_no;
            status = head_at(store, &head, position, &is_there, err);
            if (!status && is_there) status = visit(context, &head, err);
        }
    } while (!status && heads.rows.count);
    arena_deinit(&heads.arena);
    return status;
}

/* --- verifying ---------------------------------------------------------------------------------------------------------------- */

static Status verify_one(void *context, const LedgerRow *row, Error *err) { return verify_row(context, row, err); }
static Status verify_head(void *context, const RunHead *head, Error *err) { return verify_run(context, head, err); }

Status ledger_verify(Store *store, const LedgerCheck *check, VerifyReport *out_report, AuditReport *out_rows, Error *err)
{
    LedgerHead head;
    Verifier verifier;
    Status status = ledger_head(store, &head, err);
    if (status) return status;
    verify_init(&verifier, &(VerifyOptions){ .log = head.log, .head = &head, .anchors = check->anchors,
                                             .anchor_count = check->anchor_count, .has_run_heads = true,
                                             .finding = check->finding, .context = check->context });
    status = ledger_rows(store, 1, head.position, verify_one, &verifier, err);
    if (!status) status = ledger_run_heads(store, head.position, verify_head, &verifier, err);
    if (!status) *out_report = verify_end(&verifier);
    verify_deinit(&verifier);
    if (!status) status = audit_store(store, &(AuditOptions){ check->finding, check->context }, out_rows, err);
    if (!status) out_report->damage_count += out_rows->damage_count;
    return status;
}

Status ledger_verify_run(Store *store, const Cell *row, const LedgerCheck *check, VerifyReport *out_report, AuditReport *out_rows,
                         Error *err)
{
    Arena arena;
    StepRows records;
    Verifier verifier;
    RunHead head = run_head_of(row);
    arena_init(&arena, SIZE_MAX);
    Status status = run_records(&arena, store, row, 0, /* has_payloads= */ true, &records, err);
    verify_init(&verifier, &(VerifyOptions){ .log = 1, .is_part = true, .has_run_heads = true, .finding = check->finding,
                                             .context = check->context });
    for (size_t i = 0; !status && i < records.count; i++) {
        LedgerRow record = ledger_row_of(records.rows[i]);
        status = verify_row(&verifier, &record, err);
    }
    if (!status) status = verify_run(&verifier, &head, err);
    if (!status) *out_report = verify_end(&verifier);
    verify_deinit(&verifier);
    arena_deinit(&arena);
    if (!status) status = audit_run(store, row, &(AuditOptions){ check->finding, check->context }, out_rows, err);
    if (!status) out_report->damage_count += out_rows->damage_count;
    return status;
}
