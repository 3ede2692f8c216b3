/* time.c - clocks, dates, durations and their texts. Times are nanoseconds since 1970, in the range of an int64. */
#include "base/civil.h"
#include "base/timezone.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"
#include "rego/builtins/time_layout.h"
#include "value/number.h"

#define SECOND_NS INT64_C(1000000000)

typedef unsigned __int128 Wide;

BuiltinResult builtin_time_now_ns(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = value_int(context->now_ns);
    return BUILTIN_OK;
}

/* --- operands ---------------------------------------------------------------------------------------------------- */

/* What a time operand holds: a number, or an array of a number, a zone and a layout, of which the later may be left
 * out. */
typedef struct Moment {
    int64_t ns;
    Instant instant;
    Timezone zone;
    Str layout;
} Moment;

/* Others take the name for a path: a slash may be many, and `.` stays where it is. */
static Str zone_name(Str name, Buf *buf)
{
    for (size_t i = 0; i < name.len; i++) {
        bool begins = i > 0 && name.ptr[i - 1] == '/';
        if (begins && name.ptr[i] == '/') continue;
        if ((begins || i == 0) && name.ptr[i] == '.' && i + 1 < name.len && name.ptr[i + 1] == '/') {
            i++;
            continue;
        }
        buf_char(buf, name.ptr[i]);
    }
    return buf_peek(buf);
}

static BuiltinResult read_zone(BuiltinContext *context, Str name, Timezone *out, Error *err)
{
    *out = timezone_utc();
    /* The zone of the machine must not decide: "Local" is UTC as well. */
    if (name.len == 0 || str_is(name, STR("UTC")) || str_is(name, STR("Local"))) return BUILTIN_OK;
    Str bytes = STR("");
    char storage[256];
    Buf buf = buf_on(storage, sizeof storage);
    Str plain = name.len <= sizeof storage ? zone_name(name, &buf) : name;
    if (context->zones && timezone_name_is_valid(plain)) bytes = context->zones->read(context->zones->owner, plain);
    if (bytes.len == 0 || timezone_read(bytes, out, NULL))
        return builtin_error(err, "unknown time zone %.*s", STR_ARG(name));
    return BUILTIN_OK;
}

static BuiltinResult read_moment(BuiltinContext *context, Value operand, Moment *out, Error *err)
{
    static const OperandType time_type = { KIND_NUMBER | KIND(VALUE_ARRAY),
                                           "either number (ns) or [number (ns), string (tz)]" };
    if (!operand_is(&operand, 0, &time_type, err)) return BUILTIN_TYPE_ERROR;
    Value parts[3] = { operand, value_string(STR("")), value_string(STR("")) };
    if (operand.kind == VALUE_ARRAY) {
        if (operand.count == 0) return operand_refuse(err, 0, time_type.name, "array");
        for (uint32_t i = 0; i < 3 && i < operand.count; i++) parts[i] = operand.items[i];
    }
    if (!operand_is(&parts[0], 0, &OPERAND_NUMBER, err) || !operand_is(&parts[1], 0, &OPERAND_STRING, err))
        return BUILTIN_TYPE_ERROR;
    if (!number_to_int64(parts[0], &out->ns)) return builtin_error(err, "timestamp too big");
    BuiltinResult result = read_zone(context, value_text(parts[1]), &out->zone, err);
    if (result) return result;
    out->layout = parts[2].kind == VALUE_STRING ? value_text(parts[2]) : STR("");
    out->instant = (Instant){ floor_div(out->ns, SECOND_NS), (int32_t)floor_rem(out->ns, SECOND_NS) };
    return BUILTIN_OK;
}

static CivilTime wall_clock(const Moment *moment)
{
    return civil_time(moment->instant.seconds + timezone_at(&moment->zone, moment->instant.seconds).offset_s);
}

static BuiltinResult instant_value(Instant instant, Value *out, Error *err)
{
    __int128 ns = (__int128)instant.seconds * SECOND_NS + instant.nanoseconds;
    if (ns < INT64_MIN || ns > INT64_MAX) return builtin_error(err, "time outside of valid range");
    *out = value_int((int64_t)ns);
    return BUILTIN_OK;
}

