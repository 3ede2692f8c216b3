/* maestro.h - durable workflows inside a C program: the whole engine in one library, and this header is its manual.
 *
 * A program opens a store, offers functions of its own as runners, and submits definitions (YAML or JSON text). The engine
 * carries them out step by step; everything that happens is durable before the next step begins. A program that was killed
 * opens the same store again, and its runs go on: a step that has ended is not run again, one that was under way is run once
 * more with the same idempotency key.
 *
 *   static MaestroStatus charge(void *context, const MaestroAttempt *attempt, MaestroCall *call)
 *   {
 *       if (!card_charge(attempt->key, attempt->input)) return maestro_call_fail(call, MAESTRO_UNAVAILABLE, "the bank is busy");
 *       return maestro_call_output(call, "{\"charged\": true}");
 *   }
 *   static const MaestroRunner runners[] = { { .name = "orders/charge", .run = charge } };
 *
 *   maestro_open(&(MaestroOptions){ .store = "sqlite:orders.db", .runners = runners, .runner_count = 1 }, &maestro, &err);
 *   maestro_compile(maestro, yaml, "order.yaml", &definition, NULL, &err);
 *   maestro_submit(maestro, definition, &(MaestroSubmit){ .params = "{\"id\": 17}", .key = "order-17" }, &run, &err);
 *   maestro_wait(maestro, run.id, MAESTRO_FOREVER, &state, &err);
 *   maestro_run_outputs(maestro, run.id, &json, &err);
 *
 * Texts:  everything is UTF-8 and ends with a NUL. What is called JSON is one JSON value (RFC 8259); numbers are kept exactly.
 *         A text that is not given is NULL.
 * Owns:   arguments are copied or used up before a call returns, but for the texts and contexts of runners, which must live
 *         until maestro_close() has returned. Texts given by `char **out_*` are the caller's: maestro_free() ends them.
 * Fails:  by MaestroStatus, which says how to react; the reason is in *err, which may be NULL where it does not matter. What
 *         out parameters point to is written only on success, *err only on failure. A broken invariant of the library itself
 *         prints where and stops the process: the store makes starting again safe, and going on would not be.
 * Bounds: MAESTRO_REQUEST_COUNT_MAX calls at a time wait for the engine, further ones are refused with MAESTRO_LIMIT;
 *         definitions of 64 MiB, outputs of 16 MiB, keys of 1 KiB, names of 128 bytes, 256 worker threads. A refusal
 *         names the bound.
 * Thread: every function may be called by any thread at any time, unless it says otherwise. The engine has a thread of its own,
 *         and calls wait until what they say is durable. Threads of the library have every signal blocked. A handle does not
 *         survive fork(): the child must not use it.
 * Names:  the library has no other global names than maestro_* functions, so that it fits into any program.
 */
#ifndef MAESTRO_H
#define MAESTRO_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MAESTRO_API __attribute__((visibility("default")))
#define MAESTRO_MUST_USE __attribute__((warn_unused_result))
#else
#define MAESTRO_API
#define MAESTRO_MUST_USE
#endif

/* --- errors -------------------------------------------------------------------------------------------------------- */

/* How a call ended, and so how to react. */
typedef enum MaestroStatus {
    MAESTRO_OK = 0,
    MAESTRO_INVALID,            /* the input is wrong: fix it */
    MAESTRO_DENIED,             /* not allowed: ask someone */
    MAESTRO_NOT_FOUND,          /* what was named does not exist */
    MAESTRO_CONFLICT,           /* the state does not permit it now; or another process owns the store */
    MAESTRO_LIMIT,              /* a bound was crossed; the text names it */
    MAESTRO_UNAVAILABLE,        /* something outside is missing or busy: try again */
    MAESTRO_CORRUPT,            /* stored data contradicts itself */
    MAESTRO_TIMEOUT,            /* the time given to maestro_wait() is over; the run goes on */
} MaestroStatus;

#define MAESTRO_ERROR_SIZE 512

