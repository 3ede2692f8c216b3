#include "cli/order.h"
#include "cli/workplace.h"

static const Option options[] = {
    JOB_OPTION("Pauses that job alone: the others go on."),
    ORDER_OPTIONS,
    { NULL },
};

static ExitCode run(const Args *args)
{
    Errand errand = errand_begin(args, "pause");
    Command command = { .kind = COMMAND_PAUSE, .value = value_null() };
    order_job(args, &errand, &command);
    return order(args, &errand, command);
}

const Verb command_pause = {
    .name = "pause", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Pauses a run or one of its jobs: what is under way ends, nothing new begins.",
    .doc = "Steps that are under way are finished; no further one begins until 'maestro resume' or 'maestro cancel'. Timers\n"
           "and waiting go on. The process that owns the store is told; where none does, the run is paused in the store\n"
           "itself.\n"
           "\n"
           "With --job it is that job which begins nothing, and the rest of the run goes on. Its pause and that of its run are\n"
           "independent: 'maestro resume RUN' does not resume the job. One that nothing has run of yet stays queued.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "state of the run or job does not permit it, and nothing was changed.",
    .examples = "maestro pause last --reason \"the database is being moved\"\n"
                "maestro pause last --job deploy",
    .options = options, .run = run,
};
