#include "exec/process/process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "base/heap.h"
#include "base/ring.h"
#include "engine/attempt.h"
#include "exec/process/child.h"
#include "exec/process/spawner_wire.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/wake.h"

#define STALLED_MS 2                    /* until a notice that was refused is offered again */
#define EVENT_COUNT_MAX 256             /* taken from the kernel at once */
#define FD_PER_CHILD 9                  /* four of ours, five of the program until they are sent */
#define FD_BESIDE 128                   /* what the rest of the program has open */
#define TOKEN_WAKE UINT64_MAX
#define TOKEN_SPAWNER (UINT64_MAX - 1)

typedef enum OrderKind { ORDER_EXECUTE, ORDER_END, ORDER_ACKNOWLEDGE } OrderKind;

/* From the engine's thread to the supervisor's. */
typedef struct Order {
    OrderKind kind;
    AttemptId id;
    Request *request;
} Order;

typedef struct ProcessExecutor {
    Executor base;
    ChildHost host;
    char scratch_path[PROCESS_PATH_SIZE_MAX];
    int64_t grace_ms;
    Thread thread;
    bool has_thread;

    Ring orders;
    Wake wake;
    atomic_uint active_count;           /* attempts taken and not yet reported */
    atomic_bool has_refused;            /* somebody is told when there is room */
    atomic_bool must_close;
    uint64_t serial;                    /* of the engine's thread: names outputs */

    /* The supervisor's own. */
    Child *children;                    /* capacity */
    uint32_t *free_slots;
    uint32_t free_count;
    uint32_t *busy;                     /* slots with something to do: those of this round, then of the next */
    uint32_t busy_count;
    Heap due;                           /* by slot: when it has to be ended, or killed; monotonic milliseconds */
    bool is_spawner_gone, owes_room;
} ProcessExecutor;

static bool process_execute(Executor *executor, const Attempt *attempt);
static void process_end(Executor *executor, const AttemptId *id);
static void process_acknowledge(Executor *executor, const AttemptId *id);
static void process_close(Executor *executor);
static const ExecutorOps process_ops = {
    .execute = process_execute, .end = process_end, .acknowledge = process_acknowledge, .close = process_close,
};

static void supervise(void *context);

/* --- make -------------------------------------------------------------------------------------------------------- */

static Status scratch_make(ProcessExecutor *process, const char *parent, Error *err)
{
    const char *given = parent ? parent : getenv("TMPDIR");
    int size = snprintf(process->scratch_path, sizeof process->scratch_path, "%s/maestro-XXXXXX", given ? given : P_tmpdir);
    if (size < 0 || (size_t)size >= sizeof process->scratch_path)
        return error_set(err, ERR_LIMIT, "the name of the scratch directory is too long");
    if (!mkdtemp(process->scratch_path))
        return error_set(err, ERR_UNAVAILABLE, "no scratch directory below %s: %s", given ? given : P_tmpdir, strerror(errno));
    return OK;
}

/* Raised for this process alone: the spawners, all forked before, give programs the limit that there was. */
static Status descriptors_raise(uint32_t capacity, Error *err)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)capacity * FD_PER_CHILD + FD_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return OK;
    if (limit.rlim_max < needed)
        return error_set(err, ERR_LIMIT, "a capacity of %u processes needs %llu descriptors, and there may be %llu", capacity,
                         (unsigned long long)needed, (unsigned long long)limit.rlim_max);
    limit.rlim_cur = needed;
    setrlimit(RLIMIT_NOFILE, &limit);
    return OK;
}

static Status watch(int epoll_fd, int fd, uint64_t token, Error *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = token };
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) return OK;
    return error_set(err, ERR_LIMIT, "a descriptor cannot be watched: %s", strerror(errno));
}

