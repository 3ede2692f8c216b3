/* cron_next.c - when an expression is due. Within a stretch of constant offset the wall clock runs evenly: each is searched by
 * itself, so that no local time has to be turned into an instant. */
#include "base/civil.h"
#include "base/limits.h"
#include "core/cron.h"

#define DAY_S INT64_C(86400)
#define GAP_S_MAX 10800             /* what is longer is no daylight saving: a zone that changes its day */

/* --- days --------------------------------------------------------------------------------------------------------- */

/* The day of month that is a working day and nearest to `day`, within the month. */
static int32_t near_workday(int64_t first_days, int32_t day, int32_t month_days)
{
    int32_t weekday = civil_weekday(first_days + day - 1);
    if (weekday == 6) return day > 1 ? day - 1 : day + 2;
    if (weekday == 0) return day < month_days ? day + 1 : day - 2;
    return day;
}

static bool has_month_day(const Cron *cron, const CivilDate *date, int64_t days)
{
    int32_t month_days = civil_month_days(date->year, date->month);
    int64_t first = days - date->day + 1;
    if (cron->days >> date->day & 1) return true;
    if (cron->last_day && date->day == month_days - cron->last_day_offset) return true;
    if (cron->last_workday && date->day == near_workday(first, month_days, month_days)) return true;
    for (int32_t day = 1; cron->near_workdays && day <= month_days; day++)
        if ((cron->near_workdays >> day & 1) && date->day == near_workday(first, day, month_days)) return true;
    return false;
}

static bool has_weekday(const Cron *cron, const CivilDate *date, int64_t days)
{
    int32_t weekday = civil_weekday(days);
    if (cron->weekdays >> weekday & 1) return true;
    if ((cron->last_weekdays >> weekday & 1) && date->day + 7 > civil_month_days(date->year, date->month)) return true;
    return cron->nth_weekdays[weekday] >> ((date->day + 6) / 7) & 1;
}

/* Either of two restrictions will do; a bare field restricts nothing. */
static bool has_day(const Cron *cron, int64_t days)
{
    CivilDate date = civil_date(days);
    if (!(cron->months >> date.month & 1)) return false;
    if (cron->any_day && cron->any_weekday) return true;
    if (cron->any_day) return has_weekday(cron, &date, days);
    if (cron->any_weekday) return has_month_day(cron, &date, days);
    return has_month_day(cron, &date, days) || has_weekday(cron, &date, days);
}

/* --- the wall clock ------------------------------------------------------------------------------------------------ */

/* The lowest value of a set from `low` up; -1 where there is none. */
static int32_t first_from(uint64_t set, int32_t low)
{
    if (low > 63) return -1;
    set = set >> low << low;
    return set ? __builtin_ctzll(set) : -1;
}

/* The first second of a day, from `from_s` on, that matches; -1: none is left. */
static int32_t next_of_day(const Cron *cron, int32_t from_s)
{
    int32_t hour = from_s / 3600, minute = from_s / 60 % 60, second = from_s % 60;
    for (int32_t at; (at = first_from(cron->hours, hour)) >= 0 && at < 24; hour = at + 1) {
        if (at > hour) minute = second = 0;
        for (int32_t in; (in = first_from(cron->minutes, minute)) >= 0; minute = in + 1) {
            if (in > minute) second = 0;
            int32_t exact = first_from(cron->seconds, second);
            if (exact >= 0) return at * 3600 + in * 60 + exact;
            second = 0;
        }
        minute = second = 0;
    }
    return -1;
}

/* The first matching reading of a clock in [from_s, until_s). */
static bool next_on_wall(const Cron *cron, int64_t from_s, int64_t until_s, int64_t *out_s)
{
    for (int64_t days = floor_div(from_s, DAY_S); days * DAY_S < until_s; days++) {
        int32_t begin = days == floor_div(from_s, DAY_S) ? (int32_t)floor_rem(from_s, DAY_S) : 0;
        int32_t second = has_day(cron, days) ? next_of_day(cron, begin) : -1;
        if (second < 0) continue;
        *out_s = days * DAY_S + second;
        return *out_s < until_s;
    }
    return false;
}

/* --- instants ------------------------------------------------------------------------------------------------------ */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

bool cron_next(const Cron *cron, const Timezone *zone, int64_t after_s, int64_t *out_s)
{
    int64_t end_s = after_s + CRON_YEAR_COUNT_MAX * INT64_C(366) * DAY_S, at_s = after_s + 1, found_s;
    while (at_s < end_s) {
        ZoneSpan span = timezone_at(zone, at_s);
        int64_t until_s = least(span.until_s, end_s), from_s = at_s;
        if (cron->is_fixed && span.from_s > INT64_MIN) {
            /* What the clock showed before it was put back has been. */
            int64_t repeated_s = span.from_s + timezone_at(zone, span.from_s - 1).offset_s - span.offset_s;
            if (repeated_s > from_s) from_s = least(repeated_s, until_s);
        }
        if (next_on_wall(cron, from_s + span.offset_s, until_s + span.offset_s, &found_s)) {
            *out_s = found_s - span.offset_s;
            return true;
        }
        if (until_s == end_s) break;
        int32_t gap_s = timezone_at(zone, until_s).offset_s - span.offset_s;
        int64_t wall_s = until_s + span.offset_s;
        if (cron->is_fixed && gap_s > 0 && gap_s <= GAP_S_MAX && next_on_wall(cron, wall_s, wall_s + gap_s, &found_s)) {
            *out_s = until_s;
            return true;
        }
        at_s = until_s;
    }
    return false;
}
