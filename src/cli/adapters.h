/* adapters.h - what the commands need and only main.c knows: which stores and executors there are.
 *
 * Owns:   a Crew owns its executors and their inbox, until crew_close(). Close the engine before, the store after it.
 * Fails:  by Status, with texts for people.     Thread: the main one; a crew is opened before any other thread exists.
 */
#ifndef CLI_ADAPTERS_H
#define CLI_ADAPTERS_H

#include "engine/executor.h"
#include "engine/engine.h"
#include "engine/notice_ring.h"
#include "lang/catalog.h"
#include "view/store.h"

#define CREW_COUNT_MAX 32u

/* The executors of this process. */
typedef struct Crew {
    Executor *executors[CREW_COUNT_MAX];
    uint32_t count;
    NoticeRing *notices;
    const Catalog *catalog;             /* who offers what; may be NULL: then only what is built in */
} Crew;

typedef struct CrewOptions {
    const Catalog *catalog;
    const char *lock_path;              /* held while programs that it started are there; NULL: none */
    bool is_bench;                      /* with native runners that do nothing, for measuring */
} CrewOptions;

typedef struct Adapters {
    /* `url` is sqlite:PATH, memory:, or a path. */
    Status (*store_open)(Str url, bool is_created, Store **out_store, Error *err);
    Status (*crew_open)(const CrewOptions *options, Crew *out_crew, Error *err);
    void   (*crew_close)(Crew *crew);
    /* Who carries out a runner; as EngineOptions.runner, with a Crew as context. */
    bool   (*crew_runner)(void *crew, Str tenant, Str runner, RunnerOffer *out);
} Adapters;

extern const Adapters adapters;         /* in crew.c, which is part of the composition root */

#endif
