#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/parser.h"
#include "rego/print.h"

static Arena arena;
static RegoErrors errors;

static void begin(void)
{
    arena_init(&arena, SIZE_MAX);
    rego_errors_init(&errors, &arena);
}

static void end(void)
{
    arena_deinit(&arena);
}

static Str first_error(void)
{
    return errors.count ? errors.items[0].text : STR("");
}

/* --- what is read ------------------------------------------------------------------------------------------------ */

TEST(a_query_is_read_as_the_calls_it_stands_for, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "input.x", "input.x" },
        { "x = 1", "x = 1" },
        { "x := 1", "assign(x, 1)" },
        { "x == 1; y", "equal(x, 1); y" },
        { "x\ny # and a comment\n", "x; y" },
        { "a + b * c", "plus(a, mul(b, c))" },
        { "a * b + c", "plus(mul(a, b), c)" },
        { "a - b - c", "minus(minus(a, b), c)" },
        { "a / (b / c)", "div(a, div(b, c))" },
        { "a | b & c", "or(a, and(b, c))" },
        { "a + 1 < b | c", "lt(plus(a, 1), or(b, c))" },
        { "a == b != c", "neq(equal(a, b), c)" },
        { "x % 2 == 0", "equal(rem(x, 2), 0)" },
        { "-x", "minus(0, x)" },
        { "-1", "-1" },
        { "- 1", "-1" },
        { "1 -1", "minus(1, 1)" },
        { "-.5", "-0.5" },
        { "1e3", "1e3" },
        { "123456789012345678901234567890", "123456789012345678901234567890" },
        { "x in xs", "internal.member_2(x, xs)" },
        { "k, v in xs", "internal.member_3(k, v, xs)" },
        { "x in xs in ys", "internal.member_2(internal.member_2(x, xs), ys)" },
        { "f(k, v in xs)", "f(k, internal.member_2(v, xs))" },
        { "f((k, v in xs))", "f(internal.member_3(k, v, xs))" },
        { "[k, v in xs]", "[k, internal.member_2(v, xs)]" },
        { "some x", "some x" },
        { "some x, y, z", "some x, y, z" },
        { "some x in xs", "some x in xs" },
        { "some k, v in xs", "some k, v in xs" },
        { "every x in xs { x > 1; x < 2 }", "every x in xs { gt(x, 1); lt(x, 2) }" },
        { "every k, v in xs { k == v }", "every k, v in xs { equal(k, v) }" },
        { "not x", "not x" },
        { "not x == 1", "not equal(x, 1)" },
        { "x with input as 1 with data.y as 2", "x with input as 1 with data.y as 2" },
        { "not x with input.y as z", "not x with input.y as z" },
        { "a[b].c[\"d\"][\"e f\"][0]", "a[b].c.d[\"e f\"][0]" },
        { "a.if.not[x]", "a[\"if\"][\"not\"][x]" },
        { "if.x == 1", "equal(if.x, 1)" },
        { "f(x).y[z]", "f(x).y[z]" },
        { "[1, 2][0]", "[1, 2][0]" },
        { "{\"a\": 1}.a", "{\"a\": 1}.a" },
        { "io.jwt.decode(x)", "io.jwt.decode(x)" },
        { "f()", "f()" },
        { "set()", "set()" },
        { "{}", "{}" },
        { "[]", "[]" },
        { "{1, 2,}", "{1, 2}" },
        { "[1, 2,]", "[1, 2]" },
        { "{\"a\": 1, \"b\": {\"c\": []},}", "{\"a\": 1, \"b\": {\"c\": []}}" },
        { "[, 1]", "[1]" },
        { "[x | y]", "[x | y]" },
        { "[x | y | z]", "[x | or(y, z)]" },
        { "[x | y, z]", "[or(x, y), z]" },
        { "{x | y}", "{x | y}" },
        { "{x | y, z}", "{or(x, y), z}" },
        { "{k: v | some k, v in xs}", "{k: v | some k, v in xs}" },
        { "{k: v | w, l: m}", "{k: or(v, w), l: m}" },
        { "[x + 1 | y]", "[or(plus(x, 1), y)]" },
        { "[x |\n y\n z]", "[x | y; z]" },
        { "`a\\n`", "\"a\\\\n\"" },
        { "\"\\u00e9\\ud83c\\udf68\\ud800\"", "\"\xc3\xa9\xf0\x9f\x8d\xa8\xef\xbf\xbd\"" },
        { "$\"a{x}b\"", "$\"a{x}b\"" },
        { "$\"{x + 1}{\"y\"}\"", "$\"{plus(x, 1)}{\"y\"}\"" },
        { "$`a\n{x}`", "$\"a\\n{x}\"" },
        { "$\"\\{x}\"", "$\"\\{x}\"" },
        { "$\"{$\"{a}\"}\"", "$\"{$\"{a}\"}\"" },
        { "contains(x, y)", "contains(x, y)" },
        { "_ = _", "_ = _" },
        { "null; true; false", "null; true; false" },
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        char storage[512];
        Buf buf = buf_on(storage, sizeof storage);
        RegoBody body = { 0 };
        Status status = rego_parse_query(&arena, str_of(cases[i].text), NULL, &body, &errors);
        EXPECT_STR(first_error(), STR(""));
        if (status == OK) rego_print_body(&buf, &body, REGO_PRINT_CALLS);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].want));
        rego_errors_truncate(&errors, 0);
    }
    end();
}

