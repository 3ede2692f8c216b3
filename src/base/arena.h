/* arena.h - memory by lifetime: many allocations, one end.
 *
 * An arena belongs to one life (a process, a run, a batch, a request, one call). Nothing in it is freed by itself;
 * arena_reset() ends that life at once and keeps the first block for the next one.
 *
 * Owns:   its blocks, until arena_deinit().
 * Fails:  arena_alloc() never returns NULL: sizes were bounded at the door, and a machine out of memory stops the
 *         process (the ledger makes that safe). arena_try() is for sizes that input decides: it returns NULL once the
 *         arena's own limit is reached, which the caller turns into ERR_LIMIT.
 * Bounds: size_max of arena_init(); SIZE_MAX means none.     Thread: one at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/str.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *block;          /* the one being filled; older ones hang behind it */
    char *free, *end;           /* what is left of it */
    size_t size, size_max;      /* bytes of all blocks, and how many there may be */
} Arena;

void arena_init(Arena *arena, size_t size_max);
void arena_reset(Arena *arena);         /* everything allocated is gone; the first block stays */
void arena_deinit(Arena *arena);

void *arena_alloc(Arena *arena, size_t size);                       /* zeroed, aligned for any type */
void *arena_try(Arena *arena, size_t size);                         /* the same, or NULL beyond size_max */
/* An array grown to twice its capacity, the old one left to the arena; sets *capacity. */
void *arena_grow(Arena *arena, void *items, size_t item_size, size_t count, size_t *capacity);
Str arena_copy(Arena *arena, Str text);                             /* bytes copied, and a NUL behind them */
Str arena_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc(arena, sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc(arena, sizeof(Type) * (count)))

#endif
