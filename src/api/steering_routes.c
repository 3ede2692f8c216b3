/* steering_routes.c - what can be asked of an execution that is there: one petition each. */
#include <string.h>

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

/* A word that is one of several; false after answering. The documents write FULL, and full is the same. */
static bool is_word(Call *call, Value body, const char *name, const char *const *words)
{
    Str given = value_get_string(body, name, STR(""));
    if (!value_get_text(body, name)) return true;
    char storage[256];
    Buf known = buf_on(storage, sizeof storage);
    for (size_t i = 0; words[i]; i++) {
        if (str_is_text(given, words[i])) return true;
        buf_format(&known, "%s%s", i ? ", " : "", words[i]);
    }
    ProblemField field = { .pointer = arena_format(&call->arena, "/%s", name),
                           .detail = arena_format(&call->arena, "is one of %.*s", STR_ARG(buf_peek(&known))) };
    call_problem_fields(call, PROBLEM_INVALID, arena_format(&call->arena, "'%s' %.*s", name, STR_ARG(field.detail)), &field, 1);
    return false;
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
    return check_members(call, *out_body, known, count);
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
    if (value_text(*job).len) {
        add_member(members, "job", *job);
        return true;
    }
    ProblemField field = { .pointer = STR("/job"), .detail = STR("names a job") };
    call_problem_fields(call, PROBLEM_INVALID, STR("'job' names a job of the execution, or is left out"), &field, 1);
    return false;
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

static const char *const decision_words[] = { "RETRY", "RETRY_FROM_STEP", "COMPENSATE", "CANCEL", "MARK_RESOLVED", "retry",
                                              "retry_from_step", "compensate", "cancel", "mark_resolved", NULL };
static const char *const scope_words[] = { "FULL", "PARTIAL", "FROM_STEP", "full", "partial", "from_step", NULL };
static const char *const mode_words[] = { "RETRY_ONLY", "COMPENSATE_THEN_RETRY", "retry_only", "compensate_then_retry", NULL };
static const char *const effect_words[] = { "hold", "compensate", "leave", NULL };

/* What decisions have in common; false after answering. */
static bool add_terms(Call *call, Value body, MemberList *members)
{
    if (!is_word(call, body, "decision", decision_words) || !is_word(call, body, "scope", scope_words)
        || !is_word(call, body, "mode", mode_words) || !is_word(call, body, "unknownEffects", effect_words))
        return false;
    const Value *steps = value_get_text(body, "steps");
    add_reason(members, body);
    copy_text(members, body, "decision", "decision");
    copy_text(members, body, "scope", "scope");
    copy_text(members, body, "mode", "mode");
    copy_text(members, body, "unknownEffects", "unknown");
    copy_text(members, body, "step", "name");
    copy_text(members, body, "includeStep", "includes");
    copy_text(members, body, "parameters", "payload");
    if (steps) add_member(members, "payload", *steps);
    if (steps && !value_get_text(body, "scope")) add_member(members, "scope", value_string(STR("PARTIAL")));
    return true;
}

#define REASON_MEMBER { "reason", VALUE_STRING, false }
#define TERM_MEMBERS \
    REASON_MEMBER, { "scope", VALUE_STRING, false }, { "mode", VALUE_STRING, false }, { "step", VALUE_STRING, false }, \
    { "includeStep", VALUE_BOOL, false }, { "steps", VALUE_ARRAY, false }, { "unknownEffects", VALUE_STRING, false }, \
    { "parameters", VALUE_OBJECT, false }

void route_execution_resolve(Call *call)
{
    static const BodyMember known[] = { { "decision", VALUE_STRING, true }, TERM_MEMBERS };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body) || !add_terms(call, body, &members)) return;
    petition_about(call, row, &members, "resolve", steered);
}

void route_execution_retry_from(Call *call)
{
    static const BodyMember known[] = { REASON_MEMBER, { "step", VALUE_STRING, true }, { "mode", VALUE_STRING, false },
                                        { "includeStep", VALUE_BOOL, false }, { "parameters", VALUE_OBJECT, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body) || !add_terms(call, body, &members)) return;
    petition_about(call, row, &members, "retry-from", steered);
}

