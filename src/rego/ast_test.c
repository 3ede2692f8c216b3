#include "harness/test.h"
#include "rego/ast.h"
#include "rego/parser.h"
#include "rego/print.h"

static Arena arena;
static RegoErrors errors;

static RegoBody read_query(const char *text)
{
    RegoBody body = { 0 };
    rego_errors_init(&errors, &arena);
    test_expect(rego_parse_query(&arena, str_of(text), NULL, &body, &errors) == OK, __FILE__, __LINE__, "cannot read %s", text);
    return body;
}

static Str printed(const RegoBody *body)
{
    Buf buf = buf_on(arena_alloc(&arena, 1024), 1024);
    rego_print_body(&buf, body, REGO_PRINT_CALLS);
    return buf_peek(&buf);
}

static bool rename_x(void *context, RegoTerm **place)
{
    if (!rego_term_is_var(*place, STR("x"))) return true;
    *place = context;
    return false;
}

TEST(a_walk_can_put_other_nodes_in_place, "")
{
    arena_init(&arena, SIZE_MAX);
    RegoBody body = read_query("x[x] = {x: [x, f(x)]}; every y in x { y == x with input as x }; some x in {x | x}; $\"{x}\"; "
                               "not x");
    RegoTerm other = { .kind = REGO_TERM_VAR, .height = 1, .name = STR("z") };
    const RegoWalk walk = { .context = &other, .term = rename_x };
    rego_walk_body(&walk, &body);
    EXPECT_STR(printed(&body), STR("z[z] = {z: [z, f(z)]}; every y in z { equal(y, z) with input as z }; some z in {z | z}; "
                                   "$\"{z}\"; not z"));
    arena_deinit(&arena);
}

typedef struct Counts {
    unsigned terms, term_ends, exprs, expr_ends, bodies, body_ends;
} Counts;

static bool count_term(void *context, RegoTerm **place) { ((Counts *)context)->terms++; return true; }
static void count_term_end(void *context, RegoTerm **place) { ((Counts *)context)->term_ends++; }
static bool count_expr(void *context, RegoExpr **place) { ((Counts *)context)->exprs++; return true; }
static void count_expr_end(void *context, RegoExpr **place) { ((Counts *)context)->expr_ends++; }
static bool count_body(void *context, RegoBody *body) { ((Counts *)context)->bodies++; return true; }
static void count_body_end(void *context, RegoBody *body) { ((Counts *)context)->body_ends++; }

TEST(a_walk_visits_every_node_once, "")
{
    arena_init(&arena, SIZE_MAX);
    rego_errors_init(&errors, &arena);
    RegoModule *module;
    REQUIRE(rego_parse_module(&arena, STR("package a\nimport data.b\np contains x if { some x, y; [x | y] } \n"
                                          "f(1) := 2 if true else := 3"), NULL, &module, &errors) == OK);
    Counts counts = { 0 };
    const RegoWalk walk = { &counts, count_term, count_term_end, count_expr, count_expr_end, count_body, count_body_end };
    rego_walk_module(&walk, module);
    /* package 3, import 3, p x x y [ x y: 7, f 1 2 true f 1 3 true: 8 */
    EXPECT_INT(counts.terms, 21);
    EXPECT_INT(counts.exprs, 5);
    EXPECT_INT(counts.bodies, 4);
    EXPECT_INT(counts.term_ends, counts.terms);
    EXPECT_INT(counts.expr_ends, counts.exprs);
    EXPECT_INT(counts.body_ends, counts.bodies);
    arena_deinit(&arena);
}

TEST(a_copy_shares_no_node, "")
{
    arena_init(&arena, SIZE_MAX);
    const char *text = "x = {x: [x, f(x)]}; every y in x { y }; some x in {x | x}; $\"{x}\"; [x | x]; {x: x | x}; some x; "
                       "x with input as x";
    RegoBody body = read_query(text);
    Str before = printed(&body);
    RegoBody copy = rego_body_copy(&arena, body);
    EXPECT_STR(printed(&copy), before);
    RegoTerm other = { .kind = REGO_TERM_VAR, .height = 1, .name = STR("z") };
    const RegoWalk walk = { .context = &other, .term = rename_x };
    rego_walk_body(&walk, &copy);
    EXPECT_STR(printed(&body), before);
    EXPECT(!str_is(printed(&copy), before));
    arena_deinit(&arena);
}

TEST(ground_terms_hold_no_variable, "")
{
    static const struct { const char *text; bool ground; } cases[] = {
        { "1", true }, { "[1, {\"a\": {2}}]", true }, { "x", false }, { "[x]", false }, { "{x: 1}", false },
        { "data.a.b", true }, { "data.a[x]", false }, { "data[data.a]", true }, { "f(1)", false }, { "[1 | true]", false },
        { "[x][0]", false }, { "[1][0]", true }, { "$\"a{x}\"", false },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        RegoBody body = read_query(cases[i].text);
        if (body.count) EXPECT_INT(rego_term_is_ground(body.exprs[0]->term), cases[i].ground);
    }
    arena_deinit(&arena);
}

TEST(calls_and_kinds_have_names, "")
{
    arena_init(&arena, SIZE_MAX);
    static const struct { const char *text, *call, *kind; } cases[] = {
        { "count(x)", "count", "call" }, { "io.jwt.decode(x)", "io.jwt.decode", "call" }, { "a + b", "plus", "call" },
        { "x in y", "internal.member_2", "call" }, { "a[x](y)", "", "call" }, { "null", NULL, "null" },
        { "1.5", NULL, "number" }, { "\"a\"", NULL, "string" }, { "x", NULL, "var" }, { "input", NULL, "ref" },
        { "{1}", NULL, "set" }, { "{}", NULL, "object" }, { "{x | x}", NULL, "setcomprehension" },
        { "$\"{x}\"", NULL, "templatestring" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        RegoBody body = read_query(cases[i].text);
        if (!body.count) continue;
        EXPECT_STR(str_of(rego_term_kind_name(body.exprs[0]->term)), str_of(cases[i].kind));
        if (cases[i].call) EXPECT_STR(rego_call_name(&arena, body.exprs[0]->term), str_of(cases[i].call));
    }
    EXPECT_STR(str_of(rego_scope_name(REGO_SCOPE_SUBPACKAGES)), STR("subpackages"));
    arena_deinit(&arena);
}
