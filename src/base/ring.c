#include "base/ring.h"

#include <stdlib.h>

#include "base/check.h"

/* What a cell says is counted from its own index, so that cells of zeroes are free ones. A ring for many, in which few wait, has none of its
 * memory but what was used. */
static uint64_t cell_turn(const RingCell *cell, uint64_t index)
{
    return atomic_load_explicit(&cell->turns, memory_order_acquire) + index;
}

static void cell_set_turn(RingCell *cell, uint64_t index, uint64_t turn)
{
    atomic_store_explicit(&cell->turns, turn - index, memory_order_release);
}

void ring_init(Ring *ring, uint32_t capacity)
{
    CHECK(capacity > 0 && capacity <= UINT32_C(1) << 30);
    uint64_t count = 2;
    while (count < capacity) count *= 2;
    *ring = (Ring){ .cells = calloc(count, sizeof(RingCell)), .mask = count - 1 };
    CHECK(ring->cells != NULL);
    atomic_init(&ring->tail, 0);
}

void ring_deinit(Ring *ring)
{
    free(ring->cells);
    ring->cells = NULL;
}

bool ring_put(Ring *ring, void *item)
{
    CHECK(item != NULL);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        uint64_t index = tail & ring->mask;
        RingCell *cell = &ring->cells[index];
        int64_t ahead = (int64_t)(cell_turn(cell, index) - tail);
        if (ahead < 0) return false;                    /* it still holds the item of a round ago */
        if (ahead > 0) {                                /* someone else filled it: look at the new tail */
            tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
            continue;
        }
        if (!atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + 1, memory_order_relaxed,
                                                   memory_order_relaxed))
            continue;
        cell->item = item;
        cell_set_turn(cell, index, tail + 1);
        return true;
    }
}

void *ring_take(Ring *ring)
{
    uint64_t index = ring->head & ring->mask;
    RingCell *cell = &ring->cells[index];
    if (cell_turn(cell, index) != ring->head + 1) return NULL;
    void *item = cell->item;
    cell_set_turn(cell, index, ring->head + ring->mask + 1);
    ring->head++;
    return item;
}
