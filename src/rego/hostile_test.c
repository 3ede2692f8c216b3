/* Policies that want to take the machine with them: each ends at its budget, or at a limit that it is told. */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness/test.h"
#include "rego/engine_test.h"

#define STEPS UINT64_C(10000000)
#define SIZE ((size_t)64 << 20)

static const EngineOptions hostile_options = {
    .budget = { .step_count_max = STEPS, .size_max = SIZE }, .strict = true,
};

#define OUT_OF_STEPS "eval_cancel_error: the evaluation took more than 10000000 steps"
#define OUT_OF_MEMORY "eval_cancel_error: the evaluation took more than 67108864 bytes of memory"
#define TEXT_TOO_LARGE "eval_cancel_error: a text exceeds the "
#define PATTERN_TOO_LARGE "eval_cancel_error: a regular expression "
#define EXPONENT_TOO_LARGE "the exponent of a number exceeds NUMBER_EXPONENT_MAX (10000)"

/* Without the place that stands before an error of a module: "t.rego:3: ". */
static Str placeless(Str answer)
{
    if (!str_starts(answer, STR("t.rego:"))) return answer;
    return str_slice(answer, str_find(answer, ' ', 0) + 1, answer.len);
}

/* The answer begins with what is wanted, and what was taken is what was granted. */
static void expect_end(const char *name, const char *module, const char *query, const char *data, const char *want)
{
    ROW(name);
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const EngineCase c = { name, module, query, NULL, data, "" };
    Str got = placeless(engine_answer(&arena, &c, &hostile_options));
    EXPECT_STR(str_slice(got, 0, strlen(want)), str_of(want));
    EXPECT(arena.size <= SIZE + 2 * ARENA_BLOCK_SIZE_MAX);  /* the last block may reach beyond */
    arena_deinit(&arena);
}

