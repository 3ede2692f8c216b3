#include "cli/show_waits.h"

#include <inttypes.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "cli/shell_word.h"
#include "core/rationale.h"
#include "core/run.h"
#include "core/terms.h"
#include "ledger/record.h"
#include "value/json.h"
#include "view/id_derive.h"

/* --- reading -------------------------------------------------------------------------------------------------------------- */

Status show_waits_read(ShowWaits *waits, Error *err)
{
    Arena *arena = waits->args->arena;
    Status status = run_story_read(arena, waits->store, waits->row, &waits->story, err);
    QueryAsk ask = { .query = QUERY_TRIGGER_PAYLOADS, .param_count = 3,
                     .params = { waits->row[RUNS_run_no], cell_int(0), cell_text(STR("")) } };
    if (!status) status = row_select_all(arena, waits->store, &ask, &waits->triggers, err);
    uint64_t run_no = (uint64_t)waits->row[RUNS_run_no].integer;
    ask = (QueryAsk){ .query = QUERY_OUTBOX_OF_RUN, .param_count = 2,
                      .params = { cell_int(outbox_entry(run_no, RUN_NOTIFICATION_COUNT_MAX)), cell_int(outbox_entry(run_no, 0)) } };
    return status ? status : row_select_all(arena, waits->store, &ask, &waits->notifications, err);
}

/* Why its last try failed, or why it is no longer wanted; empty: it did not, or that is not told. */
static Str notification_trouble(const ShowWaits *waits, const Cell *row)
{
    uint64_t number = (uint64_t)row[OUTBOX_entry_no].integer & RUN_NOTIFICATION_COUNT_MAX;
    for (size_t i = waits->story.count; i > 0 && row[OUTBOX_sent_ms].kind != CELL_INT; i--) {
        const StoryEvent *event = &waits->story.events[i - 1];
        if (event->kind == EVENT_NOTIFICATION_FAILED && event->count == number) return event->text;
    }
    return (Str){ 0 };
}

static const char *notification_words(const Cell *row)
{
    if (row[OUTBOX_sent_ms].kind == CELL_INT) return "sent";
    return row[OUTBOX_due_ms].kind == CELL_INT ? "open" : "given up";
}

/* What a trigger brought, by the event that tells of it; NULL where it is not there. */
static const Cell *payload_of(const ShowWaits *waits, const StoryEvent *event)
{
    Id run_id = row_id(waits->row), id = id_derive(&run_id, DERIVED_TRIGGER, event->number);
    for (size_t i = 0; i < waits->triggers.count; i++)
        if (str_is(waits->triggers.rows[i][TRIGGER_PAYLOADS_id].text, id_peek(&id)))
            return &waits->triggers.rows[i][TRIGGER_PAYLOADS_payload];
    return NULL;
}

static Status read_polls(Arena *arena, Store *store, const Cell *step, StepRows *out, Error *err)
{
    int64_t count = step[STEP_RUNS_poll_attempt_count].integer;
    int64_t after = count > SHOW_POLL_COUNT_MAX ? count - SHOW_POLL_COUNT_MAX : 0;
    *out = (StepRows){ 0 };
    QueryAsk ask = { .query = QUERY_POLLS_OF_STEP_RUN, .params = { step[STEP_RUNS_id], cell_int(after) }, .param_count = 2 };
    return count ? row_select_all(arena, store, &ask, out, err) : OK;
}

/* --- for people ----------------------------------------------------------------------------------------------------------- */

/* A line of foreign text behind its label. */
static void print_label(const ShowWaits *waits, const char *label, Str text)
{
    print_format("%-11s %.*s\n", label, STR_ARG(plain_text(waits->args->arena, text, PLAIN_LINE)));
}

static Str cell_or(const Cell *cell, const char *otherwise) { return cell->kind == CELL_TEXT ? cell->text : str_of(otherwise); }

static void print_awaited(const ShowWaits *waits)
{
    const Cell *row = waits->row;
    Arena *arena = waits->args->arena;
    print_label(waits, "awaits", arena_format(arena, "trigger %.*s since %.*s", STR_ARG(row[RUNS_awaiting_trigger_key].text),
                                              STR_ARG(cell_or(&row[RUNS_trigger_registered_at], "?"))));
    if (row[RUNS_trigger_timeout_at].kind == CELL_TEXT) print_label(waits, "until", row[RUNS_trigger_timeout_at].text);
    if (row[RUNS_scheduled_resume_at].kind == CELL_TEXT)
        print_label(waits, "goes on", arena_format(arena, "%.*s, by itself", STR_ARG(row[RUNS_scheduled_resume_at].text)));
}

