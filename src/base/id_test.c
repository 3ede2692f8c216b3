#include "base/id.h"

#include <string.h>

#include "harness/random.h"
#include "harness/test.h"

static void fill(uint8_t random[ID_SIZE], uint8_t with)
{
    memset(random, with, ID_SIZE);
}

static bool is_url_safe(char c)
{
    return ascii_is_alnum(c) || c == '-' || c == '_';
}

TEST(an_id_has_21_url_safe_characters, "proves: R-025")
{
    Random chance = { 3 };
    for (unsigned round = 0; round < 1000; round++) {
        uint8_t random[ID_SIZE];
        for (unsigned i = 0; i < ID_SIZE; i++) random[i] = (uint8_t)random_next(&chance);
        Id ids[] = { id_make(random), id_make_run(random_next(&chance) >> 20, random) };
        for (unsigned kind = 0; kind < 2; kind++) {
            EXPECT_INT(strlen(ids[kind].text), 21);
            EXPECT_INT(id_peek(&ids[kind]).len, 21);
            for (unsigned i = 0; i < 21; i++) EXPECT(is_url_safe(ids[kind].text[i]));
            EXPECT(id_is_valid(id_peek(&ids[kind])));
        }
    }
}

TEST(every_character_of_an_id_is_equally_likely, "")
{
    unsigned counts[256] = { 0 }, kinds = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t random[ID_SIZE];
        fill(random, (uint8_t)byte);
        Id id = id_make(random);
        for (unsigned i = 1; i < ID_SIZE; i++) EXPECT_INT(id.text[i], id.text[0]);
        counts[(unsigned char)id.text[0]]++;
    }
    for (unsigned c = 0; c < 256; c++) {
        if (counts[c]) EXPECT_INT(counts[c], 4);
        kinds += counts[c] > 0;
    }
    EXPECT_INT(kinds, 64);
}

TEST(every_random_byte_matters_in_a_plain_id_and_13_do_in_a_run_id, "")
{
    uint8_t zeros[ID_SIZE], changed[ID_SIZE];
    fill(zeros, 0);
    Id plain = id_make(zeros), run = id_make_run(1700000000000, zeros);
    for (unsigned i = 0; i < ID_SIZE; i++) {
        fill(changed, 0);
        changed[i] = 1;
        Id other = id_make(changed), other_run = id_make_run(1700000000000, changed);
        EXPECT(!str_is(id_peek(&plain), id_peek(&other)));
        EXPECT_INT(str_is(id_peek(&run), id_peek(&other_run)), i < ID_TIME_SIZE);
    }
}

TEST(run_ids_sort_by_time_whatever_their_random_part, "proves: R-025")
{
    static const uint64_t times_ms[] = {
        0, 1, 63, 64, 4095, 4096, (UINT64_C(1) << 36) - 1, UINT64_C(1) << 36, 1700000000000, 1700000000001, 1700000000064,
        1763243480000, 1893456000000, 4102444800000, (UINT64_C(1) << 42) - 1, UINT64_C(1) << 42, 200000000000000,
        (UINT64_C(53) << 42) - 1,
    };
    uint8_t least[ID_SIZE], most[ID_SIZE];
    fill(least, 0);
    fill(most, 63);
    for (size_t i = 1; i < sizeof times_ms / sizeof *times_ms; i++) {
        Id earlier = id_make_run(times_ms[i - 1], most), later = id_make_run(times_ms[i], least);
        test_expect(str_compare(id_peek(&earlier), id_peek(&later)) < 0, __FILE__, __LINE__, "%llu: %s is not before %s",
                    (unsigned long long)times_ms[i], earlier.text, later.text);
    }
    Random chance = { 5 };
    for (unsigned round = 0; round < 10000; round++) {
        uint64_t a = random_next(&chance) % (UINT64_C(53) << 42), b = random_next(&chance) % (UINT64_C(53) << 42);
        Id x = id_make_run(a, most), y = id_make_run(b, least);
        if (a != b) EXPECT_INT(str_compare(id_peek(&x), id_peek(&y)) < 0, a < b);
    }
}

/* A command line takes what begins with '-' for an option. */
TEST(run_ids_of_our_time_begin_with_a_letter, "")
{
    uint8_t random[ID_SIZE];
    fill(random, 0);
    for (uint64_t year = 0; year < 130; year++) {
        Id id = id_make_run(year * 365 * 24 * 3600 * 1000, random);
        EXPECT_INT(id.text[0], 'A');
    }
}

TEST(an_id_is_valid_by_length_and_alphabet, "")
{
    static const struct { const char *name; Str text; bool want; } cases[] = {
        { "digits and letters", STR_INIT("0123456789ABCDEFGHIJK"), true },
        { "lower case", STR_INIT("abcdefghijklmnopqrstu"), true },
        { "marks", STR_INIT("-_-_-_-_-_-_-_-_-_-_-"), true },
        { "empty", STR_INIT(""), false },
        { "no pointer", { NULL, 0 }, false },
        { "too short", STR_INIT("0123456789ABCDEFGHIJ"), false },
        { "too long", STR_INIT("0123456789ABCDEFGHIJKL"), false },
        { "a space", STR_INIT("0123456789 BCDEFGHIJK"), false },
        { "a slash", STR_INIT("0123456789/BCDEFGHIJK"), false },
        { "a point", STR_INIT("0123456789.BCDEFGHIJK"), false },
        { "a plus", STR_INIT("0123456789+BCDEFGHIJK"), false },
        { "a NUL inside", STR_INIT("0123456789\0BCDEFGHIJK"), false },
        { "a NUL at the end", STR_INIT("0123456789ABCDEFGHIJ\0"), false },
        { "a letter that is not ASCII", STR_INIT("0123456789\xc3\xa9" "CDEFGHIJK"), false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        EXPECT_INT(id_is_valid(cases[i].text), cases[i].want);
    }
}
