#include "rego/graphql/graphql.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

static const char pets[] =
    "interface Pet { name: String! friend: Pet }\n"
    "type Dog implements Pet { name: String! friend: Pet barks(loud: Boolean!): Int }\n"
    "type Cat implements Pet { name: String! friend: Pet lives: Int }\n"
    "union Any = Dog | Cat\n"
    "enum Size { SMALL LARGE }\n"
    "input Box { width: Int! size: Size = SMALL }\n"
    "type Query { pet(id: ID!): Pet any: Any fit(box: Box): Boolean }\n";

typedef struct Fixture {
    Arena arena;
    uint64_t steps;
    atomic_bool stop;
    GqlBudget budget;
    Error err;
} Fixture;

static void fixture_open(Fixture *fixture)
{
    *fixture = (Fixture){ .steps = 1000000 };
    fixture->budget = (GqlBudget){ &fixture->steps, fixture->steps, &fixture->stop };
    arena_init(&fixture->arena, SIZE_MAX);
}

static Status check(Fixture *fixture, const char *schema_text, const char *query_text)
{
    GqlSchemaDocument *document;
    GqlSchema *schema;
    GqlQuery *query;
    Status status = graphql_schema_parse(&fixture->arena, str_of(schema_text), &document, &fixture->err);
    if (!status) status = graphql_schema_build(&fixture->arena, document, &fixture->budget, &schema, &fixture->err);
    if (!status) status = graphql_query_parse(&fixture->arena, str_of(query_text), &query, &fixture->err);
    if (!status) status = graphql_query_check(&fixture->arena, schema, query, &fixture->budget, &fixture->err);
    return status;
}

TEST(queries_are_checked_against_their_schema, "")
{
    static const struct { const char *query, *want; } cases[] = {
        { "{ pet(id: 1) { name ... on Dog { barks(loud: true) } } }", NULL },
        { "query Q($i: ID!) { pet(id: $i) { name } }", NULL },
        { "{ any { ...F } } fragment F on Cat { lives }", NULL },
        { "{ fit(box: { width: 3 }) __typename }", NULL },
        { "{ pet { name } }",
          "Field \"pet\" argument \"id\" of type \"ID!\" is required, but it was not provided in GraphQL string at "
          "location 1:3" },
        { "{ pet(id: 1) { nam } }",
          "Cannot query field \"nam\" on type \"Pet\". Did you mean \"name\"?\n in GraphQL string at location 1:16" },
        { "{ fit(box: { size: HUGE }) }",
          "Value \"HUGE\" does not exist in \"Size\" enum.\n"
          "input:1:12: Field \"Box.width\" of required type \"Int!\" was not provided in GraphQL string at location 1:20" },
        { "{ pet(id: $x) { name } }", "Variable \"$x\" is not defined in GraphQL string at location 1:11" },
        { "{ pet(id: 1) { name } pet(id: 2) { name } }",
          "Fields \"pet\" conflict because they have differing arguments. Use different aliases on the fields to fetch both "
          "if this was intentional in GraphQL string at location 1:23" },
        { "{ any { ...F } } fragment F on Cat { friend { ...F } }",
          "Cannot spread fragment \"F\" within itself in GraphQL string at location 1:50" },
        { "mutation { x }", "Schema does not support operation type \"mutation\"\n in GraphQL string at location 1:1" },
        { "{ pet(id: 1) }",
          "Field \"pet\" of type \"Pet\" must have a selection of subfields. Did you mean \"pet { ... }\"?\n"
          " in GraphQL string at location 1:3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].query);
        Fixture fixture;
        fixture_open(&fixture);
        Status status = check(&fixture, pets, cases[i].query);
        EXPECT_INT(status, cases[i].want ? ERR_INVALID : OK);
        if (cases[i].want) EXPECT_STR(str_of(fixture.err.text), str_of(cases[i].want));
        arena_deinit(&fixture.arena);
    }
}

TEST(schemas_must_be_consistent, "")
{
    static const struct { const char *schema, *want; } cases[] = {
        { "type Query { a: Int }", NULL },
        { "type Query { a: Nope }", "Undefined type Nope." },
        { "type A { a: Int } type A { a: Int }", "Cannot redeclare type A." },
        { "type A { a: Int a: Int }", "Field A.a can only be defined once." },
        { "interface I { a: Int! } type A implements I { a: Int }",
          "For A to implement I the field a must have type Int!." },
        { "type A { a(b: A): Int }", "cannot use A as argument b because OBJECT is not a valid input type" },
        { "input A { a: A! }", "Cannot reference Input Object \"A\" within itself through a series of non-null fields: \"a\"." },
        { "union U = Int", "UNION type \"Int\" must be OBJECT." },
        { "enum E { true }", "ENUM E: non-enum value true." },
        { "extend type Int { a: Int }", "Cannot extend type Int because the base type is a SCALAR, not OBJECT." },
        { "type A { a: Int @nope }", "Undefined directive nope." },
        { "schema { query: Nope }", "Schema root query refers to a type Nope that does not exist." },
        { "type A { __a: Int }",
          "Name \"__a\" must not begin with \"__\", which is reserved by GraphQL introspection." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].schema);
        Fixture fixture;
        fixture_open(&fixture);
        Status status = check(&fixture, cases[i].schema, "");
        EXPECT_INT(status, cases[i].want ? ERR_INVALID : OK);
        if (cases[i].want) EXPECT(strstr(fixture.err.text, cases[i].want) != NULL);
        arena_deinit(&fixture.arena);
    }
}