/* Why a call failed; on the caller's stack, written only on failure. */
typedef struct MaestroError {
    MaestroStatus status;
    uint32_t line, column;                  /* in the text that is wrong, from 1; 0 where there is no place */
    char text[MAESTRO_ERROR_SIZE];          /* for people; cut with "..." */
} MaestroError;

MAESTRO_API const char *maestro_status_name(MaestroStatus status);     /* "invalid", "not-found", ...; never freed */
MAESTRO_API const char *maestro_version(void);                         /* "0.1.0"; never freed */
MAESTRO_API void maestro_free(char *text);                             /* NULL is permitted */

/* --- runners: functions of this program ---------------------------------------------------------------------------- */

typedef struct Maestro Maestro;             /* a store with an engine on it: from maestro_open() to maestro_close() */
typedef struct MaestroCall MaestroCall;     /* one function under way; valid until the function returns */

/* One try of a step. Valid until the function returns. */
typedef struct MaestroAttempt {
    const char *run_id, *tenant, *definition;
    const char *step, *runner;              /* the step's id in its definition; the name it was run by */
    const char *input;                      /* JSON: `input` of the step with its ${paths} filled in; "null" where there is none */
    const char *params;                     /* JSON object: the parameters of the run */
    const char *key;                        /* idempotency: the same for every try of this step in this run */
    uint32_t number;                        /* which try it is, from 1; one that the end of a process cut off is not counted */
    int64_t deadline_ms;                    /* since 1970 in UTC; 0: none */
} MaestroAttempt;

/* MAESTRO_OK: the step has succeeded, with the output given by maestro_call_output(), else null. Anything else: this try
 * has failed, and the step's retries decide what follows: UNAVAILABLE is transient; INVALID says that the input is wrong,
 * DENIED that a policy forbids it, LIMIT and CORRUPT that trying again is in vain; TIMEOUT is what it says; the others are
 * errors that say no more. */
typedef MaestroStatus (*MaestroRun)(void *context, const MaestroAttempt *attempt, MaestroCall *call);

/* One function that steps can be run by. */
typedef struct MaestroRunner {
    const char *name;                       /* by which definitions run it: "orders/charge" */
    MaestroRun run;
    void *context;                          /* given to every call */
    /* Called by the engine's own thread: for work of microseconds that never blocks. Other functions are called by worker
     * threads, any number of them at a time up to thread_count, the same function included. */
    bool is_quick;
} MaestroRunner;

/* For functions while they run, on the thread that called them. */

/* What the step gives: JSON. The last call counts. MAESTRO_INVALID where it is no JSON: then the function should return that.
 * The answer is made for `return maestro_call_output(...)`. */
MAESTRO_API MaestroStatus maestro_call_output(MaestroCall *call, const char *json);
/* Why this try fails, for people; returns `status`, for `return maestro_call_fail(...)`. */
MAESTRO_API MaestroStatus maestro_call_fail(MaestroCall *call, MaestroStatus status, const char *text);
/* Somebody wants it to stop (the run is cancelled, its time is over, the program closes the handle): return soon. */
MAESTRO_API bool maestro_call_is_ended(const MaestroCall *call);
/* A line of the step's log. Waits while too many lines are on their way. */
MAESTRO_API void maestro_call_log(MaestroCall *call, const char *line);
/* Something it says while it works, a JSON object with exactly one member:
 *   {"effect": any}             it is about to act. Returns when that is durable; unless OK do not act.
 *   {"effectCommitted": true}   it has acted; also durable when it returns. false: it has not and will not
 *   {"cost": 0.25}              what it has cost since the last such message
 *   {"signal": "name"}          to its own run; or {"signal": {"name", "kind", "value"}}
 *   {"progress": 0.5}           or {"progress": {"done": 0.5, "text": "half"}}
 *   {"heartbeat": true}
 * MAESTRO_INVALID where it is none of these, MAESTRO_CONFLICT where the function was ended or, for effects, is a quick one. */
MAESTRO_API MaestroStatus maestro_call_message(MaestroCall *call, const char *json, MaestroError *err);

/* --- a store with an engine on it ---------------------------------------------------------------------------------- */

#define MAESTRO_REQUEST_COUNT_MAX 1024

