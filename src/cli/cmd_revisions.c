#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "cli/deed.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "cli/order.h"
#include "cli/revision_read.h"
#include "cli/workplace.h"
#include "value/json.h"
#include "view/run_rows.h"

/* --- the list ------------------------------------------------------------------------------------------------------------- */

static const Option list_options[] = {
    TENANT_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints an object a line." },
    { NULL },
};

typedef struct Listing { Arena *arena; StepRows rows; uint32_t seen; } Listing;

static bool take_revision(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    StepRows *rows = &listing->rows;
    listing->seen++;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(listing->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(listing->arena, cells, count);
    return true;
}

static Status list(const Args *args, Store *store, const char *workflow, Listing *listing, Error *err)
{
    Cell tenant = cell_text(revision_tenant(args));
    Status status;
    do {
        const Cell *last = listing->rows.count ? listing->rows.rows[listing->rows.count - 1] : NULL;
        QueryAsk ask = { .query = QUERY_REVISIONS_OF_TENANT, .param_count = 3,
                         .params = { tenant, last ? last[REVISIONS_workflow_id] : cell_text(STR("")),
                                     last ? last[REVISIONS_version] : cell_int(0) } };
        if (workflow)
            ask = (QueryAsk){ .query = QUERY_REVISIONS_OF_WORKFLOW, .param_count = 3,
                              .params = { tenant, cell_text(str_of(workflow)), last ? last[REVISIONS_version]
                                          : cell_int(INT64_MAX) } };
        listing->seen = 0;
        status = store_select(store, &ask, take_revision, listing, err);
    } while (!status && listing->seen);
    return status;
}

static void print_grid(const Args *args, const Listing *listing)
{
    static const GridColumn columns[] = { { "WORKFLOW" }, { "REVISION", .is_number = true }, { "VERSION", .is_cut = true },
                                          { "ACTIVE" },
                                           { "STORED" }, { "DESCRIPTION", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < listing->rows.count; i++) {
        const Cell *row = listing->rows.rows[i];
        grid_cell(&grid, row[REVISIONS_workflow_id].text);
        buf_format(&cell, "%" PRId64, row[REVISIONS_version].integer);
        grid_buf(&grid, &cell);
        grid_cell(&grid, row[REVISIONS_label].kind == CELL_TEXT ? row[REVISIONS_label].text : STR(""));
        grid_text(&grid, row[REVISIONS_active].integer ? "active" : "");
        human_time_short(&cell, row[REVISIONS_created_ms].integer, human_now_ms());
        grid_buf(&grid, &cell);
        grid_cell(&grid, row[REVISIONS_description].kind == CELL_TEXT ? row[REVISIONS_description].text : STR(""));
    }
    grid_print(&grid);
}

static void add(MemberList *members, const char *name, Value value)
{
    if (value.kind != VALUE_NULL) member_list_add(members, str_of(name), value);
}

static Status print_row_json(const Cell *row, Buf *out, Error *err)
{
    Arena arena;
    Value parameters;
    arena_init(&arena, SIZE_MAX);
    MemberList id = { .arena = &arena }, members = { .arena = &arena };
    add(&id, "namespace", cell_value(&row[REVISIONS_tenant]));
    add(&id, "workflowId", cell_value(&row[REVISIONS_workflow_id]));
    add(&id, "version", cell_value(&row[REVISIONS_version]));
    add(&members, "revisionId", member_list_object(&id));
    add(&members, "label", cell_value(&row[REVISIONS_label]));
    add(&members, "name", cell_value(&row[REVISIONS_name]));
    add(&members, "description", cell_value(&row[REVISIONS_description]));
    add(&members, "active", value_bool(row[REVISIONS_active].integer != 0));
    Status status = json_parse(&arena, row[REVISIONS_parameters].text, &parameters, err);
    if (!status) add(&members, "parameters", parameters);
    add(&members, "createdAt", cell_time(&arena, &row[REVISIONS_created_ms]));
    add(&members, "updatedAt", cell_time(&arena, &row[REVISIONS_updated_ms]));
    if (!status) status = json_print(out, member_list_object(&members), JSON_COMPACT, err);
    buf_char(out, '\n');
    arena_deinit(&arena);
    return status;
}

static ExitCode run_list(const Args *args)
{
    Store *store;
    Listing listing = { .arena = args->arena };
    const char *workflow = args->operand_count ? args->operands[0] : NULL;
    const Cell *row;
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    Status status = list(args, store, workflow, &listing, &err);
    if (!status && workflow && !listing.rows.count) code = revision_find(args, store, workflow, &row);
    store_close(store);
    if (code) return code;
    Buf out;
    buf_init(&out, SIZE_MAX);
    bool is_json = args_flag(args, "json");
    for (size_t i = 0; !status && is_json && i < listing.rows.count; i++) status = print_row_json(listing.rows.rows[i], &out, &err);
    print_out(&out);
    buf_deinit(&out);
    if (!status && !is_json && listing.rows.count) print_grid(args, &listing);
    else if (!status && !is_json) print_note("no revisions\n");
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- which one is active -------------------------------------------------------------------------------------------------- */

static const Option activate_options[] = {
    INCOMPATIBLE_OPTION,
    TENANT_OPTION,
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static const Option deactivate_options[] = {
    TENANT_OPTION,
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static bool send(Engine *engine, const void *revision) { return engine_revise(engine, revision); }

static void tell(const Deed *deed)
{
    const EngineRevision *revision = deed->what;
    Buf out;
    buf_init(&out, 4096);
    if (args_flag(deed->args, "json")) {
        buf_text(&out, "{\"workflow\":");
        json_print_string(&out, revision->workflow);
        buf_format(&out, ",\"version\":%" PRIu32 ",\"active\":%s,\"noop\":%s}\n", revision->version,
                   revision->is_activation ? "true" : "false", deed->is_noop ? "true" : "false");
    } else {
        buf_format(&out, "revision %" PRIu32 " of %.*s %s %s\n", revision->version, STR_ARG(revision->workflow),
                   deed->is_noop ? "was" : "is now", revision->is_activation ? "active" : "not active");
    }
    print_out(&out);
    buf_deinit(&out);
}

static ExitCode check_place(const Args *args, Store *store, const Cell *row, RevisionSeen *out_seen)
{
    Plan plan;
    Str document;
    ExitCode code = revision_plan(args, store, row, &plan, &document);
    return code ? code : revision_compare(args, store, &plan, out_seen);
}

static ExitCode set_active(const Args *args, bool is_activation)
{
    Store *store;
    const Cell *row = NULL;
    const char *reason = args_value(args, "reason");
    RevisionSeen seen = { 0 };
    if (!strchr(args->operands[0], '@')) {
        print_note("maestro %s: which revision? NAME@VERSION, and '%s' has no version\n", args->command->name, args->operands[0]);
        return EXIT_CODE_USAGE;
    }
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = revision_find(args, store, args->operands[0], &row);
    if (!code && is_activation) code = check_place(args, store, row, &seen);
    store_close(store);
    if (code) return code;
    EngineRevision revision;
    Deed deed = { .args = args, .errand = errand_begin(args, is_activation ? "activate" : "deactivate"), .send = send,
                  .what = &revision };
    revision = (EngineRevision){
        .tenant = row[REVISIONS_tenant].text, .workflow = row[REVISIONS_workflow_id].text,
        .version = (uint32_t)row[REVISIONS_version].integer, .is_activation = is_activation, .seen = seen, .reply = deed_reply,
        .context = &deed,
        .command = { .id = deed.errand.id, .actor = deed.errand.actor, .rationale = str_of(reason), .trace = deed.errand.trace },
    };
    errand_add(&deed.errand, "tenant", value_string(revision.tenant));
    errand_add(&deed.errand, "workflow", value_string(revision.workflow));
    errand_add(&deed.errand, "revision", value_int(revision.version));
    if (seen.has_active) errand_add(&deed.errand, "against", value_int(seen.active));
    if (reason) errand_add(&deed.errand, "reason", value_string(str_of(reason)));
    code = deed_do(&deed);
    if (code) return code;
    if (deed.status) return errand_refused(&deed.error);
    tell(&deed);
    return EXIT_CODE_OK;
}

static ExitCode run_activate(const Args *args)
{
    return set_active(args, true);
}

static ExitCode run_deactivate(const Args *args)
{
    return set_active(args, false);
}

/* --- the commands --------------------------------------------------------------------------------------------------------- */

const Verb command_revisions_activate = {
    .name = "revisions activate", .operands = "NAME@VERSION", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Makes a stored revision the one that is started by its name.",
    .doc = "At most one revision of a workflow is active: the one that was is not any more, in the same commit. Runs that\n"
           "are under way go on with the revision that they were started with. Who did it, and why, is recorded in the\n"
           "ledger. One that breaks who relies on the revision in use is refused, unless --allow-incompatible is given.",
    .examples = "maestro revisions activate order-fulfillment@3\n"
                "maestro revisions activate order-fulfillment@2.1.0 --reason \"3 loses orders\"",
    .options = activate_options, .run = run_activate,
};

const Verb command_revisions_deactivate = {
    .name = "revisions deactivate", .operands = "NAME@VERSION", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Forbids to start a stored revision.",
    .doc = "No revision of the workflow is active then: it is not started, by its name or its file, until one is activated\n"
           "or a file is run that says something new. Runs that are under way go on.",
    .examples = "maestro revisions deactivate order-fulfillment@3 --reason \"3 loses orders\"",
    .options = deactivate_options, .run = run_deactivate,
};

static const Verb *const revisions_commands[] = { &command_revisions_activate, &command_revisions_deactivate, NULL };

const Verb command_revisions = {
    .name = "revisions", .operands = "[NAME]", .operand_count_max = 1,
    .summary = "Lists the stored revisions of workflows, and says which are started.",
    .doc = "A definition that is run is stored as a revision of its workflow: number 1, 2, 3 ..., and never changes. The\n"
           "same definition is the same revision; one that says something else is the next. VERSION is what its author calls\n"
           "it, 'version:' in the definition. 'maestro run NAME' starts the active one, 'maestro run NAME@VERSION' that one.\n"
           "With NAME the newest comes first.",
    .examples = "maestro revisions\n"
                "maestro revisions order-fulfillment --json",
    .options = list_options, .run = run_list, .commands = revisions_commands,
};
