#include "rego/regex/regex.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"

/* One compiled pattern with its memory. */
typedef struct Fixture {
    Arena arena;
    RegexMachine *machine;
    uint64_t steps;
    atomic_bool stop;
    RegexBudget budget;
    Status status;
    Error err;
} Fixture;

static void fixture_open(Fixture *fixture, const char *pattern)
{
    *fixture = (Fixture){ .steps = UINT64_MAX };
    fixture->budget = (RegexBudget){ &fixture->steps, &fixture->stop };
    arena_init(&fixture->arena, SIZE_MAX);
    const Regex *regex;
    fixture->status = regex_compile(&fixture->arena, str_of(pattern), &regex, &fixture->err);
    if (!fixture->status) fixture->machine = regex_machine_new(&fixture->arena, regex);
}

static void fixture_close(Fixture *fixture)
{
    arena_deinit(&fixture->arena);
}

/* All matches as "begin-end" with "-" for groups that took no part: "0-2,1-2 4-5,-". */
static Str spans_text(Fixture *fixture, Str text, Buf *buf)
{
    size_t at = 0;
    const RegexSpan *spans;
    uint32_t groups = regex_group_count(regex_machine_regex(fixture->machine));
    while (at <= text.len && regex_find(fixture->machine, text, at, &fixture->budget, &spans) == REGEX_FOUND) {
        if (buf->len) buf_char(buf, ' ');
        for (uint32_t i = 0; i <= groups; i++) {
            if (i) buf_char(buf, ',');
            if (spans[i].begin == REGEX_UNSET) buf_char(buf, '-');
            else buf_format(buf, "%u-%u", spans[i].begin, spans[i].end);
        }
        at = spans[0].end > at ? spans[0].end : at + 1;
    }
    return buf_peek(buf);
}

