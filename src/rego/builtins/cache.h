/* cache.h - what builtins keep from one call to the next: compiled patterns, parsed schemas.
 *
 * A policy calls regex.match with the same pattern for every item of a list; reading the pattern each time would cost more
 * than matching. A cache belongs to one thread and may outlive an evaluation: what it holds changes how long an answer
 * takes, never the answer and never what is charged for it, so builtins charge for a hit as for a miss.
 *
 * Owns:   all items, in an arena of its own, until builtin_cache_deinit().
 * Fails:  never; when it is full everything is forgotten at once.
 * Bounds: BUILTIN_CACHE_COUNT_MAX items; BUILTIN_CACHE_SIZE_MAX bytes, by which one item more may cross it.
 * Thread: one at a time. A cache is not moved while it is in use: it holds pointers to itself.
 */
#ifndef REGO_BUILTINS_CACHE_H
#define REGO_BUILTINS_CACHE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

typedef enum CacheKind {
    CACHE_REGEX,            /* by pattern */
    CACHE_SCHEMA,           /* json.match_schema: by the schema's text */
    CACHE_GRAPHQL,          /* graphql.*: by the schema's text */
    CACHE_KIND_COUNT
} CacheKind;

typedef struct BuiltinCache {
    Arena arena;
    Map maps[CACHE_KIND_COUNT];         /* from the key to a place in `items` */
    void **items;
    size_t item_count, item_capacity;
} BuiltinCache;

void builtin_cache_init(BuiltinCache *cache);
void builtin_cache_deinit(BuiltinCache *cache);

/* The item added under that key, or NULL. It is valid until builtin_cache_arena() is called again: a builtin that holds one
 * must not call another builtin that could add one. */
void *builtin_cache_find(const BuiltinCache *cache, CacheKind kind, Str key);
/* Where a new item is to be made. Forgets everything first where there is no room for one more. */
Arena *builtin_cache_arena(BuiltinCache *cache);
/* Adds an item made in that arena; the key is copied. */
void builtin_cache_add(BuiltinCache *cache, CacheKind kind, Str key, void *item);

#endif
