#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/workplace.h"

static const Option options[] = {
    JOB_OPTION("Cancels that job alone: what needs it is skipped."),
    { "compensate", 0, NULL, NULL, "Undoes what was done, whatever the definition says." },
    { "no-compensate", 0, NULL, NULL, "Leaves what was done, whatever the definition says." },
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    return resolve_order(args, COMMAND_CANCEL, "cancel");
}

const Verb command_cancel = {
    .name = "cancel", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Cancels a run or one of its jobs: what is under way is ended, the rest is skipped.",
    .doc = "Steps that are under way are ended, the others are skipped, and the run ends as cancelled. What was done is\n"
           "undone where the definition or --compensate says so. Cancelling once more changes nothing and is no mistake. The\n"
           "process that owns the store is told; where none does, it is done in the store itself.\n"
           "\n"
           "With --job that job is ended alone. What needs it is skipped as behind a failure, and the run fails by its own rules\n"
           "and waits for a decision; steps that are optional do not fail it. Nothing is undone by that.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "run or job has ended otherwise, and nothing was changed.",
    .examples = "maestro cancel AP6XBPE7qEHu5AFydDNWo --reason \"wrong customer\"\n"
                "maestro cancel last --job notify",
    .options = options, .run = run,
};
