#include <inttypes.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "value/json.h"
#include "view/run_history.h"

static const Option options[] = {
    { "attempts", 0, "A,B", NULL, "Which two attempts of the step; by default the last two." },
    { "step", 0, "STEP", NULL, "Of which step: its id or name; by default the last one that was tried twice." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints JSON." },
    { NULL },
};

/* --- showing ------------------------------------------------------------------------------------------------------------------ */

static void print_side(const char *label, Value side)
{
    const Value *attempt = value_get_text(side, "attempt");
    print_format("%-6s run %.*s", label, STR_ARG(value_get_string(side, "executionId", STR(""))));
    if (attempt) print_format(", step %.*s, attempt %" PRId64, STR_ARG(value_get_string(side, "step", STR(""))), attempt->integer);
    print_format("\n");
}

static void put_value(Buf *out, const Value *value)
{
    Buf text;
    Error err;
    buf_init(&text, JSON_SIZE_MAX);
    if (!value) buf_text(&text, "none");
    else if (json_print(&text, *value, JSON_COMPACT, &err)) buf_text(&text, "?");
    plain_put(out, buf_peek(&text), PLAIN_JOINED);
    buf_deinit(&text);
}

/* "/input/amount: 5 -> 7" */
static void print_text(Value found)
{
    const Value *list = value_get_text(found, "differences");
    int64_t count = value_get_int(found, "count", 0);
    print_side("left", *value_get_text(found, "left"));
    print_side("right", *value_get_text(found, "right"));
    for (uint32_t i = 0; i < list->count; i++) {
        Buf line;
        buf_init(&line, JSON_SIZE_MAX);
        plain_put(&line, value_get_string(list->items[i], "pointer", STR("")), PLAIN_JOINED);
        buf_text(&line, ": ");
        put_value(&line, value_get_text(list->items[i], "left"));
        buf_text(&line, " -> ");
        put_value(&line, value_get_text(list->items[i], "right"));
        buf_char(&line, '\n');
        print_out(&line);
        buf_deinit(&line);
    }
    if (count > list->count) print_format("and %" PRId64 " more\n", count - list->count);
    if (!count) print_format("nothing differs\n");
}

static Status print_found(const Args *args, Value found, Error *err)
{
    if (args_flag(args, "json")) return print_json(found, err);
    print_text(found);
    return OK;
}

/* --- what is meant -------------------------------------------------------------------------------------------------------------- */

static Status pair_of(const Args *args, const RunHistory *history, AttemptPair *out, Error *err)
{
    const char *step = args_value(args, "step"), *given = args_value(args, "attempts");
    Status status = run_find_pair(history, step ? str_of(step) : (Str){ 0 }, out, err);
    return status || !given ? status : attempt_pair_read(str_of(given), out, err);
}

static Status compare_attempts(const Args *args, Store *store, const Cell *row, Value *out, Error *err)
{
    RunHistory history;
    AttemptPair pair = { 0 };
    Status status = run_history_open(&history, args->arena, store, row, REPLAY_ALL, err);
    if (status) return status;
    status = pair_of(args, &history, &pair, err);
    if (!status) status = run_compare_attempts(&history, &pair, out, err);
    run_history_close(&history);
    return status;
}

static Status compare_runs(const Args *args, Store *store, const Cell *left, const Cell *right, Value *out, Error *err)
{
    RunHistory histories[2];
    Status status = run_history_open(&histories[0], args->arena, store, left, REPLAY_ALL, err);
    if (status) return status;
    status = run_history_open(&histories[1], args->arena, store, right, REPLAY_ALL, err);
    if (!status) {
        *out = run_compare_runs(&histories[0], &histories[1]);
        run_history_close(&histories[1]);
    }
    run_history_close(&histories[0]);
    return status;
}

static ExitCode run(const Args *args)
{
    Store *store;
    const Cell *rows[2];
    Value found;
    Error err;
    bool has_two = args->operand_count == 2;
    if (has_two && (args_flag(args, "attempts") || args_flag(args, "step"))) {
        print_note("maestro diff: --attempts and --step are of one run\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    for (unsigned i = 0; !code && i < args->operand_count; i++) code = find_row(args, store, args->operands[i], &rows[i]);
    if (!code) {
        Status status = has_two ? compare_runs(args, store, rows[0], rows[1], &found, &err) : compare_attempts(args, store, rows[0], &found, &err);
        if (!status) status = print_found(args, found, &err);
        if (status) code = fail(&err);
    }
    store_close(store);
    return code;
}

const Verb command_diff = {
    .name = "diff", .operands = "RUN [OTHER]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Shows what differs between two attempts of a step, or between two runs.",
    .doc = "Of one run: two attempts of a step, their inputs, outputs, failures, executors, placements, policy decisions, events and\n"
           "how long they took. Of two runs: their revisions, parameters, decisions, and each step by what it was given, what it gave and\n"
           "how it ended. A line names a place by its JSON pointer, then what it is on the left and on the right.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run.",
    .examples = "maestro diff last\n"
                "maestro diff last --step charge --attempts 1,3\n"
                "maestro diff AP6ap_5gR22J9htcBavVY last --json",
    .options = options, .run = run,
};
