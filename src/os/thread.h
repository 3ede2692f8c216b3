/* thread.h - threads: start, name, join.
 *
 * A thread begins with every signal blocked: signals belong to the main thread, and writing to a pipe that nobody reads is
 * an answer to the writer and not a death.
 *
 * Owns:   a Thread is joined or left alone exactly once.
 * Fails:  thread_start() with ERR_LIMIT where the system has no room for another.
 * Thread: any.
 */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <pthread.h>

#include "base/status.h"

typedef struct Thread {
    pthread_t id;
} Thread;

/* `name` is what tools show; its first 15 bytes count. `run` gets `context`. */
MUST_USE Status thread_start(Thread *thread, const char *name, void (*run)(void *context), void *context, Error *err);
void thread_join(Thread *thread);
void thread_leave(Thread *thread);          /* nobody will join it: it ends by itself, or with the process */

#endif