TEST(matches_and_groups_are_those_of_a_backtracking_matcher, "")
{
    static const struct { const char *name, *pattern, *text, *want; } cases[] = {
        { "the leftmost match wins over a longer one", "b+|a", "abbb", "0-1 1-4" },
        { "the first alternative wins", "a|ab", "ab", "0-1" },
        { "greedy takes more", "a+", "aaa", "0-3" },
        { "lazy takes fewer", "a+?", "aaa", "0-1 1-2 2-3" },
        { "the ungreedy flag swaps them", "(?U)a+", "aa", "0-1 1-2" },
        { "and a question mark swaps back", "(?U)a+?", "aa", "0-2" },
        { "groups note their last round", "(a|b)*", "ab", "0-2,1-2 2-2,-" },
        { "a group not taken is unset", "(a)|(b)", "b", "0-1,-,0-1" },
        { "an empty first round counts", "(|a)*", "aa", "0-0,0-0 1-1,1-1 2-2,2-2" },
        { "an empty first round counts in a plus", "(|a)+", "aa", "0-0,0-0 1-1,1-1 2-2,2-2" },
        { "counted repetition", "a{2,3}", "aaaaa", "0-3 3-5" },
        { "a count of none", "xa{0}y", "xay xy", "4-6" },
        { "an open count", "a{2,}", "a aa aaa", "2-4 5-8" },
        { "a brace that is no count", "a{,2}", "a{,2}", "0-5" },
        { "nested groups", "((a)(b))c", "abc", "0-3,0-2,0-1,1-2" },
        { "the beginning of the text", "^a", "aa", "0-1" },
        { "beginnings of lines", "(?m)^a", "a\na", "0-1 2-3" },
        { "the end of the text", "a$", "a\na", "2-3" },
        { "ends of lines", "(?m)a$", "a\na", "0-1 2-3" },
        { "a dot leaves line feeds alone", "a.", "a\nab", "2-4" },
        { "unless told otherwise", "(?s)a.", "a\nab", "0-2 2-4" },
        { "edges of words", "\\bfoo\\b", "foo foobar foo", "0-3 11-14" },
        { "no edge of a word", "\\Boo", "foo oo", "1-3" },
        { "case is folded", "(?i)straSSe", "STRASSE", "0-7" },
        { "folding knows rings of three", "(?i)k", "kK\xe2\x84\xaa", "0-1 1-2 2-5" },
        { "flags end with their group", "(?i:a)b", "Ab AB", "0-2" },
        { "flags can be cleared", "(?i)a(?-i)b", "Ab AB", "0-2" },
        { "characters are code points", ".", "\xc3\xa9\xe2\x82\xac", "0-2 2-5" },
        { "a class of a script", "\\p{Greek}+", "ab\xce\xb1\xce\xb2", "2-6" },
        { "a negated class takes line feeds", "[^a]", "a\n", "1-2" },
        { "a bracket first in a class", "[]a]+", "a]b", "0-2" },
        { "a hyphen last in a class", "[a-]+", "a-b", "0-2" },
        { "posix classes", "[[:alpha:]_]+", "ab_1", "0-3" },
        { "a quoted text", "\\Qa.b\\E+", "a.bb axb", "0-4" },
        { "octal and hexadecimal", "\\101\\x42\\x{43}", "ABC", "0-3" },
        { "the empty pattern matches everywhere", "", "ab", "0-0 1-1 2-2" },
        { "an anchor in one alternative only", "^a|b", "aab", "0-1 2-3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Fixture fixture;
        fixture_open(&fixture, cases[i].pattern);
        char storage[256];
        Buf buf = buf_on(storage, sizeof storage);
        if (EXPECT_OK(fixture.status, &fixture.err)) {
            Str got = spans_text(&fixture, str_of(cases[i].text), &buf);
            EXPECT_STR(got, str_of(cases[i].want));
            /* Both matchers agree on whether there is a match at all. */
            RegexResult plain = regex_matches(fixture.machine, str_of(cases[i].text), &fixture.budget);
            EXPECT_INT(plain, got.len ? REGEX_FOUND : REGEX_NONE);
        }
        fixture_close(&fixture);
    }
}

TEST(a_plain_question_is_answered_from_states, "")
{
    static const struct { const char *name, *pattern, *text; bool want; } cases[] = {
        { "anywhere", "b", "abc", true },
        { "nowhere", "x", "abc", false },
        { "anchored at both ends", "^[a-z]+\\[[0-9]+\\]$", "foo[1]", true },
        { "and not", "^[a-z]+\\[[0-9]+\\]$", "foo[1]x", false },
        { "the end judged at the end", "a\\z", "ba", true },
        { "an edge judged between characters", "a\\b-", "a-", true },
        { "no edge there", "a\\B-", "a-", false },
        { "an empty text", "^$", "", true },
        { "lines", "(?m)^b$", "a\nb\nc", true },
        { "two assertions in a row", "a$\\b", "a", true },
        { "an impossible one", "a^b", "ab", false },
        { "beyond ASCII", "^\\pL+$", "caf\xc3\xa9", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Fixture fixture;
        fixture_open(&fixture, cases[i].pattern);
        if (EXPECT_OK(fixture.status, &fixture.err)) {
            for (int again = 0; again < 2; again++) {       /* the second time from what is remembered */
                RegexResult got = regex_matches(fixture.machine, str_of(cases[i].text), &fixture.budget);
                EXPECT_INT(got, cases[i].want ? REGEX_FOUND : REGEX_NONE);
            }
        }
        fixture_close(&fixture);
    }
}

TEST(patterns_that_cannot_be_read_are_refused_in_known_words, "")
{
    static const struct { const char *pattern, *want; } cases[] = {
        { "[", "missing closing ]: `[`" },
        { "[a", "missing closing ]: `[a`" },
        { "(", "missing closing ): `(`" },
        { "a)", "unexpected ): `a)`" },
        { "*", "missing argument to repetition operator: `*`" },
        { "a|*", "missing argument to repetition operator: `*`" },
        { "(+?)", "missing argument to repetition operator: `+?`" },
        { "a**", "invalid nested repetition operator: `**`" },
        { "a{2}{3}", "invalid nested repetition operator: `{2}{3}`" },
        { "a{1001}", "invalid repeat count: `{1001}`" },
        { "a{3,2}", "invalid repeat count: `{3,2}`" },
        { "((a{100}){100})", "invalid repeat count: `{100}`" },
        { "[z-a]", "invalid character class range: `z-a`" },
        { "[[:foo:]]", "invalid character class range: `[:foo:]`" },
        { "\\pX", "invalid character class range: `\\pX`" },
        { "\\p{Foo", "invalid character class range: `\\p{Foo`" },
        { "\\8", "invalid escape sequence: `\\8`" },
        { "\\x{110000}", "invalid escape sequence: `\\x{110000`" },
        { "\\", "trailing backslash at end of expression: ``" },
        { "(?=a)", "invalid or unsupported Perl syntax: `(?=`" },
        { "(?i-)", "invalid or unsupported Perl syntax: `(?i-)`" },
        { "(?P<n", "invalid named capture: `(?P<n`" },
        { "(?P<n-m>a)", "invalid named capture: `(?P<n-m>`" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].pattern);
        Fixture fixture;
        fixture_open(&fixture, cases[i].pattern);
        EXPECT_INT(fixture.status, ERR_INVALID);
        char want[128];
        snprintf(want, sizeof want, "error parsing regexp: %s", cases[i].want);
        EXPECT_STR(str_of(fixture.err.text), str_of(want));
        Arena scratch;
        arena_init(&scratch, SIZE_MAX);
        EXPECT_INT(regex_check(&scratch, str_of(cases[i].pattern), NULL), ERR_INVALID);
        arena_deinit(&scratch);
        fixture_close(&fixture);
    }
}

static void expect_refused(Str pattern, Status want, const char *reason)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const Regex *regex;
    Error err = { 0 };
    EXPECT_INT(regex_compile(&arena, pattern, &regex, &err), want);
    EXPECT(strstr(err.text, reason) != NULL);
    arena_deinit(&arena);
}

