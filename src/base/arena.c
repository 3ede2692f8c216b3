#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#define ARENA_ALIGN 16u

struct ArenaBlock {
    ArenaBlock *older;
    size_t size;                /* of the whole block, this header included */
};

static_assert(sizeof(ArenaBlock) % ARENA_ALIGN == 0, "the first allocation of a block must be aligned");

void arena_init(Arena *arena, size_t size_max)
{
    *arena = (Arena){ .size_max = size_max };
}

void arena_deinit(Arena *arena)
{
    for (ArenaBlock *block = arena->block; block;) {
        ArenaBlock *older = block->older;
        free(block);
        block = older;
    }
    *arena = (Arena){ .size_max = arena->size_max };
}

static void block_use(Arena *arena, ArenaBlock *block)
{
    arena->block = block;
    arena->free = (char *)block + sizeof *block;
    arena->end = (char *)block + block->size;
}

void arena_reset(Arena *arena)
{
    ArenaBlock *block = arena->block;
    if (!block) return;
    while (block->older) {
        ArenaBlock *older = block->older;
        arena->size -= block->size;
        free(block);
        block = older;
    }
    block_use(arena, block);
}

static void *block_add(Arena *arena, size_t size)
{
    size_t block_size = arena->block ? arena->block->size * 2 : ARENA_BLOCK_SIZE;
    if (block_size > ARENA_BLOCK_SIZE_MAX) block_size = ARENA_BLOCK_SIZE_MAX;
    size_t needed = size + sizeof(ArenaBlock);
    if (block_size < needed) block_size = needed;
    if (block_size > arena->size_max || arena->size > arena->size_max - block_size) {
        block_size = needed;            /* the last block of a limited arena may be smaller than usual */
        if (block_size > arena->size_max || arena->size > arena->size_max - block_size) return NULL;
    }
    ArenaBlock *block = malloc(block_size);
    CHECK(block != NULL);
    block->older = arena->block;
    block->size = block_size;
    arena->size += block_size;
    block_use(arena, block);
    char *result = arena->free;
    arena->free += size;
    return result;
}

void *arena_try(Arena *arena, size_t size)
{
    CHECK(size < SIZE_MAX / 2);
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    char *result = arena->free;
    if ((size_t)(arena->end - arena->free) >= size) arena->free += size;
    else result = block_add(arena, size);
    if (result && size) memset(result, 0, size);
    return result;
}

void *arena_alloc(Arena *arena, size_t size)
{
    void *result = arena_try(arena, size);
    CHECK(result != NULL || size == 0);
    return result;
}

void *arena_grow(Arena *arena, void *items, size_t item_size, size_t count, size_t *capacity)
{
    if (count < *capacity) return items;
    size_t grown = *capacity ? *capacity * 2 : 8;
    CHECK(grown < SIZE_MAX / item_size / 2);
    void *result = arena_alloc(arena, grown * item_size);
    if (count) memcpy(result, items, count * item_size);
    *capacity = grown;
    return result;
}

Str arena_copy(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    if (text.len) memcpy(copy, text.ptr, text.len);
    return (Str){ copy, text.len };
}

Str arena_format(Arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(size >= 0);
    char *text = arena_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return (Str){ text, (size_t)size };
}
