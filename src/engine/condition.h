/* condition.h - the conditions of a plan, compiled once and asked often.
 *
 * A condition is a Rego query over the names params, outputs, output, payload, run and poll. Compiling also finds which
 * outputs it can read, so that a run of a hundred thousand steps does not gather all of them for one comparison.
 *
 * Owns:   a ConditionSet owns its queries until condition_set_free(); it borrows the plan.
 * Fails:  compiling with ERR_CORRUPT (the definition was checked before its plan was stored); answering by CONDITION_ERROR.
 * Bounds: CONDITION_STEP_COUNT_MAX, CONDITION_EVAL_SIZE_MAX an evaluation.     Thread: immutable after compiling; any.
 */
#ifndef ENGINE_CONDITION_H
#define ENGINE_CONDITION_H

#include "core/decide.h"

typedef struct ConditionSet ConditionSet;

MUST_USE Status condition_set_make(const Plan *plan, ConditionSet **out_set, Error *err);
void condition_set_free(ConditionSet *set);         /* NULL is permitted */

/* How a condition reads values of the run. */
typedef struct ConditionReader {
    void *context;
    bool (*params)(void *context, const Run *run, Value *out);
    bool (*output)(void *context, const Run *run, uint32_t step, Value *out);
} ConditionReader;

ConditionAnswer condition_ask(const ConditionSet *set, const ConditionAsk *ask, const ConditionReader *reader, Arena *arena,
                              ConditionResult *out);

#endif
