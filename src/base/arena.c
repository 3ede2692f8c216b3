#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

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

static void block_free(ArenaBlock *block)
{
    ASAN_UNPOISON_MEMORY_REGION(block, block->size);
    free(block);
}

void arena_deinit(Arena *arena)
{
    for (ArenaBlock *block = arena->block; block;) {
        ArenaBlock *older = block->older;
        block_free(block);
        block = older;
    }
    *arena = (Arena){ .size_max = arena->size_max };
}

static void block_use(Arena *arena, ArenaBlock *block)
{
    arena->block = block;
    arena->free = (char *)block + sizeof *block;
    arena->end = (char *)block + block->size;
    ASAN_POISON_MEMORY_REGION(arena->free, block->size - sizeof *block);
}

void arena_reset(Arena *arena)
{
    ArenaBlock *block = arena->block;
    if (!block) return;
    while (block->older) {
        ArenaBlock *older = block->older;
        arena->size -= block->size;
        block_free(block);
        block = older;
    }
    block_use(arena, block);
}

/* A new block with room for `size`, or false beyond the limit. Blocks double; the last one of a limited arena takes
 * what is left, so that many small allocations do not each become a block. */
static bool block_add(Arena *arena, size_t size)
{
    size_t block_size = arena->block ? arena->block->size * 2 : ARENA_BLOCK_SIZE;
    size_t needed = size + sizeof(ArenaBlock);
    size_t left = arena->size_max - arena->size;
    if (block_size > ARENA_BLOCK_SIZE_MAX) block_size = ARENA_BLOCK_SIZE_MAX;
    if (block_size < needed) block_size = needed;
    if (block_size > left) block_size = left;
    if (block_size < needed) return false;
    ArenaBlock *block = malloc(block_size);
    CHECK(block != NULL);
    block->older = arena->block;
    block->size = block_size;
    arena->size += block_size;
    block_use(arena, block);
    return true;
}

/* Bytes of the present block that an allocation of that size would take, its alignment included. */
static size_t size_in_block(const Arena *arena, size_t size, size_t align)
{
    CHECK(size < SIZE_MAX / 2);
    return size + (-(uintptr_t)arena->free & (align - 1));
}

static bool block_fits(const Arena *arena, size_t size)
{
    return arena->block && size <= (size_t)(arena->end - arena->free);
}

/* The one allocator: not zeroed, NULL beyond the limit. */
static inline void *take(Arena *arena, size_t size, size_t align)
{
    size_t taken = size_in_block(arena, size, align);
    if (__builtin_expect(!block_fits(arena, taken), 0)) {
        if (!block_add(arena, size)) return NULL;
        taken = size;                   /* a block begins aligned */
    }
    char *result = arena->free + (taken - size);
    arena->free += taken;
    ASAN_UNPOISON_MEMORY_REGION(result, size);
    return result;
}

bool arena_fits(const Arena *arena, size_t size)
{
    return block_fits(arena, size_in_block(arena, size, ARENA_ALIGN))
        || (arena->size_max - arena->size >= sizeof(ArenaBlock)
            && size <= arena->size_max - arena->size - sizeof(ArenaBlock));
}

void *arena_try(Arena *arena, size_t size)
{
    void *result = take(arena, size, ARENA_ALIGN);
    if (result) memset(result, 0, size);
    return result;
}

void *arena_alloc(Arena *arena, size_t size)
{
    void *result = arena_try(arena, size);
    CHECK(result != NULL);
    return result;
}

char *arena_bytes(Arena *arena, size_t size)
{
    char *result = take(arena, size, 1);
    CHECK(result != NULL);
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

void *arena_copy_items(Arena *arena, const void *items, size_t size)
{
    void *copy = take(arena, size, ARENA_ALIGN);
    CHECK(copy != NULL);
    if (size) memcpy(copy, items, size);
    return copy;
}

Str arena_copy(Arena *arena, Str text)
{
    char *copy = arena_bytes(arena, text.len + 1);
    if (text.len) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return (Str){ copy, text.len };
}

Str arena_format(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_args(arena, format, args);
    va_end(args);
    return text;
}

Str arena_format_args(Arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    CHECK(size >= 0);
    char *text = arena_bytes(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return (Str){ text, (size_t)size };
}
