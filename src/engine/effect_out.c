/* effect_out.c - the attempts that executors have, or will have once their commit is durable: counted from the decision on. */
#include <stdlib.h>

#include "base/check.h"
#include "engine/effect_parts.h"
#include "engine/redact.h"

/* Decisions know an attempt by its number alone: an id without a serial is of whichever has it. */
bool out_is(const OutEntry *entry, const AttemptId *id)
{
    return entry->step == id->step && entry->attempt == id->attempt && entry->holder == id->holder
        && (!id->serial || entry->serial == id->serial);
}

OutEntry *out_find(Engine *engine, const AttemptId *id, bool is_reported)
{
    OutEntry *entry = run_index_find(&engine->outs, id->run_no);
    while (entry && !(out_is(entry, id) && entry->is_reported == is_reported && !entry->is_stray)) entry = entry->next;
    return entry;
}

OutEntry *out_find_stray(Engine *engine, const AttemptId *id)
{
    OutEntry *entry = run_index_find(&engine->outs, id->run_no);
    while (entry && !(out_is(entry, id) && entry->is_stray)) entry = entry->next;
    return entry;
}

/* Tells the executor that has it; where none has it, there is nothing to end. Of one whose lease ran out nothing is waited for. */
void out_end_handed(Engine *engine, Executor *executor, AttemptId id)
{
    for (OutEntry *entry = run_index_find(&engine->outs, id.run_no), *next; entry; entry = next) {
        next = entry->next;                                 /* it may report at once */
        if (!out_is(entry, &id) || !entry->is_handed || entry->is_reported) continue;
        id.serial = entry->serial;
        if (entry->is_lost && executor->ops->lose) {
            executor->ops->lose(executor, &id);
            out_end(engine, &id, entry, /* is_reported= */ false);
        } else {
            executor->ops->end(executor, &id);
        }
        return;
    }
}

/* What it ended with: who was told to end and did not is no sign of how its runner is. */
static Cause lost_cause(const Decision *decision, uint32_t from)
{
    for (uint32_t i = from; i < decision->event_count; i++) {
        const Event *event = &decision->events[i];
        if (event->step != decision->events[from].step) continue;
        if (event->kind == EVENT_STEP_CANCELLED) return CAUSE_CANCELLED;
        if (event->cause == CAUSE_BUDGET_EXCEEDED) return CAUSE_BUDGET_EXCEEDED;
    }
    return CAUSE_LEASE_EXPIRED;
}

static void lose(Engine *engine, const AttemptId *id, Cause cause)
{
    OutEntry *entry = run_index_find(&engine->outs, id->run_no);
    while (entry && (entry->step != id->step || entry->attempt != id->attempt || entry->is_reported || entry->is_stray)) entry = entry->next;
    if (!entry || !entry->is_handed || entry->is_lost || !holder_executor(engine, entry->holder)->lease_ms) return;
    entry->is_lost = true;
    gate_outcome(engine, entry->pass, cause);
}

void effect_lost(Engine *engine, Resident *resident, const Decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const Event *event = &decision->events[i];
        AttemptId id = { .run_no = resident->run_no, .step = event->step, .attempt = event->attempt };
        if (event->kind == EVENT_COMPENSATION_ATTEMPT_FAILED && event->cause == CAUSE_LEASE_EXPIRED)
            id.attempt = rollback_attempt(&resident->run, event->attempt);
        else if (event->kind != EVENT_LEASE_EXPIRED) continue;
        lose(engine, &id, lost_cause(decision, i));
    }
}

bool effect_is_handed(Engine *engine, const AttemptId *id)
{
    if (!holder_executor(engine, id->holder)) return true;              /* by an earlier owner */
    const OutEntry *entry = out_find(engine, id, /* is_reported= */ false);
    return entry && entry->is_handed;
}

Tenant *effect_tenant(Engine *engine, uint64_t run_no)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && entry->is_reported) entry = entry->next;        /* that one no longer keeps its tenant in memory */
    return entry ? entry->tenant : NULL;
}

bool effect_is_out(Engine *engine, uint64_t run_no, uint32_t step, uint32_t nth, Effect *out)
{
    for (const OutEntry *entry = run_index_find(&engine->outs, run_no); entry; entry = entry->next)
        if (entry->step == step && !entry->is_reported && nth-- == 0) {
            *out = (Effect){ EFFECT_END, step, entry->attempt, entry->holder };
            return true;
        }
    return inherit_is_out(engine, run_no, step, nth, out);
}

void out_remove(Engine *engine, uint64_t run_no, OutEntry *entry)
{
    OutEntry *first = run_index_find(&engine->outs, run_no), **place = &first;
    while (*place != entry) place = &(*place)->next;
    *place = entry->next;
    if (first) run_index_put(&engine->outs, run_no, first);
    else run_index_remove(&engine->outs, run_no);
    redaction_free(entry->secrets);
    free(entry);
}

/* Its cooperatives are gone, whatever became of it. */
void out_unreserve(Engine *engine, Executor *executor, OutEntry *entry)
{
    uint32_t count = entry->reserved;
    CHECK(executor->reserved >= count);
    executor->reserved -= count;
    entry->reserved = 0;
    if (count) effect_room(engine, executor, count);
}

void out_measure(Engine *engine, OutEntry *entry, const Executor *executor, size_t size)
{
    engine->out_size -= entry->size;
    entry->size = executor->is_keeper ? size : 0;
    engine->out_size += entry->size;
}

