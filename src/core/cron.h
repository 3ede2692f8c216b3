/* cron.h - cron expressions, read once into sets.
 *
 * Five fields: minute 0-59, hour 0-23, day of month 1-31, month 1-12 or JAN-DEC, day of week 0-7 or SUN-SAT (0 and 7 are
 * Sunday); six fields begin with seconds. Lists, ranges, steps on `*`, on ranges and on a start (`5/15`); `?` for `*` in
 * the day fields; in the day of month L, L-3, 15W, LW; in the day of week 5L and FRI#2; the macros @hourly, @daily,
 * @midnight, @weekly, @monthly, @yearly, @annually. `H` and `H/n` stand for a value derived from a seed (the workflow's
 * name), so that different workflows spread over the range and one workflow keeps its minute; H(a-b) narrows the range.
 *
 * Owns: nothing, a Cron is a plain value.     Fails: ERR_INVALID with the column of the mistake.     Thread: pure, any.
 */
#ifndef CORE_CRON_H
#define CORE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "base/timezone.h"

typedef struct Cron {
    uint64_t seconds, minutes;          /* bit n: the value n matches */
    uint32_t hours, days, months;
    uint8_t weekdays;
    bool any_day, any_weekday;          /* the field was a bare * or ?: it does not restrict */
    bool is_fixed;                      /* neither minute nor hour begin with *: a time of day, and not an interval */
    bool last_day;                      /* L, with last_day_offset days before it */
    uint8_t last_day_offset;
    bool last_workday;                  /* LW */
    uint32_t near_workdays;             /* bit n: nW */
    uint8_t last_weekdays;              /* bit n: the last such day of the month */
    uint8_t nth_weekdays[7];            /* bit k of [n]: the k-th such day, 1 to 5 */
} Cron;

/* `seed` decides what H stands for. */
MUST_USE Status cron_parse(Str text, Str seed, Cron *out_cron, Error *err);
/* False for days that no calendar has, as the 30th of February. */
bool cron_can_fire(const Cron *cron);
/* The first instant after `after_s` (seconds since 1970) at which the clock on the wall of the zone shows what the expression
 * says. Where daylight saving takes an hour away, a fixed time in it falls to the first instant behind it; where it gives one
 * twice, a fixed time counts the first time alone. What repeats (a * in minute or hour) goes by the wall clock throughout: nothing
 * in the gap, twice in the overlap. False where no such instant comes within CRON_YEAR_COUNT_MAX years. */
bool cron_next(const Cron *cron, const Timezone *zone, int64_t after_s, int64_t *out_s);

#endif
