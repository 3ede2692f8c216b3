/* heap.h - which of many things is due first, when each may be moved or withdrawn.
 *
 * A binary heap of slots. A slot is a small number that the caller gives its things; the heap knows the place of each, so
 * that a time is changed or taken back at once instead of being left inside as a lie. Equal times come out by slot.
 *
 * Owns:   its arrays, which grow with the largest slot, until heap_deinit().
 * Fails:  never.     Bounds: those of the caller's slots.     Thread: one at a time.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct HeapItem {
    int64_t due;
    uint32_t slot;
} HeapItem;

typedef struct Heap {
    HeapItem *items;
    uint32_t *places;                   /* by slot: its index in items, plus one; 0: not inside */
    uint32_t count, item_capacity, place_capacity;
} Heap;

void heap_init(Heap *heap);
void heap_deinit(Heap *heap);

void heap_put(Heap *heap, uint32_t slot, int64_t due);      /* adds the slot, or moves it where it is inside */
bool heap_remove(Heap *heap, uint32_t slot);                /* false where it is not inside */
/* The one that is due first; false where there is none. */
static inline bool heap_peek(const Heap *heap, HeapItem *out_first)
{
    if (heap->count == 0) return false;
    *out_first = heap->items[0];
    return true;
}

#endif
