#include "cli/order.h"
#include "cli/workplace.h"

static const Option options[] = {
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    Errand errand = errand_begin(args, "retry-compensation");
    return order(args, &errand, (Command){ .kind = COMMAND_RETRY_COMPENSATION, .value = value_null() });
}

const Verb command_retry_compensation = {
    .name = "retry-compensation", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Tries a compensation that failed once more.",
    .doc = "The compensation that stopped the rollback of the run gets as many further attempts as it declares, under the same\n"
           "idempotency key; then the rest goes on.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: no\n"
           "compensation of the run has failed.",
    .examples = "maestro retry-compensation last --reason \"the bank is back\"",
    .options = options, .run = run,
};
