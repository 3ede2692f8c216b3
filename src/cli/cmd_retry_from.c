#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/follow.h"
#include "cli/order.h"
#include "cli/params_read.h"
#include "cli/resolve_args.h"
#include "cli/resolve_ask.h"
#include "cli/revision_read.h"
#include "cli/run_read.h"
#include "cli/run_story.h"
#include "cli/what_if.h"
#include "cli/workplace.h"
#include "core/compensation.h"
#include "core/decide.h"
#include "core/name.h"
#include "core/rerun.h"
#include "core/revise.h"
#include "value/json.h"

static const Option options[] = {
    MODE_OPTION,
    { "include-step", 0, NULL, NULL, "With compensate-then-retry: undoes the step itself, too." },
    UNKNOWN_OPTION,
    REVISION_OPTION,
    { "with", 'w', "NAME=VALUE", NULL, "Changes a parameter of the run, for everything that is carried out from now on.",
      .repeats = true },
    { "dry-run", 'n', NULL, NULL, "Shows what would be run anew, and changes nothing." },
    ORDER_OPTIONS,
    { NULL },
};

/* The plan of --revision; that of the run where it is the same. */
static Status find_target(const Args *args, Store *store, const Cell *row, const Plan *plan, uint32_t revision, Plan *out, Error *err)
{
    *out = *plan;
    if (!revision || revision == (uint32_t)row[RUNS_definition_version].integer) return OK;
    return revision_plan_of(args->arena, store, plan, revision, out, err);
}

static Status show_revision(const Args *args, const Plan *before, const Plan *after, uint32_t revision, Error *err)
{
    if (!revision || memcmp(&before->digest, &after->digest, sizeof before->digest) == 0) return OK;
    Status status = revise_check_shape(before, after, err);
    if (status) return status;
    Str differences = revise_differences(before, after, args->arena);
    print_format("revision   %" PRIu32 "%s%.*s\n", revision, differences.len ? ", in which these steps differ: " : "", STR_ARG(differences));
    return OK;
}

static void show(const Args *args, const Plan *plan, const Run *run, uint32_t step, const Command *command)
{
    const uint8_t *set = rerun_set(plan, run, step, args->arena);
    RollbackPlan wanted = { .scope = SCOPE_FROM_STEP, .from = step, .flags = command->includes ? 0 : ROLLBACK_EXCLUDES_STEP };
    if (command->unknown == UNKNOWN_COMPENSATES) wanted.flags |= ROLLBACK_UNKNOWN_IS_DONE;
    if (command->unknown == UNKNOWN_LEAVES) wanted.flags |= ROLLBACK_UNKNOWN_IS_NONE;
    CompensationList undone = { .unknown = STEP_NONE };
    if (command->mode == COMPENSATE_THEN_RETRY) undone = compensation_list(plan, run, &wanted, args->arena);
    for (uint32_t i = 0; i < undone.count; i++) print_format("compensate %.*s\n", STR_ARG(plan->steps[undone.steps[i]].id));
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (set[i]) print_format("run anew   %.*s\n", STR_ARG(plan->steps[i].id));
}

/* What the parameters would be, looked at as a start's. */
static Status show_change(const Args *args, Store *store, const Cell *row, const Plan *plan, Value edits, Error *err)
{
    Value start;
    if (edits.kind != VALUE_OBJECT) return OK;
    Status status = params_now(args->arena, store, row, &start, err);
    if (status) return status;
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    Value before = params && params->kind == VALUE_OBJECT ? *params : value_object(args->arena, NULL, 0);
    MemberList merged = { .arena = args->arena };
    for (uint32_t i = 0; i < before.count; i++)
        if (!value_get(edits, value_text(before.members[i].key)))
            member_list_add(&merged, value_text(before.members[i].key), before.members[i].value);
    for (uint32_t i = 0; i < edits.count; i++) member_list_add(&merged, value_text(edits.members[i].key), edits.members[i].value);
    Str key;
    StartRequest request = { .params = member_list_object(&merged), .payload = payload ? *payload : value_null() };
    status = decide_start_key(plan, &request, args->arena, &key, err);
    if (!status) print_format("change     %.*s\n", STR_ARG(params_difference(args->arena, before, edits)));
    return status;
}