/* What is opened, and what its steps can be run by. Only `store` has to be given. */
typedef struct MaestroOptions {
    const char *store;                      /* "sqlite:PATH", made where there is none, or "memory:", gone when it is closed */
    const MaestroRunner *runners;
    uint32_t runner_count;
    uint32_t thread_count;                  /* worker threads; 0: four, or none where every runner is quick */
    const char *config;                     /* the text of a runners.yaml: http runners, policies, calendars, schemas. Files
                                             * that it names are found from the working directory. */
    const char *const *policies;            /* paths (files, directories, bundles) of policies asked at every hook of every run */
    uint32_t policy_count;
    const char *actor;                      /* who the ledger says it was; NULL: "program" */
} MaestroOptions;

/* Opens the store and starts the engine; runs that were under way go on at once. One process owns a store at a time:
 * MAESTRO_CONFLICT where another one does (or this one, by another handle). Beside its runners the built-in `log`, `noop`,
 * `sleep` and `http` are there; runners that start programs (`shell`, executors of kind process) are not, since a library
 * does not fork the program it is part of.
 * MAESTRO_INVALID where a runner has no name or function, the config or a policy has mistakes, the store is of no known kind;
 * MAESTRO_NOT_FOUND where a policy is not there;
 * MAESTRO_CONFLICT where a name is taken; MAESTRO_DENIED, MAESTRO_UNAVAILABLE, MAESTRO_CORRUPT by the store. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_open(const MaestroOptions *options, Maestro **out_maestro, MaestroError *err);

/* Starts nothing more, waits at most drain_ms for functions under way, then tells them to stop and gives them five seconds
 * more. What was not reported by then is run again when the store is next opened. Calls that wait on other threads come back
 * with MAESTRO_UNAVAILABLE. Afterwards the handle is gone, and no other thread may use it: neither a function that did not
 * return in time and was left behind. NULL is permitted. MAESTRO_CONFLICT, and nothing happens, where a runner calls it. */
MAESTRO_API MaestroStatus maestro_close(Maestro *maestro, int64_t drain_ms, MaestroError *err);

/* --- definitions --------------------------------------------------------------------------------------------------- */

typedef struct MaestroDefinition MaestroDefinition;     /* compiled; immutable, may be used by many threads */

/* Compiles a definition for this handle. `file` is how messages call it; JSON where it ends with ".json", else YAML; NULL:
 * "definition.yaml". *out_report (may be NULL) gets what there is to say about it as JSON, also where it fails with
 * MAESTRO_INVALID: [{"severity": "error", "file", "line", "column", "width", "message", "help"}], empty where all is well. The
 * first error is in *err. A definition with a runner that this handle cannot carry out is refused. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_compile(Maestro *maestro, const char *text, const char *file,
                                                           MaestroDefinition **out_definition, char **out_report,
                                                           MaestroError *err);
MAESTRO_API void maestro_definition_free(MaestroDefinition *definition);        /* NULL is permitted; runs do not need it */

/* --- runs ---------------------------------------------------------------------------------------------------------- */

#define MAESTRO_RUN_ID_SIZE 22              /* 21 characters and a NUL */
#define MAESTRO_FOREVER (-1)

/* Where a run stands; maestro_wait() says when it is settled. */
typedef enum MaestroRunState {
    MAESTRO_RUN_QUEUED, MAESTRO_RUN_DISPATCHED, MAESTRO_RUN_RUNNING, MAESTRO_RUN_PAUSED, MAESTRO_RUN_WAITING_SIGNAL,
    MAESTRO_RUN_SUCCEEDED, MAESTRO_RUN_FAILED, MAESTRO_RUN_COMPENSATING, MAESTRO_RUN_COMPENSATED,
    MAESTRO_RUN_COMPENSATION_FAILED, MAESTRO_RUN_CANCELLED
} MaestroRunState;

MAESTRO_API const char *maestro_run_state_name(MaestroRunState state);          /* "waiting-signal"; never freed */

