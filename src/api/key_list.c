#include "api/key_list.h"

#include "view/run_rows.h"

#define BEHIND_NAMES "~"            /* no name of a secret comes after it */

typedef struct Scan {
    Arena *arena;
    const KeyAsk *ask;
    KeyRows *rows;
    Str tenant, name;               /* the place from which it goes on */
    bool is_over;
    uint32_t seen;
} Scan;

static bool is_before(Str name, Str prefix)
{
    for (size_t i = 0; i < name.len && i < prefix.len; i++)
        if (name.ptr[i] != prefix.ptr[i]) return name.ptr[i] < prefix.ptr[i];
    return name.len < prefix.len;
}

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Scan *scan = context;
    KeyRows *rows = scan->rows;
    Str name = cells[SECRETS_name].text, tenant = cells[SECRETS_tenant].text, prefix = STR(KEY_SECRET_PREFIX);
    (void)count;
    scan->seen++;
    scan->is_over = scan->ask->tenant.len && !str_is(scan->ask->tenant, tenant);
    if (scan->is_over) return false;
    scan->tenant = arena_copy(scan->arena, tenant);
    if (!str_starts(name, prefix)) {                    /* over what is no key, to the keys of this tenant or to the next one */
        scan->name = is_before(name, prefix) ? prefix : STR(BEHIND_NAMES);
        return false;
    }
    scan->name = arena_copy(scan->arena, name);
    rows->rows = arena_grow(scan->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = (KeyRow){ .tenant = scan->tenant, .id = str_slice(scan->name, prefix.len, scan->name.len),
                                          .created_ms = cells[SECRETS_created_ms].integer,
                                          .created_by = arena_copy(scan->arena, cells[SECRETS_created_by].text) };
    scan->is_over = rows->count == scan->ask->count_max;
    return !scan->is_over;
}

static bool take_tenant(void *context, const Cell *cells, uint32_t count)
{
    Scan *scan = context;
    (void)count;
    scan->seen++;
    scan->tenant = arena_copy(scan->arena, cells[SECRETS_tenant].text);
    return false;
}

/* One place to look at in each tenant, and from there to the next one. */
static Status find_one(Scan *scan, Store *store, Error *err)
{
    Str name = key_secret_name(scan->arena, scan->ask->id);
    bool is_of_one = scan->ask->tenant.len;
    Status status = OK;
    do {
        QueryAsk one = { .query = QUERY_SECRET, .params = { cell_text(scan->tenant), cell_text(name) }, .param_count = 2 };
        QueryAsk next = { .query = QUERY_SECRETS, .params = { cell_text(scan->tenant), cell_text(STR(BEHIND_NAMES)) }, .param_count = 2,
                          .row_count_max = 1 };
        scan->seen = 0;
        scan->is_over = false;
        if (scan->tenant.len) status = store_select(store, &one, take_row, scan, err);
        scan->seen = 0;
        if (!status && !is_of_one) status = store_select(store, &next, take_tenant, scan, err);
    } while (!status && scan->seen);
    return status;
}

Status key_rows_find(Arena *arena, Store *store, const KeyAsk *ask, KeyRows *out, Error *err)
{
    Scan scan = { .arena = arena, .ask = ask, .rows = out, .tenant = ask->tenant.len ? ask->tenant : STR(""),
                  .name = ask->tenant.len ? STR(KEY_SECRET_PREFIX) : STR("") };
    Status status;
    *out = (KeyRows){ 0 };
    if (ask->id.len) return find_one(&scan, store, err);
    if (ask->after_id.len) {
        scan.tenant = ask->after_tenant;
        scan.name = arena_format(arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(ask->after_id));
    }
    do {
        QueryAsk query = { .query = QUERY_SECRETS, .params = { cell_text(scan.tenant), cell_text(scan.name) }, .param_count = 2 };
        scan.seen = 0;
        status = store_select(store, &query, take_row, &scan, err);
    } while (!status && scan.seen && !scan.is_over);
    return status;
}

Status key_rows_open(Arena *arena, Store *store, Vault *vault, KeyRows *rows, Error *err)
{
    Status status = OK;
    for (size_t i = 0; !status && i < rows->count; i++) {
        KeyRow *row = &rows->rows[i];
        Str document;
        const Cell *use = NULL;
        QueryAsk ask = { .query = QUERY_KEY_USE, .params = { cell_text(row->tenant), cell_text(row->id) }, .param_count = 2 };
        status = vault_secret(vault, row->tenant, arena_format(arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(row->id)), &document, err);
        if (!status) status = key_read_document(arena, document, &row->facts, err);
        if (!status) status = row_select(arena, store, &ask, &use, err);
        if (use) row->used_ms = use[KEY_USES_used_ms].integer;
    }
    return status;
}
