/* ring.h - a bounded queue of pointers: any number of threads put, one takes.
 *
 * It is how threads reach the engine and the engine reaches its adapters: nobody waits for anybody, and a queue that is
 * full says so instead of growing. Each cell has a turn number that tells whether it is free for the round of whoever
 * looks at it; so a thread that puts touches the tail and one cell, the one that takes touches one cell alone.
 *
 *   cell.turn == tail       free: may be filled in this round       (then turn = tail + 1)
 *   cell.turn == head + 1   filled: may be taken in this round      (then turn = head + capacity)
 *
 * Owns:   its cells, until ring_deinit(); what the pointers point to changes hands with the pointer: whatever was written
 *         before ring_put() is seen after the ring_take() that gives the pointer.
 * Fails:  ring_put() answers false where the ring is full.
 * Bounds: capacity, rounded up to a power of two.
 * Thread: ring_put() any; ring_take() one at a time; init and deinit while nobody else is there.
 */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RingCell {
    _Atomic uint64_t turns;             /* its turn, less its own index: 0 in a new ring */
    void *item;
} RingCell;

typedef struct Ring {
    RingCell *cells;
    uint64_t mask;
    /* A cache line apart, so that those who put and the one who takes do not slow one another down. */
    char before_tail[64];
    _Atomic uint64_t tail;
    char before_head[64];
    uint64_t head;
} Ring;

void  ring_init(Ring *ring, uint32_t capacity);
void  ring_deinit(Ring *ring);              /* items still inside are the caller's: take them before */

bool  ring_put(Ring *ring, void *item);     /* `item` is not NULL */
void *ring_take(Ring *ring);                /* the oldest, or NULL where there is none */

#endif
