#include <inttypes.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/human.h"
#include "cli/run_read.h"
#include "cli/shell_word.h"
#include "cli/show_deeds.h"
#include "cli/show_jobs.h"
#include "cli/show_waits.h"
#include "cli/grid.h"
#include "cli/workplace.h"
#include "core/terms.h"
#include "ledger/record.h"
#include "value/json.h"

static const Option options[] = {
    { "events", 'e', NULL, NULL, "Prints what the ledger holds of it: every event, with who and why." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints JSON." },
    { NULL },
};

typedef struct Show {
    const Args *args;
    Store *store;
    const Cell *row;
    Plan plan;
    StepRows steps;
    ShowWaits waits;
    ShowDeeds deeds;
    ShowJobs jobs;
    Str *waiting;               /* by step of the plan why nobody can begin it; empty: that is not so */
} Show;

/* --- for people ----------------------------------------------------------------------------------------------------------- */

static void print_line(const Show *show, const char *label, Str text)
{
    Str line = plain_text(show->args->arena, text, PLAIN_LINE);
    if (text.len) print_format("%-11s %.*s\n", label, STR_ARG(line));
}

static void print_time(const Show *show, const char *label, const Cell *cell)
{
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    if (cell->kind != CELL_INT) return;
    human_time(&buf, cell->integer);
    buf_text(&buf, " UTC");
    print_line(show, label, buf_peek(&buf));
}

static void print_value(const Show *show, const char *label, Value value)
{
    Buf buf;
    Error err;
    if (value.kind == VALUE_NULL || (value.kind == VALUE_OBJECT && !value.count)) return;
    buf_init(&buf, JSON_SIZE_MAX);
    if (!json_print(&buf, value, JSON_COMPACT, &err)) print_line(show, label, buf_peek(&buf));
    buf_deinit(&buf);
}

static void print_next_command(const Show *show, const char *verb, const char *operands, const char *why)
{
    print_format("\nnext: %.*s%s\n", STR_ARG(shell_command(show->args, verb, operands)), why);
}

/* What the person who looks at it may want to do. */
static void print_next(const Show *show)
{
    RunState state = row_state(show->row);
    Str id = show->row[RUNS_id].text, failed = show->row[RUNS_failed_step_key].text;
    bool is_settled = row_is_settled(show->row);
    if (show_waits_next(&show->waits) || show_jobs_next(&show->jobs)) return;
    const char *what = arena_copy(show->args->arena, id).ptr;
    if (state == RUN_FAILED && show->row[RUNS_failed_step_key].kind == CELL_TEXT) {
        const char *step = arena_format(show->args->arena, "%.*s %.*s", STR_ARG(id), STR_ARG(failed)).ptr;
        print_next_command(show, "inspect", step, "     what it was given and what it said");
        if (!str_is_text(show->row[RUNS_resolution].text, resolution_name(RESOLUTION_RESOLVED)))
            print_format("      %.*s     retry it, compensate it, or close it\n", STR_ARG(shell_command(show->args, "resolve", what)));
    } else if (state == RUN_COMPENSATION_FAILED) {
        print_next_command(show, "retry-compensation", what, "     tries once more to undo it");
        print_format("      %.*s      goes on with the rest\n", STR_ARG(shell_command(show->args, "skip-compensation", what)));
    } else if (state == RUN_PAUSED) {
        print_next_command(show, "resume", what, "");
    } else if (!is_settled && state == RUN_WAITING_SIGNAL) {
        print_next_command(show, "signal", arena_format(show->args->arena, "%s NAME", what).ptr, ", for a step that waits for it");
    } else if (!is_settled) {
        print_format("\nnext: %.*s, or %.*s where no process carries it out\n", STR_ARG(shell_command(show->args, "watch", what)),
                     STR_ARG(shell_command(show->args, "resume", what)));
    }
}

/* Executions of a try that ended with their process are no tries of their own, and are told beside them. */
static uint64_t lost_count(const Show *show, const Cell *row)
{
    const StoryEvent *last = NULL;
    const RunStory *story = &show->waits.story;
    if (step_row_state(row) == STEP_SUPERSEDED || row[STEP_RUNS_started_ms].kind != CELL_INT) return 0;
    for (size_t i = 0; i < story->count; i++) {
        const StoryEvent *event = &story->events[i];
        bool is_of_row = event->kind == EVENT_LEASE_EXPIRED && event->step < show->plan.step_count
                      && event->now_ms >= row[STEP_RUNS_started_ms].integer
                      && str_is(show->plan.steps[event->step].id, row[STEP_RUNS_step_key].text);
        if (is_of_row) last = event;
    }
    return last ? last->count : 0;
}

/* The step run that took the place of this one; NULL: none did, or it has not begun. */
static const Cell *successor_of(const Show *show, const Cell *row)
{
    for (size_t i = 0; row[STEP_RUNS_superseded_by_id].kind == CELL_TEXT && i < show->steps.count; i++)
        if (str_is(show->steps.rows[i][STEP_RUNS_id].text, row[STEP_RUNS_superseded_by_id].text)) return show->steps.rows[i];
    return NULL;
}

static size_t superseded_count(const Show *show)
{
    size_t count = 0;
    for (size_t i = 0; i < show->steps.count; i++) count += step_row_state(show->steps.rows[i]) == STEP_SUPERSEDED;
    return count;
}

/* What took its place, and why it failed, was skipped or waits. */
static void put_why(Buf *cell, const Cell *row, const Cell *successor)
{
    int64_t polls = row[STEP_RUNS_poll_attempt_count].integer;
    const char *and = successor ? "; " : "";
    if (successor) buf_format(cell, "by %" PRId64, successor[STEP_RUNS_step_index].integer);
    if (row[STEP_RUNS_error_message].kind == CELL_TEXT) {
        buf_text(cell, and);
        plain_put(cell, row[STEP_RUNS_error_message].text, PLAIN_JOINED);
    } else if (row[STEP_RUNS_skip_reason].kind == CELL_TEXT) {
        buf_format(cell, "%s%.*s", and, STR_ARG(row[STEP_RUNS_skip_reason].text));
    } else if (row[STEP_RUNS_waiting_for].kind == CELL_TEXT) {
        buf_format(cell, "%swaits for signal %.*s", and, STR_ARG(row[STEP_RUNS_waiting_for].text));
    } else if (row[STEP_RUNS_next_poll_at].kind == CELL_TEXT) {
        buf_format(cell, "%spoll %" PRId64 ", next at %.*s", and, polls, STR_ARG(row[STEP_RUNS_next_poll_at].text));
    } else if (polls) {
        buf_format(cell, "%s%" PRId64 " polls", and, polls);
    }
}

static void print_steps(const Show *show)
{
    static const GridColumn columns[] = { { "#", .is_number = true }, { "STEP" }, { "STATE" }, { "TRIES", .is_number = true },
                                           { "TOOK", .is_number = true }, { "WHY", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(show->args->arena, columns);
    char storage[512];
    Buf cell = buf_on(storage, sizeof storage);
    int64_t now_ms = human_now_ms();
    for (size_t i = 0; i < show->steps.count; i++) {
        const Cell *row = show->steps.rows[i];
        bool has_begun = row[STEP_RUNS_started_ms].kind == CELL_INT, has_ended = row[STEP_RUNS_finished_ms].kind == CELL_INT;
        buf_format(&cell, "%" PRId64, row[STEP_RUNS_step_index].integer);
        grid_buf(&grid, &cell);
        grid_cell(&grid, row[STEP_RUNS_step_key].text);
        grid_text(&grid, step_state_name(step_row_state(row)));
        buf_format(&cell, "%" PRId64, row[STEP_RUNS_attempt].integer);
        uint64_t lost = lost_count(show, row);
        if (lost) buf_format(&cell, " (%" PRIu64 " lost)", lost);
        grid_buf(&grid, &cell);
        if (has_begun)
            human_duration(&cell, (has_ended ? row[STEP_RUNS_finished_ms].integer : now_ms) - row[STEP_RUNS_started_ms].integer);
        grid_buf(&grid, &cell);
        put_why(&cell, row, successor_of(show, row));
        grid_buf(&grid, &cell);
    }
    print_format("\n");
    grid_print(&grid);
}

/* --- what waits ----------------------------------------------------------------------------------------------------------- */

typedef struct Waiting {
    Show *show;
    Arena arena;                /* of one record */
    bool *is_known;             /* by step: its last event was met */
    Status status;
    Error *err;
} Waiting;

/* Newest first: the last thing that is known of a step may be that no process so far could begin it. */
static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Waiting *waiting = context;
    Show *show = waiting->show;
    Record record;
    (void)count;
    arena_reset(&waiting->arena);
    waiting->status = record_decode_any(&waiting->arena, cells[LEDGER_record].text, &record, waiting->err);
    for (uint32_t i = waiting->status ? 0 : record.event_count; i > 0; i--) {
        const Event *event = &record.events[i - 1];
        bool is_of_step = event_has(event->kind, FIELD_step) && event->step < show->plan.step_count;
        if (!is_of_step || waiting->is_known[event->step]) continue;
        waiting->is_known[event->step] = true;
        if (event->kind == EVENT_STEP_DEFERRED) show->waiting[event->step] = arena_copy(show->args->arena, event->text);
    }
    return !waiting->status;
}

/* By step why it waits, empty where it does not: such a step may have no row yet. The newest records say it; a run that goes on
 * for long has too many to read them all. */
static Status find_waiting(Show *show, Error *err)
{
    const Cell *row = show->row;
    show->waiting = ARENA_ARRAY(show->args->arena, Str, show->plan.step_count + 1u);
    if (row[RUNS_completed_ms].kind == CELL_INT || row[RUNS_archived_to].kind == CELL_TEXT) return OK;
    Waiting waiting = { .show = show, .is_known = ARENA_ARRAY(show->args->arena, bool, show->plan.step_count + 1u), .err = err };
    arena_init(&waiting.arena, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_RUN_TAIL, .params = { row[RUNS_last_position], cell_int(0) }, .param_count = 2,
                     .row_count_max = SHOW_RECORD_COUNT_MAX };
    Status status = store_select(show->store, &ask, take_record, &waiting, err);
    arena_deinit(&waiting.arena);
    return status ? status : waiting.status;
}

static void print_waiting(const Show *show)
{
    for (uint32_t i = 0; i < show->plan.step_count; i++)
        if (show->waiting[i].len)
            print_format("%-11s %.*s %.*s\n", "waits", STR_ARG(show->plan.steps[i].id),
                       STR_ARG(plain_text(show->args->arena, show->waiting[i], PLAIN_LINE)));
}

static void print_failure(const Show *show)
{
    const Cell *row = show->row;
    if (row[RUNS_error_message].kind != CELL_TEXT) return;
    print_line(show, "why", plain_text(show->args->arena, row[RUNS_error_message].text, PLAIN_JOINED));
    if (row[RUNS_error_class].kind != CELL_TEXT) return;
    bool is_undoing = row_state(row) == RUN_COMPENSATING || row_state(row) == RUN_COMPENSATION_FAILED;
    /* What stands above it may be about the undoing; the class is that of what the run failed by. */
    print_format("%-11s %s%.*s", "", is_undoing ? "the run failed: " : "", STR_ARG(row[RUNS_error_class].text));
    if (row[RUNS_error_cause].kind == CELL_TEXT) print_format(", cause %.*s", STR_ARG(row[RUNS_error_cause].text));
    if (row[RUNS_failed_step_key].kind == CELL_TEXT) print_format(", step %.*s", STR_ARG(row[RUNS_failed_step_key].text));
    print_format("\n");
}

static void print_text(const Show *show)
{
    const Cell *row = show->row;
    Arena *arena = show->args->arena;
    char storage[64];
    Buf took = buf_on(storage, sizeof storage);
    bool has_ended = row[RUNS_completed_ms].kind == CELL_INT;
    human_duration(&took, (has_ended ? row[RUNS_completed_ms].integer : human_now_ms()) - row[RUNS_started_ms].integer);
    print_line(show, "run", row[RUNS_id].text);
    print_line(show, "workflow", row[RUNS_definition_key].text);
    if (row[RUNS_definition_version].integer)
        print_format("%-11s %" PRId64 "\n", "revision", row[RUNS_definition_version].integer);
    print_line(show, "tenant", row[RUNS_tenant].text);
    print_format("%-11s %s", "state", run_state_name(row_state(row)));
    if (row[RUNS_resolution].kind == CELL_TEXT) print_format(" (%.*s)", STR_ARG(row[RUNS_resolution].text));
    print_format("\n");
    print_failure(show);
    show_waits_state(&show->waits);
    show_jobs_state(&show->jobs);
    print_time(show, "started", &row[RUNS_started_ms]);
    print_time(show, "ended", &row[RUNS_completed_ms]);
    print_line(show, has_ended ? "took" : "so far", buf_peek(&took));
    if (row[RUNS_idempotency_key].kind == CELL_TEXT) print_line(show, "key", row[RUNS_idempotency_key].text);
    if (row[RUNS_archived_to].kind == CELL_TEXT) {
        print_format("%-11s %" PRId64 " events\n", "archived", row[RUNS_event_count].integer);
        print_line(show, "file", row[RUNS_archived_to].text);
        return;
    }
    Value start = payload_or_null(arena, show->store, &row[RUNS_params_at]);
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    if (params) print_value(show, "params", *params);
    if (payload) print_value(show, "payload", *payload);
    size_t superseded = superseded_count(show);
    print_format("%-11s %zu begun or skipped, of %u; ", "steps", show->steps.count - superseded, show->plan.step_count);
    if (superseded) print_format("%zu superseded; ", superseded);
    print_format("%" PRId64 " events\n", row[RUNS_event_count].integer);
    print_waiting(show);
    if (show->steps.count) print_steps(show);
    show_deeds_tables(&show->deeds);
    show_waits_tables(&show->waits);
    print_next(show);
}

/* --- for programs --------------------------------------------------------------------------------------------------------- */

static void add(MemberList *members, const char *name, Value value)
{
    if (value.kind != VALUE_NULL) member_list_add(members, str_of(name), value);
}

static Value error_value(Arena *arena, const Cell *message, const Cell *error_class, const Cell *cause)
{
    MemberList members = { .arena = arena };
    if (message->kind != CELL_TEXT) return value_null();
    add(&members, "message", cell_value(message));
    add(&members, "class", cell_value(error_class));
    add(&members, "cause", cell_value(cause));
    return member_list_object(&members);
}

static Value step_value(const Show *show, const Cell *row)
{
    Arena *arena = show->args->arena;
    MemberList members = { .arena = arena };
    add(&members, "index", cell_value(&row[STEP_RUNS_step_index]));
    add(&members, "step", cell_value(&row[STEP_RUNS_step_key]));
    add(&members, "state", value_string(str_of(step_state_name(step_row_state(row)))));
    add(&members, "attempts", cell_value(&row[STEP_RUNS_attempt]));
    uint64_t lost = lost_count(show, row);
    if (lost) add(&members, "lost", value_int((int64_t)lost));
    add(&members, "startedAt", cell_time(arena, &row[STEP_RUNS_started_ms]));
    add(&members, "finishedAt", cell_time(arena, &row[STEP_RUNS_finished_ms]));
    add(&members, "skipReason", cell_value(&row[STEP_RUNS_skip_reason]));
    add(&members, "branch", cell_value(&row[STEP_RUNS_branch_key]));
    add(&members, "retrySource", cell_value(&row[STEP_RUNS_retry_source]));
    const Cell *successor = successor_of(show, row);
    if (successor) add(&members, "supersededBy", cell_value(&successor[STEP_RUNS_step_index]));
    add(&members, "supersededAt", cell_value(&row[STEP_RUNS_superseded_at]));
    add(&members, "waitingFor", cell_value(&row[STEP_RUNS_waiting_for]));
    add(&members, "executor", cell_value(&row[STEP_RUNS_executor]));
    if (row[STEP_RUNS_poll_started_at].kind == CELL_TEXT) {
        add(&members, "polls", cell_value(&row[STEP_RUNS_poll_attempt_count]));
        add(&members, "pollStartedAt", cell_value(&row[STEP_RUNS_poll_started_at]));
        add(&members, "nextPollAt", cell_value(&row[STEP_RUNS_next_poll_at]));
    }
    add(&members, "error", error_value(arena, &row[STEP_RUNS_error_message], &row[STEP_RUNS_error_class],
                                       &row[STEP_RUNS_error_cause]));
    return member_list_object(&members);
}

static Value waiting_value(Arena *arena, Str step, Str why)
{
    MemberList members = { .arena = arena };
    add(&members, "step", value_string(step));
    add(&members, "why", value_string(why));
    return member_list_object(&members);
}

static Value run_value(const Show *show)
{
    const Cell *row = show->row;
    Arena *arena = show->args->arena;
    MemberList members = { .arena = arena };
    ValueList steps = { .arena = arena };
    bool is_here = row[RUNS_archived_to].kind != CELL_TEXT;
    Value start = is_here ? payload_or_null(arena, show->store, &row[RUNS_params_at]) : value_null();
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    add(&members, "run", cell_value(&row[RUNS_id]));
    add(&members, "workflow", cell_value(&row[RUNS_definition_key]));
    add(&members, "revision", cell_value(&row[RUNS_definition_version]));
    add(&members, "tenant", cell_value(&row[RUNS_tenant]));
    add(&members, "state", value_string(str_of(run_state_name(row_state(row)))));
    add(&members, "resolution", cell_value(&row[RUNS_resolution]));
    add(&members, "error", error_value(arena, &row[RUNS_error_message], &row[RUNS_error_class], &row[RUNS_error_cause]));
    add(&members, "failedStep", cell_value(&row[RUNS_failed_step_key]));
    add(&members, "startedAt", cell_time(arena, &row[RUNS_started_ms]));
    add(&members, "completedAt", cell_time(arena, &row[RUNS_completed_ms]));
    add(&members, "idempotencyKey", cell_value(&row[RUNS_idempotency_key]));
    add(&members, "params", params ? *params : start);
    add(&members, "payload", payload ? *payload : value_null());
    add(&members, "archivedTo", cell_value(&row[RUNS_archived_to]));
    add(&members, "eventCount", cell_value(&row[RUNS_event_count]));
    add(&members, "stepCount", value_int(show->plan.step_count));
    for (size_t i = 0; i < show->steps.count; i++) value_list_add(&steps, step_value(show, show->steps.rows[i]));
    add(&members, "steps", value_list_array(&steps));
    ValueList waiting = { .arena = arena };
    for (uint32_t i = 0; i < show->plan.step_count; i++)
        if (show->waiting[i].len) value_list_add(&waiting, waiting_value(arena, show->plan.steps[i].id, show->waiting[i]));
    if (waiting.count) add(&members, "waiting", value_list_array(&waiting));
    show_jobs_add(&show->jobs, &members);
    show_deeds_add(&show->deeds, &members);
    show_waits_add(&show->waits, &members);
    return member_list_object(&members);
}

/* --- events --------------------------------------------------------------------------------------------------------------- */

/* What a branch was decided by stands in the plan; whoever reads its event wants to see it there. */
static Str condition_of(const Show *show, const Event *event)
{
    bool is_branch = event->kind == EVENT_BRANCH_TAKEN && event->step < show->plan.step_count;
    return is_branch ? terms_branch_condition(show->plan.terms, event->step) : STR("");
}

/* "event" and "number" stand in the line already. */
static void print_event(const Show *show, const Record *record, uint32_t index, Buf *out)
{
    const Event *event = &record->events[index];
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value = event_to_value(&arena, event, record->head.first_event + index);
    const char *name = event_name(event->kind);
    buf_format(out, "%6" PRIu64 "  ", record->head.first_event + index);
    human_time(out, record->head.now_ms);
    buf_format(out, ".%03d  %-20s", (int)(record->head.now_ms % 1000), name ? name : "(newer)");
    if (event_has(event->kind, FIELD_step) && event->step < show->plan.step_count)
        buf_format(out, " %.*s", STR_ARG(show->plan.steps[event->step].id));
    if (event_has(event->kind, FIELD_job) && event->job < show->plan.job_count)
        buf_format(out, " %.*s", STR_ARG(show->plan.jobs[event->job].id));
    for (uint32_t i = 0; i < value.count; i++) {
        Str key = value_text(value.members[i].key);
        Value field = value.members[i].value;
        if (str_is_text(key, "event") || str_is_text(key, "number") || str_is_text(key, "step")) continue;
        buf_format(out, " %.*s=", STR_ARG(key));
        Error err;
        if (field.kind == VALUE_STRING) plain_put(out, value_text(field), PLAIN_LINE);
        else if (json_print(out, field, JSON_COMPACT, &err)) buf_text(out, "?");
    }
    Str condition = condition_of(show, event);
    if (condition.len) buf_text(out, " condition=");
    plain_put(out, condition, PLAIN_LINE);
    buf_text(out, "  by ");
    plain_put(out, record->head.actor, PLAIN_LINE);
    if (record->head.rationale.len) buf_text(out, ": ");
    plain_put(out, record->head.rationale, PLAIN_LINE);
    buf_char(out, '\n');
    arena_deinit(&arena);
}

/* An event with what its record states once. */
static Status print_event_json(const Show *show, const Record *record, uint32_t index, Arena *arena, Buf *out, Error *err)
{
    Value event = event_to_value(arena, &record->events[index], record->head.first_event + index);
    Value head = record_to_value(arena, record);
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < head.count; i++)
        if (!str_is_text(value_text(head.members[i].key), "events"))
            member_list_add(&members, value_text(head.members[i].key), head.members[i].value);
    for (uint32_t i = 0; i < event.count; i++)
        member_list_add(&members, value_text(event.members[i].key), event.members[i].value);
    event_emits(&members, &record->events[index]);
    Str condition = condition_of(show, &record->events[index]);
    if (condition.len) member_list_add(&members, STR("condition"), value_string(condition));
    member_list_add(&members, STR("position"), value_int((int64_t)record->head.position));
    Status status = json_print(out, member_list_object(&members), JSON_COMPACT, err);
    buf_char(out, '\n');
    return status;
}

static Status print_events(const Show *show, Error *err)
{
    StepRows records;
    bool is_json = args_flag(show->args, "json");
    Status status = run_records(show->args->arena, show->store, show->row, 0, /* has_payloads= */ false, &records, err);
    Buf out;
    buf_init(&out, SIZE_MAX);
    for (size_t i = 0; !status && i < records.count; i++) {
        Arena arena;
        Record record;
        arena_init(&arena, SIZE_MAX);
        status = record_decode_any(&arena, records.rows[i][LEDGER_record].text, &record, err);
        for (uint32_t k = 0; !status && k < record.event_count; k++) {
            if (is_json) status = print_event_json(show, &record, k, &arena, &out, err);
            else print_event(show, &record, k, &out);
        }
        print_out(&out);
        buf_clear(&out);
        arena_deinit(&arena);
    }
    buf_deinit(&out);
    return status;
}

/* --- the command ---------------------------------------------------------------------------------------------------------- */

static ExitCode run(const Args *args)
{
    Show show = { .args = args };
    Error err;
    ExitCode code = store_open_existing(args, &show.store);
    if (code) return code;
    code = find_row(args, show.store, args->operands[0], &show.row);
    if (!code) {
        Status status = run_plan(args->arena, show.store, show.row, &show.plan, &err);
        if (!status) status = run_steps(args->arena, show.store, show.row, &show.steps, &err);
        if (!status) status = find_waiting(&show, &err);
        show.waits = (ShowWaits){ .args = args, .store = show.store, .row = show.row, .plan = &show.plan, .steps = &show.steps };
        if (!status) status = show_waits_read(&show.waits, &err);
        show.jobs = (ShowJobs){ .args = args, .row = show.row, .plan = &show.plan, .story = &show.waits.story };
        if (!status) status = show_jobs_read(&show.jobs, show.store, &err);
        if (!status) status = show_deeds_read(&show.deeds, args->arena, show.store, show.row, &err);
        if (!status && args_flag(args, "events")) status = print_events(&show, &err);
        else if (!status && args_flag(args, "json")) status = print_json(run_value(&show), &err);
        else if (!status) print_text(&show);
        if (status) code = fail(&err);
    }
    store_close(show.store);
    return code;
}

const Verb command_show = {
    .name = "show", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Shows a run: its state, why it failed, its steps, its events.",
    .doc = "What the store says of a run at this moment; of one that was archived, how it ended and in which file it is.\n"
           "With --events, what the ledger holds of it instead: every event in order, with its number, its time (UTC), who\n"
           "caused it and why; with --json, an object a line.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run.",
    .examples = "maestro show last\n"
                "maestro show last --events --json",
    .options = options, .run = run,
};
