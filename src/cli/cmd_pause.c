#include "cli/order.h"
#include "cli/workplace.h"

static const Option options[] = {
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    Errand errand = errand_begin(args, "pause");
    return order(args, &errand, (Command){ .kind = COMMAND_PAUSE, .value = value_null() });
}

const Verb command_pause = {
    .name = "pause", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Pauses a run: what is under way ends, nothing new begins.",
    .doc = "Steps that are under way are finished; no further one begins until 'maestro resume' or 'maestro cancel'. Timers\n"
           "and waiting go on. The process that owns the store is told; where none does, the run is paused in the store\n"
           "itself.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "state of the run does not permit it, and nothing was changed.",
    .examples = "maestro pause last --reason \"the database is being moved\"",
    .options = options, .run = run,
};
