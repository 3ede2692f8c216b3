/* What the comparison with OPA (test/differential) has found and was mended: each row stood for a policy that the two
 * answered differently. */
#include "harness/test.h"
#include "rego/engine_test.h"

#define ROWS(cases, options) engine_expect(cases, sizeof cases / sizeof cases[0], options)

#define CONFLICTS "bad := 1\nbad := 2\nfbad(x) := 1\nfbad(x) := 2 if input.d\nfbad(x) := 3\nq if { "
#define RULE_CONFLICT "t.rego:3: eval_conflict_error: complete rules must not produce multiple outputs"
#define CALL_CONFLICT "t.rego:6: eval_conflict_error: functions must not produce multiple outputs for same inputs"

TEST(what_is_evaluated_first_decides_between_an_error_and_undefined, "")
{
    static const EngineCase cases[] = {
        { "calls come before references in an array", CONFLICTS "x := [input.u, fbad(1)] }", "data.t.q", "{}", NULL,
          CALL_CONFLICT },
        { "and in arguments", CONFLICTS "count([input.u, fbad(1)]) == 2 }", "data.t.q", "{}", NULL, CALL_CONFLICT },
        { "references of an array in their order", CONFLICTS "x := [input.u, bad] }", "data.t.q", "{}", NULL, "undefined" },
        { "and the other way round", CONFLICTS "x := [bad, input.u] }", "data.t.q", "{}", NULL, RULE_CONFLICT },
        { "members of an object by their keys", CONFLICTS "x := {\"b\": bad, \"a\": input.u} }", "data.t.q", "{}", NULL,
          "undefined" },
        { "items of a set by their terms", CONFLICTS "x := {input.u, bad} }", "data.t.q", "{}", NULL, RULE_CONFLICT },
        { "calls in a set by their names", CONFLICTS "x := {to_number(\"z\"), fbad(1)} }", "data.t.q", "{}", NULL,
          CALL_CONFLICT },
        { "sets in a set by their items", CONFLICTS "x := {{{\"c\": input.u}}, {bad}} }", "data.t.q", "{}", NULL,
          RULE_CONFLICT },
        { "a template is a call", CONFLICTS "x := [$\"{1}\", input.u, fbad(1)] }", "data.t.q", "{}", NULL, CALL_CONFLICT },
    };
    ROWS(cases, NULL);
}

TEST(a_variable_is_one_variable_wherever_it_stands, "")
{
    static const EngineCase cases[] = {
        { "as the key and what lies there", "p contains x if x = input.xs[x]", "data.t.p", "{\"xs\": [5, 1, 2]}", NULL,
          "[1,2]" },
        { "as both names of some", "p contains x if some x, x in input.xs", "data.t.p", "{\"xs\": [5, 1, 2]}", NULL, "[1,2]" },
        { "in the value of with and in the call it stands behind", "p if { bits.or(1, 2, v) with input.m as v }", "data.t.p",
          NULL, NULL, "2:8 rego_unsafe_var_error: var v is unsafe" },
        { "the same for some", "p if { some v in [1] with input.m as v }", "data.t.p", NULL, NULL,
          "2:8 rego_unsafe_var_error: var v is unsafe" },
        { "input is not shadowed by some", "p if { some input in [3]; input == 3 }", "data.t.p", "{}", NULL, "undefined" },
        { "a template goes through nothing", "p := $\"{input[e]}\"", "data.t.p", "{}", NULL,
          "2:6 rego_compile_error: var e is undeclared" },
        { "but takes what the body found", "p contains $\"{input[e]}\" if input[e] > 1", "data.t.p", "{\"a\": 1, \"b\": 2}",
          NULL, "[\"2\"]" },
    };
    ROWS(cases, NULL);
}

