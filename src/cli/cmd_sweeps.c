/* The sweeps that a timer of the machine may call each minute: dispatch-polls, recover-polls, process-auto-retries,
 * check-trigger-timeouts, process-scheduled-resumes.
 *
 * A process that owns a store acts on what is due by itself, at once. These are for stores that nobody owns: what is due is
 * looked for by an index, and only where something is, this process becomes the owner, lets the engine act, and carries on what
 * it finds until nothing is left to do now. Two at once are safe, since one of them is not the owner. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/limits.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "value/json.h"

#define STALE_S_DEFAULT 300u

static const Option options[] = {
    STORE_OPTION,
    POLICY_OPTION,
    { "json", 0, NULL, NULL, "Prints an object." },
    { NULL },
};

static const Option recover_options[] = {
    { "stale", 0, "SECONDS", NULL, "How long ago a poll must have been due to count as missed; by default 300." },
    STORE_OPTION,
    POLICY_OPTION,
    { "json", 0, NULL, NULL, "Prints an object." },
    { NULL },
};

/* Something that is due, and what became of it. */
typedef struct Due {
    int64_t run_no, step_index;         /* step_index: of a poll; else -1 */
    Id run_id;
    Str workflow, step, what, at;       /* step: of a poll; what: the trigger; at: since when it is due */
    uint64_t event_count;               /* of its run when it was found */
    RunState after;
    bool is_done;
} Due;

typedef struct Sweep {
    const Args *args;
    Store *store;                       /* while it is being read */
    Due *due;
    size_t count, capacity;
    bool has_owner;                     /* another process carries out the runs of the store */
    bool is_lost;                       /* polls that run are looked for: nobody owns the store, so they are lost */
    Status status;
    Error err;
} Sweep;

/* --- what is due ---------------------------------------------------------------------------------------------------------- */

static Cell moment_cell(Arena *arena, int64_t ms)
{
    char storage[40];
    Buf buf = buf_on(storage, sizeof storage);
    civil_print_ms(&buf, ms);
    return cell_text(arena_copy(arena, buf_peek(&buf)));
}

static void add_due(Sweep *sweep, const Cell *run, const Cell *step, const Cell *what, const Cell *at)
{
    Arena *arena = sweep->args->arena;
    if (sweep->count == sweep->capacity)
        sweep->due = arena_grow(arena, sweep->due, sizeof *sweep->due, sweep->count, &sweep->capacity);
    Due *due = &sweep->due[sweep->count++];
    *due = (Due){ .run_no = run[RUNS_run_no].integer, .step_index = step ? step[STEP_RUNS_step_index].integer : -1,
                  .run_id = row_id(run), .workflow = arena_copy(arena, run[RUNS_definition_key].text),
                  .event_count = (uint64_t)run[RUNS_event_count].integer };
    if (step) due->step = arena_copy(arena, step[STEP_RUNS_step_key].text);
    if (what && what->kind == CELL_TEXT) due->what = arena_copy(arena, what->text);
    if (at && at->kind == CELL_TEXT) due->at = arena_copy(arena, at->text);
}

static bool take_run(void *context, const Cell *cells, uint32_t count)
{
    Sweep *sweep = context;
    const Cell *at = &cells[RUNS_trigger_timeout_at];
    (void)count;
    if (at->kind != CELL_TEXT) at = &cells[RUNS_scheduled_resume_at];
    if (at->kind != CELL_TEXT) at = &cells[RUNS_auto_retry_at];
    add_due(sweep, cells, NULL, &cells[RUNS_awaiting_trigger_key], at);
    return true;
}

/* No poll is dispatched unless its run is running (C-98). */
static bool take_step(void *context, const Cell *cells, uint32_t count)
{
    Sweep *sweep = context;
    const Cell *run = NULL;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cells[STEP_RUNS_workflow_id] }, .param_count = 1 };
    const Cell *step = row_copy(sweep->args->arena, cells, count);
    sweep->status = row_select(sweep->args->arena, sweep->store, &ask, &run, &sweep->err);
    if (!sweep->status && run && row_state(run) == RUN_RUNNING) add_due(sweep, run, step, NULL, &step[STEP_RUNS_next_poll_at]);
    return !sweep->status;
}

