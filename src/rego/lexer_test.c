#include "harness/test.h"
#include "rego/lexer.h"

static void expect_kinds(Str text, uint32_t keywords, const char *want)
{
    char storage[512];
    Buf got = buf_on(storage, sizeof storage);
    RegoLexer lexer;
    RegoToken token;
    rego_lexer_init(&lexer, text, keywords);
    for (;;) {
        rego_lexer_next(&lexer, &token);
        if (token.kind == REGO_TOKEN_END) break;
        if (got.len) buf_char(&got, ' ');
        buf_text(&got, rego_token_kind_name(token.kind));
    }
    EXPECT_STR(buf_peek(&got), str_of(want));
}

TEST(tokens_are_told_apart, "")
{
    static const struct { const char *name, *text; uint32_t keywords; const char *want; } cases[] = {
        { "nothing", "", 0, "" },
        { "a byte order mark at the start", "\xef\xbb\xbfpackage a", 0, "package identifier" },
        { "symbols of two characters", ":= == != <= >= = : < >", 0, "assign equal neq lte gte eq : lt gt" },
        { "arithmetic", "+ - * / % & |", 0, "plus minus mul div rem and or" },
        { "brackets", "[]{}(),;.", 0, "[ ] { } ( ) , ; ." },
        { "words that are always keywords", "package import as default else not some with null true false", 0,
          "package import as default else not some with null true false" },
        { "future words without an import", "in every contains if and or", 0,
          "identifier identifier identifier identifier identifier identifier" },
        { "future words of v1", "in every contains if and or", REGO_KEYWORDS_V1,
          "in every contains if identifier identifier" },
        { "logical words", "and or", REGO_KEYWORDS_LOGICAL, "and or" },
        { "a word is not its prefix", "iff notx _if if2", REGO_KEYWORDS_V1, "identifier identifier identifier identifier" },
        { "numbers", "0 12 0.5 1e3 1E-3 1.5e+7", 0, "number number number number number number" },
        { "strings", "\"a\\\"b\" `raw\n\"` \"\\u00e9\"", 0, "string string string" },
        { "comments", "a # b c\n# d\ne", 0, "identifier comment comment identifier" },
        { "a template without an expression", "$\"abc\" $`abc`", 0, "template-string-end raw-template-string-end" },
        { "a template up to its expression", "$\"abc{", 0, "template-string-part" },
        { "an escaped brace opens none", "$\"\\{\" $`\\{`", 0, "template-string-end raw-template-string-end" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        expect_kinds(str_of(cases[i].text), cases[i].keywords, cases[i].want);
    }
}

TEST(wrong_tokens_say_why, "")
{
    static const struct { const char *text, *problem; } cases[] = {
        { "\"abc", "non-terminated string" },
        { "\"abc\n\"", "non-terminated string" },
        { "`abc", "non-terminated string" },
        { "$\"abc", "non-terminated string" },
        { "$`abc", "non-terminated string" },
        { "\"\\x\"", "illegal escape sequence" },
        { "\"\\{\"", "illegal escape sequence" },
        { "1.", "expected fraction" },
        { "1e", "expected exponent" },
        { "0a2b", "illegal number format" },
        { "!a", "illegal ! character" },
        { "$a", "illegal $ character" },
        { "\xc2\xa0", "illegal non-breaking space character, use a regular space instead" },
        { "@", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        RegoLexer lexer;
        RegoToken token;
        rego_lexer_init(&lexer, str_of(cases[i].text), 0);
        rego_lexer_next(&lexer, &token);
        EXPECT_INT(token.kind, REGO_TOKEN_ILLEGAL);
        EXPECT_STR(str_of(token.problem), str_of(cases[i].problem));
    }
}

TEST(places_count_characters_and_lines, "")
{
    RegoLexer lexer;
    RegoToken token;
    rego_lexer_init(&lexer, STR("\"\xc3\xa9\xf0\x9f\x8d\xa8\" a\r\n\tb"), 0);
    rego_lexer_next(&lexer, &token);
    EXPECT_INT(token.loc.col, 1);
    EXPECT_INT(token.loc.size, 8);
    EXPECT_STR(token.text, STR("\xc3\xa9\xf0\x9f\x8d\xa8"));
    rego_lexer_next(&lexer, &token);
    EXPECT_INT(token.loc.row, 1);
    EXPECT_INT(token.loc.col, 6);
    EXPECT_INT(token.loc.offset, 9);
    EXPECT(token.space_before);
    EXPECT(!token.newline_before);
    rego_lexer_next(&lexer, &token);
    EXPECT_INT(token.loc.row, 2);
    EXPECT_INT(token.loc.col, 2);
    EXPECT(token.newline_before);
    for (int i = 0; i < 3; i++) {
        rego_lexer_next(&lexer, &token);
        EXPECT_INT(token.kind, REGO_TOKEN_END);
    }
}

TEST(a_template_goes_on_behind_its_expression, "")
{
    RegoLexer lexer;
    RegoToken token;
    rego_lexer_init(&lexer, STR("$\"a{x}b{y}\" z"), 0);
    rego_lexer_next(&lexer, &token);
    EXPECT_STR(token.text, STR("a"));
    rego_lexer_next(&lexer, &token);
    rego_lexer_next(&lexer, &token);
    EXPECT_INT(token.kind, REGO_TOKEN_BRACE_CLOSE);
    rego_lexer_next_template(&lexer, /* raw= */ false, &token);
    EXPECT_INT(token.kind, REGO_TOKEN_TEMPLATE_PART);
    EXPECT_STR(token.text, STR("b"));
    rego_lexer_next(&lexer, &token);
    rego_lexer_next(&lexer, &token);
    rego_lexer_next_template(&lexer, /* raw= */ false, &token);
    EXPECT_INT(token.kind, REGO_TOKEN_TEMPLATE_END);
    EXPECT_STR(token.text, STR(""));
    rego_lexer_next(&lexer, &token);
    EXPECT_STR(token.text, STR("z"));
}

TEST(keywords_are_found_by_their_spelling, "")
{
    EXPECT_INT(rego_keyword_find(STR("package")), REGO_TOKEN_PACKAGE);
    EXPECT_INT(rego_keyword_find(STR("or")), REGO_TOKEN_LOGICAL_OR);
    EXPECT_INT(rego_keyword_find(STR("xor")), REGO_TOKEN_KEYWORD_COUNT);
    EXPECT(rego_token_kind_is_keyword(REGO_TOKEN_IF));
    EXPECT(!rego_token_kind_is_keyword(REGO_TOKEN_IDENT));
}
