/* engine.h - the loop: commands in, decisions, one commit for many of them, then their effects.
 *
 *   requests, notices, timers ──▶ per-tenant queues ──▶ decide + advance ──▶ open batch ──▶ store
 *                                                                                             │ durable
 *   replies, effects, observers ◀──────────────────────────────────────────────────────────────┘
 *
 * engine_turn() never blocks, starts no thread, reads no clock and knows no file: time comes in, the store and the executors
 * are ports. While one batch is being synced the next is being decided; nothing waits for a batch to fill. State that
 * includes a batch still being synced is speculative, and nothing that rests on it leaves the engine: replies, refusals,
 * effects and observations are released with the batch they saw. A commit that fails discards every run touched since the
 * last durable batch; they are loaded again, and what executors reported meanwhile is decided again.
 *
 * Runs that wait are rows: they leave memory with the commit that parks them, and come back by a command or their timer.
 *
 * A request may carry an id (Command.id) that its sender gave it. Then its answer is kept in the store for a day at least,
 * written by the commit that holds what the request did: when it comes again, to this owner or a later one, it gets the first
 * answer and nothing is done; the same id with another request is refused. Ids belong to the tenant given with the request.
 * Refusals for lack of something (a run, room, the store) are not kept. Requests without an id cost nothing of this.
 *
 * Owns:   requests are copied. Replies borrow for the time of the call.
 * Fails:  engine_open() with the store's reason; engine_request() answers false where the queue of that tenant is full. A
 *         store that refuses commits (a full disk) makes requests fail with its reason until it accepts again, and is tried
 *         ever more rarely, STORE_RETRY_MS at first; what runs have under way goes on, and what it says is kept. One that
 *         fences (another owner) ends the engine: engine_state().
 * Bounds: ENGINE_QUEUE_COUNT_MAX a tenant, ENGINE_RUN_COUNT_MAX and ENGINE_SIZE_MAX in memory, BATCH_EVENT_COUNT_MAX a batch.
 * Thread: one. Other threads reach it through rings (engine/notice_ring.h, a request ring of its host).
 * Invariants I1, I2, I9..I14, I17, cited at their CHECKs.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/status.h"
#include "core/decide.h"
#include "dispatch/admission.h"
#include "engine/breaker.h"
#include "dispatch/quota.h"
#include "engine/executor.h"
#include "view/store.h"

typedef struct Engine Engine;

/* --- make ---------------------------------------------------------------------------------------------------------- */

/* Who offers a runner, and with which settings. Found once a plan and runner. One that is unknown here is offered by an
 * executor that never has room: no run that needs it is started, and of runs that another process started its steps wait for
 * a process that knows it. */
typedef struct RunnerOffer {
    Executor *executor;
    Value settings;
    bool is_unknown;
    Str help;                           /* of one that is unknown: how it would be offered; may be empty */
    Str gate;                           /* the name of its circuit and rate; filled in by the engine, as is: */
    uint32_t lane;                      /* of all lanes of all executors, where runs that want it wait for room */
} RunnerOffer;

/* What a tenant is held to. */
typedef struct TenantQuota { Str tenant; QuotaTerms terms; } TenantQuota;

typedef struct EngineOptions {
    Store *store;                       /* open; the engine takes ownership of its log, not of the store */
    uint64_t log;                       /* 1 where the store has one */
    Str owner;                          /* who takes the log, for people: recorded in it; outlives the engine */
    Executor *const *executors;
    uint32_t executor_count;
    /* The nth executor that offers a runner, from 0, of those above; false where there is none. Of several placement chooses. */
    bool (*runner)(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out);
    /* The value of a secret at dispatch, valid until the next call. NULL: there are no secrets. A failure is the attempt's, and
     * its text the reason: ERR_UNAVAILABLE is worth another try. */
    Status (*secret)(void *context, Str tenant, Str name, Str *out, Error *err);
    void *secret_context;
    /* What the runner of an attempt shows to the server at `server`, in the arena given. NULL: there is no server. A failure is as of a
     * secret. */
    Status (*credential)(void *context, const Attempt *attempt, Arena *arena, Str *out, Error *err);
    void *credential_context;
    Str server;
    void (*random)(void *context, uint8_t *bytes, size_t size);
    /* The verdict of the policies in force; NULL: the built-in policy allows. */
    Verdict (*verdict)(void *context, const VerdictAsk *ask);
    /* The digest of the policies that apply to a plan; zeros, or NULL here: the built-in one. It does not change while the
     * engine lives. In every record of the plan's runs, also of those that passed no hook. */
    Digest (*policies)(void *context, const Plan *plan);
    void *verdict_context;              /* of these two */
    void *context;                      /* of the other functions above */
    /* A tenant's share beside others that want the same, from 1 to TENANT_WEIGHT_MAX; NULL: all have 1. */
    uint32_t (*weight)(void *context, Str tenant);
    const TenantQuota *quotas;          /* those that are held to something; they outlive the engine */
    uint32_t quota_count;
    uint32_t run_count_max;             /* in memory; 0: ENGINE_RUN_COUNT_MAX */
    size_t size_max;                    /* bytes in memory: see engine_size(); 0: ENGINE_SIZE_MAX */
    uint32_t queue_count_max;           /* requests a tenant may have waiting; 0: ENGINE_QUEUE_COUNT_MAX */
    uint32_t tenant_running_max;        /* attempts of one tenant at a time; 0: without a ceiling */
    int64_t request_ms;                 /* how long answers to requests with an id are kept; 0: REQUEST_KEEP_MS */
} EngineOptions;

