#include "base/map.h"

#include <stdint.h>

#include "harness/test.h"

static Str key_of(Arena *arena, uint32_t number)
{
    return arena_format(arena, "task-%u", number);
}

/* Far past the first capacity: the map grows a dozen times, and among so many keys some share a slot and some, by the
 * birthday rule, even the whole 32-bit hash. */
TEST(map_finds_each_of_a_hundred_thousand_keys, "")
{
    enum { COUNT = 100000 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (uint32_t expected = 0; expected <= COUNT; expected += COUNT) {
        ROW(expected ? "with the count told before" : "growing from nothing");
        Map map;
        map_init(&map, &arena, expected);
        uint32_t capacity = map.capacity;
        for (uint32_t i = 0; i < COUNT; i++) EXPECT(map_add(&map, key_of(&arena, i), i, NULL));
        EXPECT_INT(map.count, COUNT);
        if (expected) EXPECT_INT(map.capacity, capacity);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t number = UINT32_MAX;
            EXPECT(map_find(&map, key_of(&arena, i), &number));
            EXPECT_INT(number, i);
        }
        for (uint32_t i = COUNT; i < 2 * COUNT; i++) {
            uint32_t number = 42;
            EXPECT(!map_find(&map, key_of(&arena, i), &number));
            EXPECT_INT(number, 42);
        }
    }
    arena_deinit(&arena);
}

TEST(map_keeps_the_first_number_of_a_key, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Map map;
    map_init(&map, &arena, 0);
    uint32_t old = 99, number = 0;
    EXPECT(map_add(&map, STR("key"), 1, &old));
    EXPECT_INT(old, 99);                                /* written only where there was one */
    EXPECT(!map_add(&map, STR("key"), 2, &old));
    EXPECT_INT(old, 1);
    EXPECT(!map_add(&map, STR("key"), 3, NULL));
    EXPECT(map_find(&map, STR("key"), &number));
    EXPECT_INT(number, 1);
    EXPECT_INT(map.count, 1);
    arena_deinit(&arena);
}

TEST(map_keys_are_bytes_and_length, "")
{
    static const Str keys[] = {
        STR_INIT(""), STR_INIT("a"), STR_INIT("a\0"), STR_INIT("a\0b"), STR_INIT("ab"), STR_INIT("A"),
        STR_INIT("\0"), STR_INIT("\xc3\xa9"), STR_INIT("\xe9"),
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Map map;
    map_init(&map, &arena, 0);
    uint32_t number = 0;
    EXPECT(!map_find(&map, STR("a"), &number));         /* an empty map has no key */
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) EXPECT(map_add(&map, keys[i], i, NULL));
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        EXPECT(map_find(&map, keys[i], &number));
        EXPECT_INT(number, i);
    }
    EXPECT(!map_add(&map, (Str){ NULL, 0 }, 77, &number));      /* an empty slice by any pointer is one key */
    EXPECT_INT(number, 0);
    EXPECT(!map_find(&map, STR("abc"), &number));
    arena_deinit(&arena);
}