static void arrays_make(ProcessExecutor *process)
{
    uint32_t capacity = process->base.capacity;
    process->children = calloc(capacity, sizeof *process->children);
    process->free_slots = calloc(capacity, sizeof *process->free_slots);
    process->busy = calloc(2 * (size_t)capacity, sizeof *process->busy);
    CHECK(process->children && process->free_slots && process->busy);
    for (uint32_t slot = capacity; slot-- > 0;) {
        process->children[slot].slot = slot;
        process->free_slots[process->free_count++] = slot;
    }
    heap_init(&process->due);
    /* Every attempt can be taken, and ended and acknowledged many times, before the supervisor looks once. */
    ring_init(&process->orders, 4 * capacity + 1024);
    arena_init(&process->host.scratch, SIZE_MAX);
    buf_init(&process->host.line, 4 * (size_t)LOG_LINE_SIZE_MAX + 256);
}

static void arrays_free(ProcessExecutor *process)
{
    free(process->children);
    free(process->free_slots);
    free(process->busy);
    heap_deinit(&process->due);
    ring_deinit(&process->orders);
    arena_deinit(&process->host.scratch);
    buf_deinit(&process->host.line);
}

static uint32_t capacity_of(const ProcessOptions *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t capacity = options->capacity ? options->capacity : processors > 0 ? (uint32_t)processors : 1;
    return capacity < PROCESS_COUNT_MAX ? capacity : PROCESS_COUNT_MAX;
}

static Status watches_open(ProcessExecutor *process, Error *err)
{
    Status status = wake_open(&process->wake, err);
    if (status) return status;
    process->host.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    status = watch(process->host.epoll_fd, wake_fd(&process->wake), TOKEN_WAKE, err);
    if (!status) status = watch(process->host.epoll_fd, process->host.spawner.fd, TOKEN_SPAWNER, err);
    if (!status) return OK;
    if (process->host.epoll_fd >= 0) close(process->host.epoll_fd);
    wake_close(&process->wake);
    return status;
}

Status process_executor_open(const ProcessOptions *options, Executor **out_executor, Error *err)
{
    ProcessExecutor *process = calloc(1, sizeof *process);
    CHECK(process != NULL);
    process->base = (Executor){ .ops = &process_ops, .name = options->name, .kind = STR("process"), .is_outside = true, .is_keeper = true,
                                .capacity = capacity_of(options) };
    process->host.sink = options->sink;
    process->host.log_size_max = options->log_size_max ? options->log_size_max : LOG_SIZE_DEFAULT;
    process->grace_ms = options->grace_ms ? options->grace_ms : PROCESS_GRACE_MS_DEFAULT;

    Status status = scratch_make(process, options->scratch_parent, err);
    if (status) goto no_scratch;
    int64_t wait_ms = options->lock_wait_ms ? options->lock_wait_ms : 2 * PROCESS_SPAWNER_GRACE_MS + 10000;
    SpawnerOptions spawner = { options->lock_path, wait_ms, process->scratch_path };
    status = spawner_open(&process->host.spawner, &spawner, err);
    if (status) goto no_spawner;
    arrays_make(process);
    status = watches_open(process, err);
    if (status) goto no_watches;
    *out_executor = &process->base;
    return OK;

no_watches:
    arrays_free(process);
    spawner_close(&process->host.spawner);
    goto no_scratch;                    /* the spawner has removed the directory */
no_spawner:
    rmdir(process->scratch_path);
no_scratch:
    free(process);
    return status;
}

Status process_executor_start(Executor *executor, Error *err)
{
    ProcessExecutor *process = (ProcessExecutor *)executor;
    Status status = descriptors_raise(process->base.capacity, err);
    if (!status) status = thread_start(&process->thread, "processes", supervise, process, err);
    process->has_thread = !status;
    return status;
}

/* --- the engine's thread ----------------------------------------------------------------------------------------- */

static void order_put(ProcessExecutor *process, Order order)
{
    Order *copy = malloc(sizeof *copy);
    CHECK(copy != NULL);
    *copy = order;
    /* The supervisor never waits for anybody, so a full ring has room in a moment. */
    while (!ring_put(&process->orders, copy)) sched_yield();
    wake_raise(&process->wake);
}

static bool has_room(const ProcessExecutor *process)
{
    return atomic_load(&process->active_count) < process->base.capacity;
}