static BuiltinResult numbers_value(BuiltinContext *context, const int64_t *numbers, uint32_t count, Value *out,
                                   Error *err)
{
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) items[i] = value_int(numbers[i]);
    *out = value_array(items, count);
    return BUILTIN_OK;
}

/* --- taking apart ------------------------------------------------------------------------------------------------ */

BuiltinResult builtin_time_date(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment moment;
    BuiltinResult result = read_moment(context, args[0], &moment, err);
    if (result) return result;
    CivilDate date = wall_clock(&moment).date;
    return numbers_value(context, (int64_t[]){ date.year, date.month, date.day }, 3, out_result, err);
}

BuiltinResult builtin_time_clock(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment moment;
    BuiltinResult result = read_moment(context, args[0], &moment, err);
    if (result) return result;
    CivilTime time = wall_clock(&moment);
    return numbers_value(context, (int64_t[]){ time.hour, time.minute, time.second }, 3, out_result, err);
}

BuiltinResult builtin_time_weekday(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment moment;
    BuiltinResult result = read_moment(context, args[0], &moment, err);
    if (result) return result;
    CivilDate date = wall_clock(&moment).date;
    *out_result = value_string(str_of(weekday_names[civil_weekday(civil_days(date.year, date.month, date.day))]));
    return BUILTIN_OK;
}

