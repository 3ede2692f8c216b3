#include "core/schedule.h"

#include <inttypes.h>

#include "base/civil.h"
#include "base/limits.h"

#define DAY_MINUTE_COUNT 1440

/* --- days ---------------------------------------------------------------------------------------------------------- */

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char weekday_names[] = "SunMonTueWedThuFriSat";

static bool read_digits(Str text, size_t from, size_t to, int32_t *out)
{
    uint64_t number;
    if (to - from > 4 || !str_to_u64(str_slice(text, from, to), &number)) return false;
    *out = (int32_t)number;
    return true;
}

/* The three letters in a list of such, in any case; -1 where they are none of it. */
static int32_t find_name(const char *names, uint32_t count, Str text)
{
    for (uint32_t i = 0; text.len >= 3 && i < count; i++) {
        uint32_t same = 0;
        while (same < 3 && ascii_to_lower(text.ptr[same]) == ascii_to_lower(names[3 * i + same])) same++;
        if (same == 3) return (int32_t)i;
    }
    return -1;
}

static bool day_exists(int64_t year, int32_t month, int32_t day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= civil_month_days(year, month);
}

static bool read_day(Str text, bool *out_is_yearly, int64_t *out)
{
    int32_t year, month, day;
    *out_is_yearly = !(text.len == 10 && text.ptr[4] == '-' && text.ptr[7] == '-');
    if (!*out_is_yearly) {
        if (!read_digits(text, 0, 4, &year) || !read_digits(text, 5, 7, &month) || !read_digits(text, 8, 10, &day)) return false;
        *out = civil_days(year, month, day);
        return day_exists(year, month, day);
    }
    if (text.len < 5 || text.len > 6 || text.ptr[3] != ' ' || !read_digits(text, 4, text.len, &day)) return false;
    month = find_name(month_names, 12, text) + 1;
    *out = month * 100 + day;
    return day_exists(/* year= */ 2000, month, day);         /* a leap year: the 29th of February is a day */
}

Status day_range_read(Str text, DayRange *out_range, Error *err)
{
    size_t dots = 0;
    DayRange range = { 0 };
    bool is_yearly;
    while (dots + 1 < text.len && !(text.ptr[dots] == '.' && text.ptr[dots + 1] == '.')) dots++;
    bool is_range = dots + 1 < text.len;
    Str first = str_trim(str_slice(text, 0, is_range ? dots : text.len));
    if (!read_day(first, &range.is_yearly, &range.from)) return error_set(err, ERR_INVALID, "'%.*s' is no day", STR_ARG(text));
    range.last = range.from;
    if (is_range && (!read_day(str_trim(str_slice(text, dots + 2, text.len)), &is_yearly, &range.last) || is_yearly != range.is_yearly))
        return error_set(err, ERR_INVALID, "'%.*s' is no day", STR_ARG(text));
    if (!range.is_yearly && range.last < range.from) return error_set(err, ERR_INVALID, "the range ends before it begins");
    range.text = text;
    *out_range = range;
    return OK;
}

bool day_range_has(const DayRange *range, int64_t days)
{
    CivilDate date = civil_date(days);
    int64_t day = range->is_yearly ? date.month * 100 + date.day : days;
    if (range->from <= range->last) return day >= range->from && day <= range->last;
    return day >= range->from || day <= range->last;        /* over the end of the year */
}

