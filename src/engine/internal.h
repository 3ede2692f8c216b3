/* internal.h - what the files of the engine share. engine.h is the manual; nothing outside this folder includes this. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "base/heap.h"
#include "base/trace.h"
#include "core/input.h"
#include "engine/breaker.h"
#include "dispatch/task.h"
#include "engine/condition.h"
#include "engine/engine.h"
#include "engine/mail.h"
#include "engine/meter.h"
#include "engine/run_index.h"
#include "view/projection.h"

/* --- plans --------------------------------------------------------------------------------------------------------- */

/* Who offers a runner. */
typedef struct OfferList {
    const RunnerOffer *items;
    uint32_t count;                     /* 0: nobody */
    bool is_choice;                     /* there are several, or one that does not take everybody's work */
    bool is_home;                       /* of a step: others go where it goes, so that is told where there is no choice, too */
} OfferList;

/* A plan is here as long as somebody needs it: whoever does holds it (plan_hold(), plan_let_go()), be it a run in memory, a mail that
 * asks for a start of it, or the look at its revisions. Nobody does, and it is in the store: it stays at hand until room is wanted, and is
 * read again. Nobody does, and it is not in the store: it came with a request that came to nothing, and leaves at once. */
typedef struct PlanEntry {
    struct PlanEntry *next;             /* of the same slot of the table */
    struct PlanCache *cache;            /* that it is in */
    Digest digest;
    Arena arena;
    Str document;                       /* canonical, in the arena */
    Plan plan;
    ConditionSet *conditions;
    RunIndex schemas;                   /* compiled ones, by where they lie in the document */
    OfferList *offers;                  /* by step */
    OfferList *undo_offers;             /* the same for what undoes them */
    Digest policies;                    /* that apply to it; zeros: not asked for yet */
    Str text;                           /* the definition as it was written, on the heap; empty: not known */
    uint32_t revision;                  /* its number; 0: not looked up yet */
    bool is_active;                     /* of a revision that is known: it may be started */
    uint32_t user_count;                /* who holds it */
    uint64_t used;                      /* turn of the last use: the oldest leaves first */
    uint64_t seq;                       /* newest batch that may borrow of it: it stays until that is durable */
    size_t size;                        /* its part of PlanCache.size */
    bool is_expected;                   /* of engine_plan_add(): engine_start() follows */
    bool is_stored;                     /* durable, or on its way in a batch that is not refused yet */
} PlanEntry;

#define PLAN_SLOT_COUNT 256u
typedef struct PlanCache {
    PlanEntry *slots[PLAN_SLOT_COUNT];
    uint32_t count;
    size_t size;                        /* bytes of all of them */
    bool is_due;                        /* some came or got free since room was made ... */
    bool has_loose;                     /* ... and of these some are not in the store */
} PlanCache;

/* --- runs in memory ------------------------------------------------------------------------------------------------ */

/* A payload kept at hand, as JSON text; a cache beside the run, never part of its state. */
typedef struct HotText {
    char *ptr;
    uint32_t size;                      /* known also of one that was here before; 0: not known */
    uint16_t used;                      /* Resident.hot_round at its last use */
    bool is_here;
} HotText;

typedef struct Loader Loader;
typedef struct KeyQuestion KeyQuestion;
typedef struct KnownRequest KnownRequest;
typedef struct Revising Revising;
typedef struct Sealing Sealing;
typedef struct Gate Gate;
typedef struct Measure Measure;
typedef struct Envelope Envelope;
typedef struct Hold Hold;

#define RESIDENT_FEW_COUNT 4u

typedef struct Resident {
    Run run;
    PlanEntry *plan;                    /* NULL until it is loaded */
    PlanEntry *earlier;                 /* the one that it had before it went on with another revision; NULL: none */
    uint64_t run_no;
    Id id;
    uint64_t serial;                    /* of all runs that were ever in memory: an answer for an earlier one is not for this */
    struct Tenant *tenant;
    Trace trace;                        /* that it belongs to: all its records and attempts have this trace id */
    Str tracestate;                     /* that came with it, on the heap; empty: none did */
    uint64_t last_position;             /* of its newest record */
    Digest head;
    uint64_t batch_seq;                 /* newest batch that it is part of */
    uint32_t batch_weight;              /* its part of that one */
    Loader *loader;                     /* while it is being read */
    MailList inbox;                     /* what came while it was being read, or while a value is being fetched */
    KeyQuestion *key_question;          /* about a declared key, to the store; NULL: none */
    uint32_t fetching;                  /* the value being fetched: a step, MISSING_PARAMS or MISSING_TARGET; else STEP_NONE */
    HotText params, *outputs;           /* outputs: by run_value_at(), made with the first one */
    size_t hot_size;                    /* of those that are here */
    size_t hot_limit;                   /* of outputs, at which those that are not used leave; 0: ENGINE_HOT_SIZE_MAX */
    uint16_t hot_round;                 /* how often they were looked through for that */
    bool is_fetch_asked;                /* the store has the question for `fetching`; else it waits in Engine.fetches ... */
    struct Resident *fetch_next;        /* ... before this one */
    size_t state_size;                  /* of its state, as far as its plan says it */
    uint32_t begun_count;               /* step runs that have rows: see view/projection.h */
    uint32_t *step_numbers;             /* of a plan with loops: see view/projection.h; else NULL */
    uint64_t snapshot_event;            /* event number of its newest snapshot row */
    struct Resident *work_next, *wait_next, *older, *newer;
    int64_t work_since, wait_since;     /* it is in that list */
    uint32_t wait_lane;
    uint8_t wait_level;
    bool is_working;                    /* in its tenant's list of work */
    bool is_waiting;                    /* in a list of those that wait for room */
    bool is_woken;                      /* was taken from it because there is room, and has got nothing yet ... */
    uint32_t woken_lane;                /* ... in that lane */
    bool has_timer_row;
    bool is_parking;                    /* its snapshot is in the batch that parks it */
    int64_t since_base;                 /* when it came into memory, or into its state before: its times are counted from there, see meter.c */
    uint32_t run_since, *since;         /* since when it, and each step, is in its state; 0: not known */
    uint32_t since_few[RESIDENT_FEW_COUNT];    /* of a plan with few steps, without memory of its own */
    uint64_t start_key;                 /* under which its start is found while it is not durable; 0: none */
    struct Inherited *inherited;        /* attempts that an earlier owner gave out, and that are under way: see inherit.c */
} Resident;

