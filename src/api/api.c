#include "api/api.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "value/canonical.h"
#include "value/json.h"

/* --- who may ----------------------------------------------------------------------------------------------------------------------- */

bool api_sees(const Call *call, Str tenant)
{
    return str_is_text(call->caller.tenant, "*") || str_is(call->caller.tenant, tenant);
}

Str api_tenant(const Call *call, Str given)
{
    if (given.len) return given;
    return str_is_text(call->caller.tenant, "*") ? STR("default") : call->caller.tenant;
}

/* That is for the ledger alone: the caller is told what it is told of a thing that is not there. */
void api_refuse_foreign(Call *call, Str tenant)
{
    call_refuse(call, tenant, arena_format(&call->arena, "it belongs to tenant '%.*s'", STR_ARG(tenant)));
}

bool api_may(Call *call, Str tenant, ProblemKind hidden) { return api_may_do(call, call->route->verb, tenant, hidden); }

bool api_may_do(Call *call, const char *verb, Str tenant, ProblemKind hidden)
{
    Denial denial;
    if (call->caller.run.len && !call->is_own_run) {
        call_refuse(call, tenant, STR("an attempt reaches its own run alone"));
        call_problem(call, hidden, "there is nothing here that this key may see");
        return false;
    }
    if (!api_sees(call, tenant)) {
        api_refuse_foreign(call, tenant);
        call_problem(call, hidden, "there is nothing here that this key may see");
        return false;
    }
    if (access_permits(call->api->access, call, verb, tenant, &denial)) {
        call->tenant = arena_copy(&call->arena, tenant);
        return true;
    }
    api_deny(call, tenant, &denial);
    return false;
}

void api_deny(Call *call, Str tenant, const Denial *denial)
{
    call_refuse(call, tenant, denial->why);
    if (!str_is(denial->why, denial->told)) call->hidden = denial->why;
    call_problem_fields(call, PROBLEM_DENIED, denial->told, NULL, 0);
}

bool api_shows(Call *call, const char *verb, Str tenant)
{
    if (call->caller.run.len && !call->is_own_run) return false;
    return api_sees(call, tenant) && access_shows(call->api->access, call, verb, tenant);
}

bool api_shows_by_tenant(const Call *call) { return str_is_text(call->caller.tenant, "*") && !access_is_built_in(call->api->access); }

bool api_may_own(Call *call, Str named, Str *tenant)
{
    if (call_query(call, "namespace").len || !str_is_text(call->caller.tenant, "*") || str_is(named, *tenant)) return true;
    *tenant = named;
    return api_may(call, named, PROBLEM_NOT_FOUND);
}

bool api_execution_of(Call *call, Str named, const Cell **out_row)
{
    Error err;
    Id id;
    const Cell *row = NULL;
    Status status = id_read(named, &id) ? run_row(&call->arena, call->api->store, named, &row, &err) : OK;
    if (status) {
        call_error(call, &err);
        return false;
    }
    bool is_foreign = row && !api_sees(call, row[RUNS_tenant].text);
    if (is_foreign) api_refuse_foreign(call, row[RUNS_tenant].text);
    call->is_own_run = row && str_is(call->caller.run, row[RUNS_id].text);
    if (row && !is_foreign && call->caller.run.len && !call->is_own_run) {
        call_refuse(call, row[RUNS_tenant].text, STR("an attempt reaches its own run alone"));
        is_foreign = true;
    }
    if (!row || is_foreign) {
        call_problem(call, PROBLEM_EXECUTION_NOT_FOUND, "there is no execution '%.*s'", STR_ARG(named));
        return false;
    }
    *out_row = row;
    return api_may(call, row[RUNS_tenant].text, PROBLEM_EXECUTION_NOT_FOUND);
}

bool api_execution(Call *call, const Cell **out_row)
{
    const Cell *row = NULL;
    bool is_there = api_execution_of(call, call->segments[0], &row);
    if (row) call->run_id = row[RUNS_id].text;
    if (is_there) *out_row = row;
    return is_there;
}

/* --- to the engine ------------------------------------------------------------------------------------------------------------------ */

typedef struct Asked { Call *call; ApiDone done; ApiRefused refused; uint64_t began_ns; } Asked;

/* The id that the engine knows it by may be made of the key: its sender knows the key alone. */
static Str other_request_detail(Call *call, const BridgeAnswer *answer)
{
    Str key = call_header(call, "Idempotency-Key");
    if (!key.len) return str_of(answer->error.text);
    return arena_format(&call->arena, "the Idempotency-Key '%.*s' was given to another request before", STR_ARG(key));
}

/* What the other run was started with is for who may read it. */
static Str other_start_detail(Call *call, const BridgeAnswer *answer)
{
    const Cell *row = NULL;
    Error err;
    bool is_known = call->route->access != ROUTE_TRIGGER && !run_row(&call->arena, call->api->store, id_peek(&answer->run_id), &row, &err);
    if (is_known && row && api_shows(call, "execution.read", row[RUNS_tenant].text)) return str_of(answer->error.text);
    return STR("the key belongs to an execution that was started with other parameters");
}

