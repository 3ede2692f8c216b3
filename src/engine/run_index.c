#include "engine/run_index.h"

#include <stdlib.h>

#include "base/check.h"

#define CAPACITY_MIN 64u

/* Numbers come in sequence: spread by a multiplication, so that neighbours do not fill one stretch of slots. */
static uint32_t home(const RunIndex *index, uint64_t number)
{
    return (uint32_t)((number * 0x9e3779b97f4a7c15u) >> 32) & (index->capacity - 1);
}

void run_index_deinit(RunIndex *index)
{
    free(index->slots);
    *index = (RunIndex){ 0 };
}

void *run_index_find(const RunIndex *index, uint64_t number)
{
    if (!index->count) return NULL;
    for (uint32_t slot = home(index, number); index->slots[slot].number; slot = (slot + 1) & (index->capacity - 1))
        if (index->slots[slot].number == number) return index->slots[slot].item;
    return NULL;
}

static void grow(RunIndex *index)
{
    RunIndex larger = { .capacity = index->capacity ? index->capacity * 2 : CAPACITY_MIN };
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    CHECK(larger.slots);
    for (uint32_t i = 0; i < index->capacity; i++)
        if (index->slots[i].number) run_index_put(&larger, index->slots[i].number, index->slots[i].item);
    free(index->slots);
    *index = larger;
}

void run_index_put(RunIndex *index, uint64_t number, void *item)
{
    CHECK(number);
    if (index->count * 4 >= index->capacity * 3) grow(index);
    uint32_t slot = home(index, number);
    while (index->slots[slot].number && index->slots[slot].number != number) slot = (slot + 1) & (index->capacity - 1);
    if (!index->slots[slot].number) index->count++;
    index->slots[slot].number = number;
    index->slots[slot].item = item;
}

void run_index_remove(RunIndex *index, uint64_t number)
{
    if (!index->count) return;
    uint32_t mask = index->capacity - 1, slot = home(index, number);
    while (index->slots[slot].number != number) {
        if (!index->slots[slot].number) return;
        slot = (slot + 1) & mask;
    }
    /* What lies behind the gap moves up where its way from home leads across the gap. */
    for (uint32_t next = (slot + 1) & mask; index->slots[next].number; next = (next + 1) & mask) {
        uint32_t from = home(index, index->slots[next].number);
        if (((next - from) & mask) < ((next - slot) & mask)) continue;
        index->slots[slot] = index->slots[next];
        slot = next;
    }
    index->slots[slot].number = 0;
    index->count--;
}
