/* audit_log.c - what follows from the records of the log itself: plans, revisions, archived runs, secrets, decisions of people, the log's head. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"
#include "ledger/record.h"
#include "view/audit_parts.h"
#include "view/revision_row.h"
#include "view/row_key.h"
#include "view/run_rows.h"

typedef struct RevisionFact {
    Str tenant, workflow, label;
    Digest digest;
    uint32_t version;
    int64_t created_ms, updated_ms;
    bool is_active, is_removed;
} RevisionFact;

typedef struct RemovalFact { Str tenant, workflow; uint64_t version; } RemovalFact;
typedef struct ArchiveFact { uint64_t run_no; Str run_id, path; } ArchiveFact;
typedef struct PlanFact { Digest digest; int64_t first_ms; } PlanFact;

struct AuditLog {
    Arena arena;
    const Cell *head;               /* of the log, before everything else; NULL: there is none */
    RevisionFact *revisions;
    RemovalFact *removals;
    ArchiveFact *archives;
    PlanFact *plans;
    size_t revision_count, revision_capacity, removal_count, removal_capacity, archive_count, archive_capacity, plan_count, plan_capacity;
    Map revision_keys, archive_keys, plan_keys;
    AuditFacts *facts;
    uint64_t epoch;                 /* the last that a record tells */
    int64_t now_ms;                 /* of the newest record */
    int64_t cursor;
    uint32_t seen;
    uint64_t run_no_last;
    bool is_unreadable;             /* a record could not be read: what it said is not known, and the chain tells why */
    Audit *audit;
};

AuditLog *audit_log_new(void)
{
    AuditLog *log = calloc(1, sizeof *log);
    CHECK(log != NULL);
    arena_init(&log->arena, SIZE_MAX);
    log->facts = audit_facts_new(&log->arena);
    map_init(&log->revision_keys, &log->arena, 0);
    map_init(&log->archive_keys, &log->arena, 0);
    map_init(&log->plan_keys, &log->arena, 0);
    return log;
}

void audit_log_free(AuditLog *log)
{
    arena_deinit(&log->arena);
    free(log);
}

/* --- events of the log --------------------------------------------------------------------------------------------- */

static void note_plan(AuditLog *log, const Digest *digest, int64_t now_ms)
{
    uint32_t index;
    Str key = { (const char *)digest->bytes, sizeof digest->bytes };
    if (!map_find(&log->plan_keys, key, &index)) {
        index = (uint32_t)log->plan_count;
        key = arena_copy(&log->arena, key);
        log->plans = arena_grow(&log->arena, log->plans, sizeof *log->plans, log->plan_count, &log->plan_capacity);
        log->plans[log->plan_count++] = (PlanFact){ .digest = *digest, .first_ms = now_ms };
        map_add(&log->plan_keys, key, index, NULL);
    }
    if (now_ms < log->plans[index].first_ms) log->plans[index].first_ms = now_ms;
}

static Str revision_key(Arena *arena, Str tenant, Str workflow, uint32_t version)
{
    return arena_format(arena, "%.*s%c%.*s%c%" PRIu32, STR_ARG(tenant), 0, STR_ARG(workflow), 0, version);
}

static RevisionFact *revision_of(AuditLog *log, const Event *event)
{
    uint32_t index;
    Str key = revision_key(&log->arena, event->tenant, event->name, event->revision);
    if (map_find(&log->revision_keys, key, &index)) return &log->revisions[index];
    map_add(&log->revision_keys, key, (uint32_t)log->revision_count, NULL);
    log->revisions = arena_grow(&log->arena, log->revisions, sizeof *log->revisions, log->revision_count,
                                &log->revision_capacity);
    RevisionFact *fact = &log->revisions[log->revision_count++];
    *fact = (RevisionFact){ .tenant = arena_copy(&log->arena, event->tenant), .workflow = arena_copy(&log->arena, event->name),
                            .version = event->revision };
    return fact;
}

static void set_active(RevisionFact *fact, bool is_active, int64_t now_ms)
{
    if (fact->is_active == is_active) return;
    fact->is_active = is_active;
    fact->updated_ms = now_ms;
}

static void revision_stored(AuditLog *log, const Event *event, int64_t now_ms)
{
    RevisionFact *fact = revision_of(log, event);
    fact->created_ms = fact->updated_ms = now_ms;
    fact->label = arena_copy(&log->arena, event->text);
    fact->is_active = fact->is_removed = false;
    if (!event->digest) return;
    fact->digest = *event->digest;
    note_plan(log, event->digest, now_ms);
}

