#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "cli/deed.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/order.h"
#include "cli/problem.h"
#include "cli/revision_read.h"
#include "cli/shell_word.h"
#include "cli/workplace.h"
#include "value/canonical.h"
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

/* --- a new one ------------------------------------------------------------------------------------------------------------ */

static const Option store_options[] = {
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

typedef struct Storing { const Loaded *loaded; Str document; EngineStart start; } Storing;

static bool send_definition(Engine *engine, const void *what)
{
    const Storing *storing = what;
    EngineStart start = storing->start;
    Error err = { 0 };
    Status status = engine_plan_add(engine, storing->document, &start.plan, &err);
    if (status) {
        start.reply(start.context, &(EngineReply){ .status = status, .error = &err });
        return true;
    }
    engine_plan_text(engine, &start.plan, storing->loaded->text);
    return engine_start(engine, &start);
}

static Status print_stored_json(const Cell *row, const Deed *deed, const RevisionCheck *check, Buf *out, Error *err)
{
    Arena *arena = deed->args->arena;
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("workflow"), cell_value(&row[REVISIONS_workflow_id]));
    member_list_add(&members, STR("version"), cell_value(&row[REVISIONS_version]));
    member_list_add(&members, STR("active"), value_bool(row[REVISIONS_active].integer != 0));
    member_list_add(&members, STR("noop"), value_bool(deed->is_noop));
    if (deed->was_asked && args_value(deed->args, "id")) member_list_add(&members, STR("repeat"), value_bool(true));
    member_list_add(&members, STR("comparedWith"), check->before ? cell_value(&check->before[REVISIONS_version]) : value_null());
    member_list_add(&members, STR("incompatibilities"), compatibility_list(arena, &check->found));
    Status status = json_print(out, member_list_object(&members), JSON_COMPACT, err);
    buf_char(out, '\n');
    return status;
}

static ExitCode tell_stored(const Args *args, const Cell *row, const Deed *deed, const RevisionCheck *check)
{
    Buf out;
    Error err;
    Status status = OK;
    Str workflow = row[REVISIONS_workflow_id].text, tenant = row[REVISIONS_tenant].text;
    int64_t version = row[REVISIONS_version].integer;
    bool is_active = row[REVISIONS_active].integer != 0;
    buf_init(&out, JSON_SIZE_MAX);
    if (args_flag(args, "json")) {
        status = print_stored_json(row, deed, check, &out, &err);
    } else {
        buf_format(&out, "revision %" PRId64 " of %.*s %s%s\n", version, STR_ARG(workflow), deed->is_noop ? "was stored before" : "is now stored",
                   is_active ? ", and is active" : "");
    }
    print_out(&out);
    buf_deinit(&out);
    if (status) return fail(&err);
    revision_warn(workflow, check, "it is stored; 'maestro revisions activate' refuses it without --allow-incompatible\n");
    if (is_active || args_flag(args, "json")) return EXIT_CODE_OK;
    Str name = arena_format(args->arena, "%.*s@%" PRId64 "%s%.*s", STR_ARG(workflow), version, str_is_text(tenant, "default") ? "" : " --tenant ",
                            STR_ARG(str_is_text(tenant, "default") ? STR("") : tenant));
    print_note("'%.*s' makes it the one that is started by its name\n", STR_ARG(shell_command(args, "revisions activate", name.ptr)));
    return EXIT_CODE_OK;
}

static ExitCode find_stored(const Args *args, const Plan *plan, const Deed *deed)
{
    Store *store;
    const Cell *row;
    RevisionCheck check;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = revision_of_plan(args, store, plan, &row);
    if (!code) code = revision_compare(args, store, plan, &check);
    store_close(store);
    return code ? code : tell_stored(args, row, deed, &check);
}

static ExitCode store_loaded(const Args *args, const Loaded *loaded, Str document)
{
    const Plan *plan = &loaded->compiled.plan;
    const char *reason = args_value(args, "reason");
    Storing storing;
    Deed deed = { .args = args, .errand = errand_begin(args, "store-revision"), .send = send_definition, .what = &storing };
    storing = (Storing){
        .loaded = loaded, .document = document,
        .start = { .tenant = plan->tenant, .is_stored_only = true, .reply = deed_reply, .context = &deed,
                   .request = { .params = value_null(), .payload = value_null(), .source = STR("manual") },
                   .command = { .id = deed.errand.id, .actor = deed.errand.actor, .rationale = str_of(reason), .trace = deed.errand.trace } },
    };
    errand_add(&deed.errand, "tenant", value_string(plan->tenant));
    errand_add(&deed.errand, "plan", value_string(document));
    /* A definition that is too long to go with its plan is known by that alone. */
    if (loaded->text.len + document.len < CONTROL_LINE_SIZE_MAX / 2) errand_add(&deed.errand, "text", value_string(loaded->text));
    if (reason) errand_add(&deed.errand, "reason", value_string(str_of(reason)));
    ExitCode code = deed_do(&deed);
    if (code) return code;
    return deed.status ? problem_report(deed.problem, &deed.error) : find_stored(args, plan, &deed);
}

