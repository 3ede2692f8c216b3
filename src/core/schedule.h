/* schedule.h - when a schedule starts something: its cron expression, and the days and windows that hold it back.
 *
 * An occurrence is an instant that the expression names. It is barred where its day is frozen or in none of the days of a
 * calendar, where its time is in a blackout window, or where there are release windows and it is in none of them. A barred
 * occurrence is told with its reason and starts nothing. All of it goes by the wall clock of the schedule's zone.
 *
 *   days      "Dec 25" (each year), "2026-12-25", two of a kind with ".." between them
 *   window    "Sun 02:00-06:00", "Mon-Fri 22:00-04:00", "Sat,Sun", "Dec 24..Dec 26", "03:00-04:00": days, a time of day or both;
 *             one that ends before it begins goes on into the next day
 *   calendar  {"weekdays": ["Mon", ...], "include": [days], "exclude": [days]}: exclude counts before include, include before
 *             weekdays; without weekdays and include it has all days
 *
 * Owns:   everything lives in the arena given.
 * Fails:  ERR_INVALID with what is wrong, in the words of the definition.
 * Bounds: SCHEDULE_ENTRY_COUNT_MAX days and windows of a kind.     Thread: pure, any.
 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "base/arena.h"
#include "core/cron.h"
#include "value/value.h"

/* One day or a stretch of them: of each year, or once. */
typedef struct DayRange {
    bool is_yearly;
    int64_t from, last;             /* yearly: month times 100 plus day; else days since 1970. Both are in it. */
    Str text;                       /* as it was written */
} DayRange;

typedef struct Window {
    uint8_t weekdays;               /* bit n: on that day, 0 is Sunday */
    bool has_days;
    DayRange days;
    int32_t from_minute, until_minute;      /* of the day; the second is outside, and above 1440 where it ends on the next day */
    Str text;                       /* as it was written */
    Str set;                        /* the name of the set that it is in; empty: of none */
} Window;

typedef struct Calendar {
    uint8_t weekdays;
    bool has_weekdays;
    const DayRange *included, *excluded;
    uint32_t included_count, excluded_count;
    Str name;
} Calendar;

MUST_USE Status day_range_read(Str text, DayRange *out_range, Error *err);
bool            day_range_has(const DayRange *range, int64_t days);
bool            weekday_read(Str text, uint32_t *out_weekday);      /* "Mon", "monday": 0 is Sunday */
MUST_USE Status window_read(Str text, Window *out_window, Error *err);
/* `wall_s`: what the clock on the wall shows, in seconds since 1970. */
bool            window_has(const Window *window, int64_t wall_s);
MUST_USE Status calendar_read(Arena *arena, Value settings, Calendar *out_calendar, Error *err);
bool            calendar_has(const Calendar *calendar, int64_t days);

typedef enum ScheduleBar { BAR_NONE, BAR_FREEZE, BAR_CALENDAR, BAR_BLACKOUT, BAR_RELEASE, SCHEDULE_BAR_COUNT } ScheduleBar;
const char *schedule_bar_name(ScheduleBar bar);         /* "freeze", "calendar", "blackout", "release-window" */
/* Whether somebody may override it for one occurrence (F-042). A calendar says which days there are at all: that is another schedule. */
bool        schedule_bar_yields(ScheduleBar bar);

typedef struct Schedule {
    Cron cron;
    Timezone zone;
    const DayRange *freezes;
    const Calendar *calendars;
    const Window *blackouts, *releases;
    uint32_t freeze_count, calendar_count, blackout_count, release_count;
} Schedule;

/* What stands behind the names in a schedule: the settings of a calendar, the list of a window set. NULL: there is none. */
typedef struct ScheduleNames {
    const Value *(*find)(void *context, bool is_calendar, Str name);
    void *context;
    ZoneSource zones;
} ScheduleNames;

/* `settings` is a schedule as a plan has it: an expression, or an object. `seed` decides what H stands for. */
MUST_USE Status schedule_read(Arena *arena, Value settings, Str seed, const ScheduleNames *names, Schedule *out_schedule, Error *err);

typedef struct Occurrence { int64_t at_s; ScheduleBar bar; } Occurrence;
/* The next one after that instant, barred or not. False where there is none: see cron_next(). */
bool schedule_next(const Schedule *schedule, int64_t after_s, Occurrence *out_occurrence);
/* Whether that instant is one. */
bool schedule_has(const Schedule *schedule, int64_t at_s);

/* What holds an occurrence back: the first of each kind. Of release windows, which it is in none of, the set of the first is named. */
typedef struct ScheduleHold { ScheduleBar bar; Str name, window; } ScheduleHold;
uint32_t schedule_holds(const Schedule *schedule, int64_t at_s, ScheduleHold out_holds[SCHEDULE_BAR_COUNT]);

#endif
