/* audit_fact.c - rows that single events of the log make: secrets and keys of tenants, and what people decided about schedules and policies.
 *
 * What the log says of a row is kept as the row itself, by its key, until the tables were looked at. Of sealed bytes the log has the digest, and
 * nobody reads them here. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "ledger/record.h"
#include "view/audit_parts.h"
#include "view/run_rows.h"

typedef struct Fact {
    Table table;
    Cell *row;
    Digest sealed;                  /* of what its column of bytes has */
    bool is_there, is_seen;
} Fact;

struct AuditFacts {
    Arena *arena;
    Fact *facts;
    size_t count, capacity;
    Map keys;
};

/* Each gives rows in the order of their keys, those behind the one that is asked with. */
static const struct { Table table; Query query; } tables[] = {
    { TABLE_TENANT_KEYS, QUERY_TENANT_KEYS }, { TABLE_SECRETS, QUERY_SECRETS }, { TABLE_OVERRIDES, QUERY_OVERRIDES },
    { TABLE_REVIEWS, QUERY_REVIEWS },
};

AuditFacts *audit_facts_new(Arena *arena)
{
    AuditFacts *facts = ARENA_NEW(arena, AuditFacts);
    facts->arena = arena;
    map_init(&facts->keys, arena, 0);
    return facts;
}

/* All of it: what is shown to people is cut. */
static Str key_of(Arena *arena, Table table, const Cell *cells)
{
    Str key = arena_format(arena, "%d", (int)table);
    for (uint32_t i = 0; i < table_info(table)->key_count; i++) {
        Str text = cells[i].kind == CELL_INT ? arena_format(arena, "%" PRId64, cells[i].integer)
                                             : cells[i].kind == CELL_NULL ? STR("") : cells[i].text;
        key = arena_format(arena, "%.*s %d:%zu:%.*s", STR_ARG(key), (int)cells[i].kind, text.len, STR_ARG(text));
    }
    return key;
}

/* NULL: the log says nothing of such a row. */
static Fact *fact_find(AuditFacts *facts, Table table, const Cell *cells)
{
    uint32_t index;
    return map_find(&facts->keys, key_of(facts->arena, table, cells), &index) ? &facts->facts[index] : NULL;
}

/* `row` lives as long as the facts. */
static Fact *fact_add(AuditFacts *facts, Table table, Cell *row)
{
    map_add(&facts->keys, key_of(facts->arena, table, row), (uint32_t)facts->count, NULL);
    facts->facts = arena_grow(facts->arena, facts->facts, sizeof *facts->facts, facts->count, &facts->capacity);
    facts->facts[facts->count] = (Fact){ .table = table, .row = row };
    return &facts->facts[facts->count++];
}

/* --- what the log says ----------------------------------------------------------------------------------------------------- */

static Cell text_cell(AuditFacts *facts, Str text) { return cell_text(arena_copy(facts->arena, text)); }

static Cell *tenant_key_row(AuditFacts *facts, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(facts->arena, Cell, table_info(TABLE_TENANT_KEYS)->column_count);
    row[TENANT_KEYS_tenant] = text_cell(facts, event->tenant);
    row[TENANT_KEYS_created_ms] = cell_int(head->now_ms);
    row[TENANT_KEYS_created_by] = text_cell(facts, head->actor);
    return row;
}

static Cell *secret_row(AuditFacts *facts, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(facts->arena, Cell, table_info(TABLE_SECRETS)->column_count);
    row[SECRETS_tenant] = text_cell(facts, event->tenant);
    row[SECRETS_name] = text_cell(facts, event->name);
    row[SECRETS_created_ms] = row[SECRETS_updated_ms] = cell_int(head->now_ms);
    row[SECRETS_created_by] = row[SECRETS_updated_by] = text_cell(facts, head->actor);
    return row;
}

static Cell *override_row(AuditFacts *facts, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(facts->arena, Cell, table_info(TABLE_OVERRIDES)->column_count);
    row[OVERRIDES_tenant] = text_cell(facts, event->tenant);
    row[OVERRIDES_workflow_id] = text_cell(facts, event->name);
    row[OVERRIDES_trigger_no] = cell_int((int64_t)event->count);
    row[OVERRIDES_due_ms] = cell_int(event->due_ms);
    row[OVERRIDES_held_by] = text_cell(facts, event->text);
    row[OVERRIDES_reason] = text_cell(facts, head->rationale);
    row[OVERRIDES_created_ms] = cell_int(head->now_ms);
    row[OVERRIDES_created_by] = text_cell(facts, head->actor);
    return row;
}

static Cell *review_row(AuditFacts *facts, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(facts->arena, Cell, table_info(TABLE_REVIEWS)->column_count);
    row[REVIEWS_tenant] = text_cell(facts, event->tenant);
    row[REVIEWS_policy] = text_cell(facts, event->name);
    row[REVIEWS_digest] = text_cell(facts, event->key);
    row[REVIEWS_reviewer] = text_cell(facts, event->source);
    row[REVIEWS_verdict] = cell_text(event->flags == 1 ? STR("approved") : STR("rejected"));
    row[REVIEWS_comment] = event->text.len ? text_cell(facts, event->text) : cell_null();
    row[REVIEWS_created_ms] = cell_int(head->now_ms);
    row[REVIEWS_created_by] = text_cell(facts, head->actor);
    return row;
}

