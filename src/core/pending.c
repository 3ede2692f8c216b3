#include "core/decide.h"

void pending(const Plan *plan, const Run *run, EffectVisit visit, void *context)
{
    (void)plan;
    for (uint32_t i = 0; i < run->active_count; i++) {
        const ActiveStep *active = &run->active[i];
        const StepRun *step = &run->steps[active->step];
        if (step->state != STEP_RUNNING || active->holder == 0) continue;
        Effect effect = { EFFECT_EXECUTE, active->step, step->attempt, active->holder };
        visit(context, &effect);
        effect.kind = EFFECT_END;
        if (step->flags & STEP_ENDING || active->is_overdue) visit(context, &effect);
    }
    for (uint32_t i = 0; i < run->notification_count; i++) {
        const Notification *it = &run->notifications[i];
        visit(context, &(Effect){ EFFECT_NOTIFY, it->step, notification_attempt(it), 0 });
    }
    const Compensation *item = run_compensation(run);
    if (!item || item->state != COMPENSATION_RUNNING || !run->rollback.active.holder) return;
    Effect effect = { EFFECT_EXECUTE, item->step, rollback_attempt(run, item->attempt), run->rollback.active.holder };
    visit(context, &effect);
    effect.kind = EFFECT_END;
    if (run->rollback.active.is_overdue) visit(context, &effect);
}

/* I4: nothing of the attempt goes into it. */
Str step_key(const Plan *plan, const Run *run, uint32_t step, Str declared, Arena *arena)
{
    uint32_t generation = run->steps[step].generation;
    Str id = plan->steps[step].id;
    Str key = declared.len ? declared : arena_format(arena, "%s/%.*s", run->id.text, STR_ARG(id));
    return generation ? arena_format(arena, "%.*s#%u", STR_ARG(key), generation + 1) : key;
}
