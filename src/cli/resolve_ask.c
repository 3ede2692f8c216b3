#include "cli/resolve_ask.h"

#include "base/limits.h"
#include "cli/ask.h"
#include "cli/follow.h"
#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/run_read.h"
#include "cli/what_if.h"
#include "core/compensation.h"
#include "core/rerun.h"

#define ASK_TAIL_COUNT 10u              /* lines of the failed step that are shown */
#define ASK_NAME_COUNT 6u               /* steps that are named in a line */

typedef struct Choice { const char *title, *option, *effect; DecisionKind decision; } Choice;

static const Choice choices[] = {
    { "retry", "--decision retry", "runs anew", DECISION_RETRY },
    { "retry from a step", "--decision retry-from-step --from STEP", "from one of", DECISION_RETRY_FROM_STEP },
    { "compensate", "--decision compensate", "undoes, in this order,", DECISION_COMPENSATE },
    { "cancel", "--decision cancel", "ends it, and leaves what was done by", DECISION_CANCEL },
    { "mark resolved", "--decision mark-resolved", "leaves it failed, as taken care of elsewhere", DECISION_MARK_RESOLVED },
};
#define CHOICE_COUNT (sizeof choices / sizeof *choices)

/* A run that waits for a decision, as its events have made it. */
typedef struct Case {
    const Args *args;
    Store *store;
    const Cell *row;
    Follow follow;
    StepRows tail;                      /* a ring */
} Case;

typedef struct StepSet { uint32_t *steps; uint32_t count; } StepSet;

/* --- the case --------------------------------------------------------------------------------------------------------------- */

static Status case_read(Case *failed, Error *err)
{
    const Cell *row = failed->row;
    Status status = run_is_here(row, err);
    if (!status && (row_state(row) != RUN_FAILED || row_resolution(row) == RESOLUTION_RESOLVED))
        status = error_set(err, ERR_CONFLICT, "the run is %s%s: it does not wait for a decision; %s'maestro show %.*s' says how "
                                              "it stands",
                           run_state_name(row_state(row)), row_state(row) == RUN_FAILED ? " and resolved" : "",
                           row_state(row) == RUN_COMPENSATION_FAILED ? "use retry-compensation or skip-compensation; " : "",
                           STR_ARG(row[RUNS_id].text));
    return status ? status : what_if_open(&failed->follow, failed->store, row, err);
}

static ExitCode case_open(Case *failed, const Args *args)
{
    Error err = { 0 };
    *failed = (Case){ .args = args };
    ExitCode code = store_open_existing(args, &failed->store);
    if (code) return code;
    code = find_row(args, failed->store, args->operands[0], &failed->row);
    if (!code && case_read(failed, &err)) code = errand_refused(&err);
    return code;
}

static void case_close(Case *failed)
{
    follow_close(&failed->follow);
    if (failed->store) store_close(failed->store);
}

/* --- what each decision would do -------------------------------------------------------------------------------------------- */

static StepSet list_begin(const Case *failed)
{
    return (StepSet){ .steps = ARENA_ARRAY(failed->args->arena, uint32_t, failed->follow.plan.step_count + 1u) };
}

static bool is_done(const StepRun *step)
{
    return step->state != STEP_SKIPPED && step_state_is_final((StepState)step->state);
}

/* Those that were carried out: a run is retried from one of them. */
static StepSet done_steps(const Case *failed, bool with_failed)
{
    const Run *run = &failed->follow.replay.run;
    StepSet list = list_begin(failed);
    for (uint32_t i = 0; i < run->step_count; i++) {
        bool is_fine = with_failed ? is_done(&run->steps[i]) : run->steps[i].state == STEP_SUCCEEDED;
        if (is_fine && failed->follow.plan.steps[i].kind != STEP_SEQUENCE) list.steps[list.count++] = i;
    }
    return list;
}

