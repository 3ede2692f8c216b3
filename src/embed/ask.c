#include "embed/embed.h"

#include "base/check.h"

/* --- who is inside ------------------------------------------------------------------------------------------------------ */

Status enter(Maestro *maestro, Error *err)
{
    if (runner_place(maestro) == RUNNER_QUICK)
        return error_set(err, ERR_CONFLICT, "a quick runner is called by the engine's thread, which cannot wait for itself");
    pthread_mutex_lock(&maestro->lock);
    bool is_open = !maestro->is_closing;
    if (is_open) maestro->caller_count++;
    pthread_mutex_unlock(&maestro->lock);
    return is_open ? OK : error_set(err, ERR_UNAVAILABLE, "the handle is being closed");
}

void leave(Maestro *maestro)
{
    pthread_mutex_lock(&maestro->lock);
    CHECK(maestro->caller_count > 0);
    if (!--maestro->caller_count) pthread_cond_broadcast(&maestro->has_left);
    pthread_mutex_unlock(&maestro->lock);
}

/* --- the caller's side -------------------------------------------------------------------------------------------------- */

static Status put(Maestro *maestro, Ask *ask, Error *err)
{
    if (maestro->is_stopped) {
        *err = maestro->end;
        return err->status;
    }
    if (ring_put(&maestro->ring, ask)) return OK;
    return error_set(err, ERR_LIMIT, "more than MAESTRO_REQUEST_COUNT_MAX (%u) calls wait for the engine",
                     EMBED_REQUEST_COUNT_MAX);
}

Status ask_send(Maestro *maestro, Ask *ask, Error *err)
{
    Error own;
    ask->maestro = maestro;
    CHECK(pthread_cond_init(&ask->answered, NULL) == 0);
    pthread_mutex_lock(&maestro->lock);
    Status status = put(maestro, ask, &own);
    if (!status) {
        wake_raise(&maestro->wake);
        while (!ask->is_done) pthread_cond_wait(&ask->answered, &maestro->lock);
        status = ask->reply.status;
        if (status) own = ask->error;
    }
    pthread_mutex_unlock(&maestro->lock);
    pthread_cond_destroy(&ask->answered);
    if (status && err) *err = own;
    return status;
}

/* --- the engine's side -------------------------------------------------------------------------------------------------- */

/* It lies on the stack of its caller: it is not touched after the lock is free. */
static void done(Maestro *maestro, Ask *ask, const EngineReply *reply, const Error *error)
{
    pthread_mutex_lock(&maestro->lock);
    ask->reply = *reply;
    if (reply->status) ask->error = *error;
    ask->is_done = true;
    pthread_cond_signal(&ask->answered);
    pthread_mutex_unlock(&maestro->lock);
}

void ask_begin_all(void *context, int fd)
{
    Maestro *maestro = context;
    (void)fd;
    wake_lower(&maestro->wake);
    for (Ask *ask; (ask = ring_take(&maestro->ring));) ask->begin(maestro, ask);
}

void ask_taken(Maestro *maestro, Ask *ask)
{
    ask->before = NULL;
    ask->next = maestro->asked;
    if (ask->next) ask->next->before = ask;
    maestro->asked = ask;
}

static void forget(Maestro *maestro, Ask *ask)
{
    if (ask->next) ask->next->before = ask->before;
    *(ask->before ? &ask->before->next : &maestro->asked) = ask->next;
}

void ask_reply(void *ask_pointer, const EngineReply *reply)
{
    Ask *ask = ask_pointer;
    forget(ask->maestro, ask);
    done(ask->maestro, ask, reply, reply->error);
}

void ask_refuse(Maestro *maestro, Ask *ask, const Error *why)
{
    done(maestro, ask, &(EngineReply){ .status = why->status }, why);
}

void ask_stop(Maestro *maestro, const Error *why)
{
    pthread_mutex_lock(&maestro->lock);
    maestro->is_stopped = true;
    maestro->end = *why;
    pthread_mutex_unlock(&maestro->lock);
    for (Ask *ask; (ask = ring_take(&maestro->ring));) ask_refuse(maestro, ask, why);
    for (Ask *ask; (ask = maestro->asked);) {
        forget(maestro, ask);
        ask_refuse(maestro, ask, why);
    }
}

/* --- reads -------------------------------------------------------------------------------------------------------------- */

typedef struct Look { ReadStore read; void *context; } Look;

static void look_begin(Maestro *maestro, Ask *ask)
{
    const Look *look = ask->input;
    Error err;
    Status status = look->read(maestro->store, look->context, &err);
    done(maestro, ask, &(EngineReply){ .status = status }, &err);
}

Status store_look(Maestro *maestro, ReadStore read, void *context, Error *err)
{
    if (maestro->is_read_aside) return read(maestro->store, context, err);
    Look look = { read, context };
    Ask ask = { .begin = look_begin, .input = &look };
    return ask_send(maestro, &ask, err);
}
