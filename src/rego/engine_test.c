#include "rego/engine_test.h"

#include <string.h>

#include "base/buf.h"
#include "harness/test.h"
#include "value/json.h"

/* --- what the tests share ---------------------------------------------------------------------------------------- */

static Value json_of(Arena *arena, const char *text)
{
    Value value = rego_undefined();
    Error err;
    if (text) EXPECT_OK(json_parse(arena, str_of(text), &value, &err), &err);
    return value;
}

bool engine_open(Engine *engine, const char *module, const RegoCompileOptions *compile, const char *query,
                 const RegoQueryOptions *options)
{
    *engine = (Engine){ 0 };
    arena_init(&engine->arena, SIZE_MAX);
    rego_errors_init(&engine->errors, &engine->arena);
    const RegoModuleText text = { STR("t.rego"), module ? str_of(module) : (Str){ 0 } };
    return EXPECT(rego_compile(&text, module ? 1 : 0, value_null(), compile, &engine->policy, &engine->errors) == OK)
        && EXPECT(rego_query_prepare(engine->policy, str_of(query), options, &engine->query, &engine->errors) == OK);
}

void engine_close(Engine *engine)
{
    rego_query_free(engine->query);
    rego_policy_free(engine->policy);
    arena_deinit(&engine->arena);
}

Status engine_eval(Engine *engine, RegoEvalContext context)
{
    context.arena = &engine->arena;
    return rego_eval(engine->query, rego_undefined(), &context, &engine->result, &engine->error);
}

