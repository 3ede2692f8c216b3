/* meter.h - what an engine has counted: transitions of runs and steps and how long they took, commits, queues.
 *
 * Plain numbers of the engine's thread: no lock and no atomic on the way of a run. Whoever shows them is called in that thread and copies
 * them (engine_meter(), engine_gauge()), when somebody asks and not before.
 *
 * Counted is what was decided, except for `run_changes`. A commit that fails is decided again, and counted again;
 * maestro_store_failures_total says how often that was. Times have the resolution of the engine's clock, a millisecond. How long something
 * was in a state before the engine had it in memory is not known: such a transition is counted, and not timed.
 *
 * Owns:   nothing.     Fails: never.     Bounds: METER_TENANT_COUNT_MAX tenants by name; the others are one.
 * Thread: the engine's.
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include "base/limits.h"
#include "base/spread.h"
#include "core/state.h"
#include "engine/engine.h"

typedef struct Moves {
    uint64_t counts[RUN_STATE_COUNT][RUN_STATE_COUNT];      /* from, to */
    Spread times[RUN_STATE_COUNT][RUN_STATE_COUNT];         /* microseconds in the state that was left */
} Moves;
static_assert((int)STEP_STATE_COUNT <= (int)RUN_STATE_COUNT, "states of steps fit the same table");

/* What waits: requests, reports and timers for their turn; runs for room at an executor, and for their consequences; lines for a commit. */
typedef enum MeterQueue { METER_COMMANDS, METER_ROOM, METER_CONSEQUENCES, METER_LOG_LINES, METER_QUEUE_COUNT } MeterQueue;
const char *meter_queue_name(MeterQueue queue);

typedef struct EngineMeter {
    Moves runs, steps;
    int64_t run_changes[RUN_STATE_COUNT];   /* runs that came into a state less those that left it; unlike the rest: what was committed */
    uint64_t log_takes;                 /* how often the end of the log was looked up: what was committed before is not in `run_changes` */
    Spread durations[RUN_STATE_COUNT];  /* of runs, from their creation to the state in which they are settled */
    uint64_t step_retries, run_retries, compensation_retries;
    uint64_t leases_granted, leases_expired;
    uint64_t late_reports;              /* of attempts that were given up */
    uint64_t log_lines, log_lines_dropped;
    Spread queue_waits[METER_QUEUE_COUNT];  /* microseconds that what left a queue had waited in it */
    Spread batch_events, batch_records, batch_bytes;
    uint64_t commit_failures;           /* batches that the store did not take */
    uint64_t verdicts[8][4];            /* by hook and kind, those of the built-in policy included */
} EngineMeter;
static_assert(HOOK_COUNT <= 8 && VERDICT_MISSING < 4, "every verdict is counted");

const EngineMeter *engine_meter(const Engine *engine);

/* How full it is now. */
typedef struct QueueGauge { uint32_t depth; int64_t oldest_ms; } QueueGauge;    /* oldest_ms: how long its first has waited; 0: empty */
typedef struct ExecutorGauge { Str name, kind; uint32_t under_way, capacity; bool is_leased; QueueGauge waiting; } ExecutorGauge;
typedef struct TenantGauge { char name[NAME_SIZE_MAX + 1]; uint32_t running; QueueGauge commands, waiting; } TenantGauge;

typedef struct EngineGauge {
    QueueGauge commands;                /* that wait for their turn, of all tenants */
    QueueGauge work;                    /* runs with consequences that are not decided yet */
    QueueGauge lines;                   /* of logs, that are not stored yet */
    QueueGauge several, nowhere;        /* runs that wait for room at any of several executors; that nobody may carry */
    uint32_t reads;                     /* questions to the store under way */
    uint32_t live_leases;
    uint64_t tokens_refused;            /* that executors were told and had not given out to whoever told them */
    uint32_t tenant_count;
    ExecutorGauge executors[METER_EXECUTOR_COUNT_MAX];
    uint32_t executor_count;
    TenantGauge tenants[METER_TENANT_COUNT_MAX + 1];        /* the busiest; the last one: all others together, named "*" */
    uint32_t named_count;               /* of these; without the last one */
} EngineGauge;
void engine_gauge(const Engine *engine, EngineGauge *out);

#endif
