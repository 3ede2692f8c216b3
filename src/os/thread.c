#include "os/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define THREAD_NAME_SIZE 16             /* of the kernel, the NUL included */

typedef struct Start {
    void (*run)(void *context);
    void *context;
    char name[THREAD_NAME_SIZE];
} Start;

static void *begin(void *start_pointer)
{
    Start start = *(Start *)start_pointer;
    free(start_pointer);
    pthread_setname_np(pthread_self(), start.name);
    start.run(start.context);
    return NULL;
}

Status thread_start(Thread *thread, const char *name, void (*run)(void *context), void *context, Error *err)
{
    Start *start = calloc(1, sizeof *start);
    CHECK(start != NULL);
    start->run = run;
    start->context = context;
    snprintf(start->name, sizeof start->name, "%.*s", THREAD_NAME_SIZE - 1, name);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);            /* a thread inherits the mask of the one that makes it */
    int failed = pthread_create(&thread->id, NULL, begin, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return OK;
    free(start);
    return error_set(err, ERR_LIMIT, "the thread %s cannot be started: %s", name, strerror(failed));
}

void thread_join(Thread *thread)
{
    CHECK(pthread_join(thread->id, NULL) == 0);
}

void thread_leave(Thread *thread)
{
    CHECK(pthread_detach(thread->id) == 0);
}
