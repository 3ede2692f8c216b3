#include "api/access.h"
#include "api/bearer.h"
#include "api/page.h"
#include "api/routes.h"
#include "base/limits.h"

/* What the caller may do with them is up to the access policy: a link that leads to a refusal is none. */
static const struct { const char *name, *path, *verb, *other_verb; } root_links[] = {
    { "self", "/api", "root.read", NULL },
    { "workflows", "/api/workflows", "workflow.read", "workflow.create" },
    { "executions", "/api/executions", "execution.read", "execution.start" },
    { "runbooks", "/api/runbooks", "workflow.validate", NULL },
    { "schedules", "/api/schedules", "workflow.read", NULL },
    { "policies", "/api/policies", "policy.read", NULL },
    { "executors", "/api/executors", "executor.read", NULL },
    { "decisions", "/api/decisions", "execution.resolve", NULL },
    { "signals", "/api/signals", "execution.signal", NULL },
    { "tenants", "/api/tenants", "tenant.read", NULL },
    { "keys", "/api/keys", "key.read", "key.create" },
    { "secrets", "/api/secrets", "secret.read", NULL },
    { "events", "/api/events", "event.read", NULL },
    { "description", "/openapi.json", NULL, NULL },
    { "metrics", "/metrics", NULL, NULL },
    { "health", "/healthz", NULL, NULL },
    { "readiness", "/readyz", NULL, NULL },
    { "pages", "/", NULL, NULL },
};

void route_root(Call *call)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    Str tenant = call->caller.tenant;
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND)) return;
    for (size_t i = 0; i < sizeof root_links / sizeof *root_links; i++) {
        const char *verb = root_links[i].verb, *other = root_links[i].other_verb;
        if (!verb || api_shows(call, verb, tenant) || (other && api_shows(call, other, tenant)))
            add_member(&links, root_links[i].name, api_link(call, "%s", root_links[i].path));
    }
    add_member(&members, "name", value_string(STR("maestro")));
    add_member(&members, "version", value_string(STR(MAESTRO_VERSION)));
    add_member(&members, "namespace", value_string(call->caller.tenant));
    add_member(&members, "role", value_string(call->caller.role));
    add_member(&members, "_links", member_list_object(&links));
    call_value(call, 200, member_list_object(&members));
}

void route_openapi(Call *call)
{
    Buf *text = &call->api->openapi;
    if (!text->len) openapi_print(text);            /* it is the same for as long as the process runs */
    Digest digest = digest_of(buf_peek(text));
    /* Weak, since it is the same for the bytes of gzip. */
    Str tag = arena_format(&call->arena, "W/\"%.*s\"", STR_ARG(value_text(digest_value(&call->arena, &digest))));
    call_add_header(call, "ETag", tag);
    bool is_known = call_has_tag(call, "If-None-Match", tag, /* is_weak_enough= */ true);
    call_text(call, is_known ? 304 : 200, "application/json", is_known ? (Str){ 0 } : buf_peek(text));
}

static void answer_health(Call *call, const char *status, const char *engine)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "status", value_string(str_of(status)));
    add_member(&members, "engine", value_string(str_of(engine)));
    call_value(call, 200, member_list_object(&members));
}

static const char *engine_word(EngineState state)
{
    static const char *const words[] = { [ENGINE_RECOVERING] = "recovering", [ENGINE_RUNNING] = "running", [ENGINE_STALLED] = "stalled",
                                         [ENGINE_DRAINING] = "draining", [ENGINE_FENCED] = "fenced" };
    return words[state];
}

void route_healthz(Call *call) { answer_health(call, "ok", engine_word(bridge_state(call->api->bridge).state)); }

void route_readyz(Call *call)
{
    BridgeState how = bridge_state(call->api->bridge);
    if (api_is_ready(call->api)) answer_health(call, "ready", engine_word(how.state));
    else if (call->api->is_draining) call_problem(call, PROBLEM_UNAVAILABLE, "the server is draining: it is about to end");
    else if (how.trouble.text[0]) call_problem(call, PROBLEM_UNAVAILABLE, "the engine is %s: %s", engine_word(how.state), how.trouble.text);
    else call_problem(call, PROBLEM_UNAVAILABLE, "the engine is %s", engine_word(how.state));
}

/* Metrics are for everybody; which tenants there are, and what they do, is for who may see every one of them. */
static bool sees_tenants(Call *call)
{
    Str given = bearer_text(call);
    Denial denial;
    uint64_t wait_s;
    Error err;
    if (!bearer_is_key(given) || bearer_find(call, given, &wait_s, &err) || !str_is_text(call->caller.tenant, "*")) return false;
    return access_permits(call->api->access, call, "tenant.read", STR("*"), &denial);
}

static void answer_metrics(Call *call, const Survey *survey)
{
    Buf text;
    buf_init(&text, JSON_SIZE_MAX);
    metrics_print(call->api, survey, sees_tenants(call), &text);
    if (call->is_waiting) call->api->survey_count--;
    call_text(call, 200, "text/plain; version=0.0.4; charset=utf-8", buf_peek(&text));
    buf_deinit(&text);
}

static void take_survey(void *context, const Survey *survey)
{
    Call *call = context;
    if (!call->is_gone && !call->status) answer_metrics(call, survey);
    else if (call->is_gone && !call->status) call->api->survey_count--;
    call_release(call);
}

/* An engine that does not answer, since it is stuck or at its end, is no reason to say nothing of the rest. */
static void be_without(Call *call) { answer_metrics(call, NULL); }

void route_metrics(Call *call)
{
    if (!bridge_survey(call->api->bridge, take_survey, call)) {
        be_without(call);
        return;
    }
    call->use_count++;
    call->api->survey_count++;
    call_wait(call, API_SURVEY_MS_MAX, be_without, NULL);
}

void route_error_page(Call *call)
{
    ProblemKind kind;
    if (problem_find(call->segments[0], &kind)) call_text(call, 200, "text/markdown; charset=utf-8", problem_page(kind));
    else call_problem(call, PROBLEM_NOT_FOUND, "there is no type of error '%.*s'", STR_ARG(call->segments[0]));
}
