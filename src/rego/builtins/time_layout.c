#include "rego/builtins/time_layout.h"

#include <string.h>

#include "base/civil.h"
#include "rego/builtins/text.h"

const char *const weekday_names[7] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" };
static const char *const month_names[12] = { "January", "February", "March",     "April",   "May",      "June",
                                             "July",    "August",   "September", "October", "November", "December" };

Str time_layout_named(Str name)
{
    static const struct { const char *name, *layout; } layouts[] = {
        { "ANSIC", "Mon Jan _2 15:04:05 2006" },
        { "UnixDate", "Mon Jan _2 15:04:05 MST 2006" },
        { "RubyDate", "Mon Jan 02 15:04:05 -0700 2006" },
        { "RFC822", "02 Jan 06 15:04 MST" },
        { "RFC822Z", "02 Jan 06 15:04 -0700" },
        { "RFC850", "Monday, 02-Jan-06 15:04:05 MST" },
        { "RFC1123", "Mon, 02 Jan 2006 15:04:05 MST" },
        { "RFC1123Z", "Mon, 02 Jan 2006 15:04:05 -0700" },
        { "RFC3339", "2006-01-02T15:04:05Z07:00" },
        { "RFC3339Nano", "2006-01-02T15:04:05.999999999Z07:00" },
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (str_is_text(name, layouts[i].name)) return str_of(layouts[i].layout);
    return name;
}

/* --- the pieces of a layout -------------------------------------------------------------------------------------- */

typedef enum Piece {
    PIECE_NONE,
    PIECE_MONTH_LONG, PIECE_MONTH, PIECE_MONTH_NUMBER, PIECE_MONTH_ZERO,
    PIECE_WEEKDAY_LONG, PIECE_WEEKDAY,
    PIECE_DAY, PIECE_DAY_SPACE, PIECE_DAY_ZERO, PIECE_YEAR_DAY_SPACE, PIECE_YEAR_DAY_ZERO,
    PIECE_HOUR, PIECE_HOUR_12, PIECE_HOUR_12_ZERO,
    PIECE_MINUTE, PIECE_MINUTE_ZERO, PIECE_SECOND, PIECE_SECOND_ZERO,
    PIECE_YEAR_LONG, PIECE_YEAR,
    PIECE_PM_UPPER, PIECE_PM_LOWER,
    PIECE_ZONE_NAME, PIECE_ZONE,
    PIECE_FRACTION, PIECE_FRACTION_TRIMMED,
} Piece;

/* A zone as an offset: +07, +0700, +07:00, +070000, +07:00:00, or Z instead of +00. */
typedef struct ZoneShape {
    bool has_z, has_minutes, has_colons, has_seconds;
} ZoneShape;

typedef struct Chunk {
    Str prefix, text, suffix;       /* what stands before the piece, the piece, and the rest of the layout */
    Piece piece;
    ZoneShape zone;
    char separator;                 /* of a fraction */
} Chunk;

/* Longer ones first where one begins another. Where a lower-case letter follows a short name, it is a word and no
 * piece. */
static const struct { const char *text; Piece piece; bool is_name; ZoneShape zone; } pieces[] = {
    { "January", PIECE_MONTH_LONG },  { "Jan", PIECE_MONTH, true },       { "Monday", PIECE_WEEKDAY_LONG },
    { "Mon", PIECE_WEEKDAY, true },   { "MST", PIECE_ZONE_NAME },         { "002", PIECE_YEAR_DAY_ZERO },
    { "01", PIECE_MONTH_ZERO },       { "02", PIECE_DAY_ZERO },           { "03", PIECE_HOUR_12_ZERO },
    { "04", PIECE_MINUTE_ZERO },      { "05", PIECE_SECOND_ZERO },        { "06", PIECE_YEAR },
    { "15", PIECE_HOUR },             { "1", PIECE_MONTH_NUMBER },        { "2006", PIECE_YEAR_LONG },
    { "2", PIECE_DAY },               { "__2", PIECE_YEAR_DAY_SPACE },    { "_2", PIECE_DAY_SPACE },
    { "3", PIECE_HOUR_12 },           { "4", PIECE_MINUTE },              { "5", PIECE_SECOND },
    { "PM", PIECE_PM_UPPER },         { "pm", PIECE_PM_LOWER },
    { "-070000", PIECE_ZONE, false, { false, true, false, true } },
    { "-07:00:00", PIECE_ZONE, false, { false, true, true, true } },
    { "-0700", PIECE_ZONE, false, { false, true, false, false } },
    { "-07:00", PIECE_ZONE, false, { false, true, true, false } },
    { "-07", PIECE_ZONE, false, { false, false, false, false } },
    { "Z070000", PIECE_ZONE, false, { true, true, false, true } },
    { "Z07:00:00", PIECE_ZONE, false, { true, true, true, true } },
    { "Z0700", PIECE_ZONE, false, { true, true, false, false } },
    { "Z07:00", PIECE_ZONE, false, { true, true, true, false } },
    { "Z07", PIECE_ZONE, false, { true, false, false, false } },
};

/* .000 and .999: a run of one digit behind a point or comma that no other digit follows. */
static size_t fraction_size(Str rest)
{
    if (rest.len < 2 || (rest.ptr[0] != '.' && rest.ptr[0] != ',')) return 0;
    char digit = rest.ptr[1];
    if (digit != '0' && digit != '9') return 0;
    size_t size = 1;
    while (size < rest.len && rest.ptr[size] == digit) size++;
    return size < rest.len && ascii_is_digit(rest.ptr[size]) ? 0 : size;
}

static bool piece_at(Str layout, size_t at, Chunk *out)
{
    Str rest = str_slice(layout, at, layout.len);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        if (pieces[i].text[0] != rest.ptr[0]) continue;
        Str text = str_of(pieces[i].text);
        if (!str_starts(rest, text)) continue;
        if (pieces[i].is_name && rest.len > text.len && ascii_is_lower(rest.ptr[text.len])) continue;
        size_t skip = 0;
        Piece piece = pieces[i].piece;
        if (piece == PIECE_DAY_SPACE && str_starts(rest, STR("_2006"))) {   /* an underscore, and then the year */
            skip = 1;
            text = STR("2006");
            piece = PIECE_YEAR_LONG;
        }
        *out = (Chunk){ .prefix = str_slice(layout, 0, at + skip), .text = text, .piece = piece,
                        .zone = pieces[i].zone };
        out->suffix = str_slice(layout, at + skip + text.len, layout.len);
        return true;
    }
    size_t size = fraction_size(rest);
    if (!size) return false;
    *out = (Chunk){ .prefix = str_slice(layout, 0, at), .text = str_slice(rest, 0, size),
                    .suffix = str_slice(rest, size, rest.len), .separator = rest.ptr[0],
                    .piece = rest.ptr[1] == '0' ? PIECE_FRACTION : PIECE_FRACTION_TRIMMED };
    return true;
}