/* The run as its events have made it, and what they would make of it. */
static Status look(const Args *args, Store *store, const Cell *row, const Command *command, Error *err)
{
    Follow follow = { 0 };
    uint32_t step = STEP_NONE;
    Status status = what_if_open(&follow, store, row, err);
    const Run *run = &follow.replay.run;
    Plan target;
    if (!status) status = find_target(args, store, row, &follow.plan, command->revision, &target, err);
    if (!status) status = what_if(args->arena, &follow, row, &target, command, err);
    if (!status && !name_find_step(&target, command->name, &step))
        status = error_set(err, ERR_NOT_FOUND, "the run has no step '%.*s'", STR_ARG(command->name));
    if (!status) status = show_revision(args, &follow.plan, &target, command->revision, err);
    if (!status) status = show_change(args, store, row, &target, command->value, err);
    if (!status) show(args, &target, run, step, command);
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

/* --with, by the types that the run's definition declares; null where nothing is to change. */
static ExitCode read_edits(const Args *args, uint32_t revision, Value *out)
{
    Store *store;
    const Cell *row;
    Plan plan;
    Error err;
    *out = value_null();
    if (!args_value(args, "with")) return EXIT_CODE_OK;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code && (run_plan(args->arena, store, row, &plan, &err) || find_target(args, store, row, &plan, revision, &plan, &err)))
        code = fail(&err);
    if (!code && !params_read(args, "with", &plan, out)) code = EXIT_CODE_USAGE;
    store_close(store);
    return code;
}

/* The answer says what changed, as the record does. */
static ExitCode order_change(const Args *args, Errand *errand, Command command)
{
    Store *store;
    const Cell *row = NULL;
    OrderAnswer answer;
    RunStory story = { 0 };
    Error err;
    ExitCode code = order_untold(args, errand, command, &answer);
    if (!code) code = store_open_existing(args, &store);
    if (code) return code;
    Status status = run_row(args->arena, store, id_peek(&answer.run_id), &row, &err);
    if (!status && row) status = run_story_read(args->arena, store, row, &story, &err);
    store_close(store);
    if (status) return fail(&err);
    const StoryEvent *change = run_story_last(&story, EVENT_PARAMS_CHANGED, errand->id);
    Str text = change ? change->text : STR("");
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    if (args_flag(args, "json")) {
        buf_format(&out, "{\"run\":\"%s\",", answer.run_id.text);
        if (!answer.is_repeat) buf_format(&out, "\"before\":\"%s\",", run_state_name(answer.before));
        buf_format(&out, "\"after\":\"%s\",\"noop\":%s,\"repeat\":%s,\"changed\":", run_state_name(answer.after),
                   answer.is_noop ? "true" : "false", answer.is_repeat ? "true" : "false");
        json_print_string(&out, text);
        buf_text(&out, ",\"command\":");
        json_print_string(&out, errand->id);
        buf_text(&out, "}\n");
    } else {
        buf_format(&out, "run %s: %s -> %s%s\n", answer.run_id.text, run_state_name(answer.before), run_state_name(answer.after),
                   answer.is_repeat ? " (asked before; nothing was done now)" : "");
        buf_text(&out, "changed: ");
        plain_put(&out, text, PLAIN_LINE);
        buf_char(&out, '\n');
    }
    print_out(&out);
    buf_deinit(&out);
    return EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    Command command = { .kind = COMMAND_RETRY_FROM, .value = value_null() };
    Errand errand = errand_begin(args, "retry-from");
    ExitCode code = args->operand_count > 1 ? EXIT_CODE_OK : resolve_ask_step(args, &command.name);
    if (code) return code;
    if (!resolve_args(args, &command, &errand)) return EXIT_CODE_USAGE;
    code = read_edits(args, command.revision, &command.value);
    if (code) return code;
    if (command.value.kind == VALUE_OBJECT) errand_add(&errand, "payload", command.value);
    if (args_flag(args, "dry-run")) return dry_run(args, &command);
    return command.value.kind == VALUE_OBJECT ? order_change(args, &errand, command) : order(args, &errand, command);
}

const Verb command_retry_from = {
    .name = "retry-from", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Runs a failed run anew from a step that was completed.",
    .doc = "STEP and all steps after it are run anew, and what failed elsewhere; the outputs of the steps before it are\n"
           "kept. With --mode compensate-then-retry, what comes after STEP is undone first, newest first, and nothing is run\n"
           "anew before all of it is undone. --dry-run shows both lists.\n"
           "\n"
           "--with changes parameters of the run, typed as 'maestro run --param' is, for what is carried out from now on; what\n"
           "was different is recorded. --dry-run shows the difference.\n"
           "\n"
           "--revision goes on with another revision of the workflow: one with the same steps, needs, branches and pauses, whose\n"
           "runners, inputs, conditions, retries or compensations differ. Outputs that are kept must be what it declares.\n"
           "\n"
           "STEP is the id of a step (job.task), or its bare name where only one has it; without one, a terminal is asked.\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "run has not failed, or the step was not completed.",
    .examples = "maestro retry-from last reserve-inventory --dry-run\n"
                "maestro retry-from last reserve-inventory --mode compensate-then-retry --reason \"wrong warehouse\"\n"
                "maestro retry-from last charge --with amount=7 --dry-run\n"
                "maestro retry-from last charge --revision 2 --reason \"the runner was wrong\"",
    .options = options, .run = run,
};