typedef struct ResidentList { Resident *first, *last; uint32_t count; } ResidentList;

/* --- tenants ------------------------------------------------------------------------------------------------------- */

/* A tenant's turn at the room of one lane of an executor. Each has its own: what an idle one asks changes nothing at a full one. */
typedef struct RoomTurn {
    uint32_t left;                      /* runs of it that are still looked at before those of the next tenant */
    uint32_t owed;                      /* turns of it that came to nothing: it has them good, up to its weight */
} RoomTurn;

typedef struct Tenant {
    struct Tenant *next;                /* in the ring of all */
    struct Tenant *same;                /* whose name has the same hash */
    uint64_t hash;
    Str name;
    uint32_t user_count;                /* runs of it in memory */
    MailList queue;
    ResidentList work;                  /* runs whose state has consequences that are not decided yet */
    ResidentList (*waiting)[PRIORITY_COUNT];    /* by lane, then by group: runs with ready steps that found no room */
    uint32_t waiting_count;
    uint32_t running_count;             /* attempts under way */
    uint32_t inherited_count;           /* the same of those that an earlier owner gave out */
    int64_t deficit;                    /* events it may still decide in this round */
    uint32_t weight;                    /* its share: of those, and of room that executors have */
    RoomTurn *turns;                    /* by lane */
    uint64_t batch_seq;                 /* newest batch that runs of it are part of */
    uint32_t batch_weight;              /* their part of that one */
    Envelope *envelope;                 /* what it is held to; NULL: nothing */
} Tenant;

/* --- batches ------------------------------------------------------------------------------------------------------- */

/* How an attempt came to begin: by which circuit (NULL: its runner has none), and in which round of that. */
typedef struct GatePass { Gate *gate; uint32_t round; } GatePass;

/* An attempt that an executor has, or will have once its commit is durable. */
typedef struct OutEntry {
    struct OutEntry *next;              /* of the same run */
    uint32_t step, attempt;
    uint32_t step_run;                  /* that it is of: a later one of the same step has the same numbers of attempts */
    uint64_t holder, serial;
    Tenant *tenant;
    uint64_t seq;                       /* of the batch that gives it */
    bool is_handed;                     /* its executor has it */
    bool is_lost;                       /* its lease ran out: the circuit knows, its executor learns it by the commit */
    SubRoutineGroup group;              /* that carries it to its executor ... */
    uint32_t reserved;                  /* ... and the places that its cooperatives keep free until then */
    GatePass pass;                      /* by the circuit of its runner */
    Measure *measure;                   /* of an attempt that there was a choice for: what it takes is measured ... */
    int64_t handed_ms;                  /* ... from here */
    Hold *hold;                         /* what it takes of its tenant's envelope; NULL: there is none */
    bool is_stray;                      /* given up, and its number is given out anew: whoever has it is being ended */
    size_t size;                        /* of what its executor keeps of it; before it is handed over, what that will be at least */
    struct Redaction *secrets;          /* that it got: they are taken out of what it says; NULL: none */
    bool is_reported;                   /* it has ended; that is not durable yet, and the run, read anew, does not know it */
} OutEntry;

typedef struct EffectEntry { Effect effect; uint64_t run_no; } EffectEntry;
typedef struct ReplyEntry { Mail *mail; EngineReply reply; Error error; } ReplyEntry;

/* What the log is told about itself: see log_note.c. */
typedef struct LogNote {
    uint8_t kind;
    uint32_t flags;
    uint64_t count;
    int64_t due_ms;
    uint64_t order;                     /* which came first */
    uint64_t number;                    /* of its event, where it may be written already */
} LogNote;
typedef struct LogChain { uint64_t position, event_count; Digest head; } LogChain;     /* where the chain of these records ends */

/* What an attempt told to have cost, by a record of the batch. */
typedef struct Payment { Envelope *envelope; int64_t cost_micro; } Payment;