static Chunk next_chunk(Str layout)
{
    Chunk chunk;
    for (size_t at = 0; at < layout.len; at++)
        if (piece_at(layout, at, &chunk)) return chunk;
    return (Chunk){ .prefix = layout, .piece = PIECE_NONE };
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print_padded(Buf *buf, int64_t number, uint32_t width, char fill)
{
    char digits[24];
    Buf text = buf_on(digits, sizeof digits);
    if (number < 0) buf_char(buf, '-');
    buf_u64(&text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    if (text.len < width) buf_repeat(buf, fill, width - text.len);
    buf_str(buf, buf_peek(&text));
}

static void print_offset(Buf *buf, int32_t offset_s, ZoneShape shape)
{
    if (shape.has_z && offset_s == 0) {
        buf_char(buf, 'Z');
        return;
    }
    buf_char(buf, offset_s < 0 ? '-' : '+');
    uint32_t magnitude = (uint32_t)(offset_s < 0 ? -offset_s : offset_s);
    print_padded(buf, magnitude / 3600, 2, '0');
    if (shape.has_colons) buf_char(buf, ':');
    if (shape.has_minutes) print_padded(buf, magnitude / 60 % 60, 2, '0');
    if (shape.has_seconds && shape.has_colons) buf_char(buf, ':');
    if (shape.has_seconds) print_padded(buf, magnitude % 60, 2, '0');
}

static void print_fraction(Buf *buf, int32_t nanoseconds, const Chunk *chunk)
{
    char digits[9];
    uint32_t left = (uint32_t)nanoseconds;
    for (size_t i = 9; i--; left /= 10) digits[i] = (char)('0' + left % 10);
    size_t count = chunk->text.len - 1;
    if (chunk->piece == PIECE_FRACTION_TRIMMED) {
        if (count > 9) count = 9;
        while (count && digits[count - 1] == '0') count--;
        if (count == 0) return;
    }
    buf_char(buf, chunk->separator);
    for (size_t i = 0; i < count; i++) buf_char(buf, i < 9 ? digits[i] : '0');
}

static int32_t hour_12(int32_t hour)
{
    return hour % 12 ? hour % 12 : 12;
}

static void print_piece(Buf *buf, const Chunk *chunk, const CivilTime *time, int32_t nanoseconds, const ZoneSpan *span)
{
    CivilDate date = time->date;
    int64_t days = civil_days(date.year, date.month, date.day);
    Str month = str_of(month_names[date.month - 1]), weekday = str_of(weekday_names[civil_weekday(days)]);
    switch (chunk->piece) {
    case PIECE_NONE: break;
    case PIECE_MONTH_LONG: buf_str(buf, month); break;
    case PIECE_MONTH: buf_str(buf, str_slice(month, 0, 3)); break;
    case PIECE_MONTH_NUMBER: buf_i64(buf, date.month); break;
    case PIECE_MONTH_ZERO: print_padded(buf, date.month, 2, '0'); break;
    case PIECE_WEEKDAY_LONG: buf_str(buf, weekday); break;
    case PIECE_WEEKDAY: buf_str(buf, str_slice(weekday, 0, 3)); break;
    case PIECE_DAY: buf_i64(buf, date.day); break;
    case PIECE_DAY_SPACE: print_padded(buf, date.day, 2, ' '); break;
    case PIECE_DAY_ZERO: print_padded(buf, date.day, 2, '0'); break;
    case PIECE_YEAR_DAY_SPACE: print_padded(buf, civil_year_day(date), 3, ' '); break;
    case PIECE_YEAR_DAY_ZERO: print_padded(buf, civil_year_day(date), 3, '0'); break;
    case PIECE_HOUR: print_padded(buf, time->hour, 2, '0'); break;
    case PIECE_HOUR_12: buf_i64(buf, hour_12(time->hour)); break;
    case PIECE_HOUR_12_ZERO: print_padded(buf, hour_12(time->hour), 2, '0'); break;
    case PIECE_MINUTE: buf_i64(buf, time->minute); break;
    case PIECE_MINUTE_ZERO: print_padded(buf, time->minute, 2, '0'); break;
    case PIECE_SECOND: buf_i64(buf, time->second); break;
    case PIECE_SECOND_ZERO: print_padded(buf, time->second, 2, '0'); break;
    case PIECE_YEAR_LONG: print_padded(buf, date.year, 4, '0'); break;
    case PIECE_YEAR: print_padded(buf, floor_rem(date.year, 100), 2, '0'); break;
    case PIECE_PM_UPPER: buf_text(buf, time->hour < 12 ? "AM" : "PM"); break;
    case PIECE_PM_LOWER: buf_text(buf, time->hour < 12 ? "am" : "pm"); break;
    case PIECE_ZONE_NAME: buf_str(buf, span->name); break;
    case PIECE_ZONE: print_offset(buf, span->offset_s, chunk->zone); break;
    case PIECE_FRACTION:
    case PIECE_FRACTION_TRIMMED: print_fraction(buf, nanoseconds, chunk); break;
    }
}

void time_layout_print(Buf *buf, Str layout, Instant instant, const Timezone *zone)
{
    ZoneSpan span = timezone_at(zone, instant.seconds);
    CivilTime time = civil_time(instant.seconds + span.offset_s);
    for (Str rest = layout; rest.len;) {
        Chunk chunk = next_chunk(rest);
        buf_str(buf, chunk.prefix);
        print_piece(buf, &chunk, &time, instant.nanoseconds, &span);
        rest = chunk.suffix;
    }
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

typedef struct TimeReader {
    Str layout, text, rest;             /* what is left of the text */
    Error *err;
    int64_t year;
    int32_t month, day, year_day;       /* 0: not given */
    int32_t hour, minute, second, nanoseconds;
    bool is_pm, is_am;
    int32_t offset_s;
    const char *out_of_range;           /* what was a number, but none that fits */
    bool is_mismatch;                   /* ... or contradicts another */
} TimeReader;

static BuiltinResult refuse(TimeReader *reader, Str value, Str piece)
{
    Buf buf;
    buf_init(&buf, ERROR_TEXT_SIZE);
    buf_text(&buf, "parsing time ");
    text_quote_bytes(&buf, reader->text);
    if (reader->out_of_range) {
        buf_format(&buf, ": %s%s", reader->out_of_range, reader->is_mismatch ? "" : " out of range");
    } else if (piece.len == 0) {
        buf_text(&buf, ": extra text: ");
        text_quote_bytes(&buf, value);
    } else {
        buf_text(&buf, " as ");
        text_quote_bytes(&buf, reader->layout);
        buf_text(&buf, ": cannot parse ");
        text_quote_bytes(&buf, value);
        buf_text(&buf, " as ");
        text_quote_bytes(&buf, piece);
    }
    BuiltinResult result = builtin_error(reader->err, "%.*s", STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
    return result;
}

static bool digit_at(Str text, size_t at)
{
    return at < text.len && ascii_is_digit(text.ptr[at]);
}

static void drop(TimeReader *reader, size_t size)
{
    reader->rest = str_slice(reader->rest, size, reader->rest.len);
}

/* From `least` to `most` digits. */
static bool take_digits(TimeReader *reader, size_t least, size_t most, int32_t *out)
{
    size_t count = 0;
    int32_t number = 0;
    while (count < most && digit_at(reader->rest, count)) number = number * 10 + (reader->rest.ptr[count++] - '0');
    if (count < least) return false;
    drop(reader, count);
    *out = number;
    return true;
}

static bool take_ranged(TimeReader *reader, bool two, int32_t low, int32_t high, const char *name, int32_t *out)
{
    if (!take_digits(reader, two ? 2 : 1, 2, out)) return false;
    if (*out < low || *out > high) reader->out_of_range = name;
    return true;
}

/* A name of a list, or its first three letters, in any case; -1 where there is none. */
static int32_t take_name(TimeReader *reader, const char *const *names, int32_t count, bool is_long)
{
    for (int32_t i = 0; i < count; i++) {
        Str name = str_of(names[i]);
        if (!is_long) name = str_slice(name, 0, 3);
        if (reader->rest.len < name.len) continue;
        bool is_same = true;
        for (size_t j = 0; j < name.len; j++)
            is_same = is_same && ascii_to_lower(name.ptr[j]) == ascii_to_lower(reader->rest.ptr[j]);
        if (!is_same) continue;
        drop(reader, name.len);
        return i;
    }
    return -1;
}

/* A point or comma and `size` - 1 digits; those beyond the ninth do not count. */
static void take_fraction(TimeReader *reader, size_t size)
{
    int32_t number = 0;
    for (size_t i = 1; i < 10; i++) number = number * 10 + (i < size ? reader->rest.ptr[i] - '0' : 0);
    reader->nanoseconds = number;
    drop(reader, size);
}

static bool is_separator(Str text)
{
    return text.len && (text.ptr[0] == '.' || text.ptr[0] == ',');
}

static size_t count_fraction(Str text)
{
    size_t size = 1;
    while (digit_at(text, size)) size++;
    return size;
}

/* Seconds may have a fraction that the layout does not mention. */
static bool take_second(TimeReader *reader, bool two, Str suffix)
{
    if (!take_ranged(reader, two, 0, 59, "second", &reader->second)) return false;
    if (!is_separator(reader->rest) || !digit_at(reader->rest, 1)) return true;
    Piece next = next_chunk(suffix).piece;
    if (next != PIECE_FRACTION && next != PIECE_FRACTION_TRIMMED) take_fraction(reader, count_fraction(reader->rest));
    return true;
}

static bool take_offset(TimeReader *reader, ZoneShape shape)
{
    Str rest = reader->rest;
    if (shape.has_z && str_starts(rest, STR("Z"))) {
        drop(reader, 1);
        return true;
    }
    size_t colons = shape.has_colons ? 1u + shape.has_seconds : 0u;
    size_t size = 3 + 2u * shape.has_minutes + 2u * shape.has_seconds + colons;
    if (rest.len < size) return false;
    if (shape.has_colons && (rest.ptr[3] != ':' || (shape.has_seconds && rest.ptr[6] != ':'))) return false;
    int32_t numbers[3] = { 0 };
    size_t at = 1;
    for (uint32_t i = 0; i < 1u + shape.has_minutes + shape.has_seconds; i++) {
        if (!digit_at(rest, at) || !digit_at(rest, at + 1)) return false;
        numbers[i] = (rest.ptr[at] - '0') * 10 + (rest.ptr[at + 1] - '0');
        at += 2u + shape.has_colons;
    }
    if (numbers[0] > 24) reader->out_of_range = "time zone offset hour";
    else if (numbers[1] > 60) reader->out_of_range = "time zone offset minute";
    else if (numbers[2] > 60) reader->out_of_range = "time zone offset second";
    int32_t offset_s = numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
    reader->offset_s = rest.ptr[0] == '-' ? -offset_s : offset_s;
    drop(reader, size);
    return rest.ptr[0] == '+' || rest.ptr[0] == '-';
}

/* +3 or -11: an offset of at most 23 hours; its size, or 0. */
static size_t signed_offset_size(Str text)
{
    if (text.len == 0 || (text.ptr[0] != '+' && text.ptr[0] != '-')) return 0;
    size_t size = 1;
    uint32_t number = 0;
    for (; digit_at(text, size); size++) number = number > 23 ? number : number * 10 + (uint32_t)(text.ptr[size] - '0');
    return size > 1 && number <= 23 ? size : 0;
}

/* The size of an abbreviation of a zone: three capital letters; four or five that end in T; GMT+3; +03. */
static size_t zone_name_size(Str text)
{
    if (text.len < 3) return 0;
    if (str_starts(text, STR("ChST")) || str_starts(text, STR("MeST"))) return 4;
    if (str_starts(text, STR("GMT"))) return 3 + signed_offset_size(str_slice(text, 3, text.len));
    if (text.ptr[0] == '+' || text.ptr[0] == '-') return signed_offset_size(text);
    size_t count = 0;
    while (count < 6 && count < text.len && ascii_is_upper(text.ptr[count])) count++;
    if (count == 5 && text.ptr[4] == 'T') return 5;
    if (count == 4 && (text.ptr[3] == 'T' || str_starts(text, STR("WITA")))) return 4;
    return count == 3 ? 3 : 0;
}

/* A name says nothing about the instant: only offsets do. */
static bool take_zone_name(TimeReader *reader)
{
    size_t size = str_starts(reader->rest, STR("UTC")) ? 3 : zone_name_size(reader->rest);
    drop(reader, size);
    return size > 0;
}

static bool take_half_day(TimeReader *reader, const char *am, const char *pm)
{
    reader->is_pm = str_starts(reader->rest, str_of(pm));
    reader->is_am = str_starts(reader->rest, str_of(am));
    drop(reader, 2);
    return reader->is_pm || reader->is_am;
}

static bool take_year(TimeReader *reader)
{
    int32_t year;
    if (!take_digits(reader, 2, 2, &year)) return false;
    reader->year = year >= 69 ? year + 1900 : year + 2000;
    return true;
}

static bool take_year_long(TimeReader *reader)
{
    int32_t year;
    if (!take_digits(reader, 4, 4, &year)) return false;
    reader->year = year;
    return true;
}

static void skip_spaces(TimeReader *reader, size_t most)
{
    for (size_t i = 0; i < most && str_starts(reader->rest, STR(" ")); i++) drop(reader, 1);
}

static bool take_piece(TimeReader *reader, const Chunk *chunk)
{
    int32_t number;
    switch (chunk->piece) {
    case PIECE_MONTH_LONG:
    case PIECE_MONTH:
        reader->month = take_name(reader, month_names, 12, chunk->piece == PIECE_MONTH_LONG) + 1;
        return reader->month > 0;
    case PIECE_MONTH_NUMBER:
    case PIECE_MONTH_ZERO:
        return take_ranged(reader, chunk->piece == PIECE_MONTH_ZERO, 1, 12, "month", &reader->month);
    case PIECE_WEEKDAY_LONG:
    case PIECE_WEEKDAY:
        return take_name(reader, weekday_names, 7, chunk->piece == PIECE_WEEKDAY_LONG) >= 0;
    case PIECE_DAY_SPACE:
        skip_spaces(reader, 1);
        return take_digits(reader, 1, 2, &reader->day);
    case PIECE_DAY:
    case PIECE_DAY_ZERO:
        return take_digits(reader, chunk->piece == PIECE_DAY_ZERO ? 2 : 1, 2, &reader->day);
    case PIECE_YEAR_DAY_SPACE:
        skip_spaces(reader, 2);
        if (!take_digits(reader, 1, 3, &number)) return false;
        reader->year_day = number ? number : -1;
        return true;
    case PIECE_YEAR_DAY_ZERO:
        if (!take_digits(reader, 3, 3, &number)) return false;
        reader->year_day = number ? number : -1;
        return true;
    case PIECE_HOUR: return take_ranged(reader, false, 0, 23, "hour", &reader->hour);
    case PIECE_HOUR_12:
    case PIECE_HOUR_12_ZERO:
        return take_ranged(reader, chunk->piece == PIECE_HOUR_12_ZERO, 0, 12, "hour", &reader->hour);
    case PIECE_MINUTE:
    case PIECE_MINUTE_ZERO:
        return take_ranged(reader, chunk->piece == PIECE_MINUTE_ZERO, 0, 59, "minute", &reader->minute);
    case PIECE_SECOND:
    case PIECE_SECOND_ZERO: return take_second(reader, chunk->piece == PIECE_SECOND_ZERO, chunk->suffix);
    case PIECE_YEAR_LONG: return take_year_long(reader);
    case PIECE_YEAR: return take_year(reader);
    case PIECE_PM_UPPER: return take_half_day(reader, "AM", "PM");
    case PIECE_PM_LOWER: return take_half_day(reader, "am", "pm");
    case PIECE_ZONE_NAME: return take_zone_name(reader);
    case PIECE_ZONE: return take_offset(reader, chunk->zone);
    case PIECE_FRACTION:
        if (!is_separator(reader->rest) || count_fraction(reader->rest) < chunk->text.len) return false;
        take_fraction(reader, chunk->text.len);
        return true;
    case PIECE_FRACTION_TRIMMED:
        if (is_separator(reader->rest) && digit_at(reader->rest, 1))
            take_fraction(reader, count_fraction(reader->rest));
        return true;
    case PIECE_NONE:
        break;
    }
    return true;
}

/* The literal text between pieces; a run of spaces matches a run of spaces. */
static bool take_prefix(TimeReader *reader, Str prefix)
{
    while (prefix.len) {
        if (prefix.ptr[0] == ' ') {
            if (reader->rest.len && reader->rest.ptr[0] != ' ') return false;
            while (prefix.len && prefix.ptr[0] == ' ') prefix = str_slice(prefix, 1, prefix.len);
            skip_spaces(reader, SIZE_MAX);
            continue;
        }
        if (reader->rest.len == 0 || reader->rest.ptr[0] != prefix.ptr[0]) return false;
        prefix = str_slice(prefix, 1, prefix.len);
        drop(reader, 1);
    }
    return true;
}

/* Day, month and day of the year have to agree, and to exist. */
static bool settle_date(TimeReader *reader)
{
    if (reader->year_day) {
        bool is_leap = civil_is_leap(reader->year);
        reader->out_of_range = "day-of-year";
        if (reader->year_day < 1 || reader->year_day > 365 + is_leap) return false;
        CivilDate date = civil_date(civil_days(reader->year, 1, 1) + reader->year_day - 1);
        reader->is_mismatch = true;
        reader->out_of_range = "day-of-year does not match month";
        if (reader->month && reader->month != date.month) return false;
        reader->out_of_range = "day-of-year does not match day";
        if (reader->day > 0 && reader->day != date.day) return false;
        reader->is_mismatch = false;
        reader->month = date.month;
        reader->day = date.day;
    }
    if (!reader->month) reader->month = 1;
    if (reader->day < 0) reader->day = 1;
    reader->out_of_range = "day";
    return reader->day >= 1 && reader->day <= civil_month_days(reader->year, reader->month);
}

BuiltinResult time_layout_read(Str layout, Str text, Instant *out_instant, Error *err)
{
    TimeReader reader = { .layout = layout, .text = text, .rest = text, .err = err, .day = -1 };
    for (Str left = layout;;) {
        Chunk chunk = next_chunk(left);
        if (!take_prefix(&reader, chunk.prefix)) return refuse(&reader, reader.rest, chunk.prefix);
        if (chunk.piece == PIECE_NONE) break;
        Str before = reader.rest;
        bool is_read = take_piece(&reader, &chunk);
        if (reader.out_of_range || !is_read) return refuse(&reader, before, chunk.text);
        left = chunk.suffix;
    }
    if (reader.rest.len) return refuse(&reader, reader.rest, STR(""));
    if (!settle_date(&reader)) return refuse(&reader, STR(""), STR(""));
    if (reader.is_pm && reader.hour < 12) reader.hour += 12;
    if (reader.is_am && reader.hour == 12) reader.hour = 0;
    CivilTime time = { .date = { reader.year, reader.month, reader.day },
                       .hour = reader.hour, .minute = reader.minute, .second = reader.second };
    *out_instant = (Instant){ civil_seconds(&time) - reader.offset_s, reader.nanoseconds };
    return BUILTIN_OK;
}
