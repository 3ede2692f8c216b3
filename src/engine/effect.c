/* effect.c - what follows a commit: attempts handed to executors, given up, resumed. */
#include "base/limits.h"
#include "engine/attempt.h"
#include "engine/effect_parts.h"
#include "engine/redact.h"

/* A later decision may have given it up before it was handed over. */
static bool is_still_held(const Run *run, const Effect *effect)
{
    return run_holds(run, effect->step, effect->attempt, effect->holder);
}

/* What its executor would say, had it got the attempt. */
static void report_failure(Engine *engine, const AttemptId *id, Cause cause, Str why)
{
    engine_notice(engine, &(Notice){ .kind = NOTICE_REPORT, .id = *id, .value = value_null(),
                                     .report = { .cause = cause, .message = why, .output = value_null() } });
}

static bool carry(void *executor, const void *attempt)
{
    return ((Executor *)executor)->ops->execute(executor, attempt);
}

/* The dispatch: one group, one call; nothing of what becomes of the attempt comes back by it. */
static void hand_over(Engine *engine, Executor *executor, const EffectEntry *entry, OutEntry *out, const Attempt *attempt)
{
    out_unreserve(engine, executor, out);
    Resident *resident = resident_find(engine, entry->run_no);
    Task task = effect_task(&resident->plan->plan, &resident->run, entry->effect.step, attempt_rollback(entry->effect.attempt) != 0, TASK_ADMITTED);
    SubRoutineGroup group = out->group;
    out->handed_ms = engine->now_ms;
    out->is_handed = true;                                  /* it may report before execute() returns: then `out` is gone */
    bool is_issued = task_dispatch(&task, &group, carry, executor, attempt);
    executor->offers = executor->offers << 1 | !is_issued;
    if (is_issued) {
        engine->stats.attempt_count++;
        engine->handed_turn = engine->turn;
        return;
    }
    out->group = group;
    out->is_handed = false;
    AttemptId id = { entry->run_no, entry->effect.step, entry->effect.attempt, entry->effect.holder };
    if (place_has_other(engine, resident, &entry->effect, executor))
        report_failure(engine, &id, CAUSE_NOT_ACCEPTED, arena_format(&engine->arena, "the executor '%.*s' did not take it", STR_ARG(executor->name)));
    else effect_retry_later(engine, entry);
}

/* Whether it may leave now, by what every attempt is asked: room, circuit, rate, and its admission. */
static Admission carry_admission(Engine *engine, Resident *resident, const RunnerOffer *offer, const Attempt *attempt, Task *task)
{
    Executor *executor = offer->executor;
    Admission later = { .kind = ADMISSION_DEFER };
    Place held;
    if (!effect_has_room(engine, executor, attempt->tenant, attempt->runner)) return later;
    if (!gate_permits(engine, attempt->tenant, offer, &held)) return later;
    Pressure pressure = effect_pressure(engine, resident, executor, effect_taken(engine, executor));
    return task_admit(task, &pressure);
}

AdmissionKind effect_carry(Engine *engine, Resident *resident, const RunnerOffer *offer, Attempt *attempt, Task *task, Redaction *secrets)
{
    Executor *executor = offer->executor;
    Admission admission = carry_admission(engine, resident, offer, attempt, task);
    if (admission.kind != ADMISSION_ADMIT) {
        redaction_free(secrets);
        return (AdmissionKind)admission.kind;
    }
    attempt->id.holder = holder_of(engine, executor->slot);
    OutEntry *out = out_add(engine, resident, &(Effect){ EFFECT_NOTIFY, attempt->id.step, attempt->id.attempt, attempt->id.holder });
    out->secrets = secrets;
    out->is_handed = true;
    out->pass = gate_begin(engine, attempt->tenant, offer);
    attempt->id.serial = out->serial;
    AttemptId id = attempt->id;
    SubRoutineGroup group = group_spawn(admission.cooperative_count);
    if (task_dispatch(task, &group, carry, executor, attempt)) {
        engine->stats.attempt_count++;
        engine->handed_turn = engine->turn;
        return ADMISSION_ADMIT;
    }
    out_take_back(engine, &id, /* is_reported= */ false);
    return ADMISSION_DEFER;
}

bool effect_is_carried(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && (entry->step != step || entry->attempt != attempt)) entry = entry->next;
    return entry != NULL;
}

void effect_give_up(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt, Str why)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && (entry->step != step || entry->attempt != attempt || entry->is_reported)) entry = entry->next;
    if (!entry) return;
    AttemptId id = { run_no, step, attempt, entry->holder, entry->serial };
    Executor *executor = holder_executor(engine, id.holder);
    if (executor->lease_ms) report_failure(engine, &id, CAUSE_TIMEOUT, why);       /* one elsewhere may never say anything */
    executor->ops->end(executor, &id);
}

