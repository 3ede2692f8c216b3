/* history_routes.c - looking into a run: its trace, where its outputs came from, its state at any time, what differs, its artifacts. */
#include <string.h>

#include "api/aside.h"
#include "api/routes.h"
#include "base/limits.h"
#include "ledger/provenance.h"
#include "value/canonical.h"
#include "value/json.h"
#include "view/run_history.h"

/* --- opening ------------------------------------------------------------------------------------------------------------------------- */

/* What is made of a run takes long: the server's thread asks who may see it, and the rest is done beside it, one after the other. */
static void begin(Call *call, AsideWork work)
{
    const Cell *row;
    if (!api_execution(call, &row)) return;
    call->state = (void *)row;
    aside_begin(call, work, /* done= */ NULL);
}

/* What takes long keeps others waiting. False after answering. */
static bool is_short(Call *call, int64_t event_count)
{
    if (event_count <= API_HISTORY_EVENT_COUNT_MAX) return true;
    call_problem(call, PROBLEM_LIMIT,
                 "this would be made of %lld events, more than API_HISTORY_EVENT_COUNT_MAX (%u); 'maestro replay' and 'maestro diff' "
                 "look at it beside the store", (long long)event_count, API_HISTORY_EVENT_COUNT_MAX);
    return false;
}

/* The run made again; false after answering. It is closed by who opened it. */
static bool open_history(Call *call, const Cell *row, uint64_t event_max, RunHistory *out)
{
    Error err;
    if (!is_short(call, row[RUNS_event_count].integer)) return false;
    if (!run_history_open(out, &call->arena, call->api->store, row, event_max, &err)) return true;
    call_error(call, &err);
    return false;
}

static Value with_links(Call *call, const Cell *row, Value value)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    for (uint32_t i = 0; i < value.count; i++) member_list_add(&members, value_text(value.members[i].key), value.members[i].value);
    add_member(&links, "self", api_link(call, "%.*s", STR_ARG(call->path)));
    add_member(&links, "execution", api_link(call, "/api/executions/%.*s", STR_ARG(row[RUNS_id].text)));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

/* --- trace --------------------------------------------------------------------------------------------------------------------------- */

static void trace(Call *call)
{
    const Cell *row = call->state;
    RunHistory history;
    if (!open_history(call, row, REPLAY_ALL, &history)) return;
    if (history.steps.count + history.history.attempt_count >= API_SPAN_COUNT_MAX)
        call_problem(call, PROBLEM_LIMIT, "the execution has more than %u spans", API_SPAN_COUNT_MAX);
    else call_value(call, 200, with_links(call, row, run_trace_value(&history)));
    run_history_close(&history);
}

void route_execution_trace(Call *call) { begin(call, trace); }

/* --- provenance ------------------------------------------------------------------------------------------------------------------------ */

/* Of one node of the graph what it came from, or what came of it. */
static bool narrow(Call *call, Value *graph)
{
    Str node = call_query(call, "node"), direction = call_query(call, "direction");
    bool is_effects = str_is_text(direction, "effects");
    Error err;
    if (call_has_query(call, "direction") && !is_effects && !str_is_text(direction, "causes")) {
        call_problem(call, PROBLEM_INVALID, "'direction' of the query is causes or effects");
        return false;
    }
    if (!node.len) return true;
    if (!provenance_trace(&call->arena, *graph, node, is_effects ? PROVENANCE_EFFECTS : PROVENANCE_CAUSES, graph, &err)) return true;
    call_error(call, &err);
    return false;
}

static void provenance(Call *call)
{
    const Cell *row = call->state;
    RunHistory history;
    if (!open_history(call, row, REPLAY_ALL, &history)) return;
    if (history.steps.count > API_SPAN_COUNT_MAX)
        call_problem(call, PROBLEM_LIMIT, "the execution has more than %u step runs", API_SPAN_COUNT_MAX);
    else {
        MemberList members = { .arena = &call->arena };
        Value told = run_provenance_value(&history), graph = *value_get_text(told, "graph");
        for (uint32_t i = 0; i < told.count; i++) member_list_add(&members, value_text(told.members[i].key), told.members[i].value);
        if (narrow(call, &graph)) {
            add_member(&members, "graph", graph);
            call_value(call, 200, with_links(call, row, member_list_object(&members)));
        }
    }
    run_history_close(&history);
}

void route_execution_provenance(Call *call) { begin(call, provenance); }

/* --- replay ---------------------------------------------------------------------------------------------------------------------------- */

