/* puller.h - the worker's side: asks a server for work, has it carried out here, and tells what became of it.
 *
 * It has two connections, one on which it waits for work and one on which it talks, so that a report never waits behind the wait
 * (docs/worker-protocol.md). What is carried out, and how, is the business of the executors that it is given: those of this process,
 * with the runners of its own runners.yaml.
 *
 * An executor is told by settled() what the server has answered to its report. Where leases outlive the puller (a cell), it gets them as
 * the server has said them, as `step` of its attempts.
 *
 * When it is stopped it takes back its wait for work, by an exchange that asks for none in its place, and waits a while for the answer of the one
 * that waited: a lease that was granted in that moment is carried out, and not lost.
 *
 * A server that cannot be reached is asked again ever more rarely; what runs goes on meanwhile, and what it says is kept and sent
 * when the server is back. What is sent twice is answered as the first time.
 *
 * Owns:   its connections and leases; executors and inbox stay the caller's.
 * Fails:  puller_run() with ERR_DENIED where the server refuses the credential or the queue, ERR_INVALID for a URL that is none,
 *         ERR_NOT_FOUND where the server has no such executor. ERR_UNAVAILABLE where its certificate is not believed and it never was: a
 *         worker that has work goes on, since a certificate may be replaced.
 * Bounds: `capacity` attempts at a time; PULLER_ITEM_SIZE_MAX bytes of what is not sent yet, beyond which log lines wait.
 * Thread: the caller's, for as long as it runs.
 */
#ifndef EXEC_WORKER_PULLER_H
#define EXEC_WORKER_PULLER_H

#include "engine/executor.h"
#include "engine/notice_ring.h"

typedef struct PullerOptions {
    Str server;                     /* "https://host:port" */
    Str executor;                   /* its id on the server */
    Str worker;                     /* a name of its own */
    Str bearer;                     /* the credential; empty: none */
    const char *ca;                 /* a file with the authorities that the server is believed by; NULL: those of this machine */
    const Str *queues;
    uint32_t queue_count;
    uint32_t capacity;
    Executor *const *executors;
    uint32_t executor_count;
    NoticeRing *notices;
    /* Who carries out that runner here, with which settings; false where nobody does. */
    bool (*find)(void *context, Str runner, Executor **out_executor, Value *out_settings);
    void *context;
    /* A lease that it has from before, by number until there are no more; `id` is what it is called from now on. May be NULL. */
    bool (*adopt)(void *context, uint32_t index, const AttemptId *id, Str *out_token, int64_t *out_lease_ms, Executor **out_executor);
    int stop_fd;                    /* readable: take no more, and end when what runs has ended; -1: none */
    bool is_kept;                   /* what was leased outlives it: it ends at once when it is stopped */
    void (*told)(void *context, Str line);      /* something happened that a person may want to know; may be NULL */
} PullerOptions;

/* The word of the protocol for why an attempt failed. */
const char *puller_cause_word(Cause cause);

/* Until it is stopped and nothing is under way, or the server refuses it. */
MUST_USE Status puller_run(const PullerOptions *options, Error *err);

#endif
