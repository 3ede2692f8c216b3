/* run_index.h - from a number to a pointer, with removal: which runs are in memory.
 *
 * Owns: its slots, until run_index_deinit(). Numbers are never 0.     Fails: never.     Thread: one at a time.
 */
#ifndef ENGINE_RUN_INDEX_H
#define ENGINE_RUN_INDEX_H

#include <stdint.h>

typedef struct RunIndex {
    struct RunSlot { uint64_t number; void *item; } *slots;
    uint32_t count, capacity;           /* capacity is 0 or a power of two */
} RunIndex;

void  run_index_deinit(RunIndex *index);
void *run_index_find(const RunIndex *index, uint64_t number);       /* NULL where it is not there */
void  run_index_put(RunIndex *index, uint64_t number, void *item);
void  run_index_remove(RunIndex *index, uint64_t number);

#endif
