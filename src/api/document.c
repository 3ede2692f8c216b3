#include "api/document.h"

#include <inttypes.h>

#include "api/page.h"
#include "api/plan_facts.h"
#include "base/limits.h"
#include "value/json.h"

/* --- executions --------------------------------------------------------------------------------------------------------------------- */

static Value revision_id(Call *call, Str tenant, Str workflow, int64_t version)
{
    MemberList id = { .arena = &call->arena };
    add_member(&id, "namespace", value_string(tenant));
    add_member(&id, "workflowId", value_string(workflow));
    add_member(&id, "version", value_int(version));
    return member_list_object(&id);
}

/* Of the trigger that it awaits: a pause that asks something of its payload is ended by that, and not by resuming without one; and whoever sends it
 * may do so by a bearer token, or not. What cannot be read permits nothing. */
static PlanFact awaited(Call *call, const Cell *row)
{
    const Plan *plan;
    Error err;
    PlanFact fact = { 0 };
    Digest digest = cell_digest(&row[RUNS_plan_digest]);
    Str trigger = row[RUNS_awaiting_trigger_key].text;
    if (plan_facts_find(call->api->facts, &digest, trigger, &fact) || api_plan(call->api, &digest, &plan, &err)) return fact;
    fact = plan_fact_of(plan, trigger);
    plan_facts_put(call->api->facts, &digest, trigger, fact);
    return fact;
}

bool document_is_at_hand(Call *call, const Cell *row)
{
    PlanFact fact;
    Digest digest = cell_digest(&row[RUNS_plan_digest]);
    if (row[RUNS_awaiting_trigger_key].kind != CELL_TEXT || row_is_over(row)) return true;
    return plan_facts_find(call->api->facts, &digest, row[RUNS_awaiting_trigger_key].text, &fact);
}

/* What links lead to: who may not do that does not see them. */
enum { MAY_READ, MAY_HEAR, MAY_READ_WORKFLOW, MAY_PAUSE, MAY_RESUME, MAY_CANCEL, MAY_REBIND, MAY_RESOLVE, MAY_RETRY, MAY_COMPENSATE, MAY_APPROVE,
       MAY_TRIGGER, MAY_HAVE_TOKEN, MAY_COUNT };
static const char *const link_verbs[MAY_COUNT] = {
    [MAY_READ] = "execution.read",         [MAY_HEAR] = "event.read",         [MAY_READ_WORKFLOW] = "workflow.read",
    [MAY_PAUSE] = "execution.pause",       [MAY_RESUME] = "execution.resume", [MAY_CANCEL] = "execution.cancel",
    [MAY_REBIND] = "execution.rebind",     [MAY_RESOLVE] = "execution.resolve", [MAY_RETRY] = "execution.retry",
    [MAY_COMPENSATE] = "execution.compensate", [MAY_APPROVE] = "execution.approve", [MAY_TRIGGER] = "execution.trigger",
    [MAY_HAVE_TOKEN] = "trigger.token",
};

/* Of a list that is asked once for all that are of one tenant, one behind the other. */
static uint32_t link_mask(Call *call, Str tenant)
{
    if (call->linked_tenant.len && str_is(call->linked_tenant, tenant)) return call->link_mask;
    call->linked_tenant = arena_copy(&call->arena, tenant);
    call->link_mask = 0;
    for (uint32_t i = 0; i < MAY_COUNT; i++)
        if (api_shows(call, link_verbs[i], tenant)) call->link_mask |= 1u << i;
    return call->link_mask;
}