typedef Cell *(*MakeRow)(AuditFacts *facts, const Event *event, const RecordHead *head);

static const struct { EventKind kind; Table table; MakeRow row; bool removes; } makers[] = {
    { EVENT_TENANT_KEY_MADE, TABLE_TENANT_KEYS, tenant_key_row, false },
    { EVENT_SECRET_SET, TABLE_SECRETS, secret_row, false },
    { EVENT_SECRET_REMOVED, TABLE_SECRETS, secret_row, true },
    { EVENT_SCHEDULE_OVERRIDDEN, TABLE_OVERRIDES, override_row, false },
    { EVENT_OVERRIDE_REMOVED, TABLE_OVERRIDES, override_row, true },
    { EVENT_POLICY_REVIEWED, TABLE_REVIEWS, review_row, false },
};

/* What says when it was made says so until the row is removed. */
static void keep_fixed(const Fact *before, Cell *row)
{
    uint64_t fixed = before->is_there ? table_fixed(before->table) : 0;
    for (uint32_t i = 0; i < table_info(before->table)->column_count; i++)
        if (fixed & COLUMN_BIT(i)) row[i] = before->row[i];
}

void audit_facts_note(AuditFacts *facts, const Event *event, const RecordHead *head)
{
    size_t m = 0;
    while (m < sizeof makers / sizeof *makers && makers[m].kind != (EventKind)event->kind) m++;
    if (m == sizeof makers / sizeof *makers) return;
    Cell *row = makers[m].row(facts, event, head);
    Fact *fact = fact_find(facts, makers[m].table, row);
    if (fact) keep_fixed(fact, row);
    else fact = fact_add(facts, makers[m].table, row);
    fact->row = row;
    fact->is_there = !makers[m].removes;
    if (event->digest) fact->sealed = *event->digest;
}

/* --- what the tables say --------------------------------------------------------------------------------------------------- */

typedef struct Page { Audit *audit; AuditFacts *facts; Table table; const Cell *cursor; uint32_t seen; } Page;

static void compare_sealed(Audit *audit, const Fact *fact, const Cell *cells, uint32_t column)
{
    Digest digest = digest_of(cells[column].kind == CELL_BLOB ? cells[column].text : STR(""));
    if (memcmp(&digest, &fact->sealed, sizeof digest))
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s %s: found bytes of another digest than the record has",
                   STR_ARG(audit_place(&audit->scratch, fact->table, cells)), table_info(fact->table)->columns[column].name);
}

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Page *page = context;
    Audit *audit = page->audit;
    const TableInfo *info = table_info(page->table);
    page->seen++;
    audit->report->row_count++;
    page->cursor = row_copy(page->facts->arena, cells, info->key_count);
    Fact *fact = fact_find(page->facts, page->table, cells);
    if (!fact || !fact->is_there) {
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: no record makes this row", STR_ARG(audit_place(&audit->scratch, page->table, cells)));
        return true;
    }
    fact->is_seen = true;
    for (uint32_t i = info->key_count; i < count; i++) {
        if (info->columns[i].type == COLUMN_BLOB) compare_sealed(audit, fact, cells, i);
        else audit_column(audit, STR(""), page->table, cells, i, fact->row[i]);
    }
    return true;
}

static Status compare_table(Audit *audit, AuditFacts *facts, Table table, Query query, Error *err)
{
    const TableInfo *info = table_info(table);
    Cell before[COLUMN_COUNT_MAX] = { 0 };                  /* all that there are */
    for (uint32_t i = 0; i < info->key_count; i++) before[i] = info->columns[i].type == COLUMN_TEXT ? cell_text(STR("")) : cell_int(INT64_MIN);
    Page page = { .audit = audit, .facts = facts, .table = table, .cursor = before };
    Status status;
    do {
        QueryAsk ask = { .query = query, .param_count = info->key_count };
        for (uint32_t i = 0; i < info->key_count; i++) ask.params[i] = page.cursor[i];
        page.seen = 0;
        status = store_select(audit->store, &ask, take_row, &page, err);
    } while (!status && page.seen);
    return status;
}

Status audit_facts_compare(Audit *audit, AuditFacts *facts, Error *err)
{
    Status status = OK;
    for (size_t t = 0; !status && t < sizeof tables / sizeof *tables; t++)
        status = compare_table(audit, facts, tables[t].table, tables[t].query, err);
    for (size_t i = 0; !status && i < facts->count; i++) {
        const Fact *fact = &facts->facts[i];
        if (fact->is_there && !fact->is_seen)
            audit_tell(audit, FINDING_ROW, STR(""), "%.*s: the row is missing", STR_ARG(audit_place(&audit->scratch, fact->table, fact->row)));
    }
    return status;
}
