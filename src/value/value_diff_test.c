#include "value/value_diff.h"

#include "harness/test.h"
#include "value/json.h"

TEST(what_differs_is_told_with_its_place, "")
{
    static const struct { const char *left, *right, *want; } rows[] = {
        { "{\"a\":1,\"b\":[1,2]}", "{\"a\":1,\"b\":[1,2]}", "[]" },
        { "1", "1.0", "[]" },
        { "1", "\"1\"", "[{\"left\":1,\"pointer\":\"/x\",\"right\":\"1\"}]" },
        { "{\"a\":1}", "{\"b\":2}", "[{\"left\":1,\"pointer\":\"/x/a\"},{\"pointer\":\"/x/b\",\"right\":2}]" },
        { "{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}", "[{\"left\":1,\"pointer\":\"/x/a~1b/~0\",\"right\":2}]" },
        { "[1,2,3]", "[1,5]", "[{\"left\":2,\"pointer\":\"/x/1\",\"right\":5},{\"left\":3,\"pointer\":\"/x/2\"}]" },
        { "{\"a\":null}", "{}", "[{\"left\":null,\"pointer\":\"/x/a\"}]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Value left, right;
        Error err;
        Buf text;
        arena_init(&arena, SIZE_MAX);
        buf_init(&text, 4096);
        ROW(rows[i].left);
        REQUIRE_OK(json_parse(&arena, str_of(rows[i].left), &left, &err), &err);
        REQUIRE_OK(json_parse(&arena, str_of(rows[i].right), &right, &err), &err);
        ValueDiff diff = { .list = { .arena = &arena }, .count_max = 10 };
        value_diff(&diff, STR("/x"), left, right);
        REQUIRE_OK(json_print(&text, value_list_array(&diff.list), JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&text), str_of(rows[i].want));
        EXPECT_INT(diff.total, diff.list.count);
        buf_deinit(&text);
        arena_deinit(&arena);
    }
}

TEST(beyond_the_bound_differences_are_counted_alone, "")
{
    Arena arena;
    Value left, right;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(json_parse(&arena, STR("[1,2,3,4]"), &left, &err), &err);
    REQUIRE_OK(json_parse(&arena, STR("[5,6,7,8]"), &right, &err), &err);
    ValueDiff diff = { .list = { .arena = &arena }, .count_max = 2 };
    value_diff(&diff, STR(""), left, right);
    EXPECT_INT(diff.list.count, 2);
    EXPECT_INT(diff.total, 4);
    arena_deinit(&arena);
}
