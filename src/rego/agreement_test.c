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
        { "calls come before references in the values of with",
          CONFLICTS "true with input.a as bad with input.b as upper(input.u) }", "data.t.q", "{}", NULL, "undefined" },
        { "references of the values of with in their order", CONFLICTS "true with input.a as bad with input.b as input.u }",
          "data.t.q", "{}", NULL, RULE_CONFLICT },
        { "a rule is passed over by a scalar", CONFLICTS "fbad(1) == 2; input.d == 7 }", "data.t.q", "{}", NULL, "undefined" },
        { "or by an array of them", CONFLICTS "fbad(1) == 2; input.d == [7] }", "data.t.q", "{}", NULL, "undefined" },
        { "but not by a set", CONFLICTS "fbad(1) == 2; input.d == {7} }", "data.t.q", "{}", NULL, CALL_CONFLICT },
        { "and not by an array of arrays", CONFLICTS "fbad(1) == 2; input.d == [[7]] }", "data.t.q", "{}", NULL, CALL_CONFLICT },
        { "a template is a call", CONFLICTS "x := [$\"{1}\", input.u, fbad(1)] }", "data.t.q", "{}", NULL, CALL_CONFLICT },
    };
    ROWS(cases, NULL);
}

#define FAILS_AT_TWO "f(x) := 1\nf(x) := 2 if x == 2\n"
#define TWO_CONFLICT "t.rego:3: eval_conflict_error: functions must not produce multiple outputs for same inputs"

