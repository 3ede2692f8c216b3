/* civil.h - dates of the Gregorian calendar, counted in days since 1970-01-01.
 *
 * The calendar is extended without end in both directions (there is a year 0, and negative ones). Months and days out of
 * their range are carried over: month 14 is February of the next year, day 0 the last one of the month before.
 *
 * Owns: nothing.     Fails: never.     Bounds: |year| <= CIVIL_YEAR_MAX.     Thread: pure, any.
 */
#ifndef BASE_CIVIL_H
#define BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define CIVIL_YEAR_MAX INT64_C(300000000000)        /* what an int64 of seconds can reach, rounded up */
#define CIVIL_DAY_S 86400

typedef struct CivilDate {
    int64_t year;
    int32_t month, day;             /* from 1 */
} CivilDate;

typedef struct CivilTime {
    CivilDate date;
    int32_t hour, minute, second;
} CivilTime;

int64_t   civil_days(int64_t year, int64_t month, int64_t day);
CivilDate civil_date(int64_t days);
/* Seconds since 1970 of a clock that reads so, and back. */
int64_t   civil_seconds(const CivilTime *time);
CivilTime civil_time(int64_t seconds);

/* "2026-11-16T01:25:00.123Z": milliseconds since 1970 as people and programs are shown them, and back (exactly that form). */
void civil_print_ms(Buf *buf, int64_t ms);
bool civil_read_ms(Str text, int64_t *out_ms);
/* What others write for a time (RFC 3339): "2026-11-16T01:25:00Z", "2026-11-16t01:25:00.5+02:00". Of the digits of a second three are kept. */
bool civil_read_time(Str text, int64_t *out_ms);

int32_t civil_weekday(int64_t days);                    /* 0 is Sunday */
int32_t civil_year_day(CivilDate date);                 /* from 1 */
int32_t civil_month_days(int64_t year, int32_t month);
bool    civil_is_leap(int64_t year);

/* Division that rounds down, and what is left, never negative. */
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t floor_rem(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

#endif
