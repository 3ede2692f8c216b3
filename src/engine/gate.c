/* gate.c - what holds attempts of a runner back: a circuit for each runner and tenant, a rate for each runner.
 *
 * Both are declared in runners.yaml (`breaker`, `rate`); a runner without them has no gate and costs nothing. Outcomes come from
 * reports, on their way in; carriers know nothing of this. Who is held back waits like one that finds no room.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/internal.h"

#define GATE_COUNT_MAX 16384u           /* circuits and rates: beyond it those that are idle are forgotten */

struct Gate {
    struct Gate *next;                  /* of the same hash */
    uint64_t hash;
    BreakerTerms breaker_terms;         /* failure_max 0: it is a rate */
    RateTerms rate_terms;
    Breaker breaker;
    Rate rate;
    uint32_t under_way, promised;       /* promised: in the decision being made */
    uint64_t decision;                  /* which one that is */
    bool has_waiters;                   /* somebody was held back until one ends */
    uint32_t runner_size, tenant_size;
    char text[];                        /* runner, tenant */
};

static uint64_t gate_hash(Str runner, Str tenant) { return hash_key(hash_text(hash_part(HASH_SEED, runner), tenant)); }

static bool gate_is(const Gate *gate, Str runner, Str tenant)
{
    return str_is((Str){ gate->text, gate->runner_size }, runner) && str_is((Str){ gate->text + gate->runner_size, gate->tenant_size }, tenant);
}

/* Those that hold nobody back and have nothing under way begin anew when they are asked for again. Where none is, there is one more:
 * attempts under way and failures that count bound them. */
static void forget_idle(Engine *engine)
{
    RunIndex kept = { 0 };
    for (uint32_t i = 0; i < engine->gates.capacity; i++)
        for (Gate *gate = engine->gates.slots[i].number ? engine->gates.slots[i].item : NULL, *next; gate; gate = next) {
            next = gate->next;
            bool is_idle = !gate->under_way && !gate->has_waiters && gate->breaker.state == BREAKER_CLOSED && !gate->breaker.failure_count
                        && engine->now_ms - gate->rate.at_ms > gate->rate_terms.per_ms && gate->decision != engine->decision_no;
            if (is_idle) {
                free(gate);
                continue;
            }
            gate->next = run_index_find(&kept, gate->hash);
            run_index_put(&kept, gate->hash, gate);
        }
    run_index_deinit(&engine->gates);
    engine->gates = kept;
}

static Gate *gate_find(Engine *engine, Str runner, Str tenant)
{
    uint64_t hash = gate_hash(runner, tenant);
    Gate *first = run_index_find(&engine->gates, hash), *gate = first;
    while (gate && !gate_is(gate, runner, tenant)) gate = gate->next;
    if (!gate) {
        if (engine->gates.count >= GATE_COUNT_MAX) forget_idle(engine);
        first = run_index_find(&engine->gates, hash);
        gate = calloc(1, sizeof *gate + runner.len + tenant.len);
        CHECK(gate);
        gate->next = first;
        gate->hash = hash;
        gate->runner_size = (uint32_t)runner.len;
        gate->tenant_size = (uint32_t)tenant.len;
        memcpy(gate->text, runner.ptr, runner.len);
        if (tenant.len) memcpy(gate->text + runner.len, tenant.ptr, tenant.len);
        run_index_put(&engine->gates, hash, gate);
    }
    if (gate->decision != engine->decision_no) gate->promised = 0;
    gate->decision = engine->decision_no;
    return gate;
}

/* No tenant has an empty name: that one is of all. */
static Gate *rate_of(Engine *engine, Str runner, Value settings)
{
    const Value *rate = value_get_text(settings, "rate");
    if (!rate || rate->kind != VALUE_OBJECT) return NULL;
    Gate *gate = gate_find(engine, runner, (Str){ 0 });
    gate->rate_terms = (RateTerms){ value_get_int(*rate, "count", 1), value_get_int(*rate, "per_ms", 1000) };
    return gate;
}

static Gate *breaker_of(Engine *engine, Str runner, Str tenant, Value settings)
{
    const Value *breaker = value_get_text(settings, "breaker");
    if (!breaker || breaker->kind != VALUE_OBJECT) return NULL;
    Gate *gate = gate_find(engine, runner, tenant);
    gate->breaker_terms = (BreakerTerms){ (uint32_t)value_get_int(*breaker, "failures", BREAKER_FAILURE_COUNT_DEFAULT),
                                          value_get_int(*breaker, "open_ms", BREAKER_OPEN_MS_DEFAULT) };
    return gate;
}

static Place held_back(Engine *engine, Gate *gate, int64_t due, Str why)
{
    if (due == INT64_MAX) gate->has_waiters = true;
    else if (due < engine->gates_due) engine->gates_due = due;
    return (Place){ .kind = PLACE_DEFERRED, .rationale = why };
}

/* What is counted follows the circuit. */
static void circuit_moved(Engine *engine, const Gate *gate, uint8_t before)
{
    uint8_t state = gate->breaker.state;
    if (state == before) return;
    if (before != BREAKER_CLOSED) engine->stats.circuit_counts[before]--;
    if (state != BREAKER_CLOSED) engine->stats.circuit_counts[state]++;
    if (state == BREAKER_OPEN) engine->stats.circuit_open_count++;
}

