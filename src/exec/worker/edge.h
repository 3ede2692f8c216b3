/* edge.h - a cell: leases of a central server, kept in this server's own store and carried out by its own executors.
 *
 * To the central server a cell is a worker: it pulls leases by the protocol of workers, says that they are alive, and reports. To its
 * executors, and to workers that pull from it, it is the engine. Each lease becomes a run of this engine, under the lease's token as
 * its key, with two steps: `work`, which is the attempt as the central server has leased it, and `tell`, which hands what came of it
 * to the central server and ends with the answer.
 *
 *   central server ◀── puller (a thread) ──▶ leases ──▶ run: work ──▶ executors, workers of the cell
 *          ▲                                                  │
 *          └─────────────────── reports ◀──────────────── tell ◀── recorded: what work came to
 *
 * So everything that a cell knows is in its ledger: while the central server is away what was leased goes on, its outcome is recorded,
 * and `tell` waits; a cell that was killed goes on where its record ends, and what is recorded is not carried out again. The runs that
 * are open are the leases that are held: those are said to be alive. An attempt that fails is no failure of the cell's run: its
 * outcome is that it failed, and the central server decides what follows.
 *
 * What belongs to the lease is told to the central server alone: log lines, costs, signals and progress go there as they come, and an
 * effect is acted on when the central server has recorded it. A lease and its outcome may hold secrets, which the central server
 * filled in: in the store of the cell both are sealed.
 *
 * Owns:   wraps of the executors that it is given, the reporter, its thread. Executors, host, store stay the caller's.
 * Fails:  edge_start() with the store's reason, ERR_LIMIT. A central server that refuses the cell is asked again after a while.
 * Bounds: `capacity` leases. What is not yet told beside reports: the inbox of the puller; log lines beyond it are told of no more.
 * Thread: the engine's, but for edge_sink(), which is for any.
 */
#ifndef EXEC_WORKER_EDGE_H
#define EXEC_WORKER_EDGE_H

#include "engine/host.h"
#include "exec/worker/puller.h"
#include "secret/seal.h"

#define EDGE_REPORT_RUNNER "cell/report"        /* what the step `tell` names */
#define EDGE_SOURCE "cell"                      /* what started such a run */

typedef struct Edge Edge;

/* Before the executors are opened, which get its sink; `near` is the engine's. */
MUST_USE Status edge_new(NoticeSink near, Edge **out_edge, Error *err);
NoticeSink edge_sink(Edge *edge);
/* What the engine is given in place of an executor, and the one that carries out EDGE_REPORT_RUNNER. */
Executor *edge_wrap(Edge *edge, Executor *executor);
Executor *edge_reporter(Edge *edge);
void edge_free(Edge *edge);                     /* NULL is permitted; after the engine and the executors, before the engine's inbox */

typedef struct EdgeOptions {
    Str name;                       /* of the cell: what the central server knows it by, also after a restart */
    Str server, executor, bearer;   /* as PullerOptions has them */
    const char *ca;
    const Str *queues;
    uint32_t queue_count, capacity;
    Host *host;
    Store *store;
    SealKey key;
    bool (*knows)(void *context, Str runner);
    /* The plan of a run that carries out a lease of that tenant and runner: its document, and the text that it was made of. */
    Status (*plan)(void *context, Arena *arena, Str tenant, Str runner, Str *out_document, Str *out_text, Error *err);
    void (*told)(void *context, Str line);
    void *context;
} EdgeOptions;

/* Takes up the leases that the store has, and begins to pull. Before the host's first turn. */
MUST_USE Status edge_start(Edge *edge, const EdgeOptions *options, Error *err);
void edge_stop(Edge *edge);                     /* NULL is permitted; pulls no more, at once; before the host is closed */

#endif
