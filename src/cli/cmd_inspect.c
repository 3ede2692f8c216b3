#include <inttypes.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/human.h"
#include "cli/run_read.h"
#include "cli/show_waits.h"
#include "cli/workplace.h"
#include "value/json.h"

#define LOG_TAIL_COUNT 20u

static const Option options[] = {
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints JSON." },
    { NULL },
};

typedef struct Inspect {
    const Args *args;
    Store *store;
    const Cell *row;
    Plan plan;
    StepRows attempts, lines;
    Value polls;                /* of the step; null: none */
} Inspect;

/* --- what belongs to a step ----------------------------------------------------------------------------------------------- */

static bool take_attempt(void *context, const Cell *cells, uint32_t count)
{
    Inspect *inspect = context;
    StepRows *rows = &inspect->attempts;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(inspect->args->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(inspect->args->arena, cells, count);
    return true;
}

/* The last lines: a ring. */
static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Inspect *inspect = context;
    StepRows *rows = &inspect->lines;
    if (!rows->rows) rows->rows = ARENA_ARRAY(inspect->args->arena, const Cell *, LOG_TAIL_COUNT);
    rows->rows[rows->count++ % LOG_TAIL_COUNT] = row_copy(inspect->args->arena, cells, count);
    return true;
}

static Status read_step(Inspect *inspect, const Cell *step, Error *err)
{
    inspect->attempts = inspect->lines = (StepRows){ 0 };
    QueryAsk ask = { .query = QUERY_ATTEMPTS, .param_count = 3,
                     .params = { inspect->row[RUNS_run_no], step[STEP_RUNS_step_index], cell_int(0) } };
    Status status = store_select(inspect->store, &ask, take_attempt, inspect, err);
    int64_t line_no = 0;
    for (size_t seen = SIZE_MAX; !status && seen != inspect->lines.count;) {
        seen = inspect->lines.count;
        ask = (QueryAsk){ .query = QUERY_LOG_LINES, .param_count = 3,
                          .params = { inspect->row[RUNS_run_no], cell_int(line_no), step[STEP_RUNS_step_index] } };
        status = store_select(inspect->store, &ask, take_line, inspect, err);
        size_t count = inspect->lines.count;
        if (count) line_no = inspect->lines.rows[(count - 1) % LOG_TAIL_COUNT][LOGS_line_no].integer;
    }
    return status ? status : show_polls(inspect->args->arena, inspect->store, step, &inspect->polls, err);
}

static size_t line_first(const StepRows *lines) { return lines->count > LOG_TAIL_COUNT ? lines->count - LOG_TAIL_COUNT : 0; }

static void add(MemberList *members, const char *name, Value value)
{
    if (value.kind != VALUE_NULL) member_list_add(members, str_of(name), value);
}

static Value attempt_value(Arena *arena, const Cell *row)
{
    MemberList members = { .arena = arena };
    add(&members, "attempt", cell_value(&row[ATTEMPTS_attempt]));
    add(&members, "startedAt", cell_time(arena, &row[ATTEMPTS_started_ms]));
    add(&members, "finishedAt", cell_time(arena, &row[ATTEMPTS_finished_ms]));
    add(&members, "executor", cell_value(&row[ATTEMPTS_executor]));
    add(&members, "message", cell_value(&row[ATTEMPTS_error_message]));
    add(&members, "class", cell_value(&row[ATTEMPTS_error_class]));
    add(&members, "cause", cell_value(&row[ATTEMPTS_error_cause]));
    return member_list_object(&members);
}

static Value step_value(const Inspect *inspect, const Cell *step)
{
    Arena *arena = inspect->args->arena;
    MemberList members = { .arena = arena };
    ValueList attempts = { .arena = arena }, lines = { .arena = arena };
    add(&members, "step", cell_value(&step[STEP_RUNS_step_key]));
    add(&members, "state", value_string(str_of(step_state_name(step_row_state(step)))));
    add(&members, "executor", cell_value(&step[STEP_RUNS_executor]));
    add(&members, "input", payload_or_null(arena, inspect->store, &step[STEP_RUNS_input_at]));
    add(&members, "output", payload_or_null(arena, inspect->store, &step[STEP_RUNS_output_at]));
    add(&members, "revision", cell_value(&inspect->row[RUNS_definition_version]));
    add(&members, "details", payload_or_null(arena, inspect->store, &step[STEP_RUNS_details_at]));
    add(&members, "message", cell_value(&step[STEP_RUNS_error_message]));
    add(&members, "class", cell_value(&step[STEP_RUNS_error_class]));
    add(&members, "cause", cell_value(&step[STEP_RUNS_error_cause]));
    add(&members, "skipReason", cell_value(&step[STEP_RUNS_skip_reason]));
    add(&members, "tries", cell_value(&step[STEP_RUNS_attempt]));
    for (size_t i = 0; i < inspect->attempts.count; i++)
        value_list_add(&attempts, attempt_value(arena, inspect->attempts.rows[i]));
    if (inspect->polls.kind != VALUE_NULL) {
        add(&members, "pollCount", cell_value(&step[STEP_RUNS_poll_attempt_count]));
        add(&members, "nextPollAt", cell_value(&step[STEP_RUNS_next_poll_at]));
        add(&members, "polls", inspect->polls);
    }
    if (attempts.count) add(&members, "attempts", value_list_array(&attempts));
    for (size_t i = line_first(&inspect->lines); i < inspect->lines.count; i++)
        value_list_add(&lines, cell_value(&inspect->lines.rows[i % LOG_TAIL_COUNT][LOGS_text]));
    if (lines.count) add(&members, "log", value_list_array(&lines));
    return member_list_object(&members);
}

