/* memory_store.h - a store that lasts as long as the process: for simulation, tests, and runs that leave nothing behind.
 *
 * It is the reference of the port: whatever another adapter does differently is a mistake of one of the two. A simulator may
 * have it fail as disks and machines fail, when and how it likes, always at the same place for the same seed.
 *
 * Batches are written when store_poll() completes them, not before: what is in flight is not seen by reads, and is lost by
 * memory_store_crash().
 *
 * Owns:   everything, until store_close().
 * Fails:  as the port says; store_backup() with ERR_UNAVAILABLE, since there is no file.
 * Thread: one at a time, for all functions.
 */
#ifndef STORE_MEMORY_MEMORY_STORE_H
#define STORE_MEMORY_MEMORY_STORE_H

#include "view/store.h"

typedef enum MemoryFault {
    MEMORY_FAULT_NONE,
    MEMORY_FAULT_HOLD,              /* not yet: asked again at the next poll */
    MEMORY_FAULT_REFUSE,            /* nothing is written; a read fails with ERR_UNAVAILABLE */
    MEMORY_FAULT_LOSE,              /* completes as unknown, and is not there */
    MEMORY_FAULT_KEEP,              /* completes as unknown, and is there */
    MEMORY_FAULT_FENCE,             /* another owner has raised the epoch */
} MemoryFault;

typedef struct MemoryOptions {
    /* Asked for the oldest commit or read in flight, numbered from 1 in the order of submission; NULL: no faults. */
    MemoryFault (*fault)(void *context, bool is_read, uint64_t number);
    void *context;
} MemoryOptions;

Store *memory_store_new(const MemoryOptions *options);      /* NULL: no faults; ended by store_close() */

/* The process was killed: of the commits in flight the oldest `written_count` are there, the others never were, and none
 * completes; reads in flight are forgotten. Returns how many there were. */
uint32_t memory_store_crash(Store *store, uint32_t written_count);
/* Another process becomes the owner: what is submitted under the old epoch is fenced. */
void memory_store_usurp(Store *store, uint64_t log);

#endif
