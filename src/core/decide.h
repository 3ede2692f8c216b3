/* decide.h - what follows from a command: the rules of runs, in three pure functions.
 *
 *   decide()    a command's own events, or why it is refused. Never changes anything.
 *   advance()   what follows from the state that these events made: steps become ready, start, are skipped, the run ends.
 *               Called again until it has nothing more to say, or the bound of one decision is reached; then the rest
 *               follows from the state alone, in a later decision, even after a crash in between.
 *   pending()   the effects that a state leaves open: what recovery has to perform.
 *
 * All events of one command and its consequences form one record: [decide, apply], then [advance, apply] until done. What
 * these functions need from outside (payloads, conditions, verdicts, places to run) comes through DecideEnv, whose functions
 * are pure in their turn; an answer that is not at hand is fetched by the caller, who then goes on.
 *
 * Owns:   a Decision's events live in its arena.
 * Fails:  decide() with ERR_CONFLICT (the state does not permit it: says the state, why, and what would work), ERR_INVALID,
 *         ERR_NOT_FOUND, ERR_LIMIT, ERR_UNAVAILABLE with `missing` set (fetch it and ask again), ERR_DENIED (a policy): the
 *         event of its verdict, where there is one, is recorded all the same.
 * Bounds: DECISION_EVENT_COUNT_MAX.     Thread: pure, any.
 * Invariant I10: effects decided = pending(after) - pending(before).
 */
#ifndef CORE_DECIDE_H
#define CORE_DECIDE_H

#include "base/arena.h"
#include "core/command.h"
#include "core/event.h"
#include "core/run.h"
#include "core/terms.h"

/* --- what comes from outside --------------------------------------------------------------------------------------- */

typedef enum ConditionAnswer {
    CONDITION_FALSE, CONDITION_TRUE, CONDITION_UNDEFINED, CONDITION_ERROR,
    CONDITION_MISSING,              /* it needs an output that is not at hand: ConditionAsk.out_missing */
} ConditionAnswer;

typedef struct ConditionAsk {
    const Plan *plan;
    const Run *run;
    uint32_t condition;             /* index in the plan's terms */
    uint32_t step;                  /* whose it is */
    const Value *output;            /* of that step, where the condition speaks of `output`; else NULL */
    const Value *payload;           /* of the signal or trigger; else NULL */
} ConditionAsk;

typedef struct ConditionResult {
    Value value;                    /* what the expression gives (branch.select); in the decision's arena */
    Str text;                       /* the missing path of an undefined one, the message of an error */
    uint32_t missing;               /* step whose output is not at hand, or MISSING_PARAMS */
    uint64_t step_count;            /* instructions that it took */
} ConditionResult;
#define MISSING_PARAMS (UINT32_MAX - 1)

typedef enum Hook { HOOK_RUN_START, HOOK_STEP_DISPATCH, HOOK_STEP_END, HOOK_RUN_RESUME, HOOK_SIGNAL, HOOK_COUNT } Hook;
typedef enum VerdictKind {
    VERDICT_ALLOW, VERDICT_DENY, VERDICT_LATER,
    VERDICT_MISSING,                /* it needs the parameters of the run, which are not at hand */
} VerdictKind;

typedef struct Verdict {
    VerdictKind kind;
    Digest policy;                  /* what was asked; the built-in policy that allows has one too */
    Str text;                       /* why it denies */
    Str name;                       /* of several the one that denies, as it is registered; empty: not told */
    Digest denier;                  /* and its own digest; zeros: `policy` */
    Digest input;                   /* of the document that it denied, canonical; zeros: not told */
} Verdict;

/* The question at a hook with all that a policy may be told. */
typedef struct VerdictAsk {
    Hook hook;
    const Plan *plan;
    const Run *run;                 /* at HOOK_RUN_START it has an id and nothing else */
    uint32_t step;                  /* STEP_NONE at the hooks of a run */
    Value input;                    /* by hook: {"params", "payload"}, the step's input, its output, null, the signal's payload */
    Str executor;                   /* of a step: who is to carry it, or has carried it; empty: not known */
    const Command *command;         /* that leads to it; NULL: not known */
    int64_t now_ms;
    Digest built_in;                /* of the policy that allows where none applies */
    Arena *arena;                   /* of the decision: what the verdict says lives in it */
    bool (*params)(void *context, const Run *run, Value *out);      /* {"params", "payload"}; false: not at hand */
    void *context;
} VerdictAsk;

