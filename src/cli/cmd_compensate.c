#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/workplace.h"

static const Option options[] = {
    SCOPE_OPTION,
    STEP_OPTION,
    FROM_OPTION,
    UNKNOWN_OPTION,
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    return resolve_order(args, COMMAND_COMPENSATE, "compensate");
}

const Verb command_compensate = {
    .name = "compensate", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Undoes what a run has done, newest first.",
    .doc = "The compensations of steps that were carried out are run one after the other, in the reverse order of their\n"
           "ending. A run that is under way ends its steps first. Without options all is undone; --step names single steps,\n"
           "--from a step from which on. A compensation that fails for good stops the rest: see 'maestro retry-compensation'\n"
           "and 'maestro skip-compensation'.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "state of the run does not permit it, or there is nothing to undo.",
    .examples = "maestro compensate last --reason \"wrong customer\"\n"
                "maestro compensate last --from payments.charge",
    .options = options, .run = run,
};
