/* compatibility.h - whether who used the last version of a definition can use the next one.
 *
 * Two sides are compared. Whoever starts runs gives parameters: what was accepted must stay acceptable. Whoever reads results
 * takes what steps declare to report: what was promised must stay promised. Everything between the two (steps that report
 * nothing, conditions, retries, runners) may change at will.
 *
 *   a parameter    may be added where a start need not give it; its type may grow from integer to number
 *   an output      may be added; its type may narrow from number to integer
 *   a schema of outputs has to stay as it is: whether one schema holds all that another one does cannot be told in general
 *
 * Owns:   texts live in the arena given.     Fails: never.
 * Bounds: COMPATIBILITY_COUNT_MAX findings are kept, the rest counted.     Thread: pure, any.
 */
#ifndef LANG_COMPATIBILITY_H
#define LANG_COMPATIBILITY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "core/plan.h"

typedef struct Incompatibility {
    Str subject;                    /* "parameter 'amount'", "output 'total' of step 'pay.charge'" */
    Str pointer;                    /* "/parameters/amount", "/steps/pay.charge/outputs/total" */
    Str what;                       /* "was removed" */
} Incompatibility;

typedef struct Compatibility {
    Incompatibility findings[COMPATIBILITY_COUNT_MAX];
    uint32_t count;                 /* of those kept */
    uint32_t total;                 /* of all; 0: compatible */
} Compatibility;

/* What breaks when `after` takes the place of `before`: parameters first, in the order in which `before` has them. */
void compatibility_compare(Arena *arena, const Plan *before, const Plan *after, Compatibility *out);
/* One line each, "  parameter 'amount' was removed", and how many more there are. */
void compatibility_print(const Compatibility *compatibility, Buf *out);
/* A text each, "parameter 'amount' was removed": of those kept. */
Value compatibility_list(Arena *arena, const Compatibility *compatibility);

#endif
