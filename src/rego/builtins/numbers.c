/* numbers.c - ranges, bits, chance, and numbers to and from text. */
#include <gmp.h>

#include "base/limits.h"
#include "rego/builtins/exact.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"
#include "value/number.h"

/* --- ranges ------------------------------------------------------------------------------------------------------ */

static BuiltinResult fill_range(BuiltinContext *context, mpz_t from, mpz_t step, uint32_t count, Value *out, Error *err)
{
    if (!builtin_spend(context, count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) {
        BuiltinResult result = integer_value(context, from, &items[i], err);
        if (result) return result;
        mpz_add(from, from, step);
    }
    *out = value_array(items, count);
    return BUILTIN_OK;
}

/* From the first to at most the last, in whichever direction that is. */
static BuiltinResult range(BuiltinContext *context, const Value *args, mpz_t step, Value *out, Error *err)
{
    mpz_t from, distance;
    mpz_init(from);
    mpz_init(distance);
    integer_read(from, args[0]);
    integer_read(distance, args[1]);
    mpz_sub(distance, distance, from);
    if (mpz_sgn(distance) < 0) {
        mpz_neg(distance, distance);
        mpz_tdiv_q(distance, distance, step);
        mpz_neg(step, step);
    } else {
        mpz_tdiv_q(distance, distance, step);
    }
    BuiltinResult result = BUILTIN_HALT;
    if (mpz_cmp_ui(distance, VALUE_COUNT_MAX) >= 0)
        error_set(err, ERR_LIMIT, "a range exceeds VALUE_COUNT_MAX (%u) numbers", VALUE_COUNT_MAX);
    else
        result = fill_range(context, from, step, (uint32_t)mpz_get_ui(distance) + 1, out, err);
    mpz_clear(from);
    mpz_clear(distance);
    return result;
}

BuiltinResult builtin_numbers_range(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is_integer(args, 0, "integer", err) || !operand_is_integer(args, 1, "integer", err))
        return BUILTIN_TYPE_ERROR;
    mpz_t step;
    mpz_init_set_ui(step, 1);
    BuiltinResult result = range(context, args, step, out_result, err);
    mpz_clear(step);
    return result;
}

BuiltinResult builtin_numbers_range_step(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    for (uint32_t i = 0; i < 3; i++)
        if (!operand_is_integer(args, i, "integer", err)) return BUILTIN_TYPE_ERROR;
    mpz_t step;
    mpz_init(step);
    integer_read(step, args[2]);
    BuiltinResult result;
    if (mpz_sgn(step) <= 0) result = builtin_error(err, "numbers.range_step: step must be a positive integer");
    else result = range(context, args, step, out_result, err);
    mpz_clear(step);
    return result;
}

/* --- bits -------------------------------------------------------------------------------------------------------- */

static BuiltinResult bits(BuiltinContext *context, IntegerOperator operator, const Value *args, Value *out, Error *err)
{
    if (!operand_is_integer(args, 0, "integer", err) || !operand_is_integer(args, 1, "integer", err))
        return BUILTIN_TYPE_ERROR;
    return integers_apply(context, operator, args, out, err);
}

BuiltinResult builtin_bits_and(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return bits(context, mpz_and, args, out_result, err);
}

BuiltinResult builtin_bits_or(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return bits(context, mpz_ior, args, out_result, err);
}

BuiltinResult builtin_bits_xor(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return bits(context, mpz_xor, args, out_result, err);
}

BuiltinResult builtin_bits_negate(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is_integer(args, 0, "integer", err)) return BUILTIN_TYPE_ERROR;
    mpz_t integer;
    mpz_init(integer);
    integer_read(integer, args[0]);
    mpz_com(integer, integer);
    BuiltinResult result = integer_value(context, integer, out_result, err);
    mpz_clear(integer);
    return result;
}

/* A shift further than this leaves nothing of any number, or makes one that is refused anyway. */
#define SHIFT_MAX (8u * NUMBER_EXPONENT_MAX)

