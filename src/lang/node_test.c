#include "lang/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

static void expect_value(const char *text, TextFormat format, const char *want)
{
    Arena arena;
    Error err;
    Node *root;
    Value wanted;
    Buf got;
    ROW(text);
    arena_init(&arena, SIZE_MAX);
    buf_init(&got, 1u << 20);
    if (EXPECT_OK(node_read(&arena, str_of(text), format, &root, &err), &err)) {
        EXPECT_OK(json_print(&got, node_to_value(&arena, root), JSON_COMPACT, &err), &err);
        EXPECT_OK(json_parse(&arena, str_of(want), &wanted, &err), &err);
        test_expect(value_equals(node_to_value(&arena, root), wanted), __FILE__, __LINE__, "got %.*s, want %s",
                    STR_ARG(buf_peek(&got)), want);
    }
    buf_deinit(&got);
    arena_deinit(&arena);
}

TEST(scalars_follow_the_core_schema, "")
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        { "[true, True, false, yes, on, no]", "[true, true, false, \"yes\", \"on\", \"no\"]" },
        { "[null, ~, Null, 'null', \"~\"]", "[null, null, null, \"null\", \"~\"]" },
        { "[1, -2, +3, 007, 0x1F, 0o17, 1_000]", "[1, -2, 3, 7, 31, 15, \"1_000\"]" },
        { "[1.5, .5, 2., 1e3, -1.5E-2, 1.2.3, 1:30]", "[1.5, 0.5, 2, 1000, -0.015, \"1.2.3\", \"1:30\"]" },
        { "[2023-01-01, 123456789012345678901234567890]", "[\"2023-01-01\", 123456789012345678901234567890]" },
        { "{1: a, true: b}", "{\"1\": \"a\", \"true\": \"b\"}" },
        { "a: |\n  two\n  lines\n", "{\"a\": \"two\\nlines\\n\"}" },
        { "a: !!str 12", "{\"a\": \"12\"}" },
        { "- &x [1, 2]\n- *x\n", "[[1, 2], [1, 2]]" },
        { "base: &b {x: 1, y: 2}\nz: {<<: *b, y: 3}\n",
          "{\"base\": {\"x\": 1, \"y\": 2}, \"z\": {\"x\": 1, \"y\": 3}}" },
        { "z: {<<: [{a: 1}, {a: 2, b: 3}], c: 4}", "{\"z\": {\"a\": 1, \"b\": 3, \"c\": 4}}" },
        { "{'<<': 1}", "{\"<<\": 1}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_value(rows[i].yaml, TEXT_YAML, rows[i].json);
}

TEST(a_text_of_no_bytes_is_refused_wherever_it_points, "")
{
    static const Str rows[] = { STR_INIT(""), { NULL, 0 }, STR_INIT("\xef\xbb\xbf"), STR_INIT("\n") };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int format = TEXT_YAML; format <= TEXT_JSON; format++) {
            Arena arena;
            Error err;
            Node *root;
            arena_init(&arena, SIZE_MAX);
            EXPECT_INT(node_read(&arena, rows[i], (TextFormat)format, &root, &err), ERR_INVALID);
            arena_deinit(&arena);
        }
}

TEST(json_is_read_as_json, "")
{
    expect_value("{\"a\": [\"\\ud83d\\ude00\", \"\\/\", 1e2, null]}", TEXT_JSON,
                 "{\"a\": [\"\\ud83d\\ude00\", \"/\", 100, null]}");
    Arena arena;
    Error err;
    Node *root;
    arena_init(&arena, SIZE_MAX);
    EXPECT_INT(node_read(&arena, STR("{a: 1}"), TEXT_JSON, &root, &err), ERR_INVALID);
    EXPECT_INT(err.column, 2);
    arena_deinit(&arena);
}

TEST(every_node_knows_its_place, "proves: K-029")
{
    Arena arena;
    Error err;
    Node *root;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(node_read(&arena, STR("a: 1\nb:\n  - \"öx\" \n  - {c: 'd'}\n"), TEXT_YAML, &root, &err), &err);
    const Node *list = node_get(root, "b"), *text = &list->items[0], *d = node_get(&list->items[1], "c");
    EXPECT_INT(text->line, 3);
    EXPECT_INT(text->column, 5);
    EXPECT_INT(text->width, 4);
    EXPECT_INT(text->inner, 1);
    EXPECT_INT(d->line, 4);
    EXPECT_INT(d->column, 9);
    EXPECT_INT(node_get(root, "a")->inner, 0);
    EXPECT(node_at_pointer(root, STR("/b/1/c")) == d);
    EXPECT(node_at_pointer(root, STR("/b/7")) == list);
    arena_deinit(&arena);
}

