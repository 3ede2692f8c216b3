#include "harness/test.h"
#include "rego/parser.h"
#include "rego/print.h"

TEST(source_style_writes_what_was_read, "")
{
    static const char *const cases[] = {
        "x := a + b * (c - d)",
        "-x + -1",
        "x = {\"a\": [1, 2.50], \"b\": {1, \"two\"}}",
        "x in xs; k, v in xs",
        "`raw\\n` == \"quoted\\n\\u0001\"",
        "$\"a\\{{x}\\n\"; $`raw {x} \\{`",
        "[x | some x in xs]; {x | x}; {k: v | some k, v in xs}",
        "[(x | y) | z]; {(x | y): 1}",
        "a[b].c[\"d e\"][\"if\"][_]",
        "every k, v in xs { k != v; not v } with input as {} with data.x as 1",
        "some x, y",
        "set() | {1} & {2}",
        "f(x)[0].y(z)",
        "(a or b) and c; a or b and c; a and (b and c); a or (b or c)",
        "{ a; b } or not c; not { a; b }; not (a or b); not (not a)",
        "(a with input as 1) and b; a or b with input as 1",
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const RegoParseOptions options = { .keywords = REGO_KEYWORDS_CONDITION };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i]);
        RegoErrors errors;
        rego_errors_init(&errors, &arena);
        char storage[512];
        Buf buf = buf_on(storage, sizeof storage);
        RegoBody body = { 0 };
        Status status = rego_parse_query(&arena, str_of(cases[i]), &options, &body, &errors);
        EXPECT_STR(errors.count ? errors.items[0].text : STR(""), STR(""));
        if (status == OK) rego_print_body(&buf, &body, REGO_PRINT_SOURCE);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i]));
    }
    arena_deinit(&arena);
}

TEST(modules_are_written_in_both_styles, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoModule *module;
    Str text = STR("package a.b[\"c-d\"]\n\nimport data.x as y\n\ndefault p := 1\n\np := 2 if { y > 1 } else := 3\n\n"
                   "q contains 1\n\nf(_) if { true }\n");
    REQUIRE(rego_parse_module(&arena, text, NULL, &module, &errors) == OK);
    char storage[1024];
    Buf buf = buf_on(storage, sizeof storage);
    rego_print_module(&buf, module, REGO_PRINT_SOURCE);
    EXPECT_STR(buf_peek(&buf), text);
    buf_clear(&buf);
    rego_print_module(&buf, module, REGO_PRINT_CALLS);
    EXPECT_STR(buf_peek(&buf), STR("package a.b[\"c-d\"]\n\nimport data.x as y\n\ndefault p := 1\n\n"
                                   "p := 2 if { gt(y, 1) } else := 3 if { true }\n\nq contains 1 if { true }\n\n"
                                   "f(_) = true if { true }\n"));
    arena_deinit(&arena);
}

TEST(a_leading_union_is_not_written_as_a_comprehension, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoModule *module;
    REQUIRE(rego_parse_module(&arena, STR("package a\np if x | y | z == 1\n"), NULL, &module, &errors) == OK);
    char storage[1024];
    Buf buf = buf_on(storage, sizeof storage);
    rego_print_module(&buf, module, REGO_PRINT_SOURCE);
    EXPECT_STR(buf_peek(&buf), STR("package a\n\np if { (x | y) | z == 1 }\n"));
    arena_deinit(&arena);
}

TEST(printing_beyond_the_buffer_is_remembered, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoBody body;
    REQUIRE(rego_parse_query(&arena, STR("[1, 2, 3, 4, 5]"), NULL, &body, &errors) == OK);
    char storage[8];
    Buf buf = buf_on(storage, sizeof storage);
    rego_print_body(&buf, &body, REGO_PRINT_SOURCE);
    EXPECT(buf_overflowed(&buf));
    arena_deinit(&arena);
}