static StepSet affected(const Case *failed, DecisionKind decision, uint32_t from)
{
    const Plan *plan = &failed->follow.plan;
    const Run *run = &failed->follow.replay.run;
    Arena *arena = failed->args->arena;
    if (decision == DECISION_CANCEL) return done_steps(failed, false);
    if (decision == DECISION_RETRY_FROM_STEP && from == STEP_NONE) return done_steps(failed, true);
    StepSet list = list_begin(failed);
    if (decision == DECISION_COMPENSATE) {
        RollbackPlan wanted = { .scope = SCOPE_FULL, .from = STEP_NONE };
        CompensationList undone = compensation_list(plan, run, &wanted, arena);
        for (uint32_t i = 0; i < undone.undo_count; i++) list.steps[list.count++] = undone.steps[i];
    }
    if (decision == DECISION_RETRY || decision == DECISION_RETRY_FROM_STEP) {
        const uint8_t *set = rerun_set(plan, run, from, arena);
        for (uint32_t i = 0; i < plan->step_count; i++)
            if (set[i] && plan->steps[i].kind != STEP_SEQUENCE) list.steps[list.count++] = i;
    }
    return list;
}

static void put_steps(Buf *out, const Case *failed, const StepSet *list)
{
    uint32_t shown = list->count <= ASK_NAME_COUNT ? list->count : ASK_NAME_COUNT;
    for (uint32_t i = 0; i < shown; i++)
        buf_format(out, "%s%.*s", i ? ", " : "", STR_ARG(failed->follow.plan.steps[list->steps[i]].id));
    if (list->count > shown) buf_format(out, " and %u more", list->count - shown);
    if (!list->count) buf_text(out, "no step");
}

/* "runs anew order.ship, order.mail" */
static Str effect_text(const Case *failed, const Choice *choice, uint32_t from)
{
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    StepSet list = affected(failed, choice->decision, from);
    buf_text(&out, from == STEP_NONE ? choice->effect : "runs anew");
    if (choice->decision != DECISION_MARK_RESOLVED) {
        buf_char(&out, ' ');
        put_steps(&out, failed, &list);
    }
    Str text = arena_copy(failed->args->arena, buf_peek(&out));
    buf_deinit(&out);
    return text;
}

/* --- what happened ---------------------------------------------------------------------------------------------------------- */

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Case *failed = context;
    StepRows *rows = &failed->tail;
    if (!rows->rows) rows->rows = ARENA_ARRAY(failed->args->arena, const Cell *, ASK_TAIL_COUNT);
    rows->rows[rows->count++ % ASK_TAIL_COUNT] = row_copy(failed->args->arena, cells, count);
    return true;
}

static Status read_tail(Case *failed, const Cell *step, Error *err)
{
    int64_t line_no = 0;
    Status status = OK;
    for (size_t seen = SIZE_MAX; !status && seen != failed->tail.count;) {
        seen = failed->tail.count;
        QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3,
                         .params = { failed->row[RUNS_run_no], cell_int(line_no), step[STEP_RUNS_step_index] } };
        status = store_select(failed->store, &ask, take_line, failed, err);
        if (failed->tail.count) line_no = failed->tail.rows[(failed->tail.count - 1) % ASK_TAIL_COUNT][LOGS_line_no].integer;
    }
    return status;
}

static void show_tail(Case *failed)
{
    const Cell *step = NULL, *row = failed->row;
    Error err;
    if (row[RUNS_failed_step_key].kind != CELL_TEXT) return;
    Status status = run_step_row(failed->args->arena, failed->store, row, row[RUNS_failed_step_key].text, &step, &err);
    if (!status && step) status = read_tail(failed, step, &err);
    size_t count = failed->tail.count;
    if (status || !count) return;
    print_format("%s\n", count > ASK_TAIL_COUNT ? "its last lines:" : "it wrote:");
    for (size_t i = count > ASK_TAIL_COUNT ? count - ASK_TAIL_COUNT : 0; i < count; i++)
        print_format("  %.*s\n", STR_ARG(failed->tail.rows[i % ASK_TAIL_COUNT][LOGS_text].text));
}

static void show_case(Case *failed, bool is_asked)
{
    const Cell *row = failed->row;
    print_format("run %.*s of %.*s is failed", STR_ARG(row[RUNS_id].text), STR_ARG(row[RUNS_definition_key].text));
    if (row[RUNS_failed_step_key].kind == CELL_TEXT) print_format(" at step %.*s", STR_ARG(row[RUNS_failed_step_key].text));
    if (row[RUNS_error_message].kind == CELL_TEXT) print_format(": %.*s", STR_ARG(row[RUNS_error_message].text));
    print_format("\n");
    if (row[RUNS_error_class].kind == CELL_TEXT && row[RUNS_error_cause].kind == CELL_TEXT)
        print_format("%.*s, cause %.*s\n", STR_ARG(row[RUNS_error_class].text), STR_ARG(row[RUNS_error_cause].text));
    show_tail(failed);
    print_format("\n");
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        Str effect = effect_text(failed, &choices[i], STEP_NONE);
        if (is_asked) print_format("%zu  %-18s %.*s\n", i + 1, choices[i].title, STR_ARG(effect));
        else print_format("%-40s %.*s\n", choices[i].option, STR_ARG(effect));
    }
}

