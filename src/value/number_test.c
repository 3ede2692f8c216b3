#include "value/number.h"

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/random_value.h"
#include "harness/test.h"

static Arena arena;

static Value number(const char *text)
{
    Value value = value_null();
    Error err = { 0 };
    Status status = number_read(&arena, str_of(text), &value, &err);
    test_expect(status == OK, __FILE__, __LINE__, "%.60s: %s", text, err.text);
    return status ? value_int(0) : value;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static Str canonical(Value value)
{
    Buf buf;
    buf_init(&buf, 1u << 16);
    number_print_canonical(&buf, value);
    Str text = arena_copy(&arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* A one, `zeros` zeros and what follows. */
static char *one_and_zeros(size_t zeros, const char *behind)
{
    char *text = arena_alloc(&arena, zeros + strlen(behind) + 2);
    text[0] = '1';
    memset(text + 1, '0', zeros);
    memcpy(text + 1 + zeros, behind, strlen(behind));
    return text;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

TEST(plain_integers_that_fit_become_int64_and_all_others_keep_their_text, "")
{
    static const struct { const char *text; bool is_int; int64_t integer; } cases[] = {
        { "0", true, 0 },
        { "7", true, 7 },
        { "-7", true, -7 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "18446744073709551615", false, 0 },
        { "18446744073709551616", false, 0 },
        { "123456789012345678901234567890", false, 0 },
        { "-0", false, 0 },
        { "1.0", false, 0 },
        { "1e2", false, 0 },
        { "0.1", false, 0 },
        { "-0.0e-0", false, 0 },
        { "1E+2", false, 0 },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        char text[64];
        memcpy(text, cases[i].text, strlen(cases[i].text) + 1);
        Value value = number(text);
        memset(text, '#', sizeof text);                     /* the value must not borrow it */
        EXPECT_INT(value.kind, cases[i].is_int ? VALUE_INT : VALUE_DECIMAL);
        if (cases[i].is_int) EXPECT_INT(value.integer, cases[i].integer);
        else EXPECT_STR(value_text(value), str_of(cases[i].text));
    }
    arena_deinit(&arena);
}

TEST(what_is_no_json_number_is_refused_at_its_first_wrong_character, "")
{
    static const struct { Str text; uint32_t column; const char *reason; } cases[] = {
        { STR_INIT(""), 1, "a number ends too early" },
        { STR_INIT("-"), 2, "a number ends too early" },
        { STR_INIT("1."), 3, "a number ends too early" },
        { STR_INIT("1e"), 3, "a number ends too early" },
        { STR_INIT("1e+"), 4, "a number ends too early" },
        { STR_INIT("01"), 2, "a number cannot go on with '1' here" },
        { STR_INIT("-01"), 3, "a number cannot go on with '1' here" },
        { STR_INIT("00"), 2, "a number cannot go on with '0' here" },
        { STR_INIT("+1"), 1, "a number cannot go on with '+' here" },
        { STR_INIT(".5"), 1, "a number cannot go on with '.' here" },
        { STR_INIT("-.5"), 2, "a number cannot go on with '.' here" },
        { STR_INIT("1..2"), 3, "a number cannot go on with '.' here" },
        { STR_INIT("1.e5"), 3, "a number cannot go on with 'e' here" },
        { STR_INIT("1e5.5"), 4, "a number cannot go on with '.' here" },
        { STR_INIT("1e5e5"), 4, "a number cannot go on with 'e' here" },
        { STR_INIT("1e--5"), 4, "a number cannot go on with '-' here" },
        { STR_INIT("1-2"), 2, "a number cannot go on with '-' here" },
        { STR_INIT("--1"), 2, "a number cannot go on with '-' here" },
        { STR_INIT("0x10"), 2, "a number cannot go on with 'x' here" },
        { STR_INIT("1_000"), 2, "a number cannot go on with '_' here" },
        { STR_INIT("NaN"), 1, "a number cannot go on with 'N' here" },
        { STR_INIT("Infinity"), 1, "a number cannot go on with 'I' here" },
        { STR_INIT("1 "), 2, "a number cannot go on with byte 0x20 here" },
        { STR_INIT("1\0"), 2, "a number cannot go on with byte 0x00 here" },
        { STR_INIT("\xef\xbc\x91"), 1, "a number cannot go on with byte 0xef here" },       /* a full-width one */
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text.ptr);
        Error err = { 0 };
        Value value = value_int(42);
        EXPECT_INT(number_read(&arena, cases[i].text, &value, &err), ERR_INVALID);
        EXPECT_INT(value.integer, 42);
        EXPECT_INT(err.line, 1);
        EXPECT_INT(err.column, cases[i].column);
        EXPECT_STR(str_of(err.text), str_of(cases[i].reason));
        EXPECT_INT(number_check(cases[i].text, NULL), ERR_INVALID);
    }
    arena_deinit(&arena);
}

TEST(exponents_are_accepted_up_to_the_limit_and_refused_beyond_it, "")
{
    arena_init(&arena, SIZE_MAX);
    const struct { const char *name, *text; Status want; } cases[] = {
        { "the largest written", "1e10000", OK },
        { "one more", "1e10001", ERR_LIMIT },
        { "the smallest written", "1e-10000", OK },
        { "one less", "1e-10001", ERR_LIMIT },
        { "scientific at the limit", "10e9999", OK },
        { "scientific beyond it", "10e10000", ERR_LIMIT },
        { "scientific at the lower limit", "0.1e-9999", OK },
        { "scientific below it", "0.1e-10000", ERR_LIMIT },
        { "zero at the limit", "0e10000", OK },
        { "zero beyond it", "0e10001", ERR_LIMIT },
        { "an exponent of many digits", "1e99999999999999999999999999999999", ERR_LIMIT },
        { "the same below", "1e-99999999999999999999999999999999", ERR_LIMIT },
        { "an exponent that wraps 32 bits to zero", "1e4294967296", ERR_LIMIT },
        { "leading zeros of an exponent", "1e00000000000000000000010000", OK },
        { "many whole digits", one_and_zeros(10000, ""), OK },
        { "one too many", one_and_zeros(10001, ""), ERR_LIMIT },
        { "made small by a fraction", "0.00001e10005", ERR_LIMIT },
        { "many whole digits made small", one_and_zeros(10001, "e-1"), OK },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Error err = { 0 };
        Value value;
        EXPECT_INT(number_read(&arena, str_of(cases[i].text), &value, &err), cases[i].want);
        if (!cases[i].want) continue;
        EXPECT_STR(str_of(err.text), STR("the exponent of a number exceeds NUMBER_EXPONENT_MAX (10000)"));
        EXPECT_INT(err.column, 1);
    }
    for (size_t zeros = 9998; zeros < 10002; zeros++) {         /* 0.00...01: the scientific exponent is one more */
        Buf text;
        buf_init(&text, 20000);
        buf_str(&text, STR("0."));
        buf_repeat(&text, '0', zeros);
        buf_char(&text, '1');
        EXPECT_INT(number_check(buf_peek(&text), NULL), zeros < NUMBER_EXPONENT_MAX ? OK : ERR_LIMIT);
        buf_clear(&text);
        buf_str(&text, STR("1."));
        buf_repeat(&text, '0', zeros);
        buf_char(&text, '1');
        EXPECT_INT(number_check(buf_peek(&text), NULL), OK);    /* many digits are no large exponent */
        buf_deinit(&text);
    }
    arena_deinit(&arena);
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

TEST(parts_are_significant_digits_and_an_exponent, "")
{
    static const struct { const char *text, *digits; uint32_t count; int32_t exponent; bool negative; } cases[] = {
        { "0", "", 0, 0, false },           { "-0", "", 0, 0, false },        { "0.000e55", "", 0, 0, false },
        { "7", "7", 1, 0, false },          { "-120", "12", 2, 2, true },     { "123.4", "123.4", 4, 2, false },
        { "120.0", "12", 2, 2, false },     { "0.0012", "12", 2, -3, false }, { "100.001", "100.001", 6, 2, false },
        { "-12.50e10", "12.5", 3, 11, true }, { "1000e-3", "1", 1, 0, false }, { "1.10", "1.1", 2, 0, false },
        { "-9223372036854775808", "9223372036854775808", 19, 18, true },
        { "9000000000000000000", "9", 1, 18, false },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Number parts;
        number_parts(number(cases[i].text), &parts);
        EXPECT_STR(parts.digits, str_of(cases[i].digits));
        EXPECT_INT(parts.digit_count, cases[i].count);
        EXPECT_INT(parts.exponent, cases[i].exponent);
        EXPECT_INT(parts.negative, cases[i].negative);
    }
    arena_deinit(&arena);
}

/* --- comparing --------------------------------------------------------------------------------------------------- */

TEST(numbers_compare_exactly, "")
{
    static const struct { const char *a; int want; const char *b; } cases[] = {
        { "9007199254740993", 1, "9007199254740992.0" },        /* one double, two numbers */
        { "9007199254740993", 0, "9007199254740993.000" },
        { "0.1", 0, "0.10" },
        { "0.1", -1, "0.1000000000000000055511151231257827" },  /* what a double makes of it */
        { "1e400", -1, "1e401" },
        { "-1e400", 1, "-1e401" },
        { "1e-400", 1, "1e-401" },
        { "1e10000", 1, "9.99e9999" },
        { "0", 0, "-0" },
        { "0", 0, "-0.0e-17" },
        { "0", 0, "0e9999" },
        { "0", -1, "1e-10000" },
        { "0", 1, "-1e-10000" },
        { "1", 0, "1.0" },
        { "1", 0, "10e-1" },
        { "100", 0, "1e2" },
        { "1e2", 0, "1E+2" },
        { "123.456", 0, "123456e-3" },
        { "123.456", -1, "123.4561" },
        { "12", -1, "12.000000000000000000000000000000000001" },
        { "-12", 1, "-12.000000000000000000000000000000000001" },
        { "9223372036854775807", -1, "9223372036854775808" },
        { "-9223372036854775808", 1, "-9223372036854775809" },
        { "9223372036854775807", 0, "9223372036854775807.0" },
        { "9223372036854775807", 0, "9223372036854775.807e3" },
        { "-9223372036854775808", 0, "-9.223372036854775808e18" },
        { "100000000000000000000", 1, "99999999999999999999" },
        { "2", -1, "10" },
        { "-2", 1, "-10" },
        { "-1", -1, "1" },
        { "0.9", -1, "0.91" },
        { "5", 0, "0.5e1" },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].a);
        Value a = number(cases[i].a), b = number(cases[i].b);
        EXPECT_INT(sign(number_compare(a, b)), cases[i].want);
        EXPECT_INT(sign(number_compare(b, a)), -cases[i].want);
        EXPECT_INT(number_compare(a, a), 0);
        EXPECT_INT(str_is(canonical(a), canonical(b)), cases[i].want == 0);
    }
    arena_deinit(&arena);
}

/* The same number as a fraction of big integers, by a library that knows nothing of this one. */
static void rational_of(mpq_t out, Str text)
{
    char *digits = arena_alloc(&arena, text.len + 1);
    size_t count = 0, at = 0;
    long exponent = 0;
    bool has_point = false;
    for (; at < text.len && text.ptr[at] != 'e' && text.ptr[at] != 'E'; at++) {
        if (text.ptr[at] == '.') has_point = true;
        else digits[count++] = text.ptr[at];
        if (has_point && text.ptr[at] != '.') exponent--;
    }
    if (at < text.len) exponent += strtol(text.ptr + at + 1, NULL, 10);
    mpz_set_str(mpq_numref(out), digits, 10);
    mpz_set_ui(mpq_denref(out), 1);
    mpz_t power;
    mpz_init(power);
    mpz_ui_pow_ui(power, 10, (unsigned long)labs(exponent));
    mpz_ptr scaled = exponent < 0 ? mpq_denref(out) : mpq_numref(out);
    mpz_mul(scaled, scaled, power);
    mpq_canonicalize(out);
    mpz_clear(power);
}

/* Order, equality of canonical texts, integrality and conversion of random numbers, against exact fractions. */
TEST(random_numbers_agree_with_exact_fractions, "")
{
    Random random = { 20 };
    mpq_t x, y;
    mpq_inits(x, y, NULL);
    unsigned equal = 0;
    for (unsigned round = 0; round < 40000; round++) {
        arena_init(&arena, SIZE_MAX);
        Str text_a = random_number_text(&random, &arena, 60), text_b = random_number_text(&random, &arena, 60);
        Value a = number(text_a.ptr), b = number(text_b.ptr);
        rational_of(x, text_a);
        rational_of(y, text_b);
        int want = sign(mpq_cmp(x, y));
        equal += want == 0;
        Str canonical_a = canonical(a);
        int64_t converted = 0;
        bool is_integer = mpz_cmp_ui(mpq_denref(x), 1) == 0, fits = is_integer && mpz_fits_slong_p(mpq_numref(x));
        bool holds = sign(number_compare(a, b)) == want && sign(number_compare(b, a)) == -want
                  && str_is(canonical_a, canonical(b)) == (want == 0) && number_is_integer(a) == is_integer
                  && number_to_int64(a, &converted) == fits && (!fits || mpz_cmp_si(mpq_numref(x), converted) == 0);
        rational_of(y, canonical_a);                        /* the canonical text is the same number ... */
        holds = holds && mpq_equal(x, y) && str_is(canonical(number(canonical_a.ptr)), canonical_a);    /* ... and stays */
        test_expect(holds, __FILE__, __LINE__, "round %u: %s and %s, canonical %s", round, text_a.ptr, text_b.ptr,
                    canonical_a.ptr);
        arena_deinit(&arena);
    }
    EXPECT(equal > 1000);                                   /* else the test looks past the interesting pairs */
    mpq_clears(x, y, NULL);
}

/* --- integers ---------------------------------------------------------------------------------------------------- */

TEST(integers_are_recognised_in_every_notation, "")
{
    static const struct { const char *text; bool is_integer, fits; int64_t integer; } cases[] = {
        { "0", true, true, 0 },
        { "-0", true, true, 0 },
        { "0.000", true, true, 0 },
        { "0e-9999", true, true, 0 },
        { "1.0", true, true, 1 },
        { "1e2", true, true, 100 },
        { "120e-1", true, true, 12 },
        { "1.5e1", true, true, 15 },
        { "-1.5e1", true, true, -15 },
        { "1.5", false, false, 0 },
        { "1e-1", false, false, 0 },
        { "125e-1", false, false, 0 },
        { "0.1e0", false, false, 0 },
        { "9223372036854775807.0", true, true, INT64_MAX },
        { "9223372036854775808", true, false, 0 },
        { "-9223372036854775808.0", true, true, INT64_MIN },
        { "-9223372036854775809", true, false, 0 },
        { "1e18", true, true, 1000000000000000000 },
        { "9.3e18", true, false, 0 },
        { "1e19", true, false, 0 },
        { "1e10000", true, false, 0 },
        { "1.00000000000000000000000000000000001e35", true, false, 0 },
        { "1.00000000000000000000000000000000001e34", false, false, 0 },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Value value = number(cases[i].text);
        int64_t integer = 42;
        EXPECT_INT(number_is_integer(value), cases[i].is_integer);
        EXPECT_INT(number_to_int64(value, &integer), cases[i].fits);
        EXPECT_INT(integer, cases[i].fits ? cases[i].integer : 42);
    }
    arena_deinit(&arena);
}

/* --- canonical notation ------------------------------------------------------------------------------------------ */

TEST(the_canonical_notation_is_that_of_ecmascript, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "0", "0" },
        { "-0", "0" },
        { "-0.000e5", "0" },
        { "10", "10" },
        { "1.0", "1" },
        { "-1.50", "-1.5" },
        { "1e20", "100000000000000000000" },
        { "1e21", "1e+21" },                                    /* from here on with an exponent */
        { "123456789012345678901", "123456789012345678901" },
        { "1234567890123456789012", "1.234567890123456789012e+21" },
        { "100000000000000000000.5", "100000000000000000000.5" },
        { "1000000000000000000000.5", "1.0000000000000000000005e+21" },
        { "0.1", "0.1" },
        { "0.000001", "0.000001" },
        { "1e-6", "0.000001" },
        { "1.5e-6", "0.0000015" },
        { "0.0000001", "1e-7" },                                /* and below this one */
        { "9.99e-7", "9.99e-7" },
        { "1e-7", "1e-7" },
        { "-1e-7", "-1e-7" },
        { "1E+400", "1e+400" },
        { "12e-400", "1.2e-399" },
        { "1e10000", "1e+10000" },
        { "1e-10000", "1e-10000" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "9007199254740993", "9007199254740993" },             /* a double would round it: the digits stay */
        { "333333333.33333329", "333333333.33333329" },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        EXPECT_STR(canonical(number(cases[i].text)), str_of(cases[i].want));
    }
    arena_deinit(&arena);
}

