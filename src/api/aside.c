#include "api/aside.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/bearer.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/thread.h"
#include "os/wake.h"

typedef struct AsideJob {
    struct AsideJob *next;
    Call *call;                     /* the server's; NULL: it is an errand */
    Call copy;
    AsideWork work;
    AsideDone done;
    AsideErrandDone errand_done;
    ShareOwner sharer;              /* whose share it takes */
    uint64_t turn;
    bool is_unwanted;               /* nobody is there to be answered; the server's */
} AsideJob;

typedef struct AsideList { AsideJob *first, **last; } AsideList;

struct Aside {
    Api api;                        /* of the copies: what they read with */
    Store *store;                   /* that its snapshot is of */
    Thread thread;
    bool has_thread;
    pthread_mutex_t mutex;          /* of what follows */
    pthread_cond_t has_work;
    AsideList waiting, finished;
    AsideJob *under_way;            /* NULL: none */
    uint64_t turn;                  /* of what was begun last */
    bool is_stopping;
    uint32_t job_count;             /* waiting, under way and finished; the server's */
    Wake wake;
};

static void list_add(AsideList *list, AsideJob *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
}

static AsideJob *list_take(AsideList *list, AsideJob **place)
{
    AsideJob *job = *place;
    *place = job->next;
    if (list->last == &job->next) list->last = place;
    return job;
}

/* --- the aside's thread ----------------------------------------------------------------------------------------------------------------- */

/* The one of the earliest turn; of equal ones that came first. */
static AsideJob *take_next(Aside *aside)
{
    AsideJob **best = &aside->waiting.first;
    for (AsideJob **place = best; *place; place = &(*place)->next)
        if ((*place)->turn < (*best)->turn) best = place;
    aside->turn = (*best)->turn;
    return list_take(&aside->waiting, best);
}

static void run(void *context)
{
    Aside *aside = context;
    pthread_mutex_lock(&aside->mutex);
    while (!aside->is_stopping) {
        if (!aside->waiting.first) {
            pthread_cond_wait(&aside->has_work, &aside->mutex);
            continue;
        }
        AsideJob *job = aside->under_way = take_next(aside);
        pthread_mutex_unlock(&aside->mutex);
        job->work(&job->copy);
        if (job->copy.status) call_pack(&job->copy);
        api_plans_trim(&aside->api);
        store_renew(aside->api.store);      /* what it has read is not held on to while there is nothing to do */
        pthread_mutex_lock(&aside->mutex);
        aside->under_way = NULL;
        list_add(&aside->finished, job);
        wake_raise(&aside->wake);
    }
    pthread_mutex_unlock(&aside->mutex);
}

/* --- the server's --------------------------------------------------------------------------------------------------------------------- */

static void job_free(AsideJob *job)
{
    engine_plan_free(job->copy.plan);
    buf_deinit(&job->copy.out);
    arena_deinit(&job->copy.read_arena);
    arena_deinit(&job->copy.arena);
    if (job->call) call_release(job->call);
    free(job);
}

static void copy_answer(Call *call, Call *copy)
{
    Buf out = call->out;
    for (uint32_t i = 0; i < copy->answer_count; i++) call_add_header(call, copy->answer[i].name.ptr, copy->answer[i].value);
    call->out = copy->out;
    copy->out = out;
    call->is_packed = copy->is_packed;
    call->is_bare = copy->is_bare;
    call->problem = copy->problem;
    call->hidden = arena_copy(&call->arena, copy->hidden);
    if (copy->refused.len) call_refuse(call, copy->refused_tenant, copy->refused);
    call_answer(call, copy->status, copy->type);
}

static bool is_of_all(ShareOwner sharer) { return str_is_text(sharer.tenant, "*"); }

/* Whoever has every tenant shares with itself, and all strangers with each other. */
static bool share_with(ShareOwner one, ShareOwner other)
{
    return str_is(one.tenant, other.tenant) && (!is_of_all(one) || str_is(one.actor, other.actor));
}

static void be_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "there was so much to do that this was not done within %d s; come again", API_ANSWER_MS_MAX / 1000);
}

