#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "value/pattern.h"

/* Compiles and matches; a status where either is refused. */
static Status match(const char *pattern_text, Str text, bool *out_matches, Error *err)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    PatternMemory memory = { .arena = &arena, .size_max = SCHEMA_PATTERN_SIZE_MAX };
    const Pattern *pattern;
    PatternMatcher matcher;
    pattern_matcher_init(&matcher, &arena);
    Status status = pattern_compile(&memory, str_of(pattern_text), &pattern, err);
    if (!status) status = pattern_match(&matcher, pattern, text, out_matches, err);
    arena_deinit(&arena);
    return status;
}

typedef struct MatchRow {
    const char *pattern, *text;
    bool want;
} MatchRow;

static void expect_rows(const MatchRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ROW(rows[i].pattern);
        bool matches = false;
        Error err;
        if (EXPECT_OK(match(rows[i].pattern, str_of(rows[i].text), &matches, &err), &err))
            test_expect(matches == rows[i].want, __FILE__, __LINE__, "\"%s\" gives %d", rows[i].text, matches);
    }
}
#define EXPECT_ROWS(rows) expect_rows(rows, sizeof rows / sizeof *rows)

TEST(patterns_match_anywhere_unless_anchored_at_the_very_ends, "")
{
    static const MatchRow rows[] = {
        { "a+", "xxaayy", true },  { "^a", "ba", false },     { "a$", "ab", false },     { "^$", "", true },
        { "^abc$", "abc", true },  { "^abc$", "abc\n", false }, { "^b", "a\nb", false }, { "a$", "a\nb", false },
        { "", "anything", true },  { "^(?:a|b)$", "b", true }, { "x|^$", "", true },     { "A", "a", false },
    };
    EXPECT_ROWS(rows);
}

TEST(classes_of_characters_are_those_of_ecmascript, "")
{
    static const MatchRow rows[] = {
        { "^\\d$", "7", true },             { "^\\d$", "\xdf\x80", false },         /* NKO DIGIT ZERO */
        { "^\\D$", "\xdf\x80", true },      { "^\\w$", "_", true },
        { "^\\w$", "\xc3\xa9", false },     { "^\\W$", "\xc3\xa9", true },
        { "^\\s$", "\xc2\xa0", true },      { "^\\s$", "\xef\xbb\xbf", true },      /* no-break space, byte order mark */
        { "^\\s$", "\xe2\x80\xa9", true },  { "^\\s$", "\xe2\x80\x83", true },      /* paragraph separator, em space */
        { "^\\s$", "\v", true },            { "^\\s$", "\x01", false },
        { "^\\s$", "\xe2\x80\x8b", false }, { "^\\S$", "\xe2\x80\x8b", true },      /* zero width space is none */
        { "^\\S$", "\xc2\xa0", false },     { "^[\\S]$", "\xe3\x80\x80", false },
        { "^[^\\S]$", "\xe3\x80\x80", true }, { "^[\\s\\S]$", "\n", true },
        { "^.$", "\n", false },             { "^.$", "\r", false },
        { "^.$", "\xe2\x80\xa8", false },   { "^.$", "\xc2\x85", true },            /* line separator; next line is none */
        { "^.$", "\xf0\x9f\x98\x80", true }, { "^..$", "\xf0\x9f\x98\x80", false },
        { "\\bcat\\b", "a cat.", true },    { "\\bcat\\b", "concat", false },
        { "^[\\b]$", "\b", true },          { "^[a-c\\d_-]+$", "b-7_", true },
        { "^[^a-c]$", "b", false },         { "[]", "a", false },
        { "[^]", "\n", true },              { "^[\\w-.]+$", "a-b.c", true },
        { "^[.-\\d]+$", ".-7", true },      { "^[]$", "", false },
        { "^[[:alpha:]]$", "a]", true },    { "^[a\\]]$", "]", true },
    };
    EXPECT_ROWS(rows);
}

