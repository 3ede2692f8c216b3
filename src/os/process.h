/* process.h - starting another program, with all that it may have and nothing else.
 *
 * The new process has exactly the descriptors that it is given, as 0, 1, 2 and so on (everything else of ours is opened
 * with close-on-exec), a session and group of its own, no signal blocked or ignored, the variables it is given, and its
 * limits from its first instruction. It dies when its parent does.
 *
 * The parent does not copy its memory for it, so the cost does not grow with the parent; until the program runs,
 * the calling thread waits.
 *
 * Fails:  ERR_NOT_FOUND for a program or directory that is not there, ERR_DENIED, ERR_INVALID for what is no program,
 *         ERR_LIMIT where arguments are too large, ERR_UNAVAILABLE where the machine has no room now.
 * Bounds: PROCESS_PATH_SIZE_MAX for a directory of the search path and the program's name together.
 * Thread: a process with one thread.
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define PROCESS_PATH_SIZE_MAX 4096u

typedef struct ProcessSpec {
    char *const *args;              /* the program first; NULL behind the last */
    char *const *variables;         /* NAME=value; NULL behind the last */
    const char *search_path;        /* where a program without a slash is looked for: directories between colons */
    const char *directory;          /* where it begins; NULL: where the parent is */
    const int *fds;                 /* each at least fd_count, so that none stands in another's way */
    int fd_count;
    uint64_t memory_size_max;       /* bytes of address space; 0: the parent's limit */
    uint64_t cpu_s_max;             /* seconds of processor time; 0: the parent's limit */
} ProcessSpec;

MUST_USE Status process_start(const ProcessSpec *spec, pid_t *out_pid, Error *err);

#endif
