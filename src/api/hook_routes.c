/* hook_routes.c - start triggers: POST /maestro/hooks/{tenant}/{workflow}/{trigger}.
 *
 * The active revision of the workflow says which there are (start_trigger.h). A signed request that comes again starts nothing: its
 * signature is the id of the start, or its Idempotency-Key, which one that is signed anew has too.
 */
#include "api/body.h"
#include "api/debounce.h"
#include "api/follow.h"
#include "api/routes.h"
#include "api/start_trigger.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/revision_row.h"

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

/* Who sent it was let in. */
typedef struct Hooking { const Cell *revision; Value triggers; StartTrigger trigger; TriggerProof proof; } Hooking;

static void start(Call *call, Call *copy)
{
    Hooking *hook = call->state;
    StartTrigger *trigger = &hook->trigger;
    const TriggerProof *proof = &hook->proof;
    Str tenant = call->segments[0], why;
    Value payload = value_null();
    Error err;
    (void)copy;
    if (call->body.len && call_parse(call, &payload, &err)) {
        call_refuse_json(call, &err);
        return;
    }
    if (trigger->is_push && !start_trigger_fits(call, hook->triggers, payload, trigger, &why)) {
        pass_over(call, why);
        return;
    }
    call->caller.actor = proof->identity;
    int64_t span_ms = value_get_int(trigger->settings, "debounce_ms", 0);
    if (span_ms > 0) {
        debounce_add(call, &(DebounceEvent){ .tenant = tenant, .workflow = call->segments[1], .source = trigger->source,
                                             .span_ms = span_ms, .payload = buf_peek(&call->body), .id = proof->id, .alias = proof->alias });
        return;
    }
    StartWish wish = { .params = (Value){ .kind = VALUE_OBJECT }, .payload = payload, .id = proof->id, .alias = proof->alias, .done = hooked,
                       .source = trigger->source };
    start_execution(call, tenant, hook->revision, &wish);
}

static void enter(Call *call, Call *copy)
{
    Str tenant = call->segments[0], workflow = call->segments[1];
    Hooking *hook = ARENA_NEW(&call->arena, Hooking);
    TriggerProof *proof = &hook->proof;
    Error err = { 0 };
    (void)copy;
    Status status = find_triggers(call, &hook->revision, &hook->triggers, &err);
    if (!status) status = start_trigger_find(call, hook->triggers, call->segments[2], &hook->trigger, &err);
    if (!status && hook->trigger.is_push)
        status = start_trigger_enter_push(call, tenant, workflow, hook->triggers, &hook->trigger, call->sums, proof, &err);
    else if (!status) status = start_trigger_enter(call, tenant, workflow, &hook->trigger, call->sums, proof, &err);
    if (status) {
        if (trigger_is_settled(call, status, enter)) trigger_refuse(call, tenant, &err);
        return;
    }
    /* A key proves who its bearer is, and not that it may. */
    if (call->caller.key.len && str_is(proof->identity, call->caller.actor) && !api_may(call, tenant, PROBLEM_NOT_FOUND)) return;
    if (trigger_settle_id(call, tenant, &proof->id, &proof->alias, &err)) {
        call_error(call, &err);
        return;
    }
    call->state = hook;
    body_read(call, start);
}

void route_hook(Call *call)
{
    int64_t wait_ms;
    if (!follow_read(call, &wait_ms) || !trigger_is_seen(call, call->segments[0])) return;
    trigger_begin(call);
    enter(call, NULL);
}
