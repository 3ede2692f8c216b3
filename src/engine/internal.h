/* internal.h - what the files of the engine share. engine.h is the manual; nothing outside this folder includes this. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "base/heap.h"
#include "engine/condition.h"
#include "engine/engine.h"
#include "engine/mail.h"
#include "engine/run_index.h"
#include "view/projection.h"

/* --- plans --------------------------------------------------------------------------------------------------------- */

typedef struct PlanEntry {
    struct PlanEntry *next;             /* of the same slot of the table */
    Digest digest;
    Arena arena;
    Str document;                       /* canonical, in the arena */
    Plan plan;
    ConditionSet *conditions;
    RunIndex schemas;                   /* compiled ones, by where they lie in the document */
    RunnerOffer *offers;                /* by step; executor NULL: none offers it */
    uint32_t user_count;                /* runs in memory, and starts under way */
    uint64_t used;                      /* turn of the last use: the oldest leaves first */
    bool is_stored;                     /* durable, or on its way in a batch that is not refused yet */
} PlanEntry;

#define PLAN_SLOT_COUNT 256u
typedef struct PlanCache { PlanEntry *slots[PLAN_SLOT_COUNT]; uint32_t count; } PlanCache;

/* --- runs in memory ------------------------------------------------------------------------------------------------ */

/* A payload kept at hand, as JSON text; a cache beside the run, never part of its state. */
typedef struct HotText { char *ptr; uint32_t size; bool is_here; } HotText;

typedef struct Loader Loader;
typedef struct KeyQuestion KeyQuestion;

typedef struct Resident {
    Run run;
    PlanEntry *plan;                    /* NULL until it is loaded */
    uint64_t run_no;
    Id id;
    struct Tenant *tenant;
    uint64_t last_position;             /* of its newest record */
    Digest head;
    uint64_t batch_seq;                 /* newest batch that it is part of */
    Loader *loader;                     /* while it is being read */
    MailList inbox;                     /* what came while it was being read, or while a value is being fetched */
    KeyQuestion *key_question;          /* about a declared key, to the store; NULL: none */
    uint32_t fetching;                  /* the value being fetched: a step or MISSING_PARAMS; else STEP_NONE */
    HotText params, *outputs;           /* outputs: by step, made with the first one */
    size_t hot_size;
    uint32_t begun_count;               /* step runs that have rows: see view/projection.h */
    uint32_t *step_numbers;             /* of a plan with loops: see view/projection.h; else NULL */
    uint64_t snapshot_event;            /* event number of its newest snapshot row */
    struct Resident *work_next, *wait_next, *older, *newer;
    int64_t wait_since;
    uint32_t wait_slot;
    uint8_t wait_level;
    bool is_working;                    /* in its tenant's list of work */
    bool is_waiting;                    /* in a list of those that wait for room */
    bool has_timer_row;
    bool is_parking;                    /* its snapshot is in the batch that parks it */
    uint64_t start_key;                 /* under which its start is found while it is not durable; 0: none */
} Resident;

typedef struct ResidentList { Resident *first, *last; uint32_t count; } ResidentList;

/* --- tenants ------------------------------------------------------------------------------------------------------- */

typedef struct Tenant {
    struct Tenant *next;                /* in the ring of all */
    Str name;
    MailList queue;
    ResidentList work;                  /* runs whose state has consequences that are not decided yet */
    ResidentList (*waiting)[PRIORITY_COUNT];    /* by executor: runs with ready steps that found no room */
    uint32_t waiting_count;
    uint32_t running_count;             /* attempts under way */
    int64_t deficit;                    /* events it may still decide in this round */
} Tenant;

/* --- batches ------------------------------------------------------------------------------------------------------- */

/* An attempt that an executor has, or will have once its commit is durable. */
typedef struct OutEntry {
    struct OutEntry *next;              /* of the same run */
    uint32_t step, attempt;
    uint64_t holder;
    Tenant *tenant;
    bool is_reported;                   /* it has ended; that is not durable yet, and the run, read anew, does not know it */
} OutEntry;

typedef struct EffectEntry { Effect effect; uint64_t run_no; } EffectEntry;
typedef struct ReplyEntry { Mail *mail; EngineReply reply; Error error; } ReplyEntry;

