#include "secret/trigger.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/terms.h"
#include "value/json.h"
#include "view/run_rows.h"

/* --- what it is about ------------------------------------------------------------------------------------------------------ */

static Status find_run(const TriggerDesk *desk, Arena *arena, const TriggerRequest *request, TriggerOrder *out,
                       const Cell **out_row, Error *err)
{
    const Cell *row = NULL;
    Status status = OK;
    if (id_read(request->run_id, &out->run_id)) {
        QueryAsk ask = { .query = QUERY_RUN_BY_ID, .params = { cell_text(request->run_id) }, .param_count = 1 };
        status = row_select(arena, desk->store, &ask, &row, err);
    }
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no such run");
    *out_row = row;
    return status;
}

static void narrow(TriggerTerms *terms, const PauseTerms *pause, bool is_first)
{
    int64_t window_ms = pause->window_ms ? pause->window_ms : TRIGGER_WINDOW_MS;
    int64_t rate_ms = pause->rate_ms ? pause->rate_ms : TRIGGER_RATE_MS;
    uint64_t rate_count = pause->rate_ms ? pause->rate_count : TRIGGER_RATE_COUNT;
    if (is_first || window_ms < terms->window_ms) terms->window_ms = window_ms;
    if (is_first || rate_count < terms->rate_count) terms->rate_count = rate_count;
    if (is_first || rate_ms > terms->rate_ms) terms->rate_ms = rate_ms;
}

/* Pauses of one key that are authenticated differently leave open which of them is meant, and so nobody is let in. */
Status trigger_find_terms(const Plan *plan, Str trigger, TriggerTerms *out, Error *err)
{
    const PlanTerms *terms = plan->terms;
    bool is_found = false;
    *out = (TriggerTerms){ .auth = value_null() };
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        if (!str_is(pause->trigger, trigger)) continue;
        if (is_found && !value_equals(out->auth, pause->auth))
            return error_set(err, ERR_DENIED, "pauses of the trigger '%.*s' are authenticated differently", STR_ARG(trigger));
        out->auth = pause->auth;
        narrow(out, pause, !is_found);
        is_found = true;
    }
    Str shown = str_slice(trigger, 0, NAME_SIZE_MAX);
    return is_found ? OK : error_set(err, ERR_NOT_FOUND, "the run has no trigger '%.*s'", STR_ARG(shown));
}

/* --- how many there were --------------------------------------------------------------------------------------------------- */

typedef struct Counting {
    Str trigger;
    uint64_t count, count_max;
    uint32_t seen;
    int64_t received_ms, first_ms;      /* of the last row, and of the first that counts; 0: none does */
    Str id;
    Arena *arena;
} Counting;

static bool count_payload(void *context, const Cell *cells, uint32_t count)
{
    Counting *counting = context;
    (void)count;
    counting->seen++;
    counting->received_ms = cells[TRIGGER_PAYLOADS_received_ms].integer;
    if (str_is(cells[TRIGGER_PAYLOADS_trigger_key].text, counting->trigger) && !counting->count++) counting->first_ms = counting->received_ms;
    counting->id = arena_copy(counting->arena, cells[TRIGGER_PAYLOADS_id].text);
    return counting->count < counting->count_max;
}

static uint64_t count_flights(const TriggerDesk *desk, const TriggerRequest *request, uint64_t count_max)
{
    uint64_t count = 0;
    for (const TriggerFlight *flight = desk->flights; flight && count < count_max; flight = flight->next)
        count += str_is(flight->run_id, request->run_id) && str_is(flight->trigger, request->trigger);
    return count;
}

/* What was taken is in the store, whoever took it; only who is authenticated can use it up. One that is in flight and refused by the run
 * in the end has kept a place meanwhile: its sender knows soon, and whoever it kept out comes again. */
static Status check_rate(const TriggerDesk *desk, Arena *arena, const Cell *run, const TriggerTerms *terms, const TriggerRequest *request,
                         int64_t *out_wait_ms, Error *err)
{
    uint64_t flight_count = count_flights(desk, request, terms->rate_count);
    Counting counting = { .trigger = request->trigger, .count_max = terms->rate_count, .received_ms = request->now_ms - terms->rate_ms,
                          .arena = arena };
    do {
        QueryAsk ask = { .query = QUERY_TRIGGER_PAYLOADS, .param_count = 3,
                         .params = { run[RUNS_run_no], cell_int(counting.received_ms), cell_text(counting.id) } };
        counting.seen = 0;
        Status status = store_select(desk->store, &ask, count_payload, &counting, err);
        if (status) return status;
    } while (counting.seen && counting.count < counting.count_max);
    if (counting.count + flight_count < counting.count_max) return OK;
    *out_wait_ms = counting.count < counting.count_max ? 0 : counting.first_ms + terms->rate_ms - request->now_ms;
    return error_set(err, ERR_LIMIT, "the trigger '%.*s' was sent %" PRIu64 " times within %" PRId64 " s, which is its rate_limit; send it later",
                     STR_ARG(request->trigger), counting.count_max, terms->rate_ms / 1000);
}