TEST(conditions_join_with_and_or_not, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "a and b", "a and b" },
        { "a or b and c or d", "a or b and c or d" },
        { "(a or b) and c", "(a or b) and c" },
        { "a and (b and c)", "a and (b and c)" },
        { "((a or b))", "a or b" },
        { "(a == b)", "equal(a, b)" },
        { "(a == b) and c", "equal(a, b) and c" },
        { "{ a; b } or c", "{ a; b } or c" },
        { "{ x := 1; x > 0 } and { y }", "{ assign(x, 1); gt(x, 0) } and { y }" },
        { "not a and not b", "not a and not b" },
        { "not { a; b }", "not { a; b }" },
        { "not (a or b)", "not (a or b)" },
        { "a or b with input as 1", "a or b with input as 1" },
        { "(a with input as 1) and b", "(a with input as 1) and b" },
        { "{a, b}", "{a, b}" },
        { "({a}) == b", "equal({a}, b)" },
        { "or(a, b) and and(c, d)", "or(a, b) and and(c, d)" },
    };
    begin();
    const RegoParseOptions options = { .keywords = REGO_KEYWORDS_CONDITION };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        char storage[512];
        Buf buf = buf_on(storage, sizeof storage);
        RegoBody body = { 0 };
        Status status = rego_parse_query(&arena, str_of(cases[i].text), &options, &body, &errors);
        EXPECT_STR(first_error(), STR(""));
        if (status == OK) rego_print_body(&buf, &body, REGO_PRINT_CALLS);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].want));
        rego_errors_truncate(&errors, 0);
    }
    end();
}

static void expect_rules(const char *text, bool v0, const char *want)
{
    char storage[2048];
    Buf buf = buf_on(storage, sizeof storage);
    RegoModule *module = NULL;
    Status status = rego_parse_module(&arena, str_of(text), &(RegoParseOptions){ .v0 = v0 }, &module, &errors);
    EXPECT_STR(first_error(), STR(""));
    for (uint32_t i = 0; status == OK && i < module->rule_count; i++) {
        if (i) buf_char(&buf, '\n');
        rego_print_rule(&buf, module->rules[i], REGO_PRINT_CALLS);
    }
    EXPECT_STR(buf_peek(&buf), str_of(want));
    rego_errors_truncate(&errors, 0);
}

