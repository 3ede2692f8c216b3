#include "base/arena.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/random.h"
#include "harness/test.h"

#define HEADER_SIZE 16u                 /* of a block, which counts against the limit */

static bool is_aligned(const void *pointer)
{
    return ((uintptr_t)pointer & 15) == 0;
}

static bool is_filled(const char *bytes, char with, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != with) return false;
    return true;
}

TEST(arena_allocations_are_zeroed_aligned_and_apart, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Random random = { 7 };
    enum { COUNT = 2000 };
    static struct { char *at; size_t size; } made[COUNT];
    for (int life = 0; life < 3; life++) {              /* the second life finds the first one's bytes in its block */
        for (unsigned i = 0; i < COUNT; i++) {
            made[i].size = random_below(&random, i % 50 ? 200 : 100000);
            made[i].at = arena_alloc(&arena, made[i].size);
            EXPECT(is_aligned(made[i].at));
            EXPECT(is_filled(made[i].at, 0, made[i].size));
            memset(made[i].at, (int)(i % 255 + 1), made[i].size);
        }
        for (unsigned i = 0; i < COUNT; i++) EXPECT(is_filled(made[i].at, (char)(i % 255 + 1), made[i].size));
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

TEST(arena_never_answers_null_for_no_bytes, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT(arena_alloc(&arena, 0) != NULL);
    EXPECT(arena_try(&arena, 0) != NULL);
    EXPECT(arena_bytes(&arena, 0) != NULL);
    EXPECT(arena_copy_items(&arena, NULL, 0) != NULL);
    arena_deinit(&arena);
}

TEST(arena_stops_at_its_limit_and_uses_what_it_has, "")
{
    static const struct { const char *name; size_t size_max, step, count; } cases[] = {
        { "no room at all", 0, 1, 0 },
        { "room for a header only", HEADER_SIZE, 1, 0 },
        { "one byte", HEADER_SIZE + 1, 1, 1 },
        { "the first allocation exactly", HEADER_SIZE + 64, 64, 1 },
        { "one byte too few", HEADER_SIZE + 63, 64, 0 },
        { "several in a small block", HEADER_SIZE + 160, 16, 10 },
        { "a last block smaller than usual", ARENA_BLOCK_SIZE + HEADER_SIZE + 1600, 16, (ARENA_BLOCK_SIZE - 16) / 16 + 100 },
        { "blocks larger than usual", 3 * (HEADER_SIZE + (1u << 20)), 1u << 20, 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, cases[i].size_max);
        for (int life = 0; life < 2; life++) {
            size_t count = 0;
            while (count < 100000 && arena_fits(&arena, cases[i].step)) {
                EXPECT(arena_try(&arena, cases[i].step) != NULL);
                count++;
            }
            EXPECT_INT(count, cases[i].count);
            EXPECT(arena_try(&arena, cases[i].step) == NULL);
            EXPECT(arena_try(&arena, SIZE_MAX / 4) == NULL);
            EXPECT(arena.size <= cases[i].size_max);
            arena_reset(&arena);                        /* what was refused before is granted again */
        }
        arena_deinit(&arena);
        EXPECT_INT(arena.size, 0);
        EXPECT_INT(arena.size_max, cases[i].size_max);
    }
}

TEST(arena_fits_tells_what_try_will_answer, "")
{
    Random random = { 11 };
    for (unsigned round = 0; round < 300; round++) {
        Arena arena;
        arena_init(&arena, random_below(&random, 400000));
        for (unsigned i = 0; i < 100; i++) {
            size_t size = random_below(&random, i % 10 ? 3000 : 100000);
            if (random_below(&random, 2) && arena_fits(&arena, size)) arena_bytes(&arena, size % 17);
            bool fits = arena_fits(&arena, size);
            EXPECT_INT(arena_try(&arena, size) != NULL, fits);
        }
        arena_deinit(&arena);
    }
}

TEST(arena_reset_keeps_the_first_block_alone, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    arena_reset(&arena);                                /* before the first block: nothing to do */
    void *first = arena_alloc(&arena, 100);
    EXPECT_INT(arena.size, ARENA_BLOCK_SIZE);
    for (unsigned i = 0; i < 100; i++) arena_alloc(&arena, 60000);
    EXPECT(arena.size > 100u * 60000);
    arena_reset(&arena);
    EXPECT_INT(arena.size, ARENA_BLOCK_SIZE);
    EXPECT(arena_alloc(&arena, 100) == first);
    arena_deinit(&arena);
    EXPECT(arena_alloc(&arena, 1) != NULL);             /* it may be used again after its end */
    arena_deinit(&arena);
}

TEST(arena_blocks_double_up_to_their_maximum, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    size_t want = ARENA_BLOCK_SIZE, total = 0;
    for (unsigned i = 0; i < 12; i++) {
        size_t before = arena.size;
        while (arena.size == before) arena_alloc(&arena, 1024);
        EXPECT_INT(arena.size - before, want);
        total += want;
        if (want < ARENA_BLOCK_SIZE_MAX) want *= 2;
    }
    EXPECT_INT(arena.size, total);
    arena_deinit(&arena);
}

TEST(arena_grow_doubles_and_keeps_the_items, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t *before = items;
        size_t capacity_before = capacity;
        items = arena_grow(&arena, items, sizeof *items, i, &capacity);
        if (i < capacity_before) EXPECT(items == before && capacity == capacity_before);
        else EXPECT_INT(capacity, capacity_before ? 2 * capacity_before : 8);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) EXPECT_INT(items[i], i);
    arena_deinit(&arena);
}

TEST(arena_copies_are_independent_and_end_with_nul, "")
{
    static const struct { const char *name; Str text; } cases[] = {
        { "a word", STR_INIT("maestro") },
        { "no bytes", STR_INIT("") },
        { "no pointer", { NULL, 0 } },
        { "a NUL inside", STR_INIT("a\0b") },
        { "sixteen bytes", STR_INIT("0123456789abcdef") },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Str copy = arena_copy(&arena, cases[i].text);
        EXPECT(copy.ptr != cases[i].text.ptr);
        EXPECT_STR(copy, cases[i].text);
        EXPECT_INT(copy.ptr[copy.len], 0);
    }
    uint64_t numbers[] = { 1, UINT64_MAX, 3 };
    arena_bytes(&arena, 3);
    uint64_t *copy = arena_copy_items(&arena, numbers, sizeof numbers);
    numbers[1] = 0;
    EXPECT(is_aligned(copy));
    EXPECT(copy[0] == 1 && copy[1] == UINT64_MAX && copy[2] == 3);
    arena_deinit(&arena);
}

TEST(arena_bytes_lie_side_by_side, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    char *a = arena_bytes(&arena, 3), *b = arena_bytes(&arena, 5), *c = arena_bytes(&arena, 1);
    EXPECT(b == a + 3);
    EXPECT(c == b + 5);
    EXPECT(is_aligned(arena_alloc(&arena, 1)));
    arena_deinit(&arena);
}

TEST(arena_format_has_no_length_of_its_own, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT_STR(arena_format(&arena, "%s-%u", "step", 7u), STR("step-7"));
    EXPECT_STR(arena_format(&arena, "%s", ""), STR(""));
    Str longer = arena_format(&arena, "%0100000d", 1);
    EXPECT_INT(longer.len, 100000);
    EXPECT_INT(longer.ptr[99999], '1');
    EXPECT_INT(longer.ptr[100000], 0);
    arena_deinit(&arena);
}