static Str errors_text(Arena *arena, const RegoErrors *errors)
{
    Buf buf;
    buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < errors->count; i++) {
        if (i) buf_text(&buf, "; ");
        buf_format(&buf, "%u:%u %s: ", errors->items[i].loc.row, errors->items[i].loc.col,
                   rego_error_code_name(errors->items[i].code));
        buf_str(&buf, errors->items[i].text);
    }
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static Str result_text(Arena *arena, const RegoResult *result)
{
    Value value = rego_result_value(result);
    if (!rego_is_defined(value)) return STR("undefined");
    Buf buf;
    Error err;
    buf_init(&buf, 1 << 20);
    EXPECT_OK(json_print(&buf, rego_value_to_json(arena, value), JSON_COMPACT, &err), &err);
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static Str query_answer(Arena *arena, const RegoPolicy *policy, const EngineCase *c, const EngineOptions *options,
                        RegoErrors *errors)
{
    const RegoQueryOptions query_options = { .capture = true };
    RegoQuery *query;
    if (rego_query_prepare(policy, str_of(c->query), &query_options, &query, errors)) return errors_text(arena, errors);
    RegoEvalContext context = { .arena = arena, .budget = options->budget, .strict = options->strict,
                                .now_ns = INT64_C(1700000000000000000), .tracer = options->tracer };
    RegoResult result;
    RegoEvalError error;
    Str text;
    if (rego_eval(query, json_of(arena, c->input), &context, &result, &error)) {
        char storage[1024];
        Buf buf = buf_on(storage, sizeof storage);
        rego_eval_error_print(&buf, &error);
        text = arena_copy(arena, buf_peek(&buf));
    } else {
        text = result_text(arena, &result);
    }
    rego_query_free(query);
    return text;
}

Str engine_answer(Arena *arena, const EngineCase *c, const EngineOptions *options)
{
    RegoModuleText module = { STR("t.rego"), { 0 } };
    if (c->module) module.text = arena_format(arena, "package t\n%s\n", c->module);
    RegoErrors errors;
    rego_errors_init(&errors, arena);
    RegoPolicy *policy;
    Value data = c->data ? json_of(arena, c->data) : value_null();
    if (rego_compile(&module, c->module ? 1 : 0, data, &options->compile, &policy, &errors)) {
        EXPECT(errors.count > 0);
        return errors_text(arena, &errors);
    }
    Str text = query_answer(arena, policy, c, options, &errors);
    rego_policy_free(policy);
    return text;
}

void engine_expect(const EngineCase *cases, size_t count, const EngineOptions *options)
{
    static const EngineOptions none;
    for (size_t i = 0; i < count; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        EXPECT_STR(engine_answer(&arena, &cases[i], options ? options : &none), str_of(cases[i].want));
        arena_deinit(&arena);
    }
}

#define EXPECT_CASES(cases, options) engine_expect(cases, sizeof cases / sizeof *cases, options)

/* --- rules ------------------------------------------------------------------------------------------------------- */

TEST(rules_define_documents, "")
{
    static const EngineCase cases[] = {
        { "a complete rule", "p := 1", "data.t.p", NULL, NULL, "1" },
        { "a rule that does not hold", "p := 1 if false", "data.t.p", NULL, NULL, "undefined" },
        { "its default", "default p := 2\np := 1 if false", "data.t.p", NULL, NULL, "2" },
        { "the first branch that holds", "p := 1 if false\nelse := 2 if true\nelse := 3", "data.t.p", NULL, NULL, "2" },
        { "a set", "p contains x if some x in [3, 1, 3]", "data.t.p", NULL, NULL, "[1,3]" },
        { "an empty set is defined", "p contains 1 if false", "data.t.p", NULL, NULL, "[]" },
        { "an object", "p[x] := y if some x, y in {\"a\": 1, \"b\": 2}", "data.t.p", NULL, NULL, "{\"a\":1,\"b\":2}" },
        { "rules below one another", "p.a.b := 1\np.c contains 2", "data.t.p", NULL, NULL, "{\"a\":{\"b\":1},\"c\":[2]}" },
        { "computed and static keys", "p[x].v := 1 if some x in [\"a\"]\np.b := 2", "data.t.p", NULL, NULL,
          "{\"a\":{\"v\":1},\"b\":2}" },
        { "a lookup by a known key", "p[x] := y if some x, y in {\"a\": 1, \"b\": 2}", "data.t.p.b", NULL, NULL, "2" },
        { "a lookup that misses", "p[x] := y if some x, y in {\"a\": 1}", "data.t.p.c", NULL, NULL, "undefined" },
        { "an item of a set", "p contains x if some x in [1, 2]", "data.t.p[2]", NULL, NULL, "2" },
        { "no item of a set", "p contains x if some x in [1, 2]", "data.t.p[3]", NULL, NULL, "undefined" },
        { "a function", "f(x) := x * 2", "data.t.f(4)", NULL, NULL, "8" },
        { "a function of a pattern", "f([x, {\"a\": y}]) := x + y", "data.t.f([1, {\"a\": 2}])", NULL, NULL, "3" },
        { "its default for other arguments", "default f(_) := 0\nf(1) := 5", "[data.t.f(1), data.t.f(2)]", NULL, NULL,
          "[5,0]" },
        { "the package as a document", "p := 1\nq contains 2\nf(x) := x", "data.t", NULL, NULL, "{\"p\":1,\"q\":[2]}" },
        { "base data beside rules", "p := 1", "data.t", NULL, "{\"t\": {\"b\": 2}}", "{\"b\":2,\"p\":1}" },
        { "base data by a computed key", "p contains k if data.a[k].v", "data.t.p", NULL,
          "{\"a\": {\"x\": {\"v\": 1}, \"y\": {\"v\": false}, \"z\": {}}}", "[\"x\"]" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ 0 });
}

TEST(conflicts_end_the_evaluation, "")
{
    static const EngineCase cases[] = {
        { "two values of a rule", "p := 1\np := 2", "data.t.p", NULL, NULL,
          "t.rego:3: eval_conflict_error: complete rules must not produce multiple outputs" },
        { "two values of one rule", "p := x if some x in [1, 2]", "data.t.p", NULL, NULL,
          "t.rego:2: eval_conflict_error: complete rules must not produce multiple outputs" },
        { "equal values are none", "p := 1\np := 1.0", "data.t.p", NULL, NULL, "1" },
        { "two values of a function", "f(x) := 1\nf(x) := 2 if x > 1", "data.t.f(2)", NULL, NULL,
          "t.rego:3: eval_conflict_error: functions must not produce multiple outputs for same inputs" },
        { "two values of a key", "p[\"a\"] := x if some x in [1, 2]\np[y] := 3 if y := \"b\"", "data.t.p", NULL, NULL,
          "t.rego:2: eval_conflict_error: object keys must be unique" },
        { "in a comprehension", "p := {\"a\": x | some x in [1, 2]}", "data.t.p", NULL, NULL,
          "t.rego:2: eval_conflict_error: object keys must be unique" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ 0 });
}

/* --- expressions ------------------------------------------------------------------------------------------------- */

TEST(bodies_are_searched_for_all_answers, "")
{
    static const EngineCase cases[] = {
        { "nested loops", "p := [[x, y] | some x in [1, 2]; some y in [\"a\", \"b\"]]", "data.t.p", NULL, NULL,
          "[[1,\"a\"],[1,\"b\"],[2,\"a\"],[2,\"b\"]]" },
        { "a join by a shared variable", "p contains i if input.a[i] == input.b[i]", "data.t.p",
          "{\"a\": [1, 2, 3], \"b\": [1, 5, 3]}", NULL, "[0,2]" },
        { "expressions out of order", "p := y if { y = x + 1; x = 3 }", "data.t.p", NULL, NULL, "4" },
        { "unifying containers from both sides", "p := [x, y, z] if [x, [y, 3]] = [1, [2, z]]", "data.t.p", NULL, NULL,
          "[1,2,3]" },
        { "a pattern with a repeated variable", "p contains x if { some y in [[1, 1], [1, 2]]; [x, x] = y }", "data.t.p", NULL,
          NULL, "[1]" },
        { "the same in a declaration", "p contains x if some [x, x] in [[1, 1], [1, 2]]", "data.t.p", NULL, NULL, "[1]" },
        { "a set inside a loop", "p := [x | x := {3, 1}[_]]", "data.t.p", NULL, NULL, "[1,3]" },
        { "negation", "p if not input.x", "data.t.p", "{\"x\": false}", NULL, "true" },
        { "what is taken out of a negation has to be defined", "p if not count(input.x) == 1", "data.t.p", "{}", NULL,
          "undefined" },
        { "every", "p if every x in input { x > 0 }", "data.t.p", "[1, 2]", NULL, "true" },
        { "every of nothing", "p if every x in input { x > 9 }", "data.t.p", "[]", NULL, "true" },
        { "every of what is no collection", "p if every x in input.a { x > 0 }", "data.t.p", "{\"a\": 1}", NULL,
          "undefined" },
        { "a closure sees the variables around", "p := [[y | y := x + z] | some x in [1, 2]] if z := 10", "data.t.p", NULL,
          NULL, "[[11],[12]]" },
        { "a name shadows a rule", "x := 1\np := x if x := 2\nq := [x | true]", "[data.t.p, data.t.q]", NULL, NULL,
          "[2,[1]]" },
        { "a relation", "p contains v if walk({\"a\": [7]}, [[\"a\", _], v])", "data.t.p", NULL, NULL, "[7]" },
        { "a template with a hole", "p := $\"{1 + 1} {input.x}\"", "data.t.p", "{}", NULL, "\"2 <undefined>\"" },
        { "a failing builtin is undefined", "p := to_number(\"x\")\nq := \"fine\"", "data.t", NULL, NULL,
          "{\"q\":\"fine\"}" },
        { "a number addresses a member of base data", NULL, "data.a[2]", NULL, "{\"a\": {\"2\": \"two\"}}", "\"two\"" },
        { "a query of one constant may be false", NULL, "1 == 2", NULL, NULL, "false" },
        { "a query of several expressions may not", NULL, "x := 1; x == 2", NULL, NULL, "undefined" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ 0 });
}

TEST(with_replaces_documents_and_functions, "")
{
    static const EngineCase cases[] = {
        { "the input", "q := input.x\np := y if y := q with input as {\"x\": 1}", "[data.t.p, data.t.q]", "{\"x\": 9}", NULL,
          "[1,9]" },
        { "a part of the input", "q := input\np := y if y := q with input.a.b as 1", "data.t.p", "{\"a\": {\"c\": 2}}", NULL,
          "{\"a\":{\"b\":1,\"c\":2}}" },
        { "base data", "p := z if z := data.x with data.x.y as 1", "data.t.p", NULL, "{\"x\": {\"z\": 2}}", "{\"y\":1,\"z\":2}" },
        { "a rule", "q := 1\nr := q\np := y if y := r with data.t.q as 5", "data.t.p", NULL, NULL, "5" },
        { "a builtin by a value", "p := y if y := count([1]) with count as 7", "data.t.p", NULL, NULL, "7" },
        { "a builtin by a function, which sees the builtin", "f(x) := count(x) + 100\ng(x) := count(x)\n"
          "p := y if y := g([1]) with count as f", "data.t.p", NULL, NULL, "101" },
        { "a function by a value", "f(x) := x\np := [y | some x in [1, 2]; y := f(x) with f as 3]", "data.t.p", NULL, NULL,
          "[3,3]" },
        { "a rule, by a document of another type", "q := {\"a\": 1}\np := y if y := q.b with data.t.q as {\"b\": 2}",
          "data.t.p", NULL, NULL, "2" },
        { "each value of a loop", "q := input * 10\np := [y | some x in [1, 2]; y := q with input as x]", "data.t.p", NULL,
          NULL, "[10,20]" },
        { "not a part of a rule's document", "q := {\"a\": 1}\np if q with data.t.q.a as 1", "data.t.p", NULL, NULL,
          "3:13 rego_compile_error: with keyword cannot partially replace virtual document(s)" },
        { "nothing else", "p if true with foo as 1", "data.t.p", NULL, NULL,
          "2:16 rego_type_error: with keyword target must reference existing input, data, or a function" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ 0 });
}

/* --- refusals of the compiler ------------------------------------------------------------------------------------ */

TEST(mistakes_are_found_before_an_evaluation, "")
{
    static const EngineCase cases[] = {
        { "a variable that nothing binds", "p if x == 1", "1", NULL, NULL, "2:6 rego_unsafe_var_error: var x is unsafe" },
        { "the cause, not what follows from it", "p if {\n\ta := b\n\tc := a\n\tc > 1\n}", "1", NULL, NULL,
          "3:2 rego_unsafe_var_error: var b is unsafe" },
        { "in a head", "p := x if true", "1", NULL, NULL, "2:6 rego_unsafe_var_error: var x is unsafe" },
        { "under a negation", "p if not input.x[_] == 1", "1", NULL, NULL, "2:6 rego_unsafe_var_error: var _ is unsafe" },
        { "in a query", NULL, "x > 1", NULL, NULL, "1:1 rego_unsafe_var_error: var x is unsafe" },
        { "a name declared twice", "p if { x := 1; x := 2 }", "1", NULL, NULL,
          "2:16 rego_compile_error: var x assigned above" },
        { "a name used before", "p if { x = 1; x := 2 }", "1", NULL, NULL,
          "2:15 rego_compile_error: var x referenced above" },
        { "an argument declared again", "f(x) if { x := 1 }", "1", NULL, NULL, "2:11 rego_compile_error: arg x redeclared" },
        { "a declaration without a use", "p if { some x; true }", "1", NULL, NULL,
          "2:8 rego_compile_error: declared var x unused" },
        { "no place to assign to", "p if { 1 := 2 }", "1", NULL, NULL, "2:8 rego_compile_error: cannot assign to number" },
        { "an unknown function", "p if nosuch.f(1)", "1", NULL, NULL, "2:6 rego_type_error: undefined function nosuch.f" },
        { "a rule called like a function", "f := 1\np := f(2)", "1", NULL, NULL,
          "3:6 rego_type_error: function data.t.f has arity 0, got 1 argument" },
        { "an operator whose name a rule has", "gt contains 1\np if 2 > 1", "1", NULL, NULL,
          "3:6 rego_type_error: function data.t.gt has arity 0, got 2 arguments" },
        { "an operator whose name a package has", "minus.x := 1\np := 2 - 1", "1", NULL, NULL,
          "3:6 rego_type_error: undefined function data.t.minus" },
        { "a wrong number of arguments", "f(x) := x\np := f(1, 2)", "1", NULL, NULL,
          "3:6 rego_type_error: function data.t.f has arity 1, got 2 arguments" },
        { "a function as a value", "f(x) := x\np := f", "1", NULL, NULL,
          "3:6 rego_type_error: function data.t.f used as reference, not called\n\tdata.t.f\n\t^^^^^^^^\n\thave: (any) => any" },
        { "recursion", "p := q\nq := p", "1", NULL, NULL,
          "2:1 rego_recursion_error: rule data.t.p is recursive: data.t.p -> data.t.q -> data.t.p; "
          "3:1 rego_recursion_error: rule data.t.q is recursive: data.t.q -> data.t.p -> data.t.q" },
        { "different kinds of one rule", "p := 1\np contains 2", "1", NULL, NULL,
          "2:1 rego_type_error: conflicting rules data.t.p found" },
        { "a rule below a whole value", "p := 1\np.q := 2", "1", NULL, NULL,
          "2:1 rego_type_error: rule data.t.p conflicts with:\n  rule data.t.p.q at t.rego:3" },
        { "two defaults", "default p := 1\ndefault p := 2", "1", NULL, NULL,
          "1:1 rego_type_error: multiple default rules data.t.p found at t.rego:2, t.rego:3" },
        { "an argument of a wrong type", "p := upper(1)", "1", NULL, NULL,
          "2:6 rego_type_error: upper: invalid argument(s)\n\thave: (number, ??" "?)\n\twant: (x: string, y: string)" },
        { "in an expression of several steps", "p := upper(x) if x := count([1])", "1", NULL, NULL,
          "2:6 rego_type_error: upper: invalid argument(s)\n\thave: (number, ??" "?)\n\twant: (x: string, y: string)" },
        { "values that never match", "p if 1 = \"a\"", "1", NULL, NULL,
          "2:6 rego_type_error: match error\n\tleft  : number\n\tright : string" },
        { "a member that no rule gives", "a := {\"x\": 1}\np := a.y", "1", NULL, NULL,
          "3:6 rego_type_error: undefined ref: data.t.a.y\n\tdata.t.a.y\n\t         ^\n\t         have: \"y\"\n"
          "\t         want (one of): [\"x\"]" },
        { "the network", "p := http.send({})", "1", NULL, NULL,
          "2:6 rego_compile_error: http.send needs the network, which this policy may not use" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ 0 });
}

TEST(strict_mode_refuses_what_is_of_no_use, "")
{
    static const EngineCase cases[] = {
        { "an unused assignment", "p if { x := 1 }", "1", NULL, NULL, "2:8 rego_compile_error: assigned var x unused" },
        { "an unused import", "import data.foo", "1", NULL, NULL, "2:1 rego_compile_error: import data.foo unused" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ .compile = { .strict = true } });
    static const EngineCase lax[] = {
        { "which are fine otherwise", "import data.foo\np if { x := 1 }", "data.t.p", NULL, NULL, "true" },
    };
    EXPECT_CASES(lax, &(EngineOptions){ 0 });
}

TEST(base_data_under_a_rule_is_refused_on_request, "")
{
    static const EngineCase cases[] = {
        { "refused", "p.q := 1", "1", NULL, "{\"t\": {\"p\": {\"q\": 2}}}",
          "2:1 rego_compile_error: conflicting rule for data path t/p/q found" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ .compile = { .check_data = true } });
}

/* --- errors, budgets, traces of an evaluation -------------------------------------------------------------------- */

TEST(strict_evaluation_reports_failing_builtins, "")
{
    static const EngineCase cases[] = {
        { "a value it cannot take", "p := 1 / 0", "data.t.p", NULL, NULL,
          "t.rego:2: eval_builtin_error: div: divide by zero" },
        { "an operand of a wrong type", "p := count(input.x)", "data.t.p", "{\"x\": 1}", NULL,
          "t.rego:2: eval_type_error: count: operand 1 must be one of {array, object, set, string} but got number" },
    };
    EXPECT_CASES(cases, &(EngineOptions){ .strict = true });
}

TEST(budgets_end_hostile_policies, "")
{
    static const EngineCase loops[] = {
        { "an exponential comprehension",
          "xs := numbers.range(1, 100)\n"
          "p := [1 | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; [a, b, c, d, e]]",
          "data.t.p", NULL, NULL, "t.rego:3: eval_cancel_error: the evaluation took more than 1000000 steps" },
    };
    EXPECT_CASES(loops, &(EngineOptions){ .budget = { .step_count_max = 1000000 } });
    static const EngineCase ranges[] = {
        { "a huge range", "p := numbers.range(1, 10000000)", "data.t.p", NULL, NULL,
          "t.rego:2: eval_cancel_error: the evaluation took more than 1048576 bytes of memory" },
        { "a set that grows", "xs := numbers.range(1, 1000)\np contains [a, b] if { some a in xs; some b in xs }",
          "data.t.p", NULL, NULL, "t.rego:3: eval_cancel_error: the evaluation took more than 1048576 bytes of memory" },
    };
    EXPECT_CASES(ranges, &(EngineOptions){ .budget = { .size_max = 1 << 20 } });
}

TEST(values_that_share_parts_are_charged_for_their_size, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf module;
    buf_init(&module, 1 << 20);
    buf_text(&module, "p := x60 if {\n\tx0 := input\n");
    for (int i = 0; i < 60; i++) buf_format(&module, "\tx%d := [x%d, x%d]\n", i + 1, i, i);
    buf_text(&module, "}\nq if p == data.t.p\n");
    buf_char(&module, 0);
    const EngineOptions options = { .budget = { .step_count_max = 1000000 } };
    const EngineCase printed = { "", module.ptr, "data.t.p", "1", NULL, "" };
    EXPECT_STR(engine_answer(&arena, &printed, &options),
               STR("eval_cancel_error: the evaluation took more than 1000000 steps"));
    const EngineCase compared = { "", module.ptr, "data.t.q", "1", NULL, "" };
    EXPECT_STR(engine_answer(&arena, &compared, &options),
               STR("t.rego:65: eval_cancel_error: the evaluation took more than 1000000 steps"));
    buf_clear(&module);
    buf_text(&module, "p := x3000 if {\n\tx0 := input\n");
    for (int i = 0; i < 3000; i++) buf_format(&module, "\tx%d := [x%d]\n", i + 1, i);
    buf_text(&module, "}\n");
    buf_char(&module, 0);
    const EngineCase high = { "", module.ptr, "data.t.p", "1", NULL, "" };
    Str refused = engine_answer(&arena, &high, &options);
    EXPECT(str_ends(refused, STR("this value may have more than REGO_HEIGHT_MAX (2048) containers inside one another")));
    buf_deinit(&module);
    arena_deinit(&arena);
}

TEST(depth_is_bounded, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf module;
    buf_init(&module, 1 << 20);
    for (int i = 0; i < 3000; i++) buf_format(&module, "f%d(x) := y if { y := f%d(x) }\n", i, i + 1);
    buf_text(&module, "f3000(x) := x\n");
    buf_char(&module, 0);
    const EngineCase deep = { "", module.ptr, "data.t.f0(1)", NULL, NULL, "" };
    EXPECT_STR(engine_answer(&arena, &deep, &(EngineOptions){ 0 }),
               STR("t.rego:2049: eval_cancel_error: rules and bodies called one another more than 2048 levels deep"));
    const EngineCase shallow = { "", module.ptr, "data.t.f2000(1)", NULL, NULL, "" };
    EXPECT_STR(engine_answer(&arena, &shallow, &(EngineOptions){ 0 }), STR("1"));
    const EngineCase narrow = { "", module.ptr, "data.t.f2990(1)", NULL, NULL, "" };
    EXPECT_STR(engine_answer(&arena, &narrow, &(EngineOptions){ .budget = { .depth_max = 5 } }),
               STR("t.rego:2996: eval_cancel_error: rules and bodies called one another more than 5 levels deep"));
    buf_deinit(&module);
    arena_deinit(&arena);
}

TEST(a_raised_stop_flag_ends_the_evaluation, "")
{
    Engine engine;
    const char *query = "xs := numbers.range(1, 10000); count([1 | some a in xs; some b in xs; a > b])";
    if (engine_open(&engine, NULL, NULL, query, NULL)) {
        atomic_bool stop = true;
        engine.result.count = 77;
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .stop = &stop }), ERR_LIMIT);
        EXPECT_INT(engine.error.code, REGO_EVAL_CANCEL);
        EXPECT_INT(engine.result.count, 77);            /* nothing of a failed evaluation leaks */
    }
    engine_close(&engine);
}

