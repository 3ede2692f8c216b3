#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#include "harness/random.h"
#include "harness/test.h"

TEST(utf8_every_scalar_value_goes_there_and_back, "")
{
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        if (point == 0xd800) point = 0xe000;
        char bytes[4];
        size_t size = utf8_encode(point, bytes);
        size_t want = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        uint32_t decoded = UINT32_MAX;
        bool same = size == want && utf8_decode((Str){ bytes, size }, &decoded) == size && decoded == point
                 && utf8_valid_size((Str){ bytes, size }) == size;
        for (size_t cut = 0; cut < size; cut++) same = same && utf8_decode((Str){ bytes, cut }, &decoded) == 0;
        if (!test_expect(same, __FILE__, __LINE__, "U+%04X", point)) return;
    }
}

TEST(utf8_head_ends_before_a_character_that_does_not_fit, "")
{
    Str text = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");          /* of 1, 2, 3 and 4 bytes */
    static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
    for (size_t max = 0; max < sizeof want / sizeof *want; max++) {
        Str head = utf8_head(text, max);
        EXPECT_INT(head.len, want[max]);
        EXPECT(head.ptr == text.ptr);
    }
    EXPECT_INT(utf8_head((Str){ 0 }, 5).len, 0);
}

/* How many well-formed sequences there are of each size says more than examples: one wrong bound changes the count. */
TEST(utf8_accepts_exactly_the_well_formed_sequences, "")
{
    unsigned counts[5] = { 0 };
    uint32_t point;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            for (unsigned c = 0; c < 256; c++) {
                char bytes[3] = { (char)a, (char)b, (char)c };
                if (c == 0 && b == 0) counts[1] += utf8_decode((Str){ bytes, 1 }, &point) == 1;
                if (c == 0) counts[2] += utf8_decode((Str){ bytes, 2 }, &point) == 2;
                if (a >= 0xc0) counts[3] += utf8_decode((Str){ bytes, 3 }, &point) == 3;
            }
            for (unsigned c = 0x78; a >= 0xe8 && c < 0xc8; c++) {       /* around the continuation bytes */
                for (unsigned d = 0x78; d < 0xc8; d++) {
                    char bytes[4] = { (char)a, (char)b, (char)c, (char)d };
                    counts[4] += utf8_decode((Str){ bytes, 4 }, &point) == 4;
                }
            }
        }
    }
    EXPECT_INT(counts[1], 0x80);
    EXPECT_INT(counts[2], 0x800 - 0x80);
    EXPECT_INT(counts[3], 0x10000 - 0x800 - 0x800);         /* without the surrogates */
    EXPECT_INT(counts[4], 0x110000 - 0x10000);
}

