/* hook_routes.c - webhooks that start executions: POST /maestro/hooks/{tenant}/{workflow}/{trigger}.
 *
 * The active revision of the workflow says which webhooks there are, how each is authenticated, how often it may be sent and how old
 * a signature may be. Only who is authenticated uses up the rate. A signed request that comes again starts nothing: its signature is
 * the id of the start.
 */
#include <string.h>

#include "api/follow.h"
#include "api/routes.h"
#include "base/limits.h"
#include "secret/trigger_auth.h"
#include "value/json.h"

/* What strangers learn of a hook that is not there, or not theirs. */
static void refuse(Call *call, const Error *err)
{
    if (err->status == ERR_NOT_FOUND) call_problem(call, PROBLEM_NOT_FOUND, "there is no such trigger");
    else if (err->status == ERR_DENIED) call_problem(call, PROBLEM_UNAUTHENTICATED, "the trigger was not authenticated");
    else if (err->status == ERR_LIMIT) call_problem_fields(call, PROBLEM_RATE, str_of(err->text), NULL, 0);
    else call_error(call, err);
}

static const Value *find_webhook(const Plan *plan, Str key)
{
    const Value *triggers = value_get_text(plan->document, "triggers");
    for (uint32_t i = 0; triggers && triggers->kind == VALUE_ARRAY && i < triggers->count; i++) {
        const Value *webhook = value_get_text(triggers->items[i], "webhook");
        if (webhook && str_is(value_get_string(*webhook, "key", STR("")), key)) return webhook;
    }
    return NULL;
}

static Status find_hook(Call *call, const Cell **out_revision, const Value **out_webhook, Error *err)
{
    const Plan *plan;
    Digest digest;
    QueryAsk ask = { .query = QUERY_REVISION_ACTIVE, .param_count = 3,
                     .params = { cell_text(call->segments[0]), cell_text(call->segments[1]), cell_int(1) } };
    *out_revision = NULL;
    Status status = row_select(&call->arena, call->api->store, &ask, out_revision, err);
    if (status) return status;
    if (!*out_revision) return error_set(err, ERR_NOT_FOUND, "there is no such workflow, or none of it is active");
    memcpy(digest.bytes, (*out_revision)[REVISIONS_digest].text.ptr, DIGEST_SIZE);
    status = api_plan(call->api, &digest, &plan, err);
    if (status) return status;
    *out_webhook = find_webhook(plan, call->segments[2]);
    return *out_webhook ? OK : error_set(err, ERR_NOT_FOUND, "the workflow has no such webhook");
}

static bool permits(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why)
{
    return guard_permits(context, name, input, now_ms, arena, out_why);
}

static Status authenticate(Call *call, Value webhook, TriggerProof *out_proof, Error *err)
{
    TriggerDesk *desk = &call->api->triggers;
    TriggerHeader *headers = ARENA_ARRAY(&call->arena, TriggerHeader, call->header_count + 1u);
    for (uint32_t i = 0; i < call->header_count; i++) headers[i] = (TriggerHeader){ call->headers[i].name, call->headers[i].value };
    const Value *auth = value_get_text(webhook, "auth");
    TriggerAuthority authority = { .secret = vault_secret, .token = vault_token, .vault = desk->vault,
                                   .permits = desk->guard ? permits : NULL, .policies = desk->guard, .replays = &desk->replays };
    TriggerSubject subject = { .tenant = call->segments[0], .workflow = call->segments[1], .run_id = STR(""), .trigger = call->segments[2],
                               .auth = auth ? *auth : value_null(), .window_ms = value_get_int(webhook, "replay_window_ms", 0) };
    TriggerRequest request = { .run_id = STR(""), .trigger = call->segments[2], .headers = headers, .header_count = call->header_count,
                               .body = buf_peek(&call->body), .source = call->source, .identity = call->caller.actor,
                               .now_ms = call->now_ms };
    return trigger_authenticate(&authority, &subject, &request, &call->arena, out_proof, err);
}

/* So many within the time that the trigger declares. */
static Status take_rate(Call *call, Value webhook, Error *err)
{
    const Value *limit = value_get_text(webhook, "rate_limit");
    int64_t count = limit ? value_get_int(*limit, "count", 60) : 60, per_ms = limit ? value_get_int(*limit, "per_ms", 60000) : 60000;
    Str name = arena_format(&call->arena, "%.*s/%.*s/%.*s", STR_ARG(call->segments[0]), STR_ARG(call->segments[1]), STR_ARG(call->segments[2]));
    HookRate *place = &call->api->hooks[0];
    for (uint32_t i = 0; i < API_HOOK_COUNT_MAX; i++) {
        HookRate *rate = &call->api->hooks[i];
        if (rate->is_used && str_is_text(name, rate->name)) {
            place = rate;
            break;
        }
        if (!rate->is_used || rate->used_ms < place->used_ms) place = rate;
        if (!rate->is_used) break;
    }
    if (!place->is_used || !str_is_text(name, place->name)) {
        *place = (HookRate){ .is_used = true, .begin_ms = call->now_ms };
        memcpy(place->name, name.ptr, name.len < sizeof place->name ? name.len : sizeof place->name - 1);
    }
    if (call->now_ms - place->begin_ms >= per_ms || call->now_ms < place->begin_ms) place->begin_ms = call->now_ms, place->count = 0;
    place->used_ms = call->now_ms;
    if (place->count++ < count) return OK;
    return error_set(err, ERR_LIMIT, "the trigger was sent %lld times within %lld s, which is its rate_limit", (long long)count,
                     (long long)per_ms / 1000);
}

static void hooked(Call *call, const BridgeAnswer *answer)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "executionId", value_string(arena_copy(&call->arena, id_peek(&answer->run_id))));
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(answer->is_repeat || answer->is_noop));
    call_value(call, 202, member_list_object(&members));
}

void route_hook(Call *call)
{
    const Cell *revision;
    const Value *webhook;
    TriggerProof proof;
    Error err = { 0 };
    Value payload = value_null();
    Status status = find_hook(call, &revision, &webhook, &err);
    if (!status) status = authenticate(call, *webhook, &proof, &err);
    if (!status) status = take_rate(call, *webhook, &err);
    if (status) {
        refuse(call, &err);
        return;
    }
    /* A key proves who its bearer is, and not that it may. */
    if (call->caller.key.len && str_is(proof.identity, call->caller.actor) && !api_may(call, call->segments[0], PROBLEM_NOT_FOUND)) return;
    if (value_get_int(*webhook, "debounce_ms", 0)) {
        call_problem(call, PROBLEM_CONFLICT, "the trigger declares debouncing, which this version cannot carry out; remove it from the definition");
        return;
    }
    if (call->body.len && json_parse(&call->arena, buf_peek(&call->body), &payload, &err)) {
        call_problem(call, PROBLEM_INVALID, "the body is no JSON: line %u, column %u: %s", err.line, err.column, err.text);
        return;
    }
    StartWish wish = { .params = (Value){ .kind = VALUE_OBJECT }, .payload = payload, .id = proof.id, .done = hooked,
                       .source = arena_format(&call->arena, "webhook:%.*s", STR_ARG(call->segments[2])) };
    call->caller.actor = proof.identity;
    start_execution(call, call->segments[0], revision, &wish);
}