static void revision_moved(AuditLog *log, const Event *event, int64_t now_ms)
{
    RevisionFact *fact = revision_of(log, event);
    bool is_active = event->kind == EVENT_REVISION_ACTIVATED;
    set_active(fact, is_active, now_ms);
    for (size_t i = 0; is_active && i < log->revision_count; i++) {
        RevisionFact *other = &log->revisions[i];
        if (other->version != event->revision && str_is(other->workflow, event->name) && str_is(other->tenant, event->tenant))
            set_active(other, false, now_ms);
    }
}

/* What was removed before that was kept says nothing of it. */
static void revision_removed(AuditLog *log, const Event *event)
{
    size_t i = 0;
    revision_of(log, event)->is_removed = true;
    if (!event->count) return;
    while (i < log->removal_count
           && !(str_is(log->removals[i].workflow, event->name) && str_is(log->removals[i].tenant, event->tenant))) i++;
    if (i == log->removal_count) {
        log->removals = arena_grow(&log->arena, log->removals, sizeof *log->removals, log->removal_count, &log->removal_capacity);
        log->removals[log->removal_count++] = (RemovalFact){ .tenant = arena_copy(&log->arena, event->tenant),
                                                             .workflow = arena_copy(&log->arena, event->name) };
    }
    log->removals[i].version = event->count;
}

static void run_archived(AuditLog *log, const Event *event)
{
    uint64_t *key = ARENA_NEW(&log->arena, uint64_t);
    *key = event->count;
    log->archives = arena_grow(&log->arena, log->archives, sizeof *log->archives, log->archive_count, &log->archive_capacity);
    log->archives[log->archive_count] = (ArchiveFact){ .run_no = event->count, .run_id = arena_copy(&log->arena, event->name),
                                                       .path = arena_copy(&log->arena, event->text) };
    map_add(&log->archive_keys, (Str){ (const char *)key, sizeof *key }, (uint32_t)log->archive_count++, NULL);
}

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    AuditLog *log = context;
    Arena scratch;
    Record record;
    Error why;
    (void)count;
    log->seen++;
    log->cursor = cells[LEDGER_position].integer;
    arena_init(&scratch, SIZE_MAX);
    if (cells[LEDGER_record].kind != CELL_BLOB || record_decode_any(&scratch, cells[LEDGER_record].text, &record, &why)) {
        log->is_unreadable = true;
        record = (Record){ 0 };
    }
    if (record.event_count) log->now_ms = record.head.now_ms;
    for (uint32_t i = 0; i < record.event_count; i++) {
        const Event *event = &record.events[i];
        if (event->kind == EVENT_REVISION_STORED) revision_stored(log, event, record.head.now_ms);
        else if (event->kind == EVENT_REVISION_REMOVED) revision_removed(log, event);
        else if (event->kind == EVENT_REVISION_ACTIVATED || event->kind == EVENT_REVISION_DEACTIVATED)
            revision_moved(log, event, record.head.now_ms);
        else if (event->kind == EVENT_RUN_ARCHIVED) run_archived(log, event);
        else if (event->kind == EVENT_OWNER_CHANGED) log->epoch = event->count;
        audit_facts_note(log->facts, event, &record.head);
    }
    arena_deinit(&scratch);
    return true;
}