typedef struct EngineBatch {
    struct EngineBatch *next;
    Batch batch;
    uint64_t seq;
    int64_t submitted_ms;               /* by the steady clock */
    uint64_t weight;                    /* what it costs to write: see decision_weight() */
    size_t size;                        /* records and what lies beside them */
    uint32_t run_weight_max;            /* the largest part that one run has in it */
    Projection *projection;
    BatchRecord *records;
    EffectEntry *effects;
    ReplyEntry *replies;
    uint64_t *touched;                  /* run numbers */
    PlanEntry **plans;                  /* stored by it */
    uint64_t *line_runs;                /* runs that it has log lines of */
    size_t line_run_capacity;
    uint32_t line_run_count;
    size_t record_capacity, effect_capacity, reply_capacity, touched_capacity, plan_capacity;
    uint32_t effect_count, reply_count, touched_count, plan_count;
    MailList notices;                   /* decided in it: kept until it is durable */
    Payment *payments;
    size_t payment_capacity;
    uint32_t payment_count;
    LogNote notes[LOG_NOTE_COUNT_MAX];
    uint32_t note_count;
    int32_t run_changes[RUN_STATE_COUNT];   /* see EngineMeter */
    LogChain chain_after;
} EngineBatch;

/* --- reads --------------------------------------------------------------------------------------------------------- */

#define MISSING_TARGET (UINT32_MAX - 2)     /* the plan of the revision that the next command of the inbox speaks of */

typedef enum ReadKind { READ_LOAD, READ_VALUE, READ_PLAN, READ_KEY, READ_RUN_ID, READ_RECOVER, READ_TIMERS,
                        READ_DEDUPE, READ_REQUEST, READ_EXPIRED, READ_REVISION, READ_SECRET, READ_TARGET, READ_RECALL,
                        READ_START } ReadKind;

typedef struct PendingRead {
    struct PendingRead *next;           /* of those that are free */
    ReadKind kind;
    uint64_t run_no;                    /* whose it is, for loads and values ... */
    uint64_t serial;                    /* ... and which reading of that run: set by read_begin() */
    uint32_t part;                      /* which part of a load, which value; the state of the run whose start is read; the round of a key */
    uint32_t size;                      /* of that value; 0: not known */
    Mail *mail;                         /* what goes on when it is answered */
    bool is_asked;
} PendingRead;

/* --- times ---------------------------------------------------------------------------------------------------------- */

typedef struct TimerSlots {
    RunIndex by_run;                    /* run_no -> slot plus one */
    uint64_t *runs;                     /* by slot */
    int64_t *dues;                      /* by slot */
    uint32_t *free;
    uint32_t free_count, capacity, due_capacity;
} TimerSlots;

/* --- the engine ---------------------------------------------------------------------------------------------------- */

struct Engine {
    EngineOptions options;
    Store *store;
    EngineState state;
    Error trouble;
    int64_t now_ms;                     /* of the log: never goes back */
    int64_t wall_ms, steady_ms;         /* as last given: that the clock was set is noticed by them */
    LogNote notes[LOG_NOTE_COUNT_MAX];  /* not written yet, in their order */
    uint64_t note_order;
    uint32_t note_count;
    LogChain chain, durable_chain;
    uint64_t epoch;                     /* of the log's owner: raised when the log is taken again */
    uint64_t holder_epoch;              /* the one it began with: what its executors hold, they hold under this */
    uint64_t position, next_run_no, next_step_run_no, turn;
    Digest head;
    uint64_t durable_position;          /* the same as of the last durable batch */
    Digest durable_head;
    Buf record_buf, payload_buf;        /* of the record being written */
    Arena arena;                        /* of the decision being made */
    Digest policy_digest;               /* of the built-in policy */

    PlanCache plans;
    RunIndex runs;                      /* by run_no */
    RunIndex ids;                       /* by the hash of the run id */
    Resident *newest, *oldest;          /* by last use */
    uint64_t next_serial;
    uint32_t run_count;
    size_t state_size;                  /* of all of them, without: */
    size_t hot_size;                    /* payloads at hand, of all of them */
    size_t mail_size;                   /* commands and notices that were queued and are not settled yet */
    size_t out_size;                    /* of attempts, as far as executors keep what they were given */
    size_t line_size;                   /* of lines below */
    ResidentList fetches;               /* that miss a payload which the store is not asked for yet */
    uint32_t fetch_count;               /* payloads that it is being asked for ... */
    size_t fetch_size;                  /* ... and their bytes, of those whose size is known */
    RunIndex outs;                      /* by run_no: attempts that are out */
    RunIndex requests;                  /* by the hash of tenant and id: those that are not durable yet */
    bool is_purging;                    /* requests whose time is over are being asked for */
    int64_t purge_at;
    int64_t renew_at;                   /* while it drains: when leases of attempts elsewhere are renewed again */
    uint64_t purge_seq;                 /* the batch that forgets some of them */
    Revising *revising;                 /* workflows whose revisions are being looked up or changed */
    Sealing *sealing;                   /* the secret that is being changed; NULL: none */
    RunIndex start_keys;                /* by the hash of tenant, definition and key: starts that are not durable yet */
    /* Questions about keys that are under way, those of this round and of the one before, and the keys of starts that became durable in it:
     * an answer may be older than these. A round ends when the one before has no questions left. */
    uint32_t key_round, key_ask_counts[2];
    RunIndex durable_keys[2];