static void count_event(void *context, const RegoTraceEvent *event)
{
    uint32_t *counts = context;
    counts[event->kind]++;
    if (event->kind == REGO_TRACE_NOTE) EXPECT_STR(event->message, STR("x is 1 <undefined>"));
}

TEST(an_instrumented_policy_tells_what_it_does, "")
{
    uint32_t counts[REGO_TRACE_COUNT] = { 0 };
    const RegoTracer tracer = { count_event, counts };
    static const EngineCase cases[] = {
        { "two tries, one note", "p if { some x in [0, 1]; x > 0; print(\"x is\", x, input.y) }", "data.t.p", NULL, NULL,
          "true" },
    };
    EXPECT_CASES(cases, (&(EngineOptions){ .compile = { .instrument = true, .keep_print = true }, .tracer = &tracer }));
    EXPECT_INT(counts[REGO_TRACE_ENTER], 3);        /* the query, p, and what print() asks for input.y */
    EXPECT_INT(counts[REGO_TRACE_INDEX], 1);
    EXPECT_INT(counts[REGO_TRACE_EXIT], 2);
    EXPECT_INT(counts[REGO_TRACE_FAIL], 2);         /* x > 0 for the first item, and input.y */
    EXPECT_INT(counts[REGO_TRACE_REDO], 7);
    EXPECT_INT(counts[REGO_TRACE_NOTE], 1);
}

