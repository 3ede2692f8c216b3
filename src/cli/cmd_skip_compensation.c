#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "remaining", 0, NULL, NULL, "Skips all that are left: the run is compensated as far as it is." },
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static ExitCode run(const Args *args)
{
    Command command = { .kind = COMMAND_SKIP_COMPENSATION, .value = value_null() };
    Errand errand = errand_begin(args, "skip-compensation");
    if (!resolve_args(args, &command, &errand)) return EXIT_CODE_USAGE;
    return order(args, &errand, command);
}

const Verb command_skip_compensation = {
    .name = "skip-compensation", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Skips a compensation that failed, and goes on with the rest.",
    .doc = "The compensation that stopped the rollback is left as it is, as done by hand or not needed, and the next one is run. STEP\n"
           "is the step that it undoes; without it, the one that failed is meant.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: no\n"
           "compensation of the run has failed, or another one.",
    .examples = "maestro skip-compensation last payments.charge --reason \"refunded by hand\"",
    .options = options, .run = run,
};
