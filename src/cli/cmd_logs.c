#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/limits.h"
#include "cli/human.h"
#include "cli/patience.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "value/json.h"

static const Option options[] = {
    { "follow", 'f', NULL, NULL, "Goes on with new lines until the run is settled." },
    { "raw", 0, NULL, NULL, "The bytes as they were written, control sequences too: for files, and terminals you trust them "
                            "with." },
    { "times", 't', NULL, NULL, "Puts the time (UTC) before each line." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints an object a line." },
    { NULL },
};

typedef struct Logs {
    const Args *args;
    Store *store;
    const Cell *row;
    Plan plan;
    Cell step;                      /* of one step run alone; null: of all */
    StepRows steps;
    int64_t line_no;
    uint32_t seen;
    Buf out;
} Logs;

/* The id of the step that a line is of. Steps may have begun since they were read. */
static Str key_of_step(Logs *logs, const Cell *index)
{
    Error err;
    if (index->kind != CELL_INT) return STR("");
    if ((size_t)index->integer >= logs->steps.count && run_steps(logs->args->arena, logs->store, logs->row, &logs->steps, &err))
        return STR("?");
    return (size_t)index->integer < logs->steps.count ? logs->steps.rows[index->integer][STEP_RUNS_step_key].text : STR("?");
}

static void print_line(Logs *logs, const Cell *line)
{
    Str key = key_of_step(logs, &line[LOGS_step_index]);
    if (args_flag(logs->args, "times")) {
        human_time(&logs->out, line[LOGS_time_ms].integer);
        buf_char(&logs->out, ' ');
    }
    if (logs->step.kind == CELL_NULL) buf_format(&logs->out, "%.*s: ", STR_ARG(key));
    buf_str(&logs->out, line[LOGS_text].text);
    buf_char(&logs->out, '\n');
}

static void print_line_json(Logs *logs, const Cell *line)
{
    Arena arena;
    Error err;
    arena_init(&arena, SIZE_MAX);
    MemberList members = { .arena = &arena };
    member_list_add(&members, STR("time"), cell_time(&arena, &line[LOGS_time_ms]));
    member_list_add(&members, STR("run"), cell_value(&logs->row[RUNS_id]));
    member_list_add(&members, STR("step"), value_string(key_of_step(logs, &line[LOGS_step_index])));
    member_list_add(&members, STR("attempt"), cell_value(&line[LOGS_attempt]));
    member_list_add(&members, STR("stream"), cell_value(&line[LOGS_stream]));
    member_list_add(&members, STR("text"), cell_value(&line[LOGS_text]));
    if (!json_print(&logs->out, member_list_object(&members), JSON_COMPACT, &err)) buf_char(&logs->out, '\n');
    arena_deinit(&arena);
}

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Logs *logs = context;
    (void)count;
    logs->seen++;
    logs->line_no = cells[LOGS_line_no].integer;
    if (args_flag(logs->args, "json")) print_line_json(logs, cells);
    else print_line(logs, cells);
    return true;
}

static void print_taken(Logs *logs)
{
    if (args_flag(logs->args, "raw")) print_bytes(&logs->out);
    else print_out(&logs->out);
    buf_clear(&logs->out);
}

/* As it comes. */
static bool take_live(void *context, const Cell *cells, uint32_t count)
{
    (void)take_line(context, cells, count);
    print_taken(context);
    return !print_is_unread();
}

/* In the words of whoever shows a run there. */
static void tell_away(void *context, const Error *why)
{
    (void)context;
    if (why) print_note("maestro: " SERVER_AWAY_WORDS "\n", why->text, REMOTE_AWAY_MS_MAX / 1000);
    else print_note("maestro: " SERVER_BACK_WORDS "\n");
}

/* Everything that is there by now. */
static Status print_lines(Logs *logs, uint32_t *out_count, Error *err)
{
    Status status;
    *out_count = 0;
    do {
        logs->seen = 0;
        QueryAsk ask = { .query = QUERY_LOG_LINES, .params = { logs->row[RUNS_run_no], cell_int(logs->line_no), logs->step },
                         .param_count = 3 };
        status = store_select(logs->store, &ask, take_line, logs, err);
        print_taken(logs);
        *out_count += logs->seen;
    } while (!status && logs->seen && !print_is_unread());
    return status;
}

