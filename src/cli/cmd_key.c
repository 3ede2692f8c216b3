#include <string.h>

#include "cli/grid.h"
#include "cli/human.h"
#include "cli/key_order.h"
#include "cli/order.h"
#include "cli/server_order.h"
#include "view/run_rows.h"

#define KEY_TENANT_OPTION { "tenant", 0, "NAME", NULL, \
    "Whose key it is; by default of the tenant of the key of --server, else of 'default'; @all: of every one." }
#define KEY_JSON_OPTION { "json", 0, NULL, NULL, "Prints JSON." }

/* Empty where it was not said. */
static Str tenant_given(const Args *args)
{
    const char *given = args_value(args, "tenant");
    return given && strcmp(given, KEY_TENANT_ALL) == 0 ? STR("*") : str_of(given);
}

static Str tenant_meant(const Args *args) { return tenant_given(args).len ? tenant_given(args) : server_tenant(args); }

static Value role_value(KeyRole role) { return value_string(str_of(key_role_names[role])); }

static Value row_value(Arena *arena, const KeyRow *row)
{
    MemberList members = { .arena = arena };
    Cell created = cell_int(row->created_ms), expires = row->facts.expires_ms ? cell_int(row->facts.expires_ms) : cell_null();
    member_list_add(&members, STR("id"), value_string(row->id));
    member_list_add(&members, STR("tenant"), value_string(row->tenant));
    member_list_add(&members, STR("role"), role_value(row->facts.role));
    member_list_add(&members, STR("executors"), row->facts.limits.executors);
    member_list_add(&members, STR("queues"), row->facts.limits.queues);
    member_list_add(&members, STR("expiresAt"), cell_time(arena, &expires));
    Cell used = row->used_ms ? cell_int(row->used_ms) : cell_null();
    member_list_add(&members, STR("lastUsedAt"), cell_time(arena, &used));
    member_list_add(&members, STR("createdAt"), cell_time(arena, &created));
    member_list_add(&members, STR("createdBy"), value_string(row->created_by));
    return member_list_object(&members);
}

/* --- create --------------------------------------------------------------------------------------------------------------------- */

/* "30d", "12h" or a moment; false after printing. */
static bool read_end(const Args *args, int64_t *out_ms)
{
    const char *given = args_value(args, "expires");
    int64_t now_ms = human_now_ms(), since_ms;
    *out_ms = 0;
    if (!given || strcmp(given, "never") == 0) return true;
    /* As --since counts back from now, this counts ahead; a moment is the same for both. */
    if (human_since(str_of(given), now_ms, &since_ms)) {
        bool is_moment = strchr(given, '-') != NULL;
        *out_ms = is_moment ? since_ms : now_ms + (now_ms - since_ms);
        if (*out_ms > now_ms) return true;
    }
    print_note("maestro: --expires takes 12h, 30d, 2027-01-31 or never, and lies ahead; '%s' does not\n", given);
    return false;
}

/* What a repeated option names; null where it was not given. */
static Value names_of(const Args *args, const char *option)
{
    ValueList list = { .arena = args->arena };
    for (unsigned i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, option) == 0) value_list_add(&list, value_string(str_of(args->given[i].value)));
    return list.count ? value_list_array(&list) : value_null();
}

/* False after printing. */
static bool read_limits(const Args *args, KeyFacts *facts)
{
    const char *member;
    Error err;
    facts->limits = (KeyLimits){ names_of(args, "executor"), names_of(args, "queue") };
    if (!key_limits_check(&facts->limits, facts->role == ROLE_WORKER, &member, &err)) return true;
    print_note("maestro: --%s %s\n", strcmp(member, "queues") ? "executor" : "queue", err.text);
    return false;
}

