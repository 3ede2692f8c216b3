/* input.h - what a step gets: its input with the ${paths} filled in.
 *
 * A text that is one path and nothing else becomes the value itself, so that a number stays a number; inside a longer text
 * values are printed, strings as they are and others as JSON. A path that leads nowhere is a failure that names it, but for
 * outputs that are declared optional: they are left out.
 *
 * What is filled in is never scanned again: an output that looks like a path stays the text it is. Secrets are left as
 * written unless `secret` is given, which only whoever hands an attempt over does; what is recorded never holds them.
 *
 * Owns:   values live in the arena given, or are those of the plan.
 * Fails:  by INPUT_WRONG with a text, INPUT_MISSING with what to fetch.     Bounds: INPUT_SIZE_MAX.     Thread: pure, any.
 */
#ifndef CORE_INPUT_H
#define CORE_INPUT_H

#include "core/decide.h"

typedef enum InputAnswer { INPUT_OK, INPUT_MISSING, INPUT_WRONG } InputAnswer;

typedef struct InputScope {
    const DecideEnv *env;
    const Plan *plan;
    const Run *run;
    uint32_t step;
    const Decision *decision;       /* being made: may hold outputs that no record has yet; NULL: none */
    Arena *arena;
    Status (*secret)(void *context, Str name, Str *out, Error *err);    /* NULL: secrets stay as written */
    void *secret_context;
} InputScope;

typedef struct InputResult {
    Value value;
    Str text;                       /* what is wrong */
    bool is_transient;              /* it may be right another time */
    uint32_t missing;               /* a step, or MISSING_PARAMS */
} InputResult;

InputAnswer input_fill(const InputScope *scope, Value written, InputResult *out);

/* The same for a start: `params` is {"params", "payload"}, and there is nothing else. */
InputAnswer input_fill_start(Value params, Arena *arena, Value written, InputResult *out);

/* Whether an input is within INPUT_SIZE_MAX and JSON_DEPTH_MAX: INPUT_OK, or INPUT_WRONG with the text. */
InputAnswer input_check(Arena *arena, Value value, InputResult *out);

/* What `run` means in conditions and templates: {id, workflow, tenant, version, started_at, trigger, parent, attempt,
 * iteration}. */
Value run_value(const Plan *plan, const Run *run, uint32_t step, Arena *arena);

#endif