/* Lines are stored a moment after their step has ended: the store is looked at once more after the run is settled. */
static Status follow(Logs *logs, Error *err)
{
    int wait_ms = FOLLOW_POLL_MS_MIN;
    bool was_settled = false;
    Str url = store_url(logs->args);
    if (store_is_server(url)) return adapters.server_lines(url, &(ServerLines){ logs->row[RUNS_id].text, logs->line_no, logs->step, take_live,
                                                                                tell_away, logs }, err);
    for (;;) {
        uint32_t count;
        const Cell *row = NULL;
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Status status = run_row(&arena, logs->store, logs->row[RUNS_id].text, &row, err);
        bool is_settled = !status && (!row || row_is_settled(row));
        arena_deinit(&arena);
        if (!status) status = print_lines(logs, &count, err);
        if (status || was_settled || print_is_unread()) return status;
        was_settled = is_settled;
        wait_ms = count ? FOLLOW_POLL_MS_MIN : 2 * wait_ms < FOLLOW_POLL_MS_MAX ? 2 * wait_ms : FOLLOW_POLL_MS_MAX;
        if (is_settled) wait_ms = 2 * LOG_DELAY_MS;
        nanosleep(&(struct timespec){ .tv_nsec = wait_ms * 1000000L }, NULL);
    }
}

static ExitCode choose_step(Logs *logs, const char *text)
{
    Error err;
    uint32_t step;
    const Cell *row;
    Status status = run_plan(logs->args->arena, logs->store, logs->row, &logs->plan, &err);
    if (status) return fail(&err);
    if (!plan_find_step(&logs->plan, text, &step)) return EXIT_CODE_UNAVAILABLE;
    do {
        status = run_step_row(logs->args->arena, logs->store, logs->row, logs->plan.steps[step].id, &row, &err);
        if (status) return fail(&err);
        if (row) logs->step = row[STEP_RUNS_step_index];
        else if (args_flag(logs->args, "follow") && !row_is_settled(logs->row)) {
            nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_POLL_MS_MAX * 1000000L }, NULL);
            status = run_row(logs->args->arena, logs->store, logs->row[RUNS_id].text, &logs->row, &err);
            if (status) return fail(&err);
            continue;
        }
        if (row) return EXIT_CODE_OK;
        error_set(&err, ERR_NOT_FOUND, "step %.*s has not begun", STR_ARG(logs->plan.steps[step].id));
        return fail(&err);
    } while (true);
}

static ExitCode run(const Args *args)
{
    Logs logs = { .args = args, .step = cell_null() };
    Error err;
    ExitCode code = store_open_existing(args, &logs.store);
    if (code) return code;
    buf_init(&logs.out, SIZE_MAX);
    code = find_row(args, logs.store, args->operands[0], &logs.row);
    if (!code && run_is_here(logs.row, &err)) code = fail(&err);
    if (!code && args->operand_count > 1) code = choose_step(&logs, args->operands[1]);
    if (!code) {
        uint32_t count;
        Status status = args_flag(args, "follow") ? follow(&logs, &err) : print_lines(&logs, &count, &err);
        if (status) code = fail(&err);
    }
    buf_deinit(&logs.out);
    store_close(logs.store);
    return code;
}

const Verb command_logs = {
    .name = "logs", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Prints what the steps of a run have written.",
    .doc = "Standard output and error of programs, and what runners logged, in the order in which it came; before each line\n"
           "the step, unless one is named. With -f it goes on until the run is settled, whichever process carries it out.\n"
           "Control sequences are shown and not passed on (\\u001b[31m); --raw prints the bytes as they were written.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run.",
    .examples = "maestro logs last -f\n"
                "maestro logs last build.compile --times",
    .options = options, .run = run,
};