static BuiltinResult shift(BuiltinContext *context, bool to_left, const Value *args, Value *out, Error *err)
{
    if (!operand_is_integer(args, 0, "integer", err) || !operand_is_integer(args, 1, "integer", err))
        return BUILTIN_TYPE_ERROR;
    if (number_compare(args[1], value_int(0)) < 0)
        return operand_refuse(err, 1, "an unsigned integer number", "a negative integer");
    int64_t count;
    if (!number_to_int64(args[1], &count) || count > SHIFT_MAX) count = SHIFT_MAX;
    mpz_t integer;
    mpz_init(integer);
    integer_read(integer, args[0]);
    if (to_left) mpz_mul_2exp(integer, integer, (mp_bitcnt_t)count);
    else mpz_fdiv_q_2exp(integer, integer, (mp_bitcnt_t)count);
    BuiltinResult result = integer_value(context, integer, out, err);
    mpz_clear(integer);
    return result;
}

BuiltinResult builtin_bits_lsh(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return shift(context, true, args, out_result, err);
}

BuiltinResult builtin_bits_rsh(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return shift(context, false, args, out_result, err);
}

/* --- chance ------------------------------------------------------------------------------------------------------ */

/* The finish of splitmix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* One evaluation has one seed, so equal calls have equal answers without being remembered. */
BuiltinResult builtin_rand_intn(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str key;
    int64_t bound;
    if (!operand_string(args, 0, &key, err) || !operand_int(args, 1, "number", &bound, err))
        return BUILTIN_TYPE_ERROR;
    uint64_t range_size = bound < 0 ? 0 - (uint64_t)bound : (uint64_t)bound;
    uint64_t hash = mix(context->seed ^ range_size);
    for (size_t i = 0; i < key.len; i++) hash = mix(hash + UINT64_C(0x9e3779b97f4a7c15) + (unsigned char)key.ptr[i]);
    *out_result = value_int((int64_t)((unsigned __int128)hash * range_size >> 64));
    return BUILTIN_OK;
}

/* --- text -------------------------------------------------------------------------------------------------------- */

/* The integer part; of what is not written as a plain integer, that of the float. */
static void integer_part(mpz_t integer, Value number)
{
    Str text = number.kind == VALUE_INT ? STR("") : value_text(number);
    bool is_plain = true;
    for (size_t i = 0; i < text.len; i++) is_plain = is_plain && (ascii_is_digit(text.ptr[i]) || text.ptr[i] == '-');
    if (is_plain) integer_read(integer, number);
    else float_truncate(integer, float_read(number, FLOAT_PRECISION));
}

BuiltinResult builtin_format_int(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_NUMBER, err) || !operand_is(args, 1, &OPERAND_NUMBER, err))
        return BUILTIN_TYPE_ERROR;
    int64_t base = args[1].kind == VALUE_INT ? args[1].integer : 0;
    if (base != 2 && base != 8 && base != 10 && base != 16)
        return operand_error(err, 1, "must be one of {2, 8, 10, 16}");
    mpz_t integer;
    mpz_init(integer);
    integer_part(integer, args[0]);
    BuiltinResult result = BUILTIN_HALT;
    bool is_paid = builtin_spend(context, digits_cost(mpz_sizeinbase(integer, 10)), err);
    char *text = is_paid ? builtin_alloc(context, mpz_sizeinbase(integer, (int)base) + 2, err) : NULL;
    if (text) {
        mpz_get_str(text, (int)base, integer);
        *out_result = value_string(str_of(text));
        result = BUILTIN_OK;
    }
    mpz_clear(integer);
    return result;
}

static bool text_is_any(Str text, const char *const *words)
{
    for (; *words; words++) {
        Str word = str_of(*words);
        bool is_same = word.len == text.len;
        for (size_t i = 0; is_same && i < text.len; i++) is_same = ascii_to_lower(text.ptr[i]) == word.ptr[i];
        if (is_same) return true;
    }
    return false;
}

