#include "value/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/random_value.h"
#include "harness/test.h"
#include "value/json.h"

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static Value number(Arena *arena, const char *text)
{
    return number_make(arena, str_of(text));
}

static Value parse(Arena *arena, const char *text)
{
    Value value = value_null();
    Error err = { 0 };
    EXPECT_OK(json_parse(arena, str_of(text), &value, &err), &err);
    return value;
}

/* --- make -------------------------------------------------------------------------------------------------------- */

TEST(a_value_is_sixteen_bytes, "")
{
    EXPECT_INT(sizeof(Value), 16);
    EXPECT_INT(sizeof(Member), 32);
}

TEST(kinds_have_the_names_that_people_know, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const struct { Value value; const char *name; } cases[] = {
        { value_null(), "null" },
        { value_bool(false), "boolean" },
        { value_int(1), "number" },
        { number(&arena, "1.5"), "number" },
        { value_string(STR("a")), "string" },
        { value_array(NULL, 0), "array" },
        { value_object(&arena, NULL, 0), "object" },
        { value_set(&arena, NULL, 0), "set" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_STR(str_of(value_kind_name(cases[i].value)), str_of(cases[i].name));
    EXPECT(value_is_number(value_int(0)) && value_is_number(number(&arena, "0.5")));
    EXPECT(!value_is_number(value_string(STR("1"))) && !value_is_number(value_bool(true)));
    EXPECT(value_is_true(value_bool(true)));
    EXPECT(!value_is_true(value_bool(false)) && !value_is_true(value_int(1)) && !value_is_true(value_string(STR("true"))));
    arena_deinit(&arena);
}

/* Both ways of sorting, few members and many, against the plain rule: the last of equal names counts. */
TEST(an_object_is_sorted_and_keeps_the_last_of_equal_keys, "")
{
    Random random = { 31 };
    for (uint32_t count = 0; count < 200; count++) {
        Arena arena, scratch;
        arena_init(&arena, SIZE_MAX);
        arena_init(&scratch, SIZE_MAX);
        Member *members = ARENA_ARRAY(&arena, Member, count);
        int64_t last[100];
        uint32_t distinct = 0, key_count = 1 + random_below(&random, 100);
        memset(last, -1, sizeof last);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t key = random_below(&random, key_count);
            distinct += last[key] < 0;
            last[key] = i;
            members[i] = (Member){ value_string(arena_format(&arena, "%u", key)), value_int(i) };
        }
        Value object = value_object(&scratch, members, count);
        arena_deinit(&scratch);                             /* used for sorting only */
        EXPECT_INT(object.count, distinct);
        for (uint32_t i = 1; i < object.count; i++)
            EXPECT(str_compare(value_text(object.members[i - 1].key), value_text(object.members[i].key)) < 0);
        for (uint32_t key = 0; key < 100; key++) {
            char name[16];
            snprintf(name, sizeof name, "%u", key);
            EXPECT_INT(value_get_int(object, name, -1), last[key]);
        }
        arena_deinit(&arena);
    }
}

TEST(a_set_is_sorted_without_repetitions, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value few[] = { value_string(STR("b")), value_int(2), value_null(), value_int(1), number(&arena, "2.0"), value_null() };
    Value set = value_set(&arena, few, 6);
    EXPECT_INT(set.count, 4);
    const Value want[] = { value_null(), value_int(1), value_int(2), value_string(STR("b")) };
    for (uint32_t i = 0; i < 4; i++) EXPECT(value_equals(set.items[i], want[i]));
    EXPECT(value_set_has(set, value_int(2)) && value_set_has(set, number(&arena, "20e-1")));
    EXPECT(!value_set_has(set, value_int(3)) && !value_set_has(set, value_bool(false)));
    EXPECT(!value_set_has(value_array(set.items, set.count), value_int(2)));        /* an array is no set */

    Value *many = ARENA_ARRAY(&arena, Value, 1000);
    for (uint32_t i = 0; i < 1000; i++) many[i] = value_int((i * 7919) % 500);
    set = value_set(&arena, many, 1000);
    EXPECT_INT(set.count, 500);
    for (uint32_t i = 0; i < 500; i++) EXPECT_INT(set.items[i].integer, i);
    for (int64_t i = -10; i < 510; i++) EXPECT_INT(value_set_has(set, value_int(i)), i >= 0 && i < 500);
    arena_deinit(&arena);
}

TEST(lists_grow_into_arrays_and_objects, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    ValueList items = { .arena = &arena };
    MemberList members = { .arena = &arena };
    EXPECT_INT(value_list_array(&items).count, 0);
    EXPECT_INT(member_list_object(&members).count, 0);
    for (int64_t i = 0; i < 1000; i++) {
        value_list_add(&items, value_int(i));
        member_list_add(&members, arena_format(&arena, "%d", (int)(999 - i)), value_int(i));
    }
    member_list_add(&members, STR("5"), value_int(-5));
    Value array = value_list_array(&items), object = member_list_object(&members);
    EXPECT_INT(array.count, 1000);
    for (uint32_t i = 0; i < 1000; i++) EXPECT_INT(array.items[i].integer, i);
    EXPECT_INT(object.count, 1000);
    EXPECT_INT(value_get_int(object, "999", 42), 0);
    EXPECT_INT(value_get_int(object, "5", 42), -5);
    arena_deinit(&arena);
}

/* The copy must not hold on to the arena it came from: that arena ends, and under AddressSanitizer touching it stops
 * the test. */
TEST(a_copy_outlives_the_arena_it_was_copied_from, "")
{
    Random random = { 41 };
    for (unsigned round = 0; round < 500; round++) {
        Arena from, to, again;
        arena_init(&from, SIZE_MAX);
        arena_init(&to, SIZE_MAX);
        arena_init(&again, SIZE_MAX);
        Random repeat = random;
        Value copy = value_copy(&to, random_value(&random, &from, RANDOM_ANY, 4));
        arena_reset(&from);
        memset(arena_alloc(&from, 10000), 0x5a, 10000);
        arena_deinit(&from);
        EXPECT(value_equals(copy, random_value(&repeat, &again, RANDOM_ANY, 4)));
        arena_deinit(&to);
        arena_deinit(&again);
    }
}

/* --- read -------------------------------------------------------------------------------------------------------- */

TEST(members_are_found_by_name_and_by_any_key, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value object = parse(&arena, "{\"b\":2,\"a\":1,\"\":0,\"ab\":12,\"\xc3\xa9\":5}");
    static const struct { Str key; int64_t want; } cases[] = {
        { STR_INIT("a"), 1 }, { STR_INIT("b"), 2 }, { STR_INIT("ab"), 12 }, { STR_INIT(""), 0 }, { STR_INIT("\xc3\xa9"), 5 },
        { STR_INIT("c"), -1 }, { STR_INIT("abc"), -1 }, { STR_INIT("a\0"), -1 }, { STR_INIT("A"), -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Value *member = value_get(object, cases[i].key);
        EXPECT_INT(member ? member->integer : -1, cases[i].want);
    }
    EXPECT_INT(value_get_text(object, "b")->integer, 2);
    EXPECT(value_get_text(object, "none") == NULL);
    const Value others[] = { value_null(), value_int(1), value_string(STR("a")), parse(&arena, "[\"a\"]") };
    for (size_t i = 0; i < 4; i++) EXPECT(value_get_text(others[i], "a") == NULL);

    Value key = parse(&arena, "[1,{\"x\":null}]");
    Member *members = ARENA_ARRAY(&arena, Member, 3);
    members[0] = (Member){ key, value_int(10) };
    members[1] = (Member){ number(&arena, "1.0"), value_int(11) };
    members[2] = (Member){ value_string(STR("1")), value_int(12) };
    object = value_object(&arena, members, 3);
    EXPECT_INT(value_lookup(object, parse(&arena, "[1.0,{\"x\":null}]"))->integer, 10);
    EXPECT_INT(value_lookup(object, value_int(1))->integer, 11);
    EXPECT_INT(value_get_text(object, "1")->integer, 12);
    EXPECT(value_lookup(object, value_null()) == NULL);
    arena_deinit(&arena);
}

TEST(a_member_of_another_type_gives_the_default, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value object = parse(&arena, "{\"text\":\"t\",\"int\":7,\"same\":7.0,\"half\":7.5,\"huge\":1e30,\"yes\":true,\"no\":false,"
                                 "\"null\":null}");
    static const struct { const char *key, *text; int64_t integer; bool truth; } cases[] = {
        { "text", "t", -1, true },  { "int", "else", 7, true },   { "same", "else", 7, true },
        { "half", "else", -1, true }, { "huge", "else", -1, true }, { "yes", "else", -1, true },
        { "no", "else", -1, false }, { "null", "else", -1, true }, { "absent", "else", -1, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].key);
        EXPECT_STR(value_get_string(object, cases[i].key, STR("else")), str_of(cases[i].text));
        EXPECT_INT(value_get_int(object, cases[i].key, -1), cases[i].integer);
        EXPECT_INT(value_get_bool(object, cases[i].key, true), cases[i].truth);
    }
    EXPECT(!value_get_bool(object, "absent", false));
    EXPECT(value_get_bool(object, "yes", false));
    EXPECT_INT(value_get_int(value_null(), "int", 3), 3);
    arena_deinit(&arena);
}

/* --- compare ----------------------------------------------------------------------------------------------------- */

TEST(the_total_order_is_the_one_that_is_written_down, "")
{
    static const char *const ascending[] = {
        "null", "false", "true", "-1e400", "-2", "-1.5", "-1", "0", "1e-400", "1", "9007199254740992.0",
        "9007199254740993", "1e400", "\"\"", "\"\\u0000\"", "\"a\"", "\"a\\u0000\"", "\"aa\"", "\"b\"", "\"\xef\xbf\xbd\"",
        "\"\xf0\x9f\x98\x80\"", "[]", "[null]", "[null,null]", "[1]", "[1,2]", "[1,[]]", "[2]", "[[]]", "{}", "{\"a\":1}",
        "{\"a\":1,\"b\":0}", "{\"a\":2}", "{\"b\":0}", "{\"b\":[]}",
    };
    enum { JSON_COUNT = sizeof ascending / sizeof *ascending, COUNT = JSON_COUNT + 4 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value values[COUNT];
    for (size_t i = 0; i < JSON_COUNT; i++) values[i] = parse(&arena, ascending[i]);
    static Value one[] = { { .kind = VALUE_INT, .integer = 1 } };
    static Value two[] = { { .kind = VALUE_INT, .integer = 1 }, { .kind = VALUE_INT, .integer = 2 } };
    static Value other[] = { { .kind = VALUE_INT, .integer = 2 } };
    values[JSON_COUNT] = value_set(&arena, NULL, 0);            /* sets come behind everything else */
    values[JSON_COUNT + 1] = value_set(&arena, one, 1);
    values[JSON_COUNT + 2] = value_set(&arena, two, 2);
    values[JSON_COUNT + 3] = value_set(&arena, other, 1);
    for (size_t i = 0; i < COUNT; i++) {
        ROW(i < JSON_COUNT ? ascending[i] : "sets");
        for (size_t j = 0; j < COUNT; j++) {
            EXPECT_INT(sign(value_compare(values[i], values[j])), (i > j) - (i < j));
            EXPECT_INT(value_equals(values[i], values[j]), i == j);
        }
    }
    arena_deinit(&arena);
}

/* A total order: exactly one of <, =, > in both directions, and what is below something below is below. */
TEST(the_order_of_random_values_is_total, "")
{
    enum { COUNT = 60 };
    Random random = { 51 };
    unsigned equal = 0;
    for (unsigned round = 0; round < 25; round++) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Value values[COUNT];
        static int order[COUNT][COUNT];
        for (unsigned i = 0; i < COUNT; i++) values[i] = random_value(&random, &arena, RANDOM_ANY, i % 4);
        for (unsigned i = 0; i < COUNT; i++)
            for (unsigned j = 0; j < COUNT; j++) order[i][j] = sign(value_compare(values[i], values[j]));
        for (unsigned i = 0; i < COUNT; i++) {
            EXPECT_INT(order[i][i], 0);
            for (unsigned j = 0; j < COUNT; j++) {
                EXPECT_INT(order[i][j], -order[j][i]);
                EXPECT_INT(value_equals(values[i], values[j]), order[i][j] == 0);
                equal += i != j && order[i][j] == 0;
                for (unsigned k = 0; k < COUNT; k++)
                    if (order[i][j] <= 0 && order[j][k] <= 0)
                        EXPECT(order[i][k] <= 0 && (order[i][k] == 0) == (order[i][j] == 0 && order[j][k] == 0));
            }
        }
        arena_deinit(&arena);
    }
    EXPECT(equal > 100);                                        /* equal pairs must come up, or they are not tested */
}