static void find_runs(Sweep *sweep, Query query, RunState state)
{
    QueryAsk ask = { .query = query, .param_count = 2, .row_count_max = SWEEP_COUNT_MAX,
                     .params = { cell_text(str_of(run_state_stored(state))), moment_cell(sweep->args->arena, human_now_ms()) } };
    sweep->status = store_select(sweep->store, &ask, take_run, sweep, &sweep->err);
}

static void find_polls_until(Sweep *sweep, int64_t ms)
{
    QueryAsk ask = { .query = QUERY_POLLS_DUE, .param_count = 2, .row_count_max = SWEEP_COUNT_MAX,
                     .params = { cell_text(str_of(step_state_stored(STEP_POLLING))), moment_cell(sweep->args->arena, ms) } };
    Status status = store_select(sweep->store, &ask, take_step, sweep, &sweep->err);
    if (status) sweep->status = status;
}

static void find_polls(Sweep *sweep) { find_polls_until(sweep, human_now_ms()); }
static void find_retries(Sweep *sweep) { find_runs(sweep, QUERY_RETRIES_DUE, RUN_FAILED); }
static void find_timeouts(Sweep *sweep) { find_runs(sweep, QUERY_TRIGGERS_TIMED_OUT, RUN_PAUSED); }
static void find_resumes(Sweep *sweep) { find_runs(sweep, QUERY_RESUMES_DUE, RUN_PAUSED); }

/* --- polls that were lost ------------------------------------------------------------------------------------------------- */

typedef struct OpenRuns { StepRows rows; Arena *arena; } OpenRuns;

static bool take_open(void *context, const Cell *cells, uint32_t count)
{
    OpenRuns *open = context;
    StepRows *rows = &open->rows;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(open->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(open->arena, cells, count);
    return true;
}

/* Steps that polled, and whose poll runs for nobody: their owner has gone. */
static void find_running(Sweep *sweep, const Cell *run)
{
    StepRows steps;
    sweep->status = run_steps(sweep->args->arena, sweep->store, run, &steps, &sweep->err);
    for (size_t i = 0; !sweep->status && i < steps.count; i++) {
        StepState state = step_row_state(steps.rows[i]);
        bool is_out = state == STEP_RUNNING || state == STEP_DISPATCHED;
        if (is_out && steps.rows[i][STEP_RUNS_poll_started_at].kind == CELL_TEXT) add_due(sweep, run, steps.rows[i], NULL, NULL);
    }
}

static void find_lost(Sweep *sweep)
{
    uint64_t stale_s;
    if (!args_number(sweep->args, "stale", STALE_S_DEFAULT, 0, DURATION_MS_MAX / 1000, &stale_s)) {
        sweep->status = error_set(&sweep->err, ERR_INVALID, "--stale takes a number of seconds");
        return;
    }
    find_polls_until(sweep, human_now_ms() - (int64_t)stale_s * 1000);
    int64_t cursor = 0;
    for (size_t seen = 1; sweep->is_lost && !sweep->status && seen;) {
        OpenRuns open = { .arena = sweep->args->arena };
        QueryAsk ask = { .query = QUERY_RUNS_OPEN, .params = { cell_int(cursor) }, .param_count = 1 };
        sweep->status = store_select(sweep->store, &ask, take_open, &open, &sweep->err);
        seen = open.rows.count;
        for (size_t i = 0; !sweep->status && i < seen; i++) {
            cursor = open.rows.rows[i][RUNS_run_no].integer;
            if (row_state(open.rows.rows[i]) == RUN_RUNNING) find_running(sweep, open.rows.rows[i]);
        }
    }
}

/* --- the five ------------------------------------------------------------------------------------------------------------- */

typedef struct SweepKind {
    const char *name;
    void (*find)(Sweep *sweep);
    const char *due, *done;             /* "poll due", "polled" */
} SweepKind;

static const SweepKind kinds[] = {
    { "dispatch-polls", find_polls, "poll due", "polled" },
    { "recover-polls", find_lost, "poll lost", "recovered" },
    { "process-auto-retries", find_retries, "retry due", "retried" },
    { "check-trigger-timeouts", find_timeouts, "trigger timed out", "timeout applied" },
    { "process-scheduled-resumes", find_resumes, "resume due", "resumed" },
};

static const SweepKind *kind_of(const Args *args)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, args->command->name) == 0) return &kinds[i];
    return &kinds[0];
}

/* --- acting --------------------------------------------------------------------------------------------------------------- */