/* What can be done with it as it stands. */
static void add_actions(Call *call, MemberList *links, const Cell *row, uint32_t mask)
{
    enum { GOES_ON = 1u << RUN_QUEUED | 1u << RUN_DISPATCHED | 1u << RUN_RUNNING | 1u << RUN_WAITING_SIGNAL };
    static const struct { const char *name; uint32_t may, states; } actions[] = {
        { "pause", MAY_PAUSE, GOES_ON },
        { "resume", MAY_RESUME, 1u << RUN_PAUSED },
        { "cancel", MAY_CANCEL, ~0u },
        { "placement", MAY_REBIND, ~0u },
        { "resolve", MAY_RESOLVE, 1u << RUN_FAILED },
        { "retry-from", MAY_RETRY, 1u << RUN_FAILED },
        { "compensate", MAY_COMPENSATE, GOES_ON | 1u << RUN_PAUSED | 1u << RUN_FAILED },
        { "retry-compensation", MAY_COMPENSATE, 1u << RUN_COMPENSATION_FAILED },
        { "skip-compensation", MAY_COMPENSATE, 1u << RUN_COMPENSATION_FAILED },
    };
    Str id = row[RUNS_id].text;
    RunState state = row_state(row);
    if (row_is_over(row)) return;
    bool is_awaiting = row[RUNS_awaiting_trigger_key].kind == CELL_TEXT;
    PlanFact fact = is_awaiting ? awaited(call, row) : (PlanFact){ .is_plain = true };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (mask >> actions[i].may & actions[i].states >> state & 1u && (actions[i].may != MAY_RESUME || fact.is_plain))
            add_member(links, actions[i].name, api_link(call, "/api/executions/%.*s/%s", STR_ARG(id), actions[i].name));
    if (!is_awaiting) return;
    if (mask >> MAY_APPROVE & 1u) add_member(links, "approvals", api_link(call, "/api/executions/%.*s/approvals", STR_ARG(id)));
    if (mask >> MAY_TRIGGER & 1u)
        add_member(links, "trigger", api_link(call, "/maestro/trigger/%.*s/%.*s", STR_ARG(id),
                                              STR_ARG(api_escape(call, row[RUNS_awaiting_trigger_key].text))));
    if (mask >> MAY_HAVE_TOKEN & 1u && fact.takes_token)
        add_member(links, "trigger-token", api_link(call, "/api/executions/%.*s/trigger-token", STR_ARG(id)));
}

static void add_links(Call *call, MemberList *links, const Cell *row)
{
    static const struct { const char *name; uint32_t may; } looks[] = {
        { "steps", MAY_READ },    { "events", MAY_HEAR },     { "logs", MAY_READ },  { "graph", MAY_READ },
        { "verdicts", MAY_HEAR }, { "projection", MAY_READ }, { "trace", MAY_READ }, { "provenance", MAY_READ },
        { "replay", MAY_READ },
    };
    Str id = row[RUNS_id].text, tenant = row[RUNS_tenant].text, workflow = row[RUNS_definition_key].text;
    uint32_t mask = link_mask(call, tenant);
    add_member(links, "self", api_link(call, "/api/executions/%.*s", STR_ARG(id)));
    if (mask >> MAY_READ_WORKFLOW & 1u) {
        add_member(links, "workflow", api_link(call, "/api/workflows/%.*s/%.*s", STR_ARG(tenant), STR_ARG(workflow)));
        add_member(links, "revision", api_link(call, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(tenant), STR_ARG(workflow),
                                                row[RUNS_definition_version].integer));
    }
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (mask >> looks[i].may & 1u) add_member(links, looks[i].name, api_link(call, "/api/executions/%.*s/%s", STR_ARG(id), looks[i].name));
    add_actions(call, links, row, mask);
}

/* `at` is position, offset and size, as rows have them. */
static Value payload_of(Call *call, const Cell *at, PayloadRoom *room)
{
    Arena *arena = &call->arena;
    MemberList members = { .arena = arena };
    Value value;
    Error err;
    if (at[0].kind != CELL_INT) return value_null();
    size_t size = at[2].kind == CELL_INT && at[2].integer > 0 ? (size_t)at[2].integer : 0;
    if (size > room->one_max || size > room->size_max - room->size) {
        add_member(&members, "omitted", value_bool(true));
        add_member(&members, "bytes", value_int((int64_t)size));
        return member_list_object(&members);
    }
    room->size += size;
    Status status = payload_read(arena, call->api->store, at, &value, &err);
    if (!status) return value;
    if (status == ERR_NOT_FOUND) add_member(&members, "erased", value_bool(true));
    else add_member(&members, "error", value_string(STR("it cannot be read now")));
    return member_list_object(&members);
}

/* Two attempts of it can be compared: of this step run, or of this one and the one that a decision has put in its place. */
static bool has_pair(const Cell *row)
{
    return row[STEP_RUNS_attempt].integer > 1 || (row[STEP_RUNS_attempt].integer && row[STEP_RUNS_superseded_by_id].kind == CELL_TEXT);
}