typedef struct EngineBatch {
    struct EngineBatch *next;
    Batch batch;
    uint64_t seq;
    uint64_t event_count;
    Projection *projection;
    BatchRecord *records;
    EffectEntry *effects;
    ReplyEntry *replies;
    uint64_t *touched;                  /* run numbers */
    PlanEntry **plans;                  /* stored by it */
    size_t record_capacity, effect_capacity, reply_capacity, touched_capacity, plan_capacity;
    uint32_t effect_count, reply_count, touched_count, plan_count;
    MailList notices;                   /* decided in it: kept until it is durable */
} EngineBatch;

/* --- reads --------------------------------------------------------------------------------------------------------- */

typedef enum ReadKind { READ_LOAD, READ_VALUE, READ_PLAN, READ_KEY, READ_RUN_ID, READ_RECOVER, READ_TIMERS,
                        READ_DEDUPE } ReadKind;

typedef struct PendingRead {
    struct PendingRead *next;           /* of those that are free */
    ReadKind kind;
    uint64_t run_no;                    /* whose it is, for loads and values */
    uint32_t part;                      /* which part of a load, which value */
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
    int64_t wall_ms;                    /* as last given: jumps are noticed by it */
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
    uint32_t run_count;
    RunIndex outs;                      /* by run_no: attempts that are out */
    RunIndex start_keys;                /* by the hash of tenant, definition and key: starts that are not durable yet */

    Tenant *tenant;                     /* whose turn is next, in the ring of all */
    uint32_t tenant_count;
    uint32_t mail_count;                /* waiting in all queues */
    uint32_t *placing;                  /* by executor: given away in the decision being made */
    uint32_t tenant_placing;            /* the same for the tenant */
    Executor *placed;                   /* that the last step asked about was given; NULL: none */
    uint32_t placed_step;               /* that step */
    uint32_t place_slot;                /* the executor that was asked last */
    uint32_t waiting_count;             /* runs that wait for room */

    EngineBatch *open, *under_way, *under_way_last, *failed, *failed_last, *spare;
    uint32_t under_way_count;
    uint64_t next_seq, durable_seq;
    int64_t retry_at;                   /* while stalled: when the store is tried again */

    PendingRead *reads;
    PendingRead *free_reads;
    uint32_t read_count, read_capacity;
    uint64_t recover_cursor;            /* run number up to which runs have been looked at */
    uint64_t first_own_run_no;          /* runs below it are an earlier owner's */
    bool is_recovering, is_recover_asked, is_rescan, must_own;
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

    Observe observe;
    void *observe_context;
    EngineStats stats;
};

/* engine.c */
Status engine_take_log(Engine *engine, int64_t now_ms, Error *err);

/* plans.c */
PlanEntry *plan_cache_find(Engine *engine, const Digest *digest);
Status     plan_cache_add(Engine *engine, Str document, PlanEntry **out_entry, Error *err);
Status     plan_schema_check(PlanEntry *entry, Value schema, Value instance, Arena *scratch, Error *err);
void       plan_cache_deinit(Engine *engine);

/* resident.c */
Resident *resident_find(Engine *engine, uint64_t run_no);
Resident *resident_of_id(Engine *engine, const Id *id);
Resident *resident_add(Engine *engine, uint64_t run_no, const Id *id);
void      resident_bind(Engine *engine, Resident *resident, PlanEntry *plan, Str tenant);
void      resident_remove(Engine *engine, Resident *resident);
void      resident_touch(Engine *engine, Resident *resident);              /* used just now */
void      resident_keep(Resident *resident, uint32_t which, Str text);     /* a payload, at hand from now on */
bool      resident_text(const Resident *resident, uint32_t which, Str *out);
void      residents_deinit(Engine *engine);

/* park.c */
void batch_park(Engine *engine, EngineBatch *batch, Resident *resident);
void resident_leave(Engine *engine, Resident *resident);
void resident_discard(Engine *engine, Resident *resident);

/* load.c */
void load_begin(Engine *engine, Resident *resident, const Cell *row);      /* `row` is its row of the runs */
void load_answer(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer);
void load_failed(Engine *engine, Resident *resident, const Error *why);
void load_fetch(Engine *engine, Resident *resident, uint32_t which);       /* a payload that a decision misses */
void load_fetched(Engine *engine, Resident *resident, uint32_t which, const ReadAnswer *answer);
void loader_free(Loader *loader);

/* reads.c */
bool read_begin(Engine *engine, const QueryAsk *ask, const PendingRead *read);
void read_answered(Engine *engine, uint64_t read_id, const ReadAnswer *answer);