TEST(patterns_beyond_their_bounds_are_refused, "")
{
    static char deep[4096], wide[REGEX_PATTERN_SIZE_MAX + 1], many[16 * 1024];
    memset(deep, '(', 1000);
    deep[1000] = 'a';
    memset(deep + 1001, ')', 1000);
    expect_refused((Str){ deep, 2001 }, ERR_INVALID, "expression nests too deeply");
    memset(wide, 'a', sizeof wide);
    expect_refused((Str){ wide, sizeof wide }, ERR_LIMIT, "REGEX_PATTERN_SIZE_MAX");
    Buf buf = buf_on(many, sizeof many);
    for (int i = 0; i < 300; i++) buf_text(&buf, "[a-z]{1000}");
    expect_refused(buf_peek(&buf), ERR_LIMIT, "REGEX_PROGRAM_COUNT_MAX");
    buf_clear(&buf);
    for (int i = 0; i < 1001; i++) buf_text(&buf, "()");
    expect_refused(buf_peek(&buf), ERR_LIMIT, "REGEX_GROUP_COUNT_MAX");
    buf_clear(&buf);
    for (int i = 0; i < 600; i++) buf_text(&buf, "()");
    buf_text(&buf, "[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}");
    expect_refused(buf_peek(&buf), ERR_LIMIT, "REGEX_SLOT_COUNT_MAX");
}

TEST(a_full_arena_refuses_instead_of_stopping_the_process, "")
{
    Arena arena;
    arena_init(&arena, 64 * 1024);
    const Regex *regex;
    Error err;
    EXPECT_INT(regex_compile(&arena, STR("(\\pL{500}|x{400}){2}"), &regex, &err), ERR_LIMIT);
    arena_deinit(&arena);
}