/* The first of its steps, how many there are, and where the others are: an answer does not grow with the run. */
static void add_steps(Call *call, const Cell *row, MemberList *members, MemberList *links)
{
    PayloadRoom room = { .one_max = SIZE_MAX, .size_max = API_PAGE_SIZE };
    StepRows steps = { 0 };
    ValueList list = { .arena = &call->arena };
    Error err;
    uint64_t count = 0;
    QueryAsk ask = { .query = QUERY_STEP_RUNS, .params = { row[RUNS_run_no], cell_int(0) }, .param_count = 2, .row_count_max = API_STEP_COUNT_MAX };
    bool is_here = row[RUNS_archived_to].kind != CELL_TEXT && !run_step_count(call->api->store, row, &count, &err)
                   && !row_select_all(&call->arena, call->api->store, &ask, &steps, &err);
    ExecutionName execution = document_execution_name(call, row);
    for (size_t i = 0; i < steps.count; i++) value_list_add(&list, document_step(call, steps.rows[i], &execution, &room));
    bool has_pairs = false;
    for (size_t i = 0; i < steps.count && !has_pairs; i++) has_pairs = has_pair(steps.rows[i]);
    if (has_pairs) add_member(links, "diff", api_link(call, "/api/executions/%.*s/diff", STR_ARG(execution.id)));
    add_member(members, "steps", is_here ? value_list_array(&list) : value_null());
    add_member(members, "stepCount", is_here ? value_int((int64_t)count) : value_null());
    if (!is_here || steps.count >= count) return;
    Str path = arena_format(&call->arena, "/api/executions/%.*s/steps", STR_ARG(execution.id));
    Str cursor = page_cursor(call, path, &(PagePlace){ .number = steps.rows[steps.count - 1][STEP_RUNS_step_index].integer });
    add_member(members, "nextCursor", value_string(cursor));
    add_member(links, "next", api_link(call, "%.*s?cursor=%.*s&limit=%u", STR_ARG(path), STR_ARG(cursor), API_PAGE_COUNT_MAX));
}

static Value failure_message(const Cell *row, const char *status)
{
    if (!str_is_text(STR("FAILED"), status)) return value_null();
    if (row[RUNS_error_message].kind == CELL_TEXT) return cell_value(&row[RUNS_error_message]);
    return row[RUNS_error_cause].kind == CELL_TEXT ? cell_value(&row[RUNS_error_cause]) : value_string(STR("failed"));
}

static Value execution(Call *call, const Cell *row, bool has_steps, PayloadRoom *room)
{
    Arena *arena = &call->arena;
    MemberList members = { .arena = arena }, links = { .arena = arena };
    const char *status = run_status(row_state(row), row_resolution(row), row[RUNS_cancel_requested].integer != 0);
    bool is_here = row[RUNS_archived_to].kind != CELL_TEXT;
    Value start = is_here ? payload_of(call, &row[RUNS_params_at], room) : value_null();
    const Value *params = value_get_text(start, "params"), *payload = value_get_text(start, "payload");
    add_member(&members, "executionId", cell_value(&row[RUNS_id]));
    add_member(&members, "revisionId", revision_id(call, row[RUNS_tenant].text, row[RUNS_definition_key].text,
                                                   row[RUNS_definition_version].integer));
    add_member(&members, "inputParameters", params ? *params : start);
    if (payload && payload->kind != VALUE_NULL) add_member(&members, "triggerPayload", *payload);
    add_member(&members, "status", value_string(str_of(status)));
    add_member(&members, "state", value_string(str_of(run_state_name(row_state(row)))));
    add_member(&members, "resolution", cell_value(&row[RUNS_resolution]));
    add_member(&members, "errorMessage", failure_message(row, status));
    add_member(&members, "errorClass", cell_value(&row[RUNS_error_class]));
    add_member(&members, "errorCause", cell_value(&row[RUNS_error_cause]));
    add_member(&members, "failedStep", cell_value(&row[RUNS_failed_step_key]));
    add_member(&members, "autoRetryAt", cell_value(&row[RUNS_auto_retry_at]));
    add_member(&members, "awaitingTrigger", cell_value(&row[RUNS_awaiting_trigger_key]));
    add_member(&members, "triggerTimeoutAt", cell_value(&row[RUNS_trigger_timeout_at]));
    add_member(&members, "scheduledResumeAt", cell_value(&row[RUNS_scheduled_resume_at]));
    add_member(&members, "idempotencyKey", cell_value(&row[RUNS_idempotency_key]));
    add_member(&members, "source", cell_value(&row[RUNS_source]));
    add_member(&members, "startedAt", cell_time(arena, &row[RUNS_started_ms]));
    add_member(&members, "completedAt", cell_time(arena, &row[RUNS_completed_ms]));
    add_member(&members, "lastUpdatedAt", cell_time(arena, &row[RUNS_updated_ms]));
    add_member(&members, "eventCount", cell_value(&row[RUNS_event_count]));
    add_member(&members, "archivedTo", cell_value(&row[RUNS_archived_to]));
    add_links(call, &links, row);
    if (has_steps) add_steps(call, row, &members, &links);
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

Value document_execution(Call *call, const Cell *row, PayloadRoom *room) { return execution(call, row, /* has_steps= */ false, room); }

/* Whoever sends a start trigger may start, and not read: it is told what it has started, and how that is. */
static Value hooked(Call *call, const Cell *row)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "executionId", cell_value(&row[RUNS_id]));
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(call->is_repeat));
    add_member(&members, "status", value_string(str_of(run_status(row_state(row), row_resolution(row), row[RUNS_cancel_requested].integer != 0))));
    return member_list_object(&members);
}