/* decision.c */
/* What the core asks of its surroundings, while one run is being decided or one of its attempts handed over. */
typedef struct Surroundings {
    Engine *engine;
    Resident *resident;
    const Decision *decision;           /* being made: may hold outputs that no record has yet; NULL: none */
} Surroundings;
DecideEnv surroundings_env(Surroundings *around);
Status decide_begin(Engine *engine, Resident *resident, const StartRequest *request, const Command *command, Error *err);
void   decide_mail(Engine *engine, Resident *resident, Mail *mail);        /* takes the mail */
void   decide_more(Engine *engine, Resident *resident);                    /* what follows from its state */
void   decide_inbox(Engine *engine, Resident *resident);                   /* what waited for it to be there */
Str    builtin_policy_text(void);

/* start.c */
void start_mail(Engine *engine, Mail *mail);                               /* takes the mail */
void start_key_answered(Engine *engine, Mail *mail, const ReadAnswer *answer);
void start_plan_answered(Engine *engine, Mail *mail, const ReadAnswer *answer);

/* batch.c */
EngineBatch *batch_open(Engine *engine);
void batch_record(Engine *engine, Resident *resident, const Command *command, const Decision *decision);
void batch_reply(Engine *engine, Resident *resident, Mail *mail, Status status, const Error *error, bool is_noop);
void batch_reply_row(Engine *engine, Mail *mail, const Cell *row);
void batch_submit(Engine *engine);
void batch_completed(Engine *engine, const Completion *completion);
void batch_retry(Engine *engine);
bool batch_is_full(const Engine *engine);
bool batch_is_durable(const Engine *engine, uint64_t seq);
void batches_deinit(Engine *engine);

/* effect.c */
Executor *holder_executor(Engine *engine, uint64_t holder);
Place effect_place(Engine *engine, const Plan *plan, const Run *run, uint32_t step);
void  effect_placed(Engine *engine);                                       /* the decision is made */
void  effect_given(Engine *engine, Resident *resident, const Effect *effect);
bool  effect_is_out(Engine *engine, uint64_t run_no, uint32_t step, Effect *out);     /* an effect that ends it */
void  outs_deinit(Engine *engine);
void  effect_not_given(Engine *engine, const EffectEntry *entry);
void  effect_resume(Engine *engine, Resident *resident);                   /* a run was read: what it leaves open is performed */
void  effect_end_strays(Engine *engine);                                   /* attempts of runs that are over */
void  effect_report_over(Engine *engine, const Mail *mail);                /* a report is durable, or was refused */
void  effect_perform(Engine *engine, const EffectEntry *entry);
void  effect_acknowledge(Engine *engine, const EngineBatch *batch);
void  effect_observe(Engine *engine, const EngineBatch *batch);
void  effect_wait(Engine *engine, Resident *resident);                     /* it found no room */
void  effect_room(Engine *engine, uint32_t slot, uint32_t count);          /* an executor has room again */
void  effect_stir(Engine *engine);
void  effect_forget_waiting(Engine *engine, Resident *resident);

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
void   dedupe_deinit(Engine *engine);
void   key_question_free(KeyQuestion *question);

/* queue.c */
Tenant *tenant_of(Engine *engine, Str name);
void    queue_mail(Engine *engine, Tenant *tenant, Mail *mail);
void    queue_work(Engine *engine, Resident *resident);
void    queue_forget_work(Resident *resident);
bool    queue_serve(Engine *engine);                                       /* until the batch is full; true: more waits */
void    queues_deinit(Engine *engine);

/* timer.c */
void    timer_note(Engine *engine, uint64_t run_no, int64_t due_ms);      /* the earlier of this and what is noted */
void    timer_forget(Engine *engine, uint64_t run_no);
int64_t timer_first(const Engine *engine);
void    timers_deinit(Engine *engine);
void timer_turn(Engine *engine);
void timer_swept(Engine *engine, const ReadAnswer *answer);

/* recover.c */
void recover_begin(Engine *engine, bool is_rescan);
void recover_later(Engine *engine);
void recover_more(Engine *engine);
void recover_answered(Engine *engine, const ReadAnswer *answer);

/* log_line.c */
void log_line_add(Engine *engine, const Notice *notice);
void log_lines_store(Engine *engine);                                      /* alongside the open batch, or when due */
void log_lines_deinit(Engine *engine);

#endif