const char *hook_name(Hook hook);                       /* "run-start", "step-dispatch", ... */

typedef enum PlaceKind {
    PLACE_HERE,                     /* an executor of this process takes it: accepted by being called */
    PLACE_THERE,                    /* a remote one that has yet to accept */
    PLACE_LATER,                    /* none has room now; the step stays queued, and the run is advanced when one has */
    PLACE_DEFERRED,                 /* admission refuses it under this pressure, or `rationale` says why; recorded once */
    PLACE_NEVER,                    /* no executor offers that runner */
    PLACE_DROPPED,                  /* the dispatch core drops it, for good: `drop` and `rationale` say why */
} PlaceKind;

typedef struct Place {
    PlaceKind kind;
    Str executor, rationale;        /* its name; candidates and scores where there was a choice */
    uint64_t holder;                /* for PLACE_HERE: this owner's epoch and the executor's slot */
    int64_t lease_ms;               /* how long a lease lasts */
    uint32_t pressure;              /* in thousandths */
    uint32_t admission;             /* what was decided by what: admission_pack() */
    uint8_t drop;                   /* a DropCause, of PLACE_DROPPED */
} Place;

typedef enum DedupeKind { DEDUPE_NONE, DEDUPE_DONE, DEDUPE_UNDER_WAY, DEDUPE_MISSING } DedupeKind;
typedef struct Dedupe {
    DedupeKind kind;
    Str source;                     /* the run that has it, or had it */
    Value output;                   /* its result */
} Dedupe;

typedef struct DecideEnv {
    void *context;
    /* {"params": ..., "payload": ...} of the run; a value, by its number as of run_value_at(). False: not at hand. */
    bool (*params)(void *context, const Run *run, Value *out);
    bool (*output)(void *context, const Run *run, uint32_t which, Value *out);
    ConditionAnswer (*condition)(void *context, const ConditionAsk *ask, Arena *arena, ConditionResult *out);
    Verdict (*verdict)(void *context, Hook hook, const Plan *plan, const Run *run, uint32_t step, Value input);
    Place (*place)(void *context, const Plan *plan, const Run *run, uint32_t step);
    Dedupe (*dedupe)(void *context, const Run *run, uint32_t step, Str domain, Str key);
    /* Against a schema of the plan; the first violation becomes the error's text. */
    Status (*schema)(void *context, const Plan *plan, Value schema, Value instance, Error *err);
} DecideEnv;

/* --- what comes out ------------------------------------------------------------------------------------------------ */

typedef enum EffectKind {
    EFFECT_EXECUTE,                 /* hand an attempt to its executor */
    EFFECT_END,                     /* tell the executor of an attempt to end it */
    EFFECT_NOTIFY,                  /* a notification, when its time has come; holder 0: who carries it is nobody's business but the engine's */
    EFFECT_KIND_COUNT
} EffectKind;

typedef struct Effect { EffectKind kind; uint32_t step, attempt; uint64_t holder; } Effect;

typedef struct Decision {
    Arena *arena;
    Event *events;
    Value *payloads;
    Str *texts;                     /* of the payloads: canonical JSON */
    size_t payload_size;            /* of these texts together */
    uint32_t event_count, event_capacity, payload_count, payload_capacity;
    uint32_t missing;               /* with ERR_UNAVAILABLE or ADVANCE_MISSING: STEP_NONE, a value, or MISSING_PARAMS */
    bool missing_is_key;            /* what is missing is the answer about the declared key of that step */
    Digest policy;                  /* whose verdicts allowed all this */
} Decision;

void decision_init(Decision *decision, Arena *arena);
/* Adds an event of that kind with nothing set but `step`; valid until the next one is added. */
Event   *decision_event(Decision *decision, EventKind kind, uint32_t step);
/* EVENT_NO_PAYLOAD for null. The caller knows that it is JSON of at most PAYLOAD_SIZE_MAX bytes: an input that was filled, a value of a
 * command, which is refused where it is larger. */
