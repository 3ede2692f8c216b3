#include "rego/builtins/cache.h"

#include "base/limits.h"

static void cache_begin(BuiltinCache *cache)
{
    for (int kind = 0; kind < CACHE_KIND_COUNT; kind++) map_init(&cache->maps[kind], &cache->arena, 0);
    cache->items = NULL;
    cache->item_count = cache->item_capacity = 0;
}

void builtin_cache_init(BuiltinCache *cache)
{
    arena_init(&cache->arena, SIZE_MAX);
    cache_begin(cache);
}

void builtin_cache_deinit(BuiltinCache *cache)
{
    arena_deinit(&cache->arena);
}

void *builtin_cache_find(const BuiltinCache *cache, CacheKind kind, Str key)
{
    uint32_t index;
    return map_find(&cache->maps[kind], key, &index) ? cache->items[index] : NULL;
}

Arena *builtin_cache_arena(BuiltinCache *cache)
{
    if (cache->item_count == BUILTIN_CACHE_COUNT_MAX || cache->arena.size > BUILTIN_CACHE_SIZE_MAX) {
        arena_reset(&cache->arena);
        cache_begin(cache);
    }
    return &cache->arena;
}

void builtin_cache_add(BuiltinCache *cache, CacheKind kind, Str key, void *item)
{
    if (!map_add(&cache->maps[kind], arena_copy(&cache->arena, key), (uint32_t)cache->item_count, NULL)) return;
    cache->items = arena_grow(&cache->arena, cache->items, sizeof *cache->items, cache->item_count,
                              &cache->item_capacity);
    cache->items[cache->item_count++] = item;
}