/* "user:ana, 2026-11-16 02:15:07 UTC": by whom, and when. */
static Str author_of(const ShowWaits *waits, const StoryEvent *event)
{
    char storage[64];
    Buf time = buf_on(storage, sizeof storage);
    human_time(&time, event->now_ms);
    return arena_format(waits->args->arena, "%.*s, %.*s UTC", STR_ARG(event->actor), STR_ARG(buf_peek(&time)));
}

static void print_order(const ShowWaits *waits, const char *label, const StoryEvent *event)
{
    print_label(waits, label, arena_format(waits->args->arena, "by %.*s%s%.*s", STR_ARG(author_of(waits, event)),
                                           event->text.len ? ": " : "", STR_ARG(event->text)));
}

static void print_change(const ShowWaits *waits, const StoryEvent *event)
{
    print_label(waits, "changed", arena_format(waits->args->arena, "%.*s (%.*s)", STR_ARG(event->text), STR_ARG(author_of(waits, event))));
}

static void print_revision(const ShowWaits *waits, const StoryEvent *event)
{
    print_label(waits, "revised", arena_format(waits->args->arena, "goes on with revision %u%s%.*s (%.*s)", event->revision,
                                               event->text.len ? "; other: " : "", STR_ARG(event->text), STR_ARG(author_of(waits, event))));
}

static void print_auto_retry(const ShowWaits *waits)
{
    const Cell *row = waits->row;
    const PlanTerms *terms = waits->plan->terms;
    print_label(waits, "retried", arena_format(waits->args->arena, "%.*s, by itself: number %" PRId64 " of %u",
                                               STR_ARG(row[RUNS_auto_retry_at].text), row[RUNS_auto_retry_count].integer,
                                               terms ? terms->resolution.retry_count_max : 0));
}

static void print_rebound(const ShowWaits *waits, const StoryEvent *event)
{
    print_label(waits, "rebound", arena_format(waits->args->arena, "%.*s (%.*s%s%.*s)", STR_ARG(event->text.len ? event->text : STR("as defined")),
                                               STR_ARG(event->actor), event->rationale.len ? ": " : "", STR_ARG(event->rationale)));
}

void show_waits_state(const ShowWaits *waits)
{
    const Cell *row = waits->row;
    const StoryEvent *pause = run_story_pause(&waits->story);
    const StoryEvent *cancelled = run_story_last(&waits->story, EVENT_RUN_CANCELLING, (Str){ 0 });
    const StoryEvent *ending = run_story_last(&waits->story, EVENT_RUN_TERMINATING, (Str){ 0 });
    if (ending && ending->step < waits->plan->step_count)
        print_label(waits, "ended early",
                    arena_format(waits->args->arena, "by %.*s%s%.*s", STR_ARG(waits->plan->steps[ending->step].id),
                                 ending->text.len ? ": " : "", STR_ARG(ending->text)));
    if (cancelled) print_order(waits, "cancelled", cancelled);
    if (row[RUNS_auto_retry_at].kind == CELL_TEXT) print_auto_retry(waits);
    if (row[RUNS_awaiting_trigger_key].kind == CELL_TEXT) print_awaited(waits);
    else if (row_state(row) == RUN_PAUSED && pause) print_order(waits, "paused", pause);
    for (size_t i = 0; i < waits->story.count; i++)
        if (waits->story.events[i].kind == EVENT_PARAMS_CHANGED) print_change(waits, &waits->story.events[i]);
        else if (waits->story.events[i].kind == EVENT_RUN_REVISED) print_revision(waits, &waits->story.events[i]);
        else if (waits->story.events[i].kind == EVENT_RUN_REBOUND) print_rebound(waits, &waits->story.events[i]);
}

static const char *poll_words(const Cell *poll)
{
    if (poll[POLLS_result_complete].integer) return "complete";
    return poll[POLLS_result_continue].integer ? "not yet" : "gave up";
}