TEST(utf8_refuses_what_is_not_the_one_form_of_a_character, "")
{
    static const struct { const char *name; Str bytes; } cases[] = {
        { "nothing", STR_INIT("") },
        { "no pointer", { NULL, 0 } },
        { "a continuation byte alone", STR_INIT("\x80") },
        { "the last continuation byte alone", STR_INIT("\xbf") },
        { "an overlong slash in two bytes", STR_INIT("\xc0\xaf") },
        { "an overlong DEL in two bytes", STR_INIT("\xc1\xbf") },
        { "an overlong slash in three bytes", STR_INIT("\xe0\x80\xaf") },
        { "an overlong U+07FF in three bytes", STR_INIT("\xe0\x9f\xbf") },
        { "an overlong U+FFFF in four bytes", STR_INIT("\xf0\x8f\xbf\xbf") },
        { "an overlong NUL", STR_INIT("\xc0\x80") },
        { "the first surrogate", STR_INIT("\xed\xa0\x80") },
        { "the last surrogate", STR_INIT("\xed\xbf\xbf") },
        { "a pair of surrogates", STR_INIT("\xed\xa0\xbd\xed\xb8\x80") },
        { "U+110000", STR_INIT("\xf4\x90\x80\x80") },
        { "a lead byte above F4", STR_INIT("\xf5\x80\x80\x80") },
        { "five bytes", STR_INIT("\xf8\x88\x80\x80\x80") },
        { "six bytes", STR_INIT("\xfc\x84\x80\x80\x80\x80") },
        { "FE", STR_INIT("\xfe") },
        { "FF", STR_INIT("\xff") },
        { "two bytes cut to one", STR_INIT("\xc3") },
        { "three bytes cut to two", STR_INIT("\xe2\x82") },
        { "four bytes cut to three", STR_INIT("\xf0\x9f\x98") },
        { "a letter where a continuation belongs", STR_INIT("\xc3(") },
        { "a letter in the third place", STR_INIT("\xe2\x82(") },
        { "a letter in the fourth place", STR_INIT("\xf0\x9f\x98(") },
        { "a lead byte in the second place", STR_INIT("\xe2\xe2\x82") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        uint32_t point = 42;
        EXPECT_INT(utf8_decode(cases[i].bytes, &point), 0);
        EXPECT_INT(point, 42);
        EXPECT_INT(utf8_valid_size(cases[i].bytes), 0);
    }
}

TEST(utf8_valid_size_stops_at_the_first_wrong_byte_wherever_it_stands, "")
{
    char text[64];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        EXPECT_INT(utf8_valid_size((Str){ text, sizeof text }), sizeof text);
        text[at] = '\xff';
        EXPECT_INT(utf8_valid_size((Str){ text, sizeof text }), at);
        text[at] = '\xc3';                                  /* a lead byte without its second */
        EXPECT_INT(utf8_valid_size((Str){ text, sizeof text }), at);
        if (at + 1 < sizeof text) {
            text[at + 1] = '\xa9';
            EXPECT_INT(utf8_valid_size((Str){ text, sizeof text }), sizeof text);
            EXPECT_INT(utf8_valid_size((Str){ text, at + 1 }), at);     /* cut inside the character */
        }
    }
}

TEST(utf8_valid_size_agrees_with_decoding_one_by_one, "")
{
    static const char *const parts[] = { "a", "plain text", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80", "\xff",
                                         "\xed\xa0\x80", "\xe2\x82" };
    Random random = { 17 };
    for (unsigned round = 0; round < 20000; round++) {
        char text[128];
        size_t size = 0;
        unsigned kinds = round % 2 ? 5 : 9;                 /* half of the texts are valid */
        while (size < 100) {
            const char *part = parts[random_below(&random, kinds)];
            memcpy(text + size, part, strlen(part));
            size += strlen(part);
            if (random_below(&random, 12) == 0) break;
        }
        size_t want = 0, count = 0;
        uint32_t point;
        for (size_t one; (one = utf8_decode((Str){ text + want, size - want }, &point)) > 0; want += one) count++;
        EXPECT_INT(utf8_valid_size((Str){ text, size }), want);
        EXPECT_INT(utf8_count((Str){ text, want }), count);
        if (kinds == 5) EXPECT_INT(want, size);
    }
}

TEST(utf8_width_counts_terminal_columns, "")
{
    static const struct { const char *name; Str text; size_t count, width; } cases[] = {
        { "empty", STR_INIT(""), 0, 0 },
        { "no pointer", { NULL, 0 }, 0, 0 },
        { "ASCII", STR_INIT("maestro"), 7, 7 },
        { "an accent in one character", STR_INIT("\xc3\xa9"), 1, 1 },
        { "an accent of its own", STR_INIT("e\xcc\x81"), 2, 1 },
        { "Chinese", STR_INIT("\xe4\xb8\xad\xe6\x96\x87"), 2, 4 },
        { "Hangul", STR_INIT("\xed\x95\x9c"), 1, 2 },
        { "full width", STR_INIT("\xef\xbc\xa1"), 1, 2 },
        { "an emoji", STR_INIT("\xf0\x9f\x98\x80"), 1, 2 },
        { "a joiner between two", STR_INIT("a\xe2\x80\x8d" "b"), 3, 2 },
        { "a line of a table", STR_INIT("\xe2\x94\x80"), 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        EXPECT_INT(utf8_count(cases[i].text), cases[i].count);
        EXPECT_INT(utf8_width(cases[i].text), cases[i].width);
    }
    EXPECT_INT(utf8_width(STR("a\xff" "b")), 3);            /* a byte that is none takes a column, as terminals draw it */
}