TEST(nodes_take_the_places_of_another_text, "")
{
    static const struct { const char *name, *places; bool fits; } cases[] = {
        { "one for each node",       "[1,1,1, 2,5,3, 2,10,4, 3,1,2, 3,7,9, 4,2,1]", true },
        { "one too few",             "[1,1,1, 2,5,3, 2,10,4, 3,1,2, 3,7,9]", false },
        { "one too many",            "[1,1,1, 2,5,3, 2,10,4, 3,1,2, 3,7,9, 4,2,1, 5,5,5]", false },
        { "what is no number",       "[1,1,1, 2,5,3, 2,10,4, 3,1,2, 3,7,9, 4,2,\"1\"]", false },
        { "a number that is too big", "[1,1,1, 2,5,3, 2,10,4, 3,1,2, 3,7,9, 4,2,4294967296]", false },
        { "no list",                 "{}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        Error err;
        Node *root, *places;
        arena_init(&arena, SIZE_MAX);
        ROW(cases[i].name);
        REQUIRE_OK(node_read(&arena, STR("{\"a\":\"xy\",\"b\":[7]}"), TEXT_JSON, &root, &err), &err);
        REQUIRE_OK(node_read(&arena, str_of(cases[i].places), TEXT_JSON, &places, &err), &err);
        EXPECT(node_relocate(root, places) == cases[i].fits);
        if (cases[i].fits) {
            const Node *text = node_get(root, "a"), *number = &node_get(root, "b")->items[0];
            EXPECT_INT(node_key(root, 0)->column, 5);
            EXPECT_INT(text->line, 2);
            EXPECT_INT(text->column, 10);
            EXPECT_INT(text->inner, 1);
            EXPECT_INT(number->line, 4);
            EXPECT_INT(number->inner, NODE_ELSEWHERE);
        }
        arena_deinit(&arena);
    }
}

TEST(what_is_no_definition_text_is_refused_with_its_place, "proves: K-029")
{
    static const struct { const char *name, *text; Status status; uint32_t line, column; const char *says; } rows[] = {
        { "an empty file", "", ERR_INVALID, 1, 1, "empty" },
        { "an open bracket", "a: [1,\n", ERR_INVALID, 2, 1, "" },
        { "a tab as indentation", "a:\n\tb: 1\n", ERR_INVALID, 2, 1, "" },
        { "two documents", "a: 1\n---\nb: 2\n", ERR_INVALID, 2, 1, "second document" },
        { "an unknown alias", "a: *b\n", ERR_INVALID, 1, 4, "names no anchor" },
        { "an anchor twice", "- &a 1\n- &a 2\n", ERR_INVALID, 2, 3, "defined twice" },
        { "an alias of itself", "a: &x [*x]\n", ERR_INVALID, 1, 8, "names no anchor" },
        { "a mapping as a key", "{[1]: 2}\n", ERR_INVALID, 1, 2, "a key must be a text" },
        { "an aliased list as a key", "- &a [1]\n- {*a : 2}\n", ERR_INVALID, 2, 4, "a key must be a text" },
        { "infinity", "a: .inf\n", ERR_INVALID, 1, 4, "no number" },
        { "a huge exponent", "a: 1e99999\n", ERR_LIMIT, 1, 4, "NUMBER_EXPONENT_MAX" },
        { "a tag", "a: !!binary aGk=\n", ERR_INVALID, 1, 4, "tag" },
        { "bytes that are no UTF-8", "a: \xff\n", ERR_INVALID, 1, 4, "UTF-8" },
        { "a merge of a text", "{<<: x}\n", ERR_INVALID, 1, 6, "only a mapping" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Error err;
        Node *root;
        ROW(rows[i].name);
        arena_init(&arena, SIZE_MAX);
        EXPECT_INT(node_read(&arena, str_of(rows[i].text), TEXT_YAML, &root, &err), rows[i].status);
        EXPECT_INT(err.line, rows[i].line);
        EXPECT_INT(err.column, rows[i].column);
        test_expect(strstr(err.text, rows[i].says) != NULL, __FILE__, __LINE__, "%s: %s", rows[i].name, err.text);
        arena_deinit(&arena);
    }
}

static void expect_limit(Str text, TextFormat format, const char *limit)
{
    Arena arena;
    Error err;
    Node *root;
    ROW(limit);
    arena_init(&arena, SIZE_MAX);
    EXPECT_INT(node_read(&arena, text, format, &root, &err), ERR_LIMIT);
    EXPECT(strstr(err.text, limit) != NULL);
    arena_deinit(&arena);
}

TEST(bombs_are_refused_by_a_named_limit, "")
{
    static char deep[20000];
    memset(deep, '[', sizeof deep);
    expect_limit((Str){ deep, 10000 }, TEXT_YAML, "DEFINITION_DEPTH_MAX");
    expect_limit((Str){ deep, 10000 }, TEXT_JSON, "DEFINITION_DEPTH_MAX");
    Buf bomb;
    buf_init(&bomb, 1u << 20);
    buf_text(&bomb, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (unsigned i = 1; i < 10; i++) {
        buf_format(&bomb, "a%u: &a%u [", i, i);
        for (unsigned j = 0; j < 10; j++) buf_format(&bomb, "%s*a%u", j ? "," : "", i - 1);
        buf_text(&bomb, "]\n");
    }
    expect_limit(buf_peek(&bomb), TEXT_YAML, "DEFINITION_NODE_COUNT_MAX");
    buf_deinit(&bomb);
    char *large = calloc(1, DEFINITION_SIZE_MAX + 1);
    expect_limit((Str){ large, DEFINITION_SIZE_MAX + 1 }, TEXT_YAML, "DEFINITION_SIZE_MAX");
    free(large);
}
