#include "base/limits.h"
#include "harness/test.h"
#include "value/divisor.h"
#include "value/number.h"

static const struct { const char *number, *divisor; bool want; } multiples[] = {
    { "10", "2", true },
    { "7", "2", false },
    { "-9223372036854775808", "2", true },
    { "0", "7", true },
    { "-0.0", "0.3", true },
    { "4.5", "1.5", true },
    { "-4.5", "1.5", true },
    { "35", "1.5", false },
    { "0.0075", "0.0001", true },
    { "0.00751", "0.0001", false },
    { "0.3", "0.1", true },                         /* false with doubles */
    { "19.99", "0.01", true },                      /* so is this */
    { "1e308", "0.123456789", false },
    { "12391239123", "1e-8", true },
    { "1e10000", "1e-10000", true },
    { "1e-10000", "1e10000", false },
    { "1e10000", "7", false },
    { "3e10000", "3", true },
    { "100", "1e2", true },
    { "100", "1e3", false },
    { "340282366920938463463374607431768211456", "18446744073709551616", true },
    { "340282366920938463463374607431768211457", "18446744073709551616", false },
    { "121932631137021795226185032733622923332237463801111263526900", "123456789012345678901234567890", true },
    { "121932631137021795226185032733622923332237463801111263526901", "123456789012345678901234567890", false },
    { "1.21932631137021795226185032733622923332237463801111263526900e59", "123456789012345678901234567890", true },
};

TEST(multiples_are_decided_exactly_whatever_the_size, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++) {
        ROW(multiples[i].number);
        Value number, divisor_value;
        const Divisor *divisor;
        Error err;
        REQUIRE_OK(number_read(&arena, str_of(multiples[i].number), &number, &err), &err);
        REQUIRE_OK(number_read(&arena, str_of(multiples[i].divisor), &divisor_value, &err), &err);
        REQUIRE_OK(divisor_make(&arena, divisor_value, &divisor, &err), &err);
        EXPECT_INT(divisor_divides(divisor, number), multiples[i].want);
    }
    arena_deinit(&arena);
}

TEST(every_small_fraction_agrees_with_counting_in_the_smallest_unit, "")
{
    /* n and d hundredths: n / d is whole exactly where the integers divide. */
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int d = 1; d < 120; d++) {
        const Divisor *divisor;
        Value value = number_make(&arena, arena_format(&arena, "%d.%02d", d / 100, d % 100));
        REQUIRE_OK(divisor_make(&arena, value, &divisor, NULL), NULL);
        for (int n = 0; n < 400; n++) {
            Value number = number_make(&arena, arena_format(&arena, "%d.%02d", n / 100, n % 100));
            if (divisor_divides(divisor, number) == (n % d == 0)) continue;
            EXPECT_INT(n * 1000 + d, -1);
        }
    }
    arena_deinit(&arena);
}

TEST(a_divisor_must_be_above_zero_and_have_a_bounded_number_of_digits, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const Divisor *divisor;
    Error err;
    EXPECT_INT(divisor_make(&arena, value_int(0), &divisor, &err), ERR_INVALID);
    EXPECT_INT(divisor_make(&arena, value_int(-2), &divisor, &err), ERR_INVALID);
    EXPECT_INT(divisor_make(&arena, number_make(&arena, STR("0e5")), &divisor, &err), ERR_INVALID);
    char digits[DIVISOR_DIGIT_COUNT_MAX + 1];
    for (size_t i = 0; i < sizeof digits; i++) digits[i] = '9';
    Value longest = number_make(&arena, (Str){ digits, DIVISOR_DIGIT_COUNT_MAX });
    REQUIRE_OK(divisor_make(&arena, longest, &divisor, &err), &err);
    EXPECT(divisor_divides(divisor, longest));
    EXPECT(!divisor_divides(divisor, value_int(9)));
    EXPECT_INT(divisor_make(&arena, number_make(&arena, (Str){ digits, sizeof digits }), &divisor, &err), ERR_LIMIT);
    arena_deinit(&arena);
    arena_init(&arena, 64);
    EXPECT_INT(divisor_make(&arena, value_int(3), &divisor, &err), ERR_LIMIT);
    arena_deinit(&arena);
}