TEST(items_that_are_known_late_are_compared_late, "")
{
    static const EngineCase cases[] = {
        { "a set as an item", "p contains {255, 16 - e} if some e in [1]", "data.t.p[{255, 15}]", NULL, NULL, "[15,255]" },
        { "a set as a key", "p[{1, e}] := 2 if some e in [1]", "data.t.p[{1}]", NULL, NULL, "2" },
        { "an object whose key is known late", "p[{e: 1}] := 2 if some e in [1]", "data.t.p[{1: 1}]", NULL, NULL, "2" },
        { "nothing where it is another", "p contains {1, 16 - e} if some e in [1]", "data.t.p[input.x]", "{\"x\": \"a\"}", NULL,
          "undefined" },
    };
    ROWS(cases, NULL);
}

TEST(of_equal_numbers_the_first_stays, "")
{
    static const EngineCase cases[] = {
        { "in a set", "p := {1.0, 1}", "data.t.p", NULL, NULL, "[1.0]" },
        { "the other way round", "p := {1, 1.0}", "data.t.p", NULL, NULL, "[1]" },
        { "as a key", "p := {1.0: 2, 1: 2}", "data.t.p", NULL, NULL, "{\"1.0\":2}" },
        { "constants come before the rest", "p := {input.x, 1.0}", "data.t.p", "{\"x\": 1}", NULL, "[1.0]" },
        { "of two sets", "p := union({{1.0}, {1}})", "data.t.p", NULL, NULL, "[1.0]" },
    };
    ROWS(cases, NULL);
}

TEST(with_is_checked_where_others_check_it, "")
{
    static const EngineCase cases[] = {
        { "a key that is no string is told when it is evaluated", "p if { true with input.xs[0] as 1 }", "data.t.p", NULL,
          NULL, "t.rego:2: eval_conflict_error: the target of `with` has a key that is no string" },
        { "and only then", "p if { input.x; 1 == 1 with input.xs[0] as 1 }", "data.t.p", "{}", NULL, "undefined" },
        { "what is replaced counts as read", "q := p\np := 1 if { true with data.t.q as 1 }", "data.t.p", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.q is recursive: data.t.q -> data.t.p -> data.t.q; "
          "3:1 rego_recursion_error: rule data.t.p is recursive: data.t.p -> data.t.q -> data.t.p" },
        { "functions too", "f(x) := p\np := 1 if { true with f as 1 }", "data.t.p", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.f is recursive: data.t.f -> data.t.p -> data.t.f; "
          "3:1 rego_recursion_error: rule data.t.p is recursive: data.t.p -> data.t.f -> data.t.p" },
        { "a function that reads its package", "f(x) := y if y := data.t", "data.t.f(1)", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.f is recursive: data.t.f -> data.t.f" },
    };
    ROWS(cases, NULL);
}

TEST(types_are_known_as_far_as_others_know_them, "")
{
    static const EngineCase cases[] = {
        { "an argument in an array that is gone through", "f(x) := 1 if { some _ in [x] }", "data.t.f(2)", NULL, NULL, "1" },
        { "an argument that every goes through", "f(x) := 1 if { [y | y := x; every z in x { z > 0 }][_] }", "data.t.f([2])",
          NULL, NULL, "1" },
        { "what is written in the body of every", "p if { every x in [1] { not [][x] } }", "data.t.p", NULL, NULL, "true" },
        { "== in a query compares anything", NULL, "count([1 | 1 == \"a\"])", NULL, NULL, "0" },
        { "= does not", NULL, "count([1 | 1 = \"a\"])", NULL, NULL,
          "1:12 rego_type_error: match error\n\tleft  : number\n\tright : string" },
    };
    ROWS(cases, NULL);
}

TEST(a_query_that_stands_alone_may_be_false, "")
{
    static const EngineCase cases[] = {
        { "a call", "f(x) := false", "data.t.f(1)", NULL, NULL, "false" },
        { "with a comprehension that has variables", "f(x) := false", "data.t.f([k | some k in [1]])", NULL, NULL, "false" },
        { "but not where it goes through something", "p := [false]", "data.t.p[x]", NULL, NULL, "undefined" },
        { "nor behind another one", "p := false", "data.t.p; true", NULL, NULL, "undefined" },
    };
    ROWS(cases, NULL);
}
