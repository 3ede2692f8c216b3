/* The small grammars of single values: durations, rates, money, names. */
#include "base/limits.h"
#include "lang/shape.h"
#include "value/number.h"

static const struct { Str unit; int64_t ms; } units[] = {
    { STR_INIT("ms"), 1 },         { STR_INIT("s"), 1000 },     { STR_INIT("m"), 60 * 1000 },
    { STR_INIT("h"), 3600 * 1000 }, { STR_INIT("d"), 86400 * 1000 },
};

static bool unit_find(Str text, int64_t *out_ms)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!str_is(units[i].unit, text)) continue;
        *out_ms = units[i].ms;
        return true;
    }
    return false;
}

/* One or more of digits and unit, each unit smaller than the one before it: 1h30m, not 30m1h or 1h1h. */
bool duration_read(Str text, int64_t *out_ms)
{
    int64_t total = 0, unit_last = INT64_MAX;
    size_t at = 0;
    while (at < text.len) {
        size_t from = at;
        while (at < text.len && ascii_is_digit(text.ptr[at])) at++;
        uint64_t count;
        if (!str_to_u64(str_slice(text, from, at), &count) || count > DURATION_MS_MAX) return false;
        from = at;
        while (at < text.len && ascii_is_lower(text.ptr[at])) at++;
        int64_t unit, part;
        if (!unit_find(str_slice(text, from, at), &unit) || unit >= unit_last) return false;
        if (__builtin_mul_overflow((int64_t)count, unit, &part) || __builtin_add_overflow(total, part, &total))
            return false;
        unit_last = unit;
    }
    if (text.len == 0 || total > DURATION_MS_MAX) return false;
    *out_ms = total;
    return true;
}

bool rate_read(Str text, int64_t *out_count, int64_t *out_per_ms)
{
    size_t slash = str_find(text, '/', 0);
    uint64_t count;
    if (slash == text.len || !str_to_u64(str_slice(text, 0, slash), &count)) return false;
    if (count == 0 || count > 1000000 || !unit_find(str_slice(text, slash + 1, text.len), out_per_ms)) return false;
    *out_count = (int64_t)count;
    return true;
}

/* number x 10^6 must be an integer: its digits, moved by six places. */
bool money_read(Value number, int64_t *out_micro)
{
    Number parts;
    number_parts(number, &parts);
    if (parts.negative || parts.exponent > 11) return false;            /* at most hundreds of billions */
    if (parts.digit_count && (int64_t)parts.digit_count - 1 - parts.exponent > 6) return false;
    int64_t micro = 0;
    int32_t places = parts.digit_count ? parts.exponent + 6 + 1 : 0;
    size_t at = 0;
    for (int32_t i = 0; i < places; i++) {
        if (at < parts.digits.len && parts.digits.ptr[at] == '.') at++;
        micro = micro * 10 + (at < parts.digits.len ? parts.digits.ptr[at++] - '0' : 0);
    }
    *out_micro = micro;
    return true;
}

bool name_is_valid(Str text, bool dotted)
{
    if (text.len == 0 || text.len > NAME_SIZE_MAX || !(ascii_is_alnum(text.ptr[0]) || text.ptr[0] == '_')) return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_fine = ascii_is_alnum(c) || c == '_' || c == '-' || (dotted && (c == '.' || c == '/' || c == '@'));
        if (!is_fine) return false;
    }
    return true;
}

const EnumName *enum_find(const Type *type, Str text)
{
    for (const EnumName *name = type->names; name->name; name++)
        if (str_is_text(text, name->name) || (name->also && str_is_text(text, name->also))) return name;
    return NULL;
}
