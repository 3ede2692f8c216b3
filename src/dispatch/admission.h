/* admission.h - may this task leave the engine now, and how much room does it take?
 *
 * The first gate of the dispatch core. It looks at what the work says of itself (its intent), at how often it was tried, and
 * at a snapshot of the pressure taken once for this decision, and answers from fixed tables in integers: the same question has
 * the same answer on every machine.
 *
 *   cooperatives = clamp(cost * (1000 + pressure) * (4 + depth) / (4000 * unit), 0, max)
 *
 *   cost       light 250, normal 500, heavy 1000          pressure   the largest part of the snapshot, 0 to 1000
 *   unit       1000                                       thresholds 950, and 850 for a task that is escalated, of queue and refusals
 *
 * A first admission under pressure is deferred: the task stays where it is and is asked again. A re-admission is dropped where
 * the queue is what presses: a queue that is full is the process's own bound, and a retry is what it gives up first. An executor
 * that is full empties by itself, and what waits for it costs nothing but its place; so that only defers.
 *
 * Owns: nothing.     Fails: never.     Bounds: COOPERATIVE_COUNT_MAX cooperatives.     Thread: pure, any.
 */
#ifndef DISPATCH_ADMISSION_H
#define DISPATCH_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum Intent { INTENT_LIGHT, INTENT_NORMAL, INTENT_HEAVY, INTENT_COUNT } Intent;

/* What fills up, each in thousandths, rounded down; beyond 1000 counts as 1000. */
typedef struct Pressure {
    uint32_t queue;                 /* what waits to be decided, of what the tenant may have waiting */
    uint32_t in_flight;             /* what the executor has, of its capacity, reserved places included */
    uint32_t refused;               /* of its last offers, those that it refused for want of room */
} Pressure;

typedef enum AdmissionKind {
    ADMISSION_ADMIT,
    ADMISSION_DEFER,                /* not under this pressure: asked again when it has fallen */
    ADMISSION_DROP,                 /* never again: `drop` says why */
    ADMISSION_KIND_COUNT
} AdmissionKind;

/* What ends a task for good. */
typedef enum DropCause { DROP_NONE, DROP_SPAWN_BUDGET, DROP_RETRY_DEPTH, DROP_PRESSURE, DROP_CAUSE_COUNT } DropCause;

typedef struct Admission {
    uint8_t kind;                   /* an AdmissionKind */
    uint8_t drop;                   /* a DropCause */
    uint8_t cooperative_count;      /* sub-routines that share the transport with the primary one */
    bool is_escalated;              /* it was asked by the tighter thresholds */
    Pressure pressure;              /* the snapshot that it was decided by */
} Admission;

typedef struct AdmissionAsk {
    Intent intent;
    Pressure pressure;
    uint32_t retry_depth;           /* 0: a first admission */
    uint32_t cooperative_max;       /* at most COOPERATIVE_COUNT_MAX */
    bool is_escalated;              /* tighter thresholds; bypasses nothing */
} AdmissionAsk;

/* By pressure alone; budgets and depths are the task's: see task.h. */
Admission admission_decide(const AdmissionAsk *ask);
/* The rule above, of the intent, the pressure and the depth and of nothing else. */
uint32_t cooperative_count(Intent intent, uint32_t pressure, uint32_t retry_depth, uint32_t cooperative_max);
uint32_t pressure_of(const Pressure *pressure);     /* the largest part of it */

/* A decision in one number, for the ledger; 0 for one without pressure, cooperatives and escalation. Refusals are kept in steps of
 * four thousandths. */
uint32_t  admission_pack(const Admission *admission);
Admission admission_unpack(uint32_t packed);        /* of one that was admitted */

Intent      intent_find(Str name);              /* what is not known counts as normal */
const char *intent_name(Intent intent);
const char *drop_cause_name(DropCause cause);   /* "spawn-budget", "retry-depth", "pressure" */
DropCause   drop_cause_find(Str name);          /* DROP_NONE where it is none */

#endif