static void replay(Call *call)
{
    const Cell *row = call->state;
    RunHistory history;
    uint64_t event = REPLAY_ALL;
    Error err;
    Str at = call_query(call, "at");
    if (call_has_query(call, "at") && run_event_at(&call->arena, call->api->store, row, at, &event, &err)) {
        call_error(call, &err);
        return;
    }
    if (!open_history(call, row, event, &history)) return;
    call_value(call, 200, with_links(call, row, run_state_value(&history)));
    run_history_close(&history);
}

void route_execution_replay(Call *call) { begin(call, replay); }

/* --- diff ------------------------------------------------------------------------------------------------------------------------------ */

typedef struct Comparing { const Cell *row, *other; } Comparing;

static void compare_runs(Call *call)
{
    const Comparing *comparing = call->state;
    RunHistory left, right;
    if (!open_history(call, comparing->row, REPLAY_ALL, &left)) return;
    if (open_history(call, comparing->other, REPLAY_ALL, &right)) {
        call_value(call, 200, with_links(call, comparing->row, run_compare_runs(&left, &right)));
        run_history_close(&right);
    }
    run_history_close(&left);
}

static void begin_runs(Call *call, const Cell *row, Str other_id)
{
    Comparing *comparing = ARENA_NEW(&call->arena, Comparing);
    comparing->row = row;
    if (!api_execution_of(call, other_id, &comparing->other)
        || !is_short(call, row[RUNS_event_count].integer + comparing->other[RUNS_event_count].integer)) return;
    call->state = comparing;
    aside_begin(call, compare_runs, /* done= */ NULL);
}

static void compare_attempts(Call *call)
{
    const Cell *row = call->state;
    RunHistory history;
    AttemptPair pair = { 0 };
    Value found;
    Error err;
    Str attempts = call_query(call, "attempts");
    if (call_has_query(call, "attempts") && attempt_pair_read(attempts, &pair, &err)) {
        call_error(call, &err);
        return;
    }
    if (!open_history(call, row, REPLAY_ALL, &history)) return;
    Status status = run_find_pair(&history, call_query(call, "step"), &pair, &err);
    if (!status && attempts.len) status = attempt_pair_read(attempts, &pair, &err);
    if (!status) status = run_compare_attempts(&history, &pair, &found, &err);
    if (status) call_error(call, &err);
    else call_value(call, 200, with_links(call, row, found));
    run_history_close(&history);
}

void route_execution_diff(Call *call)
{
    const Cell *row;
    Str with = call_query(call, "with");
    if (!with.len) begin(call, compare_attempts);
    else if (api_execution(call, &row)) begin_runs(call, row, with);
}

/* --- artifacts ------------------------------------------------------------------------------------------------------------------------- */

/* What steps gave are artifacts, whatever kind of definition they are of. A text is answered as it is, anything else as JSON in
 * canonical form; the tag is the digest of what is sent. */
static void answer_content(Call *call, Value content)
{
    Buf text;
    Error err;
    bool is_text = content.kind == VALUE_STRING;
    buf_init(&text, JSON_SIZE_MAX);
    Status status = OK;
    if (is_text) buf_str(&text, value_text(content));
    else status = canonical_print(&text, content, &err);
    if (status) call_error(call, &err);
    else {
        Digest digest = digest_of(buf_peek(&text));
        Str tag = arena_format(&call->arena, "\"%.*s\"", STR_ARG(value_text(digest_value(&call->arena, &digest))));
        call_add_header(call, "ETag", tag);
        bool is_known = call_has_tag(call, "If-None-Match", tag, /* is_weak_enough= */ true);
        call_text(call, is_known ? 304 : 200, is_text ? "text/plain; charset=utf-8" : "application/json", buf_peek(&text));
    }
    buf_deinit(&text);
}

void route_artifact(Call *call)
{
    const Cell *row, *step = NULL;
    Value content;
    Error err;
    Str name = call->segments[1];
    if (!api_execution(call, &row)) return;
    Status status = run_is_here(row, &err);
    if (!status) status = run_step_row(&call->arena, call->api->store, row, name, &step, &err);
    if (status) call_error(call, &err);
    else if (!step)
        call_problem(call, PROBLEM_NOT_FOUND, "the execution has no artifact '%.*s'", STR_ARG(name));
    else if (step[STEP_RUNS_output_at].kind != CELL_INT)
        call_problem(call, PROBLEM_NOT_FOUND, "the artifact '%.*s' was not produced: it is %s", STR_ARG(name),
                     step_state_name(step_row_state(step)));
    else if (payload_read(&call->arena, call->api->store, &step[STEP_RUNS_output_at], &content, &err)) call_error(call, &err);
    else answer_content(call, content);
}
