#include "base/civil.h"

#include <inttypes.h>

/* The year is taken to begin in March: the leap day is then its last one, and the months before any given one have
 * (153 m + 2) / 5 days, m counted from March. 400 years have exactly 146097 days; day 0 of an era is 1 March. */
#define ERA_YEARS 400
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468           /* from 0000-03-01 to 1970-01-01 */

int64_t civil_days(int64_t year, int64_t month, int64_t day)
{
    year += floor_div(month - 1, 12);
    int64_t from_march = floor_rem(month - 1, 12) - 2;
    if (from_march < 0) {
        from_march += 12;
        year--;
    }
    int64_t era = floor_div(year, ERA_YEARS);
    int64_t year_of_era = year - era * ERA_YEARS;
    int64_t day_of_year = (153 * from_march + 2) / 5;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - EPOCH_DAYS + (day - 1);
}

CivilDate civil_date(int64_t days)
{
    days += EPOCH_DAYS;
    int64_t era = floor_div(days, ERA_DAYS);
    int64_t day_of_era = days - era * ERA_DAYS;
    /* The leap days so far (one in 4 years, none in 100) are taken out, so that every year has 365 days. */
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t from_march = (5 * day_of_year + 2) / 153;
    CivilDate date;
    date.day = (int32_t)(day_of_year - (153 * from_march + 2) / 5 + 1);
    date.month = (int32_t)(from_march < 10 ? from_march + 3 : from_march - 9);
    date.year = era * ERA_YEARS + year_of_era + (date.month <= 2);
    return date;
}

int64_t civil_seconds(const CivilTime *time)
{
    return civil_days(time->date.year, time->date.month, time->date.day) * CIVIL_DAY_S + (int64_t)time->hour * 3600
         + (int64_t)time->minute * 60 + time->second;
}

CivilTime civil_time(int64_t seconds)
{
    int64_t days = floor_div(seconds, CIVIL_DAY_S);
    int32_t left = (int32_t)(seconds - days * CIVIL_DAY_S);
    return (CivilTime){ .date = civil_date(days), .hour = left / 3600, .minute = left / 60 % 60, .second = left % 60 };
}

int32_t civil_weekday(int64_t days)
{
    return (int32_t)floor_rem(days + 4, 7);             /* 1970-01-01 was a Thursday */
}

int32_t civil_year_day(CivilDate date)
{
    return (int32_t)(civil_days(date.year, date.month, date.day) - civil_days(date.year, 1, 1) + 1);
}

bool civil_is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t civil_month_days(int64_t year, int32_t month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && civil_is_leap(year));
}

/* At least `width` digits, and what stands between them and the next ones. */
static void print_digits(Buf *buf, int64_t number, unsigned width, char end)
{
    for (int64_t bound = 10; width > 1; width--, bound *= 10)
        if (number < bound) buf_char(buf, '0');
    buf_i64(buf, number);
    buf_char(buf, end);
}

/* Without printf: an answer of the server has hundreds of them. */
void civil_print_ms(Buf *buf, int64_t ms)
{
    CivilTime time = civil_time(floor_div(ms, 1000));
    if (time.date.year < 0) buf_char(buf, '-');
    print_digits(buf, time.date.year < 0 ? -time.date.year : time.date.year, 4, '-');
    print_digits(buf, time.date.month, 2, '-');
    print_digits(buf, time.date.day, 2, 'T');
    print_digits(buf, time.hour, 2, ':');
    print_digits(buf, time.minute, 2, ':');
    print_digits(buf, time.second, 2, '.');
    print_digits(buf, floor_rem(ms, 1000), 3, 'Z');
}

/* What is printed again as the same text was a time; the digits are found by their places. */
bool civil_read_ms(Str text, int64_t *out_ms)
{
    static const char form[] = "YYYY-MM-DDTHH:MM:SS.mmmZ";
    uint64_t year, month, day, hour, minute, second, fraction;
    if (text.len != sizeof form - 1 || !str_to_u64(str_slice(text, 0, 4), &year)
        || !str_to_u64(str_slice(text, 5, 7), &month) || !str_to_u64(str_slice(text, 8, 10), &day)
        || !str_to_u64(str_slice(text, 11, 13), &hour) || !str_to_u64(str_slice(text, 14, 16), &minute)
        || !str_to_u64(str_slice(text, 17, 19), &second) || !str_to_u64(str_slice(text, 20, 23), &fraction))
        return false;
    CivilTime time = { { (int64_t)year, (int32_t)month, (int32_t)day }, (int32_t)hour, (int32_t)minute, (int32_t)second };
    int64_t ms = civil_seconds(&time) * 1000 + (int64_t)fraction;
    char again[sizeof form + 8];
    Buf buf = buf_on(again, sizeof again);
    civil_print_ms(&buf, ms);
    if (!str_is(buf_peek(&buf), text)) return false;
    *out_ms = ms;
    return true;
}

/* Digits from `from` on, as many as there are; the first three of them as milliseconds. */
static size_t read_fraction(Str text, size_t from, int64_t *out_ms)
{
    size_t at = from;
    int64_t worth = 100;
    for (*out_ms = 0; at < text.len && ascii_is_digit(text.ptr[at]); at++, worth /= 10) *out_ms += (text.ptr[at] - '0') * worth;
    return at;
}

/* "Z", "+02:00": what its clock is ahead of UTC. */
static bool read_offset(Str text, int64_t *out_ms)
{
    uint64_t hours, minutes;
    *out_ms = 0;
    if (text.len == 1) return text.ptr[0] == 'Z' || text.ptr[0] == 'z';
    if (text.len != 6 || (text.ptr[0] != '+' && text.ptr[0] != '-') || text.ptr[3] != ':') return false;
    if (!str_to_u64(str_slice(text, 1, 3), &hours) || !str_to_u64(str_slice(text, 4, 6), &minutes) || hours > 23 || minutes > 59) return false;
    *out_ms = (int64_t)(hours * 60 + minutes) * (text.ptr[0] == '-' ? -60000 : 60000);
    return true;
}

/* The date and the time of day are read as our own form has them; what stands behind is what others do otherwise. */
bool civil_read_time(Str text, int64_t *out_ms)
{
    enum { SECONDS_END = 19, DAY_END = 10 };
    char storage[sizeof "YYYY-MM-DDTHH:MM:SS.mmmZ"];
    Buf own = buf_on(storage, sizeof storage);
    int64_t ms, fraction_ms = 0, offset_ms;
    size_t at = SECONDS_END;
    if (text.len <= SECONDS_END || (text.ptr[DAY_END] != 'T' && text.ptr[DAY_END] != 't')) return false;
    buf_str(&own, str_slice(text, 0, DAY_END));
    buf_char(&own, 'T');
    buf_str(&own, str_slice(text, DAY_END + 1, SECONDS_END));
    buf_text(&own, ".000Z");
    if (text.ptr[at] == '.') {
        at = read_fraction(text, SECONDS_END + 1, &fraction_ms);
        if (at == SECONDS_END + 1) return false;
    }
    if (!civil_read_ms(buf_peek(&own), &ms) || !read_offset(str_slice(text, at, text.len), &offset_ms)) return false;
    *out_ms = ms + fraction_ms - offset_ms;
    return true;
}