TEST(rules_of_v1_are_read, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "package a\np := 1", "p := 1 if { true }" },
        { "package a\np = 1", "p = 1 if { true }" },
        { "package a\np if x", "p = true if { x }" },
        { "package a\np if { x; y }", "p = true if { x; y }" },
        { "package a\np if {\n\tx\n\ty\n}", "p = true if { x; y }" },
        { "package a\np if {\"a\": 1}.a == 1", "p = true if { equal({\"a\": 1}.a, 1) }" },
        { "package a\np contains 1", "p contains 1 if { true }" },
        { "package a\np contains x if x := 1", "p contains x if { assign(x, 1) }" },
        { "package a\np[x] := y if { x; y }", "p[x] := y if { x; y }" },
        { "package a\np[x] if x", "p[x] = true if { x }" },
        { "package a\np.q.r := 1", "p.q.r := 1 if { true }" },
        { "package a\np.q[x].r contains y if { x; y }", "p.q[x].r contains y if { x; y }" },
        { "package a\nf(x, _) := x", "f(x, _) := x if { true }" },
        { "package a\np.f(x) if x", "p.f(x) = true if { x }" },
        { "package a\ndefault p := 1", "default p := 1" },
        { "package a\ndefault f(_) := [x | x := 1]", "default f(_) := [x | assign(x, 1)]" },
        { "package a\np := 1 if x else := 2 if { y } else := 3",
          "p := 1 if { x } else := 2 if { y } else := 3 if { true }" },
        { "package a\np if x\nelse if y", "p = true if { x } else = true if { y }" },
        { "package a\np if { x } { y }", "p = true if { x }\np = true if { y }" },
        { "package a\np if x q if y", "p = true if { x }\nq = true if { y }" },
        { "package a\nif.x := 1", "if.x := 1 if { true }" },
        { "package a\ndefault.x := 1\ndefault default.y := 2", "default.x := 1 if { true }\ndefault default.y := 2" },
        { "package a\nimport future.keywords.and\np if a and b", "p = true if { a and b }" },
        { "package a\nimport rego.v2\np if not { a or b }", "p = true if { not { a or b } }" },
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        expect_rules(cases[i].text, /* v0= */ false, cases[i].want);
    }
    end();
}

TEST(rules_of_v0_are_read, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "package a\np { x }", "p = true if { x }" },
        { "package a\np[x] { x }", "p contains x if { x }" },
        { "package a\np[x]", "p contains x if { true }" },
        { "package a\np.q { x }", "p contains \"q\" if { x }" },
        { "package a\np[x] = y { x; y }", "p[x] = y if { x; y }" },
        { "package a\np = 1 { x } else = 2 { y }", "p = 1 if { x } else = 2 if { y }" },
        { "package a\nif = 1", "if = 1 if { true }" },
        { "package a\nin := 1 { every := 2; contains == every }", "in := 1 if { assign(every, 2); equal(contains, every) }" },
        { "package a\nimport future.keywords.if\np if x", "p = true if { x }" },
        { "package a\nimport future.keywords\np contains x if some x in xs", "p contains x if { some x in xs }" },
        { "package a\nimport future.keywords.every\np { every x in xs { x in xs } }",
          "p = true if { every x in xs { internal.member_2(x, xs) } }" },
        { "package a\nimport rego.v1\np if x", "p = true if { x }" },
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        expect_rules(cases[i].text, /* v0= */ true, cases[i].want);
    }
    end();
}

TEST(packages_and_imports_are_kept, "")
{
    begin();
    RegoModule *module = NULL;
    Status status = rego_parse_module(&arena, STR("package a.b[\"c-d\"]\nimport data.x.y as z\nimport input.if as w\n"
                                                  "import rego.v1 # why\n"), NULL, &module, &errors);
    EXPECT_STR(first_error(), STR(""));
    REQUIRE(status == OK);
    EXPECT_INT(module->package->count, 4);
    EXPECT_STR(value_text(module->package->items[3]->value), STR("c-d"));
    EXPECT_INT(module->import_count, 3);
    EXPECT_STR(module->imports[0].alias, STR("z"));
    EXPECT_INT(module->imports[2].alias.len, 0);
    EXPECT_INT(module->comment_count, 1);
    EXPECT_STR(module->comments[0].text, STR(" why"));
    EXPECT(module->is_v1);
    end();
}

TEST(a_v0_module_becomes_v1_by_its_import, "")
{
    begin();
    RegoModule *module = NULL;
    const RegoParseOptions options = { .v0 = true };
    REQUIRE(rego_parse_module(&arena, STR("package a\np { true }"), &options, &module, &errors) == OK);
    EXPECT(!module->is_v1);
    REQUIRE(rego_parse_module(&arena, STR("package a\nimport rego.v1\np if true"), &options, &module, &errors) == OK);
    EXPECT(module->is_v1);
    EXPECT_INT(rego_parse_module(&arena, STR("package a\nimport rego.v1\np { true }"), &options, &module, &errors),
               ERR_INVALID);
    EXPECT_STR(first_error(), STR("`if` keyword is required before rule body"));
    end();
}

/* --- places ------------------------------------------------------------------------------------------------------ */