    Tenant *tenant;                     /* whose turn is next, in the ring of all */
    RunIndex tenants;                   /* by the hash of the name */
    Tenant **room_tenants;              /* by lane: whose runs are looked at next where it has room; NULL: any */
    uint32_t *lane_slots;               /* by lane: the executor that it is of */
    uint32_t lane_count;                /* of all executors */
    uint32_t tenant_count;
    uint32_t mail_count;                /* waiting in all queues */
    Mail *fresh;                        /* of these, that came since the last turn */
    bool is_turning;
    uint32_t *placing;                  /* by executor: given away in the decision being made */
    uint32_t tenant_placing;            /* the same for the tenant */
    Executor *placed;                   /* that the last step asked about was given; NULL: none */
    uint32_t placed_step;               /* that step, ... */
    uint32_t placed_count;              /* ... and the places that were taken for it */
    uint64_t decision_no;               /* of the decision being made */
    RunIndex gates;                     /* by the hash of runner and tenant: see gate.c */
    int64_t gates_due;                  /* when one of them may permit what it held back; INT64_MAX: never */
    RunIndex measures;                  /* by the hash of runner and executor: see place.c */
    uint64_t groups[PLACEMENT_GROUP_COUNT_MAX];     /* sets of executors that are waited for, a bit for each slot */
    uint32_t group_count;
    Envelope **envelopes;               /* of tenants that are held to something */
    uint32_t envelope_count;
    int64_t envelopes_due;              /* when they have to be looked at; INT64_MAX: never */
    uint64_t out_serial;                /* of the last attempt that was given out, in this epoch */
    uint64_t notice_number;             /* of the last thing that an executor said, in this epoch */
    uint32_t place_lane;                /* the lane or group of the executor that was asked last ... */
    bool has_place_lane;                /* ... in this decision, of those that may have room some time */
    uint32_t waiting_count;             /* runs that wait for room */

    EngineBatch *open, *under_way, *under_way_last, *failed, *failed_last, *spare;
    uint32_t under_way_count;
    uint64_t handed_turn;               /* in which the last attempt was handed to an executor */
    uint64_t held_seq;                  /* the batch that waited a turn for what such attempts say */
    uint64_t next_seq, durable_seq;
    int64_t commit_ms_x8;               /* eight times what a commit has taken of late */
    uint64_t weight;                    /* of all decisions so far */
    uint64_t last_run_no;               /* whose record was the last one ... */
    const Tenant *last_tenant;
    uint64_t runs_seq, tenants_seq;     /* ... and the newest batch in which that changed */
    int64_t retry_at;                   /* while stalled: when the store is tried again */
    uint32_t stall_count;               /* how often in a row it refused; 0: it takes commits */

    PendingRead *reads;
    PendingRead *free_reads;
    uint32_t read_count, read_capacity;
    uint64_t recover_cursor;            /* run number up to which runs have been looked at */
    uint64_t first_own_run_no;          /* runs below it are an earlier owner's */
    bool is_recovering, is_recover_asked, is_rescan, must_own;
    bool is_probing;                    /* stalled, and a batch is under way that tells whether the store takes commits again */
    bool is_recover_read;               /* all of them have been looked for; those that are being read are waited for: */
    uint64_t *recover_runs;             /* that it has asked for, by their numbers, until they are read and looked at */
    uint32_t recover_run_count;
    size_t recover_run_capacity;
    bool is_recovered;                  /* each was read once: what earlier owners gave out is known */
    int64_t rescan_at;                  /* when runs that could not be read are looked for; 0: there are none */

    struct FreshKey *fresh_keys;
    struct KeyWaiter *key_waiters;
    uint32_t key_read_count;
    Heap timers;
    TimerSlots timer_slots;
    int64_t sweep_at;                   /* when the timers of parked runs are looked at again */
    bool is_sweeping;
    struct LateEffect *late, *late_last;
    uint32_t late_count;
    struct LogLine *lines, *lines_last; /* of attempts, not stored yet */
    uint32_t line_count;
    int64_t lines_due;
    uint64_t next_line_no;

    FullCause full;                     /* why the last start was not taken on */
    Observe observe;
    void *observe_context;
    EngineStats stats;
    EngineMeter meter;
};

/* engine.c */
Status engine_take_log(Engine *engine, int64_t now_ms, Error *err);

/* plans.c */
PlanEntry *plan_cache_find(Engine *engine, const Digest *digest);
PlanEntry *mail_plan(Engine *engine, Mail *mail);                          /* the one that it names, held by it; NULL: it is not here */
Status     plan_cache_add(Engine *engine, Str document, PlanEntry **out_entry, Error *err);
PlanEntry *plan_cache_take(Engine *engine, PlanEntry *entry);               /* one that was read; the one that is here stays, and is meant */
void       plan_keep_text(Engine *engine, PlanEntry *entry, Str text);      /* unless it has one */
void       plan_hold(PlanEntry *entry);
void       plan_let_go(PlanEntry *entry);
void       plan_release(Engine *engine, PlanEntry *entry);                  /* a run that had it leaves */
void       plan_discarded(PlanEntry *entry);                                /* the batch that stored it has failed */
void       plan_cache_trim(Engine *engine);                                 /* those that nobody holds leave: see PlanEntry */
Status     plan_schema_check(PlanEntry *entry, Value schema, Value instance, Arena *scratch, Error *err);
void       plan_cache_deinit(Engine *engine);
/* By which circuit and rate of a runner are known: of several executors that offer it each has its own. */
Str        offer_gate(Arena *arena, Str runner, const Executor *executor, bool is_choice);
MUST_USE Status plan_check_offers(const PlanEntry *entry, Error *err);     /* every runner that it names is known here */

