#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include "harness/test.h"

#define NO_STR ((Str){ NULL, 0 })

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

TEST(str_of_ends_at_the_nul, "")
{
    EXPECT_STR(str_of("abc"), STR("abc"));
    EXPECT_INT(str_of("").len, 0);
    EXPECT_INT(str_of(NULL).len, 0);
    EXPECT_INT(STR("a\0b").len, 3);
}

TEST(str_slice_is_clipped_at_both_ends, "")
{
    static const struct { size_t from, to; Str want; } cases[] = {
        { 0, 5, STR_INIT("hello") }, { 1, 3, STR_INIT("el") }, { 0, 0, STR_INIT("") }, { 5, 5, STR_INIT("") },
        { 2, 99, STR_INIT("llo") },  { 9, 99, STR_INIT("") },  { 3, 1, STR_INIT("") }, { SIZE_MAX, SIZE_MAX, STR_INIT("") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_STR(str_slice(STR("hello"), cases[i].from, cases[i].to), cases[i].want);
    EXPECT_INT(str_slice(NO_STR, 0, 9).len, 0);
    EXPECT(str_slice(NO_STR, 3, 9).ptr == NULL);
}

TEST(str_compare_is_by_bytes_a_prefix_first, "")
{
    static const Str ascending[] = {
        STR_INIT(""), STR_INIT("\0"), STR_INIT("\0\0"), STR_INIT("A"), STR_INIT("a"), STR_INIT("a\0"), STR_INIT("aa"),
        STR_INIT("ab"), STR_INIT("b"), STR_INIT("\x7f"), STR_INIT("\xc3\xa9"), STR_INIT("\xef\xbf\xbd"),
        STR_INIT("\xf0\x9f\x98\x80"), STR_INIT("\xff"),
    };
    size_t count = sizeof ascending / sizeof *ascending;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            EXPECT_INT(sign(str_compare(ascending[i], ascending[j])), (i > j) - (i < j));
            EXPECT_INT(str_is(ascending[i], ascending[j]), i == j);
        }
    }
    EXPECT_INT(str_compare(NO_STR, STR("")), 0);
    EXPECT(str_compare(NO_STR, STR("a")) < 0);
    EXPECT(str_is(NO_STR, STR("")));
    EXPECT(!str_is(NO_STR, STR("a")));
}

TEST(str_is_text_compares_to_the_nul, "")
{
    EXPECT(str_is_text(STR("run"), "run"));
    EXPECT(!str_is_text(STR("run"), "runs"));
    EXPECT(!str_is_text(STR("runs"), "run"));
    EXPECT(!str_is_text(STR("run\0"), "run"));
    EXPECT(str_is_text(NO_STR, ""));
    EXPECT(str_is_text(STR(""), NULL));
}