static bool process_execute(Executor *executor, const Attempt *attempt)
{
    ProcessExecutor *process = (ProcessExecutor *)executor;
    if (!has_room(process)) {
        atomic_store(&process->has_refused, true);
        if (!has_room(process)) return false;
        atomic_store(&process->has_refused, false);         /* one ended between the two looks */
    }
    atomic_fetch_add(&process->active_count, 1);
    char output_path[PROCESS_PATH_SIZE_MAX + 32];
    snprintf(output_path, sizeof output_path, "%s/%llu", process->scratch_path, (unsigned long long)++process->serial);
    order_put(process, (Order){ .kind = ORDER_EXECUTE, .request = request_make(attempt, output_path) });
    return true;
}

static void process_end(Executor *executor, const AttemptId *id)
{
    order_put((ProcessExecutor *)executor, (Order){ .kind = ORDER_END, .id = *id });
}

static void process_acknowledge(Executor *executor, const AttemptId *id)
{
    order_put((ProcessExecutor *)executor, (Order){ .kind = ORDER_ACKNOWLEDGE, .id = *id });
}

static void process_close(Executor *executor)
{
    ProcessExecutor *process = (ProcessExecutor *)executor;
    atomic_store(&process->must_close, true);
    wake_raise(&process->wake);
    if (process->has_thread) thread_join(&process->thread);
    spawner_close(&process->host.spawner);
    spawner_scratch_remove(process->scratch_path);          /* where the spawner was killed and could not */
    close(process->host.epoll_fd);
    wake_close(&process->wake);
    arrays_free(process);
    free(process);
}

/* --- the supervisor's thread ------------------------------------------------------------------------------------- */

/* Never early: the present millisecond is already partly over. */
static int64_t due_after(int64_t ms)
{
    return clock_monotonic_ms() + ms + 1;
}

static void busy_add(ProcessExecutor *process, uint32_t slot)
{
    Child *child = &process->children[slot];
    if (!child->request || child->is_busy) return;
    child->is_busy = true;
    process->busy[process->busy_count++] = slot;
}

/* Asks a program to end; what does not is killed when the grace is over. */
static void end_begin(ProcessExecutor *process, Child *child, Cause cause)
{
    if (child->ended_by || child->has_answer) return;
    child_end(child, cause, SIGTERM);
    heap_put(&process->due, child->slot, due_after(process->grace_ms));
    busy_add(process, child->slot);
}

static void execute_take(ProcessExecutor *process, Request *request)
{
    CHECK(process->free_count > 0);
    uint32_t slot = process->free_slots[--process->free_count];
    Child *child = &process->children[slot];
    child_begin(child, &process->host, request);
    if (process->is_spawner_gone) child_lost(child);
    if (request->left_ms < DURATION_MS_MAX) heap_put(&process->due, slot, due_after(request->left_ms));
    busy_add(process, slot);
    if (atomic_load(&process->must_close)) end_begin(process, child, CAUSE_CANCELLED);
}

static Child *child_find(ProcessExecutor *process, const AttemptId *id)
{
    for (uint32_t slot = 0; slot < process->base.capacity; slot++) {
        Child *child = &process->children[slot];
        if (child->request && attempt_id_is(&child->request->id, id)) return child;
    }
    return NULL;                        /* it has ended meanwhile: its report is on its way */
}

static void orders_take(ProcessExecutor *process)
{
    for (Order *order; (order = ring_take(&process->orders)); free(order)) {
        if (order->kind == ORDER_EXECUTE) {
            execute_take(process, order->request);
            continue;
        }
        Child *child = child_find(process, &order->id);
        if (!child) continue;
        if (order->kind == ORDER_END) end_begin(process, child, CAUSE_CANCELLED);
        else child_acknowledge(child);
        busy_add(process, child->slot);
    }
}