/* resident.c */
Resident *resident_find(Engine *engine, uint64_t run_no);
Resident *resident_of_id(Engine *engine, const Id *id);
Resident *resident_add(Engine *engine, uint64_t run_no, const Id *id);
void      resident_revised(Engine *engine, Resident *resident, PlanEntry *before);          /* its plan is another one now */
void      resident_bind(Engine *engine, Resident *resident, PlanEntry *plan, Str tenant);
void      resident_keep_tracestate(Resident *resident, Str text);          /* copied */
void      resident_remove(Engine *engine, Resident *resident);
void      resident_touch(Engine *engine, Resident *resident);              /* used just now */
void      resident_keep(Engine *engine, Resident *resident, uint32_t which, Str text);     /* a payload, at hand from now on */
void      resident_forget(Engine *engine, Resident *resident, uint32_t which);             /* what was kept is no longer what counts */
bool      resident_text(Resident *resident, uint32_t which, Str *out);
uint32_t  resident_text_size(const Resident *resident, uint32_t which);    /* of one that is or was at hand; 0: not known */
/* It waits for something, be it that an attempt ends: where payloads at hand take more than their share, its own leave. */
void      resident_cool(Engine *engine, Resident *resident);
bool      hot_is_full(const Engine *engine);
void      residents_deinit(Engine *engine);

/* park.c */
void batch_park(Engine *engine, EngineBatch *batch, Resident *resident);
void resident_leave(Engine *engine, Resident *resident);
void resident_discard(Engine *engine, Resident *resident);

/* load.c */
/* `row` is its row of the runs. False where the store takes no question: the resident is gone. */
bool load_begin(Engine *engine, Resident *resident, const Cell *row);
void load_answer(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer);
void load_failed(Engine *engine, Resident *resident, const Error *why);
void load_fetch(Engine *engine, Resident *resident, uint32_t which);       /* a payload that a decision misses */
void load_fetch_more(Engine *engine);                                      /* those that had to wait, as far as there is room for them */
void load_unqueue(Engine *engine, Resident *resident);                     /* its memory ends */
void load_fetched(Engine *engine, Resident *resident, uint32_t which, const ReadAnswer *answer);
void loader_free(Loader *loader);
/* Whoever has attempts of it elsewhere has one full term from now on to be heard of. */
void leases_renew(const Engine *engine, Run *run);

/* reads.c */
bool read_begin(Engine *engine, const QueryAsk *ask, const PendingRead *read);
void read_answered(Engine *engine, uint64_t read_id, const ReadAnswer *answer);

/* decision.c */
/* What the core asks of its surroundings, while one run is being decided or one of its attempts handed over. */
typedef struct Surroundings {
    Engine *engine;
    Resident *resident;
    const Decision *decision;           /* being made: may hold outputs that no record has yet; NULL: none */
    const Command *command;             /* that leads to it; NULL where nothing is decided */
    struct ReadValue *values;           /* what was read so far: large ones are not read again for each step that asks */
    uint64_t condition_step_count;      /* instructions of the conditions that were asked about so far */
} Surroundings;
DecideEnv surroundings_env(Surroundings *around);
Status decide_begin(Engine *engine, Resident *resident, const StartRequest *request, const Command *command, Error *err);
void   decide_mail(Engine *engine, Resident *resident, Mail *mail);        /* takes the mail */
void   decide_more(Engine *engine, Resident *resident);                    /* what follows from its state */
void   decide_inbox(Engine *engine, Resident *resident);                   /* what waited for it to be there */
Str    builtin_policy_text(void);

/* start.c */
void start_mail(Engine *engine, Mail *mail);                               /* takes the mail */
void start_key_answered(Engine *engine, Mail *mail, uint32_t round, const ReadAnswer *answer);
void start_key_durable(Engine *engine, Resident *resident);                /* its start is: from now on the store knows the key */
void start_record_answered(Engine *engine, Mail *mail, uint32_t state, const ReadAnswer *answer);
void start_plan_answered(Engine *engine, Mail *mail, const ReadAnswer *answer);

/* revision.c */
typedef enum RevisionFate {
    REVISION_IS_KNOWN,
    REVISION_IS_TAKEN,                  /* the mail comes back when it is known */
    REVISION_IS_REFUSED,
} RevisionFate;
/* The version that a start is of, the next one where its plan is new; in the end revision_begun() or revision_drop(). */
RevisionFate revision_look(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t *out_version, Error *err);
void revision_begun(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t version);   /* the run is in the open batch */
void revision_drop(Engine *engine, Mail *mail);                            /* there is no run */
/* The plan of the revision that a command goes on with; NULL: it has to be fetched. */
PlanEntry *target_find(Engine *engine, Mail *mail);
void target_fetch(Engine *engine, Resident *resident, uint32_t version);    /* for the first command of the inbox */
void target_answered(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer);
/* The same of a start that is to store its plan alone: answers the mail. */
void revision_stored(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t version);
void revision_mail(Engine *engine, Mail *mail);                            /* takes the mail: activates or deactivates */
void revision_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer);
void revisions_durable(Engine *engine);                                    /* a batch is */
void revisions_discard(Engine *engine);                                    /* what was not durable never happened */
void revisions_deinit(Engine *engine);