/* Whoever may start or steer an execution, and not read it, learns which one it is, how it is, and what else it may do with it. */
static Value brief(Call *call, const Cell *row)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    add_member(&members, "executionId", cell_value(&row[RUNS_id]));
    add_member(&members, "status", value_string(str_of(run_status(row_state(row), row_resolution(row), row[RUNS_cancel_requested].integer != 0))));
    add_links(call, &links, row);
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

Value document_execution_whole(Call *call, const Cell *row)
{
    if (call->route->access == ROUTE_TRIGGER) return hooked(call, row);
    if (!api_shows(call, "execution.read", row[RUNS_tenant].text)) return brief(call, row);
    return execution(call, row, /* has_steps= */ true, &(PayloadRoom){ .one_max = SIZE_MAX, .size_max = SIZE_MAX });
}

void document_answer_execution(Call *call, unsigned status, Str execution_id)
{
    const Cell *row = NULL;
    Error err;
    if (run_row(&call->arena, call->api->store, execution_id, &row, &err)) call_error(call, &err);
    else if (!row) call_problem(call, PROBLEM_EXECUTION_NOT_FOUND, "there is no execution '%.*s'", STR_ARG(execution_id));
    else call_value(call, status, document_execution_whole(call, row));
}

/* --- steps -------------------------------------------------------------------------------------------------------------------------- */

static Value error_details(Call *call, const Cell *row)
{
    MemberList details = { .arena = &call->arena };
    if (row[STEP_RUNS_error_cause].kind != CELL_TEXT && row[STEP_RUNS_error_message].kind != CELL_TEXT) return value_null();
    add_member(&details, "class", cell_value(&row[STEP_RUNS_error_class]));
    add_member(&details, "cause", cell_value(&row[STEP_RUNS_error_cause]));
    add_member(&details, "details", payload_or_null(&call->arena, call->api->store, &row[STEP_RUNS_details_at]));
    return member_list_object(&details);
}

ExecutionName document_execution_name(Call *call, const Cell *run)
{
    Str id = run[RUNS_id].text;
    return (ExecutionName){ id, api_link(call, "/api/executions/%.*s", STR_ARG(id)) };
}

static Value step_links(Call *call, const Cell *row, const ExecutionName *execution)
{
    MemberList links = { .arena = &call->arena };
    Str step = api_escape(call, row[STEP_RUNS_step_key].text);
    if (row[STEP_RUNS_output_at].kind == CELL_INT)
        add_member(&links, "artifact", api_link(call, "/api/executions/%.*s/artifacts/%.*s", STR_ARG(execution->id), STR_ARG(step)));
    if (has_pair(row))
        add_member(&links, "diff", api_link(call, "/api/executions/%.*s/diff?step=%.*s", STR_ARG(execution->id), STR_ARG(step)));
    add_member(&links, "execution", execution->link);
    return member_list_object(&links);
}

