#include "view/forecast.h"

#include <stdlib.h>

#define HOUR_MS (60 * 60 * 1000)

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int64_t forecast_median(int64_t *measured, size_t count)
{
    if (!count) return FORECAST_UNKNOWN;
    qsort(measured, count, sizeof *measured, by_size);
    return measured[(count - 1) / 2];
}

static int64_t left_of(const ForecastStep *step)
{
    if (step->is_over || step->usual_ms <= step->elapsed_ms) return 0;
    return step->usual_ms - step->elapsed_ms;
}

/* In whole hours and the rest apart: the product of a long time and a high price would not fit. */
static int64_t price_of(int64_t ms, int64_t hour_micro)
{
    return ms / HOUR_MS * hour_micro + ms % HOUR_MS * (hour_micro / HOUR_MS) + ms % HOUR_MS * (hour_micro % HOUR_MS) / HOUR_MS;
}

Forecast forecast_of(const Plan *plan, const ForecastStep *steps, Arena *scratch)
{
    Forecast forecast = { 0 };
    uint32_t *order = ARENA_ARRAY(scratch, uint32_t, plan->step_count + 1u);
    int64_t *before_ms = ARENA_ARRAY(scratch, int64_t, plan->step_count + 1u);     /* when a step can begin, at the earliest */
    plan_order(plan, scratch, order);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        uint32_t index = order[i];
        const ForecastStep *step = &steps[index];
        int64_t left_ms = left_of(step), end_ms = before_ms[index] + left_ms;
        if (!step->is_over) forecast.left_count++;
        if (!step->is_over && step->usual_ms == FORECAST_UNKNOWN && step_works(&plan->steps[index])) forecast.unknown_count++;
        if (end_ms > forecast.left_ms) forecast.left_ms = end_ms;
        forecast.left_micro += price_of(left_ms, step->hour_micro);
        for (uint32_t e = 0; e < plan->steps[index].edge_count; e++) {
            uint32_t to = plan->edges[plan->steps[index].edge_first + e].to;
            if (before_ms[to] < end_ms) before_ms[to] = end_ms;
        }
    }
    return forecast;
}
