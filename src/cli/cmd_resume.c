#include <stdio.h>
#include <unistd.h>

#include "cli/attend.h"
#include "cli/guardrails.h"
#include "cli/load.h"
#include "cli/order.h"
#include "cli/run_read.h"
#include "cli/server_order.h"
#include "cli/workplace.h"

static const Option options[] = {
    JOB_OPTION("Resumes that job alone, which was paused by itself."),
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    POLICY_OPTION,
    WAITING_OPTION,
    { "follow", 'f', NULL, NULL, "Stays until the run is settled, also where another process carries it out." },
    { "json", 0, NULL, NULL, "Prints events as JSON, one a line." },
    { "quiet", 'q', NULL, NULL, "Prints nothing but the run's id and what went wrong." },
    { NULL },
};

/* The run, and whether its resumption is only an order: somebody carries out the runs of its store, or it has ended and the
 * order is refused. */
static ExitCode look(const Args *args, AttendWish *wish, bool *out_is_ordered)
{
    Store *store;
    const Cell *row;
    Error err;
    int fd = -1;
    bool is_settled = false;
    const char *path = control_path(args);
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code) {
        Plan *plan = ARENA_NEW(args->arena, Plan);
        wish->run_id = row_id(row);
        wish->run_plan = plan;
        is_settled = row_is_settled(row);
        if (run_plan(args->arena, store, row, plan, &err)) code = fail(&err);
    }
    store_close(store);
    bool has_owner = path && !control_connect(path, &fd, &err);
    if (has_owner) close(fd);
    bool is_followed = args_flag(args, "follow") || args_flag(args, "until-waiting");      /* who waits for something stays */
    *out_is_ordered = (has_owner && !is_followed) || is_settled;
    return code;
}

static ExitCode run(const Args *args)
{
    const char *reason = args_value(args, "reason");
    AttendWish wish = { .reason = str_of(reason) };
    bool is_ordered;
    ExitCode code = guardrails_refuse_client(args);
    if (!code) code = look(args, &wish, &is_ordered);
    if (code) return code;
    if (is_ordered || args_value(args, "job")) {
        Errand errand = errand_begin(args, "resume");
        Command command = { .kind = COMMAND_RESUME, .value = value_null() };
        order_job(args, &errand, &command);
        return order(args, &errand, command);
    }
    code = server_is_meant(args) ? EXIT_CODE_OK : load_catalog(args, "", &wish.catalog);
    return code ? code : attend(args, &wish);
}

const Verb command_resume = {
    .name = "resume", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Resumes a run or job that is paused, or a run that nobody carries out.",
    .doc = "Where a process owns the store, it is told, and goes on with the run: this command ends then, or with --follow shows\n"
           "how the run goes until it is settled, with --until-waiting until it waits; Ctrl-C ends the showing, not the run. Where\n"
           "none does, this command becomes the owner and carries the run on until it is settled, as 'maestro run' does: a run that\n"
           "was interrupted, or whose process died, too. Runners are found in --runners FILE, $MAESTRO_RUNNERS, ./runners.yaml or\n"
           "the user's configuration; a step whose runner is not known here waits for a process that knows it.\n"
           "\n"
           "With --job a job that was paused by itself goes on where it was: this is recorded and no more. Where no process owns\n"
           "the store, 'maestro resume RUN' then carries the run on.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "run failed, or its state does not permit it.",
    .examples = "maestro resume last\n"
                "maestro resume AP6XBPE7qEHu5AFydDNWo --reason \"the database is back\"\n"
                "maestro resume last --job deploy",
    .options = options, .run = run,
};
