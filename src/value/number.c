#include "value/number.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

/* The grammar of RFC 8259, section 6, cut into its parts. */
typedef struct Literal {
    bool negative;
    Str whole, fraction;
    bool has_exponent, exponent_negative;
    Str exponent;
} Literal;

static Str take_digits(Str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.len && ascii_is_digit(text.ptr[*at])) (*at)++;
    return str_slice(text, from, *at);
}

/* 0 where the text is a number, else the 1-based place of the first character that is wrong. */
static size_t literal_read(Str text, Literal *out)
{
    size_t at = 0;
    *out = (Literal){ 0 };
    if (at < text.len && text.ptr[at] == '-') {
        out->negative = true;
        at++;
    }
    size_t whole_at = at;
    out->whole = take_digits(text, &at);
    if (out->whole.len == 0) return at + 1;
    if (out->whole.len > 1 && out->whole.ptr[0] == '0') return whole_at + 2;
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        out->fraction = take_digits(text, &at);
        if (out->fraction.len == 0) return at + 1;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        out->has_exponent = true;
        if (at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-')) out->exponent_negative = text.ptr[at++] == '-';
        out->exponent = take_digits(text, &at);
        if (out->exponent.len == 0) return at + 1;
    }
    return at < text.len ? at + 1 : 0;
}

/* The written exponent, held at one beyond the limit so that later sums cannot overflow. */
static int32_t literal_exponent(const Literal *literal)
{
    int32_t exponent = 0;
    for (size_t i = 0; i < literal->exponent.len; i++) {
        exponent = exponent * 10 + (literal->exponent.ptr[i] - '0');
        if (exponent > NUMBER_EXPONENT_MAX) exponent = NUMBER_EXPONENT_MAX + 1;
    }
    return literal->exponent_negative ? -exponent : exponent;
}

static size_t zeros_leading(Str digits)
{
    size_t count = 0;
    while (count < digits.len && digits.ptr[count] == '0') count++;
    return count;
}

static size_t zeros_trailing(Str digits)
{
    size_t count = 0;
    while (count < digits.len && digits.ptr[digits.len - 1 - count] == '0') count++;
    return count;
}

/* Whole and fraction lie side by side in the text with a point between, so the significant digits are one slice of it. */
static void literal_parts(const Literal *literal, Number *out)
{
    Str whole = literal->whole, fraction = literal->fraction;
    int64_t exponent = literal_exponent(literal);
    const char *first, *last;
    out->negative = literal->negative;

    size_t skip = zeros_leading(whole);
    if (skip < whole.len) {
        first = whole.ptr + skip;
        exponent += (int64_t)(whole.len - skip) - 1;
    } else {
        skip = zeros_leading(fraction);
        if (skip == fraction.len) {                             /* zero, of either sign */
            *out = (Number){ 0 };
            return;
        }
        first = fraction.ptr + skip;
        exponent -= (int64_t)skip + 1;
    }

    size_t cut = zeros_trailing(fraction);
    if (cut < fraction.len) last = fraction.ptr + fraction.len - cut;
    else last = whole.ptr + whole.len - zeros_trailing(whole);

    out->digits = (Str){ first, (size_t)(last - first) };
    bool has_point = fraction.len && first < fraction.ptr && last > fraction.ptr;
    out->digit_count = (uint32_t)(out->digits.len - has_point);
    out->exponent = exponent > INT32_MAX ? INT32_MAX : (int32_t)exponent;
}

/* The text may come from anywhere: what is not printable is named by its byte, so that the reason stays UTF-8. */
static Status stranger(char c, size_t column, Error *err)
{
    if (c > ' ' && c < 127)
        return error_at(err, ERR_INVALID, 1, (uint32_t)column, "a number cannot go on with '%c' here", c);
    return error_at(err, ERR_INVALID, 1, (uint32_t)column, "a number cannot go on with byte 0x%02x here",
                    (unsigned char)c);
}

Status number_check(Str text, Error *err)
{
    Literal literal;
    size_t wrong = literal_read(text, &literal);
    if (wrong > text.len) return error_at(err, ERR_INVALID, 1, (uint32_t)wrong, "a number ends too early");
    if (wrong) return stranger(text.ptr[wrong - 1], wrong, err);
    /* Without a written exponent the number of digits bounds the scientific one: nearly every number ends here. */
    bool is_short = literal.whole.len <= NUMBER_EXPONENT_MAX && literal.fraction.len <= NUMBER_EXPONENT_MAX;
    if (is_short && !literal.has_exponent) return OK;

    Number parts = { 0 };
    literal_parts(&literal, &parts);
    int32_t written = literal_exponent(&literal);
    if (written > NUMBER_EXPONENT_MAX || written < -NUMBER_EXPONENT_MAX || parts.exponent > NUMBER_EXPONENT_MAX
        || parts.exponent < -NUMBER_EXPONENT_MAX)
        return error_at(err, ERR_LIMIT, 1, 1, "the exponent of a number exceeds NUMBER_EXPONENT_MAX (%d)",
                        NUMBER_EXPONENT_MAX);
    return OK;
}

Value number_make(Arena *arena, Str text)
{
    bool negative = text.ptr[0] == '-';
    uint64_t magnitude = 0;
    /* Anything but digits (a point, an exponent) fails here and is kept as text; so is minus zero. */
    bool is_plain = str_to_u64(str_slice(text, negative, text.len), &magnitude) && !(negative && magnitude == 0);
    if (is_plain && magnitude <= (uint64_t)INT64_MAX + negative)
        return value_int(negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude);
    Value value = value_string(arena_copy(arena, text));
    value.kind = VALUE_DECIMAL;
    return value;
}

