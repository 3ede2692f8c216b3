/* What the compiler refuses that no data case can show: large policies, options, queries; and arguments that it computes. */
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/engine_test.h"
#include "rego/types.h"

static Str answer(Arena *arena, const char *module, const char *query, const EngineOptions *options)
{
    const EngineCase row = { "", module, query, "1", NULL, "" };
    return engine_answer(arena, &row, options);
}

TEST(arguments_that_are_no_patterns_are_compared, "")
{
    static const EngineCase cases[] = {
        { "a template", "f(x, $\"a {x}\") := 1", "data.t.f(1, \"a 1\")", NULL, NULL, "1" },
        { "another text", "f(x, $\"a {x}\") := 1", "data.t.f(1, \"a 2\")", NULL, NULL, "undefined" },
        { "a template in an array", "f([$\"a\", y]) := y", "data.t.f([\"a\", 3])", NULL, NULL, "3" },
        { "another text in an array", "f([$\"a\", y]) := y", "data.t.f([\"b\", 3])", NULL, NULL, "undefined" },
        { "a comprehension", "f([x | x := 1]) := 1", "data.t.f([1])", NULL, NULL, "1" },
        { "another list", "f([x | x := 1]) := 1", "data.t.f([2])", NULL, NULL, "undefined" },
        { "a member of another argument", "f(x, x.y) := 1", "data.t.f({\"y\": 5}, 5)", NULL, NULL, "1" },
        { "another member", "f(x, x.y) := 1", "data.t.f({\"y\": 5}, 6)", NULL, NULL, "undefined" },
        { "each branch compares", "f($\"a\") := 1 if { false } else := 2", "data.t.f(\"a\")", NULL, NULL, "2" },
        { "no branch is taken for another", "f($\"a\") := 1 if { false } else := 2", "data.t.f(\"b\")", NULL, NULL,
          "undefined" },
        { "a name of a rule is a variable", "q := 1\nf(q) := q", "data.t.f(2)", NULL, NULL, "2" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(the_name_of_a_function_consists_of_constants, "")
{
    static const char *const refused[] = { "g[y].h(x) := x if y := 1", "g[input.y](x) := x", "g[[1]](x) := x" };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++)
        EXPECT(strstr(answer(&arena, refused[i], "data.t", &(EngineOptions){ 0 }).ptr, "consists of constants") != NULL);
    arena_deinit(&arena);
    static const EngineCase cases[] = {
        { "a text", "g[\"a b\"].h(x) := x", "data.t.g[\"a b\"].h(4)", NULL, NULL, "4" },
        { "numbers", "g[1](x) := x\ng[2].h(x) := -x\np := [g[1](3), g[2].h(3)]", "data.t", NULL, NULL,
          "{\"g\":{\"2\":{}},\"p\":[3,-3]}" },
        { "a constant", "g[true](x) := x", "data.t.g[true](5)", NULL, NULL, "5" },
        { "another one", "g[1](x) := x\np := g[2](3)", "1", NULL, NULL,
          "3:6 rego_type_error: undefined function data.t.g[2]" },
        { "beside keys that are computed", "g[1](x) := x\ng[k] := 1 if some k in [2]", "1", NULL, NULL,
          "3:1 rego_type_error: conflicting rules data.t.g found" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(variables_of_a_query_hide_functions, "")
{
    static const EngineCase cases[] = {
        { "in a term", NULL, "plus := 1; x := 1 + plus", NULL, NULL, "1:17 rego_compile_error: called function plus shadowed" },
        { "as an expression", NULL, "equal := 1; equal == 1", NULL, NULL, "1:13 rego_type_error: undefined function equal" },
        { "declared later", NULL, "count := count([1])", NULL, NULL, "1:1 rego_compile_error: var count referenced above" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(operators_call_functions_of_their_names, "")
{
    static const EngineCase cases[] = {
        { "equal", "equal(x, y) := true\np if 1 == 2", "data.t.p", NULL, NULL, "true" },
        { "plus", "plus(x, y) := 7\np := 1 + 1", "data.t.p", NULL, NULL, "7" },
        { "a query may compare anything, and then knows less of its types", "f([2]) := 1",
          "data.t.f([k | some k in [\"a\"]; {k} == 1])", NULL, NULL, "undefined" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(values_cannot_grow_beyond_what_recursion_bears, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf module;
    buf_init(&module, 4 << 20);
    buf_text(&module, "r0 := input\n");
    for (int i = 1; i < 3000; i++) buf_format(&module, "r%d := x if x := r%d with input as [input]\n", i, i - 1);
    buf_char(&module, 0);
    EXPECT(strstr(answer(&arena, module.ptr, "data.t.r1", &(EngineOptions){ 0 }).ptr, "REGO_HEIGHT_MAX (2048)") != NULL);
    buf_clear(&module);
    buf_text(&module, "r0 if input == input\n");
    for (int i = 1; i < 400; i++)
        buf_format(&module, "r%d if r%d with input as [[[[[[[[[[input]]]]]]]]]]\n", i, i - 1);
    buf_char(&module, 0);
    EXPECT(strstr(answer(&arena, module.ptr, "data.t.r399", &(EngineOptions){ 0 }).ptr,
                  "more than REGO_WITH_HEIGHT_MAX (1024) containers") != NULL);
    buf_deinit(&module);
    arena_deinit(&arena);
}

/* The needs of the rules are counted once for a package, not once for each of its rules. */
TEST(references_with_unknown_keys_do_not_multiply, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf readers, read;
    buf_init(&readers, 4 << 20);
    buf_init(&read, 4 << 20);
    buf_text(&readers, "package b\n");
    buf_text(&read, "package c\n");
    for (int i = 0; i < 10000; i++) {
        buf_format(&readers, "q%d := data.c[input.x]\n", i);
        buf_format(&read, "r%d := %d\n", i, i);
    }
    const RegoModuleText modules[] = { { STR("b.rego"), buf_peek(&readers) }, { STR("c.rego"), buf_peek(&read) } };
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoPolicy *policy = NULL;
    EXPECT_INT(rego_compile(modules, 2, value_null(), NULL, &policy, &errors), OK);
    rego_policy_free(policy);
    buf_deinit(&readers);
    buf_deinit(&read);
    arena_deinit(&arena);
}

TEST(rules_that_only_lead_to_a_cycle_are_not_blamed, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT_STR(answer(&arena, "p if q\nq if r\nr if q\ns := data.t.p", "1", &(EngineOptions){ 0 }),
               STR("3:1 rego_recursion_error: rule data.t.q is recursive: data.t.q -> data.t.r -> data.t.q; "
                   "4:1 rego_recursion_error: rule data.t.r is recursive: data.t.r -> data.t.q -> data.t.r"));
    arena_deinit(&arena);
}

TEST(a_key_that_is_one_of_few_constants_reads_those_rules_alone, "")
{
    static const EngineCase cases[] = {
        { "of an array", "p contains y if {\n\tsome x in [\"q\", \"r\", \"none\"]\n\ty := data.t[x]\n}\nq := 1\nr := 2",
          "data.t.p", NULL, NULL, "[1,2]" },
        { "behind a key that is not known", "p if {\n\tx = \"q\"\n\tdata[_][x] == 1\n}\nq := 1", "data.t.p", NULL, NULL,
          "true" },
        { "but not where it is the rule itself", "p if {\n\tsome x in [\"p\"]\n\tdata.t[x]\n}", "1", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.p is recursive: data.t.p -> data.t.p" },
        { "nor in the other order", "p if {\n\tdata.t[x]\n\tx = \"q\"\n}\nq := 1", "1", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.p is recursive: data.t.p -> data.t.p" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(the_network_is_for_policies_that_may_use_it, "")
{
    static const EngineCase refused[] = {
        { "a call", "p := http.send({})", "1", NULL, NULL,
          "2:6 rego_compile_error: http.send needs the network, which this policy may not use" },
        { "as a replacement", "p := count([1]) if { count([1]) with count as http.send }", "1", NULL, NULL,
          "2:47 rego_compile_error: http.send needs the network, which this policy may not use" },
        { "in another rule", "q := http.send({})\np if q with http.send as 1", "1", NULL, NULL,
          "2:6 rego_compile_error: http.send needs the network, which this policy may not use" },
    };
    engine_expect(refused, sizeof refused / sizeof *refused, &(EngineOptions){ 0 });
    static const EngineCase replaced[] = {
        { "where something else stands for it", "p := x if x := http.send({}) with http.send as {\"a\": 1}",
          "data.t.p.a", NULL, NULL, "1" },
        { "by a function", "f(x) := x\np := x if x := http.send({\"b\": 2}) with http.send as f", "data.t.p.b", NULL,
          NULL, "2" },
    };
    engine_expect(replaced, sizeof replaced / sizeof *replaced, &(EngineOptions){ 0 });
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT_STR(answer(&arena, "p := http.send({\"method\": \"get\", \"url\": \"http://a.b\"})", "data.t.p",
                      &(EngineOptions){ .compile = { .allow_network = true } }),
               STR("undefined"));
    arena_deinit(&arena);
}

TEST(queries_are_checked_as_rules_are, "")
{
    static const EngineCase cases[] = {
        { "a wrong argument", "p := 1", "upper(1)", NULL, NULL,
          "1:1 rego_type_error: upper: invalid argument(s)\n\thave: (number, ??" "?)\n\twant: (x: string, y: string)" },
        { "a member that no rule gives", "p := {\"a\": 1}", "data.t.p.b", NULL, NULL,
          "1:1 rego_type_error: undefined ref: data.t.p.b\n\tdata.t.p.b\n\t         ^\n\t         have: \"b\"\n"
          "\t         want (one of): [\"a\"]" },
        { "never equal", "p := 1", "data.t.p = \"a\"", NULL, NULL,
          "1:1 rego_type_error: match error\n\tleft  : number\n\tright : string" },
        { "metadata of a rule", "# METADATA\n# title: x\np := rego.metadata.rule().title", "data.t.p", NULL, NULL, "\"x\"" },
        { "metadata of a document is not that of its rules",
          "# METADATA\n# title: x\n# scope: document\np := rego.metadata.rule()", "data.t.p", NULL, NULL, "{}" },
        { "an else has no metadata of its own", "# METADATA\n# title: x\np := 1 if false\nelse := rego.metadata.rule()",
          "data.t.p", NULL, NULL, "{}" },
        { "nor a part in the chain", "# METADATA\n# title: x\np := 1 if false\nelse := rego.metadata.chain()", "data.t.p", NULL,
          NULL, "[{\"path\":[\"t\",\"p\"]}]" },
        { "metadata outside of rules", NULL, "rego.metadata.rule()", NULL, NULL, "undefined" },
        { "trace is true", NULL, "trace(\"a\")", NULL, NULL, "true" },
    };
    engine_expect(cases, sizeof cases / sizeof *cases, &(EngineOptions){ 0 });
}

TEST(types_have_the_notation_that_messages_use, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    TypeParam params[3];
    type_of_signature(&arena, "(a: any<null, array[string]>, object<k: number>[string: any]) -> r: set[any]", params, 2);
    static const char *const want[] = { "any<null, array[string]>", "object<k: number>[string: any]", "set[any]" };
    for (size_t i = 0; i < 3; i++) {
        char text[128];
        Buf buf = buf_on(text, sizeof text);
        type_print(&buf, params[i].type);
        EXPECT_STR(buf_peek(&buf), str_of(want[i]));
    }
    EXPECT_STR(params[0].name, STR("a"));
    EXPECT_STR(params[1].name, STR(""));
    EXPECT_STR(params[2].name, STR("r"));
    EXPECT(type_unifies(params[0].type, &rego_type_null));
    EXPECT(!type_unifies(params[0].type, &rego_type_number));
    EXPECT(!type_unifies(NULL, &rego_type_any));
    EXPECT(type_is_unknown(type_set(&arena, NULL)));
    arena_deinit(&arena);
}
