#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/human.h"
#include "cli/grid.h"
#include "cli/run_list.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "value/json.h"

#define LIST_COUNT_DEFAULT 20u
#define TRIGGER_SHOWN_SIZE 32u              /* of the trigger that a run awaits */
#define STEP_LOOK_COUNT 1000                /* of a run with more step runs, those that have begun are counted, up to its steps */

static const Option options[] = {
    { "state", 0, "STATE", NULL, "Only runs in this state: running, paused, waiting-signal, succeeded, failed, cancelled ..." },
    { "workflow", 'w', "NAME", NULL, "Only runs of this definition." },
    { "tenant", 0, "NAME", NULL, "Only runs of this tenant." },
    { "since", 0, "WHEN", NULL, "Only runs that began since then: 1h, 7d, 2026-11-16." },
    { "limit", 'n', "N", NULL, "At most so many, the newest; by default 20." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints an object a line." },
    { NULL },
};

typedef struct Listing {
    const Args *args;
    Store *store;
    RunFilter filter;
    uint64_t count_max;
    StepRows rows;
} Listing;

/* --- how far ---------------------------------------------------------------------------------------------------------------- */

typedef struct Steps { uint64_t done, total; } Steps;

static bool take_count(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[0].integer;
    return false;
}

static bool take_step(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    bool is_last = step_row_state(cells) != STEP_SUPERSEDED;
    if (is_last && cells[STEP_RUNS_result].kind == CELL_TEXT) ++*(uint64_t *)context;
    return true;
}

static Steps steps_of(const Listing *listing, Arena *arena, const Cell *row)
{
    Plan plan;
    Error err;
    Steps steps = { 0, 0 };
    int64_t begun = 0;
    QueryAsk ask = { .query = QUERY_COUNT_OF_STEP_RUNS, .params = { row[RUNS_run_no] }, .param_count = 1 };
    if (!run_plan(arena, listing->store, row, &plan, &err)) steps.total = plan.step_count;
    if (store_select(listing->store, &ask, take_count, &begun, &err)) return steps;
    /* What was retried has several step runs of one step; at the end each step has one that nothing took the place of. */
    steps.done = steps.total && (uint64_t)begun > steps.total ? steps.total : (uint64_t)begun;
    if (row_is_settled(row) || begun > STEP_LOOK_COUNT) return steps;
    steps.done = 0;
    ask = (QueryAsk){ .query = QUERY_STEP_RUNS, .params = { row[RUNS_run_no], cell_int(0) }, .param_count = 2 };
    if (store_select(listing->store, &ask, take_step, &steps.done, &err)) steps.done = 0;
    return steps;
}

static int64_t duration_of(const Cell *row, int64_t now_ms)
{
    int64_t end_ms = row[RUNS_completed_ms].kind == CELL_INT ? row[RUNS_completed_ms].integer : now_ms;
    return end_ms - row[RUNS_started_ms].integer;
}

/* --- printing --------------------------------------------------------------------------------------------------------------- */

static void print_grid(const Listing *listing)
{
    static const GridColumn columns[] = { { "RUN" }, { "WORKFLOW", .is_cut = true }, { "STATE" }, { "STARTED" },
                                           { "TOOK", .is_number = true }, { "STEPS", .is_number = true }, { NULL } };
    Grid grid = grid_begin(listing->args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    int64_t now_ms = human_now_ms();
    for (size_t i = 0; i < listing->rows.count; i++) {
        const Cell *row = listing->rows.rows[i];
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Steps steps = steps_of(listing, &arena, row);
        arena_deinit(&arena);
        grid_cell(&grid, row[RUNS_id].text);
        grid_cell(&grid, row[RUNS_definition_key].text);
        buf_text(&cell, run_state_name(row_state(row)));
        if (row[RUNS_awaiting_trigger_key].kind == CELL_TEXT)
            buf_format(&cell, ": %.*s", STR_ARG(utf8_head(row[RUNS_awaiting_trigger_key].text, TRIGGER_SHOWN_SIZE)));
        grid_buf(&grid, &cell);
        human_time_short(&cell, row[RUNS_started_ms].integer, now_ms);
        grid_buf(&grid, &cell);
        human_duration(&cell, duration_of(row, now_ms));
        grid_buf(&grid, &cell);
        if (row[RUNS_archived_to].kind == CELL_TEXT) buf_text(&cell, "archived");
        else buf_format(&cell, "%" PRIu64 "/%" PRIu64, steps.done, steps.total);
        grid_buf(&grid, &cell);
    }
    grid_print(&grid);
}

static Status print_row_json(const Listing *listing, const Cell *row, Buf *out, Error *err)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    MemberList run = { .arena = &arena }, steps = { .arena = &arena };
    Steps count = steps_of(listing, &arena, row);
    bool is_archived = row[RUNS_archived_to].kind == CELL_TEXT;         /* how many had ended its file knows */
    member_list_add(&steps, STR("done"), is_archived ? value_null() : value_int((int64_t)count.done));
    member_list_add(&steps, STR("total"), value_int((int64_t)count.total));
    member_list_add(&run, STR("run"), cell_value(&row[RUNS_id]));
    member_list_add(&run, STR("workflow"), cell_value(&row[RUNS_definition_key]));
    member_list_add(&run, STR("revision"), cell_value(&row[RUNS_definition_version]));
    member_list_add(&run, STR("tenant"), cell_value(&row[RUNS_tenant]));
    member_list_add(&run, STR("state"), value_string(str_of(run_state_name(row_state(row)))));
    member_list_add(&run, STR("resolution"), cell_value(&row[RUNS_resolution]));
    member_list_add(&run, STR("awaitingTrigger"), cell_value(&row[RUNS_awaiting_trigger_key]));
    member_list_add(&run, STR("startedAt"), cell_time(&arena, &row[RUNS_started_ms]));
    member_list_add(&run, STR("completedAt"), cell_time(&arena, &row[RUNS_completed_ms]));
    member_list_add(&run, STR("durationMs"), value_int(duration_of(row, human_now_ms())));
    member_list_add(&run, STR("steps"), member_list_object(&steps));
    Status status = json_print(out, member_list_object(&run), JSON_COMPACT, err);
    buf_char(out, '\n');
    arena_deinit(&arena);
    return status;
}

/* --- the command ------------------------------------------------------------------------------------------------------------ */

static bool read_filters(const Args *args, Listing *listing)
{
    const char *state = args_value(args, "state"), *since = args_value(args, "since");
    int64_t since_ms;
    Error err;
    listing->filter = (RunFilter){ .tenant = str_of(args_value(args, "tenant")), .workflow = str_of(args_value(args, "workflow")),
                                   .since = cell_null() };
    if (!args_number(args, "limit", LIST_COUNT_DEFAULT, 1, RUN_LIST_COUNT_MAX, &listing->count_max)) return false;
    if (state && run_filter_state(&listing->filter, str_of(state), &err)) {
        print_note("maestro runs: %s\n", err.text);
        return false;
    }
    if (since && !human_since(str_of(since), human_now_ms(), &since_ms)) {
        print_note("maestro runs: --since takes 30m, 12h, 7d, 2026-11-16 or 2026-11-16T08:00:00.000Z, and not '%s'\n", since);
        return false;
    }
    if (since) listing->filter.since = cell_int(since_ms);
    return true;
}

static ExitCode run(const Args *args)
{
    Listing listing = { .args = args };
    if (!read_filters(args, &listing)) return EXIT_CODE_USAGE;
    ExitCode code = store_open_existing(args, &listing.store);
    if (code) return code;
    Error err;
    Buf out;
    buf_init(&out, SIZE_MAX);
    Status status = run_list(args->arena, listing.store, &listing.filter, listing.count_max, &listing.rows, &err);
    if (!status && args_flag(args, "json"))
        for (size_t i = 0; !status && i < listing.rows.count; i++)
            status = print_row_json(&listing, listing.rows.rows[i], &out, &err);
    else if (!status && listing.rows.count) print_grid(&listing);
    else if (!status) print_note("no runs\n");
    print_out(&out);
    buf_deinit(&out);
    store_close(listing.store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

const Verb command_runs = {
    .name = "runs", .operands = "",
    .summary = "Lists runs, the newest first.",
    .doc = "A line for each: its id, its definition, its state, when it began (UTC), how long it took or has taken so far,\n"
           "and how many of its steps have ended. Reading needs no owner of the store and disturbs none.",
    .examples = "maestro runs --since 1h\n"
                "maestro runs --state failed --workflow order-fulfillment --json",
    .options = options, .run = run,
};