Status audit_log_read(Audit *audit, AuditLog *log, Error *err)
{
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    Status status = row_select(&log->arena, audit->store, &ask, &log->head, err);
    log->audit = audit;
    if (!status && log->head) audit->step_run_no_end = (uint64_t)log->head[LOG_HEADS_next_step_run_no].integer;
    while (!status) {
        log->seen = 0;
        ask = (QueryAsk){ .query = QUERY_LOG_RECORDS, .params = { cell_int(log->cursor) }, .param_count = 1 };
        status = store_select(audit->store, &ask, take_record, log, err);
        if (!log->seen) break;
    }
    return status;
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

void audit_log_run(Audit *audit, AuditLog *log, const Cell *row, bool *out_is_here)
{
    uint64_t run_no = (uint64_t)row[RUNS_run_no].integer;
    uint32_t index;
    Str id = row[RUNS_id].kind == CELL_TEXT ? row[RUNS_id].text : STR("");
    if (run_no > log->run_no_last) log->run_no_last = run_no;
    if (row[RUNS_updated_ms].kind == CELL_INT && row[RUNS_updated_ms].integer > log->now_ms)
        log->now_ms = row[RUNS_updated_ms].integer;
    Digest digest = { { 0 } };
    if (row[RUNS_plan_digest].kind == CELL_BLOB && row[RUNS_plan_digest].text.len == sizeof digest)
        memcpy(&digest, row[RUNS_plan_digest].text.ptr, sizeof digest);
    /* A plan came with its revision, which may be younger than a run that goes on with it; or, before there were any, with a run. */
    Str key = { (const char *)digest.bytes, sizeof digest.bytes };
    bool is_of_revision = row[RUNS_definition_version].integer && map_find(&log->plan_keys, key, &index);
    if (!is_of_revision) note_plan(log, &digest, row[RUNS_created_ms].integer);
    *out_is_here = !map_find(&log->archive_keys, (Str){ (const char *)&run_no, sizeof run_no }, &index);
    if (*out_is_here) return;
    audit_column(audit, id, TABLE_RUNS, row, RUNS_id, cell_text(log->archives[index].run_id));
    audit_column(audit, id, TABLE_RUNS, row, RUNS_archived_to, cell_text(log->archives[index].path));
}

/* --- plans --------------------------------------------------------------------------------------------------------- */

typedef struct PlanPage { AuditLog *log; Cell cursor; uint32_t seen; Arena arena; } PlanPage;

static bool take_plan(void *context, const Cell *cells, uint32_t count)
{
    PlanPage *page = context;
    AuditLog *log = page->log;
    Audit *audit = log->audit;
    uint32_t index;
    (void)count;
    page->seen++;
    page->cursor = cells[PLANS_digest];
    if (page->cursor.kind != CELL_NULL && page->cursor.kind != CELL_INT)
        page->cursor.text = arena_copy(&page->arena, page->cursor.text);
    audit->report->row_count++;
    Str text = cells[PLANS_document].kind == CELL_TEXT ? cells[PLANS_document].text : STR("");
    Digest digest = digest_of(text);
    Str bytes = { (const char *)digest.bytes, sizeof digest.bytes };
    Cell made = cell_blob(bytes);
    if (!cell_is(&cells[PLANS_digest], &made))
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s document: found one with the digest %.*s",
                   STR_ARG(audit_place(&audit->scratch, TABLE_PLANS, cells)), STR_ARG(audit_text(&audit->scratch, &made)));
    if (cells[PLANS_digest].kind == CELL_BLOB && map_find(&log->plan_keys, cells[PLANS_digest].text, &index))
        audit_column(audit, STR(""), TABLE_PLANS, cells, PLANS_created_ms, cell_int(log->plans[index].first_ms));
    else if (!log->is_unreadable)
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: neither a run nor a revision has this plan",
                   STR_ARG(audit_place(&audit->scratch, TABLE_PLANS, cells)));
    return true;
}

static Status compare_plans(Audit *audit, AuditLog *log, Error *err)
{
    PlanPage page = { .log = log, .cursor = cell_blob(STR("")) };
    Status status;
    arena_init(&page.arena, SIZE_MAX);
    do {
        page.seen = 0;
        QueryAsk ask = { .query = QUERY_PLANS, .params = { page.cursor }, .param_count = 1 };
        status = store_select(audit->store, &ask, take_plan, &page, err);
    } while (!status && page.seen);
    arena_deinit(&page.arena);
    return status;
}

/* --- revisions ----------------------------------------------------------------------------------------------------- */

static void compare_revision(Audit *audit, Arena *arena, const RevisionFact *fact, const Cell *row)
{
    const Plan *plan;
    Error why;
    Cell expected[COLUMN_COUNT_MAX] = {
        [REVISIONS_label] = fact->label.len ? cell_text(fact->label) : cell_null(),
        [REVISIONS_digest] = cell_blob((Str){ (const char *)fact->digest.bytes, sizeof fact->digest.bytes }),
        [REVISIONS_active] = cell_int(fact->is_active),
        [REVISIONS_created_ms] = cell_int(fact->created_ms), [REVISIONS_updated_ms] = cell_int(fact->updated_ms),
    };
    uint64_t mask = COLUMN_BIT(REVISIONS_label) | COLUMN_BIT(REVISIONS_digest) | COLUMN_BIT(REVISIONS_active)
                  | COLUMN_BIT(REVISIONS_created_ms) | COLUMN_BIT(REVISIONS_updated_ms);
    if (!audit_plan(audit, &fact->digest, &plan, &why)) {
        revision_row_describe(arena, plan->document, plan->id, expected);
        mask |= REVISION_ROW_MASK;
    } else {
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: what follows from its plan cannot be compared: %s",
                   STR_ARG(audit_place(&audit->scratch, TABLE_REVISIONS, row)), why.text);
    }
    for (; mask; mask &= mask - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(mask);
        audit_column(audit, STR(""), TABLE_REVISIONS, row, column, expected[column]);
    }
}