void route_execution_compensate(Call *call)
{
    static const BodyMember known[] = { REASON_MEMBER, { "scope", VALUE_STRING, false }, { "step", VALUE_STRING, false },
                                        { "steps", VALUE_ARRAY, false }, { "unknownEffects", VALUE_STRING, false } };
    const Cell *row;
    Value body;
    MemberList members = { .arena = &call->arena };
    if (!begin(call, known, sizeof known / sizeof *known, &row, &body) || !add_terms(call, body, &members)) return;
    petition_about(call, row, &members, "compensate", steered);
}

void route_execution_skip_compensation(Call *call)
{
    static const BodyMember known[] = { REASON_MEMBER, { "step", VALUE_STRING, false }, { "remaining", VALUE_BOOL, false } };
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
    ProblemField field = { .pointer = STR("/reason"), .detail = STR("is missing: who approves or denies says why, and it is recorded") };
    if (str_trim(value_get_string(body, "reason", STR(""))).len) return true;
    call_problem_fields(call, PROBLEM_INVALID, arena_format(&call->arena, "'reason' %.*s", STR_ARG(field.detail)), &field, 1);
    return false;
}

void route_execution_approve(Call *call)
{
    static const BodyMember known[] = { REASON_MEMBER, { "trigger", VALUE_STRING, false }, { "approved", VALUE_BOOL, true },
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
    /* As 'maestro approve' has it: without a payload an approval says that it is one. */
    MemberList said = { .arena = &call->arena };
    add_member(&said, "approved", value_bool(true));
    add_reason(&members, body);
    add_member(&members, "name", value_string(trigger));
    add_member(&members, "payload", payload ? *payload : member_list_object(&said));
    add_member(&members, "denial", value_bool(!value_get_bool(body, "approved", false)));
    petition_about(call, row, &members, "trigger", steered);
}

void route_execution_placement(Call *call)
{
    static const BodyMember known[] = { REASON_MEMBER, { "regions", VALUE_ARRAY, false },
                                        { "clouds", VALUE_ARRAY, false }, { "requires", VALUE_ARRAY, false } };
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
                                        { "denial", VALUE_BOOL, false }, REASON_MEMBER };
    static const char *const kinds[] = { "health", "anomaly", "milestone", "approval", "operator", NULL };
    const Cell *row;
    Value body;
    bool is_foreign;
    MemberList members = { .arena = &call->arena };
    if (!call_read_json(call, &body) || !check_members(call, body, known, sizeof known / sizeof *known)
        || !is_word(call, body, "kind", kinds))
        return;
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

/* --- many at once --------------------------------------------------------------------------------------------------------------------- */

typedef struct Bulk {
    Value body, ids;                /* what was asked */
    Str key;                        /* the id of the whole request; empty: it has none */
    Value asked;                    /* the words of the whole */
    uint32_t left;
    Value *results;                 /* in the order in which they were asked for */
} Bulk;
typedef struct BulkPart { Call *call; Bulk *bulk; uint32_t index; Str id; } BulkPart;

static void bulk_set(const BulkPart *part, const char *outcome, Value state, Value detail)
{
    MemberList result = { .arena = &part->call->arena };
    add_member(&result, "executionId", value_string(part->id));
    add_member(&result, "outcome", value_string(str_of(outcome)));
    add_member(&result, "state", state);
    add_member(&result, "detail", detail);
    part->bulk->results[part->index] = member_list_object(&result);
}

static void bulk_end(Call *call, Bulk *bulk)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "items", value_array(bulk->results, bulk->ids.count));
    call_value(call, 200, member_list_object(&members));
}

static void bulk_answer(void *context, const BridgeAnswer *answer)
{
    BulkPart *part = context;
    Call *call = part->call;
    if (!call->is_gone && !call->status) {
        if (answer->status)
            bulk_set(part, "refused", value_null(), value_string(arena_copy(&call->arena, call_public(call, str_of(answer->error.text)))));
        else
            bulk_set(part, answer->is_noop ? "unchanged" : "done", value_string(str_of(run_state_name(answer->state))), value_null());
        if (!--part->bulk->left) bulk_end(call, part->bulk);
    }
    call_release(call);
}