void out_end(Engine *engine, const AttemptId *id, OutEntry *entry, bool is_reported)
{
    Executor *executor = holder_executor(engine, id->holder);
    if (!entry->is_handed) (void)group_withdraw(&entry->group);     /* a primary that is given up commits no more */
    out_unreserve(engine, executor, entry);
    if (gate_end(entry->pass)) effect_room(engine, executor, UINT32_MAX);
    entry->pass = (GatePass){ 0 };
    envelope_end(engine, entry->hold);
    entry->hold = NULL;
    out_measure(engine, entry, executor, 0);
    CHECK(executor->under_way && entry->tenant->running_count && engine->stats.attempt_under_way);
    executor->under_way--;
    executor->offers <<= 1;                                 /* room that came to be counts like an offer that was taken */
    entry->tenant->running_count--;
    engine->stats.attempt_under_way--;
    if (is_reported) entry->is_reported = true;
    else out_remove(engine, id->run_no, entry);
    effect_room_behind(engine, executor);
}

/* It reported, or was never handed over: its place is free. False where it was not out: a report that came twice. */
bool out_take_back(Engine *engine, const AttemptId *id, bool is_reported)
{
    OutEntry *entry = out_find(engine, id, /* is_reported= */ false);
    if (entry) out_end(engine, id, entry, is_reported);
    return entry != NULL;
}

/* It counts from now on, wherever attempts are counted. */
OutEntry *out_add(Engine *engine, Resident *resident, const Effect *effect)
{
    OutEntry *entry = malloc(sizeof *entry);
    CHECK(entry);
    bool is_of_step = !attempt_rollback(effect->attempt);           /* notifications are marked in the same bits */
    uint32_t step_run = is_of_step ? resident->run.steps[effect->step].number : 0;
    if (!(uint32_t)++engine->out_serial) engine->out_serial++;      /* 0 is nobody's */
    *entry = (OutEntry){ .next = run_index_find(&engine->outs, resident->run_no), .step = effect->step, .attempt = effect->attempt,
                         .step_run = step_run, .holder = effect->holder, .serial = (uint64_t)step_run << 32 | (uint32_t)engine->out_serial,
                         .tenant = resident->tenant, .seq = resident->batch_seq };
    run_index_put(&engine->outs, resident->run_no, entry);
    holder_executor(engine, effect->holder)->under_way++;
    resident->tenant->running_count++;
    engine->stats.attempt_under_way++;
    return entry;
}

/* An attempt was decided for this executor: it counts from now on, so that later decisions do not give the place twice. It is
 * known by its run's number and not by the run in memory, which may be read anew while the attempt is out. */
void effect_given(Engine *engine, Resident *resident, const Effect *effect, uint32_t cooperative_count)
{
    Executor *executor = holder_executor(engine, effect->holder);
    CHECK(executor);
    /* A step that is run anew counts its attempts from 1: one of its earlier run may still be on its way out. */
    AttemptId id = { resident->run_no, effect->step, effect->attempt, effect->holder };
    OutEntry *earlier = out_find(engine, &id, /* is_reported= */ false);
    if (earlier && earlier->is_handed) earlier->is_stray = true;
    else if (earlier) out_end(engine, &id, earlier, /* is_reported= */ false);
    OutEntry *entry = out_add(engine, resident, effect);
    out_measure(engine, entry, executor, resident_text_size(resident, MISSING_PARAMS));
    resident->is_woken = false;
    uint32_t taken = executor->under_way + executor->inherited + executor->reserved;
    uint32_t free = !executor->capacity ? cooperative_count : taken < executor->capacity ? executor->capacity - taken : 0;
    bool is_undo = attempt_rollback(effect->attempt) != 0;
    const OfferList *offers = effect_offers(resident, effect->step, is_undo);
    entry->pass = gate_begin(engine, resident->run.tenant, place_offer(offers, executor));
    if (offers->count > 1)
        entry->measure = place_measure(engine, executor, is_undo ? resident->plan->plan.terms->steps[effect->step].undo.runner
                                                                 : resident->plan->plan.steps[effect->step].runner);
    id.serial = entry->serial;
    entry->hold = envelope_begin(engine, resident->tenant, &resident->plan->plan, &id, executor);
    if (entry->hold) effect_room_of(engine, resident->tenant);         /* what it left may be enough for another one */
    entry->group = group_spawn(cooperative_count);
    entry->reserved = cooperative_count < free ? cooperative_count : free;
    executor->reserved += entry->reserved;
}

/* Its commit failed: it was never handed over, and whoever has the number before it still has it rightly. */
void effect_not_given(Engine *engine, const EffectEntry *entry)
{
    AttemptId id = { entry->run_no, entry->effect.step, entry->effect.attempt, entry->effect.holder };
    out_take_back(engine, &id, /* is_reported= */ false);
    OutEntry *stray = out_find_stray(engine, &id);
    if (stray) stray->is_stray = false;
}

void effect_report_over(Engine *engine, const Mail *mail)
{
    if (mail->command.kind != COMMAND_REPORT) return;
    AttemptId id = { mail->run_no, mail->command.step, mail->command.attempt, mail->command.holder, mail->serial };
    OutEntry *entry = out_find(engine, &id, /* is_reported= */ true);
    if (entry) out_remove(engine, id.run_no, entry);
    if (mail->teller && mail->teller->ops->settled) mail->teller->ops->settled(mail->teller, &id, !mail->is_refused);
}

void outs_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->outs.capacity; i++)
        for (OutEntry *entry = engine->outs.slots[i].number ? engine->outs.slots[i].item : NULL, *next; entry; entry = next) {
            next = entry->next;
            redaction_free(entry->secrets);
            free(entry);
        }
    run_index_deinit(&engine->outs);
}