/* A clock that goes on by a microsecond each time it is read. */
static uint64_t tick(void *context)
{
    uint64_t *now_ns = context;
    return *now_ns += 1000;
}

TEST(a_profile_counts_and_times_each_expression, "")
{
    Engine engine;
    const RegoCompileOptions options = { .instrument = true };
    const char *module = "package t\n\np if {\n\tsome x in [1, 2, 3]\n\tx > 2\n}\n\nq if false\n";
    enum { PLACE_COUNT = 5 };                       /* two heads, three expressions */
    uint64_t now_ns = 0, timed_ns = 0;
    RegoPlaceStats stats[PLACE_COUNT] = { 0 }, query_stats[8] = { 0 };
    const RegoProfile profile = { .stats = stats, .query_stats = query_stats, .clock_ns = tick, .context = &now_ns };
    if (engine_open(&engine, module, &options, "data.t", NULL) && EXPECT_INT(rego_place_count(engine.policy), PLACE_COUNT)
        && EXPECT(rego_query_place_count(engine.query) <= 8)) {
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .profile = &profile }), OK);
        for (uint32_t i = 0; i < PLACE_COUNT; i++) {
            const RegoPlace *place = rego_place(engine.policy, i);
            bool is_body_of_q = place->loc.row == 8 && place->loc.col > 1;
            uint64_t want = place->loc.row == 5 ? 3 : place->loc.row == 3 || place->loc.row == 4 || is_body_of_q ? 1 : 0;
            EXPECT_INT(stats[i].eval_count, want);
            EXPECT_INT(stats[i].redo_count, place->loc.row == 4 ? 3 : place->loc.row == 5 ? 1 : 0);
            timed_ns += stats[i].time_ns;
        }
        for (uint32_t i = 0; i < rego_query_place_count(engine.query); i++) timed_ns += query_stats[i].time_ns;
        EXPECT_INT(timed_ns, now_ns - 1000);        /* from the first reading to the last one */
    }
    engine_close(&engine);
}