TEST(unicode_properties_go_by_short_and_long_names, "")
{
    static const MatchRow rows[] = {
        { "^\\p{Letter}+$", "H\xcf\x80", true },   { "^\\p{Letter}+$", "123", false },
        { "^\\p{L}+$", "\xcf\x80", true },         { "^\\P{L}+$", "123", true },
        { "^\\p{digit}+$", "\xe0\xa7\xaa", true },  { "^\\p{Nd}+$", "42", true },
        { "^\\p{Uppercase_Letter}$", "\xc3\x89", true }, { "^\\p{Lu}$", "\xc3\xa9", false },
        { "^\\p{General_Category=Lowercase_Letter}$", "a", true }, { "^\\p{gc=Lu}$", "a", false },
        { "^\\p{Script=Greek}+$", "\xcf\x80", true }, { "^\\p{sc=Latin}+$", "\xcf\x80", false },
        { "^\\p{Script_Extensions=Cyrillic}$", "\xd0\xb6", true },
        { "^\\p{Alphabetic}$", "\xc3\xa9", true }, { "^\\p{ASCII}$", "\xc3\xa9", false },
        { "^\\p{Any}$", "\n", true },              { "^\\p{Assigned}$", "\xcd\xb8", false },     /* U+0378 is not */
        { "^\\P{Assigned}$", "\xcd\xb8", true },   { "^\\p{LC}$", "a", true },
        { "^[\\p{Lu}\\d]+$", "A1", true },         { "^[^\\p{L}]$", "a", false },
        { "^\\p{Emoji_Presentation}$", "\xf0\x9f\x98\x80", true }, { "^\\p{White_Space}$", " ", true },
        { "^\\p{punct}$", "!", true },             { "^\\p{Currency_Symbol}$", "\xe2\x82\xac", true },
    };
    EXPECT_ROWS(rows);
}

TEST(escapes_stand_for_their_characters, "")
{
    static const MatchRow rows[] = {
        { "^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", true }, { "^\\cC$", "\x03", true }, { "^\\cc$", "\x03", true },
        { "^\\x41$", "A", true },           { "^\\u0041$", "A", true },         { "^\\u{41}$", "A", true },
        { "^\\u{1F600}$", "\xf0\x9f\x98\x80", true }, { "^\\u{0001F600}$", "\xf0\x9f\x98\x80", true },
        { "^\\uD83D\\uDE00$", "\xf0\x9f\x98\x80", true }, { "^[\\uD83D\\uDE00-\\u{1F64F}]$", "\xf0\x9f\x98\x81", true },
        { "^\\.\\*\\/\\\\$", ".*/\\", true }, { "^\\-\\@\\\"\\'\\#\\ $", "-@\"'# ", true }, { "^\\^\\$$", "^$", true },
        { "^\\{\\}$", "{}", true },         { "^{a}$", "{a}", true },           { "^a{,5}$", "a{,5}", true },
        { "^a{x}]$", "a{x}]", true },       { "^#  x$", "#  x", true },         { "^\\[\\(\\|$", "[(|", true },
        { "^\xc3\xa1$", "\xc3\xa1", true }, { "^a\\cJb$", "a\nb", true },
    };
    EXPECT_ROWS(rows);
    bool matches = false;
    EXPECT_OK(match("^\\0x$", (Str){ "\0x", 2 }, &matches, NULL), NULL);
    EXPECT(matches);
}

TEST(groups_references_and_quantifiers_work_as_in_ecmascript, "")
{
    static const MatchRow rows[] = {
        { "^(a)(b)\\2\\1$", "abba", true },     { "^(?<x>a|b)\\k<x>$", "bb", true },  { "^(?<x>a|b)\\k<x>$", "ab", false },
        { "^(?:(a)|b)\\1$", "b", true },        /* a group that took no part refers to nothing */
        { "^\\1(a)$", "a", true },              { "^(?=.*\\d)(?=.*[a-z]).{4,}$", "ab1c", true },
        { "^(?!foo)", "foobar", false },        { "(?<=\\$)\\d+", "$42", true },      { "(?<!\\$)\\b\\d+", "$42", false },
        { "^a{2,3}$", "aaaa", false },          { "^a{2,}$", "aaaa", true },          { "^a{2}$", "aa", true },
        { "^a{0}b$", "b", true },               { "^a+?b*?c??$", "aab", true },       { "^(a|ab)(c|bcd)(d*)$", "abcd", true },
        { "^([0-9]{1,3}\\.){3}[0-9]{1,3}$", "10.0.0.1", true }, { "^(?:a|(b))+$", "abab", true },
        { "^(?<\xc3\xa9>x)\\k<\xc3\xa9>$", "xx", true },
    };
    EXPECT_ROWS(rows);
}

