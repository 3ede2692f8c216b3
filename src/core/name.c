#include "core/name.h"

#include "base/limits.h"
#include "core/terms.h"

const PlanNames *names_read(Arena *arena, const Plan *plan)
{
    PlanNames *names = ARENA_NEW(arena, PlanNames);
    bool has_jobs = plan->kind == PLAN_WORKFLOW;
    map_init(&names->ids, arena, plan->step_count);
    map_init(&names->names, arena, has_jobs ? plan->step_count : 0);
    /* Names that several steps have are entered first, so that none of them is found. */
    Map seen;
    map_init(&seen, arena, has_jobs ? plan->step_count : 0);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        if (!step_works(step)) continue;
        map_add(&names->ids, step->id, i, NULL);
        if (has_jobs && !map_add(&seen, step->name, i, NULL)) map_add(&names->names, step->name, PLAN_NONE, NULL);
    }
    for (uint32_t i = 0; has_jobs && i < plan->step_count; i++)
        if (step_works(&plan->steps[i])) map_add(&names->names, plan->steps[i].name, i, NULL);
    return names;
}

/* "job.task" of two parts. */
static bool find_of_job(const Plan *plan, Str job, Str task, uint32_t *out_step)
{
    char storage[2 * NAME_SIZE_MAX + 2];
    Buf id = buf_on(storage, sizeof storage);
    buf_str(&id, job);
    buf_char(&id, '.');
    buf_str(&id, task);
    return !buf_overflowed(&id) && map_find(&plan->names->ids, buf_peek(&id), out_step);
}

/* Names of steps come first: a trigger that has one of them is not found by its own. */
static bool find_trigger(const Plan *plan, Str name, uint32_t *out_value)
{
    const PlanTerms *terms = plan->terms;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        if (!str_is(terms->steps[terms->pauses[i]].pause.trigger, name)) continue;
        *out_value = plan->step_count + i;
        return true;
    }
    return false;
}

bool name_find(const Plan *plan, const Str *parts, uint32_t part_count, uint32_t *out_value, uint32_t *out_used)
{
    if (part_count == 0) return false;
    *out_used = 1;
    if (plan->kind != PLAN_WORKFLOW)
        return map_find(&plan->names->ids, parts[0], out_value) || find_trigger(plan, parts[0], out_value);
    if (part_count > 1 && find_of_job(plan, parts[0], parts[1], out_value)) {
        *out_used = 2;
        return true;
    }
    uint32_t step;
    if (!map_find(&plan->names->names, parts[0], &step) || step == PLAN_NONE) return find_trigger(plan, parts[0], out_value);
    *out_value = step;
    return true;
}

bool name_find_step(const Plan *plan, Str text, uint32_t *out_step)
{
    uint32_t step;
    if (map_find(&plan->names->ids, text, out_step)) return true;
    if (plan->kind == PLAN_WORKFLOW && map_find(&plan->names->names, text, &step) && step != PLAN_NONE) {
        *out_step = step;
        return true;
    }
    /* What the engine itself carries out has no output, and is in neither map. */
    for (step = 0; step < plan->step_count; step++) {
        if (step_works(&plan->steps[step]) || !str_is(plan->steps[step].id, text)) continue;
        *out_step = step;
        return true;
    }
    return false;
}
