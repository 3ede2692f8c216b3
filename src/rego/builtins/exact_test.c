#include "rego/builtins/exact.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/test.h"
#include "rego/builtins/float_text.h"
#include "value/number.h"

static Float read(Arena *arena, const char *text, uint32_t precision)
{
    return float_read(number_make(arena, str_of(text)), precision);
}

static void expect_format(Float number, char verb, int64_t precision, const char *want)
{
    Buf buf;
    buf_init(&buf, 4096);
    float_format(&buf, number, verb, precision);
    EXPECT_STR(buf_peek(&buf), str_of(want));
    buf_deinit(&buf);
}

TEST(doubles_are_read_to_nearest_even, "")
{
    static const struct { const char *name, *text, *want; } cases[] = {
        { "a tenth",                                 "0.1", "+7205759403792794p-56" },
        { "halfway between two, to the even one",    "9007199254740993", "+4503599627370496p+1" },
        { "a little more than halfway",              "9007199254740993.00000000000000000001", "+4503599627370497p+1" },
        { "the largest",                             "1.7976931348623157e308", "+9007199254740991p+971" },
        { "the smallest normal one",                 "2.2250738585072014e-308", "+4503599627370496p-1074" },
        { "the largest subnormal one",               "2.2250738585072009e-308", "+4503599627370495p-1074" },
        { "the smallest",                            "5e-324", "+1p-1074" },
        { "more than half of it",                    "2.4703282292062328e-324", "+1p-1074" },
        { "exactly nothing",                         "0.0", "+0p-1074" },
        { "less than half of the smallest",          "2.4703282292062327e-324", "+0p-1074" },
        { "far below",                               "1e-400", "+0p-1074" },
        { "below zero",                              "-0.5", "-4503599627370496p-53" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Float number;
        EXPECT(double_read(number_make(&arena, str_of(cases[i].text)), &number));
        expect_format(number, 'b', -1, cases[i].want);
        arena_deinit(&arena);
    }
    Arena arena;
    Float number;
    arena_init(&arena, SIZE_MAX);
    EXPECT(!double_read(number_make(&arena, STR("1.7976931348623159e308")), &number));
    EXPECT(!double_read(number_make(&arena, STR("-1e309")), &number));
    arena_deinit(&arena);
}

/* The C library is the judge: it reads and prints doubles exactly. */
TEST(doubles_print_their_fewest_digits, "")
{
    uint64_t state = 42;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state ^ state >> 29;
        double number;
        __builtin_memcpy(&number, &bits, sizeof number);
        if (number != number || number > 1e308 || number < -1e308) continue;
        char text[64];
        snprintf(text, sizeof text, "%.17g", number);
        Float exact;
        REQUIRE(double_read(number_make(&arena, str_of(text)), &exact));
        Buf buf;
        buf_init(&buf, 64);
        float_format(&buf, exact, 'e', -1);
        buf_char(&buf, '\0');
        REQUIRE(strtod(buf.ptr, NULL) == number);
        size_t digits = 0;
        for (const char *at = buf.ptr; *at && *at != 'e'; at++) digits += *at >= '0' && *at <= '9';
        /* No text with a digit less gives the number back. */
        snprintf(text, sizeof text, "%.*e", digits > 1 ? (int)digits - 2 : 0, number);
        REQUIRE(digits == 1 || strtod(text, NULL) != number);
        buf_deinit(&buf);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

TEST(operations_round_once, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Float large = read(&arena, "18446744073709551615", FLOAT_PRECISION), one = read(&arena, "1", FLOAT_PRECISION);
    Float half = read(&arena, "0.5", FLOAT_PRECISION), tiny = read(&arena, "1e-300", FLOAT_PRECISION);
    expect_format(float_add(large, one), 'f', 0, "+18446744073709551616");
    expect_format(float_add(float_add(large, one), one), 'f', 0, "+18446744073709551616");        /* a tie, to even */
    expect_format(float_add(large, half), 'f', 0, "+18446744073709551616");
    expect_format(float_add(large, tiny), 'f', 0, "+18446744073709551615");
    expect_format(float_subtract(large, tiny), 'f', 0, "+18446744073709551615");
    expect_format(float_subtract(one, one), 'f', 0, "+0");
    expect_format(float_subtract(half, one), 'f', 1, "-0.5");
    expect_format(float_multiply(large, large), 'f', 0, "+340282366920938463426481119284349108224");
    expect_format(float_divide(one, large), 'e', 19, "+5.4210108624275221706e-20");
    EXPECT(float_is_integer(large));
    EXPECT(!float_is_integer(half));
    EXPECT(float_is_integer(read(&arena, "1e300", FLOAT_PRECISION)));
    arena_deinit(&arena);
}
