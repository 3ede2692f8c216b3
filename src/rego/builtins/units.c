/* units.c - "10Gi" and "1.5KB" as numbers. */
#include <gmp.h>
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/exact.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "value/number.h"

/* A unit is a power of ten or of two; a milli is what the nearest double makes of it, as in OPA. */
typedef struct Unit {
    const char *name;
    uint8_t ten, two;
    bool is_milli;
} Unit;

#define MILLI_MANTISSA 0x10624dd2f1a9fcul       /* x 2^-62 */
#define MILLI_BITS 62u

static const Unit units[] = {
    { "", 0, 0 },    { "m", 0, 0, true }, { "k", 3, 0 },    { "ki", 0, 10 }, { "M", 6, 0 },   { "mi", 0, 20 },
    { "g", 9, 0 },   { "gi", 0, 30 },     { "t", 12, 0 },   { "ti", 0, 40 }, { "p", 15, 0 },  { "pi", 0, 50 },
    { "e", 18, 0 },  { "ei", 0, 60 },
};

static const Unit byte_units[] = {
    { "", 0, 0 },
    { "k", 3, 0 },   { "kb", 3, 0 },   { "ki", 0, 10 }, { "kib", 0, 10 },
    { "m", 6, 0 },   { "mb", 6, 0 },   { "mi", 0, 20 }, { "mib", 0, 20 },
    { "g", 9, 0 },   { "gb", 9, 0 },   { "gi", 0, 30 }, { "gib", 0, 30 },
    { "t", 12, 0 },  { "tb", 12, 0 },  { "ti", 0, 40 }, { "tib", 0, 40 },
    { "p", 15, 0 },  { "pb", 15, 0 },  { "pi", 0, 50 }, { "pib", 0, 50 },
    { "e", 18, 0 },  { "eb", 18, 0 },  { "ei", 0, 60 }, { "eib", 0, 60 },
};

/* What the two builtins call things, and what they know. */
typedef struct Measure {
    const char *name, *amount, *unit;
    const Unit *units;
    size_t count;
} Measure;

static const Measure plain = { "units.parse", "amount", "unit", units, sizeof units / sizeof units[0] };
static const Measure bytes = { "units.parse_bytes", "byte amount", "byte unit", byte_units,
                               sizeof byte_units / sizeof byte_units[0] };

/* --- cutting the text -------------------------------------------------------------------------------------------- */

static bool is_digit_or_sign(char c)
{
    return ascii_is_digit(c) || c == '+' || c == '-';
}

/* An `e` belongs to the amount only where a digit or a sign follows; else it stands for exa. */
static size_t amount_size(Str text)
{
    size_t at = 0;
    while (at < text.len) {
        bool is_exponent = ascii_to_lower(text.ptr[at]) == 'e' && at + 1 < text.len
                        && is_digit_or_sign(text.ptr[at + 1]);
        if (!is_exponent && !is_digit_or_sign(text.ptr[at]) && text.ptr[at] != '.') break;
        at++;
    }
    return at;
}

/* [sign] digits [. digits] [e [sign] digits] as JSON, with at least one digit before the exponent. */
static bool amount_normalize(Str text, Buf *buf)
{
    size_t at = 0, digits = 0;
    if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) {
        if (text.ptr[at] == '-') buf_char(buf, '-');
        at++;
    }
    while (at + 1 < text.len && text.ptr[at] == '0' && ascii_is_digit(text.ptr[at + 1])) at++;
    if (at >= text.len || !ascii_is_digit(text.ptr[at])) buf_char(buf, '0');
    for (; at < text.len && ascii_is_digit(text.ptr[at]); at++, digits++) buf_char(buf, text.ptr[at]);
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        if (at < text.len && ascii_is_digit(text.ptr[at])) buf_char(buf, '.');
        for (; at < text.len && ascii_is_digit(text.ptr[at]); at++, digits++) buf_char(buf, text.ptr[at]);
    }
    if (!digits) return false;
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        buf_char(buf, text.ptr[at++]);
        if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) buf_char(buf, text.ptr[at++]);
        if (at == text.len) return false;
        for (; at < text.len && ascii_is_digit(text.ptr[at]); at++) buf_char(buf, text.ptr[at]);
    }
    return at == text.len;
}

/* Case means nothing, but for a lone `m` or `M`: milli or mega. */
static const Unit *unit_find(const Measure *measure, Str name)
{
    for (size_t i = 0; i < measure->count; i++) {
        Str known = str_of(measure->units[i].name);
        bool is_same = known.len == name.len;
        for (size_t j = 0; is_same && j < name.len; j++)
            is_same = ascii_to_lower(name.ptr[j]) == ascii_to_lower(known.ptr[j]);
        bool is_exact = name.len != 1 || ascii_to_lower(name.ptr[0]) != 'm' || name.ptr[0] == known.ptr[0];
        if (is_same && (is_exact || measure == &bytes)) return &measure->units[i];
    }
    return NULL;
}

#define EXPONENT_DIGIT_COUNT_MAX 6u     /* OPA's, leading zeros counted */

static bool has_long_exponent(Str text)
{
    size_t at = 0;
    while (at < text.len && ascii_to_lower(text.ptr[at]) != 'e') at++;
    at++;
    if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) at++;
    return at < text.len && text.len - at > EXPONENT_DIGIT_COUNT_MAX;
}