/* With what a run is started. */
typedef struct MaestroSubmit {
    const char *params;                     /* JSON object; NULL: none are given */
    const char *key;                        /* idempotency key; NULL: the definition's own, where it has one */
    bool is_again;                          /* a new run, though one with the same key exists */
    const char *id;                         /* of the request; NULL: none. Sent again with the same id, by this program or a
                                             * later one, it gets the first answer and starts nothing: that is kept for a
                                             * day. MAESTRO_INVALID where the id was given to another request before. */
} MaestroSubmit;

/* The run that was started, or was there already. */
typedef struct MaestroSubmitted {
    char id[MAESTRO_RUN_ID_SIZE];
    bool is_repeat;                         /* that key has a run already, by this program or before: it is that one */
} MaestroSubmitted;

/* Starts a run; returns when its start is durable. `submit` may be NULL. MAESTRO_INVALID where parameters are wrong, or where
 * the definition names a policy that cannot be asked here (its file is not there or has mistakes); MAESTRO_DENIED where a
 * policy forbids it; MAESTRO_CONFLICT where the key has a run that was started with other parameters; MAESTRO_LIMIT where the
 * engine has too much to do. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_submit(Maestro *maestro, const MaestroDefinition *definition,
                                                          const MaestroSubmit *submit, MaestroSubmitted *out_run,
                                                          MaestroError *err);

/* Waits until the run is settled: it has ended, or has failed and waits for a decision. *out_state (may be NULL) says how.
 * timeout_ms 0 looks once, MAESTRO_FOREVER has no end; MAESTRO_TIMEOUT where it is over. MAESTRO_UNAVAILABLE where the store
 * cannot be written (a full disk; the text says why): nothing ends until it can, which the engine goes on trying. Wait again. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_wait(Maestro *maestro, const char *run_id, int64_t timeout_ms,
                                                        MaestroRunState *out_state, MaestroError *err);

/* What a run is told. Only `name` has to be given. */
typedef struct MaestroSignal {
    const char *name;
    const char *kind;                       /* "health", "anomaly", "milestone", "approval", "operator"; NULL: the last */
    const char *payload;                    /* JSON; NULL: null */
    const char *reason;                     /* for the ledger; may be NULL */
    bool is_denial;                         /* of an approval */
    const char *id;                         /* of the request, as in MaestroSubmit; may be NULL */
} MaestroSignal;

/* Each returns when it is durable. `reason` is for the ledger and may be NULL. MAESTRO_CONFLICT where the state of the run does
 * not permit it; to ask for what is already so is no error. A cancelled run settles when its functions have ended. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_signal(Maestro *maestro, const char *run_id, const MaestroSignal *signal,
                                                          MaestroError *err);
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_pause(Maestro *maestro, const char *run_id, const char *reason,
                                                         MaestroError *err);
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_resume(Maestro *maestro, const char *run_id, const char *reason,
                                                          MaestroError *err);
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_cancel(Maestro *maestro, const char *run_id, const char *reason,
                                                          MaestroError *err);

/* --- look ---------------------------------------------------------------------------------------------------------- */

/* What is durable about a run. Times are UTC texts or null.
 *   {"id", "definition", "tenant", "state": "running", "resolution", "settled": false, "key", "params": {...},
 *    "error": null or {"message", "class", "cause", "step"}, "created", "started", "completed"} */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_run_read(Maestro *maestro, const char *run_id, char **out_json,
                                                            MaestroError *err);
/* Its step results in the order in which they began; steps that have not begun are not there.
 *   [{"step", "state": "succeeded", "attempt": 1, "skip_reason", "waiting_for", "output": any,
 *     "error": null or {"message", "class", "cause"}, "started", "finished"}] */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_run_steps(Maestro *maestro, const char *run_id, char **out_json,
                                                             MaestroError *err);
/* One of these: the newest result of the step of that id. MAESTRO_NOT_FOUND where it has not begun. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_run_step(Maestro *maestro, const char *run_id, const char *step,
                                                            char **out_json, MaestroError *err);
/* The outputs of the steps that have succeeded: {"step": output}. */
MAESTRO_API MAESTRO_MUST_USE MaestroStatus maestro_run_outputs(Maestro *maestro, const char *run_id, char **out_json,
                                                               MaestroError *err);

#ifdef __cplusplus
}
#endif

#endif
