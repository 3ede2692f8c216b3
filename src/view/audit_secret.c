/* audit_secret.c - secrets and keys of tenants: which there are, since when and by whom, and that what is sealed is
 * what was sealed; nobody reads it here. */
#include <string.h>

#include "base/map.h"
#include "ledger/record.h"
#include "view/audit_parts.h"

typedef struct SecretFact {
    Str tenant, name;               /* without a name: the tenant's key */
    Str created_by, updated_by;
    int64_t created_ms, updated_ms;
    Digest digest;                  /* of what is sealed */
    bool is_there, is_seen;
} SecretFact;

struct AuditSecrets {
    Arena *arena;
    SecretFact *facts;
    size_t count, capacity;
    Map keys;
};

AuditSecrets *audit_secrets_new(Arena *arena)
{
    AuditSecrets *secrets = ARENA_NEW(arena, AuditSecrets);
    secrets->arena = arena;
    map_init(&secrets->keys, arena, 0);
    return secrets;
}

/* --- what the log says ----------------------------------------------------------------------------------------------------- */

static SecretFact *fact_of(AuditSecrets *secrets, Str tenant, Str name, bool is_added)
{
    uint32_t index;
    Str key = arena_format(secrets->arena, "%.*s%c%.*s", STR_ARG(tenant), 0, STR_ARG(name));
    if (map_find(&secrets->keys, key, &index)) return &secrets->facts[index];
    if (!is_added) return NULL;
    map_add(&secrets->keys, key, (uint32_t)secrets->count, NULL);
    secrets->facts = arena_grow(secrets->arena, secrets->facts, sizeof *secrets->facts, secrets->count, &secrets->capacity);
    SecretFact *fact = &secrets->facts[secrets->count++];
    *fact = (SecretFact){ .tenant = arena_copy(secrets->arena, tenant), .name = arena_copy(secrets->arena, name) };
    return fact;
}

void audit_secrets_note(AuditSecrets *secrets, const Event *event, const RecordHead *head)
{
    if (event->kind != EVENT_SECRET_SET && event->kind != EVENT_SECRET_REMOVED && event->kind != EVENT_TENANT_KEY_MADE) return;
    SecretFact *fact = fact_of(secrets, event->tenant, event->name, /* is_added= */ true);
    fact->updated_ms = head->now_ms;
    fact->updated_by = arena_copy(secrets->arena, head->actor);
    if (!fact->is_there) {
        fact->created_ms = fact->updated_ms;
        fact->created_by = fact->updated_by;
    }
    if (event->digest) fact->digest = *event->digest;
    fact->is_there = event->kind != EVENT_SECRET_REMOVED;
}

/* --- what the tables say --------------------------------------------------------------------------------------------------- */

typedef struct Page { Audit *audit; AuditSecrets *secrets; Table table; Cell cursor[2]; uint32_t seen; } Page;

static void compare_row(Audit *audit, const SecretFact *fact, Table table, const Cell *row)
{
    Cell created_ms = cell_int(fact->created_ms), created_by = cell_text(fact->created_by);
    const Cell *sealed = &row[table == TABLE_TENANT_KEYS ? TENANT_KEYS_sealed : SECRETS_sealed];
    Digest digest = digest_of(sealed->kind == CELL_BLOB ? sealed->text : STR(""));
    if (memcmp(&digest, &fact->digest, sizeof digest))
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s sealed: found bytes of another digest than the record has",
                   STR_ARG(audit_place(&audit->scratch, table, row)));
    if (table == TABLE_TENANT_KEYS) {
        audit_column(audit, STR(""), table, row, TENANT_KEYS_created_ms, created_ms);
        audit_column(audit, STR(""), table, row, TENANT_KEYS_created_by, created_by);
        return;
    }
    audit_column(audit, STR(""), table, row, SECRETS_created_ms, created_ms);
    audit_column(audit, STR(""), table, row, SECRETS_created_by, created_by);
    audit_column(audit, STR(""), table, row, SECRETS_updated_ms, cell_int(fact->updated_ms));
    audit_column(audit, STR(""), table, row, SECRETS_updated_by, cell_text(fact->updated_by));
}

static Str text_of(const Cell *cell) { return cell->kind == CELL_TEXT ? cell->text : STR(""); }

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Page *page = context;
    Audit *audit = page->audit;
    bool is_secret = page->table == TABLE_SECRETS;
    Str tenant = text_of(&cells[0]), name = is_secret ? text_of(&cells[SECRETS_name]) : STR("");
    SecretFact *fact = fact_of(page->secrets, tenant, name, /* is_added= */ false);
    (void)count;
    page->seen++;
    audit->report->row_count++;
    page->cursor[0] = cell_text(arena_copy(page->secrets->arena, tenant));
    page->cursor[1] = cell_text(arena_copy(page->secrets->arena, name));
    if (fact && fact->is_there) {
        fact->is_seen = true;
        compare_row(audit, fact, page->table, cells);
    } else {
        audit_tell(audit, FINDING_ROW, STR(""), "%.*s: no record makes this row",
                   STR_ARG(audit_place(&audit->scratch, page->table, cells)));
    }
    return true;
}

static Status compare_table(Audit *audit, AuditSecrets *secrets, Table table, Error *err)
{
    Page page = { .audit = audit, .secrets = secrets, .table = table, .cursor = { cell_text(STR("")), cell_text(STR("")) } };
    Status status;
    do {
        QueryAsk ask = { .query = table == TABLE_SECRETS ? QUERY_SECRETS : QUERY_TENANT_KEYS,
                         .params = { page.cursor[0], page.cursor[1] }, .param_count = table == TABLE_SECRETS ? 2 : 1 };
        page.seen = 0;
        status = store_select(audit->store, &ask, take_row, &page, err);
    } while (!status && page.seen);
    return status;
}

Status audit_secrets_compare(Audit *audit, AuditSecrets *secrets, Error *err)
{
    Status status = compare_table(audit, secrets, TABLE_TENANT_KEYS, err);
    if (!status) status = compare_table(audit, secrets, TABLE_SECRETS, err);
    for (size_t i = 0; !status && i < secrets->count; i++) {
        const SecretFact *fact = &secrets->facts[i];
        Cell key[2] = { cell_text(fact->tenant), cell_text(fact->name) };
        if (fact->is_there && !fact->is_seen)
            audit_tell(audit, FINDING_ROW, STR(""), "%.*s: the row is missing",
                       STR_ARG(audit_place(&audit->scratch, fact->name.len ? TABLE_SECRETS : TABLE_TENANT_KEYS, key)));
    }
    return status;
}