/* secret.c */
void secret_mail(Engine *engine, Mail *mail);                              /* takes the mail: stores or removes a secret */
void secret_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer);
void secrets_observe(Engine *engine);                                      /* a batch is durable, and nobody was answered yet */
void secrets_durable(Engine *engine);                                      /* a batch is, or never will be */
void secrets_deinit(Engine *engine);

/* keep.c */
void keep_mail(Engine *engine, Mail *mail);                                /* takes the mail */

/* batch.c */
Trace batch_span(const Resident *resident, uint32_t step, uint32_t step_run, uint32_t attempt);     /* of an attempt */
EngineBatch *batch_open(Engine *engine);
/* The record in engine->record_buf, with its payload, behind `head`, which is moved on. Its position and bytes are filled in. */
BatchRecord *batch_append(Engine *engine, EngineBatch *batch, const BatchRecord *record, Digest *head);
void batch_record(Engine *engine, Resident *resident, const Command *command, const Decision *decision);
void batch_reply(Engine *engine, Resident *resident, Mail *mail, Status status, const Error *error, bool is_noop);
/* A start whose key has a run that the store has: mail->run_no, in that state. With an error it is another start than that run's. */
void batch_reply_stored(Engine *engine, Mail *mail, RunState state, Status status, const Error *error);
void batch_reply_open(Engine *engine, Mail *mail);                         /* it was done, by the open batch */
/* The same with an answer that is there, once that batch is durable. */
void batch_reply_with(Engine *engine, uint64_t seq, const ReplyEntry *entry);
void batch_submit(Engine *engine);
void batch_completed(Engine *engine, const Completion *completion);
void batch_retry(Engine *engine);
bool batch_is_full(const Engine *engine);
bool batch_is_large(const Engine *engine);                                 /* the open one, by its bytes */
bool batch_is_full_for(const Engine *engine, const Tenant *tenant);
/* What the events from that one on cost to write, in events: one that skips a range of steps writes a row for each. */
uint32_t     decision_weight(const Decision *decision, uint32_t first);
bool batch_is_durable(const Engine *engine, uint64_t seq);
void batches_deinit(Engine *engine);

/* effect.c */
void  effect_resume(Engine *engine, Resident *resident);                   /* a run was read: what it leaves open is performed */
void  effect_end_strays(Engine *engine);                                   /* attempts of runs that are over */
void  effect_perform(Engine *engine, const EffectEntry *entry);
/* An attempt that no step has, to that executor, under the admission of its task: its id gets holder and serial. Takes the secrets. Deferred
 * where there is no room, or its circuit or rate holds it back, too. */
AdmissionKind effect_carry(Engine *engine, Resident *resident, const RunnerOffer *offer, Attempt *attempt, Task *task,
                           struct Redaction *secrets);
bool  effect_is_carried(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt);      /* and what it said is not durable yet */
void  effect_give_up(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt,
                     Str why);                          /* it is late: ended; elsewhere, reported as that */

/* Attempts whose leases ran out by these events: circuits hear of it before anything is decided that follows. */
void  effect_lost(Engine *engine, Resident *resident, const Decision *decision);

/* effect_place.c */
Executor *holder_executor(Engine *engine, uint64_t holder);
int64_t holder_lease_ms(const Engine *engine, uint64_t holder);            /* one term, of an executor that is elsewhere */
Place effect_place(Engine *engine, const Plan *plan, const Run *run, uint32_t step);
Pressure effect_pressure(const Engine *engine, const Resident *resident, const Executor *executor, uint32_t taken);
const OfferList *effect_offers(const Resident *resident, uint32_t step, bool is_undo);
void  effect_placed(Engine *engine);                                       /* the decision is made */
uint32_t effect_taken(const Engine *engine, const Executor *executor);     /* places of it that are taken */
bool  effect_is_served(Executor *executor, Str runner);         /* somebody is there who takes it, now or later */
bool  effect_has_room(const Engine *engine, Executor *executor, Str tenant, Str runner);

/* effect_room.c */
void  effect_wait(Engine *engine, Resident *resident);                     /* it found no room */
void  effect_room(Engine *engine, const Executor *executor, uint32_t count);       /* it has room again, for anybody */
void  effect_room_of(Engine *engine, Tenant *tenant);                     /* what held that tenant back may be over */
void  effect_room_behind(Engine *engine, Executor *executor);              /* one of its attempts has ended */
void  effect_stir(Engine *engine);
void  effect_forget_waiting(Engine *engine, Resident *resident);

/* effect_attempt.c */
/* A text or more with its paths filled in, for whoever is given it; the secrets among them are added to `filled`. */
InputAnswer effect_fill(Engine *engine, Resident *resident, uint32_t step, Value written, struct Redaction **filled, InputResult *out);
InputAnswer effect_redact_earlier(Engine *engine, Resident *resident, Command *command, InputResult *result);

/* effect_out.c */
/* `cooperative_count`: of the group that carries it, as it was admitted. */
void  effect_given(Engine *engine, Resident *resident, const Effect *effect, uint32_t cooperative_count);
Tenant *effect_tenant(Engine *engine, uint64_t run_no);                    /* of a run that has attempts out; or NULL */
/* An effect that ends an attempt of the step, or of what undoes it: the `nth` that is out; false where there are no more. */
bool  effect_is_out(Engine *engine, uint64_t run_no, uint32_t step, uint32_t nth, Effect *out);
void  outs_deinit(Engine *engine);
void  effect_not_given(Engine *engine, const EffectEntry *entry);
void  effect_report_over(Engine *engine, const Mail *mail);                /* a report is durable, or was refused */
bool  effect_is_handed(Engine *engine, const AttemptId *id);               /* an executor has it */

