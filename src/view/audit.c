#include "view/audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "value/json.h"
#include "view/audit_parts.h"
#include "view/row_key.h"
#include "view/run_rows.h"

#define TEXT_SHOWN_SIZE 60u
#define RUN_PAGE_COUNT 256u

/* --- the store ----------------------------------------------------------------------------------------------------- */

void audit_init(Audit *audit, Store *store, const AuditOptions *options, AuditReport *report)
{
    *report = (AuditReport){ 0 };
    *audit = (Audit){ .store = store, .options = options, .report = report };
    arena_init(&audit->plan_arena, SIZE_MAX);
    arena_init(&audit->key_arena, SIZE_MAX);
    arena_init(&audit->scratch, SIZE_MAX);
}

void audit_deinit(Audit *audit)
{
    arena_deinit(&audit->plan_arena);
    arena_deinit(&audit->key_arena);
    arena_deinit(&audit->scratch);
}

typedef struct RunPage { Arena arena; StepRows rows; } RunPage;

static bool take_run(void *context, const Cell *cells, uint32_t count)
{
    RunPage *page = context;
    StepRows *rows = &page->rows;
    rows->rows = arena_grow(&page->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(&page->arena, cells, count);
    return true;
}

static Status compare_runs(Audit *audit, AuditLog *log, Error *err)
{
    RunPage page;
    int64_t cursor = INT64_MAX;
    Status status;
    arena_init(&page.arena, SIZE_MAX);
    do {
        arena_reset(&page.arena);
        page.rows = (StepRows){ 0 };
        QueryAsk ask = { .query = QUERY_RUNS, .params = { cell_int(cursor), cell_null(), cell_null() }, .param_count = 3,
                         .row_count_max = RUN_PAGE_COUNT };
        status = store_select(audit->store, &ask, take_run, &page, err);
        for (size_t i = 0; !status && i < page.rows.count; i++) {
            const Cell *row = page.rows.rows[i];
            bool is_here;
            cursor = row[RUNS_run_no].integer;
            audit->report->run_count++;
            audit_log_run(audit, log, row, &is_here);
            if (is_here) status = audit_compare_run(audit, row, err);
        }
    } while (!status && page.rows.count);
    arena_deinit(&page.arena);
    return status;
}

Status audit_store(Store *store, const AuditOptions *options, AuditReport *out_report, Error *err)
{
    Audit audit;
    AuditLog *log = audit_log_new();
    audit_init(&audit, store, options, out_report);
    Status status = audit_log_read(&audit, log, err);
    if (!status) status = compare_runs(&audit, log, err);
    if (!status) status = audit_log_compare(&audit, log, err);
    audit_log_free(log);
    audit_deinit(&audit);
    return status;
}

Status audit_run(Store *store, const Cell *row, const AuditOptions *options, AuditReport *out_report, Error *err)
{
    Audit audit;
    audit_init(&audit, store, options, out_report);
    out_report->run_count = 1;
    Status status = audit_compare_run(&audit, row, err);
    audit_deinit(&audit);
    return status;
}

/* --- plans --------------------------------------------------------------------------------------------------------- */

static Status read_plan(Audit *audit, const Digest *digest, Error *err)
{
    const Cell *row;
    Value document;
    Str bytes = { (const char *)digest->bytes, sizeof digest->bytes };
    QueryAsk ask = { .query = QUERY_PLAN, .params = { cell_blob(bytes) }, .param_count = 1 };
    Status status = row_select(&audit->plan_arena, audit->store, &ask, &row, err);
    if (status) return status;
    if (!row) return error_set(err, ERR_CORRUPT, "the plan is not in maestro_plans");
    Digest made = digest_of(row[PLANS_document].kind == CELL_TEXT ? row[PLANS_document].text : STR(""));
    if (memcmp(&made, digest, sizeof made) != 0)
        return error_set(err, ERR_CORRUPT, "the plan in maestro_plans does not have its digest");
    status = json_parse(&audit->plan_arena, row[PLANS_document].text, &document, err);
    if (!status) status = plan_read(&audit->plan_arena, document, &audit->plan, err);
    return status ? error_set(err, ERR_CORRUPT, "the plan in maestro_plans cannot be read") : OK;
}

Status audit_plan(Audit *audit, const Digest *digest, const Plan **out_plan, Error *err)
{
    *out_plan = &audit->plan;
    if (!audit->has_plan || memcmp(&audit->plan_digest, digest, sizeof *digest) != 0) {
        arena_reset(&audit->plan_arena);
        audit->has_plan = false;
        Status status = read_plan(audit, digest, &audit->plan_error);
        if (status && status != ERR_CORRUPT) {
            *err = audit->plan_error;
            return status;
        }
        audit->plan_digest = *digest;
        audit->has_plan = true;
        audit->is_plan_sound = !status;
    }
    if (audit->is_plan_sound) return OK;
    *err = audit->plan_error;
    return ERR_CORRUPT;
}

/* --- telling ------------------------------------------------------------------------------------------------------- */

void audit_tell(Audit *audit, FindingKind kind, Str run_id, const char *format, ...)
{
    va_list args;
    if (finding_is_damage(kind)) audit->report->damage_count++;
    else if (kind == FINDING_BUSY) audit->report->busy_count++;
    if (!audit->options->finding) return;
    va_start(args, format);
    Str text = arena_format_args(&audit->scratch, format, args);
    va_end(args);
    audit->options->finding(audit->options->context, &(Finding){ .kind = kind, .run_id = run_id, .text = text });
    arena_reset(&audit->scratch);
}

Str audit_text(Arena *arena, const Cell *cell)
{
    if (cell->kind == CELL_NULL) return STR("null");
    if (cell->kind == CELL_INT) return arena_format(arena, "%" PRId64, cell->integer);
    Buf buf;
    bool is_cut = cell->text.len > TEXT_SHOWN_SIZE;
    Str shown = str_slice(cell->text, 0, is_cut ? TEXT_SHOWN_SIZE : cell->text.len);
    buf_init(&buf, SIZE_MAX);
    if (cell->kind == CELL_TEXT) {
        json_print_string(&buf, shown);
    } else {
        buf_text(&buf, "x'");
        buf_hex(&buf, (const uint8_t *)shown.ptr, shown.len);
        buf_char(&buf, '\'');
    }
    if (is_cut) buf_format(&buf, "... (%zu bytes)", cell->text.len);
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

Str audit_place(Arena *arena, Table table, const Cell *cells)
{
    const TableInfo *info = table_info(table);
    Str place = arena_format(arena, "%s (", info->name);
    for (uint32_t i = 0; i < info->key_count; i++)
        place = arena_format(arena, "%.*s%s%.*s", STR_ARG(place), i ? ", " : "", STR_ARG(audit_text(arena, &cells[i])));
    return arena_format(arena, "%.*s)", STR_ARG(place));
}

uint64_t audit_key_hash(const Cell *cells)
{
    Cell rest[2] = { cells[DEDUPE_run_no], cells[DEDUPE_step_index] };
    return row_key_hash(TABLE_DEDUPE, cells) ^ row_key_hash(TABLE_STEP_RUNS, rest);
}

bool audit_column(Audit *audit, Str run_id, Table table, const Cell *found, uint32_t column, Cell expected)
{
    if (cell_is(&found[column], &expected)) return true;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    audit_tell(audit, FINDING_ROW, run_id, "%.*s %s: found %.*s, expected %.*s", STR_ARG(audit_place(&arena, table, found)),
               table_info(table)->columns[column].name, STR_ARG(audit_text(&arena, &found[column])),
               STR_ARG(audit_text(&arena, &expected)));
    arena_deinit(&arena);
    return false;
}
