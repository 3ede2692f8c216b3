#include "base/ring.h"

#include <stdlib.h>

#include "base/check.h"

void ring_init(Ring *ring, uint32_t capacity)
{
    CHECK(capacity > 0 && capacity <= UINT32_C(1) << 30);
    uint64_t count = 2;
    while (count < capacity) count *= 2;
    *ring = (Ring){ .cells = calloc(count, sizeof(RingCell)), .mask = count - 1 };
    CHECK(ring->cells != NULL);
    for (uint64_t i = 0; i < count; i++) atomic_init(&ring->cells[i].turn, i);
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
        RingCell *cell = &ring->cells[tail & ring->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        int64_t ahead = (int64_t)(turn - tail);
        if (ahead < 0) return false;                    /* it still holds the item of a round ago */
        if (ahead > 0) {                                /* someone else filled it: look at the new tail */
            tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
            continue;
        }
        if (!atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + 1, memory_order_relaxed,
                                                   memory_order_relaxed))
            continue;
        cell->item = item;
        atomic_store_explicit(&cell->turn, tail + 1, memory_order_release);
        return true;
    }
}

void *ring_take(Ring *ring)
{
    RingCell *cell = &ring->cells[ring->head & ring->mask];
    if (atomic_load_explicit(&cell->turn, memory_order_acquire) != ring->head + 1) return NULL;
    void *item = cell->item;
    atomic_store_explicit(&cell->turn, ring->head + ring->mask + 1, memory_order_release);
    ring->head++;
    return item;
}