static ExitCode run_create(const Args *args)
{
    const char *role = args_value(args, "role");
    KeyFacts facts = { .role = ROLE_VIEWER };
    Str id, key, tenant = tenant_meant(args);
    while (role && strcmp(key_role_names[facts.role], role)) facts.role++;
    if (!read_end(args, &facts.expires_ms) || !read_limits(args, &facts)) return EXIT_CODE_USAGE;
    ExitCode code = key_store(args, tenant, &facts, &id, &key);
    if (code) return code;
    Cell expires = facts.expires_ms ? cell_int(facts.expires_ms) : cell_null();
    if (args_flag(args, "json")) {
        MemberList members = { .arena = args->arena };
        member_list_add(&members, STR("id"), value_string(id));
        member_list_add(&members, STR("key"), value_string(key));
        member_list_add(&members, STR("role"), role_value(facts.role));
        member_list_add(&members, STR("executors"), facts.limits.executors);
        member_list_add(&members, STR("queues"), facts.limits.queues);
        member_list_add(&members, STR("tenant"), value_string(tenant));
        member_list_add(&members, STR("expiresAt"), cell_time(args->arena, &expires));
        return print_document(member_list_object(&members));
    }
    print_format("%.*s\n", STR_ARG(key));
    Str end = facts.expires_ms ? arena_format(args->arena, ", until %.*s", STR_ARG(value_text(cell_time(args->arena, &expires)))) : STR("");
    print_note("key %.*s of tenant '%.*s' with the role %s%.*s; it is shown this once\n", STR_ARG(id), STR_ARG(tenant),
               key_role_names[facts.role], STR_ARG(end));
    return EXIT_CODE_OK;
}

static const Option create_options[] = {
    KEY_TENANT_OPTION,
    { "role", 0, "ROLE", key_role_names, "What it may do: viewer (by default), operator, author, admin, worker." },
    { "executor", 0, "ID", NULL, "Of a worker: an executor that it is for; all where none is given.", .repeats = true },
    { "queue", 0, "NAME", NULL, "Of a worker: a queue that it is for; all where none is given.", .repeats = true },
    { "expires", 0, "WHEN", NULL, "When it ends: 12h, 30d, 2027-01-31, or never, which is the default." },
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    KEY_JSON_OPTION,
    { NULL },
};

const Verb command_key_create = {
    .name = "key create", .operands = "",
    .summary = "Makes an API key and shows it once.",
    .doc = "The key is printed to standard output and is nowhere else: the store keeps a hash of it. A viewer looks, an operator\n"
           "steers executions as well, an author stores and activates definitions, an admin does everything, and a worker carries\n"
           "out steps. That of a worker may be limited to executors and to queues: it gets no work of others, can say nothing\n"
           "about their attempts, and an executor that it is not for does not exist for it. Who made it is recorded in the ledger.",
    .examples = "maestro key create --tenant acme --role operator --expires 90d\n"
                "maestro key create --tenant acme --role worker --executor workers --queue builds\n"
                "curl -H \"Authorization: Bearer $(maestro key create)\" http://127.0.0.1:8080/api",
    .options = create_options, .run = run_create,
};

/* --- list -------------------------------------------------------------------------------------------------------------------------- */

/* What a worker's key is for; those of other roles are for none. */
static void names_cell(Grid *grid, const KeyRow *row, Value names)
{
    Str text = row->facts.role == ROLE_WORKER ? STR("all") : STR("-");
    for (uint32_t i = 0; names.kind == VALUE_ARRAY && i < names.count; i++)
        text = i ? arena_format(grid->arena, "%.*s,%.*s", STR_ARG(text), STR_ARG(value_text(names.items[i]))) : value_text(names.items[i]);
    grid_cell(grid, text);
}