/* Its turn is behind those that the same one waits for already; in it others have theirs. False where there is no room. */
static bool enqueue(Aside *aside, AsideJob *job)
{
    uint32_t share_count = 0;
    pthread_mutex_lock(&aside->mutex);
    job->turn = aside->turn;
    for (const AsideJob *other = aside->waiting.first; other; other = other->next) {
        if (!share_with(other->sharer, job->sharer)) continue;
        share_count++;
        job->turn = other->turn + 1;
    }
    bool has_room = share_count < API_ASIDE_SHARE_MAX;
    if (has_room) list_add(&aside->waiting, job);
    pthread_cond_signal(&aside->has_work);
    pthread_mutex_unlock(&aside->mutex);
    return has_room;
}

/* Of a call that is not begun yet, or that is. */
static AsideJob *job_of(Aside *aside, const Call *call, bool *out_is_waiting)
{
    AsideJob **place = &aside->waiting.first;
    while (*place && (*place)->call != call) place = &(*place)->next;
    *out_is_waiting = *place;
    if (*place) return list_take(&aside->waiting, place);
    return aside->under_way && aside->under_way->call == call ? aside->under_way : NULL;
}

/* Whoever has closed its side may still read. What is for nobody is not begun, and where it is, nothing comes of it. */
static void leave_client(Call *call, bool is_broken)
{
    Aside *aside = call->api->aside;
    bool is_waiting;
    if (!is_broken || call->status) return;
    pthread_mutex_lock(&aside->mutex);
    AsideJob *job = job_of(aside, call, &is_waiting);
    pthread_mutex_unlock(&aside->mutex);
    if (!job) return;
    job->is_unwanted = true;
    call_problem(call, PROBLEM_OVERLOAD, "whoever asked has left before it was done");
    if (!is_waiting) return;
    aside->job_count--;
    job_free(job);
}

typedef enum AsideRoom { ASIDE_TAKEN, ASIDE_IS_FULL, ASIDE_SHARE_IS_FULL, ASIDE_ENDS } AsideRoom;

static void own_copy(Aside *aside, AsideJob *job)
{
    Call *copy = &job->copy;
    copy->api = &aside->api;
    copy->is_copy = true;
    arena_init(&copy->arena, SIZE_MAX);
    arena_init(&copy->read_arena, API_BODY_READ_SIZE_MAX);
    buf_init(&copy->out, JSON_SIZE_MAX);
}

static AsideRoom begin(Call *call, AsideWork work, AsideDone done)
{
    Aside *aside = call->api->aside;
    if (call->api->is_draining) return ASIDE_ENDS;
    if (aside->job_count == API_ASIDE_COUNT_MAX) return ASIDE_IS_FULL;
    AsideJob *job = calloc(1, sizeof *job);
    CHECK(job);
    *job = (AsideJob){ .call = call, .copy = *call, .work = work, .done = done, .sharer = call_sharer(call) };
    own_copy(aside, job);
    job->copy.answer_count = 0;
    call->use_count++;
    if (!enqueue(aside, job)) {
        job_free(job);
        return ASIDE_SHARE_IS_FULL;
    }
    aside->job_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
    call_watch(call, leave_client);
    return ASIDE_TAKEN;
}

static void refuse_share(Call *call)
{
    ShareOwner sharer = call_sharer(call);
    ShareBound bound = is_of_all(sharer) ? SHARE_OF_KEY : sharer.tenant.len ? SHARE_OF_TENANT : SHARE_OF_STRANGERS;
    call_problem(call, PROBLEM_OVERLOAD, "API_ASIDE_SHARE_MAX (%u) requests of %s that take long wait already", API_ASIDE_SHARE_MAX,
                 share_holder(bound));
}

bool aside_try(Call *call, AsideWork work, AsideDone done) { return begin(call, work, done) == ASIDE_TAKEN; }

