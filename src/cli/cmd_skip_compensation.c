#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "remaining", 0, NULL, NULL, "Skips all that are left: the run is compensated as far as it is." },
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    return resolve_order(args, COMMAND_SKIP_COMPENSATION, "skip-compensation");
}

const Verb command_skip_compensation = {
    .name = "skip-compensation", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Skips a compensation that failed, and goes on with the rest.",
    .doc = "The compensation that stopped the rollback is left as it is, as done by hand or not needed, and the next one is\n"
           "run. STEP is the step that it undoes; without it, the one that failed is meant.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: no\n"
           "compensation of the run has failed, or another one.",
    .examples = "maestro skip-compensation last payments.charge --reason \"refunded by hand\"",
    .options = options, .run = run,
};
