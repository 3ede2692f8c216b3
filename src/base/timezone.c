#include "base/timezone.h"

#include <string.h>

#include "base/check.h"
#include "base/civil.h"

#define HEADER_SIZE 44u
#define TYPE_SIZE 6u

/* How a footer names the day of a change. */
typedef enum ChangeForm {
    CHANGE_JULIAN,                  /* J60: day 1..365, 29 February is never counted */
    CHANGE_DAY,                     /* 60: day 0..365, counted */
    CHANGE_WEEKDAY,                 /* M3.5.0: the week'th (5: last) day of the week in the month */
} ChangeForm;

typedef struct Counts {
    uint32_t is_ut, is_standard, leap, time, type, name;
} Counts;

static bool rule_read(Str text, ZoneRule *out);

bool timezone_name_is_valid(Str name)
{
    if (name.len == 0 || name.len > 255) return false;
    bool segment_begins = true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = ascii_is_alnum(c) || c == '_' || c == '-' || c == '+';
        if (c == '/' ? segment_begins : !is_plain) return false;
        segment_begins = c == '/';
    }
    return !segment_begins;
}

Timezone timezone_utc(void)
{
    static const uint8_t type[TYPE_SIZE] = { 0 };
    return (Timezone){ .types = type, .type_count = 1, .names = "UTC", .name_size = 4 };
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

static uint32_t u32_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t time_at(const Timezone *zone, uint32_t index)
{
    const uint8_t *bytes = zone->times + (size_t)index * zone->time_size;
    if (zone->time_size == 4) return (int32_t)u32_at(bytes);
    return (int64_t)((uint64_t)u32_at(bytes) << 32 | u32_at(bytes + 4));
}

static Counts counts_at(const uint8_t *header)
{
    return (Counts){ u32_at(header + 20), u32_at(header + 24), u32_at(header + 28),
                     u32_at(header + 32), u32_at(header + 36), u32_at(header + 40) };
}

static uint64_t body_size(const Counts *counts, uint32_t time_size)
{
    return (uint64_t)counts->time * (time_size + 1) + (uint64_t)counts->type * TYPE_SIZE + counts->name
         + (uint64_t)counts->leap * (time_size + 4) + counts->is_standard + counts->is_ut;
}

static bool body_is_sound(const Timezone *zone)
{
    for (uint32_t i = 0; i < zone->time_count; i++) {
        if (zone->kinds[i] >= zone->type_count) return false;
        if (i && time_at(zone, i - 1) >= time_at(zone, i)) return false;
    }
    for (uint32_t i = 0; i < zone->type_count; i++)
        if (zone->types[i * TYPE_SIZE + 5] >= zone->name_size) return false;
    return zone->type_count > 0 && zone->name_size > 0 && zone->names[zone->name_size - 1] == '\0';
}

static Status refuse(Error *err, const char *why)
{
    return error_set(err, ERR_INVALID, "time zone data %s", why);
}

/* From version 2 on the file holds everything twice, first with times of 4 bytes, then of 8, and a footer. */
Status timezone_read(Str tzif, Timezone *out_zone, Error *err)
{
    const uint8_t *bytes = (const uint8_t *)tzif.ptr;
    if (tzif.len < HEADER_SIZE || memcmp(bytes, "TZif", 4) != 0) return refuse(err, "has no TZif header");
    uint8_t version = bytes[4];
    Timezone zone = { .time_size = 4 };
    Counts counts = counts_at(bytes);
    uint64_t at = HEADER_SIZE;
    if (version >= '2') {
        at += body_size(&counts, 4);
        if (at + HEADER_SIZE > tzif.len || memcmp(bytes + at, "TZif", 4) != 0) return refuse(err, "ends too early");
        counts = counts_at(bytes + at);
        at += HEADER_SIZE;
        zone.time_size = 8;
    }
    uint64_t end = at + body_size(&counts, zone.time_size);
    if (end > tzif.len) return refuse(err, "ends too early");

    zone.time_count = counts.time;
    zone.type_count = counts.type;
    zone.name_size = counts.name;
    zone.times = bytes + at;
    zone.kinds = zone.times + (size_t)counts.time * zone.time_size;
    zone.types = zone.kinds + counts.time;
    zone.names = (const char *)zone.types + (size_t)counts.type * TYPE_SIZE;
    if (!body_is_sound(&zone)) return refuse(err, "contradicts itself");

    if (version >= '2') {
        Str footer = str_slice(tzif, end, tzif.len);
        size_t close = str_find(footer, '\n', 1);
        if (footer.len < 2 || footer.ptr[0] != '\n' || close == footer.len) return refuse(err, "has no footer");
        Str text = str_slice(footer, 1, close);
        if (text.len && !rule_read(text, &zone.rule)) return refuse(err, "has a footer that is no rule");
    }
    *out_zone = zone;
    return OK;
}

/* --- the rule in the footer (POSIX TZ, as RFC 9636 extends it) ---------------------------------------------------- */

typedef struct RuleReader {
    Str text;
    size_t at;
} RuleReader;

static bool next_is(RuleReader *reader, char c)
{
    if (reader->at >= reader->text.len || reader->text.ptr[reader->at] != c) return false;
    reader->at++;
    return true;
}

static bool read_name(RuleReader *reader, Str *out)
{
    bool is_quoted = next_is(reader, '<');
    size_t from = reader->at;
    while (reader->at < reader->text.len) {
        char c = reader->text.ptr[reader->at];
        if (!(ascii_is_alpha(c) || (is_quoted && (ascii_is_digit(c) || c == '+' || c == '-')))) break;
        reader->at++;
    }
    *out = str_slice(reader->text, from, reader->at);
    return out->len >= 3 && (!is_quoted || next_is(reader, '>'));
}

static bool read_number(RuleReader *reader, int32_t low, int32_t high, int32_t *out)
{
    size_t from = reader->at;
    int32_t number = 0;
    while (reader->at < reader->text.len && ascii_is_digit(reader->text.ptr[reader->at]) && reader->at - from < 4)
        number = number * 10 + (reader->text.ptr[reader->at++] - '0');
    *out = number;
    return reader->at > from && number >= low && number <= high;
}

/* [+-]hh[:mm[:ss]] as seconds. */
static bool read_time(RuleReader *reader, int32_t *out)
{
    bool is_negative = next_is(reader, '-');
    if (!is_negative) next_is(reader, '+');
    int32_t hours, minutes = 0, seconds = 0;
    if (!read_number(reader, 0, 167, &hours)) return false;
    if (next_is(reader, ':')) {
        if (!read_number(reader, 0, 59, &minutes)) return false;
        if (next_is(reader, ':') && !read_number(reader, 0, 59, &seconds)) return false;
    }
    int32_t total = hours * 3600 + minutes * 60 + seconds;
    *out = is_negative ? -total : total;
    return true;
}

static bool read_change(RuleReader *reader, ZoneChange *out)
{
    int32_t month = 0, week = 0, day = 0;
    if (next_is(reader, 'M')) {
        out->form = CHANGE_WEEKDAY;
        if (!read_number(reader, 1, 12, &month) || !next_is(reader, '.') || !read_number(reader, 1, 5, &week)
            || !next_is(reader, '.') || !read_number(reader, 0, 6, &day))
            return false;
    } else {
        out->form = next_is(reader, 'J') ? CHANGE_JULIAN : CHANGE_DAY;
        if (!read_number(reader, out->form == CHANGE_JULIAN, 365, &day)) return false;
    }
    out->month = (int8_t)month;
    out->week = (int8_t)week;
    out->day = (int16_t)day;
    out->time_s = 2 * 3600;
    return !next_is(reader, '/') || read_time(reader, &out->time_s);
}

static bool rule_read(Str text, ZoneRule *out)
{
    RuleReader reader = { text, 0 };
    ZoneRule rule = { .is_present = true };
    int32_t west;
    if (!read_name(&reader, &rule.standard_name) || !read_time(&reader, &west)) return false;
    rule.standard_s = -west;
    if (reader.at < text.len) {
        rule.has_daylight = true;
        if (!read_name(&reader, &rule.daylight_name)) return false;
        rule.daylight_s = rule.standard_s + 3600;
        if (reader.at < text.len && text.ptr[reader.at] != ',') {
            if (!read_time(&reader, &west)) return false;
            rule.daylight_s = -west;
        }
        if (!next_is(&reader, ',') || !read_change(&reader, &rule.begin) || !next_is(&reader, ',')
            || !read_change(&reader, &rule.end))
            return false;
    }
    if (reader.at != text.len) return false;
    *out = rule;
    return true;
}

/* The day, since 1970, on which a change falls in a year. */
static int64_t change_day(const ZoneChange *change, int64_t year)
{
    switch ((ChangeForm)change->form) {
    case CHANGE_JULIAN:
        return civil_days(year, 1, 1) + change->day - 1 + (change->day >= 60 && civil_is_leap(year));
    case CHANGE_DAY:
        return civil_days(year, 1, 1) + change->day;
    case CHANGE_WEEKDAY:
        break;
    }
    int64_t first = civil_days(year, change->month, 1);
    int64_t day = first + floor_rem(change->day - civil_weekday(first), 7) + (change->week - 1) * 7;
    return day < first + civil_month_days(year, change->month) ? day : day - 7;
}

typedef struct Turn {
    int64_t at_s;
    bool to_daylight;
} Turn;

static int64_t change_at(const ZoneRule *rule, bool to_daylight, int64_t year)
{
    const ZoneChange *change = to_daylight ? &rule->begin : &rule->end;
    int32_t offset_s = to_daylight ? rule->standard_s : rule->daylight_s;       /* of the wall before the change */
    return change_day(change, year) * CIVIL_DAY_S + change->time_s - offset_s;
}

/* The changes of three years surround every instant of the middle one, in whatever order a hemisphere has them. */
static ZoneSpan rule_at(const ZoneRule *rule, int64_t unix_s)
{
    ZoneSpan span = { INT64_MIN, INT64_MAX, rule->standard_s, false, rule->standard_name };
    if (!rule->has_daylight) return span;

    int64_t year = civil_time(unix_s).date.year;
    Turn turns[6];
    uint32_t count = 0;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t begin = change_at(rule, true, y), end = change_at(rule, false, y);
        /* Where the two coincide daylight saving never ends: the end comes first, and is undone at once. */
        bool begin_first = begin < end;
        turns[count++] = (Turn){ begin_first ? begin : end, begin_first };
        turns[count++] = (Turn){ begin_first ? end : begin, !begin_first };
    }
    bool is_daylight = !turns[0].to_daylight;
    span.from_s = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        bool is_undone = i + 1 < count && turns[i + 1].at_s <= turns[i].at_s;
        if (turns[i].at_s <= unix_s) {
            is_daylight = turns[i].to_daylight;
            span.from_s = turns[i].at_s;
        } else if (!is_undone) {
            span.until_s = turns[i].at_s;
            break;
        }
    }
    if (!is_daylight) return span;
    span.offset_s = rule->daylight_s;
    span.is_daylight = true;
    span.name = rule->daylight_name;
    return span;
}

/* --- looking up -------------------------------------------------------------------------------------------------- */

static ZoneSpan span_of_type(const Timezone *zone, uint32_t type)
{
    const uint8_t *entry = zone->types + (size_t)type * TYPE_SIZE;
    return (ZoneSpan){ INT64_MIN, INT64_MAX, (int32_t)u32_at(entry), entry[4] != 0, str_of(zone->names + entry[5]) };
}

ZoneSpan timezone_at(const Timezone *zone, int64_t unix_s)
{
    uint32_t low = 0, high = zone->time_count;          /* how many transitions are at or before the instant */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (time_at(zone, middle) <= unix_s) low = middle + 1;
        else high = middle;
    }
    bool is_behind_last = low == zone->time_count;
    ZoneSpan span;
    if (is_behind_last && zone->rule.is_present) span = rule_at(&zone->rule, unix_s);
    else span = span_of_type(zone, low ? zone->kinds[low - 1] : 0);     /* before all transitions: the first type */

    int64_t from_s = low ? time_at(zone, low - 1) : INT64_MIN;
    if (span.from_s < from_s) span.from_s = from_s;
    if (!is_behind_last) span.until_s = time_at(zone, low);
    return span;
}