typedef enum EngineState {
    ENGINE_RECOVERING,                  /* runs of an earlier owner are being loaded; requests are taken all the same */
    ENGINE_RUNNING,
    ENGINE_STALLED,                     /* the store refuses commits: see engine_trouble() */
    ENGINE_DRAINING,                    /* engine_drain(): nothing new starts, what runs ends */
    ENGINE_FENCED,                      /* another owner took the log: this engine does nothing more */
} EngineState;

/* Two clocks, read together. Where they have not moved alike since the last turn, by more than a minute, the wall clock was set,
 * and the log says so. */
typedef struct EngineClock {
    int64_t wall_ms;                    /* since 1970 in UTC */
    int64_t steady_ms;                  /* since some moment; never set */
} EngineClock;

MUST_USE Status engine_open(const EngineOptions *options, const EngineClock *clock, Engine **out_engine, Error *err);
void engine_close(Engine *engine);              /* NULL is permitted; what was not durable is not there */

/* --- use ----------------------------------------------------------------------------------------------------------- */

/* What is told to it from now on, by executors most of all, came at this time. */
void engine_tick(Engine *engine, const EngineClock *clock);
/* Time has passed in which nobody could be heard: every attempt that is elsewhere has one full term from now on. A clock that was put
 * on does the same by itself. */
void engine_keep_leases(Engine *engine);
/* Does everything that can be done now. True where there is more to do at once. */
bool engine_turn(Engine *engine, const EngineClock *clock);
/* When engine_turn() has to be called at the latest, even if nothing happens: INT64_MAX for never. */
int64_t     engine_due_ms(const Engine *engine);
EngineState engine_state(const Engine *engine);
/* It takes work and carries it out: it runs, or has loaded as many runs of an earlier owner as ENGINE_RECOVER_RUN_COUNT lets it, and the
 * others follow as those leave. */
bool engine_is_ready(const Engine *engine);
const Error *engine_trouble(const Engine *engine);      /* why it is stalled or fenced; NULL where it is not */
bool engine_waits_for_store(const Engine *engine);      /* commits or reads are under way */
/* No run is being decided, no batch is under way, no attempt is out. */
bool engine_is_idle(const Engine *engine);
/* Starts nothing more; attempts under way may end. True once none is left but those that go on without this process: their leases do not
 * run out meanwhile, and the next owner hears of them. */
bool engine_drain(Engine *engine);
/* Whoever ends in order gives back what is still under way, so that it does not count as lost (I17): the next owner carries it out
 * again. Starts nothing more; called between turns until it is true: all of it is recorded. What these attempts say afterwards is
 * not heard: they are ended, or end with the process. */
bool engine_release(Engine *engine);

typedef struct EngineReply {
    Status status;
    const Error *error;                 /* unless OK */
    Id run_id;                          /* of a start, also of one whose key has a run */
    uint64_t run_no;
    bool is_repeat;                     /* a start whose key has a run already: that one */
    bool is_noop;                       /* accepted, and nothing changed */
    bool was_asked;                     /* the same request came before, by its id: nothing was done now, this is the answer of then */
    const char *outcome;                /* of a trigger that was taken, what came of it: trigger_flags_name(); else NULL */
    bool is_other_request;              /* ERR_INVALID: its id was given to another request before */
    bool is_over_quota;                 /* ERR_LIMIT: the tenant has used up what it may have in this window */
    int64_t quota_ms;                   /* of that: when the next window begins */
    bool is_other_start;                /* ERR_CONFLICT: its key belongs to a run that was started with other parameters: run_id */
    bool is_stale;                      /* ERR_CONFLICT: the revision is not as it was seen (RevisionSeen.has_flag), or the secret is not new */
    bool is_overtaken;                  /* ERR_CONFLICT: another one is active than it was compared with: RevisionSeen.has_active; compare again */
    bool is_inactive;                   /* ERR_CONFLICT: the revision that is to be started is not active */
    bool is_of_params;                  /* ERR_INVALID: parameters do not fit the plan, or make no idempotency key */
    uint8_t run_state, resolution;      /* after it */
} EngineReply;