/* The forms that RFC 8785, appendix B, gives for doubles must come out as they went in, and so must every other
 * notation of the same digits. */
TEST(the_published_forms_of_doubles_are_canonical, "")
{
    static const char *const forms[] = {
        "0", "5e-324", "-5e-324", "1.7976931348623157e+308", "-1.7976931348623157e+308", "9007199254740992",
        "-9007199254740992", "295147905179352830000", "9.999999999999997e+22", "1e+23", "1.0000000000000001e+23",
        "999999999999999700000", "999999999999999900000", "1e+21", "9.999999999999997e-7", "0.000001",
        "333333333.3333332", "333333333.33333325", "333333333.3333333", "333333333.3333334", "333333333.33333343",
        "-0.0000033333333333333333", "1424953923781206.2",
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ROW(forms[i]);
        Value value = number(forms[i]);
        EXPECT_STR(canonical(value), str_of(forms[i]));
        Number parts;
        number_parts(value, &parts);
        char storage[64] = "";
        Buf other = buf_on(storage, sizeof storage);
        if (parts.negative) buf_char(&other, '-');
        for (size_t j = 0; j < parts.digits.len; j++)
            if (parts.digits.ptr[j] != '.') buf_char(&other, parts.digits.ptr[j]);
        buf_format(&other, "00e%d", parts.exponent - (int)parts.digit_count - 1);
        EXPECT_STR(canonical(number(parts.digit_count ? storage : "0e7")), str_of(forms[i]));
    }
    arena_deinit(&arena);
}

TEST(thousandths_are_rounded_up, "")
{
    static const struct { const char *text; int64_t want; } rows[] = {
        { "0", 0 }, { "1", 1000 }, { "1.5", 1500 }, { "0.001", 1 }, { "0.0001", 1 }, { "1e-300", 1 }, { "2.0004", 2001 }, { "1e3", 1000000 },
        { "12.3456", 12346 }, { "-4", 0 }, { "1e300", INT64_MAX }, { "123456789012", 123456789012000 },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].text);
        EXPECT_INT(number_milli(number_make(&arena, str_of(rows[i].text))), rows[i].want);
    }
    arena_deinit(&arena);
}
