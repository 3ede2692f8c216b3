#include "os/zone.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"
#include "os/file.h"

struct Zones {
    const char *directory;
    pthread_mutex_t lock;
    Arena arena;
    Map map;                            /* from a name to its place below */
    Str files[ZONE_COUNT_MAX];          /* empty: looked for and not there */
    uint32_t count;
};

Zones *zones_open(const char *directory)
{
    Zones *zones = calloc(1, sizeof *zones);
    CHECK(zones);
    const char *named = directory ? directory : getenv("TZDIR");
    zones->directory = named && *named ? named : ZONE_DIRECTORY;
    CHECK(pthread_mutex_init(&zones->lock, NULL) == 0);
    arena_init(&zones->arena, SIZE_MAX);
    map_init(&zones->map, &zones->arena, /* count_expected= */ 16);
    return zones;
}

void zones_close(Zones *zones)
{
    if (!zones) return;
    arena_deinit(&zones->arena);
    pthread_mutex_destroy(&zones->lock);
    free(zones);
}

static Str read_file(Zones *zones, Str name)
{
    char path[4096];
    Str bytes;
    int size = snprintf(path, sizeof path, "%s/%.*s", zones->directory, STR_ARG(name));
    if (size < 0 || (size_t)size >= sizeof path) return STR("");
    return file_read(&zones->arena, path, ZONE_SIZE_MAX, &bytes, NULL) ? STR("") : bytes;
}

/* Names that lead nowhere are remembered too: a policy that tries one for each of a thousand users reads one directory. */
static Str find_or_read(Zones *zones, Str name)
{
    uint32_t place;
    if (map_find(&zones->map, name, &place)) return zones->files[place];
    if (zones->count == ZONE_COUNT_MAX) return STR("");
    place = zones->count++;
    zones->files[place] = read_file(zones, name);
    CHECK(map_add(&zones->map, arena_copy(&zones->arena, name), place, NULL));
    return zones->files[place];
}

static Str read_zone(void *owner, Str name)
{
    Zones *zones = owner;
    if (!timezone_name_is_valid(name)) return STR("");
    CHECK(pthread_mutex_lock(&zones->lock) == 0);
    Str bytes = find_or_read(zones, name);
    CHECK(pthread_mutex_unlock(&zones->lock) == 0);
    return bytes;
}

ZoneSource zones_source(Zones *zones)
{
    return (ZoneSource){ .read = read_zone, .owner = zones };
}
