/* steering_routes.c - what can be asked of an execution that is there: one petition each. */
#include <string.h>

#include "api/decision_terms.h"
#include "api/document.h"
#include "api/routes.h"
#include "base/limits.h"

/* The execution as it is after the commit. */
static void steered(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    document_answer_execution(call, 200, call->state ? *(Str *)call->state : call->segments[0]);
}

static void petition_about(Call *call, const Cell *row, MemberList *members, const char *verb, ApiDone done)
{
    add_member(members, "run", cell_value(&row[RUNS_id]));
    add_member(members, "tenant", cell_value(&row[RUNS_tenant]));
    api_petition(call, members, verb, done);
}

static void add_reason(MemberList *members, Value body)
{
    Str reason = value_get_string(body, "reason", STR(""));
    if (reason.len) add_member(members, "reason", value_string(reason));
}

static void copy_text(MemberList *members, Value body, const char *from, const char *to)
{
    const Value *value = value_get_text(body, from);
    if (value) add_member(members, to, *value);
}

/* The execution and the body, both looked at; false after answering. */
static bool begin(Call *call, const BodyMember *known, uint32_t count, const Cell **out_row, Value *out_body)
{
    if (!api_execution(call, out_row) || !call_read_json(call, out_body)) return false;
    return body_check(call, *out_body, known, count);
}

static void plain_order(Call *call, const char *verb)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, 1, &row, &body)) return;
    add_reason(&members, body);
    petition_about(call, row, &members, verb, steered);
}

void route_execution_retry_compensation(Call *call) { plain_order(call, "retry-compensation"); }

/* The job that is meant alone; false after answering: an empty name would mean the whole execution. */
static bool add_job(Call *call, Value body, MemberList *members)
{
    const Value *job = value_get_text(body, "job");
    if (!job) return true;
    if (!value_text(*job).len) return body_refuse(call, "job", "names a job of the execution, or is left out");
    add_member(members, "job", *job);
    return true;
}

static void job_order(Call *call, const char *verb)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false }, { "job", VALUE_STRING, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, 2, &row, &body) || !add_job(call, body, &members)) return;
    add_reason(&members, body);
    petition_about(call, row, &members, verb, steered);
}

void route_execution_pause(Call *call) { job_order(call, "pause"); }
void route_execution_resume(Call *call) { job_order(call, "resume"); }

void route_execution_cancel(Call *call)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false }, { "compensate", VALUE_BOOL, false }, { "job", VALUE_STRING, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, 3, &row, &body) || !add_job(call, body, &members)) return;
    add_reason(&members, body);
    if (value_get_text(body, "compensate"))
        add_member(&members, "undo", value_string(value_get_bool(body, "compensate", false) ? STR("compensate") : STR("leave")));
    petition_about(call, row, &members, "cancel", steered);
}

void route_execution_resolve(Call *call)
{
    static const BodyMember known[] = { DECISION_TERMS };
    const Cell *row;
    Value body;
    DecisionKind decision;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body) || !decision_read(call, body, &decision)
        || !decision_add_terms(call, body, decision, &members))
        return;
    copy_text(&members, body, "decision", "decision");
    petition_about(call, row, &members, "resolve", steered);
}

static void decided(Call *call, const BodyMember *known, uint32_t count, DecisionKind decision, const char *verb)
{
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (begin(call, known, count, &row, &body) && decision_add_terms(call, body, decision, &members))
        petition_about(call, row, &members, verb, steered);
}

void route_execution_retry_from(Call *call)
{
    static const BodyMember known[] = { DECISION_REASON, { "step", VALUE_STRING, true }, { "mode", VALUE_STRING, false },
                                        { "includeStep", VALUE_BOOL, false }, { "unknownEffects", VALUE_STRING, false },
                                        { "parameters", VALUE_OBJECT, false }, { "version", VALUE_INT, false } };
    decided(call, known, sizeof known / sizeof *known, DECISION_RETRY_FROM_STEP, "retry-from");
}

void route_execution_compensate(Call *call)
{
    static const BodyMember known[] = { DECISION_REASON, { "scope", VALUE_STRING, false }, { "step", VALUE_STRING, false }, DECISION_STEPS,
                                        { "unknownEffects", VALUE_STRING, false } };
    decided(call, known, sizeof known / sizeof *known, DECISION_COMPENSATE, "compensate");
}

void route_execution_skip_compensation(Call *call)
{
    static const BodyMember known[] = { DECISION_REASON, { "step", VALUE_STRING, false }, { "remaining", VALUE_BOOL, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body)) return;
    add_reason(&members, body);
    copy_text(&members, body, "step", "name");
    copy_text(&members, body, "remaining", "includes");
    petition_about(call, row, &members, "skip-compensation", steered);
}

/* Who answers a gate says why. False after answering. */
static bool has_reason(Call *call, Value body)
{
    if (str_trim(value_get_string(body, "reason", STR(""))).len) return true;
    return body_refuse(call, "reason", "is missing: who approves or denies says why, and it is recorded");
}

