/* hook_routes.c - start triggers: POST /maestro/hooks/{tenant}/{workflow}/{trigger}.
 *
 * The active revision of the workflow says which there are (start_trigger.h). A signed request that comes again starts nothing: its
 * signature is the id of the start, or its Idempotency-Key, which one that is signed anew has too.
 */
#include "api/aside.h"
#include "api/debounce.h"
#include "api/follow.h"
#include "api/routes.h"
#include "api/start_trigger.h"
#include "base/limits.h"
#include "view/revision_row.h"
#include "view/tables.h"

static Status find_triggers(Call *call, const Cell **out_revision, Value *out_triggers, Error *err)
{
    Status status = revision_triggers(&call->arena, call->api->store, call->segments[0], call->segments[1], out_revision, out_triggers, err);
    if (status || *out_revision) return status;
    return error_set(err, ERR_NOT_FOUND, "there is no such workflow, or none of it is active");
}

/* The query was read before: what is sent wrongly starts nothing. */
static void hooked(Call *call, const BridgeAnswer *answer)
{
    MemberList members = { .arena = &call->arena };
    Str id = arena_copy(&call->arena, id_peek(&answer->run_id));
    int64_t wait_ms;
    call->is_repeat = answer->is_repeat || answer->is_noop || answer->was_asked;
    if (!follow_read(call, &wait_ms)) return;
    if (wait_ms) {
        follow(call, answer->run_no, id, 202, wait_ms);
        return;
    }
    add_member(&members, "executionId", value_string(id));
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(call->is_repeat));
    call_value(call, 202, member_list_object(&members));
}

/* A push that nobody waits for is no mistake of its sender. */
static void pass_over(Call *call, Str why)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "accepted", value_bool(false));
    add_member(&members, "reason", value_string(why));
    call_value(call, 202, member_list_object(&members));
}

typedef struct HookCall {
    const Cell *revision;           /* the active one */
    Value triggers;                 /* its */
    StartTrigger trigger;
    TriggerProof proof;
    Status status;
    Error err;
} HookCall;

static void prove(Call *call)
{
    HookCall *hook = call->state;
    TriggerRequest request = trigger_request(call);
    Status status = find_triggers(call, &hook->revision, &hook->triggers, &hook->err);
    if (!status) status = start_trigger_find(call, hook->triggers, call->segments[2], &hook->trigger, &hook->err);
    if (!status)
        status = start_trigger_prove(call, call->segments[0], call->segments[1], hook->triggers, &request, &hook->trigger, &hook->proof, &hook->err);
    trigger_end_proof(call, status, &request);
    hook->status = status;
}

/* What was found in the arena of a copy. */
static void keep(Call *call, HookCall *hook)
{
    Arena *arena = &call->arena;
    hook->revision = row_copy(arena, hook->revision, table_info(TABLE_REVISIONS)->column_count);
    hook->triggers = value_copy(arena, hook->triggers);
    hook->trigger.settings = value_copy(arena, hook->trigger.settings);
    hook->trigger.source = arena_copy(arena, hook->trigger.source);
    hook->proof = trigger_proof_copy(arena, &hook->proof);
}

static void begin(Call *call, const HookCall *hook, Value payload)
{
    Str tenant = call->segments[0], source = hook->trigger.source;
    const TriggerProof *proof = &hook->proof;
    int64_t span_ms = value_get_int(hook->trigger.settings, "debounce_ms", 0);
    call->caller.actor = proof->identity;
    if (span_ms > 0) {
        debounce_add(call, &(DebounceEvent){ .tenant = tenant, .workflow = call->segments[1], .source = source, .span_ms = span_ms,
                                             .payload = buf_peek(&call->body), .id = proof->id, .alias = proof->alias });
        return;
    }
    StartWish wish = { .params = (Value){ .kind = VALUE_OBJECT }, .payload = payload, .id = proof->id, .alias = proof->alias, .done = hooked,
                       .source = source };
    start_execution(call, tenant, hook->revision, &wish);
}

static void proved(Call *call, Call *copy)
{
    HookCall *hook = call->state;
    Str tenant = call->segments[0], workflow = call->segments[1], why;
    Value payload = value_null();
    Status status = hook->status;
    Error *err = &hook->err;
    if (copy && !status) keep(call, hook);
    if (!status) status = start_trigger_admit(call, tenant, workflow, &hook->trigger, &hook->proof, err);
    if (status) {
        trigger_refuse(call, tenant, err);
        return;
    }
    /* A key proves who its bearer is, and not that it may. */
    if (call->caller.key.len && str_is(hook->proof.identity, call->caller.actor) && !api_may(call, tenant, PROBLEM_NOT_FOUND)) return;
    if (!call_let_in(call, tenant, hook->proof.identity)) return;
    if (call->body.len && call_parse(call, &payload, err)) call_refuse_json(call, err);
    else if (hook->trigger.is_push && !start_trigger_fits(call, hook->triggers, payload, &hook->trigger, &why)) pass_over(call, why);
    else if (trigger_settle_id(call, tenant, &hook->proof.id, &hook->proof.alias, err)) call_error(call, err);
    else begin(call, hook, payload);
}

void route_hook(Call *call)
{
    int64_t wait_ms;
    HookCall *hook = ARENA_NEW(&call->arena, HookCall);
    if (!follow_read(call, &wait_ms) || !trigger_is_seen(call, call->segments[0])) return;
    *hook = (HookCall){ .revision = NULL };
    call->state = hook;
    if (call->body.len > API_HERE_SIZE_MAX) {
        aside_begin(call, prove, proved);
    } else {
        prove(call);
        proved(call, NULL);
    }
}
