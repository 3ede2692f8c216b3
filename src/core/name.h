/* name.h - which step a name in `outputs` means.
 *
 * outputs.<job>.<task> names a task; the bare name of a task works where only one job has it; in a step tree it is the name
 * of the step, in a runbook the artifact. Templates and conditions ask here, so that both mean the same.
 *
 * Owns: everything lives in the plan's arena.     Fails: never.     Thread: immutable, any.
 */
#ifndef CORE_NAME_H
#define CORE_NAME_H

#include "base/map.h"
#include "core/plan.h"

typedef struct PlanNames {
    Map ids;                        /* "job.task", artifact or step -> step, for steps that have an output */
    Map names;                      /* bare name -> step, or PLAN_NONE where several have it */
} PlanNames;

const PlanNames *names_read(Arena *arena, const Plan *plan);

/* The value that `parts` (what stands behind `outputs`) begin with, and how many of them name it; false where none does: the
 * output of a step, or behind these the payload that ended a pause, which has the name of its trigger (see run_value_at()). */
bool name_find(const Plan *plan, const Str *parts, uint32_t part_count, uint32_t *out_value, uint32_t *out_used);

/* The step that a person means by this text: its id, or its bare name where only one has it. */
bool name_find_step(const Plan *plan, Str text, uint32_t *out_step);

#endif
