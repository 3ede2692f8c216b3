/* arena.h - memory by lifetime: many allocations, one end.
 *
 * An arena belongs to one life (a process, a run, a batch, a request, one call). Nothing in it is freed by itself;
 * arena_reset() ends that life at once and keeps the first block for the next one.
 *
 * Owns:   its blocks, until arena_deinit().
 * Fails:  arena_alloc() never returns NULL: sizes were bounded at the door, and a machine out of memory stops the
 *         process (the ledger makes that safe). Where input decides the size, arena_try() returns NULL once the arena's
 *         own limit is reached, or arena_fits() is asked before; the caller turns that into ERR_LIMIT.
 * Bounds: size_max of arena_init(), block headers included; SIZE_MAX means none.     Thread: one at a time.
 *
 * Under AddressSanitizer what was not given out is poisoned: reading past an allocation, or after arena_reset(), stops
 * the test.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
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
bool  arena_fits(const Arena *arena, size_t size);                  /* one allocation of that size would succeed */
/* Neither zeroed nor aligned: for text that the caller writes at once. */
char *arena_bytes(Arena *arena, size_t size);
/* An array grown to twice its capacity, the old one left to the arena; sets *capacity. */
void *arena_grow(Arena *arena, void *items, size_t item_size, size_t count, size_t *capacity);
void *arena_copy_items(Arena *arena, const void *items, size_t size);   /* aligned for any type */
Str arena_copy(Arena *arena, Str text);                             /* bytes copied, and a NUL behind them */
Str arena_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
Str arena_format_args(Arena *arena, const char *format, va_list args);      /* the same for functions of many arguments */

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc(arena, sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc(arena, sizeof(Type) * (count)))

#endif