/* --- who sends it ---------------------------------------------------------------------------------------------------------- */

static bool permits(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why)
{
    return guard_permits(context, name, input, now_ms, arena, out_why);
}

static TriggerAuthority authority_of(TriggerDesk *desk)
{
    return (TriggerAuthority){ .secret = desk->vault ? vault_secret : NULL, .token = desk->vault ? vault_token : NULL,
                               .vault = desk->vault, .permits = desk->guard ? permits : NULL, .policies = desk->guard,
                               .replays = &desk->replays };
}

Status trigger_handle(TriggerDesk *desk, Arena *arena, const TriggerRequest *request, const TriggerTerms *known, TriggerOrder *out,
                      int64_t *out_wait_ms, Error *err)
{
    TriggerOrder order = { .command = { .kind = COMMAND_TRIGGER, .name = request->trigger, .origin = request->source,
                                        .value = value_null(), .report.output = value_null() } };
    const Cell *run;
    Plan plan;
    TriggerProof proof;
    TriggerTerms terms;
    Status status = find_run(desk, arena, request, &order, &run, err);
    if (!status && !known) status = run_plan(arena, desk->store, run, &plan, err);
    if (!status && !known) status = trigger_find_terms(&plan, request->trigger, &terms, err);
    if (status) return status;
    if (known) terms = *known;
    TriggerSubject subject = { .tenant = run[RUNS_tenant].text, .workflow = run[RUNS_definition_key].text,
                               .run_id = request->run_id, .trigger = request->trigger };
    TriggerAuthority authority = authority_of(desk);
    subject.auth = terms.auth;
    subject.window_ms = terms.window_ms;
    status = trigger_authenticate(&authority, &subject, request, arena, &proof, err);
    if (status) return status;
    status = check_rate(desk, arena, run, &terms, request, out_wait_ms, err);
    if (status) {
        trigger_withdraw(&desk->replays, &proof);
        return status;
    }
    order.tenant = subject.tenant;
    order.proof = proof;
    order.command.actor = proof.identity;
    order.command.id = proof.id;
    order.command.alias = proof.alias;
    order.flight = (TriggerFlight){ .run_id = request->run_id, .trigger = request->trigger };
    *out = order;
    return OK;
}

void trigger_depart(TriggerDesk *desk, TriggerOrder *order)
{
    TriggerFlight *flight = &order->flight;
    flight->prev = NULL;
    flight->next = desk->flights;
    if (flight->next) flight->next->prev = flight;
    desk->flights = flight;
}

void trigger_settle(TriggerDesk *desk, TriggerOrder *order)
{
    TriggerFlight *flight = &order->flight;
    if (flight->prev) flight->prev->next = flight->next;
    else desk->flights = flight->next;
    if (flight->next) flight->next->prev = flight->prev;
}

/* --- tokens ------------------------------------------------------------------------------------------------------------------ */

Status trigger_check_bearer(const Plan *plan, Str run_id, Str trigger, Error *err)
{
    const PlanTerms *terms = plan->terms;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        const Value *bearer = value_get_text(pause->auth, "bearer");
        if (str_is(pause->trigger, trigger) && bearer && value_is_true(*bearer)) return OK;
    }
    return error_set(err, ERR_INVALID, "run %.*s has no trigger '%.*s' that is authenticated by a bearer token", STR_ARG(run_id), STR_ARG(trigger));
}

Status trigger_check_webhook(Value triggers, Str workflow, Str key, Error *err)
{
    for (uint32_t i = 0; triggers.kind == VALUE_ARRAY && i < triggers.count; i++) {
        const Value *webhook = value_get_text(triggers.items[i], "webhook");
        if (!webhook || !str_is(value_get_string(*webhook, "key", STR("")), key)) continue;
        const Value *auth = value_get_text(*webhook, "auth"), *bearer = auth ? value_get_text(*auth, "bearer") : NULL;
        if (bearer && value_is_true(*bearer)) return OK;
    }
    return error_set(err, ERR_INVALID, "workflow '%.*s' has no webhook '%.*s' that is authenticated by a bearer token",
                     STR_ARG(workflow), STR_ARG(key));
}

Str trigger_workflow_bound(Arena *arena, Str workflow) { return arena_format(arena, TRIGGER_WORKFLOW_PREFIX "%.*s", STR_ARG(workflow)); }

Str trigger_webhook_name(Arena *arena, Str key) { return arena_format(arena, "webhook:%.*s", STR_ARG(key)); }