/* effect_notice.c */
void  effect_acknowledge(Engine *engine, const EngineBatch *batch);
void  effect_answer(Engine *engine, const Mail *mail);
void  effect_observe(Engine *engine, const EngineBatch *batch);

/* place.c */
typedef struct PlaceAsk {
    const Plan *plan;
    const Run *run;
    const Resident *resident;
    const OfferList *offers;
    Str runner;
    uint32_t step;
    bool is_undo;
    const Executor *refused;            /* that did not take it just now; NULL: none */
} PlaceAsk;
/* The one that is chosen, with the reasons; NULL: `out_held` says why none is. */
const RunnerOffer *place_choose(Engine *engine, const PlaceAsk *ask, Str *out_reasons, Place *out_held);
/* Somebody else may take what that executor has just refused. */
bool     place_has_other(Engine *engine, const Resident *resident, const Effect *effect, const Executor *refused);
const RunnerOffer *place_offer(const OfferList *offers, const Executor *executor);
bool     place_is_nowhere(const Engine *engine, uint32_t wait_lane);       /* nobody's room ends that wait */
Measure *place_measure(Engine *engine, const Executor *executor, Str runner);
void     place_measured(Engine *engine, OutEntry *entry, Cause cause);
void     places_deinit(Engine *engine);

/* gate.c */
/* Whether its circuit and its rate let one more begin; else `out` says why not. gate_promise(): it is going to. */
bool  gate_permits(Engine *engine, Str tenant, const RunnerOffer *offer, Place *out);
void  gate_promise(Engine *engine, Str tenant, const RunnerOffer *offer);
GatePass gate_begin(Engine *engine, Str tenant, const RunnerOffer *offer);
void  gate_outcome(Engine *engine, GatePass pass, Cause cause);
bool  gate_end(GatePass pass);                                             /* true: somebody waits for that */
void  gates_turn(Engine *engine);
Value gates_show(const Engine *engine, Str tenant, Arena *arena);          /* circuits of a tenant */
void  gates_deinit(Engine *engine);

/* envelope.c */
MUST_USE Status envelopes_open(Engine *engine, Error *err);
void   envelopes_deinit(Engine *engine);
/* ERR_INVALID where a step of the plan could never begin, ERR_LIMIT where the window of its tenant has nothing left: the next one begins
 * at `out_quota_ms`, which is written then alone. */
MUST_USE Status envelope_check_start(Engine *engine, const Tenant *tenant, const PlanEntry *entry, int64_t *out_quota_ms, Error *err);
/* Whether one more attempt may begin; else `out` says why not. */
bool   envelope_permits(Engine *engine, Tenant *tenant, const Plan *plan, uint32_t step, const Executor *executor, bool is_undo, Place *out);
void   envelope_placed(Tenant *tenant, const Plan *plan, uint32_t step, const Executor *executor, bool is_back);
Hold  *envelope_begin(Engine *engine, Tenant *tenant, const Plan *plan, const AttemptId *id, const Executor *executor);
void   envelope_end(Engine *engine, Hold *hold);                           /* NULL: nothing */
bool   envelope_ended(Engine *engine, const Hold *hold, Str *out_why);     /* it was told to end for want of time or money */
void   envelope_pay(Engine *engine, EngineBatch *batch, Resident *resident, const Event *event);
void   envelope_unpay(EngineBatch *batch);
/* The same of one that an earlier owner gave to that executor (NULL: it is not here any more) at that time. */
Hold  *envelope_inherit(Engine *engine, Tenant *tenant, const Plan *plan, const AttemptId *id, const Executor *executor,
                        int64_t begun_ms, bool has_cost);
void   envelope_forget(Hold *hold);                                        /* its run leaves memory, and it is under way still */
void   envelopes_turn(Engine *engine);
void   envelopes_store(Engine *engine, EngineBatch *batch);
void   envelopes_discard(Engine *engine);
void   envelope_show(Engine *engine, const Tenant *tenant, MemberList *members);     /* limits, use, left */

/* inherit.c */
void   inherit_load(Engine *engine, Resident *resident);                   /* it was read: what is under way of it counts */
void   inherit_settle(Engine *engine, Resident *resident);                 /* a decision was made: what has ended does not */
void   inherit_leave(Resident *resident);                                  /* its memory ends */
Hold  *inherit_hold(Engine *engine, const AttemptId *id);                  /* what it takes of its tenant's envelope; NULL: nothing, or it is none */
void   inherit_end(Engine *engine, const AttemptId *id);                   /* tells its executor to, where there is one */
bool   inherit_is_out(Engine *engine, uint64_t run_no, uint32_t step, uint32_t nth, Effect *out);      /* as effect_is_out() has it */

/* notify.c */
void    notify_due(Engine *engine, Resident *resident);                    /* what is due is sent, what is late given up; uses the arena */
int64_t notify_next_ms(const Resident *resident);                          /* when that has to be looked at again, or INT64_MAX */
void    notify_perform(Engine *engine, const EffectEntry *entry);

/* late.c */
void effect_retry_later(Engine *engine, const EffectEntry *entry);
void late_effects_perform(Engine *engine);
void late_effects_deinit(Engine *engine);

