#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/yaml_read.h"
#include "value/json.h"

TEST(yaml_becomes_values, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "", "null" },
        { "~", "null" },
        { "a: 1\nb: [x, 'y', \"z\\n\"]", "{\"a\":1,\"b\":[\"x\",\"y\",\"z\\n\"]}" },
        { "- true\n- False\n- yes\n- NULL", "[true,false,\"yes\",null]" },
        { "- 1\n- -2\n- +3\n- 007\n- 1_000", "[1,-2,3,7,1000]" },
        { "- 0x1F\n- 0o17\n- 0b101\n- 0xg", "[31,15,5,\"0xg\"]" },
        { "- 1.5\n- .5\n- 1.\n- 1e3\n- -2.5E-1", "[1.5,0.5,1,1000,-0.25]" },
        { "- 2024-01-02\n- 1.2.3\n- .", "[\"2024-01-02\",\"1.2.3\",\".\"]" },
        { "- '1'\n- \"true\"\n- !!int \"1\"", "[\"1\",\"true\",1]" },
        { "1: a\ntrue: b", "{\"1\":\"a\",\"true\":\"b\"}" },
        { "a: &x {k: 1}\nb: *x", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}" },
        { "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3", "{\"a\":{\"k\":1,\"l\":2},\"b\":{\"k\":1,\"l\":3}}" },
        { "a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}" },
        { "a:\nb:", "{\"a\":null,\"b\":null}" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Error err = { 0 };
        Value value = value_null();
        char storage[256];
        Buf buf = buf_on(storage, sizeof storage);
        EXPECT_OK(yaml_value_read(&arena, str_of(cases[i].text), &value, &err), &err);
        EXPECT_OK(json_print(&buf, value, JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].want));
    }
    arena_deinit(&arena);
}

TEST(wrong_yaml_is_refused_with_its_place, "")
{
    static const struct { const char *text; Status status; uint32_t line; } cases[] = {
        { "a: b: c", ERR_INVALID, 1 },
        { "a: 1\n- b", ERR_INVALID, 2 },
        { "a: [1, 2", ERR_INVALID, 1 },
        { "[1]: 2", ERR_INVALID, 1 },
        { "a: *x", ERR_INVALID, 1 },
        { "<<: 1", ERR_INVALID, 1 },
        { "a: &x [*x]", ERR_INVALID, 1 },
        { "a:\n- .inf", ERR_INVALID, 2 },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Error err = { 0 };
        Value value;
        EXPECT_INT(yaml_value_read(&arena, str_of(cases[i].text), &value, &err), cases[i].status);
        EXPECT(err.line >= cases[i].line);
    }
    arena_deinit(&arena);
}

TEST(aliases_that_multiply_are_refused, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    char storage[4096];
    Buf buf = buf_on(storage, sizeof storage);
    buf_text(&buf, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        buf_format(&buf, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) buf_format(&buf, "%s*a%d", j ? ", " : "", i - 1);
        buf_text(&buf, "]\n");
    }
    Error err;
    Value value;
    EXPECT_INT(yaml_value_read(&arena, buf_peek(&buf), &value, &err), ERR_LIMIT);
    EXPECT(strstr(err.text, "REGO_YAML_NODE_COUNT_MAX") != NULL);
    arena_deinit(&arena);
}