/* What was found is acted on once its run has further events. */
static size_t open_count(Sweep *sweep, Store *store)
{
    size_t open = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        Due *due = &sweep->due[i];
        const Cell *row = NULL;
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int(due->run_no) }, .param_count = 1 };
        if (!row_select(&arena, store, &ask, &row, &sweep->err) && row) {
            due->after = row_state(row);
            due->is_done = (uint64_t)row[RUNS_event_count].integer > due->event_count;
        }
        arena_deinit(&arena);
        open += !due->is_done;
    }
    return open;
}

/* The first signal ends the sweep, the next one the process. */
static volatile sig_atomic_t is_interrupted;

static void take_signal(int number)
{
    (void)number;
    is_interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = take_signal, .sa_flags = (int)SA_RESETHAND };
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static bool is_quiet(const Engine *engine)
{
    return engine_state(engine) == ENGINE_RUNNING && engine_is_idle(engine) && !engine_waits_for_store(engine);
}

/* Until nothing is left to do now. A run whose runner nobody here offers stays as it is: after a while of quiet it is left. */
static Status act(Sweep *sweep, Workplace *place, Error *err)
{
    Engine *engine = host_engine(place->host);
    int64_t quiet_since_ms = 0;
    while (!engine_trouble(engine) && !is_interrupted) {
        host_turn(place->host, SWEEP_TURN_MS);
        int64_t now_ms = human_now_ms();
        if (!is_quiet(engine)) quiet_since_ms = 0;
        else if (!quiet_since_ms) quiet_since_ms = now_ms;
        if (!quiet_since_ms || now_ms < quiet_since_ms) continue;
        if (!open_count(sweep, place->store) || now_ms - quiet_since_ms > SWEEP_QUIET_MS) break;
    }
    if (engine_trouble(engine)) {
        *err = *engine_trouble(engine);
        return err->status;
    }
    while (!(engine_drain(engine) && control_is_quiet(place->control)) && !engine_trouble(engine))
        host_turn(place->host, SWEEP_TURN_MS);
    (void)open_count(sweep, place->store);
    return OK;
}

static ExitCode act_as_owner(Sweep *sweep)
{
    const Catalog *catalog;
    Workplace place = { 0 };
    Guard *guard;
    bool is_busy = false;
    Error err = { 0 };
    ExitCode code = load_catalog(sweep->args, "", &catalog);
    if (!code) code = guardrails_open(sweep->args, catalog, /* plan= */ NULL, &guard);
    if (code) return code;
    place.guard = guard;
    code = workplace_open(sweep->args, catalog, &place, &is_busy);
    if (!code) {
        workplace_listen(sweep->args, catalog, &place);
        Status status = act(sweep, &place, &err);
        workplace_close(&place);
        if (status) code = fail(&err);
    } else if (is_busy) {
        sweep->has_owner = true;                /* it came between: it acts by itself */
        code = EXIT_CODE_OK;
    }
    guard_close(guard);
    return code;
}

/* --- telling -------------------------------------------------------------------------------------------------------------- */

static void tell_text(const Sweep *sweep, const SweepKind *kind)
{
    size_t done = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const Due *due = &sweep->due[i];
        done += due->is_done;
        print_format("run %s: %.*s", due->run_id.text, STR_ARG(due->workflow));
        if (due->step.len) print_format(" %.*s", STR_ARG(due->step));
        if (due->what.len) print_format(" %.*s", STR_ARG(due->what));
        if (due->is_done) print_format(": %s, %s\n", kind->done, run_state_name(due->after));
        else print_format(": %s; %s\n", kind->due, sweep->has_owner ? "the process that owns the store does it"
                                                                    : "not begun: does this process know its runner?");
    }
    if (!sweep->count) print_format("nothing is due\n");
    else print_format("%zu %s of %zu\n", done, kind->done, sweep->count);
}

static Value due_value(Arena *arena, const Due *due)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("run"), value_string(id_peek(&due->run_id)));
    member_list_add(&members, STR("workflow"), value_string(due->workflow));
    if (due->step.len) member_list_add(&members, STR("step"), value_string(due->step));
    if (due->what.len) member_list_add(&members, STR("trigger"), value_string(due->what));
    if (due->at.len) member_list_add(&members, STR("dueAt"), value_string(due->at));
    member_list_add(&members, STR("done"), value_bool(due->is_done));
    if (due->is_done) member_list_add(&members, STR("state"), value_string(str_of(run_state_name(due->after))));
    return member_list_object(&members);
}

