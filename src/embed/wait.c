/* wait.c - until a run is settled.
 *
 * The waiter is in the list before the row is read: a run that settles between the two is seen in the row, one that settles
 * later wakes it. What wakes may be ahead of what is durable, so the row has the last word. */
#include <errno.h>

#include "base/check.h"
#include "embed/embed.h"
#include "os/clock.h"
#include "view/run_rows.h"

/* --- the engine's side -------------------------------------------------------------------------------------------------- */

static void wake(Waiter *waiter)
{
    waiter->is_woken = true;
    pthread_cond_signal(&waiter->news);
}

void waiters_observe(void *context, const Observation *observation)
{
    Maestro *maestro = context;
    if (observation->kind != OBSERVE_EVENTS) return;
    const Run *run = observation->run;
    if (!run_state_is_settled((RunState)run->state, (Resolution)run->resolution)) return;
    pthread_mutex_lock(&maestro->lock);
    for (Waiter *waiter = maestro->waiters; waiter; waiter = waiter->next)
        if (str_is(id_peek(&waiter->run_id), id_peek(&run->id))) wake(waiter);
    pthread_mutex_unlock(&maestro->lock);
}

void waiters_wake(Maestro *maestro)
{
    pthread_mutex_lock(&maestro->lock);
    for (Waiter *waiter = maestro->waiters; waiter; waiter = waiter->next) wake(waiter);
    pthread_mutex_unlock(&maestro->lock);
}

/* --- the caller's side -------------------------------------------------------------------------------------------------- */

static void waiter_add(Maestro *maestro, Waiter *waiter)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    CHECK(pthread_cond_init(&waiter->news, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_lock(&maestro->lock);
    waiter->next = maestro->waiters;
    maestro->waiters = waiter;
    pthread_mutex_unlock(&maestro->lock);
}

static void waiter_remove(Maestro *maestro, Waiter *waiter)
{
    pthread_mutex_lock(&maestro->lock);
    Waiter **place = &maestro->waiters;
    while (*place != waiter) place = &(*place)->next;
    *place = waiter->next;
    pthread_mutex_unlock(&maestro->lock);
    pthread_cond_destroy(&waiter->news);
}

typedef enum Sleep { SLEEP_WOKEN, SLEEP_OVER, SLEEP_ENDED } Sleep;

/* Until the run may be settled, the time is over, or nothing will happen any more. */
static Sleep waiter_sleep(Maestro *maestro, Waiter *waiter, const struct timespec *until, Error *out_end)
{
    pthread_mutex_lock(&maestro->lock);
    int over = 0;
    while (!waiter->is_woken && !maestro->is_closing && !maestro->is_stopped && !maestro->stall.status && !over)
        over = until ? pthread_cond_timedwait(&waiter->news, &maestro->lock, until)
                     : pthread_cond_wait(&waiter->news, &maestro->lock);
    Sleep sleep = waiter->is_woken ? SLEEP_WOKEN : over ? SLEEP_OVER : SLEEP_ENDED;
    if (maestro->is_closing) error_set(out_end, ERR_UNAVAILABLE, "the handle is being closed");
    else *out_end = maestro->is_stopped ? maestro->end : maestro->stall;
    if (maestro->is_closing || maestro->is_stopped || maestro->stall.status) sleep = SLEEP_ENDED;
    waiter->is_woken = false;
    pthread_mutex_unlock(&maestro->lock);
    return sleep;
}

typedef struct StateRead { Id run_id; RunState state; bool is_settled; } StateRead;

static Status read_state(Store *store, void *context, Error *err)
{
    StateRead *read = context;
    const Cell *row;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Status status = run_row(&arena, store, id_peek(&read->run_id), &row, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no run %s", read->run_id.text);
    if (!status) {
        read->state = row_state(row);
        read->is_settled = row_is_settled(row);
    }
    arena_deinit(&arena);
    return status;
}

static Status wait_settled(Maestro *maestro, StateRead *read, int64_t timeout_ms, bool *out_is_over, Error *err)
{
    Waiter waiter = { .run_id = read->run_id };
    struct timespec until = clock_after(timeout_ms > 0 ? timeout_ms : 0);
    waiter_add(maestro, &waiter);
    Status status;
    Sleep sleep = SLEEP_WOKEN;
    while (!(status = store_look(maestro, read_state, read, err)) && !read->is_settled && sleep == SLEEP_WOKEN)
        sleep = waiter_sleep(maestro, &waiter, timeout_ms < 0 ? NULL : &until, err);
    if (!status && !read->is_settled && sleep == SLEEP_ENDED) status = err->status;
    *out_is_over = sleep == SLEEP_OVER;
    waiter_remove(maestro, &waiter);
    return status;
}

MaestroStatus maestro_wait(Maestro *maestro, const char *run_id, int64_t timeout_ms, MaestroRunState *out_state,
                           MaestroError *err)
{
    StateRead read = { 0 };
    Error error;
    bool is_over = false;
    if (take_run_id(run_id, &read.run_id, &error)) return give_error(&error, err);
    if (enter(maestro, &error)) return give_error(&error, err);
    Status status = wait_settled(maestro, &read, timeout_ms, &is_over, &error);
    leave(maestro);
    if (status) return give_error(&error, err);
    if (read.is_settled) {
        if (out_state) *out_state = (MaestroRunState)read.state;
        return MAESTRO_OK;
    }
    CHECK(is_over);
    error_set(&error, ERR_UNAVAILABLE, "run %s is %s after %lld ms", read.run_id.text, run_state_name(read.state),
              (long long)timeout_ms);
    give_error(&error, err);
    if (err) err->status = MAESTRO_TIMEOUT;
    return MAESTRO_TIMEOUT;
}
