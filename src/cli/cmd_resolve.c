#include <stdio.h>

#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/run_read.h"
#include "cli/workplace.h"

static const char *const decisions[] = { "retry", "retry-from-step", "compensate", "cancel", "mark-resolved", NULL };
static const Option options[] = {
    { "decision", 0, "WORD", decisions, "What is decided: retry, retry-from-step, compensate, cancel or mark-resolved." },
    SCOPE_OPTION,
    STEP_OPTION,
    FROM_OPTION,
    MODE_OPTION,
    { "include-step", 0, NULL, NULL, "With compensate-then-retry: undoes the step itself, too." },
    UNKNOWN_OPTION,
    ORDER_OPTIONS,
    { NULL },
};

/* Nothing was decided: what happened, and what could be. */
static ExitCode tell_choices(const Args *args)
{
    Store *store;
    const Cell *row;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code) {
        Id id = row_id(row);
        printf("run %s is %s", id.text, run_state_name(row_state(row)));
        if (row[RUNS_failed_step_key].kind == CELL_TEXT) printf(" at step %.*s", STR_ARG(row[RUNS_failed_step_key].text));
        if (row[RUNS_error_message].kind == CELL_TEXT) printf(": %.*s", STR_ARG(row[RUNS_error_message].text));
        printf("\n");
        if (row_state(row) == RUN_FAILED && row_resolution(row) != RESOLUTION_RESOLVED)
            printf("--decision retry             runs anew what failed\n"
                   "--decision retry-from-step   --from STEP: runs anew from that step on\n"
                   "--decision compensate        undoes what was done, or a part of it\n"
                   "--decision cancel            ends it; what was done stays\n"
                   "--decision mark-resolved     leaves it failed, as taken care of elsewhere\n");
        else printf("it does not wait for a decision\n");
    }
    store_close(store);
    return code ? code : EXIT_CODE_USAGE;
}

static ExitCode run(const Args *args)
{
    if (!args_flag(args, "decision")) return tell_choices(args);
    return resolve_order(args, COMMAND_RESOLVE, "resolve");
}

const Verb command_resolve = {
    .name = "resolve", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Decides what becomes of a run that has failed.",
    .doc = "A run that failed waits for a decision, or for its automatic retry. Without --decision, its failure and the choices are\n"
           "shown. retry runs anew the steps that failed and what was skipped because of them; retry-from-step does so from a step\n"
           "that was completed (--from); compensate undoes what was done, newest first; cancel ends the run and leaves what was done;\n"
           "mark-resolved leaves it failed for good. Who decided and why is recorded.\n"
           "\n"
           "A step that announced an effect of which nobody knows whether it took place keeps a run from being compensated until\n"
           "--unknown-effects says what was found out: 'compensate' them, or 'leave' them.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the state of\n"
           "the run does not permit it, and nothing was changed.",
    .examples = "maestro resolve last --decision retry --reason \"the database is back\"\n"
                "maestro resolve last --decision compensate --step payments.charge",
    .options = options, .run = run,
};
