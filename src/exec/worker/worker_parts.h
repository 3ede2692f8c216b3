/* worker_parts.h - what the files of the worker executor share: its leases, its exchanges, and the ways between them.
 *
 * A lease is an attempt that the engine gave to this executor (worker_lease.c): it waits for a worker, a worker has it, its report is on its
 * way, its answer is remembered. An exchange is a request of a worker that is not answered yet (worker_exchange.c): it says things, each
 * answered when it is durable, and wants leases; worker_wait.c finds those that something is for among thousands. They meet in
 * worker_lease_offer() and in worker_exchange(): what one has is what the other wants. worker.c is the executor around both: its queues,
 * its timer, its notices to the engine.
 *
 * Owns:   a WorkerExecutor its leases, exchanges and pending notices, until it is closed.
 * Fails:  never.     Bounds: as worker.h says; KEPT_COUNT_MAX answers are remembered.     Thread: the engine's.
 */
#ifndef EXEC_WORKER_WORKER_PARTS_H
#define EXEC_WORKER_WORKER_PARTS_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/limits.h"
#include "engine/run_index.h"
#include "engine/token.h"
#include "exec/worker/worker.h"
#include "value/value.h"

#define WORKER_BUCKET_COUNT 1024u       /* lists of exchanges by a hash: a few in each */

typedef enum LeaseState {
    LEASE_WAITS,                        /* granted by the engine; no worker has it yet */
    LEASE_HELD,                         /* by a worker */
    LEASE_REPORTED,                     /* the engine was told; that is not durable yet */
    LEASE_TAKEN, LEASE_REFUSED,         /* the answer to its report, remembered for who sends it again */
} LeaseState;

/* An attempt that was given to this executor. */
typedef struct Lease {
    struct Lease *next;                 /* of those that wait for a worker; of those whose answer is remembered */
    struct Lease *cancel_next, *cancel_previous;            /* of those that their worker is to end and was not told so */
    AttemptId id;
    uint8_t state;                      /* a LeaseState */
    bool is_ended;                      /* its worker is to end it ... */
    bool is_untold;                     /* ... and was not told so */
    bool is_lost;                       /* given up for its worker's silence: whatever that one says is refused */
    int64_t heard_ms;                   /* when its worker last said anything */
    char *document;                     /* {"task", "definition", "args", "resources", "effect_recorded"}, JSON; NULL: a worker has it */
    uint32_t document_size;
    uint32_t queue;                     /* index */
    Str tenant, runner;                 /* behind the lease, in one allocation */
    char worker[WORKER_NAME_SIZE_MAX];
    size_t worker_size;
} Lease;

/* One thing that an exchange said and that is answered when it is durable; or a heartbeat, by its receipt: whether anybody wants it. */
typedef struct Item { AttemptId id; Str token; uint64_t receipt; bool is_report, is_open, is_taken; const char *refusal; } Item;

/* A place in a list of exchanges, which remembers whose it is; zero: in none. */
typedef struct Tie { struct Tie *next, *previous; struct Exchange *exchange; } Tie;
typedef struct TieList { Tie *first, *last; } TieList;

typedef struct Exchange {
    Tie all, stirred, open, of_worker, of_context;         /* see the lists of the executor */
    Tie *wanting;                       /* one for each of its queues */
    uint32_t slot;                      /* of the times */
    Arena arena;
    Str worker, tenant;
    uint64_t worker_hash;
    uint64_t queues;                    /* that it wants work of: a bit for each */
    uint64_t permitted;                 /* that its credential is for, whatever it wants */
    bool is_limited;                    /* to these */
    uint32_t want_left;
    int64_t wait_ms;
    int64_t due_ms, settle_ms;          /* from the first turn that sees it: before, nobody knows the time; 0: not yet */
    Item *items;
    uint32_t item_count, open_count;
    ValueList leases;
    ValueList ended;                    /* of those tokens that it says are alive: which are of no attempt that is under way and its own */
    WorkerDone done;
    void *context;
} Exchange;

typedef struct Pending { struct Pending *next; Arena arena; Notice notice; } Pending;

typedef struct WorkerExecutor {
    Executor base;
    NoticeSink sink;
    TokenScope tokens;
    SealKey own_key;                    /* of the tokens, where nobody gave it one */
    Str queues[WORKER_QUEUE_COUNT_MAX];
    uint32_t queue_tags[WORKER_QUEUE_COUNT_MAX];            /* what tokens have in their place */
    int64_t heard_ms[WORKER_QUEUE_COUNT_MAX];               /* when somebody last asked for work of it, or had some: since when nobody does */
    uint64_t asked;                     /* for those since the last turn, a bit for each: before that nobody knows the time */
    uint64_t known;                     /* ... at any time */
    uint64_t forsaken;                  /* nobody is there for those */
    uint32_t queue_count;
    RunIndex leases;                    /* by the hash of the id */
    uint32_t lease_count;               /* not reported yet */
    RunIndex cancels;                   /* those that their worker is to end and was not told so: a list for each hash of a worker */
    Lease *waiting, *waiting_last;
    Lease *kept, *kept_last;            /* the oldest first */
    uint32_t kept_count;
    TieList exchanges;                  /* the oldest first, as all of these lists: all that there are, ... */
    TieList stirred;                    /* ... that changed since a turn looked at them, ... */
    TieList open;                       /* ... that said what is not durable yet, ... */
    TieList wanting[WORKER_QUEUE_COUNT_MAX];                /* ... that want more of the queue, ... */
    TieList of_workers[WORKER_BUCKET_COUNT], of_contexts[WORKER_BUCKET_COUNT];      /* ... of a worker, of who sent it, by their hashes */
    Heap times;                         /* when each is to be looked at again, by slot */
    Exchange *slots[WORKER_EXCHANGE_COUNT_MAX];
    uint32_t spares[WORKER_EXCHANGE_COUNT_MAX], spare_count;        /* slots that were given back */
    uint32_t exchange_count;
    uint64_t receipt;                   /* the last one that was given to a heartbeat */
    Pending *pending, *pending_last;    /* notices that the inbox had no room for */
    int64_t steady_ms, looked_ms;
    bool has_refused;                   /* at its capacity: it says when there is room */
    bool is_awake;                      /* the timer rings already */
    bool is_draining;                   /* the process is about to end */
    int timer_fd;
    Value runners;
} WorkerExecutor;

