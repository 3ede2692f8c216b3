#include "api/access.h"
#include "api/bearer.h"
#include "api/page.h"
#include "api/routes.h"
#include "base/limits.h"

void route_root(Call *call)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND)) return;
    add_member(&links, "self", api_link(call, "/api"));
    add_member(&links, "workflows", api_link(call, "/api/workflows"));
    add_member(&links, "executions", api_link(call, "/api/executions"));
    add_member(&links, "runbooks", api_link(call, "/api/runbooks"));
    add_member(&links, "schedules", api_link(call, "/api/schedules"));
    add_member(&links, "policies", api_link(call, "/api/policies"));
    add_member(&links, "executors", api_link(call, "/api/executors"));
    add_member(&links, "decisions", api_link(call, "/api/decisions"));
    add_member(&links, "signals", api_link(call, "/api/signals"));
    add_member(&links, "tenants", api_link(call, "/api/tenants"));
    add_member(&links, "keys", api_link(call, "/api/keys"));
    add_member(&links, "secrets", api_link(call, "/api/secrets"));
    add_member(&links, "events", api_link(call, "/api/events"));
    add_member(&links, "description", api_link(call, "/openapi.json"));
    add_member(&links, "metrics", api_link(call, "/metrics"));
    add_member(&links, "health", api_link(call, "/healthz"));
    add_member(&links, "readiness", api_link(call, "/readyz"));
    add_member(&links, "pages", api_link(call, "/"));
    add_member(&members, "name", value_string(STR("maestro")));
    add_member(&members, "version", value_string(STR(MAESTRO_VERSION)));
    add_member(&members, "namespace", value_string(call->caller.tenant));
    add_member(&members, "role", value_string(call->caller.role));
    add_member(&members, "_links", member_list_object(&links));
    call_value(call, 200, member_list_object(&members));
}

void route_openapi(Call *call)
{
    Buf text;
    buf_init(&text, JSON_SIZE_MAX);
    openapi_print(&text);
    call_text(call, 200, "application/json", buf_peek(&text));
    buf_deinit(&text);
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
    Str given = bearer_text(call), why;
    uint64_t wait_s;
    Error err;
    if (!bearer_is_key(given) || bearer_find(call, given, &wait_s, &err) || !str_is_text(call->caller.tenant, "*")) return false;
    return access_permits(call->api->access, call, "tenant.read", STR("*"), &why);
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
