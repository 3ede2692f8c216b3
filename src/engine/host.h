/* host.h - an engine at work: waits for the store, the executors, a time or a caller's descriptor, and turns the engine.
 *
 * The engine itself never waits. Its host does: one thread, one loop, no timer faster than needed. Commands, servers and
 * embedding programs add their own descriptors and are called when these are ready.
 *
 * Owns:   the engine and the inbox of notices; not the store and the executors, which outlive it.
 * Fails:  host_open() with the store's reason (ERR_CONFLICT: another process owns it) or ERR_LIMIT.
 * Bounds: HOST_WATCH_COUNT_MAX descriptors of callers.     Thread: one.
 */
#ifndef ENGINE_HOST_H
#define ENGINE_HOST_H

#include "engine/engine.h"
#include "engine/notice_ring.h"

typedef struct Host Host;

typedef struct HostOptions {
    EngineOptions engine;
    NoticeRing *notices;                /* the inbox that the executors were opened with; closed by its owner, after them */
} HostOptions;

MUST_USE Status host_open(const HostOptions *options, Host **out_host, Error *err);
void    host_close(Host *host);         /* NULL is permitted; gives back what is under way, waits for commits */
Engine *host_engine(Host *host);

/* Called when the descriptor is readable. */
typedef void (*HostWatch)(void *context, int fd);
MUST_USE Status host_watch(Host *host, int fd, HostWatch watch, void *context, Error *err);
void host_unwatch(Host *host, int fd);

/* Waits at most so long for something to do, and does it. A negative time is without end. */
void host_turn(Host *host, int64_t timeout_ms);

#endif