static ExitCode run_store(const Args *args)
{
    Loaded loaded;
    Buf document;
    Error err;
    ExitCode code = load_plan_to_run(args, args->operands[0], &loaded);
    if (code) return code;
    buf_init(&document, PLAN_SIZE_MAX);
    code = canonical_print(&document, loaded.compiled.plan.document, &err) ? fail(&err) : store_loaded(args, &loaded, buf_peek(&document));
    buf_deinit(&document);
    return code;
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

static const Option change_options[] = {          /* of what makes none the active one */
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
    bool is_repeat = deed->was_asked && args_value(deed->args, "id");
    const char *state = revision->is_removal ? "removed" : revision->is_activation ? "active" : "not active";
    Buf out;
    buf_init(&out, 4096);
    if (args_flag(deed->args, "json")) {
        buf_text(&out, "{\"workflow\":");
        json_print_string(&out, revision->workflow);
        buf_format(&out, ",\"version\":%" PRIu32 ",\"active\":%s,%s\"noop\":%s%s}\n", revision->version,
                   revision->is_activation ? "true" : "false", revision->is_removal ? "\"removed\":true," : "", deed->is_noop ? "true" : "false",
                   is_repeat ? ",\"repeat\":true" : "");
    } else {
        buf_format(&out, "revision %" PRIu32 " of %.*s %s %s\n", revision->version, STR_ARG(revision->workflow),
                   deed->is_noop ? "was" : "is now", state);
    }
    print_out(&out);
    buf_deinit(&out);
}

static ExitCode check_place(const Args *args, Store *store, const Cell *row, RevisionSeen *out_seen)
{
    Plan plan;
    Str document;
    ExitCode code = revision_plan(args, store, row, &plan, &document);
    return code ? code : revision_admit(args, store, &plan, out_seen);
}

typedef enum Change { ACTIVATED, DEACTIVATED, REMOVED } Change;

/* A removal that is sent again finds nothing to look at: the engine knows what it has answered. */
static bool name_removed(const Args *args, Change change, EngineRevision *out)
{
    Str name = str_of(args->operands[0]);
    size_t at = str_find(name, '@', 0);
    uint64_t version;
    if (change != REMOVED || !args_value(args, "id")) return false;
    if (!str_to_u64(str_slice(name, at + 1, name.len), &version) || version > UINT32_MAX) return false;
    *out = (EngineRevision){ .tenant = revision_tenant(args), .workflow = str_slice(name, 0, at), .version = (uint32_t)version };
    return true;
}

/* The revision that is meant, and that it may take the place of the active one where it is to. */
static ExitCode look_up(const Args *args, Change change, EngineRevision *out)
{
    Store *store;
    const Cell *row = NULL;
    if (!strchr(args->operands[0], '@')) {
        print_note("maestro %s: which revision? NAME@VERSION, and '%s' has no version\n", args->command->name, args->operands[0]);
        return EXIT_CODE_USAGE;
    }
    if (name_removed(args, change, out)) return EXIT_CODE_OK;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = revision_find(args, store, args->operands[0], &row);
    if (!code) *out = (EngineRevision){ .tenant = row[REVISIONS_tenant].text, .workflow = row[REVISIONS_workflow_id].text,
                                        .version = (uint32_t)row[REVISIONS_version].integer };
    if (!code && change == ACTIVATED) code = check_place(args, store, row, &out->seen);
    store_close(store);
    return code;
}

/* *out_is_overtaken: another one became active than it was compared with; nothing was done. */
static ExitCode change_once(const Args *args, Change change, bool *out_is_overtaken)
{
    static const char *const verbs[] = { "activate", "deactivate", "remove-revision" };
    const char *reason = args_value(args, "reason");
    EngineRevision revision;
    *out_is_overtaken = false;
    ExitCode code = look_up(args, change, &revision);
    if (code) return code;
    Deed deed = { .args = args, .errand = errand_begin(args, verbs[change]), .send = send,
                  .what = &revision };
    revision.is_activation = change == ACTIVATED;
    revision.is_removal = change == REMOVED;
    revision.reply = deed_reply;
    revision.context = &deed;
    revision.command = (Command){ .id = deed.errand.id, .actor = deed.errand.actor, .rationale = str_of(reason), .trace = deed.errand.trace };
    errand_add(&deed.errand, "tenant", value_string(revision.tenant));
    errand_add(&deed.errand, "workflow", value_string(revision.workflow));
    errand_add(&deed.errand, "revision", value_int(revision.version));
    if (revision.seen.has_active) errand_add(&deed.errand, "against", value_int(revision.seen.active));
    if (reason) errand_add(&deed.errand, "reason", value_string(str_of(reason)));
    code = deed_do(&deed);
    if (code) return code;
    *out_is_overtaken = change == ACTIVATED && deed.status == ERR_CONFLICT && revision.seen.has_active;
    if (*out_is_overtaken) return EXIT_CODE_RUN_FAILED;
    if (deed.status) return problem_report(deed.problem, &deed.error);
    tell(&deed);
    return EXIT_CODE_OK;
}

static ExitCode change_to(const Args *args, Change change)
{
    bool is_overtaken = true;
    ExitCode code = EXIT_CODE_OK;
    for (uint32_t tries = 0; is_overtaken && tries < ACTIVATE_TRY_COUNT_MAX; tries++) code = change_once(args, change, &is_overtaken);
    if (!is_overtaken) return code;
    Error err;
    error_set(&err, ERR_CONFLICT, "others were activated meanwhile, ACTIVATE_TRY_COUNT_MAX (%u) times; ask again", ACTIVATE_TRY_COUNT_MAX);
    return errand_refused(&err);
}

static ExitCode run_activate(const Args *args) { return change_to(args, ACTIVATED); }
static ExitCode run_deactivate(const Args *args) { return change_to(args, DEACTIVATED); }
static ExitCode run_remove(const Args *args) { return change_to(args, REMOVED); }

/* --- the commands --------------------------------------------------------------------------------------------------------- */

const Verb command_revisions_store = {
    .name = "revisions store", .operands = "FILE", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Stores a definition as a revision, and starts nothing.",
    .doc = "The definition becomes the next revision of its workflow, unless it is one already. It is not active: what is\n"
           "started by the workflow's name, by its schedules and hooks is what was, until 'maestro revisions activate' says\n"
           "otherwise. Its tenant is the one that it names. Where there is no store yet, one is made. What breaks who relies on\n"
           "the active revision, or where none is on the one that was active last, is told, and stored all the same.",
    .examples = "maestro revisions store order.yaml\n"
                "maestro revisions store order.yaml --reason \"asked for by finance\" --json",
    .options = store_options, .run = run_store,
};

const Verb command_revisions_activate = {
    .name = "revisions activate", .operands = "NAME@VERSION", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Makes a stored revision the one that is started by its name.",
    .doc = "At most one revision of a workflow is active: the one that was is not any more, in the same commit. Runs that\n"
           "are under way go on with the revision that they were started with. Who did it, and why, is recorded in the\n"
           "ledger. One that breaks who relies on the active revision, or where none is on the one that was active last, is\n"
           "refused, unless --allow-incompatible is given. A first one breaks nobody.",
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
    .options = change_options, .run = run_deactivate,
};

const Verb command_revisions_remove = {
    .name = "revisions remove", .operands = "NAME@VERSION", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Removes a stored revision that nobody uses.",
    .doc = "One that is active is deactivated first, and one that a run has or had is not removed: its runs belong to it. The\n"
           "number is not given to another. Who did it, and why, is recorded in the ledger. Exit code 1: it is in use.",
    .examples = "maestro revisions remove order-fulfillment@4 --reason \"stored by mistake\"",
    .options = change_options, .run = run_remove,
};

static const Verb *const revisions_commands[] = { &command_revisions_store, &command_revisions_activate, &command_revisions_deactivate,
                                                  &command_revisions_remove, NULL };

const Verb command_revisions = {
    .name = "revisions", .operands = "[NAME]", .operand_count_max = 1,
    .summary = "Lists the stored revisions of workflows, and says which are started.",
    .doc = "A definition that is run, or stored by 'maestro revisions store', is a revision of its workflow: number 1, 2, 3\n"
           "..., and never changes. The same definition is the same revision; one that says something else is the next.\n"
           "VERSION is what its author calls it, 'version:' in the definition. 'maestro run NAME' starts the active one,\n"
           "'maestro run NAME@VERSION' that one. With NAME the newest comes first.",
    .examples = "maestro revisions\n"
                "maestro revisions order-fulfillment --json",
    .options = list_options, .run = run_list, .commands = revisions_commands,
};
