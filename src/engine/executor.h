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
#include "core/placement.h"
#include "value/value.h"

typedef struct AttemptId {
    uint64_t run_no;
    uint32_t step, attempt;
    uint64_t holder;
    uint64_t serial;                /* which one it is of all that the holder's epoch handed over: a step that is run anew
                                     * counts its attempts from 1 again, and what an earlier one says is not taken for it. The
                                     * upper half is the number of its step run, by which another process finds its rows */
} AttemptId;

/* 0: it is of no step run (a compensation, a notification), or nobody knows. */
static inline uint32_t attempt_step_run(uint64_t serial) { return (uint32_t)(serial >> 32); }

typedef struct Attempt {
    AttemptId id;
    Str run_id, tenant, definition, step_id, runner;
    Value settings;                 /* of the runner, as runners.yaml has them */
    Value step;                     /* the step's object in the plan: args, resources of its job beside it */
    Value resources;                /* of its job; null: none */
    Value input, params, context;   /* context: {outputs...} as far as the step may see them; null where not wanted */
    Value args;                     /* ${paths} filled in; null: none */
    Str key;                        /* idempotency */
    Str traceparent, tracestate;    /* the span of the attempt; what came with the trace: empty where nothing did */
    Str server, credential;         /* where its runner finds the server, and what it shows there; empty: none */
    Str directory;                  /* where its program begins; empty: where this process is */
    int64_t now_ms;                 /* when it is handed over, by the wall clock */
    int64_t deadline_ms;            /* by the same; 0: none */
    int64_t steady_ms;              /* when it is handed over, by the clock of turn() */
    bool is_effect_recorded;        /* its effects are announced and acknowledged */
} Attempt;

typedef enum NoticeKind {
    NOTICE_REPORT,                  /* it ended: `report` */
    NOTICE_EFFECT,                  /* it is about to act (value), has acted (is_committed), or has not and will not (is_withdrawn); answered by
                                     * acknowledge() */
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
    Str tenant;                     /* of whose attempts alone it may speak; empty: of any */
    Report report;
    Value value;
    Str name, text;
    SignalKind sort;
    uint64_t number;
    uint64_t lanes;                 /* of NOTICE_ROOM: in which there is room, a bit for each; 0: in all */
    uint64_t receipt;               /* the teller is told by received() what became of it; 0: it is not */
    bool is_committed, is_withdrawn, is_error;
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
     * again for the same attempt. One of an executor with leases may have been given to it by an earlier owner: then its serial is 0,
     * since whoever has it knows that one alone. */
    void (*end)(Executor *executor, const AttemptId *id);
    /* Its lease ran out, and that is recorded: its place is free, no report is expected of it, and whatever its holder says is refused. May be
     * NULL: then it is told to end, and reports. */
    void (*lose)(Executor *executor, const AttemptId *id);
    void (*acknowledge)(Executor *executor, const AttemptId *id);   /* one more of its effect notices is durable, in order */
    void (*refuse)(Executor *executor, const AttemptId *id);        /* or was not taken, in the same order; may be NULL */
    /* A report of it is durable, or was refused: the attempt is not under way. May be NULL. */
    void (*settled)(Executor *executor, const AttemptId *id, bool is_taken);
    /* What was said under that receipt, be it of whatever kind but a report, is durable, or was not taken: the attempt is not under way.
     * Of an effect it is told in the place of acknowledge() and refuse(). May be NULL. */
    void (*received)(Executor *executor, uint64_t receipt, bool is_taken);
    /* Whether it would take another one of that runner beside the `taken` that it has or is about to get, of this owner. May be
     * NULL: then its capacity says it. */
    bool (*has_room)(Executor *executor, Str tenant, Str runner, uint32_t taken);
    /* Whether somebody is there who takes attempts of that runner, be it with room or without; when that ends, a NOTICE_ROOM makes those that wait
     * ask. May be NULL: it is part of this process. */
    bool (*is_served)(Executor *executor, Str runner);
    /* In which of its lanes attempts of that runner wait for room, below lane_count. May be NULL: then it has one. */
    uint32_t (*lane)(Executor *executor, Str runner);
    /* The process is about to end: from now on nothing is given up for its silence, and what nobody has begun is given back. How many of
     * its attempts go on without the process: nobody waits for these. Called again and again; may be NULL: all are part of it. */
    uint32_t (*drain)(Executor *executor);
    /* Both may be NULL, and are told the time by a clock that nobody sets. turn() is called once an engine turn; keep() where time has passed
     * in which nobody outside could be heard: that is not their silence. */
    void (*keep)(Executor *executor, int64_t steady_ms);
    void (*turn)(Executor *executor, int64_t steady_ms);
    int  (*wake_fd)(Executor *executor);                            /* may be NULL or answer -1 */
    void (*close)(Executor *executor);                              /* ends what runs, waits for it */
} ExecutorOps;

struct Executor {
    const ExecutorOps *ops;
    Str name, kind;                 /* "local", "process" */
    uint32_t capacity;              /* attempts at a time; 0: without bound */
    bool answers_again;             /* a report that was taken is answered as that when it is said again, also by the next process */
    bool is_outside;                /* its runners are other programs: they get a credential of their attempt */
    bool is_keeper;                 /* it keeps what it was given of an attempt until that ends */
    int64_t lease_ms;               /* of one that is elsewhere: how long an attempt may be silent; 0: it is part of this process */
    uint32_t lane_count;            /* lanes, in which runs wait for its room apart: whoever waits in one is not looked at for another; 0: one */
    const Site *site;               /* where it works, for placement; NULL: part of this process, and bound by no constraint */
    uint32_t slot, lane_first;      /* given by the engine */
    uint32_t under_way;             /* kept by the engine, as are: */
    uint32_t inherited;             /* attempts under way that an earlier owner gave it */
    uint32_t reserved;              /* places kept free by cooperatives, for attempts that are on their way to it */
    uint64_t token_refused_count;   /* kept by the executor: tokens that it was told and had not given out, or not to whoever told them */
    uint64_t offers;                /* of its last REFUSAL_WINDOW offers, a bit each: refused for want of room */
};

#endif