Status number_read(Arena *arena, Str text, Value *out_value, Error *err)
{
    Status status = number_check(text, err);
    if (!status) *out_value = number_make(arena, text);
    return status;
}

static void integer_parts(int64_t integer, Number *out)
{
    *out = (Number){ .negative = integer < 0 };
    uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    if (magnitude == 0) return;
    size_t at = sizeof out->storage;
    for (; magnitude; magnitude /= 10) out->storage[--at] = (char)('0' + magnitude % 10);
    Str digits = { out->storage + at, sizeof out->storage - at };
    out->exponent = (int32_t)digits.len - 1;
    digits.len -= zeros_trailing(digits);
    out->digits = digits;
    out->digit_count = (uint32_t)digits.len;
}

void number_parts(Value value, Number *out_number)
{
    if (value.kind == VALUE_INT) {
        integer_parts(value.integer, out_number);
        return;
    }
    CHECK(value.kind == VALUE_DECIMAL);
    Literal literal;
    size_t wrong = literal_read(value_text(value), &literal);
    CHECK(wrong == 0);
    *out_number = (Number){ 0 };
    literal_parts(&literal, out_number);
}

/* The next significant digit, the point stepped over; 0 past the end, since trailing zeros do not count. */
static char digit_next(Str digits, size_t *at)
{
    if (*at < digits.len && digits.ptr[*at] == '.') (*at)++;
    return *at < digits.len ? digits.ptr[(*at)++] : '0';
}

static int compare_magnitudes(const Number *a, const Number *b)
{
    if (a->digit_count == 0 || b->digit_count == 0) return (a->digit_count > 0) - (b->digit_count > 0);
    if (a->exponent != b->exponent) return a->exponent < b->exponent ? -1 : 1;
    size_t at_a = 0, at_b = 0;
    uint32_t count = a->digit_count > b->digit_count ? a->digit_count : b->digit_count;
    for (uint32_t i = 0; i < count; i++) {
        int order = digit_next(a->digits, &at_a) - digit_next(b->digits, &at_b);
        if (order) return order;
    }
    return 0;
}

int number_compare(Value a, Value b)
{
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) return (a.integer > b.integer) - (a.integer < b.integer);
    Number x, y;
    number_parts(a, &x);
    number_parts(b, &y);
    if (x.negative != y.negative) return x.negative ? -1 : 1;      /* zero is never negative in parts */
    int order = compare_magnitudes(&x, &y);
    return x.negative ? -order : order;
}

bool number_is_integer(Value value)
{
    if (value.kind == VALUE_INT) return true;
    Number number;
    number_parts(value, &number);
    return number.digit_count == 0 || (int64_t)number.digit_count - 1 <= number.exponent;
}

bool number_to_int64(Value value, int64_t *out_integer)
{
    if (value.kind == VALUE_INT) {
        *out_integer = value.integer;
        return true;
    }
    if (value.kind != VALUE_DECIMAL) return false;
    Number number;
    number_parts(value, &number);
    if (!number_is_integer(value) || number.exponent > 18) return false;
    uint64_t magnitude = 0;
    size_t at = 0;
    if (number.digit_count)                     /* at most 19 digits: below 10^19, which an uint64_t holds */
        for (int32_t i = 0; i <= number.exponent; i++)
            magnitude = magnitude * 10 + (uint64_t)(digit_next(number.digits, &at) - '0');
    if (magnitude > (uint64_t)INT64_MAX + number.negative) return false;
    *out_integer = number.negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

int64_t number_milli(Value value)
{
    Number number;
    number_parts(value, &number);
    if (number.negative || !number.digit_count) return 0;
    if (number.exponent > 14) return INT64_MAX;
    int64_t milli = 0;
    size_t at = 0;
    uint32_t used = 0;
    for (int32_t i = 0; i <= number.exponent + 3; i++) {
        int64_t digit = used < number.digit_count ? digit_next(number.digits, &at) - '0' : 0;
        used += used < number.digit_count;
        milli = milli * 10 + digit;
    }
    return milli + (used < number.digit_count);             /* its digits end with one that is not 0 */
}

/* Number::toString of ECMAScript, applied to all significant digits. For a number that a double holds by its shortest
 * text these are the digits of RFC 8785; for any other they are its own, so nothing is lost. */
void number_print_canonical(Buf *buf, Value value)
{
    if (value.kind == VALUE_INT) {
        buf_i64(buf, value.integer);            /* below 1e21, where the notation has no exponent */
        return;
    }
    Number number;
    number_parts(value, &number);
    if (number.digit_count == 0) {
        buf_char(buf, '0');
        return;
    }
    if (number.negative) buf_char(buf, '-');
    int32_t count = (int32_t)number.digit_count;
    int32_t point = number.exponent + 1;                    /* where the point stands: after that many digits */
    size_t at = 0;
    if (count <= point && point <= 21) {
        for (int32_t i = 0; i < point; i++) buf_char(buf, digit_next(number.digits, &at));
    } else if (0 < point && point <= 21) {
        for (int32_t i = 0; i < count; i++) {
            if (i == point) buf_char(buf, '.');
            buf_char(buf, digit_next(number.digits, &at));
        }
    } else if (-6 < point && point <= 0) {
        buf_text(buf, "0.");
        buf_repeat(buf, '0', (size_t)-point);
        for (int32_t i = 0; i < count; i++) buf_char(buf, digit_next(number.digits, &at));
    } else {
        buf_char(buf, digit_next(number.digits, &at));
        if (count > 1) buf_char(buf, '.');
        for (int32_t i = 1; i < count; i++) buf_char(buf, digit_next(number.digits, &at));
        buf_char(buf, 'e');
        buf_char(buf, point > 0 ? '+' : '-');
        buf_u64(buf, (uint64_t)(point > 0 ? point - 1 : 1 - point));
    }
}
