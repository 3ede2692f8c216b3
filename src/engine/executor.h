/* executor.h - the port to places where work is done.
 *
 * An executor takes attempts and later reports on them. Taking one never blocks and tells nothing of its outcome; reports,
 * logs, effects, costs and heartbeats come back by the sink, from any thread, and enter the engine as commands.
 *
 * Owns:   an executor copies what it needs of an Attempt before execute() returns. Reports are copied by the sink.
 * Fails:  execute() answers false where it has no room or cannot take it now: the attempt is offered again.
 * Bounds: capacity attempts at a time.
 * Thread: execute(), end() and turn(): the engine's thread. Sink: any.
 */
#ifndef ENGINE_EXECUTOR_H
#define ENGINE_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "core/command.h"
#include "value/value.h"

typedef struct AttemptId {
    uint64_t run_no;
    uint32_t step, attempt;
    uint64_t holder;
    uint64_t serial;                /* which one it is of all that the holder's epoch handed over: a step that is run anew
                                     * counts its attempts from 1 again, and what an earlier one says is not taken for it */
} AttemptId;

typedef struct Attempt {
    AttemptId id;
    Str run_id, tenant, definition, step_id, runner;
    Value settings;                 /* of the runner, as runners.yaml has them */
    Value step;                     /* the step's object in the plan: args, resources of its job beside it */
    Value resources;                /* of its job; null: none */
    Value input, params, context;   /* context: {outputs...} as far as the step may see them; null where not wanted */
    Value args;                     /* ${paths} filled in; null: none */
    Str key;                        /* idempotency */
    Str traceparent;
    Str directory;                  /* where its program begins; empty: where this process is */
    int64_t now_ms;                 /* when it is handed over, by the engine's clock */
    int64_t deadline_ms;            /* by the same; 0: none */
    bool is_effect_recorded;        /* its effects are announced and acknowledged */
} Attempt;

typedef enum NoticeKind {
    NOTICE_REPORT,                  /* it ended: `report` */
    NOTICE_EFFECT,                  /* it is about to act (value), or has acted (is_committed); answered by acknowledge() */
    NOTICE_COST,                    /* number: millionths */
    NOTICE_SIGNAL,                  /* name, sort, value */
    NOTICE_PROGRESS,                /* number: thousandths; text */
    NOTICE_HEARTBEAT,
    NOTICE_LOG,                     /* text: one line, without its end; is_error: from stderr */
    NOTICE_ROOM,                    /* it has room again after it had refused; number: for so many, 0: nobody knows */
} NoticeKind;

typedef struct Executor Executor;

typedef struct Notice {
    NoticeKind kind;
    AttemptId id;
    Executor *teller;               /* who is told what became of it, by settled(); NULL: nobody */
    Report report;
    Value value;
    Str name, text;
    SignalKind sort;
    uint64_t number;
    bool is_committed, is_error;
} Notice;

/* Where notices go: copies what it is given and wakes the engine. False where its ring is full: try again later (reports
 * are never dropped by the executor). */
typedef struct NoticeSink {
    bool (*notice)(void *context, const Notice *notice);
    void *context;
} NoticeSink;

typedef struct ExecutorOps {
    bool (*execute)(Executor *executor, const Attempt *attempt);
    /* Stop it; its report follows once it has ended (CAUSE_CANCELLED): no other attempt of its step begins before. May be called
     * again for the same attempt. */
    void (*end)(Executor *executor, const AttemptId *id);
    void (*acknowledge)(Executor *executor, const AttemptId *id);   /* one more of its effect notices is durable, in order */
    /* A report of it is durable, or was refused: the attempt is not under way. May be NULL. */
    void (*settled)(Executor *executor, const AttemptId *id, bool is_taken);
    /* Whether it would take another one of that runner beside the `taken` that it has or is about to get. May be NULL: then its
     * capacity says it. */
    bool (*has_room)(Executor *executor, Str tenant, Str runner, uint32_t taken);
    void (*turn)(Executor *executor, int64_t now_ms);               /* may be NULL; called once an engine turn */
    int  (*wake_fd)(Executor *executor);                            /* may be NULL or answer -1 */
    void (*close)(Executor *executor);                              /* ends what runs, waits for it */
} ExecutorOps;

struct Executor {
    const ExecutorOps *ops;
    Str name, kind;                 /* "local", "process" */
    uint32_t capacity;              /* attempts at a time; 0: without bound */
    int64_t lease_ms;               /* of one that is elsewhere: how long an attempt may be silent; 0: it is part of this process */
    uint32_t slot;                  /* given by the engine */
    uint32_t under_way;             /* kept by the engine, as are: */
    uint32_t reserved;              /* places kept free by cooperatives, for attempts that are on their way to it */
    uint64_t offers;                /* of its last REFUSAL_WINDOW offers, a bit each: refused for want of room */
};

#endif
