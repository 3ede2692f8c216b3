/* forecast.h - how much longer a run will take and what it will cost, by what runs of the same plan took before.
 *
 * What is left of a run is the longest way through the steps that have not ended: each takes what it usually took, one that is
 * under way what is missing of that. Times of waiting (for a person, a signal, the next poll) are no time of a step and are not in
 * it; of several ways of a branch that is still ahead the longest counts, of a loop one round. Usual is the median, which one run
 * that was stuck over night does not move.
 *
 * Owns:   nothing.     Fails: never: what is not known is counted.     Thread: pure, any.
 */
#ifndef VIEW_FORECAST_H
#define VIEW_FORECAST_H

#include "core/plan.h"

#define FORECAST_UNKNOWN (-1)

typedef struct ForecastStep {
    bool is_over;                   /* ended or skipped: nothing of it is left */
    int64_t elapsed_ms;             /* of one that is under way; else 0 */
    int64_t usual_ms;               /* FORECAST_UNKNOWN: it never ended before */
    int64_t hour_micro;             /* what an hour of its executor costs, in millionths; 0: nothing that is known */
} ForecastStep;

typedef struct Forecast {
    int64_t left_ms;                /* along the longest way */
    int64_t left_micro;             /* what the time that is left of all steps costs */
    uint32_t left_count;            /* steps that have not ended ... */
    uint32_t unknown_count;         /* ... and those among them of which nothing is known: they count as nothing */
} Forecast;

/* The middle of what was measured, the lower one of two; FORECAST_UNKNOWN of nothing. Puts them in order. */
int64_t forecast_median(int64_t *measured, size_t count);
/* `steps` has one entry for each step of the plan. */
Forecast forecast_of(const Plan *plan, const ForecastStep *steps, Arena *scratch);

#endif