TEST(what_is_no_expression_of_ecmascript_is_refused_with_its_place, "")
{
    static const struct { const char *pattern, *place; } rows[] = {
        { "a++", "character 3" },     { "*a", "character 1" },     { "a**", "character 3" },   { "(", "not closed" },
        { "a)", "character 2" },      { "[a", "character 1" },     { "\xc3\xa9[b", "character 2" },
        { "(?>a)", "character 1" },   { "(?i)a", "character 1" },  { "(?#x)", "character 1" }, { "(*UTF)a", "character 2" },
        { "\\a", "character 1" },     { "\\A", "character 1" },    { "x\\Z", "character 2" },  { "\\h", "character 1" },
        { "\\Q", "character 1" },     { "\\K", "character 1" },    { "\\R", "character 1" },   { "\\G", "character 1" },
        { "\\1", "character 1" },     { "(a)\\2", "character 4" }, { "\\k<x>", "character 1" }, { "\\k", "character 1" },
        { "(?<1a>x)", "character 1" }, { "(?<a>x)(?<a>y)", "character 8" }, { "(?<>x)", "character 1" },
        { "[b-a]", "character 2" },   { "[\\B]", "character 2" },  { "[\\1]", "character 2" }, { "\\01", "character 1" },
        { "\\x4", "character 1" },    { "\\u12", "character 1" },  { "\\u{110000}", "character 1" }, { "\\u{}", "character 1" },
        { "\\uD800", "character 1" }, { "\\c1", "character 1" },   { "\\pL", "character 1" },  { "\\p{", "character 1" },
        { "\\p{L&}", "character 1" }, { "\\p{^L}", "character 1" }, { "\\p{NoSuchThing}", "unknown property" },
        { "a{3,2}", "character 2" },  { "{2}", "character 1" },    { "(?=a)*", "character 6" }, { "^*", "character 2" },
        { "\\b+", "character 3" },    { "a|*", "character 3" },    { "\\", "character 1" },     { "(?", "character 1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].pattern);
        bool matches;
        Error err = { 0 };
        EXPECT_INT(match(rows[i].pattern, STR(""), &matches, &err), ERR_INVALID);
        test_expect(strstr(err.text, rows[i].place) != NULL, __FILE__, __LINE__, "got '%s', want '%s' in it", err.text,
                    rows[i].place);
    }
}

TEST(an_expression_that_is_too_large_is_a_limit_and_not_a_mistake, "")
{
    char large[PATTERN_SIZE_MAX + 2];
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    bool matches;
    Error err;
    EXPECT_INT(match(large, STR(""), &matches, &err), ERR_LIMIT);
    large[PATTERN_SIZE_MAX] = '\0';
    EXPECT_OK(match(large, STR(""), &matches, &err), &err);

    static const char *const rows[] = { "(((a{1000}){1000}){1000})", "a{65536}", "a{99999999999}" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i]);
        EXPECT_INT(match(rows[i], STR(""), &matches, &err), ERR_LIMIT);
    }
    char deep[2 * PATTERN_DEPTH_MAX + 3];
    memset(deep, '(', PATTERN_DEPTH_MAX + 1);
    memset(deep + PATTERN_DEPTH_MAX + 1, ')', PATTERN_DEPTH_MAX + 1);
    deep[sizeof deep - 1] = '\0';
    EXPECT_INT(match(deep, STR(""), &matches, &err), ERR_LIMIT);
    deep[sizeof deep - 2] = '\0';
    EXPECT_OK(match(deep + 1, STR(""), &matches, &err), &err);
}

