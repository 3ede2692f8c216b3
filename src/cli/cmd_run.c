#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/attend.h"
#include "cli/guardrails.h"
#include "cli/load.h"
#include "cli/params_read.h"
#include "cli/problem.h"
#include "cli/revision_read.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "value/json.h"

static const Option options[] = {
    { "param", 'p', "NAME=VALUE", NULL, "A parameter of the run: a text, or JSON of the type it is declared with.",
      .repeats = true },
    { "key", 0, "KEY", NULL, "The idempotency key, in place of the definition's." },
    { "again", 0, NULL, NULL, "A new run, though one with the same key exists." },
    INCOMPATIBLE_OPTION,
    TENANT_OPTION,
    STORE_OPTION_MADE,
    POLICY_OPTION,
    WAITING_OPTION,
    { "json", 0, NULL, NULL, "Prints events as JSON, one a line, and the result." },
    { "quiet", 'q', NULL, NULL, "Prints nothing but the run's id and what went wrong." },
    { NULL },
};

/* --- the version before -------------------------------------------------------------------------------------------------- */

/* A version that breaks who relies on the one before is reported, and started only where that is wished. */
static ExitCode check_before(const Args *args, const Plan *plan, RevisionSeen *out_seen)
{
    Store *store;
    Error err;
    if (adapters.store_open(store_url(args), /* is_created= */ false, &store, &err))
        return EXIT_CODE_OK;                    /* nothing was run there yet; what else is wrong with it attend() says */
    ExitCode code = revision_admit(args, store, plan, out_seen);
    store_close(store);
    return code;
}

/* --- the command --------------------------------------------------------------------------------------------------------- */

/* What is wrong with the parameters is said before anything is begun, all of it; the engine looks at them again. */
static ExitCode check_params(const Args *args, const AttendWish *wish)
{
    Error err;
    Str key;
    StartRequest request = { .params = wish->params, .payload = value_null(), .key = wish->key };
    return decide_start_key(wish->plan, &request, args->arena, &key, &err) ? problem_report(PROBLEM_PARAMETERS, &err) : EXIT_CODE_OK;
}

static ExitCode start(const Args *args, AttendWish *wish)
{
    wish->key = str_of(args_value(args, "key"));
    wish->is_again = args_flag(args, "again");
    if (!params_read(args, "param", wish->plan, &wish->params)) return EXIT_CODE_USAGE;
    ExitCode code = wish->revision ? EXIT_CODE_OK : check_before(args, wish->plan, &wish->seen);
    if (!code) code = check_params(args, wish);
    return code ? code : attend(args, wish);
}

static ExitCode run_file(const Args *args)
{
    Loaded loaded;
    ExitCode code = load_plan_to_run(args, args->operands[0], &loaded);
    if (code) return code;
    Buf document;
    Error err;
    buf_init(&document, PLAN_SIZE_MAX);
    Status status = canonical_print(&document, loaded.compiled.plan.document, &err);
    AttendWish wish = { .catalog = loaded.catalog, .plan = &loaded.compiled.plan, .document = buf_peek(&document),
                        .text = loaded.text };
    code = status ? fail(&err) : start(args, &wish);
    buf_deinit(&document);
    return code;
}

static ExitCode find_stored(const Args *args, Plan *out_plan, AttendWish *out_wish)
{
    Store *store;
    const Cell *row = NULL;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = revision_find(args, store, args->operands[0], &row);
    if (!code && !row[REVISIONS_active].integer) {
        Error err;
        int64_t version = row[REVISIONS_version].integer;
        Str workflow = row[REVISIONS_workflow_id].text;
        error_set(&err, ERR_CONFLICT, "revision %" PRId64 " of '%.*s' is not active; 'maestro revisions activate "
                                                          "%.*s@%" PRId64 "' makes it so",
                  version, STR_ARG(workflow), STR_ARG(workflow), version);
        code = problem_report(PROBLEM_REVISION_NOT_ACTIVE, &err);
    }
    if (!code) code = revision_plan(args, store, row, out_plan, &out_wish->document);
    if (!code) out_wish->revision = (uint32_t)row[REVISIONS_version].integer;
    store_close(store);
    return code;
}

static ExitCode run_stored(const Args *args)
{
    Plan plan;
    AttendWish wish = { .plan = &plan };
    ExitCode code = server_is_meant(args) ? EXIT_CODE_OK : load_catalog(args, "", &wish.catalog);
    if (!code) code = find_stored(args, &plan, &wish);
    return code ? code : start(args, &wish);
}

/* A path is a file, there or not: a name has neither directories nor the ending of a definition. */
static bool is_name(const char *operand)
{
    static const char *const endings[] = { ".yaml", ".yml", ".json", ".ts" };
    Str text = str_of(operand);
    if (file_exists(operand) || strchr(operand, '/') || str_is_text(text, "-")) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(text, str_of(endings[i]))) return false;
    return true;
}

static ExitCode run(const Args *args)
{
    ExitCode code = guardrails_refuse_client(args);
    if (code) return code;
    return is_name(args->operands[0]) ? run_stored(args) : run_file(args);
}

const Verb command_run = {
    .name = "run", .operands = "FILE|NAME[@VERSION]", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Runs a definition or a stored revision of one, and shows how it goes.",
    .doc = "Starts a run of the definition and carries it out, step by step. Everything that happens is durable before the\n"
           "next step begins. On a terminal the steps are shown as a tree; otherwise as lines. Where the definition has an\n"
           "idempotency key, the same command again continues that run, or shows its result if it has ended; --again starts\n"
           "a new one.\n"
           "\n"
           "Ctrl-C pauses the run and lets the steps end that are under way; a second one ends these, too. After that, or a\n"
           "crash, 'maestro resume RUN' goes on where the run was. One process at a time carries out the runs of a store:\n"
           "where another one does, it is given this run, and this command shows how it goes and takes over when that\n"
           "process ends. There, and with --server, Ctrl-C ends the showing and the run goes on.\n"
           "\n"
           "A definition is stored with its first run as a revision of its workflow, number 1, 2, 3 ..., and is the active\n"
           "one from then on. NAME starts the active revision of a stored workflow without its file, NAME@3 its third,\n"
           "NAME@2.1.0 the one with that 'version:'; see 'maestro revisions'. A definition that has changed in a way that\n"
           "breaks who relies on the active revision, or where none is on the one that was active last, is refused, unless\n"
           "--allow-incompatible is given; see 'maestro check --against'.\n"
           "\n"
           "With --server the definition is compiled by the server, with the runners and under the policies that it has; what is\n"
           "wrong with it is told as ever.",
    .examples = "maestro run hello.yaml --param who=Ana\n"
                "maestro run order.yaml -p order_id=17 --store sqlite:./orders.db\n"
                "maestro run order-fulfillment@2 -p order_id=18",
    .options = options, .run = run,
};