TEST(nodes_know_their_place_and_text, "")
{
    begin();
    RegoModule *module = NULL;
    Str text = STR("package a\n\np contains x if {\n\tx := (input.y + 1) * 2\n}\n");
    REQUIRE(rego_parse_module(&arena, text, NULL, &module, &errors) == OK);
    const RegoRule *rule = module->rules[0];
    EXPECT_INT(rule->loc.row, 3);
    EXPECT_STR(rego_loc_text(text, rule->head.loc), STR("p contains x"));
    const RegoExpr *expr = rule->body.exprs[0];
    EXPECT_INT(expr->loc.row, 4);
    EXPECT_INT(expr->loc.col, 2);
    EXPECT_STR(rego_loc_text(text, expr->loc), STR("x := (input.y + 1) * 2"));
    const RegoTerm *product = expr->term->items[2];
    EXPECT_STR(rego_loc_text(text, product->loc), STR("(input.y + 1) * 2"));
    const RegoTerm *sum = product->items[1];
    EXPECT_STR(rego_loc_text(text, sum->loc), STR("(input.y + 1)"));
    EXPECT_INT(sum->loc.col, 8);
    EXPECT(sum->flags & REGO_TERM_PARENS);
    end();
}

TEST(wildcards_are_different_variables, "")
{
    begin();
    RegoBody body;
    REQUIRE(rego_parse_query(&arena, STR("f(_, _)"), NULL, &body, &errors) == OK);
    const RegoTerm *call = body.exprs[0]->term;
    EXPECT(rego_var_is_wildcard(call->items[1]->name));
    EXPECT(!str_is(call->items[1]->name, call->items[2]->name));
    end();
}

/* --- what is refused --------------------------------------------------------------------------------------------- */

