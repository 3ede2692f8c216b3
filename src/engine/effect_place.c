/* effect_place.c - whether an attempt may begin now, and at which executor: room, envelope, circuit, pressure. */
#include <string.h>

#include "base/limits.h"
#include "core/retry.h"
#include "engine/effect_parts.h"

/* Who holds a lease: the owner's epoch, and which of its executors. */
uint64_t holder_of(const Engine *engine, uint32_t slot)
{
    return holder_make(engine->holder_epoch, slot + 1);
}

Executor *holder_executor(Engine *engine, uint64_t holder)
{
    uint32_t slot = (uint32_t)(holder & ((1u << HOLDER_SLOT_BITS) - 1)) - 1;
    if (holder_epoch(holder) != engine->holder_epoch || slot >= engine->options.executor_count) return NULL;
    return engine->options.executors[slot];
}

/* An earlier owner had, in that place, the executor that is there now, unless its runners.yaml was another one. */
int64_t holder_lease_ms(const Engine *engine, uint64_t holder)
{
    uint32_t slot = (uint32_t)(holder & ((1u << HOLDER_SLOT_BITS) - 1)) - 1;
    int64_t lease_ms = slot < engine->options.executor_count ? engine->options.executors[slot]->lease_ms : 0;
    return lease_ms ? lease_ms : LEASE_MS_DEFAULT;
}

/* The snapshot of the pressure that one admission is decided by. */
Pressure effect_pressure(const Engine *engine, const Resident *resident, const Executor *executor, uint32_t taken)
{
    uint64_t queue = (uint64_t)resident->tenant->queue.count * 1000 / engine->options.queue_count_max;
    uint64_t in_flight = executor->capacity ? (uint64_t)taken * 1000 / executor->capacity : 0;
    uint32_t refused = 0;                                   /* whoever has nothing under way is not what presses */
    for (uint64_t left = executor->under_way ? executor->offers : 0; left; left &= left - 1) refused++;
    return (Pressure){ .queue = (uint32_t)queue, .in_flight = (uint32_t)in_flight, .refused = refused * 1000 / REFUSAL_WINDOW };
}

/* By what it has, or will have once their commits are durable, also of an earlier owner, and by what the decision being made gives it. */
uint32_t effect_taken(const Engine *engine, const Executor *executor)
{
    return executor->under_way + executor->inherited + executor->reserved + engine->placing[executor->slot];
}

bool effect_is_served(Executor *executor, Str runner) { return !executor->ops->is_served || executor->ops->is_served(executor, runner); }

/* Where it may have been given something that is not known yet, nobody knows; whether its capacity is used up, its admission says. */
bool effect_has_room(const Engine *engine, Executor *executor, Str tenant, Str runner)
{
    uint32_t taken = effect_taken(engine, executor);
    if (executor->lease_ms && recover_is_blind(engine)) return false;
    return !executor->ops->has_room || executor->ops->has_room(executor, tenant, runner, taken - executor->inherited);
}

/* Of what undoes a step the retries are the rollback's own: each try is a task that begins anew (C-88). */
Task effect_task(const Plan *plan, const Run *run, uint32_t step, bool is_undo, TaskStage stage)
{
    if (!is_undo) return retry_task(plan, run, step, stage);
    TaskTerms terms = { .intent = plan->terms->steps[step].intent, .spawn_budget = 1 + plan->terms->cooperative_max,
                        .cooperative_max = plan->terms->cooperative_max };
    return task_restore(&terms, stage, 0, 0);
}

/* A step that was given a place and did not begin (it waits for a key, a policy denied it) does not keep it. */
static void unplace(Engine *engine, const Resident *resident, const Run *run)
{
    if (engine->placed && run->steps[engine->placed_step].state == STEP_QUEUED) {
        engine->placing[engine->placed->slot] -= engine->placed_count;
        engine->tenant_placing--;
        envelope_placed(resident->tenant, &resident->plan->plan, engine->placed_step, engine->placed, /* is_back= */ true);
    }
    engine->placed = NULL;
}

static Place unknown(Engine *engine, const Executor *executor, Str runner)
{
    if (!engine->has_place_lane) engine->place_lane = executor->lane_first;
    Str why = arena_format(&engine->arena, "waits for a process that knows the runner '%.*s': offer it in runners.yaml, or with --runners, "
                                             "and resume the run there", STR_ARG(runner));
    return (Place){ .kind = PLACE_DEFERRED, .rationale = why };
}

/* Who waits at an executor that is elsewhere, and where nobody is, would wait without a word. */
static Place no_room(Engine *engine, Executor *executor, Str runner)
{
    if (effect_is_served(executor, runner)) return (Place){ .kind = PLACE_LATER };
    Str why = arena_format(&engine->arena, "waits for a worker of the executor '%.*s' that takes '%.*s': none is there; 'maestro worker' is one",
                           STR_ARG(executor->name), STR_ARG(runner));
    return (Place){ .kind = PLACE_DEFERRED, .rationale = why };
}