TEST(a_tree_survives_being_a_value, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    GqlSchemaDocument *document, *again;
    REQUIRE_OK(graphql_schema_parse(&fixture.arena, str_of(pets), &document, &fixture.err), &fixture.err);
    Value value = graphql_schema_value(&fixture.arena, document);
    REQUIRE_OK(graphql_schema_read(&fixture.arena, value, &again, &fixture.err), &fixture.err);
    EXPECT(value_equals(graphql_schema_value(&fixture.arena, again), value));
    EXPECT_INT(graphql_schema_read(&fixture.arena, value_int(1), &again, &fixture.err), ERR_INVALID);
    MemberList members = { .arena = &fixture.arena };
    member_list_add(&members, STR("Definitions"), value_string(STR("x")));
    EXPECT_INT(graphql_schema_read(&fixture.arena, member_list_object(&members), &again, &fixture.err), ERR_INVALID);
    arena_deinit(&fixture.arena);
}

TEST(nesting_beyond_its_bound_is_refused, "")
{
    static const struct { const char *name, *open; } cases[] = {
        { "selections", "{a" }, { "lists", "{a(b:" }, { "types", "query($a:" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        static char text[64 * 1024];
        Buf buf = buf_on(text, sizeof text);
        if (i == 0) {
            for (int depth = 0; depth < 10000; depth++) buf_text(&buf, cases[i].open);
        } else {
            buf_text(&buf, cases[i].open);
            buf_repeat(&buf, '[', 50000);
        }
        Fixture fixture;
        fixture_open(&fixture);
        GqlQuery *query;
        EXPECT_INT(graphql_query_parse(&fixture.arena, buf_peek(&buf), &query, &fixture.err), ERR_LIMIT);
        EXPECT(strstr(fixture.err.text, "GRAPHQL_DEPTH_MAX") != NULL);
        arena_deinit(&fixture.arena);
    }
}

/* Each fragment spreads the next one many times over: 2^n ways through n fragments. */
static Str doubling_fragments(Buf *buf, int count, const char *field)
{
    buf_text(buf, "{ ...F0 }\n");
    for (int i = 0; i < count; i++)
        buf_format(buf, "fragment F%d on Query { %s a: pet(id: 1) { friend { name } ...P } ...F%d ...F%d }\n", i, field, i + 1,
                   i + 1);
    buf_format(buf, "fragment F%d on Query { %s }\nfragment P on Pet { friend { ...P name } }\n", count, field);
    return buf_peek(buf);
}

TEST(hostile_queries_end_with_the_budget_or_before, "")
{
    static char text[64 * 1024];
    Buf buf = buf_on(text, sizeof text);
    static const char *const fields[] = { "any { __typename }", "__schema { types { fields { type { fields { name } } } } }" };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        buf_clear(&buf);
        Str query = doubling_fragments(&buf, 200, fields[i]);
        text[query.len] = '\0';
        Fixture fixture;
        fixture_open(&fixture);
        fixture.steps = 300000;
        Status status = check(&fixture, pets, text);
        EXPECT(status == ERR_LIMIT || status == ERR_INVALID);
        arena_deinit(&fixture.arena);
    }
}

TEST(a_spent_or_stopped_budget_ends_the_check, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    fixture.steps = 3;
    EXPECT_INT(check(&fixture, pets, "{ pet(id: 1) { name } }"), ERR_LIMIT);
    EXPECT_INT(fixture.steps, 0);
    fixture.steps = 1000000;
    fixture.stop = true;
    EXPECT_INT(check(&fixture, pets, "{ pet(id: 1) { name } }"), ERR_LIMIT);
    arena_deinit(&fixture.arena);
}