BuiltinResult builtin_time_format(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment moment;
    BuiltinResult result = read_moment(context, args[0], &moment, err);
    if (result) return result;
    bool has_layout = args[0].kind == VALUE_ARRAY && args[0].count > 2;
    if (has_layout && !operand_is(&args[0].items[2], 0, &OPERAND_STRING, err)) return BUILTIN_TYPE_ERROR;
    Str layout = time_layout_named(moment.layout.len ? moment.layout : STR("RFC3339Nano"));
    if (!builtin_spend(context, layout.len, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    time_layout_print(&buf, layout, moment.instant, &moment.zone);
    return builtin_text_end(context, &buf, out_result, err);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static BuiltinResult parse(BuiltinContext *context, Str layout, Str text, Value *out, Error *err)
{
    Instant instant;
    if (!builtin_spend(context, 1 + layout.len, err)) return BUILTIN_HALT;
    BuiltinResult result = time_layout_read(layout, text, &instant, err);
    return result ? result : instant_value(instant, out, err);
}

BuiltinResult builtin_time_parse_ns(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str layout, text;
    if (!operand_string(args, 0, &layout, err) || !operand_string(args, 1, &text, err)) return BUILTIN_TYPE_ERROR;
    return parse(context, time_layout_named(layout), text, out_result, err);
}

BuiltinResult builtin_time_parse_rfc3339_ns(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    return parse(context, time_layout_named(STR("RFC3339")), text, out_result, err);
}

/* --- durations --------------------------------------------------------------------------------------------------- */

static const struct { const char *name; int64_t ns; } duration_units[] = {
    { "ns", 1 }, { "us", 1000 }, { "\xc2\xb5s", 1000 }, { "\xce\xbcs", 1000 }, { "ms", 1000000 }, { "s", SECOND_NS },
    { "m", 60 * SECOND_NS }, { "h", 3600 * SECOND_NS },
    { "d", 24 * 3600 * SECOND_NS }, { "w", 7 * 24 * 3600 * SECOND_NS }, { "y", 365 * 24 * 3600 * SECOND_NS },
};

typedef struct Duration {
    Str text, rest;
    uint64_t total_ns;                  /* its magnitude, at most 2^63 */
} Duration;

static bool has_long_unit(Str text)
{
    return str_find(text, 'd', 0) < text.len || str_find(text, 'w', 0) < text.len || str_find(text, 'y', 0) < text.len;
}

/* Numbers and lower-case words in turn, behind a sign. */
static bool is_well_shaped(Str text)
{
    bool after_word = true;
    for (size_t i = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'); i < text.len; i++) {
        bool is_word = ascii_is_lower(text.ptr[i]);
        if (!is_word && !ascii_is_digit(text.ptr[i]) && text.ptr[i] != '.') return false;
        after_word = is_word;
    }
    return after_word;
}

/* Days, weeks and years are OPA's own: where they occur its words are used, else those of Go. */
static BuiltinResult refuse_duration(const Duration *duration, const char *what, Str unit, Error *err)
{
    Buf buf;
    buf_init(&buf, ERROR_TEXT_SIZE);
    if (has_long_unit(duration->text) && (has_long_unit(unit) || !is_well_shaped(duration->text))) {
        buf_text(&buf, "invalid duration ");
        text_quote(&buf, duration->text);
        BuiltinResult result = builtin_error(err, "time: %.*s", STR_ARG(buf_peek(&buf)));
        buf_deinit(&buf);
        return result;
    }
    buf_text(&buf, what);
    if (unit.len) {
        buf_char(&buf, ' ');
        text_quote_bytes(&buf, unit);
        buf_text(&buf, " in duration");
    }
    buf_char(&buf, ' ');
    text_quote_bytes(&buf, duration->text);
    BuiltinResult result = builtin_error(err, "time: %.*s", STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
    return result;
}

/* Digits as a number; false beyond 2^63. */
static bool take_whole(Duration *duration, uint64_t *out, size_t *out_count)
{
    uint64_t number = 0;
    size_t count = 0;
    for (; count < duration->rest.len && ascii_is_digit(duration->rest.ptr[count]); count++) {
        if (number > (UINT64_C(1) << 63) / 10) return false;
        number = number * 10 + (uint64_t)(duration->rest.ptr[count] - '0');
        if (number > UINT64_C(1) << 63) return false;
    }
    duration->rest = str_slice(duration->rest, count, duration->rest.len);
    *out = number;
    *out_count = count;
    return true;
}

/* Digits behind the point as a number over a power of ten; those beyond the eighteenth do not count. */
static size_t take_fraction(Duration *duration, uint64_t *out_number, uint64_t *out_scale)
{
    size_t count = 0;
    *out_number = 0;
    *out_scale = 1;
    for (; count < duration->rest.len && ascii_is_digit(duration->rest.ptr[count]); count++) {
        if (count >= 18) continue;
        *out_number = *out_number * 10 + (uint64_t)(duration->rest.ptr[count] - '0');
        *out_scale *= 10;
    }
    duration->rest = str_slice(duration->rest, count, duration->rest.len);
    return count;
}

static Str take_unit(Duration *duration)
{
    size_t size = 0;
    while (size < duration->rest.len && duration->rest.ptr[size] != '.' && !ascii_is_digit(duration->rest.ptr[size]))
        size++;
    Str unit = str_slice(duration->rest, 0, size);
    duration->rest = str_slice(duration->rest, size, duration->rest.len);
    return unit;
}

static int64_t unit_ns(Str name)
{
    for (size_t i = 0; i < sizeof duration_units / sizeof duration_units[0]; i++)
        if (str_is_text(name, duration_units[i].name)) return duration_units[i].ns;
    return 0;
}

/* One number and its unit. */
static BuiltinResult take_part(Duration *duration, Error *err)
{
    uint64_t whole, fraction = 0, scale = 1;
    size_t whole_count, fraction_count = 0;
    if (!take_whole(duration, &whole, &whole_count))
        return refuse_duration(duration, "invalid duration", STR(""), err);
    if (duration->rest.len && duration->rest.ptr[0] == '.') {
        duration->rest = str_slice(duration->rest, 1, duration->rest.len);
        fraction_count = take_fraction(duration, &fraction, &scale);
    }
    if (!whole_count && !fraction_count) return refuse_duration(duration, "invalid duration", STR(""), err);
    Str unit = take_unit(duration);
    if (unit.len == 0) return refuse_duration(duration, "missing unit in duration", STR(""), err);
    int64_t ns = unit_ns(unit);
    if (!ns) return refuse_duration(duration, "unknown unit", unit, err);
    Wide total = (Wide)whole * (Wide)ns + (Wide)fraction * (Wide)ns / scale + duration->total_ns;
    if (total > UINT64_C(1) << 63) return refuse_duration(duration, "invalid duration", STR(""), err);
    duration->total_ns = (uint64_t)total;
    return BUILTIN_OK;
}

BuiltinResult builtin_time_parse_duration_ns(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Duration duration = { 0 };
    if (!operand_string(args, 0, &duration.text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, duration.text.len, err)) return BUILTIN_HALT;
    bool has_sign = str_starts(duration.text, STR("-")) || str_starts(duration.text, STR("+"));
    bool negative = has_sign && duration.text.ptr[0] == '-';
    duration.rest = str_slice(duration.text, has_sign, duration.text.len);
    if (duration.rest.len == 0) return refuse_duration(&duration, "invalid duration", STR(""), err);
    if (str_is(duration.rest, STR("0"))) duration.rest = STR("");
    while (duration.rest.len) {
        BuiltinResult result = take_part(&duration, err);
        if (result) return result;
    }
    if (!negative && duration.total_ns > INT64_MAX)
        return refuse_duration(&duration, "invalid duration", STR(""), err);
    *out_result = value_int(negative ? (int64_t)(0 - duration.total_ns) : (int64_t)duration.total_ns);
    return BUILTIN_OK;
}

/* --- arithmetic -------------------------------------------------------------------------------------------------- */

/* The instant at which clocks of the zone read so. Where they never do, or twice, it is right for one of the two
 * offsets: the one that held before is tried first, as Go does it. */
static int64_t instant_of_wall(const Timezone *zone, int64_t wall_s)
{
    ZoneSpan span = timezone_at(zone, wall_s);
    int64_t instant = wall_s - span.offset_s;
    if (instant < span.from_s || instant >= span.until_s) instant = wall_s - timezone_at(zone, instant).offset_s;
    return instant;
}

BuiltinResult builtin_time_add_date(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment moment;
    int64_t years, months, days;
    BuiltinResult result = read_moment(context, args[0], &moment, err);
    if (result) return result;
    if (!operand_int(args, 1, "number", &years, err) || !operand_int(args, 2, "number", &months, err)
        || !operand_int(args, 3, "number", &days, err))
        return BUILTIN_TYPE_ERROR;
    /* Further than this no sum can come back into range. */
    const int64_t far = INT64_C(1) << 36;
    if (years > far || years < -far || months > far || months < -far || days > far || days < -far)
        return builtin_error(err, "time outside of valid range");
    CivilTime time = wall_clock(&moment);
    int64_t day = civil_days(time.date.year + years, time.date.month + months, time.date.day + days);
    int64_t wall_s = day * CIVIL_DAY_S + time.hour * 3600 + time.minute * 60 + time.second;
    Instant instant = { instant_of_wall(&moment.zone, wall_s), moment.instant.nanoseconds };
    return instant_value(instant, out_result, err);
}

/* Years, months, days, hours, minutes and seconds from the earlier to the later, both on clocks of the first one's
 * zone. A month that is borrowed has the days of the earlier one's month. */
BuiltinResult builtin_time_diff(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Moment a, b;
    BuiltinResult result = read_moment(context, args[0], &a, err);
    if (!result) result = read_moment(context, args[1], &b, err);
    if (result) return result;
    b.zone = a.zone;
    const Moment *early = a.ns > b.ns ? &b : &a, *late = a.ns > b.ns ? &a : &b;
    CivilTime from = wall_clock(early), to = wall_clock(late);
    int64_t parts[6] = { to.date.year - from.date.year, to.date.month - from.date.month, to.date.day - from.date.day,
                         to.hour - from.hour, to.minute - from.minute, to.second - from.second };
    const int64_t units[6] = { 0, 12, civil_month_days(from.date.year, from.date.month), 24, 60, 60 };
    for (uint32_t i = 5; i > 0; i--) {
        if (parts[i] >= 0) continue;
        parts[i] += units[i];
        parts[i - 1]--;
    }
    return numbers_value(context, parts, 6, out_result, err);
}