static bool take_count(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[0].integer;
    return false;
}

static Status compare_revisions(Audit *audit, AuditLog *log, Error *err)
{
    Status status = OK;
    Arena arena;
    int64_t count = 0;
    uint64_t found_count = 0;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; !status && i < log->revision_count; i++) {
        const RevisionFact *fact = &log->revisions[i];
        const Cell *row;
        if (fact->is_removed) continue;         /* a row that is there all the same is one too many */
        Cell key[3] = { cell_text(fact->tenant), cell_text(fact->workflow), cell_int(fact->version) };
        arena_reset(&arena);
        QueryAsk ask = { .query = QUERY_REVISION, .params = { key[0], key[1], key[2] }, .param_count = 3 };
        status = row_select(&arena, audit->store, &ask, &row, err);
        if (status) break;
        audit->report->row_count++;
        found_count += row != NULL;
        if (row) compare_revision(audit, &arena, fact, row);
        else audit_tell(audit, FINDING_ROW, STR(""), "%.*s: the row is missing",
                        STR_ARG(audit_place(&arena, TABLE_REVISIONS, key)));
    }
    QueryAsk ask = { .query = QUERY_COUNT_OF_REVISIONS };
    if (!status) status = store_select(audit->store, &ask, take_count, &count, err);
    if (!status && !log->is_unreadable && (uint64_t)count > found_count)
        audit_tell(audit, FINDING_ROW, STR(""), "maestro_revisions has %" PRId64 " rows, and records make %" PRIu64 " of them",
                   count, found_count);
    arena_deinit(&arena);
    return status;
}

typedef struct RemovalPage { Audit *audit; const AuditLog *log; Arena arena; Cell cursor[2]; uint32_t seen; uint64_t found_count; } RemovalPage;

static bool take_removal(void *context, const Cell *cells, uint32_t count)
{
    RemovalPage *page = context;
    const RemovalFact *fact = NULL;
    (void)count;
    page->seen++;
    page->audit->report->row_count++;
    for (uint32_t i = 0; i < 2; i++) page->cursor[i] = cell_text(arena_copy(&page->arena, cells[i].text));
    for (size_t i = 0; !fact && i < page->log->removal_count; i++) {
        const RemovalFact *other = &page->log->removals[i];
        if (str_is(other->workflow, cells[REMOVALS_workflow_id].text) && str_is(other->tenant, cells[REMOVALS_tenant].text)) fact = other;
    }
    page->found_count += fact != NULL;
    if (fact) audit_column(page->audit, STR(""), TABLE_REMOVALS, cells, REMOVALS_version, cell_int((int64_t)fact->version));
    else if (!page->log->is_unreadable)
        audit_tell(page->audit, FINDING_ROW, STR(""), "%.*s: no record makes this row",
                   STR_ARG(audit_place(&page->arena, TABLE_REMOVALS, cells)));
    return true;
}

static Status compare_removals(Audit *audit, const AuditLog *log, Error *err)
{
    RemovalPage page = { .audit = audit, .log = log, .cursor = { cell_text(STR("")), cell_text(STR("")) } };
    Status status;
    arena_init(&page.arena, SIZE_MAX);
    do {
        page.seen = 0;
        QueryAsk ask = { .query = QUERY_REMOVALS, .params = { page.cursor[0], page.cursor[1] }, .param_count = 2 };
        status = store_select(audit->store, &ask, take_removal, &page, err);
    } while (!status && page.seen);
    if (!status && page.found_count < log->removal_count)
        audit_tell(audit, FINDING_ROW, STR(""), "maestro_removed_revisions has %" PRIu64 " rows, and records make %zu of them",
                   page.found_count, log->removal_count);
    arena_deinit(&page.arena);
    return status;
}

/* --- declared keys ------------------------------------------------------------------------------------------------- */

typedef struct KeyPage { Audit *audit; const AuditLog *log; Cell cursor[4]; uint32_t seen; Arena arenas[2]; } KeyPage;

