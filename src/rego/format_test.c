#include "rego/format.h"

#include <stdio.h>
#include <string.h>

#include "harness/test.h"
#include "rego/parser.h"
#include "rego/print.h"

#define FORMATTED_SIZE_MAX (16u << 20)

typedef struct Formatted {
    Arena arena;
    RegoModule *module;
    Buf text;
} Formatted;

static bool formatted_make(Formatted *formatted, Str text, bool v0)
{
    RegoErrors errors;
    RegoParseOptions options = { .file = STR("a.rego"), .v0 = v0 };
    arena_init(&formatted->arena, SIZE_MAX);
    buf_init(&formatted->text, FORMATTED_SIZE_MAX);
    rego_errors_init(&errors, &formatted->arena);
    bool parses = rego_parse_module(&formatted->arena, text, &options, &formatted->module, &errors) == OK;
    if (parses) rego_format_module(&formatted->arena, formatted->module, &formatted->text);
    return test_expect(parses, __FILE__, __LINE__, "it parses: %.*s\n%.*s",
                       STR_ARG(errors.count ? errors.items[0].text : STR("")), STR_ARG(text));
}

static void formatted_end(Formatted *formatted)
{
    buf_deinit(&formatted->text);
    arena_deinit(&formatted->arena);
}

/* The tree as text, without the spellings that the formatter may change: the sign of a head, an order of imports. */
static void print_meaning(Buf *out, RegoModule *module)
{
    for (uint32_t i = 0; i < module->rule_count; i++)
        for (RegoRule *rule = module->rules[i]; rule; rule = rule->otherwise) rule->head.flags |= REGO_HEAD_ASSIGN;
    module->import_count = 0;
    rego_print_module(out, module, REGO_PRINT_CALLS);
}

/* Formatting again changes nothing, the tree is the same, and no comment is lost. */
static void expect_stable(Formatted *first, bool v0)
{
    Formatted second;
    Buf before, after;
    if (formatted_make(&second, buf_peek(&first->text), v0)) {
        EXPECT_STR(buf_peek(&second.text), buf_peek(&first->text));
        EXPECT_INT(second.module->comment_count, first->module->comment_count);
        EXPECT_INT(second.module->import_count, first->module->import_count);
        buf_init(&before, FORMATTED_SIZE_MAX);
        buf_init(&after, FORMATTED_SIZE_MAX);
        print_meaning(&before, first->module);
        print_meaning(&after, second.module);
        EXPECT_STR(buf_peek(&after), buf_peek(&before));
        buf_deinit(&before);
        buf_deinit(&after);
    }
    formatted_end(&second);
}

static void expect_format(const char *name, const char *text, const char *want, bool v0)
{
    Formatted formatted;
    ROW(name);
    if (formatted_make(&formatted, str_of(text), v0)) {
        EXPECT_STR(buf_peek(&formatted.text), str_of(want));
        expect_stable(&formatted, v0);
    }
    formatted_end(&formatted);
}