TEST(hostile_patterns_stay_linear_in_the_text, "")
{
    static char text[100001];
    memset(text, 'a', sizeof text - 1);
    static const char *const patterns[] = { "(a*)*b", "(a|a)*b", "(a+)+b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)b" };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        ROW(patterns[i]);
        Fixture fixture;
        fixture_open(&fixture, patterns[i]);
        Str whole = { text, sizeof text - 1 };
        const RegexSpan *spans;
        EXPECT_INT(regex_matches(fixture.machine, whole, &fixture.budget), REGEX_NONE);
        fixture.steps = 2 * (sizeof text + 64);
        EXPECT_INT(regex_find(fixture.machine, whole, 0, &fixture.budget, &spans), REGEX_NONE);
        fixture_close(&fixture);
    }
}

TEST(a_spent_budget_ends_the_match_at_the_same_place_every_time, "")
{
    static char text[50000];
    memset(text, 'a', sizeof text);
    Str whole = { text, sizeof text };
    Fixture fixture;
    const RegexSpan *spans;
    fixture_open(&fixture, "a*b");
    REQUIRE_OK(fixture.status, &fixture.err);
    fixture.steps = 1000;
    EXPECT_INT(regex_matches(fixture.machine, whole, &fixture.budget), REGEX_HALT);
    EXPECT_INT(fixture.steps, 0);
    fixture.steps = 1000;
    EXPECT_INT(regex_find(fixture.machine, whole, 0, &fixture.budget, &spans), REGEX_HALT);
    uint64_t first = fixture.steps = 1000000;
    EXPECT_INT(regex_matches(fixture.machine, whole, &fixture.budget), REGEX_NONE);
    first -= fixture.steps;
    uint64_t second = fixture.steps = 1000000;
    EXPECT_INT(regex_matches(fixture.machine, whole, &fixture.budget), REGEX_NONE);
    EXPECT_INT(second - fixture.steps, first);
    fixture.stop = true;
    EXPECT_INT(regex_matches(fixture.machine, whole, &fixture.budget), REGEX_HALT);
    EXPECT_INT(regex_find(fixture.machine, whole, 0, &fixture.budget, &spans), REGEX_HALT);
    fixture_close(&fixture);
}

TEST(states_are_forgotten_and_made_anew_when_there_are_too_many, "")
{
    /* The n-th letter from the end decides: 2^12 states, more than are kept. */
    Fixture fixture;
    fixture_open(&fixture, "^[ab]*a[ab]{12}$");
    REQUIRE_OK(fixture.status, &fixture.err);
    static char text[20000];
    uint32_t chance = 1;
    for (size_t i = 0; i < sizeof text; i++) {
        chance = chance * 1664525u + 1013904223u;
        text[i] = chance >> 31 ? 'a' : 'b';
    }
    for (size_t end = 13; end < sizeof text; end += 997) {
        bool want = text[end - 13] == 'a';
        RegexResult got = regex_matches(fixture.machine, (Str){ text, end }, &fixture.budget);
        EXPECT_INT(got, want ? REGEX_FOUND : REGEX_NONE);
    }
    EXPECT(fixture.arena.size < 8u * REGEX_STATE_SIZE_MAX);
    fixture_close(&fixture);
}

TEST(groups_have_names_and_literals_can_be_quoted, "")
{
    Fixture fixture;
    fixture_open(&fixture, "(?P<year>\\d+)-(?<month>\\d+)(-x)?");
    REQUIRE_OK(fixture.status, &fixture.err);
    const Regex *regex = regex_machine_regex(fixture.machine);
    EXPECT_INT(regex_group_count(regex), 3);
    EXPECT_STR(regex_group_name(regex, 1), STR("year"));
    EXPECT_STR(regex_group_name(regex, 2), STR("month"));
    EXPECT_STR(regex_group_name(regex, 3), STR(""));
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    regex_quote(&buf, STR("a.b*[c]"));
    EXPECT_STR(buf_peek(&buf), STR("a\\.b\\*\\[c\\]"));
    fixture_close(&fixture);
}