/* The members in the order of their names: an object of many is then not sorted, and an execution has many steps. */
Value document_step(Call *call, const Cell *row, const ExecutionName *execution, PayloadRoom *room)
{
    Arena *arena = &call->arena;
    MemberList members = { .arena = arena };
    StepState state = step_row_state(row);
    bool has_begun = row[STEP_RUNS_started_ms].kind == CELL_INT, has_output = row[STEP_RUNS_output_at].kind == CELL_INT;
    const char *status = step_status(state, has_begun, has_output);
    /* A step that was superseded keeps the result it had. */
    Value shown = row[STEP_RUNS_result].kind == CELL_TEXT ? cell_value(&row[STEP_RUNS_result]) : value_string(str_of(status));
    add_member(&members, "_links", step_links(call, row, execution));
    add_member(&members, "attempts", cell_value(&row[STEP_RUNS_attempt]));
    add_member(&members, "completedAt", cell_time(arena, &row[STEP_RUNS_finished_ms]));
    add_member(&members, "errorDetails", error_details(call, row));
    add_member(&members, "errorMessage", cell_value(&row[STEP_RUNS_error_message]));
    add_member(&members, "executionId", value_string(execution->id));
    add_member(&members, "executor", cell_value(&row[STEP_RUNS_executor]));
    add_member(&members, "inputData", payload_of(call, &row[STEP_RUNS_input_at], room));
    add_member(&members, "outputData", payload_of(call, &row[STEP_RUNS_output_at], room));
    add_member(&members, "resultId", cell_value(&row[STEP_RUNS_id]));
    add_member(&members, "skipReason", cell_value(&row[STEP_RUNS_skip_reason]));
    add_member(&members, "startedAt", cell_time(arena, &row[STEP_RUNS_started_ms]));
    add_member(&members, "state", value_string(str_of(step_state_name(state))));
    add_member(&members, "status", shown);
    add_member(&members, "stepId", cell_value(&row[STEP_RUNS_step_key]));
    add_member(&members, "stepIndex", cell_value(&row[STEP_RUNS_step_index]));
    add_member(&members, "stepType", cell_value(&row[STEP_RUNS_step_type]));
    add_member(&members, "supersededBy", cell_value(&row[STEP_RUNS_superseded_by_id]));
    add_member(&members, "waitingFor", cell_value(&row[STEP_RUNS_waiting_for]));
    return member_list_object(&members);
}

/* --- revisions ------------------------------------------------------------------------------------------------------------------------ */

Str document_etag(Call *call, const Cell *row)
{
    return arena_format(&call->arena, "\"%" PRId64 "-%" PRId64 "-%" PRId64 "\"", row[REVISIONS_version].integer,
                        row[REVISIONS_active].integer, row[REVISIONS_updated_ms].integer);
}

static Value json_cell(Call *call, const Cell *cell)
{
    Value value;
    Error err;
    return cell->kind == CELL_TEXT && !json_parse(&call->arena, cell->text, &value, &err) ? value : value_null();
}

Value document_revision_links(Call *call, const Cell *row)
{
    MemberList links = { .arena = &call->arena };
    Str tenant = row[REVISIONS_tenant].text, workflow = row[REVISIONS_workflow_id].text;
    Str self = arena_format(&call->arena, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(tenant), STR_ARG(workflow),
                            row[REVISIONS_version].integer);
    bool is_active = row[REVISIONS_active].integer != 0;
    add_member(&links, "self", api_link(call, "%.*s", STR_ARG(self)));
    if (api_shows(call, "workflow.read", tenant))
        add_member(&links, "workflow", api_link(call, "/api/workflows/%.*s/%.*s", STR_ARG(tenant), STR_ARG(workflow)));
    if (api_shows(call, "execution.read", tenant))
        add_member(&links, "executions", api_link(call, "/api/executions?namespace=%.*s&workflowId=%.*s&version=%" PRId64, STR_ARG(tenant),
                                                  STR_ARG(workflow), row[REVISIONS_version].integer));
    const char *flag = is_active ? "deactivate" : "activate";
    if (api_shows(call, "workflow.validate", tenant)) add_member(&links, "dry-run", api_link(call, "%.*s/dry-run", STR_ARG(self)));
    if (is_active && api_shows(call, "execution.start", tenant)) add_member(&links, "start", api_link(call, "/api/executions"));
    if (is_active && api_shows(call, "trigger.token", tenant))
        add_member(&links, "trigger-token", api_link(call, "/api/workflows/%.*s/%.*s/trigger-token", STR_ARG(tenant), STR_ARG(workflow)));
    if (!is_active && api_shows(call, "workflow.delete", tenant)) add_member(&links, "delete", api_link(call, "%.*s", STR_ARG(self)));
    if (api_shows(call, is_active ? "workflow.deactivate" : "workflow.activate", tenant))
        add_member(&links, flag, api_link(call, "%.*s/%s", STR_ARG(self), flag));
    return member_list_object(&links);
}

