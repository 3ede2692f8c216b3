/* spawner.h - the one process under which all processes of an executor live.
 *
 * The engine does not fork: it has threads, locks and much memory. When it opens, and before it has a thread, it forks one
 * small process, which starts programs on request and tells how they ended. That process notices by its socket when the
 * engine is gone, however that came about, and ends everything that it has started, so that nothing of an old engine works
 * on beside a new one. It keeps a lock until then, for which the next engine waits.
 *
 *   engine ── SOCK_SEQPACKET ──▶ spawner ── clone, exec ──▶ program  (its own session and group)
 *      requests: start (descriptors beside it), signal      └──────▶ program
 *      answers:  exited, failed
 *
 * What a program leaves behind in its group when it ends is killed before its end is told. What has left the group (a
 * daemon) becomes a child of the spawner, and ends with it.
 *
 * Owns:   the socket and the child process, until spawner_close(), which waits for it.
 * Fails:  spawner_open() with ERR_UNAVAILABLE where the lock is not given in time or nothing can be forked; spawner_start()
 *         and spawner_signal() with ERR_UNAVAILABLE where the socket is full: try again once it is writable.
 * Bounds: PROCESS_COUNT_MAX slots, PROCESS_REQUEST_SIZE_MAX a request.
 * Thread: spawner_open() before any other thread exists; then one at a time.
 */
#ifndef EXEC_PROCESS_SPAWNER_H
#define EXEC_PROCESS_SPAWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "base/str.h"

typedef struct Spawner {
    int fd;                             /* of the socket; readable where an answer came, writable where there is room */
    pid_t pid;
} Spawner;

typedef struct SpawnerOptions {
    const char *lock_path;              /* NULL: no lock */
    int64_t lock_wait_ms;
    const char *scratch;                /* a directory that it removes, with the files in it, when it ends; NULL: none */
} SpawnerOptions;

MUST_USE Status spawner_open(Spawner *spawner, const SpawnerOptions *options, Error *err);
void spawner_close(Spawner *spawner);   /* ends what still runs and waits for it */

#define SPAWNER_FD_COUNT 5              /* standard input, output and error, events, acknowledgements */

typedef struct SpawnRequest {
    uint32_t slot;                      /* the caller's number for it, free until the answer of its end */
    uint32_t arg_count, variable_count;
    bool has_directory;
    uint64_t memory_size_max, cpu_s_max;
    Str texts;                          /* arguments, variables, directory; each with a NUL behind it */
} SpawnRequest;

MUST_USE Status spawner_start(Spawner *spawner, const SpawnRequest *request, const int fds[SPAWNER_FD_COUNT], Error *err);
MUST_USE Status spawner_signal(Spawner *spawner, uint32_t slot, int signal, Error *err);     /* to its whole group */

typedef struct SpawnAnswer {
    uint32_t slot;
    bool has_started;                   /* else: why it could not be */
    int32_t wait_status;                /* as waitpid() has it */
    int32_t why;                        /* a Status */
    char text[240];
} SpawnAnswer;

/* One answer; false where there is none now. *out_is_gone where the spawner itself is. */
bool spawner_take(Spawner *spawner, SpawnAnswer *out_answer, bool *out_is_gone);

#endif