void api_refuse(Call *call, const BridgeAnswer *answer)
{
    int64_t wait_ms = answer->quota_ms - call->now_ms;          /* of one that is over its quota, until it has one again */
    if (answer->is_over_quota && wait_ms > 0) call->retry_s = (uint64_t)(wait_ms + 999) / 1000;
    if (answer->is_other_request) call_problem_fields(call, PROBLEM_REQUEST_KEY, other_request_detail(call, answer), NULL, 0);
    else if (answer->is_other_start) call_problem_fields(call, PROBLEM_KEY, other_start_detail(call, answer), NULL, 0);
    else call_problem_fields(call, answer->problem, str_of(answer->error.text), NULL, 0);
}

static void settle(Call *call)
{
    if (call->settled) call->settled(call);
}

static void take_answer(void *context, const BridgeAnswer *answer)
{
    Asked *asked = context;
    Call *call = asked->call;
    settle(call);
    spread_add(&call->api->metrics.petition, spread_us, (clock_monotonic_ns() - asked->began_ns) / 1000);
    call->is_done = !answer->status;
    if (call->is_done && answer->run_id.text[0]) call->run_id = arena_copy(&call->arena, id_peek(&answer->run_id));
    if (!call->is_gone && !call->status) {
        if (!answer->status) asked->done(call, answer);
        else if (!asked->refused || !asked->refused(call, answer)) api_refuse(call, answer);
    }
    call_release(call);
}

static void be_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered for %d s; the same request with the same Idempotency-Key gets "
                 "its answer", API_ANSWER_MS_MAX / 1000);
}

void api_add_trace(Call *call, MemberList *members)
{
    char traced[TRACE_TEXT_SIZE];
    add_member(members, "trace", value_string(arena_copy(&call->arena, trace_print(&call->trace, traced))));
    if (call->tracestate.len) add_member(members, "tracestate", value_string(call->tracestate));
}

void api_petition(Call *call, MemberList *members, const char *verb, ApiDone done)
{
    api_petition_or(call, members, verb, done, /* refused= */ NULL);
}

/* How long its sender waits is no part of it, nor how a body of JSON is laid out. */
Str api_asked(Call *call)
{
    if (call->asked.len) return call->asked;
    Buf words;
    Value body;
    Error err;
    buf_init(&words, SIZE_MAX);
    buf_format(&words, "%u %.*s\n", call->method, STR_ARG(call->path));
    for (uint32_t i = 0; i < call->query_count; i++)
        if (!str_is_text(call->query[i].name, "wait"))
            buf_format(&words, "%.*s=%.*s\n", STR_ARG(call->query[i].name), STR_ARG(call->query[i].value));
    size_t head = words.len;
    if (call_parse(call, &body, &err) || canonical_print(&words, body, &err)) {
        words.len = head;
        buf_str(&words, buf_peek(&call->body));
    }
    Digest digest = digest_of(buf_peek(&words));
    buf_deinit(&words);
    return value_text(digest_value(&call->arena, &digest));
}

/* Ids belong to a tenant; whoever authenticates a trigger makes the id of it. */
Str api_request_id(Call *call)
{
    Str key = call_header(call, "Idempotency-Key");
    if (!key.len || call->route->access == ROUTE_TRIGGER) return (Str){ 0 };
    return call->is_bridged ? arena_format(&call->arena, "%.*s/%.*s", STR_ARG(call->caller.tenant), STR_ARG(key)) : key;
}

Status api_request_row(Call *call, Str tenant, Str id, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_REQUEST, .params = { cell_text(tenant), cell_text(id) }, .param_count = 2 };
    *out_row = NULL;
    return id.len ? row_select(&call->arena, call->api->store, &ask, out_row, err) : OK;
}

bool api_is_repeat(Call *call, Str tenant)
{
    const Cell *row;
    Error err;
    return !api_request_row(call, tenant, api_request_id(call), &row, &err) && row;
}

static Asked *asked_new(Call *call, ApiDone done, ApiRefused refused)
{
    Asked *asked = ARENA_NEW(&call->arena, Asked);
    *asked = (Asked){ .call = call, .done = done, .refused = refused, .began_ns = clock_monotonic_ns() };
    return asked;
}