TEST(answers_behind_the_first_one_may_fail, "")
{
    static const EngineCase cases[] = {
        { "where every rule gives the same constant the first one is enough",
          FAILS_AT_TWO "p := 1 if { some x in [1, 2]; f(x) }\np := 1 if input.k", "data.t.p", "{\"k\": 0}", NULL, "1" },
        { "where another constant may come it is not",
          FAILS_AT_TWO "p := 1 if { some x in [1, 2]; f(x) }\np := 2 if input.k < 0", "data.t.p", "{\"k\": 0}", NULL,
          TWO_CONFLICT },
        { "nor where it stands behind else", FAILS_AT_TWO "p := 1 if { some x in [1, 2]; f(x) } else := 2", "data.t.p", NULL,
          NULL, TWO_CONFLICT },
        { "nor in a function", FAILS_AT_TWO "g(y) := 1 if { some x in [y, 2]; f(x) }\ng(y) := 2 if y < 0", "data.t.g(1)", NULL,
          NULL, TWO_CONFLICT },
        { "rules that are passed over do not count",
          FAILS_AT_TWO "p := 1 if { input.k == 0; some x in [1, 2]; f(x) }\np := 2 if input.k == 1", "data.t.p", "{\"k\": 0}",
          NULL, "1" },
        { "nor is a rule behind the first answer evaluated then", FAILS_AT_TWO
          "p := 1 if input.k == 0\np := 1 if f(2) == 1\np := 2 if input.k == 1", "data.t.p", "{\"k\": 0}", NULL, "1" },
        { "a default does not count", FAILS_AT_TWO "default p := 2\np := 1 if { some x in [1, 2]; f(x) }", "data.t.p", NULL,
          NULL, "1" },
        { "all ways to an item of a set are gone", FAILS_AT_TWO "s contains 1 if { some x in [1, 2]; f(x) }\np if s[1]",
          "data.t.p", NULL, NULL, TWO_CONFLICT },
        { "no way to an item of another kind is gone", FAILS_AT_TWO "s contains [{x}, 1] if { some x in [1, 2]; f(x) }\n"
          "p if s[input.k]\nq if s[input.l]", "[{1 | data.t.p}, {1 | data.t.q}]",
          "{\"k\": \"a\", \"l\": [\"a\", 1]}", NULL, "[[],[]]" },
        { "and one of its kind is found", "s contains [{x}, 1] if some x in [1, 2]\np if s[[{2}, 1]]", "data.t.p", NULL, NULL,
          "true" },
        { "a comprehension on the way", "p := 1 if { some x in [1, 2]; {1: y | some y in numbers.range(1, x)} } else := 2",
          "data.t.p", NULL, NULL, "t.rego:2: eval_conflict_error: object keys must be unique" },
        { "a test of what a rule gives", "bad := 1\nbad := 2\np := 1 if { some x in [1, 2]; not is_two(x) } else := 2\n"
          "is_two(x) if { x == 2; bad == 1 }", "data.t.p", NULL, NULL, RULE_CONFLICT },
        { "nothing on the way can fail", "p := 1 if { some x in [1, 2]; x in input.xs; x > 0 } else := 2\n"
          "s contains 1 if { some x in [1, 2]; x in input.xs }\nq := [p, s[1]]", "data.t.q", "{\"xs\": [1, 2]}", NULL, "[1,1]" },
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
        { "it has no scope of its own", "p := x if { x := $\"{y}\"; y := 1 }", "data.t.p", NULL, NULL,
          "2:26 rego_compile_error: var y referenced above" },
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

TEST(operators_are_functions_that_with_replaces, "")
{
    static const EngineCase cases[] = {
        { "by a function", "f(a, b) := 7\np := x if { x := 1 < 2 with lt as f }", "data.t.p", NULL, NULL, "7" },
        { "by a value", "p := x if { x := 1 + 2 with plus as 9 }", "data.t.p", NULL, NULL, "9" },
        { "as an expression", "f(a, b) := true\np if { 2 < 1 with lt as f }", "data.t.p", NULL, NULL, "true" },
        { "another operator stays", "f(a, b) := true\np if { 2 < 1 with gt as f }", "data.t.p", NULL, NULL, "undefined" },
        { "a sign of two meanings is one function", "p := x if { x := {1} - {2} with minus as 9 }", "data.t.p", NULL, NULL, "9" },
        { "unification is none", "f(a, b) := true\np if { 1 = 2 with eq as f }", "data.t.p", NULL, NULL,
          "3:19 rego_compile_error: with keyword replacing built-in function: replacement of \"eq\" invalid" },
        { "nor is membership", "f(a, b) := true\np if { 1 in [2] with internal.member_2 as f }", "data.t.p", NULL, NULL,
          "3:22 rego_compile_error: with keyword replacing built-in function: replacement of internal function "
          "\"internal.member_2\" invalid" },
        { "what gives nothing is not replaced", "p if { 1 < 2 with print as 7 }", "data.t.p", NULL, NULL,
          "2:19 rego_compile_error: with keyword replacing built-in function: target must not be a void function" },
        { "and replaces nothing", "p if { count([]) == 2 with count as print }", "data.t.p", NULL, NULL,
          "2:37 rego_type_error: print gives nothing and replaces no function" },
    };
    ROWS(cases, NULL);
}

#define XS "{\"n\": 9, \"xs\": [1, 2, 3]}"
#define REPLACED(pattern, domain, value) "p contains v if { some " pattern " in " domain " with data.n as " value " }"

TEST(the_values_of_with_see_what_some_declares, "")
{
    static const EngineCase cases[] = {
        { "its key", REPLACED("k, v", "[4, data.n]", "data.xs[k]"), "data.t.p", NULL, XS, "[2,4]" },
        { "its value", REPLACED("v", "[0, 7]", "data.xs[v]"), "data.t.p", NULL, XS, "[0]" },
        { "inside a call", REPLACED("k, v", "[4, data.n]", "data.xs[k] + 1"), "data.t.p", NULL, XS, "[3,4]" },
        { "and not one around it", "p := [v | k := 9; v := [v | some k, v in [4, 5, 6, 7] with data.n as data.xs[k]]]",
          "data.t.p", NULL, XS, "[[4,5,6]]" },
        { "nor a rule", "k := 9\n" REPLACED("k, v", "[4, 5, 6, 7]", "data.xs[k]"), "data.t.p", NULL, XS, "[4,5,6]" },
        { "it does not bind them", REPLACED("k, v", "[4, 5]", "k"), "data.t.p", NULL, XS,
          "2:19 rego_unsafe_var_error: var k is unsafe" },
        { "inside a comprehension neither", REPLACED("k, v", "[4]", "[x | x := data.xs[k]]"), "data.t.p", NULL, XS,
          "2:19 rego_unsafe_var_error: var k is unsafe" },
        { "an index into a document of the domain is declared", REPLACED("v", "[4, data.n]", "data.xs[i]"), "data.t.p", NULL,
          XS, "[1,2,3,4]" },
        { "so it may not be declared before", "p if { i := 1; some v in [data.n] with data.n as data.xs[i] }", "data.t.p", NULL,
          XS, "2:16 rego_compile_error: var i assigned above" },
        { "nor behind", "p if { some v in [data.n] with data.n as data.xs[i]; i := 1 }", "data.t.p", NULL, XS,
          "2:54 rego_compile_error: var i declared above" },
        { "nor as an argument", "f(i) := v if { some v in [data.n] with data.n as data.xs[i] }", "data.t.f(1)", NULL, XS,
          "2:16 rego_compile_error: arg i redeclared" },
        { "and hides one around it", "p := [v | i := 1; some v in [w | some w in [data.n] with data.n as data.xs[i]]]",
          "data.t.p", NULL, XS, "[1,2,3]" },
        { "an index into another document is not", "p := v if { i := \"a\"; some v in [data.n] with data.n as input[i] }",
          "data.t.p", "{\"a\": 8}", XS, "8" },
        { "nor one that the domain has", "p contains v if { i := 1; some v in [i, data.n] with data.n as data.xs[i] }",
          "data.t.p", NULL, XS, "[1,2]" },
    };
    ROWS(cases, NULL);
}

TEST(an_unsafe_variable_is_refused_beside_a_comprehension, "")
{
    static const EngineCase cases[] = {
        { "of which others say that it has another type", "p contains e if { some e in [1]; [x, [3 | e]] == 2 }", "data.t.p",
          NULL, NULL, "2:34 rego_unsafe_var_error: var x is unsafe" },
        { "in the value of with", "p contains e if { some e in [1]; input == [3 | e] with input as x }", "data.t.p", NULL, NULL,
          "2:34 rego_unsafe_var_error: var x is unsafe" },
        { "a safe one is not", "p contains e if { some e in [\"a\"]; input[e] == [e | true] }", "data.t.p", "{\"a\": [\"a\"]}",
          NULL, "[\"a\"]" },
    };
    ROWS(cases, NULL);
}

TEST(rules_behind_an_answer_are_passed_over_where_all_write_the_same_constant, "")
{
    static const EngineOptions strict = { .strict = true };
    static const EngineCase cases[] = {
        { "in their heads", "p := 1 if true\np := 1 if upper(input.n)", "data.t.p", "{\"n\": 1}", NULL, "1" },
        { "a variable is none", "p := x if x := 1\np := 1 if upper(input.n)", "data.t.p", "{\"n\": 1}", NULL,
          "t.rego:3: eval_type_error: upper: operand 1 must be string but got number" },
        { "nor is what has one in it", "p := [x] if x := 1\np := [1] if upper(input.n)", "data.t.p", "{\"n\": 1}", NULL,
          "t.rego:3: eval_type_error: upper: operand 1 must be string but got number" },
    };
    ROWS(cases, &strict);
}

TEST(of_equal_keys_of_an_object_the_last_stays_by_what_they_are, "")
{
    static const EngineCase cases[] = {
        { "a reference behind a constant", "p := {\"c\": 5, input.s: 1}", "data.t.p", "{\"s\": \"c\"}", NULL, "{\"c\":1}" },
        { "in whatever order they are written", "p := {input.s: 1, \"c\": 5}", "data.t.p", "{\"s\": \"c\"}", NULL, "{\"c\":1}" },
        { "a reference behind a call", "p := {input.s: 1, lower(\"C\"): 2}", "data.t.p", "{\"s\": \"c\"}", NULL, "{\"c\":1}" },
        { "a call behind a template", "p := {lower(\"C\"): 2, $\"{input.s}\": 4}", "data.t.p", "{\"s\": \"c\"}", NULL,
          "{\"c\":2}" },
        { "a call behind a variable that was declared", "p := o if { x := \"c\"; o := {x: 1, lower(\"C\"): 2} }", "data.t.p",
          NULL, NULL, "{\"c\":2}" },
        { "a variable that was not, behind all", "p := o if { x = \"c\"; o := {x: 1, input.s: 2, lower(\"C\"): 3} }", "data.t.p",
          "{\"s\": \"c\"}", NULL, "{\"c\":1}" },
        { "an object has one value for a key", "p := [x.c, x] if x := {\"c\": 5, input.s: 1}", "data.t.p", "{\"s\": \"c\"}", NULL,
          "[1,{\"c\":1}]" },
    };
    ROWS(cases, NULL);
}

TEST(a_rule_that_replaces_a_function_is_evaluated_where_it_is_called, "")
{
    static const EngineCase cases[] = {
        { "in the documents that are seen there",
          "f(x) := 1\nr := input.x\np := y if { y := f(1) with f as r with input as {\"x\": 7} }",
          "data.t.p", "{\"x\": 3}", NULL, "7" },
        { "a builtin's too", "r := input.x\np := y if { y := count([1]) with count as r with input.x as 8 }", "data.t.p", "{}",
          NULL,
          "8" },
        { "never where nothing is called", "f(x) := 1\nr := input.x\np := y if { y := 2 with f as r }", "data.t.p", "{}", NULL,
          "2" },
        { "and the call is undefined where it is", "f(x) := 1\nr := input.x\np := y if { y := f(1) with f as r }", "data.t.p",
          "{}",
          NULL, "undefined" },
        { "an expression holds where the rule does", "f(x) := 1\nr := input.x\np if { f(1) with f as r }", "data.t.p",
          "{\"x\": false}", NULL, "undefined" },
        { "what lies at several rules", "f(x) := 1\nr.a := 1\nr.b := 2\np := y if { y := f(1) with f as r }", "data.t.p", NULL,
          NULL,
          "{\"a\":1,\"b\":2}" },
        { "with what the data has beside them", "f(x) := 1\nr.a := 1\np := y if { y := f(1) with f as r }", "data.t.p", NULL,
          "{\"t\": {\"r\": {\"c\": 6}}}", "{\"a\":1,\"c\":6}" },
        { "unless that was replaced itself", "f(x) := 1\nr := 2\np := y if { y := f(1) with f as r with data.t.r as 4 }",
          "data.t.p",
          NULL, NULL, "4" },
        { "it sees what replaces the function", "f(x) := 1\nr := f(2)\np := y if { y := f(1) with f as r }", "data.t.p", NULL,
          NULL,
          "t.rego:3: eval_cancel_error: rules and bodies called one another more than 2048 levels deep" },
    };
    ROWS(cases, NULL);
}

TEST(a_rule_without_a_body_is_taken_for_defined_by_templates, "")
{
    static const EngineCase cases[] = {
        { "an array", "r := [input.x]\np := $\"a{r}b\"", "data.t.p", "{}", NULL, "undefined" },
        { "by its full name", "r := [input.x]\np := $\"a{data.t.r}b\"", "data.t.p", "{}", NULL, "undefined" },
        { "an object with a call", "r := {\"a\": count(input.x)}\np := $\"a{r}b\"", "data.t.p", "{}", NULL, "undefined" },
        { "of other rules", "q := input.x\nr := [q]\np := $\"a{r}b\"", "data.t.p", "{}", NULL, "undefined" },
        { "where it is defined it is shown", "r := [input.x]\np := $\"a{r}b\"", "data.t.p", "{\"x\": 1}", NULL, "\"a[1]b\"" },
        { "a reference is no container", "r := input.x\np := $\"a{r}b\"", "data.t.p", "{}", NULL, "\"a<undefined>b\"" },
        { "nor is what lies in one", "r := [input.x]\np := $\"a{r[0]}b\"", "data.t.p", "{}", NULL, "\"a<undefined>b\"" },
        { "what goes through something is not closed", "r := [input.x[_]]\np := $\"a{r}b\"", "data.t.p", "{}", NULL,
          "\"a<undefined>b\"" },
        { "nor is a rule with a body", "r := [1] if input.x\np := $\"a{r}b\"", "data.t.p", "{}", NULL, "\"a<undefined>b\"" },
        { "nor are two", "r := [input.x] if true\nr := [input.x, 1]\np := $\"a{r}b\"", "data.t.p", "{}", NULL,
          "\"a<undefined>b\"" },
        { "a variable of that name is itself", "r := [input.x]\np := s if { r := 3; s := $\"a{r}b\" }", "data.t.p", "{}", NULL,
          "\"a3b\"" },
    };
    ROWS(cases, NULL);
}

TEST(of_numbers_that_are_equal_one_is_shown, "")
{
    static const EngineCase cases[] = {
        { "the first that a function gives", "f(x) := 100\nf(x) := input.x\np := f(1)", "data.t.p", "{\"x\": 1E2}", NULL, "100" },
        { "whichever that is", "f(x) := input.x\nf(x) := 100\np := f(1)", "data.t.p", "{\"x\": 1E2}", NULL, "1E2" },
        { "the first that a rule gives", "p := input.x\np := 100", "data.t.p", "{\"x\": 1E2}", NULL, "1E2" },
        { "the first key that rules give an object, whatever lies below it",
          "p[k].y := 1 if some k in [1]\np[1.0][k] := 2 if some k in [0]", "data.t.p", NULL, NULL,
          "{\"1\":{\"0\":2,\"y\":1}}" },
        { "the one that was looked up in a set", "s := {1.0}\np := s[1]", "data.t.p", NULL, NULL, "1" },
        { "and in a set of rules", "s contains 1.0\np := [count(s), s[1]]", "data.t.p", NULL, NULL, "[1,1]" },
    };
    ROWS(cases, NULL);
}

TEST(a_byte_that_is_no_utf8_is_a_character_of_its_own_for_patterns, "")
{
    static const EngineCase cases[] = {
        { "where a text has nothing else", "p := regex.replace(base64.decode(\"/+8=\"), \".\", \"x\")", "data.t.p", NULL, NULL,
          "\"xx\"" },
        { "before another character", "p := regex.replace(base64.decode(\"/0E=\"), \".\", \"x\")", "data.t.p", NULL, NULL,
          "\"xx\"" },
        { "as a byte that goes on with nothing", "p := count(regex.find_n(\"[^a]\", base64.decode(\"76A=\"), -1))", "data.t.p",
          NULL,
          NULL, "2" },
    };
    ROWS(cases, NULL);
}

TEST(in_a_query_what_equality_compares_has_to_be_defined, "")
{
    static const EngineCase cases[] = {
        { "where it is negated", "p := 1", "not input.x == 1", "{}", NULL, "undefined" },
        { "which it may be where it is", "p := 1", "not input.x == 1", "{\"x\": 2}", NULL, "true" },
        { "a comprehension of the query too", "p := 1", "[1 | not input.x == 1]", "{}", NULL, "[]" },
        { "in a rule it need not be", "p if not input.x == 1", "data.t.p", "{}", NULL, "true" },
    };
    ROWS(cases, NULL);
}

#define TWICE "{k: e | some k in input.xs; some e in [1, 2]}"

TEST(heads_and_sets_are_evaluated_in_the_order_of_others, "")
{
    static const char conflict[] = "t.rego:2: eval_conflict_error: object keys must be unique";
    static const EngineCase cases[] = {
        { "a call in a key comes before a comprehension", "p contains [" TWICE ", count(input.none)]", "data.t.p",
          "{\"xs\": [1]}",
          NULL, "[]" },
        { "and in a path", "p[[" TWICE ", count(input.none)]] := 1", "data.t.p", "{\"xs\": [1]}", NULL, "{}" },
        { "and in a value", "p := [" TWICE ", count(input.none)]", "data.t.p", "{\"xs\": [1]}", NULL, "undefined" },
        { "a reference that stands behind it does not", "p contains [" TWICE ", input.none]", "data.t.p", "{\"xs\": [1]}", NULL,
          conflict },
        { "references of a set are in the order of their keys", "p if { v = {input.none[2], data.t.r} }\nr := " TWICE, "data.t.p",
          "{\"xs\": [1]}", NULL, "t.rego:3: eval_conflict_error: object keys must be unique" },
        { "by the names that they stand for", "import input.none as a\np if { v = {a[2], r} }\nr := " TWICE, "data.t.p",
          "{\"xs\": [1]}", NULL, "t.rego:4: eval_conflict_error: object keys must be unique" },
        { "where an item is found, further rules are evaluated",
          "p contains \"x\"\np contains input.y if { some k in [1]; " TWICE " }", "data.t.p[\"x\"]", "{\"xs\": [1]}", NULL,
          "t.rego:3: eval_conflict_error: object keys must be unique" },
        { "key by key", "p if { v = {input.xs.none, input.xsa[x]} }\nx := " TWICE, "data.t.p", "{\"xs\": [1]}", NULL,
          "undefined" },
    };
    ROWS(cases, NULL);
}

#define UNEVALUATED "q := {1: e | some e in [1, 2]}\n"

TEST(a_comprehension_is_evaluated_where_it_may_be_equal, "")
{
    static const char conflict[] = "t.rego:3: eval_conflict_error: object keys must be unique";
    static const char input[] = "{\"s\": \"x\", \"xs\": [1], \"o\": {}, \"all\": [1, {}]}";
    static const EngineCase cases[] = {
        { "not beside a string", UNEVALUATED "p if { input.s == {1: e | some e in [1, 2]} }", "data.t.p", input, NULL,
          "undefined" },
        { "on whichever side", UNEVALUATED "p if { {1: e | some e in [1, 2]} == input.s }", "data.t.p", input, NULL,
          "undefined" },
        { "nor where it is unified", UNEVALUATED "p if { {1: e | some e in [1, 2]} = input.s }", "data.t.p", input, NULL,
          "undefined" },
        { "nor beside what is undefined", UNEVALUATED "p if { {1: e | some e in [1, 2]} == input.u }", "data.t.p", input, NULL,
          "undefined" },
        { "nor beside another container", UNEVALUATED "p if { input.xs == {1: e | some e in [1, 2]} }", "data.t.p", input, NULL,
          "undefined" },
        { "nor is one of a set", UNEVALUATED "p if { input.xs == {q | true} }", "data.t.p", input, NULL, "undefined" },
        { "nor one of an array", UNEVALUATED "p if { [q | true] == input.o }", "data.t.p", input, NULL, "undefined" },
        { "a variable", UNEVALUATED "p if { x := input.s; x == {1: e | some e in [1, 2]} }", "data.t.p", input, NULL,
          "undefined" },
        { "a call", UNEVALUATED "f(x) := input.s\np if { f(1) == {q | true} }", "data.t.p", input, NULL, "undefined" },
        { "which is negated", UNEVALUATED "p if { not input.s == {1: e | some e in [1, 2]} }", "data.t.p", input, NULL, "true" },
        { "beside an object it is", UNEVALUATED "p if { input.o == {1: e | some e in [1, 2]} }", "data.t.p", input, NULL,
          conflict },
        { "an array too", "p if { input.xs == [q | true] }\n" UNEVALUATED, "data.t.p", input, NULL, conflict },
        { "and where one of several is like it", UNEVALUATED "p if { input.all[_] == {1: e | some e in [1, 2]} }", "data.t.p",
          input, NULL, conflict },
        { "inside of an array always", UNEVALUATED "p if { [input.s] == [{1: e | some e in [1, 2]}] }", "data.t.p", input, NULL,
          conflict },
        { "equal ones are equal", "p := [x | some x in input.all; {k: 1 | some k, _ in input.o} == x]", "data.t.p", input, NULL,
          "[{}]" },
        { "arrays are", "p if { [x | some x in [1]] == input.xs }", "data.t.p", input, NULL, "true" },
        { "sets are", "q contains 1\np if { q == {x | some x in input.xs} }", "data.t.p", input, NULL, "true" },
        { "others are not", "p if { [x | some x in [2]] == input.xs }", "data.t.p", input, NULL, "undefined" },
    };
    ROWS(cases, NULL);
}

TEST(a_package_with_functions_is_gone_through_by_its_rules, "")
{
    static const EngineCase cases[] = {
        { "whatever the functions take and give", "r := 1\nf(x) := 2\ng(x, y) := 1\nw(x) if x > 1", "data.t[x]", NULL, NULL,
          "1" },
    };
    ROWS(cases, NULL);
}

TEST(keys_that_are_hard_to_tell_apart_are_kept, "")
{
    static const EngineCase cases[] = {
        { "where an object is gone through", "p contains k if { some k, _ in {w: 1 | some w in input} }", "data.t.p",
          "[-0.5, [], []]", NULL, "[-0.5,[]]" },
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
        { "the domain of every, in its body", "f(x) if { every _ in x { [1 | some _ in {x}] == [1, 1] } }", "data.t.f([1])",
          NULL, NULL,
          "undefined" },
        { "a variable around a comprehension, inside of it",
          "p := {1 | some e in input; [2 | 1 in {\"k\": e, \"a\": \"x\"}] == [2]}",
          "data.t.p", "[1]", NULL, "[1]" },
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
