/* worker.h - the executor whose work is pulled: remote workers ask for it, and say what became of it.
 *
 * A worker sends one request, an exchange, again and again: what its attempts have to say (reports, messages, log lines,
 * heartbeats) and how much more it wants. The answer comes after the commit that holds both: what became of each report, the
 * leases of new attempts, and which attempts are to be ended. docs/worker-protocol.md is the protocol; whoever serves it parses
 * a request into a Value, checks the credential, and calls worker_exchange().
 *
 *   worker ──▶ exchange ──▶ notices ──▶ decision, commit ──▶ execute(): a lease ──▶ done(): the answer ──▶ worker
 *
 * What nobody asks for is not given: the executor has room exactly as long as an exchange waits that wants more, so that the
 * engine grants a lease (dispatched and running, in one decision) only to a worker that is there. A lease lasts `lease_ms` from its
 * grant and from each heartbeat or message after it. Where it runs out the core gives the attempt up (lease-expired), decides
 * whether it is tried again, and the worker that comes back late is told so and does no harm: its token is of an attempt that is
 * not under way. A token (engine/token.h) is opaque to workers, and one that was not given to them is refused; it survives the engine's process:
 * after a restart the lease has one full term, and the worker reports to the next owner as if nothing had been.
 *
 * A report that is sent again gets the first answer: as the executor remembers it, and afterwards, and in the next process, by what the
 * ledger has of the attempt. There is one report of an attempt: another one under the same token is answered as it, and changes nothing.
 *
 * Owns:   a WorkerExchange is copied. Answers borrow for the time of the call.
 * Fails:  worker_executor_open() with ERR_LIMIT. worker_exchange() refuses before anything is done: ERR_INVALID for a request that
 *         is none, ERR_DENIED for a queue that the credential does not permit, ERR_NOT_FOUND for one that there is not, ERR_LIMIT
 *         for a list that is too long, ERR_UNAVAILABLE where too many wait already. done() is then not called. A second exchange of the
 *         same worker that wants work takes the place of the one that waits, which is answered.
 * Bounds: WORKER_LEASE_COUNT_MAX leases, WORKER_EXCHANGE_COUNT_MAX waiting exchanges, WORKER_ITEM_COUNT_MAX items in each list.
 * Thread: the engine's, all of it, done() included: whoever serves requests in another one passes them on by a ring, as it does
 *         with engine_request().
 */
#ifndef EXEC_WORKER_WORKER_H
#define EXEC_WORKER_WORKER_H

#include "engine/executor.h"
#include "secret/seal.h"

typedef struct WorkerOptions {
    Str name;                       /* of the executor: {id} in the path */
    Value runners;                  /* its runners in runners.yaml: their queues; null: the queue is the runner's name */
    uint32_t capacity;              /* leases at a time; 0: WORKER_LEASE_COUNT_MAX */
    int64_t lease_ms;               /* 0: LEASE_MS_DEFAULT */
    const SealKey *token_key;       /* of the tokens, filled in before the first attempt; NULL: one of its own, and no other process knows them */
    NoticeSink sink;                /* to the engine, in its own thread: engine_notice() may be behind it */
} WorkerOptions;

MUST_USE Status worker_executor_open(const WorkerOptions *options, Executor **out_executor, Error *err);
bool executor_is_worker(const Executor *executor);

/* What whoever checked the credential knows. */
typedef struct WorkerCredential {
    Str worker;                     /* who it is: at most one exchange of it waits */
    Str tenant;                     /* whose work alone it gets; empty: everybody's */
    Value queues;                   /* a list of those that it may pull from; null: all of the executor */
} WorkerCredential;

/* `answer`: {"results": [...], "leases": [...], "cancels": [...]}, as docs/worker-protocol.md has it. */
typedef void (*WorkerDone)(void *context, Value answer);

/* `request`: the parsed body, {"queues", "reports", "messages", "logs", "heartbeats", "want", "wait_ms"}. done() is called once, after
 * the commit that holds what the request said: at once where it says and wants nothing; else when its reports are durable and
 * either a lease was granted or `wait_ms` are over, and when the executor is closed. */
MUST_USE Status worker_exchange(Executor *executor, const WorkerCredential *credential, Value request, WorkerDone done, void *context,
                                Error *err);
/* Whoever sent the exchange with that context may be gone: no lease is granted by it any more, and it is answered as soon as what it said
 * is durable. Nothing where it was answered already. */
void worker_exchange_withdraw(Executor *executor, const void *context);
/* Nobody was given that answer: its leases wait for a worker again, as the same attempts, as if they had not been granted by it, and what is
 * to be ended is told by the next one. */
void worker_exchange_give_back(Executor *executor, Value answer);

#endif