static void await(Call *call, bool is_sent)
{
    if (!is_sent) {
        settle(call);
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
}

void api_petition_or(Call *call, MemberList *members, const char *verb, ApiDone done, ApiRefused refused)
{
    Str id = api_request_id(call);
    EnginePlan *plan = call->plan;
    call->plan = NULL;
    add_member(members, "verb", value_string(str_of(verb)));
    add_member(members, "actor", value_string(call->caller.actor));
    if (id.len) add_member(members, "id", value_string(id));
    /* The words that ask for a key do not say which: it is made before the engine is asked, and was shown once. */
    bool has_words = strcmp(verb, "set-secret") != 0;
    if (has_words && (id.len || call->route->access == ROUTE_TRIGGER)) add_member(members, "asked", value_string(api_asked(call)));
    api_add_trace(call, members);
    await(call, bridge_ask_plan(call->api->bridge, member_list_object(members), plan, take_answer, asked_new(call, done, refused)));
}

void api_petition_whole(Call *call, Str tenant, ApiDone done)
{
    EngineKeep keep = { .kind = KEEP_REQUEST, .tenant = tenant, .name = str_of(call->route->name), .text = api_asked(call),
                        .command = { .id = api_request_id(call), .actor = call->caller.actor, .value = value_null(),
                                     .report.output = value_null() } };
    if (!keep.command.id.len) done(call, /* answer= */ NULL);
    else await(call, bridge_keep(call->api->bridge, &keep, take_answer, asked_new(call, done, /* refused= */ NULL)));
}

void api_listen(Api *api)
{
    if (bridge_listen(api->bridge, 1)) store_renew(api->store);
}

/* --- how it is ------------------------------------------------------------------------------------------------------------------------ */

bool api_is_ready(const Api *api) { return !api->is_draining && bridge_state(api->bridge).is_ready; }

/* --- plans ---------------------------------------------------------------------------------------------------------------------------- */

static void give_up(Api *api, ApiPlan *plan)
{
    api->plan_size -= plan->arena.size;
    api->freed_size += plan->arena.size;
    arena_deinit(&plan->arena);
    plan->is_used = false;
}

/* Of those in use the one that was asked for longest ago; NULL: there is none. */
static ApiPlan *oldest_plan(Api *api, uint32_t *out_count)
{
    ApiPlan *oldest = NULL;
    *out_count = 0;
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++) {
        ApiPlan *plan = &api->plans[i];
        if (!plan->is_used) continue;
        ++*out_count;
        if (!oldest || plan->asked < oldest->asked) oldest = plan;
    }
    return oldest;
}

static void give_up_beyond(Api *api, uint32_t held_count)
{
    uint32_t count;
    for (ApiPlan *oldest; api->plan_size > API_PLAN_SIZE_MAX && (oldest = oldest_plan(api, &count)) && count > held_count;) give_up(api, oldest);
}

void api_plans_trim(Api *api) { give_up_beyond(api, /* held_count= */ 0); }

static ApiPlan *place_for_plan(Api *api)
{
    uint32_t count;
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++)
        if (!api->plans[i].is_used) return &api->plans[i];
    ApiPlan *oldest = oldest_plan(api, &count);
    give_up(api, oldest);
    return oldest;
}

Status api_plan(Api *api, const Digest *digest, const Plan **out_plan, Error *err)
{
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++)
        if (api->plans[i].is_used && memcmp(&api->plans[i].digest, digest, sizeof *digest) == 0) {
            api->plans[i].asked = ++api->plan_asked;
            *out_plan = &api->plans[i].plan;
            return OK;
        }
    ApiPlan *place = place_for_plan(api);
    arena_init(&place->arena, SIZE_MAX);
    Cell row[RUNS_plan_digest + 1] = { 0 };
    row[RUNS_plan_digest] = cell_blob((Str){ (const char *)digest->bytes, DIGEST_SIZE });
    Status status = run_plan(&place->arena, api->store, row, &place->plan, err);
    if (status) {
        arena_deinit(&place->arena);
        return status;
    }
    place->digest = *digest;
    place->is_used = true;
    place->asked = ++api->plan_asked;
    api->plan_size += place->arena.size;
    give_up_beyond(api, API_PLAN_HELD_COUNT);
    *out_plan = &place->plan;
    return OK;
}

void api_plans_deinit(Api *api)
{
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++)
        if (api->plans[i].is_used) arena_deinit(&api->plans[i].arena);
}

ScheduleDesk api_schedules(const Api *api) { return (ScheduleDesk){ api->store, api->catalog, zones_source(api->zones), api->agenda }; }

/* --- members ---------------------------------------------------------------------------------------------------------------------------- */

void add_member(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

Value api_link(Call *call, const char *format, ...)
{
    MemberList link = { .arena = &call->arena };
    va_list args;
    va_start(args, format);
    Str path = arena_format_args(&call->arena, format, args);
    va_end(args);
    add_member(&link, "href", value_string(path));
    return member_list_object(&link);
}

Str api_escape(Call *call, Str text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *bytes = arena_bytes(&call->arena, 3 * text.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (ascii_is_alnum((char)c) || c == '-' || c == '_' || c == '.' || c == '~') {
            bytes[size++] = (char)c;
            continue;
        }
        bytes[size++] = '%';
        bytes[size++] = digits[c >> 4];
        bytes[size++] = digits[c & 15];
    }
    return (Str){ bytes, size };
}