static Place not_admitted(Engine *engine, const Admission *admission)
{
    const Pressure *pressure = &admission->pressure;
    Str parts = arena_format(&engine->arena, "queue %u, in flight %u, refused %u thousandths", pressure->queue,
                             pressure->in_flight, pressure->refused);
    if (admission->kind == ADMISSION_DEFER) return (Place){ .kind = PLACE_DEFERRED, .pressure = pressure_of(pressure), .rationale = parts };
    Str why = arena_format(&engine->arena, "dropped at its re-admission, by %s (%.*s)", drop_cause_name((DropCause)admission->drop), STR_ARG(parts));
    return (Place){ .kind = PLACE_DROPPED, .drop = admission->drop, .admission = admission_pack(admission), .rationale = why };
}

/* The cooperatives keep places free until the attempt is handed over, as far as there are any: whoever comes meanwhile finds so
 * much less room. */
static uint32_t places_for(const Executor *executor, uint32_t taken, const Admission *admission)
{
    uint32_t wanted = 1u + admission->cooperative_count, free = executor->capacity ? executor->capacity - taken : wanted;
    return wanted < free ? wanted : free;
}

const OfferList *effect_offers(const Resident *resident, uint32_t step, bool is_undo)
{
    return is_undo ? &resident->plan->undo_offers[step] : &resident->plan->offers[step];
}

Place effect_place(Engine *engine, const Plan *plan, const Run *run, uint32_t step)
{
    Resident *resident = resident_find(engine, run->run_no);
    bool is_undo = run->state == RUN_COMPENSATING;          /* then nothing else begins */
    const OfferList *offers = effect_offers(resident, step, is_undo);
    if (!offers->count) return (Place){ .kind = PLACE_NEVER };
    const RunnerOffer *offer = offers->items;
    Str runner = is_undo ? plan->terms->steps[step].undo.runner : plan->steps[step].runner, reasons = { 0 };
    Place held;
    unplace(engine, resident, run);
    if (offer->is_unknown) return unknown(engine, offer->executor, runner);
    bool is_constrained = plan->terms->steps[step].placement || run->bound.len;
    if (offers->is_choice || (is_constrained && offer->executor->site)) {
        offer = place_choose(engine, &(PlaceAsk){ plan, run, resident, offers, runner, step, is_undo, NULL }, &reasons, &held);
        if (!offer) return held;
    } else if (offers->is_home) {
        reasons = arena_format(&engine->arena, "%.*s alone offers '%.*s'", STR_ARG(offer->executor->name), STR_ARG(runner));
    }
    Executor *executor = offer->executor;
    uint32_t taken = effect_taken(engine, executor), ceiling = engine->options.tenant_running_max;
    uint32_t running = resident->tenant->running_count + resident->tenant->inherited_count + engine->tenant_placing;
    engine->place_lane = offer->lane;
    engine->has_place_lane = true;
    if (engine->state == ENGINE_DRAINING) return (Place){ .kind = PLACE_LATER };
    if (ceiling && (running >= ceiling || recover_is_blind(engine))) return (Place){ .kind = PLACE_LATER };
    if (!effect_has_room(engine, executor, run->tenant, runner)) return no_room(engine, executor, runner);
    if (executor->is_keeper && engine->out_size > engine->options.size_max / ENGINE_OUT_SHARE) return (Place){ .kind = PLACE_LATER };
    if (!envelope_permits(engine, resident->tenant, plan, step, executor, is_undo, &held)) return held;
    if (!gate_permits(engine, run->tenant, offer, &held)) return held;
    Task task = effect_task(plan, run, step, is_undo, TASK_ACCEPTED);
    Pressure pressure = effect_pressure(engine, resident, executor, taken);
    Admission admission = task_admit(&task, &pressure);
    if (admission.kind != ADMISSION_ADMIT) return not_admitted(engine, &admission);
    gate_promise(engine, run->tenant, offer);
    engine->placed_count = places_for(executor, taken, &admission);
    engine->placing[executor->slot] += engine->placed_count;
    engine->tenant_placing++;
    envelope_placed(resident->tenant, plan, step, executor, /* is_back= */ false);
    engine->placed = executor;
    engine->placed_step = step;
    /* Of an executor of this process the lease is the owner's own: it ends with the epoch. */
    return (Place){ .kind = PLACE_HERE, .executor = executor->name, .rationale = reasons, .holder = holder_of(engine, executor->slot),
                    .lease_ms = executor->lease_ms, .admission = admission_pack(&admission) };
}

void effect_placed(Engine *engine)
{
    memset(engine->placing, 0, engine->options.executor_count * sizeof *engine->placing);
    engine->tenant_placing = 0;
    engine->placed = NULL;
    engine->decision_no++;
    engine->has_place_lane = false;
}