void aside_begin(Call *call, AsideWork work, AsideDone done)
{
    switch (begin(call, work, done)) {
    case ASIDE_TAKEN: break;
    case ASIDE_IS_FULL:
        call_problem(call, PROBLEM_UNAVAILABLE, "API_ASIDE_COUNT_MAX (%u) requests that take long wait already", API_ASIDE_COUNT_MAX);
        break;
    case ASIDE_SHARE_IS_FULL: refuse_share(call); break;
    case ASIDE_ENDS: call_problem(call, PROBLEM_UNAVAILABLE, "the server is about to end, and begins nothing that takes long"); break;
    }
}

bool aside_send(Aside *aside, Str tenant, AsideWork work, AsideErrandDone done, void *context)
{
    if (aside->job_count == API_ASIDE_COUNT_MAX) return false;
    AsideJob *job = calloc(1, sizeof *job);
    CHECK(job);
    *job = (AsideJob){ .copy.state = context, .work = work, .errand_done = done };
    own_copy(aside, job);
    job->sharer.tenant = arena_copy(&job->copy.arena, tenant);
    if (!enqueue(aside, job)) {
        job_free(job);
        return false;
    }
    aside->job_count++;
    return true;
}

int aside_fd(const Aside *aside) { return wake_fd(&aside->wake); }

bool aside_is_busy(const Aside *aside) { return aside->job_count > 0; }

static void finish(AsideJob *job)
{
    Call *call = job->call, *copy = &job->copy;
    call->asked = arena_copy(&call->arena, copy->asked);
    if (copy->status) copy_answer(call, copy);
    else if (call->is_read || !copy->is_read || call_take_read(call, copy)) job->done(call, copy);
}

void aside_take(Aside *aside)
{
    wake_lower(&aside->wake);
    pthread_mutex_lock(&aside->mutex);
    AsideJob *job = aside->finished.first;
    aside->finished = (AsideList){ .last = &aside->finished.first };
    pthread_mutex_unlock(&aside->mutex);
    for (AsideJob *next; job; job = next) {
        Call *call = job->call;
        next = job->next;
        aside->job_count--;
        if (!call) job->errand_done(job->copy.state, &job->copy);
        else if (!call->is_gone && !call->status && !job->is_unwanted && bearer_check(call)) finish(job);
        job_free(job);
    }
}

/* --- make, end ------------------------------------------------------------------------------------------------------------------------ */

Status aside_open(const AsideOptions *options, Aside **out_aside, Error *err)
{
    Aside *aside = calloc(1, sizeof *aside);
    CHECK(aside);
    aside->api = (Api){ .store = store_snapshot(options->store), .store_path = options->store_path, .catalog = options->catalog,
                        .guard = options->guard, .access = options->access, .facts = options->facts };
    aside->api.triggers = (TriggerDesk){ .store = aside->api.store, .vault = options->vault, .guard = options->guard };
    aside->store = options->store;
    aside->waiting.last = &aside->waiting.first;
    aside->finished.last = &aside->finished.first;
    pthread_mutex_init(&aside->mutex, NULL);
    pthread_cond_init(&aside->has_work, NULL);
    aside->wake.fd = -1;
    *out_aside = aside;             /* aside_free() ends what there is of it */
    Status status = wake_open(&aside->wake, err);
    if (!status) status = thread_start(&aside->thread, "maestro-aside", run, aside, err);
    aside->has_thread = !status;
    return status;
}

void aside_stop(Aside *aside)
{
    if (!aside || !aside->api.store) return;
    pthread_mutex_lock(&aside->mutex);
    aside->is_stopping = true;
    pthread_cond_signal(&aside->has_work);
    pthread_mutex_unlock(&aside->mutex);
    if (aside->has_thread) thread_join(&aside->thread);
    api_plans_deinit(&aside->api);
    if (aside->api.store != aside->store) store_close(aside->api.store);
    aside->api.store = NULL;
}

void aside_free(Aside *aside)
{
    if (!aside) return;
    while (aside->waiting.first) job_free(list_take(&aside->waiting, &aside->waiting.first));
    while (aside->finished.first) job_free(list_take(&aside->finished, &aside->finished.first));
    if (aside->wake.fd >= 0) wake_close(&aside->wake);
    pthread_cond_destroy(&aside->has_work);
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}
