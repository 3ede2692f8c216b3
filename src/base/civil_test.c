#include "base/civil.h"
#include "harness/test.h"

TEST(days_and_dates_agree_with_known_ones, "")
{
    static const struct {
        const char *name;
        int64_t year;
        int32_t month, day;
        int64_t days;
        int32_t weekday, year_day;
    } cases[] = {
        { "the epoch",                    1970, 1, 1, 0, 4, 1 },
        { "the day before",               1969, 12, 31, -1, 3, 365 },
        { "a leap day",                   2020, 2, 29, 18321, 6, 60 },
        { "a century without a leap day", 1900, 3, 1, -25508, 4, 60 },
        { "a century with one",           2000, 3, 1, 11017, 3, 61 },
        { "the year 0",                   0, 1, 1, -719528, 6, 1 },
        { "a negative year",              -1, 12, 31, -719529, 5, 365 },
        { "the last nanosecond's day",    2262, 4, 11, 106751, 5, 101 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        EXPECT_INT(civil_days(cases[i].year, cases[i].month, cases[i].day), cases[i].days);
        CivilDate date = civil_date(cases[i].days);
        EXPECT_INT(date.year, cases[i].year);
        EXPECT_INT(date.month, cases[i].month);
        EXPECT_INT(date.day, cases[i].day);
        EXPECT_INT(civil_weekday(cases[i].days), cases[i].weekday);
        EXPECT_INT(civil_year_day(date), cases[i].year_day);
    }
}

TEST(every_day_of_a_thousand_years_comes_back, "")
{
    CivilDate before = civil_date(civil_days(1599, 12, 31));
    for (int64_t days = civil_days(1600, 1, 1); days < civil_days(2600, 1, 1); days++) {
        CivilDate date = civil_date(days);
        REQUIRE(civil_days(date.year, date.month, date.day) == days);
        REQUIRE(date.day >= 1 && date.day <= civil_month_days(date.year, date.month));
        bool was_last = before.day == civil_month_days(before.year, before.month);
        bool follows = was_last ? date.day == 1 : date.day == before.day + 1 && date.month == before.month;
        REQUIRE(follows);
        before = date;
    }
}

TEST(months_and_days_out_of_range_are_carried_over, "")
{
    EXPECT_INT(civil_days(2020, 14, 1), civil_days(2021, 2, 1));
    EXPECT_INT(civil_days(2020, 0, 1), civil_days(2019, 12, 1));
    EXPECT_INT(civil_days(2020, -11, 31), civil_days(2019, 1, 31));
    EXPECT_INT(civil_days(2021, 3, 0), civil_days(2021, 2, 28));
    EXPECT_INT(civil_days(2021, 10, 32), civil_days(2021, 11, 1));
}

TEST(seconds_of_a_clock_come_back, "")
{
    static const int64_t seconds[] = { 0, -1, 86399, 86400, -86400, -86401, 1517832000, -9223372037 };
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        CivilTime time = civil_time(seconds[i]);
        EXPECT_INT(civil_seconds(&time), seconds[i]);
        EXPECT(time.hour >= 0 && time.minute >= 0 && time.second >= 0);
    }
    CivilTime noon = civil_time(1517832000);
    EXPECT_INT(noon.date.day, 5);
    EXPECT_INT(noon.hour, 12);
}

TEST(times_are_printed_and_read_as_utc_text, "")
{
    static const struct { int64_t ms; const char *text; } cases[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { -1, "1969-12-31T23:59:59.999Z" },
        { INT64_C(1763251200123), "2025-11-16T00:00:00.123Z" },
        { INT64_C(951782400000), "2000-02-29T00:00:00.000Z" },
        { INT64_C(253402300799999), "9999-12-31T23:59:59.999Z" },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char storage[64];
        int64_t ms = 7;
        Buf buf = buf_on(storage, sizeof storage);
        ROW(cases[i].text);
        civil_print_ms(&buf, cases[i].ms);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].text));
        EXPECT(civil_read_ms(str_of(cases[i].text), &ms));
        EXPECT_INT(ms, cases[i].ms);
    }
    static const char *const refused[] = {
        "", "2025-11-16T00:00:00.123", "2025-11-16T00:00:00.123z", "2025-11-16 00:00:00.123Z", "2025-13-16T00:00:00.123Z",
        "2025-02-29T00:00:00.000Z", "2025-11-16T24:00:00.000Z", "2025-11-16T00:60:00.000Z", "2025-11-16T00:00:00.1234Z",
        "2o25-11-16T00:00:00.123Z",
    };
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int64_t ms = 7;
        ROW(refused[i]);
        EXPECT(!civil_read_ms(str_of(refused[i]), &ms));
        EXPECT_INT(ms, 7);
    }
    char storage[64];
    for (int side = 0; side < 2; side++) {
        Buf buf = buf_on(storage, sizeof storage);
        civil_print_ms(&buf, side ? INT64_MAX : INT64_MIN);
        EXPECT(!buf_overflowed(&buf));
    }
}

TEST(times_are_read_as_others_write_them, "")
{
    static const struct { const char *text; int64_t ms; } cases[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T00:00:00.000Z", 0 },
        { "1970-01-01t00:00:01.5z", 1500 },
        { "1970-01-01T00:00:00.0019999Z", 1 },
        { "1970-01-01T02:00:00+02:00", 0 },
        { "1969-12-31T18:30:00.25-05:30", 250 },
        { "2027-01-31T00:00:00-00:00", INT64_C(1801353600000) },
        { "9999-12-31T23:59:59Z", INT64_C(253402300799000) },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = 7;
        ROW(cases[i].text);
        EXPECT(civil_read_time(str_of(cases[i].text), &ms));
        EXPECT_INT(ms, cases[i].ms);
    }
    static const char *const refused[] = {
        "", "2025-11-16", "2025-11-16T00:00:00", "2025-11-16 00:00:00Z", "2025-11-16T00:00:00.Z", "2025-11-16T00:00Z",
        "2025-02-29T00:00:00Z", "2025-11-16T24:00:00Z", "2025-11-16T00:00:60Z", "2025-11-16T00:00:00+2:00", "2025-11-16T00:00:00+24:00",
        "2025-11-16T00:00:00+02:60", "2025-11-16T00:00:00+0200", "2025-11-16T00:00:00ZZ", "2025-11-16T00:00:00.5", "-025-11-16T00:00:00Z",
    };
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int64_t ms = 7;
        ROW(refused[i]);
        EXPECT(!civil_read_time(str_of(refused[i]), &ms));
        EXPECT_INT(ms, 7);
    }
}