static void print_event(void *context, const RegoTraceEvent *event)
{
    static const char *const names[] = { "Enter", "Eval", "Fail", "Redo", "Exit", "Index", "Note" };
    Buf *out = context;
    for (uint32_t i = 0; i < event->depth; i++) buf_text(out, "| ");
    buf_format(out, "%s ", names[event->kind]);
    if (event->place && event->place->kind == REGO_PLACE_RULE) buf_str(out, event->place->name);
    else if (event->place) rego_node_print(out, event->place->node);
    if (event->message.len) buf_format(out, " %.*s", STR_ARG(event->message));
    for (const RegoLocal *local = event->locals; local; local = local->before)
        if (event->values[local->slot].kind == VALUE_INT)
            buf_format(out, " %.*s:%lld", STR_ARG(local->name), (long long)event->values[local->slot].integer);
    buf_char(out, '\n');
}

TEST(a_trace_goes_into_rules_and_back_out_of_them, "")
{
    Engine engine;
    const RegoCompileOptions options = { .instrument = true };
    const char *module = "package t\n\np if {\n\tsome x in [1, 2]\n\tf(x) > 3\n\tnot x == 7\n\ttrace(\"seen\")\n}\n\n"
                         "f(x) := x * 2\n";
    Buf out;
    buf_init(&out, 1 << 16);
    const RegoTracer tracer = { print_event, &out };
    if (engine_open(&engine, module, &options, "data.t.p", &(RegoQueryOptions){ .capture = true })) {
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .tracer = &tracer }), OK);
        EXPECT_STR(buf_peek(&out),
                   STR("| Enter data.t.p = _\n"
                       "| Eval data.t.p = _\n"
                       "| Index data.t.p = _ (matched 1 rule, early exit)\n"
                       "| | Enter data.t.p\n"
                       "| | Eval x = [1, 2][__local2__]\n"
                       "| | Eval data.t.f(x, __local4__) x:1 __local2__:0\n"
                       "| | Index data.t.f(x, __local4__) (matched 1 rule) x:1 __local2__:0\n"
                       "| | | Enter data.t.f\n"
                       "| | | Eval mul(x, 2, __local1__) x:1\n"
                       "| | | Exit data.t.f __local1__:2 x:1\n"
                       "| | Eval gt(__local4__, 3) __local4__:2 x:1 __local2__:0\n"
                       "| | Fail gt(__local4__, 3) __local4__:2 x:1 __local2__:0\n"
                       "| | Redo data.t.f(x, __local4__) __local4__:2 x:1 __local2__:0\n"
                       "| | | Redo data.t.f __local1__:2 x:1\n"
                       "| | | Redo mul(x, 2, __local1__) __local1__:2 x:1\n"
                       "| | Redo x = [1, 2][__local2__] x:1 __local2__:0\n"
                       "| | Eval data.t.f(x, __local4__) x:2 __local2__:1\n"
                       "| | Index data.t.f(x, __local4__) (matched 1 rule) x:2 __local2__:1\n"
                       "| | | Enter data.t.f\n"
                       "| | | Eval mul(x, 2, __local1__) x:2\n"
                       "| | | Exit data.t.f __local1__:4 x:2\n"
                       "| | Eval gt(__local4__, 3) __local4__:4 x:2 __local2__:1\n"
                       "| | Eval not x = 7 __local4__:4 x:2 __local2__:1\n"
                       "| | | Enter x = 7 __local4__:4 x:2 __local2__:1\n"
                       "| | | Eval x = 7 __local4__:4 x:2 __local2__:1\n"
                       "| | | Fail x = 7 __local4__:4 x:2 __local2__:1\n"
                       "| | Eval trace(\"seen\") __local4__:4 x:2 __local2__:1\n"
                       "| | Note  seen\n"
                       "| | Exit data.t.p early __local4__:4 x:2 __local2__:1\n"
                       "| Exit data.t.p = _\n"
                       "| Redo data.t.p = _\n"
                       "| Redo data.t.p = _\n"
                       "| | Redo data.t.p __local4__:4 x:2 __local2__:1\n"
                       "| | Redo trace(\"seen\") __local4__:4 x:2 __local2__:1\n"
                       "| | Redo gt(__local4__, 3) __local4__:4 x:2 __local2__:1\n"
                       "| | Redo data.t.f(x, __local4__) __local4__:4 x:2 __local2__:1\n"
                       "| | | Redo mul(x, 2, __local1__) __local1__:4 x:2\n"
                       "| | Redo x = [1, 2][__local2__] x:2 __local2__:1\n"));
    }
    engine_close(&engine);
    buf_deinit(&out);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

