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
 * had many payloads in memory once would keep their room. Before there are threads. */
void usage_return_large(void);

#endif