TEST(mistakes_are_reported_with_their_place, "")
{
    static const struct { const char *text; uint32_t row, col; const char *want; } cases[] = {
        { "", 0, 0, "empty module" },
        { "# nothing\n", 0, 0, "empty module" },
        { "p := 1", 1, 1, "package expected" },
        { "package a\npackage b", 2, 1, "unexpected package" },
        { "package a\np := ", 2, 5, "unexpected eof token" },
        { "package a\np if {", 2, 6, "unexpected eof token" },
        { "package a\np if {}.x {", 2, 11, "unexpected eof token" },
        { "package a\np if { x y }", 2, 10, "unexpected identifier token: expected \\n or ; or }" },
        { "package a\np if { x; }", 2, 11, "unexpected } token" },
        { "package a\np if x if y", 2, 8, "unexpected if keyword" },
        { "package a\np { x }", 2, 1, "`if` keyword is required before rule body" },
        { "package a\nf(x) { x }", 2, 1, "`if` keyword is required before function body" },
        { "package a\np[x]", 2, 1, "`contains` keyword is required for partial set rules" },
        { "package a\np", 2, 1, "var cannot be used for rule name" },
        { "package a\n\"p\"", 2, 1, "string cannot be used for rule name" },
        { "package a\np / q := 1", 2, 1, "rule name conflicts with built-in function" },
        { "package a\np == 1", 2, 1, "rule name conflicts with built-in function" },
        { "package a\np := 1; q := 2", 2, 1, "multiple expressions cannot be used for rule head" },
        { "package a\nnot p", 2, 1, "negated expressions cannot be used for rule head" },
        { "package a\nsome x", 2, 1, "'some' declarations cannot be used for rule head" },
        { "package a\np = 1 with input as 2", 2, 1, "expressions using with keyword cannot be used for rule head" },
        { "package a\nf()", 2, 1, "rule argument list must take at least one argument" },
        { "package a\nevery := 1", 2, 1, "every keyword cannot be used for rule name" },
        { "package a\ndefault in := 1", 2, 9, "in keyword cannot be used for rule name" },
        { "package a\ndefault p[x] := y", 2, 1, "illegal default rule (value cannot contain var)" },
        { "package a\ndefault p := input", 2, 1, "illegal default rule (value cannot contain ref)" },
        { "package a\ndefault f(x, x) := 1", 2, 1, "illegal default rule (arguments cannot be repeated x)" },
        { "package a\ndefault f(1) := 1", 2, 1, "illegal default rule (arguments cannot contain number)" },
        { "package a\np[x] if x else := 1", 2, 11, "else keyword cannot be used on rules with variables in head" },
        { "package a\np contains x if x else if y", 2, 19, "else keyword cannot be used on multi-value rules" },
        { "package a\np if { x } else := 1 { y } { z }", 2, 28, "expected else keyword" },
        { "package a\nf(x) contains y if x", 2, 6, "unexpected contains keyword: the contains keyword can only be used with "
          "multi-value rule definitions (e.g., f(x) contains <VALUE> { ... })" },
        { "package a\nimport foo", 2, 8, "unexpected import path, must begin with one of: {data, future, input, rego}, got: "
          "foo" },
        { "package a\nimport data.if", 2, 13, "unexpected import path, must not end with a keyword, got: if (hint: import a "
          "different path or use an alias)" },
        { "package a\nimport data.x[y]", 2, 15, "unexpected var token: expecting string" },
        { "package a\nimport data.x as input", 2, 18, "unexpected import alias, must not be a reserved name, got: input" },
        { "package a\nimport rego.v3", 2, 8, "invalid import `rego.v3`, must be one of: `rego.v1`, `rego.v2`" },
        { "package a\nimport rego.v1 as x", 2, 19, "`rego` imports cannot be aliased" },
        { "package a\nimport future.x", 2, 8, "invalid import, must be `future.keywords`" },
        { "package a\nimport future.keywords.x", 2, 8, "unexpected keyword, must be one of [and contains every if in not or]" },
        { "package a[x]", 1, 11, "unexpected var token: expecting string" },
        { "package 1", 1, 9, "unexpected number token" },
        { "package a\np := 01", 2, 6, "unexpected number token: expected number without leading zero" },
        { "package a\np := 1e99999", 2, 6, "number too big" },
        { "package a\np := \"\\ud8\"", 2, 6, "illegal string literal: \"\\ud8\"" },
        { "package a\np := \"x", 2, 6, "non-terminated string" },
        { "package a\np := [1, 2", 2, 10, "unexpected eof token: expected \",\" or \"]\"" },
        { "package a\np := [1 2]", 2, 9, "unexpected number token: expected \",\" or \"]\"" },
        { "package a\np := {1 2}", 2, 9, "unexpected number token: non-terminated set" },
        { "package a\np := {1: 2 3}", 2, 12, "unexpected number token: non-terminated object" },
        { "package a\np := {1: 2, 3}", 2, 14, "unexpected } token: expected \":\"" },
        { "package a\np := (1", 2, 7, "non-terminated expression" },
        { "package a\np := [x | ]", 2, 11, "found empty body" },
        { "package a\np := a. b", 2, 8, "unexpected whitespace token: expected identifier" },
        { "package a\np := a.1", 2, 8, "unexpected number token: expected identifier" },
        { "package a\np := a[1", 2, 8, "unexpected eof token: expected ]" },
        { "package a\np := \"a\".b", 2, 6, "illegal ref (head cannot be string)" },
        { "package a\np if some x in", 2, 14, "unexpected eof token" },
        { "package a\np if some 1", 2, 11, "unexpected number token: expected var" },
        { "package a\np if some x > 1", 2, 15, "unexpected eof token: expected `x in xs` or `x, y in xs` expression" },
        { "package a\np if every x in xs", 2, 18, "unexpected eof token: missing body" },
        { "package a\np if every 1 in xs { x }", 2, 20, "unexpected { token: expected value to be a variable" },
        { "package a\np if not some x in xs", 2, 10, "unexpected some keyword: illegal negation of 'some'" },
        { "package a\np if x with 1 as 2", 2, 13, "unexpected number token: expected ident" },
        { "package a\np if x with input 2", 2, 19, "unexpected number token: expected as keyword" },
        { "package a\np := $\"{x := 1}\"", 2, 9, "unexpected assignment (':=') in template-string expression" },
        { "package a\np := $\"{not x}\"", 2, 9, "unexpected negation ('not') in template-string expression" },
        { "package a\np := $\"{x y}\"", 2, 11, "expected } to end template string expression" },
        { "package a\np if { x and y }", 2, 10, "unexpected identifier token: expected \\n or ; or } (hint: `import "
          "future.keywords.and` for `x and y` expressions)" },
        { "package a\nimport future.keywords.or\np if a or {}", 3, 12, "found empty body" },
        { "package a\nimport future.keywords.or\np if a or {1: 2}", 3, 11, "operand of `or` cannot begin with `{` unless the "
          "braces hold a body (hint: wrap the operand to keep the value: `({1: 2}) or ...`)" },
        { "package a\nimport future.keywords.or\np if a or print(1)", 3, 11, "operand of `or` cannot consist only of calls to "
          "`print` (hint: `print` produces no value and always succeeds, so the operand can never fail; move it out of the "
          "operand, or add an expression that can fail)" },
        { "package a\nimport future.keywords.or\np if a with input as 1 or b", 3, 8, "`with` modifier is not allowed on operand "
          "of `or` (hint: wrap the operand in `(...)` or `{...}` to scope it, or move `with` behind the `or` expression to "
          "apply it to the whole)" },
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        RegoModule *module;
        Status status = rego_parse_module(&arena, str_of(cases[i].text), NULL, &module, &errors);
        EXPECT_INT(status, ERR_INVALID);
        EXPECT_STR(first_error(), str_of(cases[i].want));
        if (errors.count) EXPECT_INT(errors.items[0].loc.row, cases[i].row);
        if (errors.count) EXPECT_INT(errors.items[0].loc.col, cases[i].col);
        rego_errors_truncate(&errors, 0);
    }
    end();
}

