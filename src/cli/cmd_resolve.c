
#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/resolve_ask.h"
#include "cli/resolve_bulk.h"
#include "cli/workplace.h"

static const char *const decisions[] = { "retry", "retry-from-step", "compensate", "cancel", "mark-resolved", NULL };
static const Option options[] = {
    { "decision", 0, "WORD", decisions, "What is decided: retry, retry-from-step, compensate, cancel or mark-resolved." },
    { "where", 0, "FILTER", NULL, "Decides about all runs that fit: workflow=NAME state=failed since=1h step=ID cause=NAME." },
    { "dry-run", 'n', NULL, NULL, "Shows which runs are meant and what would be done, and changes nothing." },
    SCOPE_OPTION,
    STEP_OPTION,
    FROM_OPTION,
    MODE_OPTION,
    { "include-step", 0, NULL, NULL, "With compensate-then-retry: undoes the step itself, too." },
    UNKNOWN_OPTION,
    REVISION_OPTION,
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    bool is_bulk = args_flag(args, "where");
    if (is_bulk == (args->operand_count > 0)) {
        print_note("maestro: which runs? Either RUN, or --where 'workflow=NAME state=failed since=1h' for many\n");
        return EXIT_CODE_USAGE;
    }
    if (args_flag(args, "revision") && (args_flag(args, "dry-run") || !args_flag(args, "decision"))) {
        print_note("maestro: --revision needs --decision retry; 'maestro retry-from RUN STEP --revision N --dry-run' shows what differs\n");
        return EXIT_CODE_USAGE;
    }
    if (!resolve_fits(args)) return EXIT_CODE_USAGE;
    if (is_bulk) return resolve_bulk(args);
    if (args_flag(args, "dry-run") || !args_flag(args, "decision")) return resolve_ask(args);
    return resolve_order(args, COMMAND_RESOLVE, "resolve");
}

const Verb command_resolve = {
    .name = "resolve", .operands = "[RUN]", .operand_count_min = 0, .operand_count_max = 1,
    .summary = "Decides what becomes of a run that has failed.",
    .doc = "A run that failed waits for a decision, or for its automatic retry. Without --decision, its failure, its last\n"
           "lines and the choices with what each would do are shown; on a terminal it asks which, why, and whether it is\n"
           "meant, and does it. Elsewhere --decision is needed.\n"
           "\n"
           "retry runs anew the steps that failed and what was skipped because of them; retry-from-step does so from a step\n"
           "that was completed (--from); compensate undoes what was done, newest first; cancel ends the run and leaves what\n"
           "was done; mark-resolved leaves it failed for good. Who decided and why is recorded. An option that a decision does\n"
           "not take is refused.\n"
           "\n"
           "A step that announced an effect of which nobody knows whether it took place keeps a run from being compensated\n"
           "until --unknown-effects says what was found out: 'compensate' them, or 'leave' them.\n"
           "\n"
           "--where decides about many: all of its fields hold, as in 'workflow=order state=failed since=1h step=order.ship\n"
           "cause=timeout tenant=default'. Each run is decided on by itself, with an entry of its own in the ledger and a\n"
           "line here; exit code 1: some were refused. --dry-run shows which they are.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "state of the run does not permit it, and nothing was changed.",
    .examples = "maestro resolve last --decision retry --reason \"the database is back\"\n"
                "maestro resolve last --decision compensate --step payments.charge\n"
                "maestro resolve --where 'workflow=order state=failed since=1h' --decision retry --dry-run",
    .options = options, .run = run,
};