/* --- printing ------------------------------------------------------------------------------------------------------------- */

static void print_part(Value step, const char *name)
{
    const Value *value = value_get_text(step, name);
    Buf out;
    Error err;
    if (!value) return;
    buf_init(&out, JSON_SIZE_MAX);
    buf_format(&out, "%-10s ", name);
    if (value->kind == VALUE_STRING) plain_put(&out, value_text(*value), PLAIN_JOINED);
    else if (json_print(&out, *value, JSON_PRETTY, &err)) buf_text(&out, "?");
    buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
}

static void print_step(Value step)
{
    static const char *const parts[] = { "step", "revision", "state", "executor", "message", "class", "cause", "details",
                                         "skipReason", "pollCount", "nextPollAt", "polls", "tries",
                                         "attempts", "input", "output", NULL };
    for (const char *const *part = parts; *part; part++) print_part(step, *part);
    const Value *lines = value_get_text(step, "log");
    if (!lines) return;
    print_format("log, its last %u line%s:\n", lines->count, lines->count == 1 ? "" : "s");
    for (uint32_t i = 0; i < lines->count; i++) print_format("  %.*s\n", STR_ARG(value_text(lines->items[i])));
}

static Status print_one(Inspect *inspect, const Cell *step, Error *err)
{
    Status status = read_step(inspect, step, err);
    if (status) return status;
    Value value = step_value(inspect, step);
    if (!args_flag(inspect->args, "json")) {
        print_step(value);
        return OK;
    }
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    status = json_print(&out, value, JSON_COMPACT, err);
    buf_char(&out, '\n');
    if (!status) print_out(&out);
    buf_deinit(&out);
    return status;
}

static Status print_all(Inspect *inspect, Error *err)
{
    StepRows steps;
    Status status = run_steps(inspect->args->arena, inspect->store, inspect->row, &steps, err);
    for (size_t i = 0; !status && i < steps.count; i++) {
        if (i && !args_flag(inspect->args, "json")) print_format("\n");
        status = print_one(inspect, steps.rows[i], err);
    }
    return status;
}

static Status inspect_step(Inspect *inspect, const char *text, bool *out_is_known, Error *err)
{
    uint32_t step;
    const Cell *row;
    *out_is_known = plan_find_step(&inspect->plan, text, &step);
    if (!*out_is_known) return OK;
    Status status = run_step_row(inspect->args->arena, inspect->store, inspect->row, inspect->plan.steps[step].id, &row, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "step %.*s has not begun", STR_ARG(inspect->plan.steps[step].id));
    return status ? status : print_one(inspect, row, err);
}

/* --- the command ---------------------------------------------------------------------------------------------------------- */

static ExitCode run(const Args *args)
{
    Inspect inspect = { .args = args };
    Error err;
    ExitCode code = store_open_existing(args, &inspect.store);
    if (code) return code;
    code = find_row(args, inspect.store, args->operands[0], &inspect.row);
    if (!code) {
        bool is_known = true;
        Status status = run_is_here(inspect.row, &err);
        if (!status) status = run_plan(args->arena, inspect.store, inspect.row, &inspect.plan, &err);
        if (!status && args->operand_count > 1) status = inspect_step(&inspect, args->operands[1], &is_known, &err);
        else if (!status) status = print_all(&inspect, &err);
        code = status ? fail(&err) : is_known ? EXIT_CODE_OK : EXIT_CODE_UNAVAILABLE;
    }
    store_close(inspect.store);
    return code;
}

const Verb command_inspect = {
    .name = "inspect", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Shows what steps were given, what they gave back, and what they said.",
    .doc = "Input, output, tries and the end of the log of a step, or of all steps that have begun. STEP is its id\n"
           "(job.task, or the name of an artifact), its name where only one has it, or its index.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition (a runbook, too) for its newest run.",
    .examples = "maestro inspect last build.compile\n"
                "maestro inspect log-analysis.yaml findings --json",
    .options = options, .run = run,
};
