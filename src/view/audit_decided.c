/* audit_decided.c - what people decided about schedules and policies: the rows that follow from the events of the log. */
#include <string.h>

#include "base/map.h"
#include "ledger/record.h"
#include "view/audit_parts.h"

typedef struct DecidedFact { Table table; const Cell *row; bool is_there, is_seen; } DecidedFact;

struct AuditDecided {
    Arena *arena;
    DecidedFact *facts;
    size_t count, capacity;
    Map keys;
};

AuditDecided *audit_decided_new(Arena *arena)
{
    AuditDecided *decided = ARENA_NEW(arena, AuditDecided);
    decided->arena = arena;
    map_init(&decided->keys, arena, 0);
    return decided;
}

static DecidedFact *fact_of(AuditDecided *decided, Table table, const Cell *row, bool is_added)
{
    uint32_t index;
    Str key = arena_format(decided->arena, "%d %.*s", (int)table, STR_ARG(audit_place(decided->arena, table, row)));
    if (map_find(&decided->keys, key, &index)) return &decided->facts[index];
    if (!is_added) return NULL;
    map_add(&decided->keys, key, (uint32_t)decided->count, NULL);
    decided->facts = arena_grow(decided->arena, decided->facts, sizeof *decided->facts, decided->count, &decided->capacity);
    decided->facts[decided->count] = (DecidedFact){ .table = table };
    return &decided->facts[decided->count++];
}

/* --- what the log says ----------------------------------------------------------------------------------------------------- */

static Cell text_cell(AuditDecided *decided, Str text) { return cell_text(arena_copy(decided->arena, text)); }

static Cell *override_row(AuditDecided *decided, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(decided->arena, Cell, table_info(TABLE_OVERRIDES)->column_count);
    row[OVERRIDES_tenant] = text_cell(decided, event->tenant);
    row[OVERRIDES_workflow_id] = text_cell(decided, event->name);
    row[OVERRIDES_trigger_no] = cell_int((int64_t)event->count);
    row[OVERRIDES_due_ms] = cell_int(event->due_ms);
    row[OVERRIDES_held_by] = text_cell(decided, event->text);
    row[OVERRIDES_reason] = text_cell(decided, head->rationale);
    row[OVERRIDES_created_ms] = cell_int(head->now_ms);
    row[OVERRIDES_created_by] = text_cell(decided, head->actor);
    return row;
}

static Cell *review_row(AuditDecided *decided, const Event *event, const RecordHead *head)
{
    Cell *row = ARENA_ARRAY(decided->arena, Cell, table_info(TABLE_REVIEWS)->column_count);
    row[REVIEWS_tenant] = text_cell(decided, event->tenant);
    row[REVIEWS_policy] = text_cell(decided, event->name);
    row[REVIEWS_digest] = text_cell(decided, event->key);
    row[REVIEWS_reviewer] = text_cell(decided, event->source);
    row[REVIEWS_verdict] = cell_text(event->flags == 1 ? STR("approved") : STR("rejected"));
    row[REVIEWS_comment] = event->text.len ? text_cell(decided, event->text) : cell_null();
    row[REVIEWS_created_ms] = cell_int(head->now_ms);
    row[REVIEWS_created_by] = text_cell(decided, head->actor);
    return row;
}

void audit_decided_note(AuditDecided *decided, const Event *event, const RecordHead *head)
{
    bool is_review = event->kind == EVENT_POLICY_REVIEWED;
    if (!is_review && event->kind != EVENT_SCHEDULE_OVERRIDDEN && event->kind != EVENT_OVERRIDE_REMOVED) return;
    Table table = is_review ? TABLE_REVIEWS : TABLE_OVERRIDES;
    const Cell *row = (is_review ? review_row : override_row)(decided, event, head);
    DecidedFact *fact = fact_of(decided, table, row, /* is_added= */ true);
    fact->row = row;
    fact->is_there = event->kind != EVENT_OVERRIDE_REMOVED;
}

/* --- what the tables say --------------------------------------------------------------------------------------------------- */

typedef struct Page { Audit *audit; AuditDecided *decided; Table table; Cell cursor[4]; uint32_t seen; } Page;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Page *page = context;
    Audit *audit = page->audit;
    page->seen++;
    audit->report->row_count++;
    for (uint32_t i = 0; i < 4; i++) {
        page->cursor[i] = cells[i];
        if (cells[i].kind == CELL_TEXT) page->cursor[i] = text_cell(page->decided, cells[i].text);
    }
    DecidedFact *fact = fact_of(page->decided, page->table, cells, /* is_added= */ false);
    if (!fact || !fact->is_there) {
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: no record makes this row", STR_ARG(audit_place(&audit->scratch, page->table, cells)));
        return true;
    }
    fact->is_seen = true;
    for (uint32_t i = table_info(page->table)->key_count; i < count; i++) audit_column(audit, STR(""), page->table, cells, i, fact->row[i]);
    return true;
}

static Status compare_table(Audit *audit, AuditDecided *decided, Table table, Error *err)
{
    bool is_override = table == TABLE_OVERRIDES;
    Cell none = cell_text(STR(""));
    Page page = { .audit = audit, .decided = decided, .table = table,
                  .cursor = { none, none, is_override ? cell_int(INT64_MIN) : none, is_override ? cell_int(INT64_MIN) : none } };
    Status status;
    do {
        QueryAsk ask = { .query = is_override ? QUERY_OVERRIDES : QUERY_REVIEWS, .param_count = 4,
                         .params = { page.cursor[0], page.cursor[1], page.cursor[2], page.cursor[3] } };
        page.seen = 0;
        status = store_select(audit->store, &ask, take_row, &page, err);
    } while (!status && page.seen);
    return status;
}

Status audit_decided_compare(Audit *audit, AuditDecided *decided, Error *err)
{
    Status status = compare_table(audit, decided, TABLE_OVERRIDES, err);
    if (!status) status = compare_table(audit, decided, TABLE_REVIEWS, err);
    for (size_t i = 0; !status && i < decided->count; i++) {
        const DecidedFact *fact = &decided->facts[i];
        if (fact->is_there && !fact->is_seen)
            audit_tell(audit, FINDING_ROW, STR(""), "%.*s: the row is missing", STR_ARG(audit_place(&audit->scratch, fact->table, fact->row)));
    }
    return status;
}