static void expect_document(Engine *engine, const char *want)
{
    Buf buf;
    Error err;
    buf_init(&buf, 4096);
    EXPECT_OK(json_print(&buf, rego_result_document(&engine->arena, &engine->result), JSON_COMPACT, &err), &err);
    EXPECT_STR(buf_peek(&buf), str_of(want));
    buf_deinit(&buf);
}

TEST(a_result_has_the_known_shape, "")
{
    Engine engine;
    const RegoQueryOptions options = { .capture = true };
    if (engine_open(&engine, NULL, NULL, "x := [1, 2][_]; x > 1", &options)) {
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ 0 }), OK);
        expect_document(&engine, "{\"result\":[{\"bindings\":{\"x\":2},\"expressions\":[{\"location\":{\"col\":1,\"row\":1},"
                                 "\"text\":\"x := [1, 2][_]\",\"value\":true},{\"location\":{\"col\":17,\"row\":1},"
                                 "\"text\":\"x > 1\",\"value\":true}]}]}");
    }
    engine_close(&engine);
}

TEST(bytes_that_are_no_utf8_are_replaced_where_json_is_wanted, "")
{
    Engine engine;
    if (engine_open(&engine, NULL, NULL, "x := {hex.decode(\"61ff62c3\"): hex.decode(\"fe\")}", NULL)) {
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ 0 }), OK);
        expect_document(&engine, "{\"result\":[{\"bindings\":{\"x\":{\"a\xef\xbf\xbd" "b\xef\xbf\xbd\":\"\xef\xbf\xbd\"}}}]}");
    }
    engine_close(&engine);
}

