/* world.h - one simulated world: a clock, a store that fails, executors that misbehave, people who interfere, one engine.
 *
 * Everything that happens is drawn from one seed, so that a failure is repeated by its seed alone. The engine is the real one
 * and is driven by engine_turn(); what is simulated is all that it touches. While the world runs, what leaves the engine is
 * held against what the store has (watch.h). In the end faults cease, everything is let finish, and the books are audited
 * (audit.h).
 *
 * Owns:   a World owns everything in it until world_deinit().
 * Fails:  world_fail() remembers the first thing that was wrong and ends the world; nothing is repaired.
 * Bounds: RUNS_MAX runs, PLANS_MAX plans, ATTEMPTS_MAX attempts at a time.     Thread: one.
 */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

#include "engine/engine.h"
#include "harness/random.h"
#include "store/memory/memory_store.h"

enum { PLANS_MAX = 6, RUNS_MAX = 96, ATTEMPTS_MAX = 512, ASKS_MAX = 1024, SAID_MAX = 4096, ECHOES_MAX = 16,
       JUMPS_MAX = 64, EXECUTORS = 2, TENANTS = 3 };

/* A plan as the simulator knows it, read from the same bytes as the engine's. */
typedef struct SimPlan { Str document; Plan plan; Digest digest; Str definition; } SimPlan;

/* --- attempts ------------------------------------------------------------------------------------------------------------- */

typedef enum AttemptPhase {
    PHASE_WORKS,                        /* next: announces its effect, or reports */
    PHASE_ANNOUNCED,                    /* waits until its announcement is acknowledged */
    PHASE_ACTED,                        /* has acted, and waits until that is acknowledged */
    PHASE_ENDS,                         /* next: reports */
} AttemptPhase;

typedef struct SimAttempt {
    AttemptId id;
    int64_t due_ms;                     /* of the simulator's time; INT64_MAX: not by itself */
    uint8_t phase;                      /* an AttemptPhase */
    uint8_t executor;
    bool has_announced, has_acted;      /* and waits, or has waited, for the acknowledgement */
    Cause cause;                        /* what it will report */
    bool is_there, is_recorded, is_ended, repeats, is_ghost;
    uint32_t generation;                /* of its step run's key */
    uint32_t superseded_count;          /* of its step when it was handed over */
} SimAttempt;

typedef struct SimExecutor {
    Executor port;
    struct World *world;
    uint32_t refuse_chance;             /* in a hundred */
} SimExecutor;

/* --- what was asked of the engine ------------------------------------------------------------------------------------------ */

typedef enum AskKind { ASK_START, ASK_COMMAND, ASK_STRANGER, ASK_WRONG } AskKind;

typedef struct Ask {
    struct World *world;
    uint32_t number;                    /* its command id is "c<number>" */
    uint8_t kind;                       /* an AskKind */
    uint8_t plan, key;                  /* of a start; key 0: none */
    bool is_again, is_bad;
    bool is_answered, is_lost;          /* lost: the engine it was given to is gone */
    bool is_other;                      /* of a repetition: something else is asked under the same id */
    uint64_t run_no;                    /* of a command */
    EngineStart start;                  /* what was asked, to be asked again; of a command `request` */
    EngineRequest request;
    struct Ask *first;                  /* of a repetition: what is repeated */
    bool has_answer;                    /* that every repetition has to get: `answer` */
    EngineReply answer;
} Ask;

/* --- chances -------------------------------------------------------------------------------------------------------------- */

/* How rough this world is, each in ten thousand. */
typedef struct Weather {
    uint32_t hold, refuse, lose, keep, fence;       /* a commit */
    uint32_t read_hold, read_fail;                  /* a read */
    uint32_t crash, jump, meddle;                   /* an iteration */
    uint32_t hang, fail, repeat, ghost;             /* an attempt */
    uint32_t deny;                                  /* a question to the policies */
    uint32_t spite;                                 /* a crash, when a poll, a pause or a compensation has just moved */
    int64_t slow_ms;                                /* longest usual attempt */
    int64_t linger_ms;                              /* how long one that was told to end may live on */
} Weather;

typedef struct Watch Watch;

typedef struct World {
    Random random;
    uint64_t seed;
    bool is_verbose, is_failed, is_calm;            /* calm: no more faults */
    char failure[1024];
    Weather weather;
    Store *store;
    Engine *engine;
    uint32_t engine_count;                          /* owners so far */
    uint64_t holder_epoch;                          /* of this one: the epoch that it began with */
    SimExecutor executors[EXECUTORS];
    Executor *ports[EXECUTORS];
    Site sites[EXECUTORS];              /* each in a region of its name */
    bool is_shared;                     /* both offer everything, and runs are bound to one or the other */
    SimAttempt attempts[ATTEMPTS_MAX];
    uint32_t attempt_count;                         /* slots in use are below it */
    AttemptId echoes[ECHOES_MAX];                   /* of attempts that have reported, the last ones */
    uint32_t echo_count;
    uint32_t said_count;                            /* what attempts said by the way, each with its own number */
    Ask asks[ASKS_MAX];
    uint32_t ask_count;
    SimPlan plans[PLANS_MAX];
    uint32_t plan_count;
    int64_t now_ms, skew_ms;                        /* the simulator's time; the wall clock is both together */
    int64_t skew_seen_ms;                           /* when the engine last looked at the clock */
    int64_t jumps[JUMPS_MAX];                       /* that it has noticed and has to write down */
    uint32_t jump_count;
    uint32_t start_count, started_count;            /* runs to start; asked for so far */
    uint64_t turn_count, handed_count;              /* attempts handed over */
    Arena arena, scratch;                           /* of the world; of one step */
    Watch *watch;
} World;

void world_init(World *world, uint64_t seed, bool is_verbose);
void world_deinit(World *world);
bool world_run(World *world);                       /* true where nothing was wrong */

/* --- for the parts of a world ---------------------------------------------------------------------------------------------- */

static inline uint32_t below(World *world, uint32_t limit) { return random_below(&world->random, limit); }
static inline bool chance(World *world, uint32_t of_ten_thousand) { return below(world, 10000) < of_ten_thousand; }

void world_fail(World *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_note(World *world, const char *format, ...) __attribute__((format(printf, 2, 3)));     /* where it is verbose */
uint32_t world_ceiling(const World *world, Str tenant);      /* attempts of it at a time, where this world has limits; 0: any number */

/* plans.c */
bool plans_make(World *world);

/* attempts.c */
void    attempts_init(World *world);
void    attempts_deliver(World *world);             /* what is due now */
int64_t attempts_due_ms(const World *world);        /* INT64_MAX: nothing */
void    attempts_crash(World *world);               /* the process that had them is gone */
void    attempts_calm(World *world);                /* what hangs without having to be ended comes to an end */

/* people.c */
extern const char *const people_tenants[TENANTS];
void people_meddle(World *world);
void people_start(World *world);
void people_repeat(World *world);                   /* somebody sends again what was sent before, with its id */
void people_settle(World *world);                   /* resume what is paused, signal what waits, and give up on what stays */
Value people_output(World *world, Arena *arena);    /* of a task */
Value people_poll(World *world, Arena *arena);      /* of one that is polled: whether it is complete */

#endif