static void tell_json(const Sweep *sweep, const SweepKind *kind)
{
    Arena *arena = sweep->args->arena;
    MemberList members = { .arena = arena };
    ValueList runs = { .arena = arena };
    size_t done = 0;
    Error err;
    Buf out;
    for (size_t i = 0; i < sweep->count; i++) {
        value_list_add(&runs, due_value(arena, &sweep->due[i]));
        done += sweep->due[i].is_done;
    }
    member_list_add(&members, STR("sweep"), value_string(str_of(kind->name)));
    member_list_add(&members, STR("due"), value_int((int64_t)sweep->count));
    member_list_add(&members, STR("done"), value_int((int64_t)done));
    member_list_add(&members, STR("owner"), value_bool(sweep->has_owner));
    member_list_add(&members, STR("runs"), value_list_array(&runs));
    buf_init(&out, JSON_SIZE_MAX);
    if (!json_print(&out, member_list_object(&members), JSON_COMPACT, &err)) buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
}

static bool has_owner(const Args *args)
{
    const char *path = control_path(args);
    Error err;
    int fd;
    if (!path || control_connect(path, &fd, &err)) return false;
    close(fd);
    return true;
}

static ExitCode run(const Args *args)
{
    const SweepKind *kind = kind_of(args);
    Sweep sweep = { .args = args, .has_owner = has_owner(args) };
    sweep.is_lost = !sweep.has_owner;
    ExitCode code = guardrails_refuse_client(args);
    if (!code) code = store_open_existing(args, &sweep.store);
    if (code) return code;
    kind->find(&sweep);
    store_close(sweep.store);
    if (sweep.status) return fail(&sweep.err);
    catch_signals();
    if (sweep.count && !sweep.has_owner) code = act_as_owner(&sweep);
    if (code) return code;
    if (args_flag(args, "json")) tell_json(&sweep, kind);
    else tell_text(&sweep, kind);
    return EXIT_CODE_OK;
}

#define SWEEP_DOC \
    "\n" \
    "A process that owns the store does this by itself, at once; the command is for stores that nobody owns, called by cron\n" \
    "or a timer each minute. Where something is due it becomes the owner, and carries on what it finds until nothing is left\n" \
    "to do now. Called again, or twice at once, it does nothing twice. It prints a line for each, and a count. Ctrl-C and\n" \
    "SIGTERM let the steps end that are under way; a second one ends these, too."

const Verb command_dispatch_polls = {
    .name = "dispatch-polls", .operands = "", .summary = "Makes the polls that are due.",
    .doc = "Makes the next poll of every step that is polling and whose next_poll_at has come.\n" SWEEP_DOC,
    .examples = "maestro dispatch-polls --store sqlite:/var/lib/maestro/store.db --json", .options = options, .run = run,
};

const Verb command_recover_polls = {
    .name = "recover-polls", .operands = "", .summary = "Makes polls again that were lost with their process.",
    .doc = "Finds polls that were running when the process that owned the store died, and polls that have been due for long and\n"
           "were not made; both are made due and made.\n" SWEEP_DOC,
    .examples = "maestro recover-polls --stale 600", .options = recover_options, .run = run,
};

const Verb command_process_auto_retries = {
    .name = "process-auto-retries", .operands = "", .summary = "Starts the automatic retries that are due.",
    .doc = "Starts every failed run anew whose failure_resolution is auto_retry and whose time has come.\n" SWEEP_DOC,
    .examples = "maestro process-auto-retries --json", .options = options, .run = run,
};

const Verb command_check_trigger_timeouts = {
    .name = "check-trigger-timeouts", .operands = "", .summary = "Applies the timeouts of awaited triggers.",
    .doc = "Applies on_timeout to every paused run whose trigger did not come in time: it fails, is reminded of, or goes on.\n"
           SWEEP_DOC,
    .examples = "maestro check-trigger-timeouts", .options = options, .run = run,
};

const Verb command_process_scheduled_resumes = {
    .name = "process-scheduled-resumes", .operands = "", .summary = "Resumes the runs that resume by themselves.",
    .doc = "Resumes every paused run whose auto_resume_after is over.\n" SWEEP_DOC,
    .examples = "maestro process-scheduled-resumes", .options = options, .run = run,
};
