#include "cli/key_order.h"

#include <unistd.h>

#include "base/civil.h"
#include "base/limits.h"
#include "cli/human.h"
#include "cli/secret_order.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "view/run_rows.h"

#define KEY_FILE_SIZE_MAX 4096u

static ExitCode store_at_server(const Args *args, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key)
{
    MemberList body = { .arena = args->arena };
    Cell end = cell_int(facts->expires_ms);
    Value answer;
    member_list_add(&body, STR("namespace"), value_string(tenant));
    member_list_add(&body, STR("role"), value_string(str_of(key_role_names[facts->role])));
    if (facts->limits.executors.kind != VALUE_NULL) member_list_add(&body, STR("executors"), facts->limits.executors);
    if (facts->limits.queues.kind != VALUE_NULL) member_list_add(&body, STR("queues"), facts->limits.queues);
    if (facts->expires_ms) member_list_add(&body, STR("expiresAt"), cell_time(args->arena, &end));
    server_add_reason(args, &body);
    ExitCode code = server_order(args, &(ServerCall){ .method = "POST", .path = STR("/api/keys"), .body = member_list_object(&body) }, &answer);
    if (code) return code;
    *out_id = value_get_string(answer, "id", STR(""));
    *out_key = value_get_string(answer, "key", STR(""));
    return EXIT_CODE_OK;
}

ExitCode key_store(const Args *args, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key)
{
    Str document;
    Error err;
    if (key_check_tenant(tenant, &err)) return fail(&err);
    if (server_is_meant(args)) return store_at_server(args, tenant, facts, out_id, out_key);
    key_make(args->arena, tenant, facts, out_id, out_key, &document);
    return secret_store(args, tenant, key_secret_name(args->arena, *out_id), document);
}

ExitCode key_revoke(const Args *args, Str tenant, Str id)
{
    Value answer;
    if (!server_is_meant(args)) return secret_remove(args, tenant, key_secret_name(args->arena, id));
    Str path = arena_format(args->arena, "/api/keys/%.*s?namespace=%.*s", STR_ARG(server_word(args->arena, id)),
                            STR_ARG(server_word(args->arena, tenant)));
    return server_order(args, &(ServerCall){ .method = "DELETE", .path = server_reason(args, path) }, &answer);
}

/* --- which there are ---------------------------------------------------------------------------------------------------------- */

static int64_t time_of(Value item, const char *name)
{
    int64_t ms = 0;
    return civil_read_ms(value_get_string(item, name, STR("")), &ms) ? ms : 0;
}

static void add_item(const Args *args, KeyRows *rows, Value item)
{
    KeyRow row = { .tenant = value_get_string(item, "namespace", STR("")), .id = value_get_string(item, "id", STR("")),
                   .created_by = value_get_string(item, "createdBy", STR("")), .created_ms = time_of(item, "createdAt"),
                   .used_ms = time_of(item, "lastUsedAt"), .facts.expires_ms = time_of(item, "expiresAt"), .facts.limits = key_limits_of(item) };
    if (!key_role_find(value_get_string(item, "role", STR("")), &row.facts.role)) return;      /* of a newer version */
    rows->rows = arena_grow(args->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row;
}

static ExitCode list_of_server(const Args *args, Str tenant, KeyRows *out)
{
    Str cursor = STR("");
    do {
        Value answer;
        Str path = arena_format(args->arena, "/api/keys?limit=%u%s%.*s%s%.*s", API_PAGE_COUNT_MAX, cursor.len ? "&cursor=" : "", STR_ARG(cursor),
                                tenant.len ? "&namespace=" : "", STR_ARG(server_word(args->arena, tenant)));
        ExitCode code = server_order(args, &(ServerCall){ .method = "GET", .path = path }, &answer);
        if (code) return code;
        const Value *items = value_get_text(answer, "items");
        for (uint32_t i = 0; items && i < items->count; i++) add_item(args, out, items->items[i]);
        cursor = value_get_string(answer, "nextCursor", STR(""));
    } while (cursor.len);
    return EXIT_CODE_OK;
}

ExitCode key_list(const Args *args, Str tenant, KeyRows *out)
{
    Store *store;
    Error err;
    *out = (KeyRows){ 0 };
    if (server_is_meant(args)) return list_of_server(args, tenant, out);
    ExitCode code = store_open_or_make(args, &store);
    if (code) return code;
    Vault *vault = store_vault(args, store);
    Status status = key_rows_find(args->arena, store, &(KeyAsk){ .tenant = tenant }, out, &err);
    if (!status) status = key_rows_open(args->arena, store, vault, out, &err);
    vault_free(vault);
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- the first ------------------------------------------------------------------------------------------------------------------ */

static Status write_key(const Args *args, const char *path, Str key, Error *err)
{
    Status status = file_write_private(path, arena_format(args->arena, "%.*s\n", STR_ARG(key)), err);
    if (status) error_prefix(err, "the first key cannot be written: ");
    return status;
}

static bool is_admin(const KeyRow *row)
{
    int64_t end_ms = row->facts.expires_ms;
    return row->facts.role == ROLE_ADMIN && (!end_ms || end_ms > human_now_ms());
}

static bool has_admin(const KeyRows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (is_admin(&rows->rows[i])) return true;
    return false;
}

/* Whether the key in the file is one of these: it may have been revoked since. */
static bool is_held(const Args *args, const char *path, const KeyRows *rows)
{
    Str text;
    Error err;
    if (!file_is_regular(path) || file_read(args->arena, path, KEY_FILE_SIZE_MAX, &text, &err)) return false;
    size_t tenant = str_find(text, '.', 0) + 1, id = str_find(text, '.', tenant) + 1;
    Str named = str_slice(text, id, str_find(text, '.', id));
    for (size_t i = 0; i < rows->count; i++)
        if (is_admin(&rows->rows[i]) && str_is(rows->rows[i].id, named)) return true;
    return false;
}

ExitCode key_first(const Args *args, Str *out_path)
{
    KeyRows rows;
    Str id, key, document, path = arena_format(args->arena, "%s.admin-key", store_path(args->arena, store_url(args)));
    Error err;
    ExitCode code = key_list(args, STR(""), &rows);
    if (code) return code;
    *out_path = path;
    if (has_admin(&rows)) {
        if (!is_held(args, path.ptr, &rows)) *out_path = (Str){ 0 };
    } else {
        key_make(args->arena, STR("*"), &(KeyFacts){ .role = ROLE_ADMIN }, &id, &key, &document);
        if (write_key(args, path.ptr, key, &err)) return fail(&err);
        code = secret_store(args, STR("*"), key_secret_name(args->arena, id), document);
        if (code) (void)unlink(path.ptr);
    }
    return code;
}
