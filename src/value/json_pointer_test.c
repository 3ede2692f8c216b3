#include "harness/test.h"
#include "value/json.h"
#include "value/json_pointer.h"

TEST(a_pointer_escapes_tilde_and_slash_and_nothing_else, "")
{
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    json_pointer_add(&buf, STR("a/b~c"));
    json_pointer_add(&buf, STR(""));
    json_pointer_add(&buf, STR("\"%"));
    json_pointer_add_index(&buf, 12);
    EXPECT_STR(buf_peek(&buf), STR("/a~1b~0c//\"%/12"));
}

TEST(a_place_below_another_is_escaped_whole, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT_STR(json_pointer_below(&arena, STR("/steps"), STR("~/")), STR("/steps/~0~1"));
    EXPECT_STR(json_pointer_below(&arena, STR(""), STR("")), STR("/"));
    arena_deinit(&arena);
}

TEST(a_pointer_comes_apart_into_the_tokens_it_was_made_of, "")
{
    Str pointer = STR("/a~1b~0c//~01/12");
    static const char *const want[] = { "a/b~c", "", "~1", "12" };
    char storage[64];
    Buf token = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        REQUIRE(json_pointer_next(&pointer, &token));
        EXPECT_STR(buf_peek(&token), str_of(want[i]));
    }
    EXPECT(!json_pointer_next(&pointer, &token));
}

TEST(only_pointers_with_whole_escapes_are_valid, "")
{
    static const struct { const char *text; bool want; } rows[] = {
        { "", true }, { "/", true }, { "/a~0/~1", true }, { "a", false }, { "/~", false }, { "/a~2", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].text);
        EXPECT_INT(json_pointer_is_valid(str_of(rows[i].text)), rows[i].want);
    }
}

TEST(a_step_finds_members_by_name_and_items_by_plain_index, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value;
    REQUIRE_OK(json_parse(&arena, STR("{\"list\":[10,11],\"0\":12}"), &value, NULL), NULL);
    const Value *list = json_pointer_step(value, STR("list"));
    REQUIRE(list != NULL);
    EXPECT_INT(json_pointer_step(*list, STR("1"))->integer, 11);
    EXPECT_INT(json_pointer_step(value, STR("0"))->integer, 12);
    static const char *const wrong[] = { "2", "01", "-", "", "1x", "18446744073709551617" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ROW(wrong[i]);
        EXPECT(json_pointer_step(*list, str_of(wrong[i])) == NULL);
    }
    EXPECT(json_pointer_step(value, STR("none")) == NULL);
    EXPECT(json_pointer_step(value_int(1), STR("0")) == NULL);
    arena_deinit(&arena);
}
