#include "secret/replays.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/heap.h"
#include "base/limits.h"

#define NONE UINT32_MAX

/* Requests lie in slots; `index` finds them by key (linear probing, at most half full), `due` by their end. */
typedef struct TenantReplays {
    Str name;
    ReplayKey *keys;                    /* by slot */
    uint32_t *free_slots;
    uint32_t slot_count, slot_capacity, free_count;
    uint32_t *index;                    /* slot plus one; 0: empty */
    uint32_t index_size;                /* a power of two */
    Heap due;
} TenantReplays;

/* --- tenants --------------------------------------------------------------------------------------------------------------- */

/* Where it is, or belongs. */
static uint32_t tenant_place(const TriggerReplays *replays, Str name)
{
    uint32_t low = 0, high = replays->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (str_compare(replays->tenants[middle]->name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static TenantReplays *tenant_find(const TriggerReplays *replays, Str name)
{
    uint32_t place = tenant_place(replays, name);
    return place < replays->count && str_is(replays->tenants[place]->name, name) ? replays->tenants[place] : NULL;
}

static TenantReplays *tenant_add(TriggerReplays *replays, Str name)
{
    uint32_t place = tenant_place(replays, name);
    if (replays->count == replays->capacity) {
        replays->capacity = replays->capacity ? 2 * replays->capacity : 8;
        replays->tenants = realloc(replays->tenants, replays->capacity * sizeof *replays->tenants);
        CHECK(replays->tenants);
    }
    TenantReplays *tenant = calloc(1, sizeof *tenant);
    char *text = malloc(name.len + 1);
    CHECK(tenant && text);
    memcpy(text, name.ptr, name.len);
    tenant->name = (Str){ text, name.len };
    heap_init(&tenant->due);
    memmove(&replays->tenants[place + 1], &replays->tenants[place], (replays->count++ - place) * sizeof *replays->tenants);
    replays->tenants[place] = tenant;
    return tenant;
}

static void tenant_free(TenantReplays *tenant)
{
    heap_deinit(&tenant->due);
    free(tenant->keys);
    free(tenant->free_slots);
    free(tenant->index);
    free((char *)tenant->name.ptr);
    free(tenant);
}

/* Nothing is kept of a tenant that nothing is remembered of. */
static void tenant_drop(TriggerReplays *replays, TenantReplays *tenant)
{
    uint32_t place = tenant_place(replays, tenant->name);
    memmove(&replays->tenants[place], &replays->tenants[place + 1], (--replays->count - place) * sizeof *replays->tenants);
    tenant_free(tenant);
}

void trigger_replays_deinit(TriggerReplays *replays)
{
    for (uint32_t i = 0; i < replays->count; i++) tenant_free(replays->tenants[i]);
    free(replays->tenants);
    *replays = (TriggerReplays){ 0 };
}

/* --- requests --------------------------------------------------------------------------------------------------------------- */

static uint32_t home_of(const TenantReplays *tenant, const ReplayKey *key)
{
    uint32_t hash;
    memcpy(&hash, key->bytes, sizeof hash);         /* of a digest: as good as chance */
    return hash & (tenant->index_size - 1);
}

/* The place in the index where the key is, or would be. */
static uint32_t index_place(const TenantReplays *tenant, const ReplayKey *key)
{
    uint32_t place = home_of(tenant, key);
    while (tenant->index[place] && memcmp(&tenant->keys[tenant->index[place] - 1], key, sizeof *key) != 0)
        place = (place + 1) & (tenant->index_size - 1);
    return place;
}

static uint32_t slot_find(const TenantReplays *tenant, const ReplayKey *key)
{
    uint32_t found = tenant->index_size ? tenant->index[index_place(tenant, key)] : 0;
    return found ? found - 1 : NONE;
}

static void index_grow(TenantReplays *tenant)
{
    uint32_t old_size = tenant->index_size, *old = tenant->index;
    tenant->index_size = old_size ? 2 * old_size : 64;
    tenant->index = calloc(tenant->index_size, sizeof *tenant->index);
    CHECK(tenant->index);
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i]) tenant->index[index_place(tenant, &tenant->keys[old[i] - 1])] = old[i];
    free(old);
}

static uint32_t slot_take(TenantReplays *tenant)
{
    if (tenant->free_count) return tenant->free_slots[--tenant->free_count];
    if (tenant->slot_count == tenant->slot_capacity) {
        tenant->slot_capacity = tenant->slot_capacity ? 2 * tenant->slot_capacity : 32;
        tenant->keys = realloc(tenant->keys, tenant->slot_capacity * sizeof *tenant->keys);
        tenant->free_slots = realloc(tenant->free_slots, tenant->slot_capacity * sizeof *tenant->free_slots);
        CHECK(tenant->keys && tenant->free_slots);
    }
    return tenant->slot_count++;
}

/* Those behind it move up where they may, so that searches end at an empty place as before. */
static void remove_slot(TenantReplays *tenant, uint32_t slot)
{
    uint32_t mask = tenant->index_size - 1, hole = index_place(tenant, &tenant->keys[slot]);
    for (uint32_t place = (hole + 1) & mask; tenant->index[place]; place = (place + 1) & mask) {
        uint32_t home = home_of(tenant, &tenant->keys[tenant->index[place] - 1]);
        if (((place - home) & mask) < ((place - hole) & mask)) continue;
        tenant->index[hole] = tenant->index[place];
        hole = place;
    }
    tenant->index[hole] = 0;
    (void)heap_remove(&tenant->due, slot);
    tenant->free_slots[tenant->free_count++] = slot;
}

Status trigger_replays_add(TriggerReplays *replays, Str name, const ReplayKey *key, int64_t now_ms, int64_t end_ms, Error *err)
{
    TenantReplays *tenant = tenant_find(replays, name);
    if (!tenant) tenant = tenant_add(replays, name);
    for (HeapItem first; heap_peek(&tenant->due, &first) && first.due < now_ms;) remove_slot(tenant, first.slot);
    if (slot_find(tenant, key) != NONE) return error_set(err, ERR_DENIED, "the request was received before");
    if (tenant->due.count == TENANT_REPLAY_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "more than TENANT_REPLAY_COUNT_MAX (%u) requests of triggers of the tenant came within their windows",
                         TENANT_REPLAY_COUNT_MAX);
    if (2 * (tenant->due.count + 1) > tenant->index_size) index_grow(tenant);
    uint32_t slot = slot_take(tenant);
    tenant->keys[slot] = *key;
    tenant->index[index_place(tenant, key)] = slot + 1;
    heap_put(&tenant->due, slot, end_ms);
    return OK;
}

void trigger_replays_forget(TriggerReplays *replays, Str name, const ReplayKey *key)
{
    TenantReplays *tenant = tenant_find(replays, name);
    uint32_t slot = tenant ? slot_find(tenant, key) : NONE;
    if (slot != NONE) remove_slot(tenant, slot);
    if (tenant && !tenant->due.count) tenant_drop(replays, tenant);
}

uint32_t trigger_replays_count(const TriggerReplays *replays, Str name)
{
    const TenantReplays *tenant = tenant_find(replays, name);
    return tenant ? tenant->due.count : 0;
}
