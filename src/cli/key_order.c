#include "cli/key_order.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/secret_order.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "view/run_rows.h"

ExitCode key_store(const Args *args, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key)
{
    Str document;
    key_make(args->arena, tenant, facts, out_id, out_key, &document);
    return secret_store(args, tenant, arena_format(args->arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(*out_id)), document);
}

/* --- which there are ---------------------------------------------------------------------------------------------------------- */

typedef struct KeyScan { Arena *arena; Vault *vault; KeyRows *rows; Str tenant, last_tenant, last_name; uint32_t seen; } KeyScan;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    KeyScan *scan = context;
    Str name = cells[SECRETS_name].text, tenant = cells[SECRETS_tenant].text, prefix = STR(KEY_SECRET_PREFIX);
    (void)count;
    scan->seen++;
    scan->last_tenant = arena_copy(scan->arena, tenant);
    scan->last_name = arena_copy(scan->arena, name);
    if (!str_starts(name, prefix) || (scan->tenant.len && !str_is(scan->tenant, tenant))) return true;
    KeyRows *rows = scan->rows;
    rows->rows = arena_grow(scan->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = (KeyRow){ .tenant = scan->last_tenant, .id = str_slice(scan->last_name, prefix.len, scan->last_name.len),
                                          .created_ms = cells[SECRETS_created_ms].integer,
                                          .created_by = arena_copy(scan->arena, cells[SECRETS_created_by].text) };
    return true;
}

static Status read_rows(const Args *args, Store *store, Str tenant, KeyRows *out, Error *err)
{
    KeyScan scan = { .arena = args->arena, .rows = out, .tenant = tenant, .last_tenant = STR(""), .last_name = STR("") };
    Status status;
    do {
        QueryAsk ask = { .query = QUERY_SECRETS, .params = { cell_text(scan.last_tenant), cell_text(scan.last_name) }, .param_count = 2 };
        scan.seen = 0;
        status = store_select(store, &ask, take_row, &scan, err);
    } while (!status && scan.seen);
    return status;
}

static Status open_rows(const Args *args, Store *store, KeyRows *rows, Error *err)
{
    Vault *vault = store_vault(args, store);
    Status status = OK;
    for (size_t i = 0; !status && i < rows->count; i++) {
        KeyRow *row = &rows->rows[i];
        Str document;
        status = vault_secret(vault, row->tenant, arena_format(args->arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(row->id)), &document, err);
        if (!status) status = key_read_document(args->arena, document, &row->facts, err);
    }
    vault_free(vault);
    return status;
}

ExitCode key_list(const Args *args, Str tenant, KeyRows *out)
{
    Store *store;
    Error err;
    *out = (KeyRows){ 0 };
    ExitCode code = store_open_or_make(args, &store);
    if (code) return code;
    Status status = read_rows(args, store, tenant, out, &err);
    if (!status) status = open_rows(args, store, out, &err);
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- the first ------------------------------------------------------------------------------------------------------------------ */

static Status write_key(const char *path, Str key, Error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return error_set(err, ERR_DENIED, "the first key cannot be written to %s: %s", path, strerror(errno));
    bool is_written = !fchmod(fd, 0600) && write(fd, key.ptr, key.len) == (ssize_t)key.len && write(fd, "\n", 1) == 1 && !fsync(fd);
    int reason = errno;
    close(fd);
    return is_written ? OK : error_set(err, ERR_UNAVAILABLE, "the first key cannot be written to %s: %s", path, strerror(reason));
}

ExitCode key_first(const Args *args, Str *out_path)
{
    KeyRows rows;
    Str id, key;
    Error err;
    *out_path = arena_format(args->arena, "%s.admin-key", store_path(args->arena, store_url(args)));
    ExitCode code = key_list(args, STR(""), &rows);
    if (code || rows.count) return code;
    code = key_store(args, STR("*"), &(KeyFacts){ .role = ROLE_ADMIN }, &id, &key);
    if (!code && write_key(out_path->ptr, key, &err)) code = fail(&err);
    return code;
}