static void answers_take(ProcessExecutor *process)
{
    SpawnAnswer answer;
    bool is_gone;
    while (spawner_take(&process->host.spawner, &answer, &is_gone)) {
        CHECK(answer.slot < process->base.capacity);
        child_answer(&process->children[answer.slot], &answer);
        heap_remove(&process->due, answer.slot);
        busy_add(process, answer.slot);
    }
    if (!is_gone || process->is_spawner_gone) return;
    process->is_spawner_gone = true;
    epoll_ctl(process->host.epoll_fd, EPOLL_CTL_DEL, process->host.spawner.fd, NULL);
    for (uint32_t slot = 0; slot < process->base.capacity; slot++) {
        if (!process->children[slot].request) continue;
        child_lost(&process->children[slot]);
        busy_add(process, slot);
    }
}

static void timers_fire(ProcessExecutor *process)
{
    int64_t now = clock_monotonic_ms();
    for (HeapItem first; heap_peek(&process->due, &first) && first.due <= now;) {
        Child *child = &process->children[first.slot];
        heap_remove(&process->due, first.slot);
        if (!child->ended_by) end_begin(process, child, CAUSE_TIMEOUT);
        else child_end(child, child->ended_by, SIGKILL);
        busy_add(process, first.slot);
    }
}

static void child_free(ProcessExecutor *process, Child *child)
{
    heap_remove(&process->due, child->slot);
    child_release(child);
    process->free_slots[process->free_count++] = child->slot;
    atomic_fetch_sub(&process->active_count, 1);
    if (atomic_exchange(&process->has_refused, false)) process->owes_room = true;
}

/* One round over those that have something to do. How long may be slept afterwards: 0, STALLED_MS, or -1 for any time. */
static int busy_work(ProcessExecutor *process)
{
    int wait_ms = -1;
    uint32_t count = process->busy_count;
    for (uint32_t i = 0; i < count; i++) {
        Child *child = &process->children[process->busy[i]];
        child->is_busy = false;
        ChildState state = child_work(child);
        if (state == CHILD_DONE) child_free(process, child);
        if (state == CHILD_MORE) wait_ms = 0;
        if (state == CHILD_STALLED && wait_ms < 0) wait_ms = STALLED_MS;
        if (state == CHILD_MORE || state == CHILD_STALLED) busy_add(process, child->slot);
    }
    process->busy_count -= count;
    memmove(process->busy, process->busy + count, process->busy_count * sizeof *process->busy);
    if (process->owes_room) {
        Notice notice = { .kind = NOTICE_ROOM };
        process->owes_room = !process->host.sink.notice(process->host.sink.context, &notice);
        if (process->owes_room && wait_ms < 0) wait_ms = STALLED_MS;
    }
    return wait_ms;
}

static int wait_bound(const ProcessExecutor *process, int wait_ms)
{
    HeapItem first;
    if (!heap_peek(&process->due, &first)) return wait_ms;
    int64_t left = first.due - clock_monotonic_ms();
    if (left < 0) left = 0;
    if (left > INT32_MAX) left = INT32_MAX;
    return wait_ms < 0 || left < wait_ms ? (int)left : wait_ms;
}

static void close_begin(ProcessExecutor *process)
{
    process->host.is_closing = true;
    for (uint32_t slot = 0; slot < process->base.capacity; slot++)
        if (process->children[slot].request) end_begin(process, &process->children[slot], CAUSE_CANCELLED);
}

static void supervise(void *context)
{
    ProcessExecutor *process = context;
    int wait_ms = -1;
    for (;;) {
        struct epoll_event events[EVENT_COUNT_MAX];
        int count = epoll_wait(process->host.epoll_fd, events, EVENT_COUNT_MAX, wait_bound(process, wait_ms));
        bool has_answers = false;
        for (int i = 0; i < count; i++) {
            uint64_t token = events[i].data.u64;
            if (token == TOKEN_WAKE) wake_lower(&process->wake);
            else if (token == TOKEN_SPAWNER) has_answers = true;
            else busy_add(process, (uint32_t)(token >> 8));     /* of an earlier use of the slot: one look too many */
        }
        orders_take(process);
        if (has_answers) answers_take(process);
        timers_fire(process);
        if (!process->host.is_closing && atomic_load(&process->must_close)) close_begin(process);
        wait_ms = busy_work(process);
        if (process->host.is_closing && atomic_load(&process->active_count) == 0) return;
    }
}
