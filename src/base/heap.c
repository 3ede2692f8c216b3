#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static void sift_up(Heap *heap, uint32_t at);
static void sift_down(Heap *heap, uint32_t at);

void heap_init(Heap *heap)
{
    *heap = (Heap){ 0 };
}

void heap_deinit(Heap *heap)
{
    free(heap->items);
    free(heap->places);
    *heap = (Heap){ 0 };
}

/* Room for one more of what is counted, twice as much as before; what is new is zero. */
static void *grow(void *items, size_t item_size, uint32_t needed, uint32_t *capacity)
{
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    while (larger < needed) larger *= 2;
    char *grown = realloc(items, larger * item_size);
    CHECK(grown != NULL);
    memset(grown + *capacity * item_size, 0, (larger - *capacity) * item_size);
    *capacity = larger;
    return grown;
}

void heap_put(Heap *heap, uint32_t slot, int64_t due)
{
    CHECK(slot < UINT32_C(1) << 30);
    if (slot >= heap->place_capacity)
        heap->places = grow(heap->places, sizeof *heap->places, slot + 1, &heap->place_capacity);
    uint32_t place = heap->places[slot];
    if (place == 0) {
        if (heap->count == heap->item_capacity)
            heap->items = grow(heap->items, sizeof *heap->items, heap->count + 1, &heap->item_capacity);
        place = ++heap->count;
    }
    heap->items[place - 1] = (HeapItem){ due, slot };
    heap->places[slot] = place;
    sift_up(heap, place - 1);
    sift_down(heap, heap->places[slot] - 1);
}

bool heap_remove(Heap *heap, uint32_t slot)
{
    if (slot >= heap->place_capacity || heap->places[slot] == 0) return false;
    uint32_t at = heap->places[slot] - 1;
    heap->places[slot] = 0;
    HeapItem last = heap->items[--heap->count];
    if (at == heap->count) return true;
    heap->items[at] = last;
    heap->places[last.slot] = at + 1;
    sift_up(heap, at);
    sift_down(heap, heap->places[last.slot] - 1);
    return true;
}

static bool is_before(const HeapItem *a, const HeapItem *b)
{
    return a->due != b->due ? a->due < b->due : a->slot < b->slot;
}

static void exchange(Heap *heap, uint32_t a, uint32_t b)
{
    HeapItem item = heap->items[a];
    heap->items[a] = heap->items[b];
    heap->items[b] = item;
    heap->places[heap->items[a].slot] = a + 1;
    heap->places[heap->items[b].slot] = b + 1;
}

static void sift_up(Heap *heap, uint32_t at)
{
    for (; at > 0 && is_before(&heap->items[at], &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        exchange(heap, at, (at - 1) / 2);
}

static void sift_down(Heap *heap, uint32_t at)
{
    for (;;) {
        uint32_t least = at, left = 2 * at + 1, right = left + 1;
        if (left < heap->count && is_before(&heap->items[left], &heap->items[least])) least = left;
        if (right < heap->count && is_before(&heap->items[right], &heap->items[least])) least = right;
        if (least == at) return;
        exchange(heap, at, least);
        at = least;
    }
}
