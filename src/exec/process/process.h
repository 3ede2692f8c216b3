/* process.h - the executor that runs programs of this machine.
 *
 * It keeps the contract of a process runner (docs/runners.md): the document on standard input and in MAESTRO_* variables;
 * the output from the file MAESTRO_OUTPUT names; the log from standard output and error; messages by MAESTRO_EVENTS,
 * acknowledged on MAESTRO_ACKS; the exit code as the result. The runner `shell` is carried out by it, too.
 *
 * Programs live under one small process (spawner.h) that ends them when this one is gone, however that comes about. It is
 * forked by process_executor_open(), which has to be called before the process has a second thread: a lock that another
 * thread holds at that moment would never be free in it. So an executor has no thread until process_executor_start(), which is
 * called when all of them are open, and nothing is handed to it before.
 *
 * The lock: while `lock_path` is locked, processes of the last owner are still there. process_executor_open() waits for
 * it, so whoever opens the executor before recovery dispatches nothing beside them.
 *
 *   engine's thread: execute(), end(), acknowledge() ──ring──▶ supervisor's thread: pipes, lines, timers ──▶ NoticeSink
 *                                                                     │ socket
 *                                                                  spawner ──▶ programs
 *
 * Owns:   one thread, one child process, a scratch directory, four descriptors a program.
 * Fails:  process_executor_open() with ERR_UNAVAILABLE or ERR_LIMIT, process_executor_start() with ERR_LIMIT. execute()
 *         answers false at the capacity; a NOTICE_ROOM follows when there is room. An attempt that cannot be carried out
 *         is taken, and reported as failed.
 * Bounds: PROCESS_COUNT_MAX programs; OUTPUT_SIZE_MAX, LOG_LINE_SIZE_MAX, log_size_max, RUNNER_LINE_SIZE_MAX.
 * Thread: as the port says. Closing ends what runs (TERM, KILL after the grace) and waits; reports that do not fit the
 *         sink while closing are not delivered, as after a crash.
 */
#ifndef EXEC_PROCESS_PROCESS_H
#define EXEC_PROCESS_PROCESS_H

#include "engine/executor.h"

typedef struct ProcessOptions {
    Str name;                       /* "local"; must outlive the executor */
    uint32_t capacity;              /* programs at a time; 0: one for each processor */
    NoticeSink sink;
    int64_t grace_ms;               /* between TERM and KILL; 0: PROCESS_GRACE_MS_DEFAULT */
    uint64_t log_size_max;          /* of one attempt; 0: LOG_SIZE_DEFAULT */
    const char *scratch_parent;     /* where its directory is made; NULL: $TMPDIR, else the system's */
    const char *lock_path;          /* NULL: no lock */
    int64_t lock_wait_ms;           /* 0: twice PROCESS_SPAWNER_GRACE_MS, and 10 s */
} ProcessOptions;

MUST_USE Status process_executor_open(const ProcessOptions *options, Executor **out_executor, Error *err);
MUST_USE Status process_executor_start(Executor *executor, Error *err);

#endif