static ExitCode run_list(const Args *args)
{
    static const GridColumn columns[] = { { "KEY" }, { "TENANT" }, { "ROLE" }, { "EXECUTORS" }, { "QUEUES" },
                                          { "EXPIRES" }, { "USED" }, { "CREATED" }, { "BY", .is_cut = true },
                                          { NULL } };
    KeyRows rows;
    ExitCode code = key_list(args, tenant_given(args), &rows);
    if (code) return code;
    if (args_flag(args, "json")) {
        ValueList list = { .arena = args->arena };
        for (size_t i = 0; i < rows.count; i++) value_list_add(&list, row_value(args->arena, &rows.rows[i]));
        return print_document(value_list_array(&list));
    }
    Grid grid = grid_begin(args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < rows.count; i++) {
        const KeyRow *row = &rows.rows[i];
        grid_cell(&grid, row->id);
        grid_cell(&grid, row->tenant);
        grid_text(&grid, key_role_names[row->facts.role]);
        names_cell(&grid, row, row->facts.limits.executors);
        names_cell(&grid, row, row->facts.limits.queues);
        if (row->facts.expires_ms) human_time(&cell, row->facts.expires_ms);
        else buf_text(&cell, "never");
        grid_buf(&grid, &cell);
        if (row->used_ms) human_time(&cell, row->used_ms);
        else buf_text(&cell, "never");
        grid_buf(&grid, &cell);
        human_time(&cell, row->created_ms);
        grid_buf(&grid, &cell);
        grid_cell(&grid, row->created_by);
    }
    grid_print(&grid);
    return EXIT_CODE_OK;
}

static const Option list_options[] = {
    { "tenant", 0, "NAME", NULL, "Only its keys." },
    STORE_OPTION,
    KEY_JSON_OPTION,
    { NULL },
};

const Verb command_key_list = {
    .name = "key list", .operands = "",
    .summary = "Lists API keys by the part that names them.",
    .doc = "Shows id, tenant, role, what a worker's is limited to, end and last use, to the minute, of every key; the keys themselves are nowhere to be seen.",
    .examples = "maestro key list --tenant acme",
    .options = list_options, .run = run_list,
};

/* --- revoke -------------------------------------------------------------------------------------------------------------------------- */

/* The id says which one is meant; the tenant is only needed to tell two of the same id apart. */
static ExitCode run_revoke(const Args *args)
{
    Str id = str_of(args->operands[0]), tenant = STR("");
    KeyRows rows;
    Error err;
    ExitCode code = key_list(args, tenant_given(args), &rows);
    if (code) return code;
    for (size_t i = 0; i < rows.count; i++)
        if (str_is(rows.rows[i].id, id)) tenant = rows.rows[i].tenant;
    if (!tenant.len && !args_value(args, "id")) {              /* with an id the answer of then is wanted */
        error_set(&err, ERR_NOT_FOUND, "there is no key '%.*s'; 'maestro key list' shows which there are", STR_ARG(id));
        return fail(&err);
    }
    if (!tenant.len) tenant = tenant_meant(args);
    code = key_revoke(args, tenant, id);
    if (!code) print_format("key %.*s of tenant '%.*s' is revoked\n", STR_ARG(id), STR_ARG(tenant));
    return code;
}

static const Option revoke_options[] = { { "tenant", 0, "NAME", NULL, "Whose key it is." }, REASON_OPTION, ID_OPTION, STORE_OPTION, { NULL } };

const Verb command_key_revoke = {
    .name = "key revoke", .operands = "ID", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Revokes an API key.",
    .doc = "Requests with it are refused from the end of this command on. Who revoked it is recorded in the ledger.",
    .examples = "maestro key revoke Xq3hT9aB --reason \"left the team\"",
    .options = revoke_options, .run = run_revoke,
};

static const Verb *const key_commands[] = { &command_key_create, &command_key_list, &command_key_revoke, NULL };

const Verb command_key = {
    .name = "key", .operands = "COMMAND",
    .summary = "Makes, lists and revokes the keys that programs use to call a server.",
    .doc = "A key belongs to a tenant and has a role; 'maestro server' asks for one with every request.",
    .commands = key_commands,
};
