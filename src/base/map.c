#include "base/map.h"

#include <sodium/crypto_shorthash.h>
#include <string.h>

#include "base/check.h"

struct MapSlot {
    Str key;
    uint32_t hash;
    uint32_t number;
    bool used;
};

static uint32_t key_hash(Str key)
{
    static const unsigned char fixed[crypto_shorthash_KEYBYTES] = "maestro-map-key";
    unsigned char digest[crypto_shorthash_BYTES];
    uint32_t hash;
    crypto_shorthash(digest, (const unsigned char *)key.ptr, key.len, fixed);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

static void map_resize(Map *map, uint32_t capacity)
{
    MapSlot *old = map->slots;
    uint32_t old_capacity = map->capacity;
    map->slots = ARENA_ARRAY(map->arena, MapSlot, capacity);
    map->capacity = capacity;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (!old[i].used) continue;
        uint32_t at = old[i].hash & (capacity - 1);
        while (map->slots[at].used) at = (at + 1) & (capacity - 1);
        map->slots[at] = old[i];
    }
}

void map_init(Map *map, Arena *arena, uint32_t count_expected)
{
    *map = (Map){ .arena = arena };
    uint32_t capacity = 16;
    CHECK(count_expected < (1u << 29));
    while (capacity < count_expected * 2) capacity *= 2;
    map_resize(map, capacity);
}

/* The slot of the key, or the free one where it belongs. */
static MapSlot *map_slot(const Map *map, Str key, uint32_t hash)
{
    uint32_t at = hash & (map->capacity - 1);
    while (map->slots[at].used) {
        if (map->slots[at].hash == hash && str_is(map->slots[at].key, key)) break;
        at = (at + 1) & (map->capacity - 1);
    }
    return &map->slots[at];
}

bool map_add(Map *map, Str key, uint32_t number, uint32_t *out_old)
{
    if (map->count * 2 >= map->capacity) map_resize(map, map->capacity * 2);
    uint32_t hash = key_hash(key);
    MapSlot *slot = map_slot(map, key, hash);
    if (slot->used) {
        if (out_old) *out_old = slot->number;
        return false;
    }
    *slot = (MapSlot){ .key = key, .hash = hash, .number = number, .used = true };
    map->count++;
    return true;
}

bool map_find(const Map *map, Str key, uint32_t *out_number)
{
    const MapSlot *slot = map_slot(map, key, key_hash(key));
    if (!slot->used) return false;
    *out_number = slot->number;
    return true;
}