TEST(several_mistakes_are_reported_at_once, "")
{
    begin();
    RegoModule *module;
    Str text = STR("package a\n\np := [1\n\nq if { x y }\n\nok := 1\n\nr := )\n");
    EXPECT_INT(rego_parse_module(&arena, text, &(RegoParseOptions){ .file = STR("a.rego") }, &module, &errors), ERR_INVALID);
    REQUIRE(errors.count == 3);
    EXPECT_INT(errors.items[0].loc.row, 5);
    EXPECT_INT(errors.items[1].loc.row, 5);
    char storage[256];
    Buf buf = buf_on(storage, sizeof storage);
    rego_error_print(&buf, &errors.items[2]);
    EXPECT_STR(buf_peek(&buf), STR("a.rego:9: rego_parse_error: unexpected ) token"));
    end();
}

TEST(a_query_needs_a_separator_between_expressions, "")
{
    begin();
    RegoBody body;
    EXPECT_INT(rego_parse_query(&arena, STR("input.x input.y"), NULL, &body, &errors), ERR_INVALID);
    EXPECT_STR(first_error(), STR("unexpected identifier token: expected \\n or ; or eof"));
    rego_errors_truncate(&errors, 0);
    EXPECT_INT(rego_parse_query(&arena, STR(" # nothing"), NULL, &body, &errors), ERR_INVALID);
    EXPECT_STR(first_error(), STR("empty query"));
    rego_errors_truncate(&errors, 0);
    RegoTerm *term;
    EXPECT_INT(rego_parse_term(&arena, STR("1 2"), NULL, &term, &errors), ERR_INVALID);
    end();
}

TEST(text_that_is_no_text_is_refused, "")
{
    begin();
    RegoModule *module;
    EXPECT_INT(rego_parse_module(&arena, STR("package a\np := \"\xc3\xa9\xff\""), NULL, &module, &errors), ERR_INVALID);
    REQUIRE(errors.count == 1);
    EXPECT_STR(errors.items[0].text, STR("illegal utf-8 character"));
    EXPECT_INT(errors.items[0].loc.row, 2);
    EXPECT_INT(errors.items[0].loc.col, 8);
    EXPECT_INT(rego_parse_module(&arena, STR("package a\n\0"), NULL, &module, &errors), ERR_INVALID);
    EXPECT_STR(errors.items[1].text, STR("illegal null character"));
    end();
}

static bool is_count(Str name)
{
    return str_is(name, STR("count"));
}

TEST(a_builtin_cannot_be_a_rule_without_a_body, "")
{
    begin();
    RegoModule *module;
    const RegoParseOptions options = { .is_builtin = is_count };
    EXPECT_INT(rego_parse_module(&arena, STR("package a\nf(x)"), &options, &module, &errors), OK);
    EXPECT_INT(rego_parse_module(&arena, STR("package a\ncount(x)"), &options, &module, &errors), ERR_INVALID);
    EXPECT_STR(first_error(), STR("rule name conflicts with built-in function"));
    end();
}

/* --- bounds ------------------------------------------------------------------------------------------------------ */

/* NUL-terminated, so that it may be a part of another one. */
static Str repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    size_t size = strlen(head) + strlen(piece) * count + strlen(tail);
    Buf buf = buf_on(arena_alloc(&arena, size + 1), size);
    buf_text(&buf, head);
    for (size_t i = 0; i < count; i++) buf_text(&buf, piece);
    buf_text(&buf, tail);
    return buf_peek(&buf);
}

