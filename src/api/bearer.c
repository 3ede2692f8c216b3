#include "api/bearer.h"

#include <inttypes.h>
#include <strings.h>

#include "os/clock.h"
#include "secret/credential.h"

Str bearer_text(const Call *call)
{
    Str given = call_header(call, "Authorization");
    bool is_bearer = given.len > 7 && strncasecmp(given.ptr, "Bearer ", 7) == 0;
    return is_bearer ? str_trim(str_slice(given, 7, given.len)) : (Str){ 0 };
}

bool bearer_is_key(Str text) { return str_starts(text, STR("mk.")); }

/* --- attempts --------------------------------------------------------------------------------------------------------------------- */

typedef struct Undoing { Str step; uint32_t attempt; bool is_running; } Undoing;

static bool take_compensation(void *context, const Cell *cells, uint32_t count)
{
    Undoing *undoing = context;
    (void)count;
    undoing->is_running |= str_is(cells[COMPENSATIONS_step_key].text, undoing->step) && cells[COMPENSATIONS_attempt].integer == undoing->attempt
                        && str_is_text(cells[COMPENSATIONS_status].text, "RUNNING");
    return !undoing->is_running;
}

/* The store says whether it is under way: what has ended, was given up or lost its lease is not. */
static Status check_is_under_way(const Call *call, Arena *arena, const Credential *facts, Error *err)
{
    Store *store = call->api->store;
    const Cell *row = NULL;
    bool is_undo = attempt_rollback(facts->attempt) != 0, is_under_way = false;
    Status status;
    if (is_undo) {
        Undoing undoing = { .step = facts->step, .attempt = attempt_number(facts->attempt) };
        QueryAsk ask = { .query = QUERY_COMPENSATIONS, .params = { cell_int((int64_t)facts->run_no) }, .param_count = 1 };
        status = store_select(store, &ask, take_compensation, &undoing, err);
        is_under_way = undoing.is_running;
    } else {
        QueryAsk ask = { .query = QUERY_STEP_RUN_BY_KEY, .param_count = 2,
                         .params = { cell_int((int64_t)facts->run_no), cell_text(facts->step) } };
        status = row_select(arena, store, &ask, &row, err);
        is_under_way = row && row[STEP_RUNS_holder].kind == CELL_INT && (uint64_t)row[STEP_RUNS_holder].integer == facts->holder
                    && row[STEP_RUNS_attempt].integer == facts->attempt && row[STEP_RUNS_finished_ms].kind == CELL_NULL;
    }
    if (status) return status;
    return is_under_way ? OK : error_set(err, ERR_DENIED, "the attempt %" PRIu32 " of step %.*s of run %.*s is not under way",
                                         attempt_number(facts->attempt), STR_ARG(facts->step), STR_ARG(facts->run_id));
}

static Status prove_attempt(const Call *call, Arena *arena, Str text, int64_t now_ms, Credential *out, Error *err)
{
    Status status = credential_read(call->api->triggers.vault, arena, text, now_ms, out, err);
    if (!status) status = check_is_under_way(call, arena, out, err);
    return !status || status_is_failure(status) ? status : (err->status = ERR_DENIED);
}

static Status find_attempt(Call *call, Str text, uint64_t *out_wait_s, Error *err)
{
    Credential facts;
    Status status = prove_attempt(call, &call->arena, text, call->now_ms, &facts, err);
    if (status) return status;
    call->caller = (Caller){ .tenant = facts.tenant, .role = STR("attempt"), .run = facts.run_id, .run_no = facts.run_no,
                             .actor = arena_format(&call->arena, "attempt:%.*s/%.*s/%" PRIu32, STR_ARG(facts.run_id), STR_ARG(facts.step),
                                                   attempt_number(facts.attempt)) };
    return keyring_take(call->api->keys, facts.tenant, out_wait_s, err);
}

Status bearer_find(Call *call, Str text, uint64_t *out_wait_s, Error *err)
{
    Api *api = call->api;
    if (str_starts(text, STR(CREDENTIAL_PREFIX))) return find_attempt(call, text, out_wait_s, err);
    keyring_refresh(api->keys, bridge_secret_version(api->bridge));
    return keyring_find(api->keys, &call->arena, text, call->now_ms, &call->caller, out_wait_s, err);
}

bool bearer_holds(const Call *call, Arena *arena, int64_t now_ms)
{
    Api *api = call->api;
    Str text = bearer_text(call);
    Credential facts;
    Error err;
    if (str_starts(text, STR(CREDENTIAL_PREFIX))) return prove_attempt(call, arena, text, now_ms, &facts, &err) != ERR_DENIED;
    keyring_refresh(api->keys, bridge_secret_version(api->bridge));
    return keyring_check(api->keys, arena, text, now_ms, &err) != ERR_DENIED;
}

bool bearer_check(Call *call)
{
    if (!call->caller.tenant.len || bearer_holds(call, &call->arena, clock_realtime_ms())) return true;
    call->api->metrics.refused_keys++;
    call_refuse(call, call->caller.tenant, STR("the key was revoked, or expired, while the request waited"));
    call_problem(call, PROBLEM_UNAUTHENTICATED, "nobody is known by this key any more%s",
                 call->is_done ? "; what the request asked for was done before that" : "");
    return false;
}