/* --- the executor: worker.c ----------------------------------------------------------------------------------------------- */

uint32_t worker_queue_find(const WorkerExecutor *pool, Str name);              /* queue_count: there is none of that name */
Str      worker_queue_name(const WorkerExecutor *pool, Str runner);
void     worker_wake_after(WorkerExecutor *pool, int64_t ms);                  /* 0: at once */
void     worker_send(WorkerExecutor *pool, const Notice *notice);              /* copied where it cannot be taken now */

/* --- leases: worker_lease.c ----------------------------------------------------------------------------------------------- */

Lease *worker_lease_find(const WorkerExecutor *pool, const AttemptId *id);     /* NULL: it is not this process's, or was forgotten */
void   worker_lease_free(Lease *lease);
Value  worker_lease_token(const WorkerExecutor *pool, Arena *arena, const Lease *lease);
void   worker_lease_report(WorkerExecutor *pool, Lease *lease, const Report *report);
void   worker_lease_cancel(WorkerExecutor *pool, Lease *lease, Cause cause, Str why);
void   worker_lease_keep(WorkerExecutor *pool, Lease *lease, LeaseState state);
void   worker_lease_wait_again(WorkerExecutor *pool, Lease *lease, Value granted);
void   worker_leases_look(WorkerExecutor *pool);                               /* which ran out, and which are to be kept alive */
void   worker_waiting_remove(WorkerExecutor *pool, const Lease *lease);

/* What a worker is to end and was not told yet. */
uint64_t worker_hash(Str worker);
void     worker_cancel_add(WorkerExecutor *pool, Lease *lease);
void     worker_cancel_remove(WorkerExecutor *pool, Lease *lease);
Lease   *worker_cancel_first(const WorkerExecutor *pool, const Exchange *exchange);
Lease   *worker_cancel_of(Lease *lease, Str worker);

bool     worker_execute(Executor *executor, const Attempt *attempt);           /* of the port, as those below */
void     worker_end(Executor *executor, const AttemptId *id);
void     worker_lose(Executor *executor, const AttemptId *id);
uint32_t worker_drain(Executor *executor);
void     worker_keep(Executor *executor, int64_t steady_ms);

/* --- exchanges that wait: worker_wait.c ------------------------------------------------------------------------------------- */

void worker_exchange_join(WorkerExecutor *pool, Exchange *exchange);           /* it wants nothing yet */
void worker_exchange_leave(WorkerExecutor *pool, Exchange *exchange);          /* before it is freed */
void worker_exchange_stir(WorkerExecutor *pool, Exchange *exchange);           /* the next turn looks whether it can be answered */
void worker_exchange_want(WorkerExecutor *pool, Exchange *exchange, uint32_t want);
void worker_exchange_open(WorkerExecutor *pool, Exchange *exchange, bool is_open);      /* one more of its items, or one less, is not durable yet */
void worker_cancels_stir(WorkerExecutor *pool, uint64_t hash);                 /* those of workers of that hash */
Exchange *worker_exchange_that_wants(WorkerExecutor *pool, uint64_t hash, Str worker);
Exchange *worker_exchange_of(WorkerExecutor *pool, const void *context);       /* NULL, as of the one above: there is none */
int64_t   worker_exchanges_look(WorkerExecutor *pool);                         /* answers what is ready; in how many ms it has to be called again */

/* --- exchanges: worker_exchange.c ----------------------------------------------------------------------------------------- */

bool worker_lease_offer(WorkerExecutor *pool, Lease *lease);                   /* false: no exchange wants it */
void worker_exchange_answer(WorkerExecutor *pool, Exchange *exchange);         /* and it is gone */
bool worker_exchange_is_ready(const WorkerExecutor *pool, const Exchange *exchange);

bool worker_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken);
bool worker_is_served(Executor *executor, Str runner);
void worker_acknowledge(Executor *executor, const AttemptId *id);
void worker_refuse(Executor *executor, const AttemptId *id);
void worker_settled(Executor *executor, const AttemptId *id, bool is_taken);
void worker_received(Executor *executor, uint64_t receipt, bool is_taken);

#endif
