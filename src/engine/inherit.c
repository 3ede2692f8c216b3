/* inherit.c - attempts that an earlier owner of the log gave to executors elsewhere, and that are under way still.
 *
 * Workers and services outlive the process that gave them work: the run says who has an attempt and until when (core/run.h), and what
 * they say about it is taken by the next owner. Here they are counted as that owner's own are: against the capacity of their
 * executor, the ceiling and the envelope of their tenant; and they are ended like these. They are known by the run alone, so each is
 * one exactly as long as its run, in memory, says that it is held; nothing is added after the run was read, since what begins
 * later is this owner's.
 *
 * Owns: a list beside each run in memory.     Fails: never.     Bounds: the attempts of the runs in memory.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/compensation.h"
#include "engine/internal.h"

typedef struct Inherited {
    struct Inherited *next;
    AttemptId id;                       /* without its serial, which its holder alone knows */
    Executor *executor;                 /* that has it; NULL: this process has no such */
    Hold *hold;                         /* what it takes of its tenant's envelope; NULL: there is none */
} Inherited;

/* The run knows where a step went where there was a choice. Else it is the one that is in the same place now, where that one offers the
 * runner, or whichever does: runners.yaml may be another one than the earlier owner had. */
static Executor *executor_of(const Resident *resident, const AttemptId *id)
{
    bool is_undo = attempt_rollback(id->attempt) != 0;
    const OfferList *offers = effect_offers(resident, id->step, is_undo);
    uint32_t slot = (uint32_t)(id->holder & ((1u << HOLDER_SLOT_BITS) - 1)) - 1, mark = is_undo ? 0 : run_place(&resident->run, id->step);
    Executor *found = NULL;
    for (uint32_t i = 0; i < offers->count; i++) {
        Executor *executor = offers->items[i].executor;
        if (!executor->lease_ms) continue;
        bool is_it = mark ? placement_mark(executor->name) == mark : executor->slot == slot;
        if (is_it || !found) found = executor;
        if (is_it) break;
    }
    return found;
}

static void add(Engine *engine, Resident *resident, const ActiveStep *active, uint32_t attempt)
{
    if (!active->holder || !active->lease_ms || holder_epoch(active->holder) >= engine->holder_epoch) return;
    if (!run_holds(&resident->run, active->step, attempt, active->holder)) return;
    Inherited *inherited = calloc(1, sizeof *inherited);
    CHECK(inherited);
    inherited->id = (AttemptId){ resident->run_no, active->step, attempt, active->holder };
    inherited->executor = executor_of(resident, &inherited->id);
    /* The lease that the ledger has is the one that it began with: heartbeats are no events. */
    int64_t begun_ms = active->lease_ms - holder_lease_ms(engine, active->holder);
    inherited->hold = envelope_inherit(engine, resident->tenant, &resident->plan->plan, &inherited->id, inherited->executor, begun_ms,
                                       /* has_cost= */ active->notice != 0);
    inherited->next = resident->inherited;
    resident->inherited = inherited;
    resident->tenant->inherited_count++;
    if (inherited->executor) inherited->executor->inherited++;
}

void inherit_load(Engine *engine, Resident *resident)
{
    const Run *run = &resident->run;
    for (uint32_t i = 0; i < run->active_count; i++) add(engine, resident, &run->active[i], run->steps[run->active[i].step].attempt);
    const Compensation *item = run_compensation(run);
    if (item) add(engine, resident, &run->rollback.active, rollback_attempt(run, item->attempt));
}

static void uncount(Resident *resident, const Inherited *inherited)
{
    CHECK(resident->tenant->inherited_count && (!inherited->executor || inherited->executor->inherited));
    resident->tenant->inherited_count--;
    if (inherited->executor) inherited->executor->inherited--;
}

void inherit_settle(Engine *engine, Resident *resident)
{
    for (Inherited **place = &resident->inherited, *inherited; (inherited = *place);) {
        const AttemptId *id = &inherited->id;
        if (run_holds(&resident->run, id->step, id->attempt, id->holder)) {
            place = &inherited->next;
            continue;
        }
        *place = inherited->next;
        uncount(resident, inherited);
        envelope_end(engine, inherited->hold);
        if (inherited->executor) effect_room_behind(engine, inherited->executor);
        free(inherited);
    }
}

/* A run that is thrown away since its commit failed is read again, with what is under way of it. */
void inherit_leave(Resident *resident)
{
    for (Inherited *inherited; (inherited = resident->inherited);) {
        resident->inherited = inherited->next;
        uncount(resident, inherited);
        envelope_forget(inherited->hold);
        free(inherited);
    }
}

static Inherited *find(Engine *engine, const AttemptId *id)
{
    const Resident *resident = resident_find(engine, id->run_no);
    Inherited *inherited = resident ? resident->inherited : NULL;
    while (inherited && (inherited->id.step != id->step || inherited->id.attempt != id->attempt || inherited->id.holder != id->holder))
        inherited = inherited->next;
    return inherited;
}

Hold *inherit_hold(Engine *engine, const AttemptId *id)
{
    const Inherited *inherited = find(engine, id);
    return inherited ? inherited->hold : NULL;
}

void inherit_end(Engine *engine, const AttemptId *id)
{
    const Inherited *inherited = find(engine, id);
    if (!inherited || !inherited->executor) return;
    AttemptId told = inherited->id;                         /* it may report at once */
    inherited->executor->ops->end(inherited->executor, &told);
}

bool inherit_is_out(Engine *engine, uint64_t run_no, uint32_t step, uint32_t nth, Effect *out)
{
    const Resident *resident = resident_find(engine, run_no);
    for (const Inherited *inherited = resident ? resident->inherited : NULL; inherited; inherited = inherited->next)
        if (inherited->id.step == step && nth-- == 0) {
            *out = (Effect){ EFFECT_END, step, inherited->id.attempt, inherited->id.holder };
            return true;
        }
    return false;
}