TEST(deep_nesting_is_refused_and_never_overflows, "")
{
    static const struct { const char *head, *piece; } cases[] = {
        { "", "[" }, { "", "(" }, { "", "{" }, { "", "{1: " }, { "", "f(" }, { "x", "[x" }, { "", "not {" }, { "", "[x | " },
        { "", "every x in xs {" }, { "", "$\"{" }, { "1", " + 1" }, { "a", " and a" }, { "a", " or (a" }, { "x", " in x" },
        { "", "{a and " }, { "", "-" },
    };
    begin();
    const RegoParseOptions options = { .keywords = REGO_KEYWORDS_CONDITION };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].piece);
        RegoBody body;
        Str text = repeated(cases[i].head, cases[i].piece, 100000, "");
        Status status = rego_parse_query(&arena, text, &options, &body, &errors);
        EXPECT(status == ERR_LIMIT || (status == ERR_INVALID && strcmp(cases[i].piece, "-") == 0));
        EXPECT(errors.count > 0);
        rego_errors_truncate(&errors, 0);
    }
    end();
}

TEST(nesting_below_the_limit_is_read, "")
{
    begin();
    RegoBody body;
    Str text = repeated("x := ", "[", REGO_DEPTH_MAX - 3, repeated("", "]", REGO_DEPTH_MAX - 3, "").ptr);
    EXPECT_INT(rego_parse_query(&arena, text, NULL, &body, &errors), OK);
    EXPECT_STR(first_error(), STR(""));
    end();
}

TEST(ambiguity_costs_no_exponential_time, "")
{
    begin();
    RegoBody body;
    Buf buf;
    buf_init(&buf, 1 << 20);
    for (int i = 0; i < 100; i++) buf_text(&buf, "[abcdefgh | ");
    buf_text(&buf, "x");
    for (int i = 0; i < 100; i++) buf_text(&buf, ", y]");
    EXPECT_INT(rego_parse_query(&arena, buf_peek(&buf), NULL, &body, &errors), OK);
    EXPECT_STR(first_error(), STR(""));
    buf_clear(&buf);
    for (int i = 0; i < 60; i++) buf_text(&buf, "{abcdefgh | ");
    buf_text(&buf, "x");
    for (int i = 0; i < 60; i++) buf_text(&buf, "}");
    Status status = rego_parse_query(&arena, buf_peek(&buf), &(RegoParseOptions){ .keywords = REGO_KEYWORDS_CONDITION }, &body,
                                     &errors);
    EXPECT(status == OK || status == ERR_LIMIT);
    buf_deinit(&buf);
    end();
}

TEST(a_text_too_large_is_refused, "")
{
    begin();
    RegoModule *module;
    char *text = malloc(REGO_TEXT_SIZE_MAX + 1);
    memset(text, ' ', REGO_TEXT_SIZE_MAX + 1);
    EXPECT_INT(rego_parse_module(&arena, (Str){ text, REGO_TEXT_SIZE_MAX + 1 }, NULL, &module, &errors), ERR_LIMIT);
    EXPECT(errors.count == 1 && str_starts(first_error(), STR("the text exceeds REGO_TEXT_SIZE_MAX")));
    free(text);
    end();
}

TEST(a_full_arena_is_a_refusal, "")
{
    begin();
    Str text = repeated("package a\np := [", "x + 1, ", 20000, "]");
    for (size_t size = 1 << 10; size < 1 << 24; size *= 2) {
        Arena small;
        arena_init(&small, size);
        RegoModule *module;
        Status status = rego_parse_module(&small, text, NULL, &module, &errors);
        EXPECT(status == ERR_LIMIT || (status == OK && size > text.len));
        arena_deinit(&small);
    }
    end();
}

TEST(repeated_heads_are_paid_for, "")
{
    begin();
    RegoModule *module;
    Str head = repeated("package a\nf(", "[1, 2, 3, 4, 5, 6, 7, 8, 9], ", 10000, "x) if { x } ");
    Str text = repeated(head.ptr, "{ x } ", 10000, "");
    EXPECT_INT(rego_parse_module(&arena, text, NULL, &module, &errors), ERR_LIMIT);
    end();
}