TEST(str_starts_and_ends_with, "")
{
    static const struct { Str str, part; bool starts, ends; } cases[] = {
        { STR_INIT("abcab"), STR_INIT("ab"), true, true },   { STR_INIT("abc"), STR_INIT("abc"), true, true },
        { STR_INIT("abc"), STR_INIT(""), true, true },       { STR_INIT(""), STR_INIT(""), true, true },
        { STR_INIT("abc"), STR_INIT("bc"), false, true },    { STR_INIT("abc"), STR_INIT("ab"), true, false },
        { STR_INIT("ab"), STR_INIT("abc"), false, false },   { STR_INIT(""), STR_INIT("a"), false, false },
        { { NULL, 0 }, STR_INIT("a"), false, false },        { { NULL, 0 }, { NULL, 0 }, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_INT(str_starts(cases[i].str, cases[i].part), cases[i].starts);
        EXPECT_INT(str_ends(cases[i].str, cases[i].part), cases[i].ends);
    }
}

TEST(str_find_answers_the_length_where_there_is_none, "")
{
    static const struct { Str str; char byte; size_t from, want; } cases[] = {
        { STR_INIT("a.b.c"), '.', 0, 1 }, { STR_INIT("a.b.c"), '.', 1, 1 },  { STR_INIT("a.b.c"), '.', 2, 3 },
        { STR_INIT("a.b.c"), '.', 4, 5 }, { STR_INIT("a.b.c"), '.', 5, 5 },  { STR_INIT("a.b.c"), '.', 99, 5 },
        { STR_INIT("a.b.c"), 'x', 0, 5 }, { STR_INIT("a\0b"), '\0', 0, 1 },  { STR_INIT(""), 'a', 0, 0 },
        { STR_INIT("abc"), '\0', 0, 3 },  { { NULL, 0 }, 'a', 0, 0 },        { STR_INIT("\xff"), '\xff', 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_INT(str_find(cases[i].str, cases[i].byte, cases[i].from), cases[i].want);
}

TEST(str_trim_takes_spaces_and_tabs_alone, "")
{
    static const struct { Str str, want; } cases[] = {
        { STR_INIT("  a b\t"), STR_INIT("a b") }, { STR_INIT("a"), STR_INIT("a") }, { STR_INIT(" \t "), STR_INIT("") },
        { STR_INIT(""), STR_INIT("") },           { STR_INIT("\na\n"), STR_INIT("\na\n") }, { { NULL, 0 }, STR_INIT("") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) EXPECT_STR(str_trim(cases[i].str), cases[i].want);
}

TEST(str_to_u64_takes_digits_alone_and_refuses_overflow, "")
{
    static const struct { Str str; bool want; uint64_t number; } cases[] = {
        { STR_INIT("0"), true, 0 },
        { STR_INIT("007"), true, 7 },
        { STR_INIT("18446744073709551615"), true, UINT64_MAX },
        { STR_INIT("00000000000000000000000018446744073709551615"), true, UINT64_MAX },
        { STR_INIT("18446744073709551616"), false, 0 },
        { STR_INIT("18446744073709551620"), false, 0 },
        { STR_INIT("99999999999999999999"), false, 0 },
        { STR_INIT("184467440737095516150"), false, 0 },
        { STR_INIT(""), false, 0 },
        { { NULL, 0 }, false, 0 },
        { STR_INIT("-1"), false, 0 },
        { STR_INIT("+1"), false, 0 },
        { STR_INIT(" 1"), false, 0 },
        { STR_INIT("1 "), false, 0 },
        { STR_INIT("1.0"), false, 0 },
        { STR_INIT("0x10"), false, 0 },
        { STR_INIT("1\0"), false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t number = 42;
        EXPECT_INT(str_to_u64(cases[i].str, &number), cases[i].want);
        EXPECT(number == (cases[i].want ? cases[i].number : 42));       /* written only on success */
    }
}

TEST(a_text_is_a_copy_that_ends_in_a_nul, "")
{
    char *text = str_text_new(str_slice(STR("abcdef"), 1, 4)), *nothing = str_text_new((Str){ 0 });
    EXPECT(strcmp(text, "bcd") == 0);
    EXPECT(strcmp(nothing, "") == 0);
    free(text);
    free(nothing);
}

TEST(ascii_classes_know_no_locale_and_no_byte_above_127, "")
{
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        bool digit = byte >= '0' && byte <= '9', upper = byte >= 'A' && byte <= 'Z', lower = byte >= 'a' && byte <= 'z';
        EXPECT_INT(ascii_is_digit(c), digit);
        EXPECT_INT(ascii_is_upper(c), upper);
        EXPECT_INT(ascii_is_lower(c), lower);
        EXPECT_INT(ascii_is_alpha(c), upper || lower);
        EXPECT_INT(ascii_is_alnum(c), digit || upper || lower);
        EXPECT_INT(ascii_is_space(c), byte && byte < 128 && strchr(" \t\n\v\f\r", byte) != NULL);
        EXPECT_INT(ascii_to_lower(c), upper ? byte + 32 : c);
    }
}