TEST(loops_end_with_their_steps, "")
{
    static const struct { const char *name, *module, *query, *want; } cases[] = {
        { "an exponential comprehension",
          "xs := numbers.range(1, 100)\np := count([1 | some a in xs; some b in xs; some c in xs; some d in xs])",
          "data.t.p", OUT_OF_MEMORY },
        { "rules that call one another twice each",
          "f0(x) := 1\nf1(x) := f0([x, 1]) + f0([x, 2])\nf2(x) := f1([x, 1]) + f1([x, 2])\n"
          "f3(x) := f2([x, 1]) + f2([x, 2])\np := [y | some i in numbers.range(1, 1000000); y := f3(i)]",
          "data.t.p", OUT_OF_MEMORY },
        { "a search without an answer",
          "xs := numbers.range(1, 2000)\np if { some a in xs; some b in xs; some c in xs; a + b + c < 0 }", "data.t.p",
          OUT_OF_STEPS },
        { "every of every", "xs := numbers.range(1, 3000)\np if every a in xs { every b in xs { every c in "
          "xs { a + b + c > 0 } } }",
          "data.t.p", OUT_OF_STEPS },
        { "sets that are compared", "xs := {x | some x in numbers.range(1, 3000)}\n"
          "p := count({[a, b] | some a in xs; some b in xs})", "data.t.p", OUT_OF_MEMORY },
        { "with in a loop", "q := count(input.xs)\nxs := numbers.range(1, 3000)\n"
          "p := sum([n | some a in xs; some b in xs; n := q with input.xs as [a, b]])", "data.t.p",
          OUT_OF_MEMORY },
        { "a range without end", NULL, "numbers.range(1, 1000000000000)",
          "eval_cancel_error: a range exceeds VALUE_COUNT_MAX (268435456) numbers" },
        { "a range by steps", NULL, "count(numbers.range_step(0, 1000000000000, 1))",
          "eval_cancel_error: a range exceeds VALUE_COUNT_MAX (268435456) numbers" },
        { "all pairs of a graph", "g := {x: numbers.range(1, 3000) | some x in numbers.range(1, 3000)}",
          "count(graph.reachable(data.t.g, {1}))", OUT_OF_MEMORY },
        { "all paths of a graph", "g := {x: {y | some y in numbers.range(1, 30); y != x} | some x in "
          "numbers.range(1, 30)}",
          "count(graph.reachable_paths(data.t.g, {1}))", OUT_OF_MEMORY },
        { "every address of a network", NULL, "count(net.cidr_expand(\"10.0.0.0/0\"))", OUT_OF_MEMORY },
        { "every address of a large network", NULL, "count(net.cidr_expand(\"::/0\"))", OUT_OF_MEMORY },
        { "pairs of networks", "xs := [sprintf(\"10.%d.%d.0/24\", [a, b]) | some a in numbers.range(0, 250); "
          "some b in numbers.range(0, 20)]",
          "count(net.cidr_contains_matches(data.t.xs, data.t.xs))", OUT_OF_STEPS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_end(cases[i].name, cases[i].module, cases[i].query, NULL, cases[i].want);
}

TEST(texts_and_containers_end_with_their_memory, "")
{
    static const char doubling[] =
        "s0 := \"0123456789abcdef\"\n"
        "s(n, t) := concat(\"\", [u | some _ in numbers.range(1, 64); u := t])\n"
        "p := s(1, s(2, s(3, s(4, s(5, s0)))))";
    static const struct { const char *name, *module, *query, *want; } cases[] = {
        { "concat of concat", doubling, "count(data.t.p)", TEXT_TOO_LARGE },
        { "replace by what is longer", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 10000)]); b := replace(a, \"a\", a); "
          "c := replace(b, \"a\", b); "
          "count(c) > 0", TEXT_TOO_LARGE },
        { "a width without end", NULL, "count(sprintf(\"%1000000000d\", [1])) > 0",
          "true" },
        { "many widths", NULL,
          "f := concat(\"\", [\"%999999d\" | some _ in numbers.range(1, 1000)]); "
          "count(sprintf(f, numbers.range(1, 1000))) > 0", TEXT_TOO_LARGE },
        { "a precision without end", NULL, "count(sprintf(\"%.1000000000f\", [1.5])) > 0",
          "true" },
        { "padding of lists", NULL,
          "a := sprintf(\"%v\", [numbers.range(1, 400000)]); count(concat(a, [a | some _ in numbers.range(1, 40)])) "
          "> 0",
          TEXT_TOO_LARGE },
        { "unions of unions", "o(n) := {sprintf(\"%d-%d\", [n, i]): i | some i in numbers.range(1, 2000)}",
          "count(object.union_n([x | some n in numbers.range(1, 2000); x := data.t.o(n)])) > 0",
          OUT_OF_MEMORY },
        { "a patch that doubles",
          NULL,
          "ps := [{\"op\": \"copy\", \"from\": \"/a\", \"path\": \"/a/-\"} | some _ in numbers.range(1, 60)]; "
          "count(json.patch({\"a\": [1]}, ps)) > 0", OUT_OF_STEPS },
        { "a patch that doubles, printed",
          NULL,
          "ps := [{\"op\": \"copy\", \"from\": \"/a\", \"path\": \"/a/-\"} | some _ in numbers.range(1, 60)]; "
          "count(json.marshal(json.patch({\"a\": [1]}, ps))) > 0", OUT_OF_STEPS },
        { "split in letters", NULL,
          "a := concat(\"\", [\"abcdefgh\" | some _ in numbers.range(1, 500000)]); count(split(a, \"\")) > 0",
          OUT_OF_MEMORY },
        { "encoded again and again", NULL,
          "a := concat(\"\", [\"\\\"\" | some _ in numbers.range(1, 100000)]); b := json.marshal([a, a, a, a]); "
          "c := json.marshal([b, b, b, b]); "
          "d := json.marshal([c, c, c, c]); e := json.marshal([d, d, d, d]); f := json.marshal([e, e, e, e]); "
          "count(f) > 0",
          TEXT_TOO_LARGE },
        { "an array joined with itself", "a0 := numbers.range(1, 1000)\na(x) := array.concat(array.concat(x, x), "
          "array.concat(x, x))\n"
          "p := a(a(a(a(a(a(a(a(a0))))))))", "count(data.t.p) > 0", OUT_OF_MEMORY },
        { "a product of sets", "xs := numbers.range(1, 4000)\np := {a: {b: 1 | some b in xs} | some a in xs}",
          "count(data.t.p) > 0", OUT_OF_MEMORY },
        { "indexes of a letter", NULL,
          "a := concat(\"\", [\"aaaaaaaa\" | some _ in numbers.range(1, 500000)]); count(indexof_n(a, \"a\")) > 0",
          OUT_OF_MEMORY },
        { "hexadecimal of base64 of hexadecimal", NULL,
          "a := concat(\"\", [\"abcdefgh\" | some _ in numbers.range(1, 400000)]); "
          "count(hex.encode(base64.encode(hex.encode(base64.encode(hex.encode(a)))))) > 0", TEXT_TOO_LARGE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_end(cases[i].name, cases[i].module, cases[i].query, NULL, cases[i].want);
}

TEST(patterns_end_with_their_steps, "")
{
    static const struct { const char *name, *module, *query, *want; } cases[] = {
        { "a pattern that others take for ever for", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 50000)]); regex.match(\"^(a+)+$\", concat(\"\", "
          "[a, \"b\"]))",
          "undefined" },
        { "a pattern that compiles to much", NULL, "regex.match(\"((((a{1,100}){1,100}){1,100}){1,100})\", \"a\")",
          "eval_builtin_error: regex.match: error parsing regexp: invalid repeat count" },
        { "a pattern of many branches", NULL,
          "p := concat(\"|\", [sprintf(\"(a|b)*%d{1,50}\", [i]) | some i in numbers.range(1, 2000)]); "
          "regex.match(p, \"zzz\")",
          PATTERN_TOO_LARGE },
        { "groups inside one another", NULL,
          "n := numbers.range(1, 100000); p := concat(\"\", array.concat([\"(\" | some _ in n], [\")\" | some _ in "
          "n])); "
          "regex.match(p, \"a\")", PATTERN_TOO_LARGE },
        { "states that never repeat", NULL,
          "a := concat(\"\", [x | some i in numbers.range(1, 200000); x := [\"a\", \"b\"][bits.and(i, 1)]]); "
          "regex.match(\"(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)c\", a)",
          "undefined" },
        { "two patterns that meet", NULL, "regex.globs_match(\"a*a*a*a*a*a*a*a*a*a*b\", \"a*a*a*a*a*a*a*a*a*a*a*c\")",
          "false" },
        { "a glob with many stars", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 20000)]); "
          "glob.match(\"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\", [], a)", "undefined" },
        { "a glob with many braces", NULL,
          "p := concat(\"\", [\"{a,b,c,d}\" | some _ in numbers.range(1, 2000)]); glob.match(p, [], \"x\")",
          "undefined" },
        { "braces inside one another", NULL,
          "n := numbers.range(1, 5000); p := concat(\"\", array.concat([\"{a,\" | some _ in n], [\"}\" | some _ in "
          "n])); "
          "glob.match(p, [], \"a\")", "eval_cancel_error: glob: braces nest deeper than GLOB_DEPTH_MAX (64)" },
        { "everything found", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 1000000)]); count(regex.find_n(\"a\", a, -1)) > 0",
          OUT_OF_MEMORY },
        { "every match replaced by much", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 20000)]); count(regex.replace(a, \"a\", a)) > 0",
          "eval_cancel_error: no memory is left for a regular expression" },
        { "split by nothing", NULL,
          "a := concat(\"\", [\"a\" | some _ in numbers.range(1, 1000000)]); count(regex.split(\"\", a)) > 0",
          OUT_OF_MEMORY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_end(cases[i].name, cases[i].module, cases[i].query, NULL, cases[i].want);
}

TEST(numbers_and_times_out_of_all_proportion_are_refused, "")
{
    static const struct { const char *name, *query, *want; } cases[] = {
        { "a shift by a thousand million", "bits.lsh(1, 1000000000) > 0",
          "eval_cancel_error: " EXPONENT_TOO_LARGE },
        { "a shift back", "bits.rsh(1, 1000000000)", "0" },
        { "an exponent of a thousand million", "1e1000000000 > 0", "1:1 rego_parse_error: number too big" },
        { "a text with such an exponent", "to_number(\"1e1000000000\") > 0",
          "eval_builtin_error: to_number: strconv.ParseFloat: parsing \"1e1000000000\": value out of range" },
        { "a small one", "to_number(\"1e-1000000000\") > 0",
          "eval_cancel_error: the exponent of a number exceeds NUMBER_EXPONENT_MAX (10000)" },
        { "JSON with such a number", "json.unmarshal(\"[1e1000000000]\")",
          "eval_cancel_error: " EXPONENT_TOO_LARGE },
        { "squares of squares",
          "a := 1e9999; b := a * a; c := b * b; d := c * c; e := d * d; f := e * e; g := f * f; h := g * g; h > 0",
          "eval_cancel_error: " EXPONENT_TOO_LARGE },
        { "a product of large numbers", "product([x | some _ in numbers.range(1, 100000); x := 1e9000]) > 0",
          "eval_cancel_error: " EXPONENT_TOO_LARGE },
        { "a long integer read", "to_number(concat(\"\", [\"9\" | some _ in numbers.range(1, 1000000)])) > 0",
          "eval_builtin_error: to_number: strconv.ParseFloat: parsing \"99999" },
        { "a year far away", "time.add_date(0, 1000000000, 0, 0)",
          "eval_builtin_error: time.add_date: time outside of valid range" },
        { "a format of a far year", "time.format(1e30)", "eval_builtin_error: time.format: timestamp too big" },
        { "a year before all", "time.add_date(0, -1000000000, 0, 0)",
          "eval_builtin_error: time.add_date: time outside of valid range" },
        { "a long duration", "time.parse_duration_ns(\"99999999999999999999h\")",
          "eval_builtin_error: time.parse_duration_ns: time: invalid duration" },
        { "bytes without measure", "units.parse_bytes(\"1e1000000000KB\") > 0",
          "eval_builtin_error: units.parse_bytes: units.parse_bytes: exponent too large" },
        { "a unit without measure", "units.parse(\"1e1000000000M\") > 0",
          "eval_builtin_error: units.parse: units.parse: exponent too large" },
        { "hexadecimal without end", "sprintf(\"%x\", [1e9999]) != \"\"", "true" },
        { "the whole number of a large one", "format_int(1e9999, 2) != \"\"", "true" },
        { "rounding", "round(1e9999) + ceil(1e-9999) > 0", "true" },
        { "a remainder", "1e9999 % 7", "6" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_end(cases[i].name, NULL, cases[i].query, NULL, cases[i].want);
}

TEST(documents_that_unfold_are_refused, "")
{
    static const struct { const char *name, *query, *want; } cases[] = {
        { "aliases of aliases",
          "yaml.unmarshal(\"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\n"
          "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\\n"
          "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\n"
          "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\\n"
          "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\\n"
          "i: &i [*h,*h,*h,*h,*h,*h,*h,*h,*h]\\n\")",
          OUT_OF_STEPS },
        { "JSON inside JSON",
          "n := numbers.range(1, 100000); json.unmarshal(concat(\"\", array.concat([\"[\" | some _ in n], [\"]\" | "
          "some _ in n])))",
          "eval_cancel_error: arrays and objects nest deeper than JSON_DEPTH_MAX" },
        { "YAML inside YAML",
          "n := numbers.range(1, 20000); yaml.unmarshal(concat(\"\", array.concat([\"[\" | some _ in n], [\"]\" | "
          "some _ in n])))",
          "eval_cancel_error: yaml: the text nests deeper than JSON_DEPTH_MAX (512)" },
        { "is it JSON", "n := numbers.range(1, 100000); json.is_valid(concat(\"\", [\"[\" | some _ in n]))",
          "eval_cancel_error: arrays and objects nest deeper than JSON_DEPTH_MAX" },
        { "a schema that needs itself",
          "json.match_schema({\"a\": 1}, {\"$ref\": \"#\"})",
          "eval_cancel_error: the schema is applied inside itself beyond DRAFT_DEPTH_MAX (512)" },
        { "a query of GraphQL inside itself",
          "n := numbers.range(1, 20000); graphql.is_valid(concat(\"\", [\"{a\" | some _ in n]), "
          "\"type Query { a: Query }\")",
          "eval_cancel_error: a GraphQL text nests deeper than GRAPHQL_DEPTH_MAX (256)" },
        { "a template inside itself",
          "n := numbers.range(1, 20000); strings.render_template(concat(\"\", [\"{{if true}}\" | some _ in n]), {})",
          "eval_cancel_error: template: actions nest deeper than TEMPLATE_DEPTH_MAX (64)" },
        { "a template that loops",
          "strings.render_template(\"{{range .a}}{{range $.a}}{{range $.a}}{{.}}{{end}}{{end}}{{end}}\", "
          "{\"a\": numbers.range(1, 1000)}) != \"\"",
          OUT_OF_STEPS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_end(cases[i].name, NULL, cases[i].query, NULL, cases[i].want);
}

/* --- depth ------------------------------------------------------------------------------------------------------- */

static const char *repeated(Buf *buf, const char *before, const char *inside, const char *middle, const char *behind,
                            int count)
{
    buf_clear(buf);
    buf_text(buf, before);
    for (int i = 0; i < count; i++) buf_text(buf, inside);
    buf_text(buf, middle);
    for (int i = 0; i < count; i++) buf_text(buf, behind);
    buf_char(buf, 0);
    return buf->ptr;
}

TEST(sources_inside_one_another_are_refused, "")
{
    static const char too_deep[] = "rego_parse_error: the policy nests deeper than REGO_DEPTH_MAX (512)";
    static const struct { const char *name, *before, *inside, *middle, *behind; } cases[] = {
        { "lists", "p := ", "[", "1", "]" },
        { "sets", "p := ", "{", "1", "}" },
        { "objects", "p := ", "{\"a\": ", "1", "}" },
        { "parentheses", "p := ", "(", "1", ")" },
        { "calls", "p := ", "abs(", "1", ")" },
        { "references", "p := ", "data.t[", "1", "]" },
        { "comprehensions", "p := ", "[1 | ", "1", "]" },
        { "operators", "p := 1", " + 1", "", "" },
        { "every", "p if ", "every x in [1] { ", "true", " }" },
        { "template strings", "p := ", "$\"{", "1", "}\"" },
    };
    Buf module;
    buf_init(&module, 8 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        repeated(&module, cases[i].before, cases[i].inside, cases[i].middle, cases[i].behind, 50000);
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        const EngineCase c = { "", module.ptr, "1", NULL, NULL, "" };
        Str got = engine_answer(&arena, &c, &hostile_options);
        EXPECT(memmem(got.ptr, got.len, too_deep, strlen(too_deep)) != NULL);
        arena_deinit(&arena);
    }
    repeated(&module, "p := 1 if false", " else := 2 if false", " else := 3", "", 50000);
    expect_end("a chain of branches is as long as it likes", module.ptr, "data.t.p", NULL, "3");
    buf_deinit(&module);
}

TEST(deep_values_are_walked_within_their_depth, "")
{
    Buf json;
    buf_init(&json, 1 << 20);
    repeated(&json, "{\"v\": ", "[", "1", "]", 500);
    json.len--;
    buf_text(&json, "}");
    buf_char(&json, 0);
    expect_end("a walk", "p := count([1 | walk(data.v)])", "data.t.p", json.ptr, "501");
    expect_end("a walk in a walk in a walk",
    "p := count([1 | walk(data.v, [_, a]); walk(a, [_, b]); walk(b, [_, c]); c == 2])",
               "data.t.p", json.ptr, OUT_OF_MEMORY);
    expect_end("printed and read again", "p := json.unmarshal(json.marshal(data.v)) == data.v", "data.t.p", json.ptr,
    "true");
    expect_end("containers around containers",
               "f(x) := [x, x]\n"
               "p := f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(1))))))))))))))))))))))))))))))",
               "count(json.marshal(data.t.p)) > 0", NULL, OUT_OF_STEPS);
    buf_deinit(&json);
}

/* --- charges and places ------------------------------------------------------------------------------------------ */

/* What takes long is charged for as much: a hundred calls or so, each of few instructions, spend all of these steps. */
TEST(calls_are_charged_for_how_much_they_work, "")
{
    static const struct { const char *name, *call; } cases[] = {
        { "a sum of long numbers", "long + i" },
        { "a remainder of a long number", "long % 7" },
        { "a quotient of a long number", "i / long" },
        { "a quotient that rounds", "long / 7" },
        { "a product with a small number", "1e-9999 * i" },
        { "the size of a small number", "abs(1e-9999)" },
        { "a fraction with many digits", "fraction + i" },
        { "rounding", "round(1e9999)" },
        { "bits", "bits.xor(long, i)" },
        { "a shift", "bits.lsh(i, 30000)" },
        { "a sum of a list", "sum([long, i])" },
        { "a product of a list", "product([half, half])" },
        { "a range of long numbers", "numbers.range(long, long + 1)" },
        { "a long number in another base", "format_int(long, 2)" },
        { "a comparison of long numbers", "[long] < [long + i]" },
        { "the largest of long numbers", "max([long, long, long])" },
        { "one number printed often", "sprintf(\"%[1]d%[1]d%[1]d%[1]d\", [long])" },
        { "a list printed and thrown away", "sprintf(\"%[1].0s%[1].0s%[1].0s%[1].0s%[1].0s\", [numbers.range(1, 500)])" },
        { "YAML of numbers", "yaml.marshal([long, 1.5, 2.5])" },
        { "YAML of a text", "yaml.marshal(text)" },
        { "YAML read", "yaml.unmarshal(text)" },
        { "JSON of a text", "json.marshal(text)" },
        { "a time by a long layout", "time.format([0, \"UTC\", text])" },
        { "two long texts", "[text, i] == [text, i + 1]" },
        { "two keys in constant time", "crypto.hmac.equal(text, text)" },
        { "a digest", "crypto.hmac.sha512(text, text)" },
        { "what is no version", "semver.is_valid(text)" },
        { "what is no block", "net.cidr_is_valid(text)" },
        { "texts in order", "sort([text, text, text, text])" },
        { "a query of GraphQL", "graphql.parse_query(concat(\"\", [\"{\", text, \"}\"]))" },
    };
    static const char format[] =
        "long := json.unmarshal(concat(\"\", [\"1234567890\" | some _ in numbers.range(1, 1000)]))\n"
        "half := json.unmarshal(concat(\"\", [\"1234567890\" | some _ in numbers.range(1, 450)]))\n"
        "fraction := json.unmarshal(concat(\"\", [\"1.\", concat(\"\", [\"1234567890\" | some _ in numbers.range(1, 1000)])]))\n"
        "text := concat(\"\", [\"abcdefghij\" | some _ in numbers.range(1, 5000)])\n"
        "p := count([1 | some i in numbers.range(1, 2000); x := %s; x != 7])";
    static const EngineOptions options = { .budget = { .step_count_max = 250000, .size_max = (size_t)1 << 30 } };
    char module[4096];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Buf buf = buf_on(module, sizeof module);
        buf_format(&buf, format, cases[i].call);
        buf_char(&buf, 0);
        const EngineCase c = { "", module, "data.t.p", NULL, NULL, "" };
        EXPECT_STR(engine_answer(&arena, &c, &options),
                   STR("t.rego:6: eval_cancel_error: the evaluation took more than 250000 steps"));
        arena_deinit(&arena);
    }
}

/* Steps that cost little are not charged for much: what policies do all day fits the same budget. */
TEST(small_calls_stay_cheap, "")
{
    static const char *const calls[] = { "i + 1", "i * 2", "i / 2", "sprintf(\"%d\", [i])", "startswith(\"abc\", \"a\")",
                                         "count([i, i])", "concat(\"-\", [\"a\", \"b\"])", "lower(\"ABC\")", "i + 0.5",
                                         "regex.match(\"^a\", \"abc\")", "split(\"a.b\", \".\")", "time.weekday(i)" };
    static const EngineOptions options = { .budget = { .step_count_max = 100000 } };
    char module[512];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        ROW(calls[i]);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Buf buf = buf_on(module, sizeof module);
        buf_format(&buf, "p := count([1 | some i in numbers.range(1, 2000); x := %s; x != [7]])", calls[i]);
        buf_char(&buf, 0);
        const EngineCase c = { "", module, "data.t.p", NULL, NULL, "" };
        EXPECT_STR(engine_answer(&arena, &c, &options), STR("2000"));
        arena_deinit(&arena);
    }
}

TEST(a_spent_budget_says_where_and_how_much, "")
{
    static const char module[] =
        "package t\n\n"
        "steps if {\n\tinput.x != 1\n}\n\nsteps if {\n\tcount(numbers.range(1, 100000)) > 5\n}\n\n"
        "size := [x |\n\tx := numbers.range(1, 1000000)\n]\n\n"
        "f(x) := x if {\n\tevery y in [x] {\n\t\tg(y) == y\n\t}\n}\n\n"
        "g(x) := x if x == 1\n";
    static const struct { const char *query; RegoBudget budget; uint32_t row, col; const char *text; } cases[] = {
        { "data.t.steps", { .step_count_max = 5000 }, 8, 8, "the evaluation took more than 5000 steps" },
        { "data.t.size", { .size_max = 1 << 20 }, 12, 7, "the evaluation took more than 1048576 bytes of memory" },
        { "data.t.f(1)", { .depth_max = 2 }, 17, 3, "rules and bodies called one another more than 2 levels deep" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_watched = 0; is_watched < 2; is_watched++) {
            ROW(cases[i].query);
            Engine engine;
            const RegoCompileOptions compile = { .instrument = is_watched };
            if (engine_open(&engine, module, &compile, cases[i].query, NULL)) {
                EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .budget = cases[i].budget }), ERR_LIMIT);
                EXPECT_INT(engine.error.code, REGO_EVAL_CANCEL);
                EXPECT_STR(engine.error.file, STR("t.rego"));
                EXPECT_INT(engine.error.loc.row, cases[i].row);
                EXPECT_INT(engine.error.loc.col, cases[i].col);
                EXPECT_STR(str_of(engine.error.error.text), str_of(cases[i].text));
            }
            engine_close(&engine);
        }
    }
    Engine engine;
    if (engine_open(&engine, module, NULL, "data.t.steps", NULL)) {
        atomic_bool stop = true;
        EXPECT_INT(engine_eval(&engine, (RegoEvalContext){ .stop = &stop }), ERR_LIMIT);
        EXPECT_STR(str_of(engine.error.error.text), STR("the evaluation was stopped"));
        EXPECT(engine.error.loc.row > 0);
    }
    engine_close(&engine);
}
