/* placement.h - which executor carries an attempt, of those that offer its runner: constraints, then a score.
 *
 * An executor qualifies where it takes the tenant's work and meets every constraint: those of the workflow, of the job, and what
 * a person has bound a run to since (rebind). Of those that qualify and are healthy the best score is chosen: how well its
 * capabilities fit, what attempts have taken there of late, what it costs, how much room it has; each from 0 to 1000, in integers.
 * Of equals the first. Whoever failed the last try of a step is chosen again only where nobody else can be; a job stays where it
 * began as long as that one can be chosen.
 *
 * The choice is made once and recorded with its reasons; a replay reads it and does not choose again.
 *
 * Owns: nothing; texts are borrowed.     Fails: never.     Bounds: PLACEMENT_TEXT_SIZE_MAX of reasons.     Thread: pure, any.
 */
#ifndef CORE_PLACEMENT_H
#define CORE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "value/value.h"

/* What is known of the place where an executor works. */
typedef struct Site {
    Str region, cloud;                  /* empty: not told */
    bool is_dedicated;
    Value capabilities;                 /* a list of texts; null: none */
    Value tenants;                      /* a list of texts: whose work it takes; null: everybody's */
    int64_t cost_micro;                 /* of an hour */
} Site;

/* The objects that constrain a step, each with any of regions, clouds, tenancy, requires, data_sovereignty: all have to be met. */
#define PLACEMENT_PART_COUNT_MAX 3u
typedef struct PlacementTerms {
    Value parts[PLACEMENT_PART_COUNT_MAX];
    uint32_t count;
} PlacementTerms;

typedef enum PlacementReason {
    PLACEMENT_FITS,
    PLACEMENT_TENANT, PLACEMENT_REGION, PLACEMENT_CLOUD, PLACEMENT_TENANCY, PLACEMENT_CAPABILITY, PLACEMENT_SOVEREIGNTY,
    PLACEMENT_HELD, PLACEMENT_REFUSING, PLACEMENT_FULL,     /* what it is to be asked again for */
    PLACEMENT_FAILED,                   /* the last try failed there, and there is somebody else */
    PLACEMENT_REASON_COUNT
} PlacementReason;

typedef struct Candidate {
    Str name;
    const Site *site;                   /* NULL: part of the process itself, and bound by no constraint */
    uint32_t latency_ms;                /* that attempts of the runner have taken there of late; 0: not known */
    uint32_t taken;                     /* of its room, in thousandths */
    bool is_last;                       /* the last try of the step failed there */
    bool is_home;                       /* the job began there */
    PlacementReason reason;             /* as given: PLACEMENT_FITS, or why it can take nothing now; then: why it was not chosen */
    uint32_t score;                     /* of one that fits */
    Str what;                           /* that is missing, of a constraint */
} Candidate;

typedef struct PlacementAsk {
    const PlacementTerms *terms;        /* NULL: none */
    Value bound;                        /* regions, clouds, requires that take the place of those; null: none do */
    Str tenant;
} PlacementAsk;

#define PLACEMENT_NONE UINT32_MAX
/* The index of who is chosen, or PLACEMENT_NONE; fills in reasons and scores. */
uint32_t placement_choose(const PlacementAsk *ask, Candidate *candidates, uint32_t count);
/* Of candidates that were looked at: somebody would be chosen if there were room. */
bool     placement_may_wait(const Candidate *candidates, uint32_t count);
/* "east 3120, west 2950; not north: region eu-west; rerouted from west"; of executors that are not for the tenant nothing is told. */
void     placement_print(Buf *out, const Candidate *candidates, uint32_t count, uint32_t chosen);
const char *placement_reason_name(PlacementReason reason);

/* A name in few bytes, for a run to remember where a step went; never 0. */
uint32_t placement_mark(Str name);
/* An object with regions, clouds, requires and nothing else: each a list of 1 to PLACEMENT_NAME_COUNT_MAX names. ERR_INVALID says what
 * is wrong. An empty one binds to nothing: as defined. */
MUST_USE Status placement_check_bound(Value bound, Error *err);

#endif
