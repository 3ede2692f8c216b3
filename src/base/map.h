/* map.h - from a name to a number, once written and often read.
 *
 * Open addressing over borrowed keys. The hash is SipHash under a fixed key: answers never depend on it (there is no
 * iteration), and a file of a hundred thousand colliding names cannot be written by hand.
 *
 * Owns:   its table, in the arena given to map_init(). Keys are borrowed and must outlive it.
 * Fails:  never; the arena is bounded by what was read.     Thread: one writer, then any number of readers.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct MapSlot MapSlot;

typedef struct Map {
    Arena *arena;
    MapSlot *slots;
    uint32_t count, capacity;           /* capacity is 0 or a power of two */
} Map;

void map_init(Map *map, Arena *arena, uint32_t count_expected);
/* Adds the pair and returns true; where the key exists nothing changes, and *out_old (if not NULL) is its number. */
bool map_add(Map *map, Str key, uint32_t number, uint32_t *out_old);
bool map_find(const Map *map, Str key, uint32_t *out_number);

#endif