TEST(a_conflict_says_which_values_there_are, "")
{
    Engine engine;
    if (engine_open(&engine, "package t\n\nf(x) := x\n\nf(x) := [x, \"b\"]\n", NULL, "data.t.f(1)", NULL)) {
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ 0 }), ERR_INVALID);
        EXPECT_INT(engine.error.code, REGO_EVAL_CONFLICT);
        EXPECT_STR(str_of(engine.error.details), STR("function data.t.f produced conflicting values for the same inputs:\n"
                                                     "  1 at t.rego:3\n  [1, \"b\"] at t.rego:5"));
    }
    engine_close(&engine);
}

TEST(names_of_the_caller_are_variables_of_a_query, "")
{
    Engine engine;
    const Str names[] = { STR("params"), STR("run") };
    const RegoQueryOptions options = { .names = names, .name_count = 2, .capture = true };
    if (engine_open(&engine, NULL, NULL, "params.count > run.limit", &options)) {
        const Value values[] = { json_of(&engine.arena, "{\"count\": 3}"), json_of(&engine.arena, "{\"limit\": 2}") };
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .values = values }), OK);
        EXPECT(value_is_true(rego_result_value(&engine.result)));
    }
    engine_close(&engine);
}

TEST(large_groups_are_indexed_by_what_they_want_of_the_input, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf module;
    buf_init(&module, 1 << 20);
    for (int i = 0; i < 500; i++) buf_format(&module, "p contains %d if input.k == \"k%d\"\n", i, i % 250);
    buf_text(&module, "p contains \"any\" if input.k\n");
    buf_char(&module, 0);
    const EngineCase one = { "", module.ptr, "data.t.p", "{\"k\": \"k7\"}", NULL, "" };
    const EngineOptions tight = { .budget = { .step_count_max = 200 } };       /* far fewer than there are rules */
    EXPECT_STR(engine_answer(&arena, &one, &tight), STR("[7,257,\"any\"]"));
    const EngineCase none = { "", module.ptr, "data.t.p", "{\"k\": 1}", NULL, "" };
    EXPECT_STR(engine_answer(&arena, &none, &tight), STR("[\"any\"]"));
    const EngineCase absent = { "", module.ptr, "data.t.p", "{}", NULL, "" };
    EXPECT_STR(engine_answer(&arena, &absent, &tight), STR("[]"));
    const EngineCase without = { "", module.ptr, "data.t.p", NULL, NULL, "" };
    EXPECT_STR(engine_answer(&arena, &without, &tight), STR("[]"));
    buf_deinit(&module);
    arena_deinit(&arena);
}