void effect_perform(Engine *engine, const EffectEntry *entry)
{
    if (entry->effect.kind == EFFECT_NOTIFY) {
        notify_perform(engine, entry);
        return;
    }
    Executor *executor = holder_executor(engine, entry->effect.holder);
    Resident *resident = resident_find(engine, entry->run_no);
    AttemptId id = { entry->run_no, entry->effect.step, entry->effect.attempt, entry->effect.holder };
    if (entry->effect.kind == EFFECT_END) {
        if (executor) out_end_handed(engine, executor, id);
        else inherit_end(engine, &id);
        return;
    }
    if (!executor) return;
    bool is_reading = engine->is_recovering || engine->rescan_at || engine->state == ENGINE_STALLED;
    if (resident ? resident->loader != NULL : is_reading) {
        effect_retry_later(engine, entry);                  /* its run is being read again */
        return;
    }
    bool is_held = resident && is_still_held(&resident->run, &entry->effect);
    bool is_undo = attempt_rollback(entry->effect.attempt) != 0;
    bool is_ending = is_held && !is_undo && resident->run.steps[entry->effect.step].flags & STEP_ENDING;
    if (resident && (!is_held || is_ending) && !batch_is_durable(engine, resident->batch_seq)) {
        effect_retry_later(engine, entry);                  /* what gave it up may come to nothing */
        return;
    }
    if (!is_held) {
        out_take_back(engine, &id, /* is_reported= */ false);
        return;
    }
    OutEntry *out = out_find(engine, &id, /* is_reported= */ false);
    if (!out || out->is_handed) return;                     /* an earlier effect of the same name has done it */
    if (out_find_stray(engine, &id) || !batch_is_durable(engine, out->seq)) {
        effect_retry_later(engine, entry);                  /* the executor could not tell the two apart */
        return;
    }
    if (is_ending) {
        report_failure(engine, &id, CAUSE_CANCELLED, STR("it was ended before it began"));
        return;
    }
    arena_reset(&engine->arena);
    Attempt attempt;
    InputResult result = { .missing = STEP_NONE };
    char trace[TRACE_TEXT_SIZE];
    Error err = { 0 };
    redaction_free(out->secrets);                           /* of a time that its executor did not take it */
    out->secrets = NULL;
    switch (effect_make_attempt(engine, resident, &entry->effect, trace, &out->secrets, &attempt, &result)) {
    case INPUT_WRONG:
        report_failure(engine, &id, result.is_transient ? CAUSE_TRANSIENT : CAUSE_PERMANENT, result.text);
        break;
    case INPUT_MISSING:
        load_fetch(engine, resident, result.missing);
        effect_retry_later(engine, entry);
        break;
    case INPUT_OK:
        attempt.id.serial = out->serial;
        if (effect_give_credential(engine, executor, &out->secrets, &attempt, &err)) {
            report_failure(engine, &id, err.status == ERR_UNAVAILABLE ? CAUSE_TRANSIENT : CAUSE_PERMANENT, str_of(err.text));
            break;
        }
        out_measure(engine, out, executor, executor->is_keeper ? attempt_size(&attempt) : 0);
        hand_over(engine, executor, entry, out, &attempt);
        resident_cool(engine, resident);
        break;
    }
}

/* A run that has attempts under way is in memory. One that is not has ended without their being told. */
void effect_end_strays(Engine *engine)
{
    for (uint32_t i = 0; i < engine->outs.capacity; i++) {
        uint64_t run_no = engine->outs.slots[i].number;
        if (!run_no || resident_find(engine, run_no)) continue;
        for (const OutEntry *entry = engine->outs.slots[i].item; entry; entry = entry->next) {
            AttemptId id = { run_no, entry->step, entry->attempt, entry->holder, entry->serial };
            Executor *executor = holder_executor(engine, entry->holder);
            if (executor && !entry->is_reported) executor->ops->end(executor, &id);
        }
    }
}

typedef struct Resuming { Engine *engine; Resident *resident; } Resuming;

static void resume_effect(void *context, const Effect *effect)
{
    Resuming *resuming = context;
    Engine *engine = resuming->engine;
    AttemptId id = { resuming->resident->run_no, effect->step, effect->attempt, effect->holder };
    Executor *executor = holder_executor(engine, effect->holder);
    const OutEntry *reported = out_find(engine, &id, /* is_reported= */ true);
    bool is_out = out_find(engine, &id, /* is_reported= */ false);
    bool is_coming = reported && (!reported->step_run || reported->step_run == resuming->resident->run.steps[effect->step].number);
    if (!executor && effect->kind == EFFECT_END) inherit_end(engine, &id);
    if (!executor || is_coming) return;                     /* of an earlier owner: recovery decides; or its report is coming */
    if (effect->kind == EFFECT_END) {
        out_end_handed(engine, executor, id);
    } else if (!is_out) {
        effect_given(engine, resuming->resident, effect, /* cooperative_count= */ 0);
        effect_retry_later(engine, &(EffectEntry){ *effect, id.run_no });
    }
}

/* A commit whose outcome was unknown may have been written without its effects being performed: they are now. */
void effect_resume(Engine *engine, Resident *resident)
{
    const Run *run = &resident->run;
    for (OutEntry *entry = run_index_find(&engine->outs, run->run_no); entry; entry = entry->next) {
        Effect effect = { EFFECT_END, entry->step, entry->attempt, entry->holder };
        AttemptId id = { run->run_no, entry->step, entry->attempt, entry->holder, entry->serial };
        Executor *executor = holder_executor(engine, entry->holder);
        bool is_wanted = is_still_held(run, &effect) || run_notification(run, entry->step, entry->attempt);
        if (is_wanted) entry->is_lost = false;              /* what gave it up came to nothing */
        if (executor && !entry->is_reported && !is_wanted) executor->ops->end(executor, &id);
    }
    pending(&resident->plan->plan, run, resume_effect, &(Resuming){ engine, resident });
}