static bool circuit_permits(Engine *engine, Gate *gate, int64_t *out_due_ms)
{
    uint8_t before = gate->breaker.state;
    bool permits = breaker_permits(&gate->breaker, gate->promised, engine->now_ms, out_due_ms);
    circuit_moved(engine, gate, before);
    return permits;
}

bool gate_permits(Engine *engine, Str tenant, const RunnerOffer *offer, Place *out)
{
    int64_t due;
    Str runner = offer->gate;
    if (offer->settings.kind != VALUE_OBJECT) return true;
    Gate *breaker = breaker_of(engine, runner, tenant, offer->settings), *rate = rate_of(engine, runner, offer->settings);
    if (breaker && !circuit_permits(engine, breaker, &due)) {
        const char *state = breaker_state_name((BreakerState)breaker->breaker.state);
        *out = held_back(engine, breaker, due,
                         arena_format(&engine->arena,
                                      "the circuit of the runner '%.*s' is %s after %" PRIu32 " failures in a row",
                                      STR_ARG(runner), state, breaker->breaker.failure_count));
        return false;
    }
    if (rate && !rate_permits(&rate->rate, &rate->rate_terms, rate->promised, engine->now_ms, &due)) {
        *out = held_back(engine, rate, due, arena_format(&engine->arena, "the runner '%.*s' has reached its rate", STR_ARG(runner)));
        return false;
    }
    return true;
}

void gate_promise(Engine *engine, Str tenant, const RunnerOffer *offer)
{
    if (offer->settings.kind != VALUE_OBJECT) return;
    Gate *breaker = breaker_of(engine, offer->gate, tenant, offer->settings), *rate = rate_of(engine, offer->gate, offer->settings);
    if (breaker) breaker->promised++;
    if (rate) rate->promised++;
}

GatePass gate_begin(Engine *engine, Str tenant, const RunnerOffer *offer)
{
    if (offer->settings.kind != VALUE_OBJECT) return (GatePass){ 0 };
    Gate *breaker = breaker_of(engine, offer->gate, tenant, offer->settings), *rate = rate_of(engine, offer->gate, offer->settings);
    if (rate) rate_take(&rate->rate, &rate->rate_terms, engine->now_ms);
    if (!breaker) return (GatePass){ 0 };
    breaker->under_way++;
    return (GatePass){ breaker, breaker_begin(&breaker->breaker) };
}

/* What says nothing leaves the circuit as it is: a half-open one is tried by the next attempt. */
void gate_outcome(Engine *engine, GatePass pass, Cause cause)
{
    CauseHealth health = cause_health(cause);
    Gate *gate = pass.gate;
    if (!gate || health == HEALTH_NONE) return;
    uint8_t before = gate->breaker.state;
    if (health == HEALTH_BAD) breaker_failed(&gate->breaker, pass.round, &gate->breaker_terms, engine->now_ms);
    else breaker_succeeded(&gate->breaker, pass.round);
    circuit_moved(engine, gate, before);
    if (gate->breaker.state == BREAKER_OPEN && gate->breaker.until_ms < engine->gates_due) engine->gates_due = gate->breaker.until_ms;
}

bool gate_end(GatePass pass)
{
    Gate *gate = pass.gate;
    if (!gate) return false;
    CHECK(gate->under_way);
    gate->under_way--;
    breaker_end(&gate->breaker, pass.round);
    bool had_waiters = gate->has_waiters;
    gate->has_waiters = false;
    return had_waiters;
}

/* Those of a tenant that hold something back, or have lately. */
Value gates_show(const Engine *engine, Str tenant, Arena *arena)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < engine->gates.capacity; i++)
        for (const Gate *gate = engine->gates.slots[i].number ? engine->gates.slots[i].item : NULL; gate; gate = gate->next) {
            bool is_circuit = gate->breaker_terms.failure_max && str_is((Str){ gate->text + gate->runner_size, gate->tenant_size }, tenant);
            if (!is_circuit) continue;
            MemberList members = { .arena = arena };
            member_list_add(&members, STR("runner"), value_string(arena_copy(arena, (Str){ gate->text, gate->runner_size })));
            member_list_add(&members, STR("state"), value_string(str_of(breaker_state_name((BreakerState)gate->breaker.state))));
            member_list_add(&members, STR("failures"), value_int(gate->breaker.failure_count));
            member_list_add(&members, STR("underWay"), value_int(gate->under_way));
            member_list_add(&members, STR("opensUntilMs"), gate->breaker.state == BREAKER_OPEN ? value_int(gate->breaker.until_ms) : value_null());
            value_list_add(&list, member_list_object(&members));
        }
    return value_list_array(&list);
}

void gates_turn(Engine *engine)
{
    if (engine->now_ms < engine->gates_due) return;
    engine->gates_due = INT64_MAX;
    for (uint32_t i = 0; engine->waiting_count && i < engine->options.executor_count; i++)
        effect_room(engine, engine->options.executors[i], UINT32_MAX);
}

void gates_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->gates.capacity; i++)
        for (Gate *gate = engine->gates.slots[i].number ? engine->gates.slots[i].item : NULL, *next; gate; gate = next) {
            next = gate->next;
            free(gate);
        }
    run_index_deinit(&engine->gates);
}