static void bulk_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered for %d s; the same request with the same Idempotency-Key gets "
                 "its answers, and does the rest", API_ANSWER_MS_MAX / 1000);
}

/* One petition about one of them; what it does not find is a result, too. */
static void bulk_ask(Call *call, Bulk *bulk, uint32_t index)
{
    Str id = value_text(bulk->ids.items[index]);
    Denial denial;
    MemberList members = { .arena = &call->arena };
    const Cell *row = NULL;
    Error err;
    Id read;
    BulkPart *part = ARENA_NEW(&call->arena, BulkPart);
    *part = (BulkPart){ call, bulk, index, id };
    if (id_read(id, &read) && run_row(&call->arena, call->api->store, id, &row, &err)) row = NULL;
    if (row && !api_sees(call, row[RUNS_tenant].text)) {
        call_refuse_part(call, 404, arena_format(&call->arena, "execution %.*s belongs to tenant '%.*s'", STR_ARG(id),
                                                 STR_ARG(row[RUNS_tenant].text)));
        row = NULL;
    }
    if (!row) {
        bulk_set(part, "not-found", value_null(), value_null());
        return;
    }
    if (!access_permits(call->api->access, call, call->route->verb, row[RUNS_tenant].text, &denial)) {
        call_refuse_part(call, 403, arena_format(&call->arena, "execution %.*s: %.*s", STR_ARG(id), STR_ARG(denial.why)));
        bulk_set(part, "denied", value_null(), value_string(denial.told));
        return;
    }
    if (!add_terms(call, bulk->body, &members)) return;
    add_member(&members, "verb", value_string(STR("resolve")));
    add_member(&members, "actor", value_string(call->caller.actor));
    add_member(&members, "run", value_string(id));
    add_member(&members, "tenant", cell_value(&row[RUNS_tenant]));
    api_add_trace(call, &members);
    if (bulk->key.len) {
        add_member(&members, "id", value_string(arena_format(&call->arena, "%.*s/%.*s", STR_ARG(bulk->key), STR_ARG(id))));
        add_member(&members, "asked", bulk->asked);
    }
    if (!bridge_ask(call->api->bridge, member_list_object(&members), bulk_answer, part)) {
        bulk_set(part, "unavailable", value_null(), value_null());
        return;
    }
    call->use_count++;
    bulk->left++;
}

/* The whole is known by its key: one after the other may be done. */
static void bulk_begin(Call *call, const BridgeAnswer *answer)
{
    Bulk *bulk = call->state;
    (void)answer;
    for (uint32_t i = 0; i < bulk->ids.count; i++) bulk_ask(call, bulk, i);
    if (bulk->left) call_wait(call, API_ANSWER_MS_MAX, bulk_late, NULL);
    else bulk_end(call, bulk);
}

/* A request of a key of every tenant may be about executions of several: as what names no namespace it is of 'default'. */
void route_decisions(Call *call)
{
    static const BodyMember known[] = { { "executionIds", VALUE_ARRAY, true }, { "decision", VALUE_STRING, true }, TERM_MEMBERS };
    Value body;
    MemberList unused = { .arena = &call->arena };
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND) || !call_read_json(call, &body)
        || !check_members(call, body, known, sizeof known / sizeof *known) || !add_terms(call, body, &unused))
        return;
    Value ids = *value_get_text(body, "executionIds");
    if (ids.count > API_BULK_COUNT_MAX) {
        call_problem(call, PROBLEM_INVALID, "one request decides on at most %u executions", API_BULK_COUNT_MAX);
        return;
    }
    for (uint32_t i = 0; i < ids.count; i++)
        if (ids.items[i].kind != VALUE_STRING) {
            call_problem(call, PROBLEM_INVALID, "'executionIds' are texts");
            return;
        }
    Bulk *bulk = ARENA_NEW(&call->arena, Bulk);
    *bulk = (Bulk){ .body = body, .ids = ids, .key = api_request_id(call), .asked = value_string(api_asked(call)),
                    .results = ARENA_ARRAY(&call->arena, Value, ids.count + 1u) };
    call->state = bulk;
    api_petition_whole(call, api_tenant(call, (Str){ 0 }), bulk_begin);
}
