/* place.c - which of several executors an attempt goes to, and what is known of them.
 *
 * Only where there is a choice or a constraint is anything looked at here (core/placement.h decides); where one executor offers a
 * runner to everybody, it is the one. Whoever finds no room waits at all those that may take it, as one group: the first that has
 * room wakes it. Whoever no executor qualifies for waits in the group of nobody, until the run is bound elsewhere or a process with
 * other executors takes over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/compensation.h"
#include "core/retry.h"
#include "engine/internal.h"
#include "value/json.h"

#define GROUP_OF_NOBODY 0u
#define REFUSING_AT 500u                /* thousandths of its last offers: half of them */
#define LATENCY_SHIFT 3u                /* the newest counts for an eighth */

/* What attempts of one runner have taken at one executor of late. */
struct Measure {
    struct Measure *next;               /* of the same hash */
    uint64_t hash;
    uint32_t slot;
    uint32_t latency_x8;                /* eight times the milliseconds; 0: not known */
    uint32_t runner_size;
    char runner[];
};

/* --- what attempts take -------------------------------------------------------------------------------------------------- */

Measure *place_measure(Engine *engine, const Executor *executor, Str runner)
{
    uint64_t hash = (uint64_t)placement_mark(runner) << 16 | (executor->slot + 1);
    Measure *first = run_index_find(&engine->measures, hash), *measure = first;
    while (measure && !(measure->slot == executor->slot && str_is((Str){ measure->runner, measure->runner_size }, runner))) measure = measure->next;
    if (measure) return measure;
    measure = calloc(1, sizeof *measure + runner.len);
    CHECK(measure);
    measure->next = first;
    measure->hash = hash;
    measure->slot = executor->slot;
    measure->runner_size = (uint32_t)runner.len;
    memcpy(measure->runner, runner.ptr, runner.len);
    run_index_put(&engine->measures, hash, measure);
    return measure;
}

/* Failures say nothing of it: who is not there refuses at once. */
void place_measured(Engine *engine, OutEntry *entry, Cause cause)
{
    if (!entry->measure || cause != CAUSE_NONE) return;
    int64_t took = engine->now_ms - entry->handed_ms;
    uint32_t ms = took < 1 ? 1 : took < PLACEMENT_LATENCY_MS_MAX ? (uint32_t)took : PLACEMENT_LATENCY_MS_MAX;
    uint32_t before = entry->measure->latency_x8;
    entry->measure->latency_x8 = before ? before - (before >> LATENCY_SHIFT) + ms : ms << LATENCY_SHIFT;
}

void places_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->measures.capacity; i++)
        for (Measure *measure = engine->measures.slots[i].number ? engine->measures.slots[i].item : NULL, *next; measure; measure = next) {
            next = measure->next;
            free(measure);
        }
    run_index_deinit(&engine->measures);
}

/* --- groups: who waits for any of several --------------------------------------------------------------------------------- */

/* The list to wait in for any of those; beyond PLACEMENT_GROUP_COUNT_MAX sets the first of them stands for the set. */
static uint32_t group_lane(Engine *engine, uint64_t mask, uint32_t first)
{
    if (engine->group_count == 0) engine->groups[engine->group_count++] = 0;           /* GROUP_OF_NOBODY */
    for (uint32_t i = 0; i < engine->group_count; i++)
        if (engine->groups[i] == mask) return engine->lane_count + i;
    if (engine->group_count == PLACEMENT_GROUP_COUNT_MAX) return first;
    engine->groups[engine->group_count] = mask;
    return engine->lane_count + engine->group_count++;
}

bool place_is_nowhere(const Engine *engine, uint32_t wait_lane)
{
    return wait_lane == engine->lane_count + GROUP_OF_NOBODY;
}

/* --- the choice ------------------------------------------------------------------------------------------------------------ */

const RunnerOffer *place_offer(const OfferList *offers, const Executor *executor)
{
    for (uint32_t i = 1; i < offers->count; i++)
        if (offers->items[i].executor == executor) return &offers->items[i];
    return offers->items;
}

/* A step that is tried again, and not for the end of an owner. */
static bool is_again(const PlaceAsk *ask)
{
    const StepRun *step = &ask->run->steps[ask->step];
    const Compensation *item = ask->is_undo ? run_compensation(ask->run) : NULL;
    if (ask->is_undo) return item && item->attempt && item->state != COMPENSATION_RUNNING;
    return step->state != STEP_RUNNING && step->attempt > retry_first(ask->plan, ask->run, ask->step);
}

/* Where a step of the same job went; what undoes a step is at home where the step was done. */
static bool is_home(const PlaceAsk *ask, uint32_t mark)
{
    uint32_t job = ask->plan->steps[ask->step].job;
    if (ask->is_undo || job == PLAN_NONE) return run_place(ask->run, ask->step) == mark;
    const PlanJob *of = &ask->plan->jobs[job];
    for (uint32_t s = of->step_first; s < of->step_first + of->step_count; s++)
        if (run_place(ask->run, s) == mark) return true;
    return false;
}

static PlacementReason health_of(Engine *engine, const PlaceAsk *ask, const RunnerOffer *offer, uint32_t *out_taken)
{
    Executor *executor = offer->executor;
    uint32_t taken = effect_taken(engine, executor);
    Pressure pressure = effect_pressure(engine, ask->resident, executor, taken);
    Place held;
    *out_taken = pressure.in_flight;
    if (executor->capacity && taken >= executor->capacity) return PLACEMENT_FULL;
    if (!effect_has_room(engine, executor, ask->run->tenant, ask->runner)) return PLACEMENT_FULL;
    if (pressure.refused >= REFUSING_AT) return PLACEMENT_REFUSING;
    return gate_permits(engine, ask->run->tenant, offer, &held) ? PLACEMENT_FITS : PLACEMENT_HELD;
}