TEST(modules_are_written_in_one_style, "")
{
    static const struct { const char *name, *text, *want; } rows[] = {
        { "spaces and tabs", "package a\np:=1\nq   if{input.x==1;input.y}",
          "package a\n\np := 1\n\nq if {\n\tinput.x == 1\n\tinput.y\n}\n" },
        { "a short body stays beside its head", "package a\np if { input.x }\np if {\n input.y }",
          "package a\n\np if input.x\np if {\n\tinput.y\n}\n" },
        { "neighbours stay neighbours", "package a\np := 1\nq := 2\n\n\n\nr := 3", "package a\n\np := 1\nq := 2\n\nr := 3\n" },
        { "a default has space around it", "package a\ndefault p = 1\nq := 2", "package a\n\ndefault p := 1\n\nq := 2\n" },
        { "a body that is true goes", "package a\np if true\nq contains 1 if { true }",
          "package a\n\np := true\nq contains 1\n" },
        { "branches are paragraphs", "package a\np := 1 if { input.x } else := 2 if {\n input.y } else := 3\n",
          "package a\n\np := 1 if input.x\n\nelse := 2 if {\n\tinput.y\n} else := 3\n" },
        { "imports of a group are sorted", "package a\nimport data.z\nimport data.b as c\n\nimport data.a",
          "package a\n\nimport data.b as c\nimport data.z\n\nimport data.a\n" },
        { "a list keeps its lines", "package a\np := [1,\n2,3]\nq := {\"a\":1, \"b\":{\n\"c\":2}}\nr := f(1,\n2)",
          "package a\n\np := [\n\t1,\n\t2, 3,\n]\n\nq := {\"a\": 1, \"b\": {\n\t\"c\": 2,\n}}\n\nr := f(\n\t1,\n\t2,\n)\n" },
        { "comprehensions", "package a\np := [x|x := 1]\nq := {x: y |\nx := 1; y := 2}",
          "package a\n\np := [x | x := 1]\nq := {x: y |\n\tx := 1\n\ty := 2\n}\n" },
        { "names and keys", "package a\np := input[\"a\"][\"b c\"][\"if\"].else[x][1]",
          "package a\n\np := input.a[\"b c\"][\"if\"].else[x][1]\n" },
        { "text is the author's", "package a\np := \"\\u00e9\\n\"\nq := `a\nb`\nr := 1.50e2\ns := $\"a { 1+x } \\{\"",
          "package a\n\np := \"\\u00e9\\n\"\nq := `a\nb`\n\nr := 1.50e2\ns := $\"a {1 + x} \\{\"\n" },
        { "with", "package a\np if { q with input as 1\n with data.x as 2\n not r with input as 2 }",
          "package a\n\np if {\n\tq with input as 1\n\t\twith data.x as 2\n\tnot r with input as 2\n}\n" },
        { "every and some", "package a\np if { every x,y in input { x>y }\n some z in y }",
          "package a\n\np if {\n\tevery x, y in input { x > y }\n\tsome z in y\n}\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_format(rows[i].name, rows[i].text, rows[i].want, /* v0= */ false);
}

TEST(parentheses_stay_where_they_carry_meaning, "")
{
    static const struct { const char *name, *text, *want; } rows[] = {
        { "arithmetic is grouped", "1+2*3", "1 + (2 * 3)" },
        { "to the left as well", "1-2-3", "(1 - 2) - 3" },
        { "not under a comparison", "(1+2)==3", "1 + 2 == 3" },
        { "a comparison inside one", "(1==2)==false", "(1 == 2) == false" },
        { "a membership compared", "(1 in [1])==true", "(1 in [1]) == true" },
        { "a membership with a key in a list", "[(1, 2 in [2])]==[]", "[(1, 2 in [2])] == []" },
        { "a union in a list", "[(a|b)]==[]", "[(a | b)] == []" },
        { "around one value", "(1)==(x)", "1 == x" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128], want[128];
        snprintf(text, sizeof text, "package a\np if{%s;true}", rows[i].text);
        snprintf(want, sizeof want, "package a\n\np if {\n\t%s\n\ttrue\n}\n", rows[i].want);
        expect_format(rows[i].name, text, want, /* v0= */ false);
    }
}

TEST(comments_stay_in_their_place, "")
{
    static const struct { const char *name, *text, *want; } rows[] = {
        { "before and behind the package", "# a\n\n# b\npackage a # c\n# d\np := 1",
          "# a\n\n# b\npackage a # c\n\n# d\np := 1\n" },
        { "in a body", "package a\np if { # a\n# b\nx := 1 # c\n# d\ny := 2\n# e\n} # f",
          "package a\n\np if { # a\n\t# b\n\tx := 1 # c\n\n\t# d\n\ty := 2\n\t# e\n} # f\n" },
        { "in a list", "package a\np := [ # a\n1, # b\n# c\n2 # d\n# e\n]",
          "package a\n\np := [ # a\n\t1, # b\n\t# c\n\t2, # d\n\t# e\n]\n" },
        { "in a call", "package a\np := f(\n# a\n1)", "package a\n\np := f(\n\t# a\n\t1,\n)\n" },
        { "in a comprehension", "package a\np := [x | # a\nx := 1 # b\n]", "package a\n\np := [x | # a\n\tx := 1 # b\n]\n" },
        { "behind imports", "package a\nimport data.z # z\nimport data.b # b",
          "package a\n\nimport data.b # b\nimport data.z # z\n" },
        { "behind and above imports", "package a\nimport data.z\nimport data.b # b\n# y\nimport data.y # yy\nimport data.c",
          "package a\n\nimport data.b # b\nimport data.z\n\n# y\nimport data.c\nimport data.y # yy\n" },
        { "at the end", "package a\np := 1\n# a\n\n# b", "package a\n\np := 1\n\n# a\n\n# b\n" },
        { "between branches", "package a\np := 1 if {\ninput.x\n}\n# a\nelse := 2",
          "package a\n\np := 1 if {\n\tinput.x\n}\n\n# a\nelse := 2\n" },
        { "inside an operator", "package a\np if {\nx := 1 + # a\n2\ny := 1 }",
          "package a\n\np if {\n\tx := 1 + 2 # a\n\ty := 1\n}\n" },
        { "in a body that says nothing else", "package a\np if {\n# a\ntrue\n}", "package a\n\np if {\n\t# a\n\ttrue\n}\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_format(rows[i].name, rows[i].text, rows[i].want, /* v0= */ false);
}

TEST(the_old_syntax_has_its_own_style, "")
{
    static const struct { const char *name, *text, *want; } rows[] = {
        { "bodies have lines", "package a\np { input.x }\nq = 1 { input.x }",
          "package a\n\np {\n\tinput.x\n}\n\nq = 1 {\n\tinput.x\n}\n" },
        { "partial rules", "package a\np[x] { x := 1 }\nq[x] = 1", "package a\n\np[x] {\n\tx := 1\n}\n\nq[x] = 1\n" },
        { "keywords that were imported", "package a\nimport future.keywords\np[x] { x := 1 }",
          "package a\n\nimport future.keywords\n\np contains x if x := 1\n" },
        { "a further body", "package a\np { input.x } { input.y }", "package a\n\np {\n\tinput.x\n}\n\np {\n\tinput.y\n}\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Formatted formatted;
        ROW(rows[i].name);
        if (formatted_make(&formatted, str_of(rows[i].text), /* v0= */ true)) {
            EXPECT_STR(buf_peek(&formatted.text), str_of(rows[i].want));
            Formatted second;
            if (formatted_make(&second, buf_peek(&formatted.text), /* v0= */ true))
                EXPECT_STR(buf_peek(&second.text), buf_peek(&formatted.text));
            formatted_end(&second);
        }
        formatted_end(&formatted);
    }
}