Value document_revision(Call *call, const Cell *row, Value links, bool is_whole, const RevisionCompared *compared)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "revisionId", revision_id(call, row[REVISIONS_tenant].text, row[REVISIONS_workflow_id].text,
                                                   row[REVISIONS_version].integer));
    add_member(&members, "label", cell_value(&row[REVISIONS_label]));
    add_member(&members, "name", cell_value(&row[REVISIONS_name]));
    add_member(&members, "description", cell_value(&row[REVISIONS_description]));
    add_member(&members, "parameters", json_cell(call, &row[REVISIONS_parameters]));
    if (is_whole) add_member(&members, "steps", json_cell(call, &row[REVISIONS_steps]));
    if (is_whole) add_member(&members, "definition", cell_value(&row[REVISIONS_text]));
    add_member(&members, "active", value_bool(row[REVISIONS_active].integer != 0));
    add_member(&members, "createdAt", cell_time(&call->arena, &row[REVISIONS_created_ms]));
    add_member(&members, "updatedAt", cell_time(&call->arena, &row[REVISIONS_updated_ms]));
    if (compared) add_member(&members, "comparedWith", compared->with);
    if (compared) add_member(&members, "incompatibilities", compared->breaks);
    add_member(&members, "_links", links);
    return member_list_object(&members);
}

/* --- events ------------------------------------------------------------------------------------------------------------------------- */

Str document_named_tenant(Arena *arena, const Cell *cells)
{
    Record record;
    Error err;
    if (cells[LEDGER_record].kind != CELL_BLOB || record_decode_any(arena, cells[LEDGER_record].text, &record, &err)) return (Str){ 0 };
    for (uint32_t i = 0; i < record.event_count; i++)
        if (record.events[i].tenant.len) return record.events[i].tenant;
    return (Str){ 0 };
}

Value document_event(Arena *arena, const Record *record, uint32_t index)
{
    Value event = event_to_value(arena, &record->events[index], record->head.first_event + index);
    MemberList members = { .arena = arena };
    Cell time = cell_int(record->head.now_ms);
    for (uint32_t i = 0; i < event.count; i++) member_list_add(&members, value_text(event.members[i].key), event.members[i].value);
    add_member(&members, "executionId", record->head.run_id.len ? value_string(arena_copy(arena, record->head.run_id)) : value_null());
    add_member(&members, "time", cell_time(arena, &time));
    add_member(&members, "actor", value_string(arena_copy(arena, record->head.actor)));
    if (record->head.rationale.len) add_member(&members, "rationale", value_string(arena_copy(arena, record->head.rationale)));
    if (record->head.trace.len) add_member(&members, "trace", value_string(arena_copy(arena, record->head.trace)));
    if (record->head.tracestate.len) add_member(&members, "tracestate", value_string(arena_copy(arena, record->head.tracestate)));
    return member_list_object(&members);
}

/* --- log lines ---------------------------------------------------------------------------------------------------------------------- */

static bool take_key(void *context, const Cell *cells, uint32_t count)
{
    LineNames *names = context;
    (void)count;
    if (cells[STEP_RUNS_step_index].integer != names->index) return false;
    Str key = cells[STEP_RUNS_step_key].text;
    names->size = key.len < sizeof names->key ? key.len : sizeof names->key;
    memcpy(names->key, key.ptr, names->size);
    return false;
}

/* The step run that a line is of; one line follows another of the same. */
static Value key_of_line(Arena *arena, Store *store, LineNames *names, const Cell *row)
{
    Error err;
    if (row[LOGS_step_index].kind != CELL_INT) return value_null();
    if (!names->size || names->index != row[LOGS_step_index].integer) {
        names->index = row[LOGS_step_index].integer;
        names->size = 0;
        QueryAsk ask = { .query = QUERY_STEP_RUNS, .param_count = 2, .row_count_max = 1, .params = { row[LOGS_run_no], row[LOGS_step_index] } };
        if (store_select(store, &ask, take_key, names, &err)) return value_null();
    }
    return names->size ? value_string(arena_copy(arena, (Str){ names->key, names->size })) : value_null();
}

Value document_line(Arena *arena, Store *store, LineNames *names, const Cell *row)
{
    MemberList members = { .arena = arena };
    add_member(&members, "line", cell_value(&row[LOGS_line_no]));
    add_member(&members, "step", key_of_line(arena, store, names, row));
    add_member(&members, "stepIndex", cell_value(&row[LOGS_step_index]));
    add_member(&members, "attempt", cell_value(&row[LOGS_attempt]));
    add_member(&members, "time", cell_time(arena, &row[LOGS_time_ms]));
    add_member(&members, "stream", cell_value(&row[LOGS_stream]));
    add_member(&members, "text", cell_value(&row[LOGS_text]));
    return member_list_object(&members);
}
