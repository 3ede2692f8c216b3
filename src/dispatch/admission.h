/* admission.h - may this attempt leave the engine now, and how much room does it take?
 *
 * The first gate of the dispatch core. It looks at what the work says of itself (its intent), how often it was tried, and a
 * snapshot of the pressure taken once for this decision, and answers from fixed tables in integers: the same question has the
 * same answer on every machine. It learns nothing of outcomes and links to nothing that reports one.
 *
 *   cooperatives = clamp(cost * (1000 + pressure) * (4 + depth) / (4000 * unit), 0, max)
 *
 * Owns: nothing.     Fails: never.     Bounds: COOPERATIVE_COUNT_DEFAULT cooperatives.     Thread: pure, any.
 */
#ifndef DISPATCH_ADMISSION_H
#define DISPATCH_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum Intent { INTENT_LIGHT, INTENT_NORMAL, INTENT_HEAVY, INTENT_COUNT } Intent;

/* What fills up, each in thousandths. */
typedef struct Pressure {
    uint32_t queue;                 /* of the tenant */
    uint32_t in_flight;             /* of the executor */
} Pressure;

typedef enum AdmissionKind {
    ADMISSION_ADMIT,
    ADMISSION_DEFER,                /* not under this pressure: asked again when it has fallen */
} AdmissionKind;

typedef struct Admission {
    AdmissionKind kind;
    uint32_t pressure;              /* what it was decided by, in thousandths */
    uint32_t cooperative_count;     /* sub-routines that share the transport with the primary one */
} Admission;

typedef struct AdmissionAsk {
    Intent intent;
    Pressure pressure;
    uint32_t retry_depth;
    bool is_escalated;              /* a tighter threshold; bypasses nothing */
} AdmissionAsk;

Admission admission_decide(const AdmissionAsk *ask);

Intent      intent_find(Str name);              /* what is not known counts as normal */
const char *intent_name(Intent intent);

#endif