static void print_polls(const ShowWaits *waits)
{
    static const GridColumn columns[] = { { "STEP", .is_cut = true }, { "POLL", .is_number = true }, { "AT" }, { "RESULT" },
                                          { "NEXT IN", .is_number = true }, { NULL } };
    Grid grid = grid_begin(waits->args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    bool is_there = false;
    for (size_t i = 0; i < waits->steps->count; i++) {
        StepRows polls;
        Error err;
        if (read_polls(waits->args->arena, waits->store, waits->steps->rows[i], &polls, &err)) continue;
        for (size_t k = 0; k < polls.count; k++) {
            const Cell *poll = polls.rows[k];
            is_there = true;
            grid_cell(&grid, waits->steps->rows[i][STEP_RUNS_step_key].text);
            buf_format(&cell, "%" PRId64, poll[POLLS_attempt_number].integer);
            grid_buf(&grid, &cell);
            human_time(&cell, poll[POLLS_executed_ms].integer);
            grid_buf(&grid, &cell);
            grid_text(&grid, poll_words(poll));
            if (poll[POLLS_next_interval_ms].kind == CELL_INT) human_duration(&cell, poll[POLLS_next_interval_ms].integer);
            grid_buf(&grid, &cell);
        }
    }
    if (!is_there) return;
    print_format("\n");
    grid_print(&grid);
}

static bool is_trigger(const StoryEvent *event)
{
    return event->kind == EVENT_TRIGGER_RECEIVED || event->kind == EVENT_TRIGGER_REFUSED || event->kind == EVENT_TRIGGER_ENDED
        || event->kind == EVENT_TRIGGER_TIMED_OUT || event->kind == EVENT_REACTION_FIRED;
}

/* "answered", "refused: ...", "timed-out": what the event says came of it. */
static const char *event_words(const StoryEvent *event)
{
    if (event->kind == EVENT_TRIGGER_RECEIVED) return story_trigger_words(event);
    if (event->kind == EVENT_TRIGGER_REFUSED) return "refused";
    if (event->kind == EVENT_TRIGGER_ENDED) return trigger_outcome_name((TriggerOutcome)event->sort);
    if (event->kind == EVENT_TRIGGER_TIMED_OUT) return event->flags == PAUSE_REMINDS ? "reminded" : "timed-out";
    return "reaction";
}

/* What who sent it said; empty where nobody said anything: the record has made words then, which tell nothing that is not beside them. */
static Str reason_of(const ShowWaits *waits, const StoryEvent *event)
{
    Command silent = { .kind = COMMAND_TRIGGER, .name = event->name, .is_denial = event->flags & 1 };
    bool is_said = event->kind == EVENT_TRIGGER_RECEIVED
                && !str_is(event->rationale, rationale_of(waits->args->arena, &silent, EVENT_TRIGGER_RECEIVED));
    return is_said ? event->rationale : (Str){ 0 };
}

static bool has_reasons(const ShowWaits *waits)
{
    for (size_t i = 0; i < waits->story.count; i++)
        if (reason_of(waits, &waits->story.events[i]).len) return true;
    return false;
}

static void print_triggers(const ShowWaits *waits)
{
    static const GridColumn columns[] = { { "AT" }, { "TRIGGER" }, { "WHAT" }, { "WHO" }, { "FROM" },
                                          { "BROUGHT", .is_cut = true }, { NULL } };
    static const GridColumn with_reasons[] = { { "AT" }, { "TRIGGER" }, { "WHAT" }, { "WHO" }, { "FROM" }, { "BROUGHT", .is_cut = true },
                                               { "WHY", .is_cut = true }, { NULL } };
    bool is_reasoned = has_reasons(waits);
    Grid grid = grid_begin(waits->args->arena, is_reasoned ? with_reasons : columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    bool is_there = false;
    for (size_t i = 0; i < waits->story.count; i++) {
        const StoryEvent *event = &waits->story.events[i];
        if (!is_trigger(event)) continue;
        bool is_told = event->kind == EVENT_TRIGGER_RECEIVED || event->kind == EVENT_TRIGGER_REFUSED;
        const Cell *payload = event->kind == EVENT_TRIGGER_RECEIVED ? payload_of(waits, event) : NULL;
        is_there = true;
        human_time(&cell, event->now_ms);
        grid_buf(&grid, &cell);
        grid_cell(&grid, event->name);
        buf_format(&cell, "%s%s", event->kind == EVENT_TRIGGER_ENDED ? "ended: " : "", event_words(event));
        grid_buf(&grid, &cell);
        grid_cell(&grid, is_told ? event->source : event->actor);
        grid_cell(&grid, is_told ? event->origin : STR(""));
        grid_cell(&grid, payload ? cell_or(payload, "") : event->text);
        if (is_reasoned) grid_cell(&grid, reason_of(waits, event));
    }
    if (!is_there) return;
    print_format("\n");
    grid_print(&grid);
}

static void print_notifications(const ShowWaits *waits)
{
    static const GridColumn columns[] = { { "AT" }, { "NOTIFIES", .is_cut = true }, { "OF" }, { "STATE" }, { "TRIES", .is_number = true },
                                          { "TROUBLE", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(waits->args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < waits->notifications.count; i++) {
        const Cell *row = waits->notifications.rows[i];
        human_time(&cell, row[OUTBOX_created_ms].integer);
        grid_buf(&grid, &cell);
        grid_cell(&grid, row[OUTBOX_target].text);
        grid_cell(&grid, row[OUTBOX_kind].text);
        grid_text(&grid, notification_words(row));
        buf_format(&cell, "%" PRId64, row[OUTBOX_attempt_count].integer);
        grid_buf(&grid, &cell);
        grid_cell(&grid, notification_trouble(waits, row));
    }
    if (!waits->notifications.count) return;
    print_format("\n");
    grid_print(&grid);
}

void show_waits_tables(const ShowWaits *waits)
{
    print_polls(waits);
    print_triggers(waits);
    print_notifications(waits);
    if (waits->story.is_cut) print_format("(of pauses and triggers the newest)\n");
}

bool show_waits_next(const ShowWaits *waits)
{
    const Cell *row = waits->row;
    Str id = row[RUNS_id].text;
    if (row_state(row) != RUN_PAUSED || row[RUNS_awaiting_trigger_key].kind != CELL_TEXT) return false;
    Arena *arena = waits->args->arena;
    const char *answer = arena_format(arena, "%.*s %.*s --payload JSON", STR_ARG(id), STR_ARG(row[RUNS_awaiting_trigger_key].text)).ptr;
    print_format("\nnext: %.*s\n", STR_ARG(shell_command(waits->args, "approve", arena_copy(arena, id).ptr)));
    print_format("      %.*s\n", STR_ARG(shell_command(waits->args, "trigger", answer)));
    return true;
}

/* --- for programs --------------------------------------------------------------------------------------------------------- */

static void add(MemberList *members, const char *name, Value value)
{
    if (value.kind != VALUE_NULL) member_list_add(members, str_of(name), value);
}

static Value text_value(Str text) { return text.len ? value_string(text) : value_null(); }

/* Text that the engine has printed as JSON; null where there is none. */
static Value json_value(Arena *arena, Str text)
{
    Value value;
    Error err;
    return text.len && !json_parse(arena, text, &value, &err) ? value : value_null();
}

static Value time_value(Arena *arena, int64_t ms) { return cell_time(arena, &(Cell){ .kind = CELL_INT, .integer = ms }); }

static Value poll_row_value(Arena *arena, const Cell *poll)
{
    MemberList members = { .arena = arena };
    add(&members, "attempt", cell_value(&poll[POLLS_attempt_number]));
    add(&members, "at", cell_time(arena, &poll[POLLS_executed_ms]));
    add(&members, "complete", value_bool(poll[POLLS_result_complete].integer));
    add(&members, "continue", value_bool(poll[POLLS_result_continue].integer));
    add(&members, "nextIntervalMs", cell_value(&poll[POLLS_next_interval_ms]));
    return member_list_object(&members);
}

Status show_polls(Arena *arena, Store *store, const Cell *step, Value *out, Error *err)
{
    StepRows polls;
    ValueList list = { .arena = arena };
    *out = value_null();
    Status status = read_polls(arena, store, step, &polls, err);
    if (status) return status;
    for (size_t i = 0; i < polls.count; i++) value_list_add(&list, poll_row_value(arena, polls.rows[i]));
    if (polls.count) *out = value_list_array(&list);
    return OK;
}

static Value awaiting_value(const ShowWaits *waits)
{
    const Cell *row = waits->row;
    MemberList members = { .arena = waits->args->arena };
    if (row[RUNS_awaiting_trigger_key].kind != CELL_TEXT) return value_null();
    const PlanTerms *terms = waits->plan->terms;
    add(&members, "trigger", cell_value(&row[RUNS_awaiting_trigger_key]));
    add(&members, "since", cell_value(&row[RUNS_trigger_registered_at]));
    add(&members, "until", cell_value(&row[RUNS_trigger_timeout_at]));
    add(&members, "resumesAt", cell_value(&row[RUNS_scheduled_resume_at]));
    for (uint32_t i = 0; terms && i < terms->pause_count; i++)
        if (str_is(terms->steps[terms->pauses[i]].pause.trigger, row[RUNS_awaiting_trigger_key].text)) {
            add(&members, "payloadSchema", terms->steps[terms->pauses[i]].pause.payload_schema);
            break;
        }
    return member_list_object(&members);
}

static Value trigger_value(const ShowWaits *waits, const StoryEvent *event)
{
    Arena *arena = waits->args->arena;
    MemberList members = { .arena = arena };
    const Cell *payload = event->kind == EVENT_TRIGGER_RECEIVED ? payload_of(waits, event) : NULL;
    Value brought;
    Error err;
    add(&members, "at", time_value(arena, event->now_ms));
    add(&members, "trigger", value_string(event->name));
    add(&members, "event", value_string(str_of(event_name(event->kind))));
    add(&members, "outcome", value_string(str_of(event_words(event))));
    add(&members, "by", text_value(event->source.len ? event->source : event->actor));
    add(&members, "from", text_value(event->origin));
    if (payload && payload->kind == CELL_TEXT && !json_parse(arena, payload->text, &brought, &err))
        member_list_add(&members, STR("payload"), brought);
    add(&members, "message", text_value(event->text));
    add(&members, "reason", text_value(reason_of(waits, event)));
    return member_list_object(&members);
}

static Value notification_value(const ShowWaits *waits, const Cell *row)
{
    Arena *arena = waits->args->arena;
    MemberList members = { .arena = arena };
    add(&members, "at", cell_time(arena, &row[OUTBOX_created_ms]));
    add(&members, "target", cell_value(&row[OUTBOX_target]));
    add(&members, "kind", cell_value(&row[OUTBOX_kind]));
    add(&members, "key", cell_value(&row[OUTBOX_key]));
    add(&members, "state", value_string(str_of(notification_words(row))));
    add(&members, "attempts", cell_value(&row[OUTBOX_attempt_count]));
    add(&members, "dueAt", cell_time(arena, &row[OUTBOX_due_ms]));
    add(&members, "sentAt", cell_time(arena, &row[OUTBOX_sent_ms]));
    add(&members, "message", text_value(notification_trouble(waits, row)));
    return member_list_object(&members);
}

void show_waits_add(const ShowWaits *waits, MemberList *members)
{
    Arena *arena = waits->args->arena;
    ValueList triggers = { .arena = arena }, reactions = { .arena = arena }, changes = { .arena = arena },
        revisions = { .arena = arena }, rebound = { .arena = arena };
    const StoryEvent *pause = run_story_pause(&waits->story);
    const StoryEvent *cancelled = run_story_last(&waits->story, EVENT_RUN_CANCELLING, (Str){ 0 });
    const StoryEvent *ending = run_story_last(&waits->story, EVENT_RUN_TERMINATING, (Str){ 0 });
    for (size_t i = 0; i < waits->story.count; i++) {
        const StoryEvent *event = &waits->story.events[i];
        MemberList one = { .arena = arena };
        add(&one, "at", time_value(arena, event->now_ms));
        if (event->kind == EVENT_REACTION_FIRED) {
            add(&one, "signal", value_string(event->name));
            value_list_add(&reactions, member_list_object(&one));
        } else if (event->kind == EVENT_PARAMS_CHANGED) {
            add(&one, "by", value_string(event->actor));
            add(&one, "difference", value_string(event->text));
            value_list_add(&changes, member_list_object(&one));
        } else if (event->kind == EVENT_RUN_REBOUND) {
            add(&one, "by", value_string(event->actor));
            add(&one, "why", value_string(event->rationale));
            add(&one, "placement", json_value(arena, event->text));
            value_list_add(&rebound, member_list_object(&one));
        } else if (event->kind == EVENT_RUN_REVISED) {
            add(&one, "by", value_string(event->actor));
            add(&one, "revision", value_int(event->revision));
            add(&one, "steps", value_string(event->text));
            value_list_add(&revisions, member_list_object(&one));
        } else if (is_trigger(event)) value_list_add(&triggers, trigger_value(waits, event));
    }
    ValueList notifications = { .arena = arena };
    for (size_t i = 0; i < waits->notifications.count; i++)
        value_list_add(&notifications, notification_value(waits, waits->notifications.rows[i]));
    if (notifications.count) add(members, "notifications", value_list_array(&notifications));
    if (rebound.count) add(members, "rebound", value_list_array(&rebound));
    add(members, "awaiting", awaiting_value(waits));
    if (row_state(waits->row) == RUN_PAUSED && pause) {
        add(members, "pausedBy", text_value(pause->actor));
        add(members, "pausedBecause", text_value(pause->text));
    }
    if (cancelled) {
        add(members, "cancelledBy", text_value(cancelled->actor));
        add(members, "cancelledBecause", text_value(cancelled->text));
    }
    add(members, "autoRetryAt", cell_value(&waits->row[RUNS_auto_retry_at]));
    if (ending) add(members, "endedEarly", value_string(ending->text));
    if (triggers.count) add(members, "triggers", value_list_array(&triggers));
    if (reactions.count) add(members, "reactions", value_list_array(&reactions));
    if (revisions.count) add(members, "revisions", value_list_array(&revisions));
    if (changes.count) add(members, "paramChanges", value_list_array(&changes));
}