void route_execution_approve(Call *call)
{
    static const BodyMember known[] = { DECISION_REASON, { "trigger", VALUE_STRING, false }, { "approved", VALUE_BOOL, true },
                                        { "payload", VALUE_NULL, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body) || !has_reason(call, body)) return;
    Str trigger = value_get_string(body, "trigger", STR(""));
    const Value *payload = value_get_text(body, "payload");
    if (!trigger.len && row[RUNS_awaiting_trigger_key].kind == CELL_TEXT) trigger = row[RUNS_awaiting_trigger_key].text;
    if (!trigger.len && !api_is_repeat(call, row[RUNS_tenant].text)) {
        call_problem(call, PROBLEM_CONFLICT, "the execution is %s and awaits no trigger; 'trigger' names one that is still ahead",
                     run_state_name(row_state(row)));
        return;
    }
    /* As 'maestro approve' has it: without a payload an approval says that it is one, and a denial brings nothing. */
    bool is_approval = value_get_bool(body, "approved", false);
    MemberList said = { .arena = &call->arena };
    add_member(&said, "approved", value_bool(true));
    add_reason(&members, body);
    add_member(&members, "name", value_string(trigger));
    if (payload || is_approval) add_member(&members, "payload", payload ? *payload : member_list_object(&said));
    add_member(&members, "denial", value_bool(!is_approval));
    petition_about(call, row, &members, "trigger", steered);
}

#define PLACES(name) \
    { name, VALUE_ARRAY, false, .is_texts = true, .item_count_min = 1, .item_count_max = PLACEMENT_NAME_COUNT_MAX, \
      .item_limit = "PLACEMENT_NAME_COUNT_MAX", .item_size_max = NAME_SIZE_MAX }

void route_execution_placement(Call *call)
{
    static const BodyMember known[] = { DECISION_REASON, PLACES("regions"), PLACES("clouds"), PLACES("requires") };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena }, bound = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body)) return;
    for (size_t i = 1; i < sizeof known / sizeof *known; i++) copy_text(&bound, body, known[i].name, known[i].name);
    add_reason(&members, body);
    add_member(&members, "payload", member_list_object(&bound));
    petition_about(call, row, &members, "rebind", steered);
}

/* --- signals ------------------------------------------------------------------------------------------------------------------------- */

/* Whether `tenants` of the configuration lets a signal of that name in, from one tenant to the runs of another. */
static bool is_bridged(const Call *call, Str from, Str to, Str name)
{
    const Catalog *catalog = call->api->catalog;
    const Value *tenant = catalog && catalog->tenants.kind == VALUE_OBJECT ? value_get(catalog->tenants, to) : NULL;
    const Value *bridges = tenant ? value_get_text(*tenant, "bridges") : NULL;
    for (uint32_t i = 0; bridges && i < bridges->count; i++) {
        const Value *signals = value_get_text(bridges->items[i], "signals");
        if (!signals || !str_is(value_get_string(bridges->items[i], "from", STR("")), from)) continue;
        for (uint32_t j = 0; j < signals->count; j++) {
            Str known = value_text(signals->items[j]);
            bool is_open = known.len && known.ptr[known.len - 1] == '*';
            if (is_open ? str_starts(name, str_slice(known, 0, known.len - 1)) : str_is(name, known)) return true;
        }
    }
    return false;
}

/* The run that is meant: one of the caller's, or one of another tenant with a bridge for it. Any other is not found. */
static bool signal_target(Call *call, Str name, const Cell **out_row, bool *out_is_bridged)
{
    Error err;
    Id id;
    const Cell *row = NULL;
    *out_is_bridged = id_read(call->segments[0], &id) && run_row(&call->arena, call->api->store, call->segments[0], &row, &err) == OK && row
                   && !api_sees(call, row[RUNS_tenant].text) && is_bridged(call, call->caller.tenant, row[RUNS_tenant].text, name);
    if (!*out_is_bridged) return api_execution(call, out_row);
    *out_row = row;
    call->is_bridged = true;
    return api_may(call, call->caller.tenant, PROBLEM_EXECUTION_NOT_FOUND);
}

/* What became of the run is not the sender's to see. */
static void bridged(Call *call, const BridgeAnswer *answer)
{
    MemberList members = { .arena = &call->arena };
    (void)answer;
    add_member(&members, "executionId", value_string(call->segments[0]));
    add_member(&members, "bridged", value_bool(true));
    call_value(call, 200, member_list_object(&members));
}

void route_signals(Call *call)
{
    static const BodyMember known[] = { { "executionId", VALUE_STRING, true }, { "name", VALUE_STRING, true },
                                        { "kind", VALUE_STRING, false }, { "payload", VALUE_NULL, false },
                                        { "denial", VALUE_BOOL, false }, DECISION_REASON };
    static const char *const kinds[] = { "health", "anomaly", "milestone", "approval", "operator", NULL };
    const Cell *row;
    Value body;
    bool is_foreign;
    MemberList members = { .arena = &call->arena };
    BodyFindings found = { .call = call };
    if (!call_read_json(call, &body) || !body_check(call, body, known, sizeof known / sizeof *known)) return;
    body_find_word(&found, body, "kind", kinds);
    if (!body_is_right(&found)) return;
    bool is_answer = value_get_bool(body, "denial", false) || str_is_text(value_get_string(body, "kind", STR("")), "approval");
    if (is_answer && !has_reason(call, body)) return;
    call->segments[0] = value_get_string(body, "executionId", STR(""));
    if (!signal_target(call, value_get_string(body, "name", STR("")), &row, &is_foreign)) return;
    add_reason(&members, body);
    copy_text(&members, body, "name", "name");
    copy_text(&members, body, "kind", "kind");
    copy_text(&members, body, "payload", "payload");
    copy_text(&members, body, "denial", "denial");
    if (is_foreign) add_member(&members, "bridge", value_string(call->caller.tenant));
    petition_about(call, row, &members, "signal", is_foreign ? bridged : steered);
}
