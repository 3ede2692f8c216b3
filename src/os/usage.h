/* usage.h - what this process takes of the machine: memory, processor time, descriptors.
 *
 * Owns: nothing.     Fails: never; what cannot be read is 0.     Thread: any.
 */
#ifndef OS_USAGE_H
#define OS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Usage {
    uint64_t resident_size, virtual_size;   /* bytes */
    double cpu_s;                           /* of all its threads */
    double began_s;                         /* when it began, since 1970 in UTC */
    uint32_t fd_count, fd_count_max, thread_count;
} Usage;

Usage usage_read(void);
/* What was freed goes back to the system, also from the middle of the heap: takes milliseconds where there is much of it. Where the
 * library has no such thing, nothing happens. */
void usage_trim(void);

/* From now on what was large goes back to the system when it is freed: libc would take larger and larger pieces for usual, and a process that
 * had many payloads in memory once would keep their room. */
void usage_return_large(void);
/* While a process begins: pieces from the first block of an arena on are pages of their own. So a table of zeroes takes no memory before it is
 * used, and what only the beginning needs (policies that are compiled to be checked) goes back and leaves no holes. Too slow for what comes
 * often: usage_return_large() ends it, also beside threads, since it changes one word that they read whole. */
void usage_return_all(void);

#endif