static Candidate *look(Engine *engine, const PlaceAsk *ask)
{
    Candidate *candidates = ARENA_ARRAY(&engine->arena, Candidate, ask->offers->count);
    bool again = is_again(ask);
    uint32_t last = again ? run_place(ask->run, ask->step) : 0;
    for (uint32_t i = 0; i < ask->offers->count; i++) {
        const RunnerOffer *offer = &ask->offers->items[i];
        Candidate *candidate = &candidates[i];
        uint32_t mark = placement_mark(offer->executor->name);
        candidate->name = offer->executor->name;
        candidate->site = offer->executor->site;
        candidate->reason = health_of(engine, ask, offer, &candidate->taken);
        candidate->latency_ms = ask->offers->count > 1 ? place_measure(engine, offer->executor, ask->runner)->latency_x8 >> LATENCY_SHIFT : 0;
        candidate->is_last = last == mark || offer->executor == ask->refused;
        candidate->is_home = is_home(ask, mark);
    }
    return candidates;
}

static uint32_t choose(Engine *engine, const PlaceAsk *ask, Candidate **out_candidates)
{
    Error err;
    PlacementAsk asked = { .terms = ask->plan->terms->steps[ask->step].placement, .bound = value_null(), .tenant = ask->run->tenant };
    if (ask->run->bound.len) CHECK(json_parse(&engine->arena, ask->run->bound, &asked.bound, &err) == OK);      /* the core printed it */
    *out_candidates = look(engine, ask);
    return placement_choose(&asked, *out_candidates, ask->offers->count);
}

static Str reasons(Engine *engine, const Candidate *candidates, uint32_t count, uint32_t chosen)
{
    char storage[PLACEMENT_TEXT_SIZE_MAX];
    Buf text = buf_on(storage, sizeof storage);
    placement_print(&text, candidates, count, chosen);
    return arena_copy(&engine->arena, buf_peek(&text));
}

/* Waits at all that may take it some time; where somebody is held back, or nobody is there at all, that is recorded, as it is of one alone. */
static Place wait_for(Engine *engine, const PlaceAsk *ask, const Candidate *candidates)
{
    uint64_t mask = 0;
    uint32_t first = 0, count = ask->offers->count;
    bool is_held = false, is_served = false;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t slot = ask->offers->items[i].executor->slot;
        if (candidates[i].reason && candidates[i].reason < PLACEMENT_HELD) continue;
        if (slot < 64) mask |= UINT64_C(1) << slot;
        first = ask->offers->items[i].lane;
        is_served = is_served || effect_is_served(ask->offers->items[i].executor, ask->runner);
        is_held = is_held || candidates[i].reason == PLACEMENT_HELD || candidates[i].reason == PLACEMENT_REFUSING;
    }
    engine->place_lane = group_lane(engine, mask, first);
    engine->has_place_lane = true;
    if (!is_held && is_served) return (Place){ .kind = PLACE_LATER };
    Str why = reasons(engine, candidates, count, PLACEMENT_NONE);
    if (!is_served)
        why = arena_format(&engine->arena, "waits for a worker that takes '%.*s': none is there, at any executor (%.*s)",
                           STR_ARG(ask->runner), STR_ARG(why));
    return (Place){ .kind = PLACE_DEFERRED, .rationale = why };
}

const RunnerOffer *place_choose(Engine *engine, const PlaceAsk *ask, Str *out_reasons, Place *out_held)
{
    Candidate *candidates;
    uint32_t count = ask->offers->count, chosen = choose(engine, ask, &candidates);
    if (chosen != PLACEMENT_NONE) {
        *out_reasons = reasons(engine, candidates, count, chosen);
        return &ask->offers->items[chosen];
    }
    if (placement_may_wait(candidates, count)) {
        *out_held = wait_for(engine, ask, candidates);
        return NULL;
    }
    if (!engine->has_place_lane) engine->place_lane = group_lane(engine, /* mask= */ 0, 0);
    Str each = reasons(engine, candidates, count, PLACEMENT_NONE);
    Str why = arena_format(&engine->arena, "no executor that offers '%.*s' qualifies%s%.*s", STR_ARG(ask->runner), each.len ? ": " : "",
                           STR_ARG(each));
    *out_held = (Place){ .kind = PLACE_DEFERRED, .rationale = why };
    return NULL;
}

/* Where the budget of its task permits another dispatch; what undoes a step is offered to the same one again. */
bool place_has_other(Engine *engine, const Resident *resident, const Effect *effect, const Executor *refused)
{
    const Plan *plan = &resident->plan->plan;
    const OfferList *offers = effect_offers(resident, effect->step, /* is_undo= */ false);
    Candidate *candidates;
    if (attempt_rollback(effect->attempt) || offers->count < 2) return false;
    if (retry_drop(plan, &resident->run, effect->step, effect->attempt, CAUSE_NOT_ACCEPTED)) return false;
    PlaceAsk ask = { plan, &resident->run, resident, offers, plan->steps[effect->step].runner, effect->step, /* is_undo= */ false, refused };
    uint32_t chosen = choose(engine, &ask, &candidates);
    return chosen != PLACEMENT_NONE && offers->items[chosen].executor != refused;
}