/* Copies digits, leaving out the underscores between them. */
static size_t copy_digits(Str text, size_t *at, Buf *buf)
{
    size_t count = 0;
    for (; *at < text.len; (*at)++) {
        char c = text.ptr[*at];
        bool joins = c == '_' && count && *at + 1 < text.len && ascii_is_digit(text.ptr[*at + 1])
                  && ascii_is_digit(text.ptr[*at - 1]);
        if (joins) continue;
        if (!ascii_is_digit(c)) break;
        buf_char(buf, c);
        count++;
    }
    return count;
}

/* A decimal number in the freer notation of to_number(): a sign of either kind, ".5", "5.", "007", "1_000". What is
 * written to the buffer is JSON. */
static bool decimal_read(Str text, Buf *buf)
{
    size_t at = 0;
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+')) {
        if (text.ptr[0] == '-') buf_char(buf, '-');
        at++;
    }
    while (at + 1 < text.len && text.ptr[at] == '0' && (ascii_is_digit(text.ptr[at + 1]) || text.ptr[at + 1] == '_')) {
        at += text.ptr[at + 1] == '_' ? 2 : 1;
        if (at >= text.len || !ascii_is_digit(text.ptr[at])) return false;
    }
    size_t whole = copy_digits(text, &at, buf), fraction = 0;
    if (!whole) buf_char(buf, '0');
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        buf_char(buf, '.');
        fraction = copy_digits(text, &at, buf);
        if (!fraction) buf->len--;
    }
    if (!whole && !fraction) return false;
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        buf_char(buf, text.ptr[at++]);
        if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) buf_char(buf, text.ptr[at++]);
        if (!copy_digits(text, &at, buf)) return false;
    }
    return at == text.len;
}

static BuiltinResult parse_error(Str text, const char *why, Error *err)
{
    Buf quoted;
    buf_init(&quoted, ERROR_TEXT_SIZE);
    text_quote(&quoted, str_slice(text, 0, ERROR_TEXT_SIZE / 8));
    BuiltinResult result = builtin_error(err, "strconv.ParseFloat: parsing %.*s: %s", STR_ARG(buf_peek(&quoted)), why);
    buf_deinit(&quoted);
    return result;
}

/* Whether a number that is beyond our limit is beyond all doubles, which the language refuses as well: it has a digit
 * before its point and no negative exponent. */
static bool is_beyond_doubles(Str text)
{
    size_t first = text.len && text.ptr[0] == '-';
    return text.len > first && text.ptr[first] != '0' && str_find(text, '-', first) == text.len;
}

static BuiltinResult number_of_text(BuiltinContext *context, Str text, Value *out, Error *err)
{
    static const char *const no_numbers[] = { "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan",
                                              "+nan", "-nan", NULL };
    if (text_is_any(text, no_numbers)) return operand_refuse(err, 0, "valid number string", "string");
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    Buf buf;
    buf_init(&buf, text.len + 2);
    Value number = value_null();
    BuiltinResult result = BUILTIN_OK;
    Error why;
    Status status = OK;
    Float nearest;                  /* numbers are no doubles here, but a text must still be readable as one */
    if (!decimal_read(text, &buf)) result = parse_error(text, "invalid syntax", err);
    else status = number_read(context->arena, buf_peek(&buf), &number, &why);
    if (status && !is_beyond_doubles(buf_peek(&buf))) result = builtin_limit(err, "%s", why.text);
    else if (status) result = parse_error(text, "value out of range", err);
    else if (!result && !double_read(number, &nearest)) result = parse_error(text, "value out of range", err);
    if (!result) *out = number;
    buf_deinit(&buf);
    return result;
}

BuiltinResult builtin_to_number(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    static const OperandType scalar = { KIND(VALUE_NULL) | KIND(VALUE_BOOL) | KIND_NUMBER | KIND(VALUE_STRING),
                                        "one of {null, boolean, number, string}" };
    if (!operand_is(args, 0, &scalar, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind == VALUE_STRING) return number_of_text(context, value_text(args[0]), out_result, err);
    *out_result = value_is_number(args[0]) ? args[0] : value_int(value_is_true(args[0]));
    return BUILTIN_OK;
}