uint32_t decision_payload(Decision *decision, Value value);
/* The same where that is not known: ERR_LIMIT, or ERR_INVALID for what is not JSON. `what` is what the error calls it. */
MUST_USE Status decision_payload_try(Decision *decision, const char *what, Value value, uint32_t *out_payload, Error *err);
/* Its payloads have DECISION_PAYLOAD_SIZE bytes: what else follows is left to the next decision. */
bool     decision_is_heavy(const Decision *decision);
/* Cuts what the events from `first` on say to TEXT_SIZE_MAX: parts of it are the words of users and of their data. */
void     decision_cut_texts(Decision *decision, uint32_t first);
/* Adds the event of a denial. `step` is STEP_NONE for the hooks of a run. */
void     decision_verdict(Decision *decision, Hook hook, uint32_t step, const Verdict *verdict);
/* What this decision itself has brought forth and no record holds yet: a value as of run_value_at(), {"params", "payload"};
 * NULL: nothing. */
const Value *decision_value(const Decision *decision, const Plan *plan, uint32_t which);
const Value *decision_params(const Decision *decision);

/* --- the rules ----------------------------------------------------------------------------------------------------- */

typedef struct StartRequest {
    Value params;                   /* as given: checked against the plan's parameters, defaults filled in */
    Value payload;                  /* of the trigger; null for none */
    Str key;                        /* idempotency key; empty: made from the definition's template, or none */
    uint32_t key_generation;        /* how often that key was used before, on purpose */
    bool is_again;                  /* a new run, though the key has one: its next generation */
    uint64_t seed;                  /* of the run's jitter */
    uint32_t revision;
    Str source;                     /* "manual", "schedule:...", "webhook:..." */
    Str parent;
    Str directory;                  /* where its programs begin; empty: where its owner is */
} StartRequest;

/* A parameter of a start that is wrong, and how: "is missing", "is not of type integer". */
typedef struct ParamFinding { Str name, what; } ParamFinding;
typedef struct ParamFindings {
    const ParamFinding *items;
    uint32_t count, total;
} ParamFindings;     /* PARAM_FINDING_COUNT_MAX are kept, all are counted */
/* The parameters that a plan declares: a list. */
Value decide_declared(const Plan *plan);
/* All that is wrong with the parameters given: null, or an object. In the arena; names are those given or declared. */
void decide_check_params(Value declared, Value given, Arena *arena, ParamFindings *out);
/* The key that a start with these parameters has: empty where neither the request nor the definition gives one. */
MUST_USE Status decide_start_key(const Plan *plan, const StartRequest *request, Arena *arena, Str *out_key, Error *err);
/* Refused with ERR_INVALID where parameters are wrong: nothing is created then. */
MUST_USE Status decide_start(const DecideEnv *env, const Plan *plan, const Run *run, const StartRequest *request,
                             const Command *command, int64_t now_ms, Decision *decision, Error *err);
MUST_USE Status decide(const DecideEnv *env, const Plan *plan, const Run *run, const Command *command, int64_t now_ms,
                       Decision *decision, Error *err);

/* Whether a pause, resume or cancel of that job alone would be granted as it stands and do something; policies are not asked. */
bool job_may(const Run *run, uint32_t job, CommandKind kind);

typedef enum Advance {
    ADVANCE_DONE,                   /* nothing follows */
    ADVANCE_EVENTS,                 /* events were added: apply them, then ask again */
    ADVANCE_MISSING,                /* decision->missing has to be fetched first */
    ADVANCE_LATER,                  /* steps are ready and no executor has room: ask again when one has */
} Advance;
/* Adds at most `event_count_max` events; the few events of one step (ADVANCE_EVENT_COUNT_MIN) are added whole even where
 * these are fewer. */
Advance advance(const DecideEnv *env, const Plan *plan, const Run *run, int64_t now_ms, uint32_t event_count_max,
                Decision *decision);

/* Calls back for each effect that the state leaves open: EFFECT_EXECUTE for each attempt that somebody of this process has
 * to carry out, EFFECT_END beside it where it is to be ended. An attempt that was handed over, has not reported and is no
 * longer among them was given up (its time was over): whoever has it is told to end it, and its report is refused. */
typedef void (*EffectVisit)(void *context, const Effect *effect);
void pending(const Plan *plan, const Run *run, EffectVisit visit, void *context);

/* The idempotency key of a step run: the declared one, else derived from run and step; `arena` holds the text. */
Str step_key(const Plan *plan, const Run *run, uint32_t step, Str declared, Arena *arena);

#endif
