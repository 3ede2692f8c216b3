#include "core/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/civil.h"
#include "harness/test.h"
#include "value/json.h"

/* --- instants ------------------------------------------------------------------------------------------------------- */

/* "2013-01-01T00:01:00+01:00" as seconds since 1970; a fraction is left out. */
static int64_t instant(Str text)
{
    char copy[64] = "";
    CivilTime time = { 0 };
    int year, hours, minutes;
    char sign;
    snprintf(copy, sizeof copy, "%.*s%.*s", STR_ARG(str_slice(text, 0, 19)), STR_ARG(str_slice(text, text.len - 6, text.len)));
    int count = sscanf(copy, "%d-%d-%dT%d:%d:%d%c%d:%d", &year, &time.date.month, &time.date.day, &time.hour, &time.minute, &time.second,
                       &sign, &hours, &minutes);
    EXPECT_INT(count, 9);
    time.date.year = year;
    return civil_seconds(&time) - (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

static Str read_zone(void *owner, Str name)
{
    char path[256];
    (void)owner;
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%.*s", STR_ARG(name));
    return test_read_file(path);
}

static const Value *find_nothing(void *context, bool is_calendar, Str name)
{
    (void)is_calendar, (void)name;
    return context;
}

TEST(the_published_schedules_are_due_when_they_say, "")
{
    const char *path = test_shared_dir("schedule-cases/cron.json");
    if (!path) NOT_RUN("the schedule cases are not on this machine");
    Arena arena;
    Value cases;
    Error err;
    uint32_t count = 0;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(json_parse(&arena, test_read_file(path), &cases, &err), &err);
    for (uint32_t i = 0; i < cases.count; i++) {
        Value row = cases.items[i];
        const Value *next = value_get_text(row, "next"), *other = value_get_text(row, "alt");
        if (value_get_bool(row, "error", false)) continue;
        if (other && value_get_text(*other, "dst_once")) next = value_get_text(*other, "dst_once");
        Timezone zone = timezone_utc();
        Str name = value_get_string(row, "tz", STR("UTC"));
        Cron cron;
        ROW(arena_format(&arena, "%.*s %.*s %.*s", STR_ARG(value_get_string(row, "expr", STR(""))), STR_ARG(name),
                         STR_ARG(value_get_string(row, "from", STR("")))).ptr);
        if (!str_is_text(name, "UTC")) REQUIRE_OK(timezone_read(read_zone(NULL, name), &zone, &err), &err);
        REQUIRE_OK(cron_parse(value_get_string(row, "expr", STR("")), STR("seed"), &cron, &err), &err);
        int64_t at = instant(value_get_string(row, "from", STR("")));
        for (uint32_t k = 0; k < next->count; k++) {
            int64_t want = instant(value_text(next->items[k]));
            if (!test_expect(cron_next(&cron, &zone, at, &at), __FILE__, __LINE__, "it is due again")) break;
            EXPECT_INT(at, want);
        }
        if (value_get_bool(row, "never", false)) EXPECT(!cron_next(&cron, &zone, at, &at));
        count++;
    }
    EXPECT_INT(count, 238);
    arena_deinit(&arena);
}

/* --- days and windows ------------------------------------------------------------------------------------------------ */

TEST(days_and_windows_are_read_and_refused, "")
{
    static const struct { const char *text; bool is_day, is_window; } rows[] = {
        { "Dec 25", true, true },       { "2026-12-25", true, true },          { "Dec 24..Jan 2", true, true },
        { "Feb 29", true, true },       { "2026-02-29", false, false },        { "Feb 30", false, false },
        { "2026-12-25..2026-12-24", false, false },                            { "2026-12-25..Dec 26", false, false },
        { "", false, false },           { "Sun", false, true },                { "Sun 02:00-06:00", false, true },
        { "Mon-Fri 22:00-04:00", false, true },                                { "saturday,sunday", false, true },
        { "03:00-24:00", false, true }, { "Dec 24 00:00-12:00", false, true }, { "24:00-25:00", false, false },
        { "Sun 02:00", false, false },  { "Someday 02:00-03:00", false, false }, { "02:60-03:00", false, false },
        { "Sund", false, false },       { ":", false, false },                 { "Mon-", false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DayRange range;
        Window window;
        Error err;
        ROW(rows[i].text);
        EXPECT_INT(day_range_read(str_of(rows[i].text), &range, &err) == OK, rows[i].is_day);
        EXPECT_INT(window_read(str_of(rows[i].text), &window, &err) == OK, rows[i].is_window);
    }
}

TEST(a_window_goes_on_over_midnight, "")
{
    static const struct { const char *window, *at; bool is_in; } rows[] = {
        { "Sun 02:00-06:00", "2026-11-15T02:00:00+00:00", true },   { "Sun 02:00-06:00", "2026-11-15T05:59:59+00:00", true },
        { "Sun 02:00-06:00", "2026-11-15T06:00:00+00:00", false },  { "Sun 02:00-06:00", "2026-11-16T03:00:00+00:00", false },
        { "Fri 22:00-04:00", "2026-11-20T23:00:00+00:00", true },   { "Fri 22:00-04:00", "2026-11-21T03:59:00+00:00", true },
        { "Fri 22:00-04:00", "2026-11-21T04:00:00+00:00", false },  { "Fri 22:00-04:00", "2026-11-20T03:00:00+00:00", false },
        { "Dec 24..Jan 2", "2026-12-31T12:00:00+00:00", true },     { "Dec 24..Jan 2", "2027-01-03T00:00:00+00:00", false },
        { "Sat-Mon", "2026-11-15T00:00:00+00:00", true },           { "Sat-Mon", "2026-11-17T00:00:00+00:00", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Window window;
        Error err;
        ROW(rows[i].at);
        REQUIRE_OK(window_read(str_of(rows[i].window), &window, &err), &err);
        EXPECT_INT(window_has(&window, instant(str_of(rows[i].at))), rows[i].is_in);
    }
}

/* --- schedules -------------------------------------------------------------------------------------------------------- */

typedef struct Names { Value calendar, windows; } Names;

static const Value *find_named(void *context, bool is_calendar, Str name)
{
    const Names *names = context;
    if (str_is_text(name, "nobody")) return NULL;
    return is_calendar ? &names->calendar : &names->windows;
}

static Value parsed(Arena *arena, const char *text)
{
    Value value;
    Error err;
    EXPECT_OK(json_parse(arena, str_of(text), &value, &err), &err);
    return value;
}

TEST(what_is_barred_is_told_with_its_reason, "proves: F-038 F-040 F-041")
{
    static const struct { const char *schedule, *from, *at, *bar; } rows[] = {
        { "\"0 3 * * *\"", "2026-11-14T12:00:00+00:00", "2026-11-15T03:00:00+00:00", "" },
        { "{\"cron\":\"0 3 * * *\",\"blackout\":\"w\"}", "2026-11-14T12:00:00+00:00", "2026-11-15T03:00:00+00:00", "blackout" },
        { "{\"cron\":\"0 3 * * *\",\"blackout\":[\"w\"]}", "2026-11-15T12:00:00+00:00", "2026-11-16T03:00:00+00:00", "" },
        { "{\"cron\":\"0 3 * * *\",\"release_windows\":[\"w\"]}", "2026-11-15T12:00:00+00:00", "2026-11-16T03:00:00+00:00",
          "release-window" },
        { "{\"cron\":\"0 3 * * *\",\"release_windows\":[\"w\"]}", "2026-11-14T12:00:00+00:00", "2026-11-15T03:00:00+00:00", "" },
        { "{\"cron\":\"0 3 * * *\",\"calendar\":\"c\"}", "2026-11-14T12:00:00+00:00", "2026-11-15T03:00:00+00:00", "calendar" },
        { "{\"cron\":\"0 3 * * *\",\"calendar\":\"c\"}", "2026-11-15T12:00:00+00:00", "2026-11-16T03:00:00+00:00", "" },
        { "{\"cron\":\"0 3 * * *\",\"calendar\":\"c\"}", "2026-12-24T12:00:00+00:00", "2026-12-25T03:00:00+00:00", "calendar" },
        { "{\"cron\":\"0 3 * * *\",\"calendar\":\"c\"}", "2026-11-20T12:00:00+00:00", "2026-11-21T03:00:00+00:00", "" },
        { "{\"cron\":\"30 0 * * *\",\"timezone\":\"Europe/Berlin\",\"freeze_windows\":[\"Dec 25\"]}", "2026-12-24T12:00:00+00:00",
          "2026-12-25T00:30:00+01:00", "freeze" },
        { "{\"cron\":\"30 0 * * *\",\"timezone\":\"Europe/Berlin\",\"freeze_windows\":[\"Dec 25\"]}", "2026-12-25T12:00:00+00:00",
          "2026-12-26T00:30:00+01:00", "" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Names named = { parsed(&arena, "{\"weekdays\":[\"Mon\",\"Tue\",\"Wed\",\"Thu\",\"Fri\"],\"include\":[\"2026-11-21\"],"
                                   "\"exclude\":[\"Dec 25\"]}"),
                    parsed(&arena, "[\"Sun 02:00-06:00\"]") };
    ScheduleNames names = { find_named, &named, { read_zone, NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Schedule schedule;
        Occurrence occurrence;
        Error err;
        ROW(rows[i].schedule);
        REQUIRE_OK(schedule_read(&arena, parsed(&arena, rows[i].schedule), STR("w"), &names, &schedule, &err), &err);
        REQUIRE(schedule_next(&schedule, instant(str_of(rows[i].from)), &occurrence));
        EXPECT_INT(occurrence.at_s, instant(str_of(rows[i].at)));
        EXPECT_STR(str_of(schedule_bar_name(occurrence.bar)), str_of(rows[i].bar));
    }
    arena_deinit(&arena);
}

TEST(everything_that_holds_an_occurrence_is_named_and_says_whether_it_yields, "proves: F-042")
{
    static const char settings[] = "{\"cron\":\"0 3 * * *\",\"calendar\":\"c\",\"blackout\":\"w\",\"release_windows\":[\"w\"],"
                                   "\"freeze_windows\":[\"Nov 15..Nov 16\"]}";
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Names named = { parsed(&arena, "{\"weekdays\":[\"Mon\"]}"), parsed(&arena, "[\"Sat 01:00-02:00\",\"Sun 02:00-06:00\"]") };
    ScheduleNames names = { find_named, &named, { read_zone, NULL } };
    Schedule schedule;
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    Error err;
    REQUIRE_OK(schedule_read(&arena, parsed(&arena, settings), STR("w"), &names, &schedule, &err), &err);
    int64_t sunday = instant(STR("2026-11-15T03:00:00+00:00")), monday = instant(STR("2026-11-16T03:00:00+00:00"));
    REQUIRE(schedule_holds(&schedule, sunday, holds) == 3);
    EXPECT_INT(holds[0].bar, BAR_FREEZE);
    EXPECT_STR(holds[0].window, STR("Nov 15..Nov 16"));
    EXPECT_INT(holds[1].bar, BAR_CALENDAR);
    EXPECT_STR(holds[1].name, STR("c"));
    EXPECT(!schedule_bar_yields(holds[1].bar));
    EXPECT_INT(holds[2].bar, BAR_BLACKOUT);
    EXPECT_STR(holds[2].name, STR("w"));
    EXPECT_STR(holds[2].window, STR("Sun 02:00-06:00"));
    EXPECT(schedule_bar_yields(holds[0].bar) && schedule_bar_yields(holds[2].bar));
    REQUIRE(schedule_holds(&schedule, monday, holds) == 2);
    EXPECT_INT(holds[1].bar, BAR_RELEASE);
    EXPECT(schedule_bar_yields(BAR_RELEASE));
    EXPECT_INT(schedule_holds(&schedule, instant(STR("2026-11-23T03:00:00+00:00")), holds), 1);     /* outside of its release windows alone */
    EXPECT(schedule_has(&schedule, sunday));
    EXPECT(!schedule_has(&schedule, sunday + 1) && !schedule_has(&schedule, sunday - 1));
    arena_deinit(&arena);
}

TEST(a_schedule_that_names_what_is_not_there_is_refused, "")
{
    static const struct { const char *schedule, *says; } rows[] = {
        { "\"0 3 * *\"", "five fields" },
        { "{\"cron\":\"0 3 * * *\",\"calendar\":\"nobody\"}", "no calendar 'nobody'" },
        { "{\"cron\":\"0 3 * * *\",\"blackout\":\"nobody\"}", "no window set 'nobody'" },
        { "{\"cron\":\"0 3 * * *\",\"release_windows\":[\"nobody\"]}", "no window set" },
        { "{\"cron\":\"0 3 * * *\",\"freeze_windows\":[\"Feb 31\"]}", "no day" },
        { "{\"cron\":\"0 3 * * *\",\"timezone\":\"../etc\"}", "no time zone" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    ScheduleNames names = { find_nothing, NULL, { read_zone, NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Schedule schedule;
        Error err;
        ROW(rows[i].schedule);
        EXPECT(schedule_read(&arena, parsed(&arena, rows[i].schedule), STR("w"), &names, &schedule, &err) != OK);
        EXPECT(strstr(err.text, rows[i].says) != NULL);
    }
    arena_deinit(&arena);
}