TEST(patterns_that_do_not_fit_the_memory_granted_are_a_limit, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    PatternMemory memory = { .arena = &arena, .size_max = 2000 };
    const Pattern *pattern;
    Error err;
    Status status = OK;
    for (int i = 0; i < 100 && !status; i++) status = pattern_compile(&memory, STR("^[a-z]{1,63}$"), &pattern, &err);
    EXPECT_INT(status, ERR_LIMIT);
    EXPECT(memory.size <= memory.size_max);
    arena_deinit(&arena);

    arena_init(&arena, 128);
    memory = (PatternMemory){ .arena = &arena, .size_max = SIZE_MAX };
    EXPECT_INT(pattern_compile(&memory, STR("^[a-z]{1,63}$"), &pattern, &err), ERR_LIMIT);
    arena_deinit(&arena);
}

static Str repeated(char *storage, char c, size_t size)
{
    memset(storage, c, size);
    return (Str){ storage, size };
}

TEST(a_match_that_would_take_for_ever_is_a_limit_and_never_a_no, "")
{
    static char storage[200000];
    /* Each ends in a class: a character that the text must hold somewhere would be looked for first. */
    static const struct { const char *pattern; size_t size; } rows[] = {
        { "^(a+)+$", 40 },                      /* exponential */
        { "^(a|a)*[bc]", 60 },
        { "^(?:.*,){20}[xy]", 4000 },
        { "a*a*a*a*[bc]", 3000 },                  /* a polynomial */
        { "(?=a*)[bc]", 200000 },                  /* reads to the end from each place, without a choice */
        { "(?:x|a{60000})[yz]", 200000 },          /* counts in vain from each place */
        { "(a*)\\1\\1[bc]", 20000 },               /* compares in vain */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].pattern);
        Str text = repeated(storage, 'a', rows[i].size);
        storage[rows[i].size - 1] = '!';
        if (strchr(rows[i].pattern, ',')) memset(storage, ',', rows[i].size);
        bool matches = false;
        Error err = { 0 };
        EXPECT_INT(match(rows[i].pattern, text, &matches, &err), ERR_LIMIT);
        EXPECT(strstr(err.text, "PATTERN_STEP_COUNT_MAX") || strstr(err.text, "PATTERN_MEMORY_SIZE_MAX"));
    }
}

TEST(long_texts_are_fine_where_the_time_grows_with_their_size_alone, "")
{
    enum { SIZE = 8 << 20 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    char *storage = arena_alloc(&arena, SIZE);
    static const struct { const char *pattern; bool want; } rows[] = {
        { "^[a-z]+$", true }, { "b$", false }, { "^a", true }, { "^a*b", false }, { "[0-9]{2,}", false }, { "^.*$", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].pattern);
        bool matches = !rows[i].want;
        Error err;
        EXPECT_OK(match(rows[i].pattern, repeated(storage, 'a', SIZE), &matches, &err), &err);
        EXPECT_INT(matches, rows[i].want);
    }
    arena_deinit(&arena);
}

TEST(a_match_beyond_its_memory_is_a_limit, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str text = repeated(arena_alloc(&arena, 1 << 20), 'a', 1 << 20);
    bool matches = false;
    Error err = { 0 };
    EXPECT_INT(match("^(?:a|b)*$", text, &matches, &err), ERR_LIMIT);
    EXPECT(strstr(err.text, "PATTERN_MEMORY_SIZE_MAX") != NULL);

    PatternMemory memory = { .arena = &arena, .size_max = SIZE_MAX };
    const Pattern *pattern;
    REQUIRE_OK(pattern_compile(&memory, STR("^a"), &pattern, &err), &err);
    Arena small;
    arena_init(&small, 256);
    PatternMatcher matcher;
    pattern_matcher_init(&matcher, &small);
    EXPECT_INT(pattern_match(&matcher, pattern, text, &matches, &err), ERR_LIMIT);
    arena_deinit(&small);
    arena_deinit(&arena);
}
