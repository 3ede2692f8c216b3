#include "secret/trigger.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/terms.h"
#include "value/json.h"
#include "view/run_rows.h"

/* --- what it is about ------------------------------------------------------------------------------------------------------ */

/* What pauses of one key say. */
typedef struct Terms { Value auth; int64_t window_ms; TriggerRate rate; } Terms;

static void narrow(Terms *terms, const PauseTerms *pause, bool is_first)
{
    int64_t window_ms = pause->window_ms ? pause->window_ms : TRIGGER_WINDOW_MS;
    int64_t per_ms = pause->rate_ms ? pause->rate_ms : TRIGGER_RATE_MS;
    uint64_t count = pause->rate_ms ? pause->rate_count : TRIGGER_RATE_COUNT;
    if (is_first || window_ms < terms->window_ms) terms->window_ms = window_ms;
    if (is_first || count < terms->rate.count) terms->rate.count = count;
    if (is_first || per_ms > terms->rate.per_ms) terms->rate.per_ms = per_ms;
}

/* Pauses of one key that are authenticated differently leave open which of them is meant, and so nobody is let in. */
static Status find_terms(const Plan *plan, Str trigger, Terms *out, Error *err)
{
    const PlanTerms *terms = plan->terms;
    bool is_found = false;
    *out = (Terms){ .auth = value_null() };
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

static uint64_t count_flights(const TriggerDesk *desk, const TriggerOrder *order)
{
    uint64_t count = 0;
    for (const TriggerFlight *flight = desk->flights; flight && count < order->rate.count; flight = flight->next)
        count += str_is(flight->run_id, order->flight.run_id) && str_is(flight->trigger, order->flight.trigger);
    return count;
}

/* What was taken is in the store, whoever took it; only who is authenticated can use it up. One that is in flight and refused by the run
 * in the end has kept a place meanwhile: its sender knows soon, and whoever it kept out comes again. */
static Status check_rate(const TriggerDesk *desk, Arena *arena, const TriggerOrder *order, int64_t now_ms, int64_t *out_wait_ms, Error *err)
{
    const TriggerRate *rate = &order->rate;
    uint64_t flight_count = count_flights(desk, order);
    Counting counting = { .trigger = order->command.name, .count_max = rate->count, .received_ms = now_ms - rate->per_ms, .arena = arena };
    do {
        QueryAsk ask = { .query = QUERY_TRIGGER_PAYLOADS, .param_count = 3,
                         .params = { cell_int(order->run_no), cell_int(counting.received_ms), cell_text(counting.id) } };
        counting.seen = 0;
        Status status = store_select(desk->store, &ask, count_payload, &counting, err);
        if (status) return status;
    } while (counting.seen && counting.count < counting.count_max);
    if (counting.count + flight_count < counting.count_max) return OK;
    *out_wait_ms = counting.count < counting.count_max ? 0 : counting.first_ms + rate->per_ms - now_ms;
    return error_set(err, ERR_LIMIT, "the trigger '%.*s' was sent %" PRIu64 " times within %" PRId64 " s, which is its rate_limit; send it later",
                     STR_ARG(order->command.name), counting.count_max, rate->per_ms / 1000);
}

/* --- who sends it ---------------------------------------------------------------------------------------------------------- */

static bool permits(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why)
{
    return guard_permits(context, name, input, now_ms, arena, out_why);
}

TriggerAuthority trigger_authority(const TriggerDesk *desk)
{
    return (TriggerAuthority){ .secret = desk->vault ? vault_secret : NULL, .token = desk->vault ? vault_token : NULL,
                               .vault = desk->vault, .permits = desk->guard ? permits : NULL, .policies = desk->guard };
}

Status trigger_prove(const TriggerDesk *desk, Arena *arena, const TriggerRequest *request, const Cell *run, const Plan *plan,
                     TriggerOrder *out, Error *err)
{
    TriggerOrder order = { .command = { .kind = COMMAND_TRIGGER, .name = request->trigger, .origin = request->source,
                                        .value = value_null(), .report.output = value_null() },
                           .flight = { .run_id = request->run_id, .trigger = request->trigger } };
    Plan read;
    Terms terms;
    Status status = OK;
    if (!run || !id_read(request->run_id, &order.run_id)) return error_set(err, ERR_NOT_FOUND, "there is no such run");
    if (!plan) status = run_plan(arena, desk->store, run, &read, err);
    if (!status) status = find_terms(plan ? plan : &read, request->trigger, &terms, err);
    if (status) return status;
    TriggerSubject subject = { .tenant = run[RUNS_tenant].text, .workflow = run[RUNS_definition_key].text, .run_id = request->run_id,
                               .trigger = request->trigger, .auth = terms.auth, .window_ms = terms.window_ms };
    TriggerAuthority authority = trigger_authority(desk);
    status = trigger_authenticate(&authority, &subject, request, arena, &order.proof, err);
    if (status) return status;
    order.tenant = subject.tenant;
    order.run_no = run[RUNS_run_no].integer;
    order.rate = terms.rate;
    order.command.actor = order.proof.identity;
    order.command.id = order.proof.id;
    order.command.alias = order.proof.alias;
    *out = order;
    return OK;
}

TriggerOrder trigger_order_copy(Arena *arena, const TriggerOrder *order)
{
    TriggerOrder copy = *order;
    copy.proof = trigger_proof_copy(arena, &order->proof);
    copy.command.actor = copy.proof.identity;
    copy.command.id = copy.proof.id;
    copy.command.alias = copy.proof.alias;
    return copy;
}

Status trigger_admit(TriggerDesk *desk, Arena *arena, const TriggerOrder *order, int64_t now_ms, int64_t *out_wait_ms, Error *err)
{
    Status status = trigger_remember(&desk->replays, &order->proof, now_ms, err);
    if (status) return status;
    status = check_rate(desk, arena, order, now_ms, out_wait_ms, err);
    if (status) trigger_withdraw(&desk->replays, &order->proof);
    return status;
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