typedef void (*ReplyTo)(void *context, const EngineReply *reply);

/* What its sender had looked at when it wished for a change of a workflow's revisions. It is compared where the change is decided, so that of
 * several who saw the same one alone changes it; the others get ERR_CONFLICT. All zero: whatever is there. */
typedef struct RevisionSeen {
    bool has_flag;                      /* the revision itself: its flag, and when that changed last */
    bool is_active;
    int64_t updated_ms;
    bool has_active;                    /* which one is active: the change was found compatible with that */
    uint32_t active;                    /* its version; 0: none is */
} RevisionSeen;

typedef struct EngineStart {
    Digest plan;                        /* of engine_plan_add(), or of a plan that is in the store */
    Str tenant;                         /* the queue it waits in, and whose run it is */
    StartRequest request;
    bool is_stored_only;                /* no run begins: the plan becomes a revision, inactive, unless it is one already */
    RevisionSeen seen;                  /* of one that makes its revision the active one: `has_active` alone */
    Command command;                    /* id, actor, rationale, trace */
    ReplyTo reply;
    void *context;
} EngineStart;

typedef struct EngineRequest {
    Id run_id;
    uint64_t run_no;                    /* 0: by run_id */
    Str tenant;                         /* empty: any; else a run of another tenant is not found */
    Command command;
    ReplyTo reply;                      /* may be NULL */
    void *context;
} EngineRequest;

/* Makes a stored revision the active one, and no other; or deactivates it; or removes it, where it is not active and no run is
 * pinned to it (else ERR_CONFLICT). ERR_NOT_FOUND where there is no such one. */
typedef struct EngineRevision {
    Str tenant, workflow;
    uint32_t version;
    bool is_activation, is_removal;
    RevisionSeen seen;
    Command command;                    /* id, actor, rationale */
    ReplyTo reply;
    void *context;
} EngineRevision;

/* Stores a secret that its sender has sealed under the tenant's key, or removes one. ERR_CONFLICT where the tenant has another key
 * than the sender knew: seal it anew; ERR_CONFLICT that is stale where it has to be new, and is there; ERR_NOT_FOUND where there is none to
 * remove. */
typedef struct EngineSecret {
    Str tenant;
    Str name;                           /* empty: the key of the tenant alone, where it has none */
    Str sealed;
    Str tenant_key;                     /* itself sealed; stored where the tenant has none */
    bool is_removal;
    bool is_new;                        /* it is stored only where there is none of that name */
    Command command;                    /* id, actor, rationale */
    ReplyTo reply;
    void *context;
} EngineSecret;

/* What is kept that belongs to no run: that requests were refused, a start that the debouncing of a trigger holds back, what became of
 * it, when a key was used last; that an occurrence of a schedule starts though something holds it back, or does not after all; what
 * somebody says of a version of a policy; that a request came which is then asked for in parts, each with an id of its own: of that there
 * is the row of requests alone, by its id, and what is not the same as the first is refused before any of its parts is asked for. */
typedef enum KeepKind { KEEP_NOTHING, KEEP_REFUSAL, KEEP_WAITING, KEEP_SETTLED, KEEP_KEY_USE, KEEP_OVERRIDE,
                        KEEP_OVERRIDE_GONE, KEEP_REVIEW, KEEP_SKIP, KEEP_REQUEST } KeepKind;

enum { REVIEW_APPROVED = 1, REVIEW_REJECTED };

typedef struct EngineKeep {
    KeepKind kind;
    Str tenant;
    Str name;                           /* the verb that was refused, or asked for in parts; the workflow; the id of the key; the policy */
    Str key;                            /* of the trigger; the digest of the policy */
    Str text;                           /* what was asked for; of a request in parts the digest of its words; why no run was started;
                                         * what holds the occurrence, or kept it; the comment of a review */
    Str run;                            /* that was started; empty: none */
    Str payload;                        /* of a start that waits: JSON; empty: none; of a review: the reviewer */
    int64_t since_ms, due_ms;           /* of a start that waits; since: the key was used; due: the occurrence */
    uint64_t count;                     /* refusals; events of the trigger; which trigger the schedule is */
    uint32_t flags;                     /* what was answered to who was refused; the verdict of a review; occurrences one behind the other */
    Command command;                    /* actor, rationale, trace, origin: the address that it came from */
    ReplyTo reply;
    void *context;
} EngineKeep;

/* Reads a plan's document (canonical JSON) and keeps it for the engine_start() that follows; it is stored with the first run that is pinned to it,
 * and is a revision of its workflow from then on: the one it is already, or the next. That becomes the active one. A start may name the revision that
 * it means (StartRequest.revision): then it has to be that, and active. Where that start is refused the plan is forgotten, unless it is stored. */