/* dedupe.c */
Dedupe dedupe_ask(Engine *engine, Resident *resident, uint32_t step, Str domain, Str key);
void   dedupe_fetch(Engine *engine, Resident *resident);                   /* what it answered DEDUPE_MISSING for */
void   dedupe_answered(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer);
void   dedupe_begun(Engine *engine, Resident *resident, const Event *event, uint64_t seq);
void   dedupe_ended(Engine *engine, Resident *resident, uint32_t step, bool is_done, Str output, uint64_t seq);
void   dedupe_purge(Engine *engine);
void   dedupe_discard(Engine *engine);                                     /* what was not durable never happened */
void   dedupe_deinit(Engine *engine);
void   key_question_free(KeyQuestion *question);

/* request.c */
typedef enum RequestFate {
    REQUEST_IS_NEW,                     /* to be decided; or it has no id */
    REQUEST_IS_TAKEN,                   /* answered, or the store is being asked */
    REQUEST_WAITS,                      /* the store takes no more questions now */
} RequestFate;
RequestFate request_look(Engine *engine, Mail *mail);
void  request_answered(Engine *engine, Mail *mail, const ReadAnswer *answer);
/* Its answer into the open batch; false where it is none to be kept. Then to whoever waits for the same. */
bool  request_keep(Engine *engine, Mail *mail, const EngineReply *reply, const Error *error);
void  request_share(Engine *engine, uint64_t seq, const ReplyEntry *entry);
void  request_forget(Engine *engine, Mail *mail);                          /* the store knows it now, or nobody */
void  request_purge(Engine *engine);
void  request_purged(Engine *engine, const ReadAnswer *answer);
void  requests_deinit(Engine *engine);

/* queue.c */
void    queue_route(Engine *engine, Mail *mail);                           /* to its run, or the start of one */
Tenant *tenant_of(Engine *engine, Str name);
Tenant *tenant_of_run(Engine *engine, uint64_t run_no);                    /* as far as memory knows it */
void    queue_refuse(Engine *engine);                                      /* the store takes nothing: who asks is told so */
void    queue_mail(Engine *engine, Tenant *tenant, Mail *mail);
void    queue_stamp(Engine *engine);                                       /* what came since the last turn came now */
void    queue_work(Engine *engine, Resident *resident);
void    queue_forget_work(Resident *resident);
bool    queue_has_more(const Engine *engine);                              /* something that finds room in the open batch */
void    queue_serve(Engine *engine);                                       /* until the batch is full */
void    queues_deinit(Engine *engine);

/* timer.c */
void    timer_note(Engine *engine, uint64_t run_no, int64_t due_ms);      /* the earlier of this and what is noted */
void    timer_forget(Engine *engine, uint64_t run_no);
int64_t timer_first(const Engine *engine);
void    timers_deinit(Engine *engine);
void timer_turn(Engine *engine);
void timer_swept(Engine *engine, const ReadAnswer *answer);

/* recall.c: reports that come again */
bool recall_is_due(const Mail *mail);                                      /* of one that was refused: the store is asked whether it counted before */
bool recall_compensation(const Run *run, const Command *command);         /* it has succeeded by that attempt */
bool recall_begin(Engine *engine, Mail *mail);                             /* takes the mail; false: there is nothing to ask */
void recall_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer);

/* recover.c */
void recover_begin(Engine *engine, bool is_rescan);
void recover_later(Engine *engine);
void recover_more(Engine *engine);
void recover_answered(Engine *engine, const ReadAnswer *answer);
void recover_leave(Engine *engine);                                        /* what was read, has nothing to do and was parked leaves memory again */
void recover_deinit(Engine *engine);
/* What an earlier owner gave out may not be known yet: nothing is given away that has to share a bound with that. */
bool recover_is_blind(const Engine *engine);
bool recover_is_full(const Engine *engine);                                /* no further runs are loaded before some have left memory */

/* log_note.c */
Status log_chain_read(Engine *engine, Error *err);
void   log_note_add(Engine *engine, const LogNote *note);
void   log_note_jump(Engine *engine, int64_t by_ms);                       /* where it is one */
void   log_notes_record(Engine *engine);
/* What someone did that is about no run; thrown away with the batch where its commit fails. */
void   log_event_record(Engine *engine, EngineBatch *batch, const Event *event, const Command *command);
void   log_notes_back(Engine *engine, const EngineBatch *batch);           /* its commit failed */

/* meter.c */
/* Around run_apply() of an event. */
typedef struct MeterMark { uint8_t run_state, step_state; } MeterMark;
void meter_before(const Resident *resident, const Event *event, MeterMark *out);
void meter_loaded(const Engine *engine, Resident *resident, int64_t since_ms);     /* since when it is in its state; 0: nobody knows */
void meter_after(Engine *engine, Resident *resident, const Event *event, const MeterMark *mark);
void meter_left(Engine *engine, MeterQueue queue, int64_t since_ms);       /* what had been in it since then */
void meter_batch(Engine *engine, const EngineBatch *batch);                /* it goes to the store */
void meter_durable(Engine *engine, const EngineBatch *batch);

/* log_line.c */
void log_line_add(Engine *engine, const Notice *notice);
void log_lines_store(Engine *engine);                                      /* alongside the open batch, or when due */
int64_t log_lines_waited_ms(const Engine *engine);                         /* the first of them; 0: there is none */
void log_lines_deinit(Engine *engine);

#endif