static int hash_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Those of archived runs stay, and their records are elsewhere. */
static bool take_key(void *context, const Cell *cells, uint32_t count)
{
    KeyPage *page = context;
    Audit *audit = page->audit;
    uint64_t run_no = (uint64_t)cells[DEDUPE_run_no].integer, hash = audit_key_hash(cells);
    uint32_t index;
    (void)count;
    page->seen++;
    for (uint32_t i = 0; i < 4; i++) {
        page->cursor[i] = cells[i];
        if (cells[i].kind == CELL_TEXT || cells[i].kind == CELL_BLOB)
            page->cursor[i].text = arena_copy(&page->arenas[0], cells[i].text);
    }
    if (map_find(&page->log->archive_keys, (Str){ (const char *)&run_no, sizeof run_no }, &index)) return true;
    if (!audit->key_count || !bsearch(&hash, audit->keys, audit->key_count, sizeof hash, hash_compare))
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: no record makes this row",
                   STR_ARG(audit_place(&audit->scratch, TABLE_DEDUPE, cells)));
    return true;
}

static Status compare_keys(Audit *audit, const AuditLog *log, Error *err)
{
    KeyPage page = { .audit = audit, .log = log,
                     .cursor = { cell_text(STR("")), cell_text(STR("")), cell_text(STR("")), cell_int(-1) } };
    Status status;
    if (audit->key_count) qsort(audit->keys, audit->key_count, sizeof *audit->keys, hash_compare);
    for (uint32_t i = 0; i < 2; i++) arena_init(&page.arenas[i], SIZE_MAX);
    do {
        page.seen = 0;
        QueryAsk ask = { .query = QUERY_KEYS,
                         .params = { page.cursor[0], page.cursor[1], page.cursor[2], page.cursor[3] }, .param_count = 4 };
        Arena before = page.arenas[0];          /* holds the cursor of the page before while the next one is read */
        page.arenas[0] = page.arenas[1];
        page.arenas[1] = before;
        arena_reset(&page.arenas[0]);
        status = store_select(audit->store, &ask, take_key, &page, err);
    } while (!status && page.seen);
    for (uint32_t i = 0; i < 2; i++) arena_deinit(&page.arenas[i]);
    return status;
}

/* --- the head ------------------------------------------------------------------------------------------------------ */

static void compare_head_from(Audit *audit, const Cell *head, uint32_t column, int64_t least)
{
    if (head[column].kind == CELL_INT && head[column].integer >= least) return;
    audit_tell(audit, FINDING_ROW, STR(""), "maestro_log_heads (1) %s: found %.*s, expected %" PRId64 " or more",
               table_info(TABLE_LOG_HEADS)->columns[column].name, STR_ARG(audit_text(&audit->scratch, &head[column])), least);
}

/* What every owner raises and every commit moves on may be ahead of the records, and never behind them. */
static void compare_head(Audit *audit, const AuditLog *log)
{
    const Cell *head = log->head;
    int64_t step_run_no = (int64_t)audit->step_run_no_last + 1;
    compare_head_from(audit, head, LOG_HEADS_epoch, (int64_t)log->epoch);
    compare_head_from(audit, head, LOG_HEADS_now_ms, log->now_ms);
    audit_column(audit, STR(""), TABLE_LOG_HEADS, head, LOG_HEADS_parent, cell_null());
    audit_column(audit, STR(""), TABLE_LOG_HEADS, head, LOG_HEADS_next_run_no, cell_int((int64_t)log->run_no_last + 1));
    if (log->archive_count) compare_head_from(audit, head, LOG_HEADS_next_step_run_no, step_run_no);
    else audit_column(audit, STR(""), TABLE_LOG_HEADS, head, LOG_HEADS_next_step_run_no, cell_int(step_run_no));
}

static bool take_any(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    *(bool *)context = true;
    return false;
}

Status audit_log_compare(Audit *audit, AuditLog *log, Error *err)
{
    const Cell *head;
    bool has_record = false;
    Status status = compare_plans(audit, log, err);
    if (!status) status = compare_revisions(audit, log, err);
    if (!status) status = compare_removals(audit, log, err);
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (!status) status = row_select(&log->arena, audit->store, &ask, &head, err);
    ask = (QueryAsk){ .query = QUERY_RECORDS, .params = { cell_int(INT64_MIN) }, .param_count = 1, .row_count_max = 1 };
    if (!status) status = store_select(audit->store, &ask, take_any, &has_record, err);
    if (status) return status;
    if (!log->head || !head) {
        if (has_record) audit_tell(audit, FINDING_ROW, STR(""), "maestro_log_heads (1): the row is missing");
        return OK;
    }
    audit->report->row_count++;
    if (!cell_is(&head[LOG_HEADS_position], &log->head[LOG_HEADS_position])) return OK;     /* it has gone on meanwhile */
    compare_head(audit, log);
    status = compare_keys(audit, log, err);
    if (status || log->is_unreadable) return status;
    return audit_facts_compare(audit, log->facts, err);
}
