/* edge_parts.h - what the files of a cell share: the leases that it holds, and the ways between its two threads.
 *
 * The engine's thread has the executors and the runs (edge_near.c, edge_orders.c), the other one the puller (edge.c). What both touch lies
 * behind one lock: leases and orders. Functions that say "with the lock" are called with it.
 *
 * Owns:   nothing of its own: edge.h says who does.     Fails: edge_open_text() with ERR_CORRUPT.     Thread: as they say.
 */
#ifndef EXEC_WORKER_EDGE_PARTS_H
#define EXEC_WORKER_EDGE_PARTS_H

#include <pthread.h>

#include "base/arena.h"
#include "exec/worker/edge.h"
#include "os/thread.h"
#include "os/wake.h"

#define WRAP_COUNT_MAX 32u

/* A lease that the cell holds. */
typedef struct Kept {
    struct Kept *next;
    char *token;
    uint64_t serial;                    /* the puller's; 0: it does not have it yet */
    uint64_t run_no;                    /* 0: its run has not begun */
    int64_t lease_ms, deadline_ms;
    Executor *inner;                    /* has its work; NULL: nobody has */
    AttemptId work, tell;
    bool is_telling;                    /* `tell` waits for the answer */
    bool is_told;                       /* the puller was given the report */
    bool is_ended;                      /* by the central server */
    bool is_late;                       /* its deadline has passed */
    bool is_effect;                     /* its effects are recorded before it acts */
    bool is_earlier;                    /* of an earlier process of this cell */
    char *report;                       /* JSON, from when it is telling */
} Kept;

typedef enum OrderKind { ORDER_START, ORDER_END, ORDER_ACKNOWLEDGE, ORDER_SETTLE } OrderKind;

/* What the puller's thread wants of the engine's. */
typedef struct Order { struct Order *next; OrderKind kind; bool is_taken; char *token, *lease; } Order;

typedef struct Wrap { Executor base; Executor *inner; Edge *edge; } Wrap;

typedef struct PlanKept { struct PlanKept *next; Arena arena; Str tenant, runner, document, text; } PlanKept;

struct Edge {
    EdgeOptions options;
    Arena arena;                        /* of the options */
    NoticeSink near, far;
    NoticeRing *far_ring;
    Wrap *wraps[WRAP_COUNT_MAX];
    uint32_t wrap_count;
    Executor reporter, relay;           /* the engine's, the puller's */
    PlanKept *plans;
    Wake wake, stop;
    Thread thread;
    bool has_thread, is_watched;
    int64_t looked_ms;                  /* the puller's */
    pthread_mutex_t mutex;              /* of what follows */
    Kept *kept;
    Order *orders, *orders_last;
};

/* --- the lock, and what is behind it (edge_kept.c) --------------------------------------------------------------------------- */

void edge_lock(Edge *edge);
void edge_unlock(Edge *edge);

/* With the lock. NULL where there is none. */
Kept *kept_of(const Edge *edge, Str token);
Kept *kept_of_run(const Edge *edge, uint64_t run_no);
Kept *kept_of_serial(const Edge *edge, uint64_t serial);
Kept *kept_add(Edge *edge, Str token);              /* the one that there is, or a new one */
void  kept_remove(Edge *edge, Kept *kept);
void  kept_keep_report(Kept *kept, Value report);
/* To the puller, in its name for the lease; false where it does not have it, or no room. */
bool  kept_tell(const Edge *edge, const Kept *kept, const Notice *notice);
/* The report that it keeps; where it cannot be told now, the puller's next turn does it. */
void  kept_tell_report(const Edge *edge, Kept *kept);

void order_put(Edge *edge, OrderKind kind, const char *token, Str lease, bool is_taken);
void order_free(Order *order);

Value edge_member(Value object, const char *key);   /* null where there is none */
/* A text that the key of this cell alone opens, bound to the lease and to what it is of it: "lease", "report". */
Value edge_seal_text(const Edge *edge, Arena *arena, Str token, const char *what, Str text);
MUST_USE Status edge_open_text(const Edge *edge, Arena *arena, Str token, const char *what, Value sealed, Value *out, Error *err);

/* --- the engine's side ----------------------------------------------------------------------------------------------------------- */

extern const ExecutorOps edge_reporter_ops;
void edge_take_orders(void *edge, int fd);          /* as HostWatch */

#endif