bool weekday_read(Str text, uint32_t *out_weekday)
{
    static const char *const rests[] = { "day", "day", "sday", "nesday", "rsday", "day", "urday" };
    int32_t found = find_name(weekday_names, 7, text);
    if (found < 0) return false;
    *out_weekday = (uint32_t)found;
    if (text.len == 3) return true;
    Str rest = str_slice(text, 3, text.len), want = str_of(rests[found]);
    bool is_same = rest.len == want.len;
    for (size_t i = 0; is_same && i < rest.len; i++) is_same = ascii_to_lower(rest.ptr[i]) == want.ptr[i];
    return is_same;
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

/* "02:00" as minutes; 24:00 is the end of a day. */
static bool read_time(Str text, int32_t *out_minute)
{
    int32_t hour, minute;
    if (text.len != 5 || text.ptr[2] != ':' || !read_digits(text, 0, 2, &hour) || !read_digits(text, 3, 5, &minute)) return false;
    *out_minute = hour * 60 + minute;
    return minute < 60 && *out_minute <= DAY_MINUTE_COUNT;
}

static bool read_times(Str text, Window *window)
{
    size_t dash = str_find(text, '-', 0);
    if (dash >= text.len || !read_time(str_trim(str_slice(text, 0, dash)), &window->from_minute)
        || !read_time(str_trim(str_slice(text, dash + 1, text.len)), &window->until_minute)) return false;
    if (window->until_minute <= window->from_minute) window->until_minute += DAY_MINUTE_COUNT;
    return window->from_minute < DAY_MINUTE_COUNT;
}

/* "Mon-Fri", "Sat,Sun". */
static bool read_weekdays(Str text, uint8_t *out_weekdays)
{
    *out_weekdays = 0;
    for (size_t at = 0; at <= text.len;) {
        size_t end = str_find(text, ',', at), dash;
        Str part = str_trim(str_slice(text, at, end));
        uint32_t first, last;
        dash = str_find(part, '-', 0);
        if (!weekday_read(str_trim(str_slice(part, 0, dash)), &first)) return false;
        last = first;
        if (dash < part.len && !weekday_read(str_trim(str_slice(part, dash + 1, part.len)), &last)) return false;
        for (uint32_t day = first;; day = (day + 1) % 7) {
            *out_weekdays |= (uint8_t)(1u << day);
            if (day == last) break;
        }
        at = end + 1;
    }
    return true;
}

Status window_read(Str text, Window *out_window, Error *err)
{
    Window window = { .weekdays = 0x7f, .until_minute = DAY_MINUTE_COUNT, .text = text };
    Str days = str_trim(text), time = { 0 };
    size_t colon = str_find(days, ':', 0);
    if (colon < days.len) {
        size_t begin = colon >= 2 ? colon - 2 : 0;
        time = str_slice(days, begin, days.len);
        days = str_trim(str_slice(days, 0, begin));
    }
    bool is_right = days.len || time.len;
    if (time.len) is_right = read_times(time, &window);
    if (is_right && days.len && !read_weekdays(days, &window.weekdays)) {
        window.weekdays = 0x7f;
        window.has_days = true;
        is_right = day_range_read(days, &window.days, err) == OK;
    }
    if (!is_right) return error_set(err, ERR_INVALID, "'%.*s' is no window", STR_ARG(text));
    *out_window = window;
    return OK;
}

static bool window_begins(const Window *window, int64_t days)
{
    if (window->has_days && !day_range_has(&window->days, days)) return false;
    return window->weekdays >> civil_weekday(days) & 1;
}

bool window_has(const Window *window, int64_t wall_s)
{
    int64_t days = floor_div(wall_s, CIVIL_DAY_S);
    int32_t minute = (int32_t)(floor_rem(wall_s, CIVIL_DAY_S) / 60);
    if (window_begins(window, days) && minute >= window->from_minute && minute < window->until_minute) return true;
    return window_begins(window, days - 1) && minute + DAY_MINUTE_COUNT < window->until_minute;
}

/* --- lists ----------------------------------------------------------------------------------------------------------- */

/* A text alone is a list of one. */
static uint32_t list_count(const Value *list) { return !list ? 0 : list->kind == VALUE_ARRAY ? list->count : list->kind == VALUE_STRING; }
static Str list_text(const Value *list, uint32_t i)
{
    const Value *item = list->kind == VALUE_ARRAY ? &list->items[i] : list;
    return item->kind == VALUE_STRING ? value_text(*item) : STR("");
}

static Status read_days(Arena *arena, const Value *list, const DayRange **out, uint32_t *out_count, Error *err)
{
    uint32_t count = list_count(list);
    Status status = OK;
    if (count > SCHEDULE_ENTRY_COUNT_MAX) return error_set(err, ERR_LIMIT, "a list of days has at most %u", SCHEDULE_ENTRY_COUNT_MAX);
    DayRange *days = ARENA_ARRAY(arena, DayRange, count + 1);
    for (uint32_t i = 0; !status && i < count; i++) status = day_range_read(arena_copy(arena, list_text(list, i)), &days[i], err);
    *out = days;
    *out_count = count;
    return status;
}

Status calendar_read(Arena *arena, Value settings, Calendar *out_calendar, Error *err)
{
    const Value *weekdays = value_get_text(settings, "weekdays");
    Calendar calendar = { .has_weekdays = list_count(weekdays) > 0 };
    for (uint32_t i = 0; i < list_count(weekdays); i++) {
        uint32_t weekday;
        if (!weekday_read(list_text(weekdays, i), &weekday))
            return error_set(err, ERR_INVALID, "'%.*s' is no day of the week", STR_ARG(list_text(weekdays, i)));
        calendar.weekdays |= (uint8_t)(1u << weekday);
    }
    Status status = read_days(arena, value_get_text(settings, "include"), &calendar.included, &calendar.included_count, err);
    if (!status) status = read_days(arena, value_get_text(settings, "exclude"), &calendar.excluded, &calendar.excluded_count, err);
    if (!status) *out_calendar = calendar;
    return status;
}

static const DayRange *range_with(const DayRange *ranges, uint32_t count, int64_t days)
{
    for (uint32_t i = 0; i < count; i++)
        if (day_range_has(&ranges[i], days)) return &ranges[i];
    return NULL;
}

bool calendar_has(const Calendar *calendar, int64_t days)
{
    if (range_with(calendar->excluded, calendar->excluded_count, days)) return false;
    if (range_with(calendar->included, calendar->included_count, days)) return true;
    if (calendar->has_weekdays) return calendar->weekdays >> civil_weekday(days) & 1;
    return !calendar->included_count;
}

/* --- schedules ---------------------------------------------------------------------------------------------------------- */

typedef struct Reading { Arena *arena; const ScheduleNames *names; Error *err; } Reading;

static Status find_named(const Reading *reading, bool is_calendar, Str name, const Value **out)
{
    *out = reading->names->find(reading->names->context, is_calendar, name);
    if (*out) return OK;
    return error_set(reading->err, ERR_NOT_FOUND, "there is no %s '%.*s'", is_calendar ? "calendar" : "window set", STR_ARG(name));
}

static Status read_windows(const Reading *reading, const Value *list, const Window **out, uint32_t *out_count)
{
    Window *windows = ARENA_ARRAY(reading->arena, Window, SCHEDULE_ENTRY_COUNT_MAX);
    uint32_t count = 0;
    Status status = OK;
    for (uint32_t i = 0; !status && i < list_count(list); i++) {
        const Value *set;
        Str name = arena_copy(reading->arena, list_text(list, i));
        status = find_named(reading, /* is_calendar= */ false, name, &set);
        for (uint32_t k = 0; !status && k < list_count(set); k++) {
            if (count == SCHEDULE_ENTRY_COUNT_MAX)
                return error_set(reading->err, ERR_LIMIT, "a schedule has at most %u windows of a kind", SCHEDULE_ENTRY_COUNT_MAX);
            status = window_read(arena_copy(reading->arena, list_text(set, k)), &windows[count], reading->err);
            if (!status) windows[count++].set = name;
        }
    }
    *out = windows;
    *out_count = count;
    return status;
}

static Status read_calendars(const Reading *reading, const Value *list, const Calendar **out, uint32_t *out_count)
{
    uint32_t count = list_count(list);
    Status status = OK;
    if (count > SCHEDULE_ENTRY_COUNT_MAX)
        return error_set(reading->err, ERR_LIMIT, "a schedule has at most %u calendars", SCHEDULE_ENTRY_COUNT_MAX);
    Calendar *calendars = ARENA_ARRAY(reading->arena, Calendar, count + 1);
    for (uint32_t i = 0; !status && i < count; i++) {
        const Value *settings;
        status = find_named(reading, /* is_calendar= */ true, list_text(list, i), &settings);
        if (!status) status = calendar_read(reading->arena, *settings, &calendars[i], reading->err);
        calendars[i].name = arena_copy(reading->arena, list_text(list, i));
    }
    *out = calendars;
    *out_count = count;
    return status;
}

static Status read_zone(const Reading *reading, Str name, Timezone *out)
{
    *out = timezone_utc();
    if (!name.len || str_is_text(name, "UTC")) return OK;
    const ZoneSource *zones = &reading->names->zones;
    Str bytes = zones->read && timezone_name_is_valid(name) ? zones->read(zones->owner, name) : (Str){ 0 };
    if (!bytes.len) return error_set(reading->err, ERR_NOT_FOUND, "there is no time zone '%.*s' on this machine", STR_ARG(name));
    return timezone_read(bytes, out, reading->err);
}

Status schedule_read(Arena *arena, Value settings, Str seed, const ScheduleNames *names, Schedule *out_schedule, Error *err)
{
    Reading reading = { arena, names, err };
    Schedule schedule = { 0 };
    Str cron = settings.kind == VALUE_STRING ? value_text(settings) : value_get_string(settings, "cron", STR(""));
    Status status = cron_parse(cron, seed, &schedule.cron, err);
    if (!status) status = read_zone(&reading, value_get_string(settings, "timezone", STR("")), &schedule.zone);
    if (!status) status = read_days(arena, value_get_text(settings, "freeze_windows"), &schedule.freezes, &schedule.freeze_count, err);
    if (!status) status = read_calendars(&reading, value_get_text(settings, "calendar"), &schedule.calendars, &schedule.calendar_count);
    if (!status) status = read_windows(&reading, value_get_text(settings, "blackout"), &schedule.blackouts, &schedule.blackout_count);
    if (!status) status = read_windows(&reading, value_get_text(settings, "release_windows"), &schedule.releases, &schedule.release_count);
    if (!status) *out_schedule = schedule;
    return status;
}

static const Window *window_at(const Window *windows, uint32_t count, int64_t wall_s)
{
    for (uint32_t i = 0; i < count; i++)
        if (window_has(&windows[i], wall_s)) return &windows[i];
    return NULL;
}

static const Calendar *calendar_without(const Schedule *schedule, int64_t days)
{
    for (uint32_t i = 0; i < schedule->calendar_count; i++)
        if (!calendar_has(&schedule->calendars[i], days)) return &schedule->calendars[i];
    return NULL;
}

uint32_t schedule_holds(const Schedule *schedule, int64_t at_s, ScheduleHold out_holds[SCHEDULE_BAR_COUNT])
{
    int64_t wall_s = at_s + timezone_at(&schedule->zone, at_s).offset_s, days = floor_div(wall_s, CIVIL_DAY_S);
    const DayRange *freeze = range_with(schedule->freezes, schedule->freeze_count, days);
    const Calendar *calendar = calendar_without(schedule, days);
    const Window *blackout = window_at(schedule->blackouts, schedule->blackout_count, wall_s);
    uint32_t count = 0;
    if (freeze) out_holds[count++] = (ScheduleHold){ .bar = BAR_FREEZE, .window = freeze->text };
    if (calendar) out_holds[count++] = (ScheduleHold){ .bar = BAR_CALENDAR, .name = calendar->name };
    if (blackout) out_holds[count++] = (ScheduleHold){ .bar = BAR_BLACKOUT, .name = blackout->set, .window = blackout->text };
    if (schedule->release_count && !window_at(schedule->releases, schedule->release_count, wall_s))
        out_holds[count++] = (ScheduleHold){ .bar = BAR_RELEASE, .name = schedule->releases[0].set };
    return count;
}

bool schedule_next(const Schedule *schedule, int64_t after_s, Occurrence *out_occurrence)
{
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    if (!cron_next(&schedule->cron, &schedule->zone, after_s, &out_occurrence->at_s)) return false;
    out_occurrence->bar = schedule_holds(schedule, out_occurrence->at_s, holds) ? holds[0].bar : BAR_NONE;
    return true;
}

bool schedule_has(const Schedule *schedule, int64_t at_s)
{
    int64_t next_s;
    return cron_next(&schedule->cron, &schedule->zone, at_s - 1, &next_s) && next_s == at_s;
}

bool schedule_bar_yields(ScheduleBar bar) { return bar != BAR_CALENDAR; }

const char *schedule_bar_name(ScheduleBar bar)
{
    static const char *const names[] = { "", "freeze", "calendar", "blackout", "release-window" };
    return names[bar];
}