/* --- asking ----------------------------------------------------------------------------------------------------------------- */

static bool ask_step(const Case *failed, uint32_t *out_step)
{
    StepSet list = done_steps(failed, true);
    uint32_t number;
    Str *ids = ARENA_ARRAY(failed->args->arena, Str, list.count + 1u);
    for (uint32_t i = 0; i < list.count; i++) {
        uint32_t step = list.steps[i];
        ids[i] = failed->follow.plan.steps[step].id;
        print_format("%u  %.*s  %s\n", i + 1, STR_ARG(failed->follow.plan.steps[step].id),
                     step_state_name((StepState)failed->follow.replay.run.steps[step].state));
    }
    if (!list.count) return false;
    if (!ask_number(failed->args->arena, "from which step (a number, or q): ", ids, list.count, &number)) return false;
    *out_step = list.steps[number - 1];
    return true;
}

/* The decision, its step and why. False where it is left open. */
static bool ask_decision(const Case *failed, Command *command)
{
    Arena *arena = failed->args->arena;
    uint32_t number, step = STEP_NONE;
    Str titles[CHOICE_COUNT];
    for (size_t i = 0; i < CHOICE_COUNT; i++) titles[i] = str_of(choices[i].title);
    if (!ask_number(arena, "\nwhat is to be done (a number, or q): ", titles, CHOICE_COUNT, &number)) return false;
    const Choice *choice = &choices[number - 1];
    command->decision = choice->decision;
    if (choice->decision == DECISION_RETRY_FROM_STEP) {
        if (!ask_step(failed, &step)) return false;
        command->name = arena_copy(arena, failed->follow.plan.steps[step].id);
    }
    if (!args_value(failed->args, "reason") && !ask_text(arena, "why (it is recorded; may be empty): ", &command->rationale))
        return false;
    Str effect = effect_text(failed, choice, step);
    Str question = arena_format(arena, "%s: %.*s. Do it? [y/N] ", choice->title, STR_ARG(effect));
    return ask_yes(arena, question.ptr);
}

static ExitCode leave_open(void)
{
    print_note("nothing was decided, and nothing was changed\n");
    return EXIT_CODE_RUN_FAILED;
}

static ExitCode lack_options(void)
{
    print_note("maestro: nobody can be asked here, since this is no terminal: say it by --decision, as above\n");
    return EXIT_CODE_USAGE;
}

ExitCode resolve_ask(const Args *args)
{
    Case failed;
    Command command = { .kind = COMMAND_RESOLVE, .value = value_null() };
    bool is_dry = args_flag(args, "dry-run"), is_decided = false;
    bool is_asked = ask_is_possible() && !args_flag(args, "json") && !is_dry;
    ExitCode code = case_open(&failed, args);
    if (!code) {
        show_case(&failed, is_asked);
        is_decided = is_asked && ask_decision(&failed, &command);
    }
    case_close(&failed);
    if (code || is_dry) return code;
    if (!is_asked) return lack_options();
    if (!is_decided) return leave_open();
    Errand errand = errand_begin(args, "resolve");
    resolve_put(&errand, &command);
    return order(args, &errand, command);
}

ExitCode resolve_ask_step(const Args *args, Str *out_step)
{
    Case failed;
    uint32_t step = STEP_NONE;
    bool is_asked = ask_is_possible() && !args_flag(args, "json");
    ExitCode code = case_open(&failed, args);
    if (!code && is_asked) code = ask_step(&failed, &step) ? EXIT_CODE_OK : leave_open();
    else if (!code) {
        StepSet list = done_steps(&failed, true);
        char storage[1024];
        Buf names = buf_on(storage, sizeof storage);
        put_steps(&names, &failed, &list);
        print_note("maestro: from which step? Name one that was carried out: %.*s\n", STR_ARG(buf_peek(&names)));
        code = EXIT_CODE_USAGE;
    }
    if (!code) *out_step = arena_copy(args->arena, failed.follow.plan.steps[step].id);
    case_close(&failed);
    return code;
}