MUST_USE Status engine_plan_add(Engine *engine, Str document, Digest *out_digest, Error *err);
/* The same in two parts, since reading a large plan takes a second: it is read in the thread of whoever brings it, and then given to the engine.
 * Owns: who has read it; from engine_plan_take() on, which copies nothing, the engine. */
typedef struct PlanEntry EnginePlan;
MUST_USE Status engine_plan_read(Str document, EnginePlan **out_plan, Error *err);         /* any thread */
const Plan *engine_plan_peek(const EnginePlan *plan, Digest *out_digest);                 /* what was read, and the digest of its document */
void engine_plan_take(Engine *engine, EnginePlan *plan, Digest *out_digest);
void engine_plan_free(EnginePlan *plan);            /* one that was given to nobody; NULL is permitted */
/* The definition that a plan was made of, as its author wrote it: stored with its revision. Without, the plan stands for it. */
void engine_plan_text(Engine *engine, const Digest *plan, Str text);

/* Why a run is not begun: nothing new is taken on at four fifths of what fits, so that work of runs that were finds room (C-94). */
typedef enum FullCause { FULL_NOT, FULL_QUEUE, FULL_RUNS, FULL_MEMORY, FULL_ENDING, FULL_CAUSE_COUNT } FullCause;
const char *full_cause_name(FullCause cause);   /* "queue", "executions", "memory", "ending" */

/* False where the queue of that tenant is full: refuse it, and say so. Texts and values are copied. */
bool engine_start(Engine *engine, const EngineStart *start);
const char *engine_full_text(const Engine *engine);     /* why the last start was not taken on, for people; static */
bool engine_request(Engine *engine, const EngineRequest *request);
bool engine_revise(Engine *engine, const EngineRevision *revision);
bool engine_secret(Engine *engine, const EngineSecret *secret);
bool engine_keep(Engine *engine, const EngineKeep *keep);
/* What an executor says: never refused; the caller's ring bounds it. */
void engine_notice(Engine *engine, const Notice *notice);

/* --- look ---------------------------------------------------------------------------------------------------------- */

/* What became durable, in order, and what attempts say while they run. That a secret was set or removed is told before whoever did it
 * is answered, and has nothing else beside it. */
typedef struct Observation {
    enum {
        OBSERVE_EVENTS,
        OBSERVE_LOG,                    /* an attempt wrote a line; it is not stored yet */
        OBSERVE_PROGRESS,
        OBSERVE_LINES,                  /* lines of that run are stored: run_no alone is set */
        OBSERVE_SECRETS,                /* a secret was set or removed */
    } kind;
    uint64_t run_no;
    Str record;                         /* the events and what they share, as it was written */
    const Plan *plan;
    const Run *run;                     /* may be ahead of the events: read states from the events */
    const Event *events;
    uint32_t event_count, step;
    uint64_t first_event;
    int64_t now_ms;
    const Str *payloads;                /* of the events, as JSON */
    Str text;                           /* a log line, the text of a progress */
    uint64_t number;                    /* progress in thousandths */
    bool is_error;
} Observation;

typedef void (*Observe)(void *context, const Observation *observation);
void engine_observe(Engine *engine, Observe observe, void *context);   /* one observer; NULL for none */

typedef struct EngineStats {
    uint64_t record_count, event_count, batch_count, attempt_count, start_count, refused_count;
    uint32_t run_count;                 /* in memory */
    uint32_t attempt_under_way;
    uint32_t batch_under_way;
    size_t size, size_max;              /* engine_size(), and what bounds it */
    size_t hot_size;                    /* of that, payloads of runs at hand */
    uint64_t full_counts[FULL_CAUSE_COUNT];     /* starts that were not taken on, by cause */
    uint64_t drop_counts[DROP_CAUSE_COUNT];     /* tasks that the dispatch core dropped, by cause */
    uint64_t defer_count;               /* attempts that stayed queued, for want of room or since they were held back */
    uint64_t quota_refused_count;       /* starts that were refused since their tenant had nothing left */
    uint64_t circuit_open_count;        /* how often a circuit was opened */
    uint32_t circuit_counts[BREAKER_STATE_COUNT];   /* those that are not closed, by state */
    uint32_t stall_count;               /* how often in a row the store has refused; 0: it takes commits */
} EngineStats;
EngineStats engine_stats(const Engine *engine);
/* Bytes that grow with the work there is: states of runs, their payloads at hand, requests and reports that are not settled, log lines
 * that are not stored, what executors of this process keep of their attempts, and the commits under way. */
size_t engine_size(const Engine *engine);
/* Tenants as they are now: [{tenant, weight, queued, executions, limits, use, left, circuits}]; of one, or with an empty name of all
 * that have limits or anything in memory. In the arena. */
Value engine_tenants(Engine *engine, Str tenant, Arena *arena);

#endif
