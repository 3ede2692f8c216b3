#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/key.h"
#include "base/check.h"
#include "base/limits.h"
#include "cli/ask.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "cli/order.h"
#include "cli/secret_order.h"
#include "cli/server_order.h"
#include "secret/seal.h"
#include "value/json.h"
#include "view/run_rows.h"

#define SECRET_TENANT_OPTION { "tenant", 0, "NAME", NULL, "Whose secrets are meant; by default that of the key of --server, else 'default'." }

/* --- the value ------------------------------------------------------------------------------------------------------------ */

/* Room for one byte more than a secret may have, so that a longer one is noticed; wiped before it is freed. */
#define VALUE_SIZE (SECRET_SIZE_MAX + 3u)

typedef struct SecretValue { char *bytes; size_t size; } SecretValue;

static void value_wipe(SecretValue *value)
{
    explicit_bzero(value->bytes, VALUE_SIZE);
    free(value->bytes);
}

static Status read_all(int fd, const char *path, SecretValue *out, Error *err)
{
    while (out->size < VALUE_SIZE) {
        ssize_t got = read(fd, out->bytes + out->size, VALUE_SIZE - out->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_set(err, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
        if (!got) break;
        out->size += (size_t)got;
    }
    return OK;
}

static Status read_file(const char *path, SecretValue *out, Error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_DENIED, "%s: %s", path, strerror(errno));
    Status status = read_all(fd, path, out, err);
    close(fd);
    return status;
}

/* The end of the line that `echo` writes is no part of it. */
static Status read_input(SecretValue *out, Error *err)
{
    Status status = read_all(STDIN_FILENO, "standard input", out, err);
    if (out->size && out->bytes[out->size - 1] == '\n') out->size--;
    if (out->size && out->bytes[out->size - 1] == '\r') out->size--;
    return status;
}

static Status ask_twice(const char *name, SecretValue *out, Error *err)
{
    SecretValue again = { .bytes = calloc(1, VALUE_SIZE) };
    CHECK(again.bytes);
    char question[SECRET_NAME_SIZE_MAX + 64];
    Buf text = buf_on(question, sizeof question);
    buf_format(&text, "value of %s: ", name);
    buf_char(&text, 0);
    bool is_read = ask_hidden(question, out->bytes, VALUE_SIZE, &out->size)
                && ask_hidden("the same again: ", again.bytes, VALUE_SIZE, &again.size);
    bool is_same = is_read && str_is((Str){ out->bytes, out->size }, (Str){ again.bytes, again.size });
    value_wipe(&again);
    if (!is_read) return error_set(err, ERR_INVALID, "no value was given: nothing is set");
    return is_same ? OK : error_set(err, ERR_INVALID, "the two are not the same: nothing is set");
}

static Status value_read(const Args *args, SecretValue *out, Error *err)
{
    const char *path = args_value(args, "from-file");
    *out = (SecretValue){ .bytes = calloc(1, VALUE_SIZE) };
    CHECK(out->bytes);
    Status status = path                   ? read_file(path, out, err)
                  : isatty(STDIN_FILENO) ? ask_twice(args->operands[0], out, err) : read_input(out, err);
    return status ? status : secret_check_value((Str){ out->bytes, out->size }, err);
}

/* --- set ------------------------------------------------------------------------------------------------------------------- */

static const Option set_options[] = {
    { "from-file", 0, "FILE", NULL, "Takes the bytes of this file, all of them." },
    SECRET_TENANT_OPTION,
    REASON_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static void tell(const Args *args, Str tenant, const char *what)
{
    Buf out;
    buf_init(&out, 4096);
    if (args_flag(args, "json")) {
        buf_text(&out, "{\"tenant\":");
        json_print_string(&out, tenant);
        buf_text(&out, ",\"name\":");
        json_print_string(&out, str_of(args->operands[0]));
        buf_format(&out, ",\"%s\":true}\n", what);
    } else {
        buf_format(&out, "secret %s of tenant %.*s is %s\n", args->operands[0], STR_ARG(tenant), what);
    }
    print_out(&out);
    buf_deinit(&out);
}

static ExitCode run_set(const Args *args)
{
    Str tenant = server_tenant(args), name = str_of(args->operands[0]);
    SecretValue value = { 0 };
    Error err;
    if (secret_check_name(name, &err) || key_check_other_secret(name, &err)) return fail(&err);
    Status status = value_read(args, &value, &err);
    ExitCode code = status ? fail(&err) : secret_store(args, tenant, name, (Str){ value.bytes, value.size });
    value_wipe(&value);
    if (!code) tell(args, tenant, "set");
    return code;
}

/* --- remove ---------------------------------------------------------------------------------------------------------------- */

static const Option remove_options[] = {
    SECRET_TENANT_OPTION,
    REASON_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static ExitCode run_remove(const Args *args)
{
    Store *store;
    Error err;
    Str name = str_of(args->operands[0]);
    if (secret_check_name(name, &err) || key_check_other_secret(name, &err)) return fail(&err);
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    store_close(store);
    code = secret_remove(args, server_tenant(args), name);
    if (code) return code;
    tell(args, server_tenant(args), "removed");
    return EXIT_CODE_OK;
}

/* --- list ------------------------------------------------------------------------------------------------------------------ */

static const Option list_options[] = {
    SECRET_TENANT_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints an object a line." },
    { NULL },
};

typedef struct Listing { Arena *arena; const Cell **rows; size_t count, capacity; Str last; uint32_t seen; } Listing;

static bool take_secret(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    if (listing->count == SECRET_LIST_COUNT_MAX) return false;
    listing->seen++;
    listing->last = arena_copy(listing->arena, cells[SECRETS_name].text);
    if (str_starts(listing->last, STR(KEY_SECRET_PREFIX))) return true;         /* 'maestro key list' has them */
    if (listing->count == listing->capacity)
        listing->rows = arena_grow(listing->arena, listing->rows, sizeof *listing->rows, listing->count, &listing->capacity);
    listing->rows[listing->count++] = row_copy(listing->arena, cells, count);
    return true;
}

static Status list(const Args *args, Store *store, Listing *out, Error *err)
{
    Status status;
    do {
        QueryAsk ask = { .query = QUERY_SECRETS_OF_TENANT, .params = { cell_text(server_tenant(args)), cell_text(out->last) }, .param_count = 2 };
        out->seen = 0;
        status = store_select(store, &ask, take_secret, out, err);
    } while (!status && out->seen);
    return status;
}

static void print_grid(const Args *args, const Listing *listing)
{
    static const GridColumn columns[] = { { "NAME" }, { "SET" }, { "BY", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < listing->count; i++) {
        grid_cell(&grid, listing->rows[i][SECRETS_name].text);
        human_time_short(&cell, listing->rows[i][SECRETS_updated_ms].integer, human_now_ms());
        grid_buf(&grid, &cell);
        grid_cell(&grid, listing->rows[i][SECRETS_updated_by].text);
    }
    grid_print(&grid);
}

static Status print_rows_json(Arena *arena, const Listing *listing, Error *err)
{
    static const struct { const char *name; uint32_t column; bool is_time; } members[] = {
        { "tenant", SECRETS_tenant, false }, { "name", SECRETS_name, false }, { "createdAt", SECRETS_created_ms, true },
        { "createdBy", SECRETS_created_by, false }, { "updatedAt", SECRETS_updated_ms, true },
        { "updatedBy", SECRETS_updated_by, false },
    };
    Buf out;
    Status status = OK;
    buf_init(&out, SIZE_MAX);
    for (size_t i = 0; !status && i < listing->count; i++) {
        MemberList object = { .arena = arena };
        for (size_t j = 0; j < sizeof members / sizeof *members; j++) {
            const Cell *cell = &listing->rows[i][members[j].column];
            member_list_add(&object, str_of(members[j].name), members[j].is_time ? cell_time(arena, cell) : cell_value(cell));
        }
        status = json_print(&out, member_list_object(&object), JSON_COMPACT, err);
        buf_char(&out, '\n');
    }
    if (!status) print_out(&out);
    buf_deinit(&out);
    return status;
}

static ExitCode run_list(const Args *args)
{
    Store *store;
    Listing listing = { .arena = args->arena, .last = STR("") };
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    Status status = list(args, store, &listing, &err);
    store_close(store);
    if (!status && args_flag(args, "json")) status = print_rows_json(args->arena, &listing, &err);
    else if (!status && listing.count) print_grid(args, &listing);
    else if (!status) print_note("no secrets\n");
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- the commands ---------------------------------------------------------------------------------------------------------- */

const Verb command_secret_set = {
    .name = "secret set", .operands = "NAME", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Stores a secret, encrypted.",
    .doc = "The value comes from standard input, without the end of its last line; on a terminal it is asked for twice and not\n"
           "shown. It is never an argument: those can be read by others. Steps get it as ${secrets.NAME}, from the next attempt\n"
           "on. It is encrypted under a key of the tenant, and that under the key file, $MAESTRO_KEY_FILE or PATH.key beside\n"
           "the store, which is made with the first secret: keep a copy of it elsewhere, nothing opens the secrets without. The\n"
           "secret that signs triggers of a workflow is called definition/ID.",
    .examples = "maestro secret set PAYMENT_TOKEN < token.txt\n"
                "maestro secret set tls-key --from-file key.pem --tenant acme\n"
                "maestro secret set definition/order-fulfillment",
    .options = set_options, .run = run_set,
};

const Verb command_secret_list = {
    .name = "secret list", .operands = "",
    .summary = "Lists the names of secrets, and who set them when.",
    .doc = "No command shows a value.",
    .examples = "maestro secret list --tenant acme --json",
    .options = list_options, .run = run_list,
};

const Verb command_secret_remove = {
    .name = "secret remove", .operands = "NAME", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Removes a secret.",
    .doc = "Steps that need it fail from the next attempt on. The ledger keeps who removed it and when.",
    .examples = "maestro secret remove PAYMENT_TOKEN --reason \"the provider has changed\"",
    .options = remove_options, .run = run_remove,
};

static const Verb *const secret_commands[] = { &command_secret_set, &command_secret_list, &command_secret_remove, NULL };

const Verb command_secret = {
    .name = "secret", .operands = "COMMAND",
    .summary = "Keeps the secrets of tenants: set, list, remove.",
    .doc = "What a definition calls ${secrets.NAME} is a secret of the run's tenant. It is filled in when an attempt is handed\n"
           "to its runner and stands in no plan, ledger, log or answer: where a runner prints it, *** is kept.",
    .commands = secret_commands,
};
