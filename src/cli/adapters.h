/* adapters.h - what the commands need and only main.c knows: which stores and executors there are.
 *
 * Owns:   a Crew owns its executors and their inbox, until crew_close(). Close the engine before, the store after it.
 * Fails:  by Status, with texts for people.     Thread: the main one; a crew is opened before any other thread exists.
 */
#ifndef CLI_ADAPTERS_H
#define CLI_ADAPTERS_H

#include "api/bridge.h"
#include "engine/executor.h"
#include "engine/engine.h"
#include "engine/notice_ring.h"
#include "lang/catalog.h"
#include "secret/seal.h"
#include "view/store.h"

#define CREW_COUNT_MAX 32u

/* The executors of this process. */
typedef struct Crew {
    Executor *executors[CREW_COUNT_MAX];
    uint32_t count;
    NoticeRing *notices;
    const Catalog *catalog;             /* who offers what; may be NULL: then only what is built in */
    TenantQuota *quotas;                /* of tenants that are held to something, as the catalog has them */
    uint32_t quota_count;
    Executor *offered[CREW_COUNT_MAX];  /* what an engine is given: the same, or of a cell what stands for them, and one more */
    uint32_t offered_count;
    SealKey token_key;                  /* of the tokens of attempts; by chance, until the owner of a store puts that
                                         * store's here, before it has an engine */
    bool gives_tokens;                  /* some executor hands attempts to others */
    struct Edge *edge;                  /* of a cell; NULL: it is none */
} Crew;

typedef struct CrewOptions {
    const Catalog *catalog;
    const char *lock_path;              /* held while programs that it started are there; NULL: none */
    bool is_absent;                     /* carries out nothing: for commands that change runs and go */
    bool is_bench;                      /* with native runners that do nothing, for measuring */
    bool is_cell;                       /* carries out leases of a central server: see exec/worker/edge.h */
    bool is_embedded;                   /* inside another program, which has threads and is not forked: starts no programs */
} CrewOptions;

typedef struct Claim { int fd; } Claim;
#define CLAIM_NONE ((Claim){ -1 })

/* What `maestro worker` does for a server: see exec/worker/puller.h. */
typedef struct WorkerErrand {
    Str server, executor, worker, bearer;
    const Str *queues;
    uint32_t queue_count, capacity;
    int stop_fd;
    void (*told)(void *context, Str line);
} WorkerErrand;

/* What `maestro server --cell` does for a central one. */
typedef struct CellErrand {
    Str name, server, executor, bearer;
    const Str *queues;
    uint32_t queue_count, capacity;
    Host *host;
    Store *store;
    SealKey key;                        /* leases and reports are sealed with it */
    Status (*plan)(void *context, Arena *arena, Str tenant, Str runner, Str *out_document, Str *out_text, Error *err);
    void (*told)(void *context, Str line);
    void *context;                      /* of these two */
} CellErrand;

/* A request to a route of a server: see store/remote/remote_store.h. */
typedef struct ServerCall {
    const char *method;
    Str path;                           /* with the query */
    Str id;                             /* empty: none */
    Value body;                         /* null: none */
} ServerCall;

/* Log lines of a run of a server behind `after`, of one step or of all. `away` is told that the server was lost, and with NULL that it answers
 * again. */
typedef struct ServerLines {
    Str run_id;
    int64_t after;
    Cell step;
    RowVisit visit;
    void (*away)(void *context, const Error *why);
    void *context;                      /* of these two */
} ServerLines;

typedef struct Adapters {
    /* `url` is sqlite:PATH, memory:, a path, or the address of a server. */
    Status (*store_open)(Str url, bool is_created, Store **out_store, Error *err);
    /* Whether there is one that could be opened, of a URL with a file; ERR_NOT_FOUND: there is none yet. Writes nothing. */
    Status (*store_look)(Str url, Error *err);
    /* Keeps others from becoming the store's owner until store_unclaim(): by whoever is about to. ERR_CONFLICT where another
     * process owns it or has claimed it; the text says which. */
    Status (*store_claim)(Str url, Claim *out_claim, Error *err);
    void   (*store_unclaim)(Claim *claim);              /* harmless where nothing was claimed */
    Status (*crew_open)(const CrewOptions *options, Crew *out_crew, Error *err);
    void   (*crew_close)(Crew *crew);
    /* Who carries out a runner; as EngineOptions.runner, with a Crew as context. A runner that this process does not know
     * is given to an executor that never has room: the step waits for a process that does. */
    bool   (*crew_runner)(void *crew, Str tenant, Str runner, uint32_t nth, RunnerOffer *out);
    uint32_t (*crew_weight)(void *crew, Str tenant);        /* as EngineOptions.weight */
    /* Pulls work from a server and has the crew carry it out, until it is told to stop. */
    Status (*worker_run)(const WorkerErrand *errand, Crew *crew, Error *err);
    /* Of a crew that was opened for a cell: begins and ends the pulling. */
    Status (*cell_start)(const CellErrand *errand, Crew *crew, Error *err);
    void   (*cell_stop)(Crew *crew);
    /* The engine's side of an exchange, with a Crew as context: see api/bridge.h. */
    Status (*crew_exchange)(void *crew, const ExchangeAsk *ask, void (*done)(void *context, Value answer), void *done_context,
                            Error *err);
    void (*crew_withdraw)(void *crew, const void *done_context);
    void (*crew_give_back)(void *crew, Str executor, Value answer);
    /* What the owner of a store is asked over its socket, of a server: one petition, and its answer. */
    Status (*server_ask)(Str url, Arena *arena, Value request, Value *out_answer, Error *err);
    /* One request; what it refuses is the answer as well, as its problem, and null where it was not reached. */
    Status (*server_call)(Str url, Arena *arena, const ServerCall *call, Value *out_answer, Error *err);
    /* As they are written, until the run is settled: see store/remote/remote_store.h. */
    Status (*server_lines)(Str url, const ServerLines *lines, Error *err);
    /* What the disk under a directory and a bare loop of transactions reach. */
    Status (*limits)(const char *directory, double *out_events_per_s, double *out_sync_us, Error *err);
} Adapters;

extern const Adapters adapters;         /* in crew.c, which is part of the composition root */

#endif