static BuiltinResult amount_read(BuiltinContext *context, const Measure *measure, Str text, Value *out, Error *err)
{
    if (text.len == 0) return builtin_error(err, "%s: no %s provided", measure->name, measure->amount);
    Buf buf;
    buf_init(&buf, text.len + 2);
    Error why;
    BuiltinResult result = BUILTIN_OK;
    if (!amount_normalize(text, &buf))
        result = builtin_error(err, "%s: could not parse %s to a number", measure->name, measure->amount);
    else if (number_read(context->arena, buf_peek(&buf), out, &why))
        result = builtin_limit(err, "%s: %s", measure->name, why.text);     /* its grammar is right by now */
    buf_deinit(&buf);
    return result;
}

/* The text without its quotes; the unit in lower case, the first letter excepted where case may matter. */
static Str prepare(BuiltinContext *context, const Measure *measure, Str text)
{
    char *copy = arena_alloc(context->arena, text.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '"') copy[size++] = text.ptr[i];
    Str whole = { copy, size };
    for (size_t i = amount_size(whole) + (measure == &plain); i < size; i++) copy[i] = ascii_to_lower(copy[i]);
    return whole;
}

static BuiltinResult measure_read(BuiltinContext *context, const Measure *measure, const Value *args, Value *out_amount,
                                  const Unit **out_unit, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    if (str_find(text, ' ', 0) < text.len)
        return builtin_error(err, "%s: spaces not allowed in resource strings", measure->name);
    text = prepare(context, measure, text);
    size_t amount = amount_size(text);
    Str name = str_slice(text, amount, text.len);
    if (has_long_exponent(str_slice(text, 0, amount)))
        return builtin_error(err, "%s: exponent too large", measure->name);
    if (amount == 0) return builtin_error(err, "%s: no %s provided", measure->name, measure->amount);
    *out_unit = unit_find(measure, name);
    if (!*out_unit)
        return builtin_error(err, "%s: %s %.*s not recognized", measure->name, measure->unit, STR_ARG(name));
    return amount_read(context, measure, str_slice(text, 0, amount), out_amount, err);
}

/* --- the value --------------------------------------------------------------------------------------------------- */

/* Ten digits behind the point, a half rounded away from zero. */
static BuiltinResult fraction_value(BuiltinContext *context, mpq_t fraction, Value *out, Error *err)
{
    mpz_t scaled, half;
    mpz_init(scaled);
    mpz_init(half);
    bool negative = mpq_sgn(fraction) < 0;
    mpz_abs(scaled, mpq_numref(fraction));
    mpz_mul_ui(scaled, scaled, 10000000000ul);
    mpz_tdiv_q_2exp(half, mpq_denref(fraction), 1);
    if (mpz_odd_p(mpq_denref(fraction))) mpz_add_ui(half, half, 1);
    mpz_add(scaled, scaled, half);
    mpz_tdiv_q(scaled, scaled, mpq_denref(fraction));
    size_t size = mpz_sizeinbase(scaled, 10) + 16;
    BuiltinResult result = BUILTIN_HALT;
    char *digits = builtin_alloc(context, size, err), *text = builtin_alloc(context, size + 16, err);
    if (digits && text) {
        mpz_get_str(digits, 10, scaled);
        size_t count = strlen(digits), whole = count > 10 ? count - 10 : 0;
        Buf buf = buf_on(text, size + 16);
        if (negative) buf_char(&buf, '-');
        if (whole) buf_bytes(&buf, digits, whole);
        else buf_char(&buf, '0');
        buf_char(&buf, '.');
        buf_repeat(&buf, '0', 10 - (count - whole));
        buf_bytes(&buf, digits + whole, count - whole);
        *out = number_make(context->arena, buf_peek(&buf));
        result = BUILTIN_OK;
    }
    mpz_clear(scaled);
    mpz_clear(half);
    return result;
}

BuiltinResult builtin_units_parse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value amount;
    const Unit *unit;
    BuiltinResult result = measure_read(context, &plain, args, &amount, &unit, err);
    if (result) return result;
    mpq_t exact;
    mpq_init(exact);
    decimal_to_fraction(exact, amount);
    mpz_t power;
    mpz_init(power);
    mpz_ui_pow_ui(power, 10, (unsigned long)unit->ten);
    mpz_mul(mpq_numref(exact), mpq_numref(exact), power);
    mpz_mul_2exp(mpq_numref(exact), mpq_numref(exact), (mp_bitcnt_t)unit->two);
    if (unit->is_milli) {
        mpz_mul_ui(mpq_numref(exact), mpq_numref(exact), MILLI_MANTISSA);
        mpz_mul_2exp(mpq_denref(exact), mpq_denref(exact), MILLI_BITS);
    }
    mpq_canonicalize(exact);
    bool is_integer = mpz_cmp_ui(mpq_denref(exact), 1) == 0;
    result = is_integer ? integer_value(context, mpq_numref(exact), out_result, err)
                        : fraction_value(context, exact, out_result, err);
    mpz_clear(power);
    mpq_clear(exact);
    return result;
}

BuiltinResult builtin_units_parse_bytes(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value amount;
    const Unit *unit;
    BuiltinResult result = measure_read(context, &bytes, args, &amount, &unit, err);
    if (result) return result;
    mpz_t integer;
    mpz_init(integer);
    mpz_ui_pow_ui(integer, 10, (unsigned long)unit->ten);
    mpz_mul_2exp(integer, integer, (mp_bitcnt_t)unit->two);
    Float size = float_multiply(float_read(amount, FLOAT_PRECISION), float_of_integer(integer, FLOAT_PRECISION));
    float_truncate(integer, size);
    result = integer_value(context, integer, out_result, err);
    mpz_clear(integer);
    return result;
}
