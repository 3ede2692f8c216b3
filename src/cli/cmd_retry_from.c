#include <stdio.h>

#include "cli/follow.h"
#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "core/compensation.h"
#include "core/name.h"
#include "core/rerun.h"

static const Option options[] = {
    MODE_OPTION,
    { "include-step", 0, NULL, NULL, "With compensate-then-retry: undoes the step itself, too." },
    UNKNOWN_OPTION,
    { "dry-run", 'n', NULL, NULL, "Shows what would be run anew, and changes nothing." },
    ORDER_OPTIONS,
    { NULL },
};

static void take_nothing(void *context, const Observation *observation)
{
    (void)context, (void)observation;
}

static void show(const Args *args, const Plan *plan, const Run *run, uint32_t step, const Command *command)
{
    const uint8_t *set = rerun_set(plan, run, step, args->arena);
    RollbackPlan wanted = { .scope = SCOPE_FROM_STEP, .from = step, .flags = command->includes ? 0 : ROLLBACK_EXCLUDES_STEP };
    CompensationList undone = { .unknown = STEP_NONE };
    if (command->mode == COMPENSATE_THEN_RETRY) undone = compensation_list(plan, run, &wanted, args->arena);
    for (uint32_t i = 0; i < undone.count; i++) printf("compensate %.*s\n", STR_ARG(plan->steps[undone.steps[i]].id));
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (set[i]) printf("run anew   %.*s\n", STR_ARG(plan->steps[i].id));
    if (undone.unknown != STEP_NONE)
        printf("but nobody knows whether the effect of %.*s took place: see --unknown-effects\n", STR_ARG(plan->steps[undone.unknown].id));
}

/* The run as its events have made it, and what they would make of it. */
static Status look(const Args *args, Store *store, const Cell *row, const Command *command, Error *err)
{
    Follow follow = { 0 };
    uint32_t step;
    Status status = follow_open(&follow, store, row, /* has_logs= */ false, err);
    for (uint32_t count = 1; !status && count;) status = follow_look(&follow, take_nothing, NULL, &count, err);
    const Run *run = &follow.replay.run;
    if (!status && (run->state != RUN_FAILED || run->resolution == RESOLUTION_RESOLVED))
        status = error_set(err, ERR_CONFLICT, "the run is %s: only a failed run is retried", run_state_name((RunState)run->state));
    if (!status && !name_find_step(&follow.plan, command->name, &step))
        status = error_set(err, ERR_NOT_FOUND, "the run has no step '%.*s'", STR_ARG(command->name));
    if (!status) show(args, &follow.plan, run, step, command);
    follow_close(&follow);
    return status;
}

static ExitCode dry_run(const Args *args, const Command *command)
{
    Store *store;
    const Cell *row;
    Error err = { 0 };
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code && look(args, store, row, command, &err)) code = errand_refused(&err);
    store_close(store);
    return code;
}

static ExitCode run(const Args *args)
{
    Command command = { .kind = COMMAND_RETRY_FROM, .value = value_null() };
    Errand errand = errand_begin(args, "retry-from");
    if (!resolve_args(args, &command, &errand)) return EXIT_CODE_USAGE;
    return args_flag(args, "dry-run") ? dry_run(args, &command) : order(args, &errand, command);
}

const Verb command_retry_from = {
    .name = "retry-from", .operands = "RUN STEP", .operand_count_min = 2, .operand_count_max = 2,
    .summary = "Runs a failed run anew from a step that was completed.",
    .doc = "STEP and all steps after it are run anew, and what failed elsewhere; the outputs of the steps before it are kept. With\n"
           "--mode compensate-then-retry, what comes after STEP is undone first, newest first, and nothing is run anew before all of\n"
           "it is undone. --dry-run shows both lists.\n"
           "\n"
           "STEP is the id of a step (job.task), or its bare name where only one has it. RUN is the id of a run, its beginning, 'last',\n"
           "or the file of a definition for its newest run. Exit code 1: the run has not failed, or the step was not completed.",
    .examples = "maestro retry-from last reserve-inventory --dry-run\n"
                "maestro retry-from last reserve-inventory --mode compensate-then-retry --reason \"wrong warehouse\"",
    .options = options, .run = run,
};
