/* task.h - one task of the dispatch core: its budget, its depth, and the way it takes.
 *
 *              task_accept        task_admit           task_dispatch
 *   (nothing) ────────────▶ ACCEPTED ────────▶ ADMITTED ────────────▶ DISPATCHED     (it leaves here without a word)
 *                   ▲           │  deferred: it stays                     │
 *                   │           ▼                                         ▼ task_signal: retry, escalate, drop
 *                   │        DROPPED ◀──── budget, depth, pressure ────  re-admission
 *                   └──────────────────────────────────────────────────────┘
 *
 * What is in a task is fixed when it is accepted: its intent, its spawn budget (sub-routines over its whole life) and how deep
 * its retries may go. Nothing here changes them. What counts up is how many sub-routines were spawned for it and how deep it is;
 * both only grow. The last try that its depth permits, and the last group that its budget has room for, are admitted escalated, by tighter
 * thresholds. Of the cooperatives that the rule demands those are spawned that the budget has room for; a task of whose budget nothing is
 * left is dropped, as is one that may not be tried any more or whose retry the pressure prohibits. A drop is terminal.
 *
 * Outcomes are reported elsewhere, to others: whoever sees them raises one of three signals here, which say that the task is to be
 * tried again, tried again urgently, or not. What its destination did not take was not tried: task_return(), and it is no deeper.
 *
 * Owns:   nothing: a task is a plain value that its keeper stores as it likes; task_restore() makes one of what was stored.
 * Fails:  task_accept() with ERR_INVALID. Everything else answers false, or what was decided.
 * Bounds: SPAWN_BUDGET_MAX sub-routines, ATTEMPT_COUNT_MAX tries.     Thread: pure, any.
 */
#ifndef DISPATCH_TASK_H
#define DISPATCH_TASK_H

#include "base/status.h"
#include "dispatch/admission.h"
#include "dispatch/carrier.h"

/* Fixed at acceptance. */
typedef struct TaskTerms {
    Intent intent;
    uint32_t spawn_budget;          /* sub-routines that may ever be spawned for it; from 1 to SPAWN_BUDGET_MAX */
    uint32_t retry_depth_max;       /* retries: one less than the tries that it has */
    uint32_t cooperative_max;       /* from 0 to COOPERATIVE_COUNT_MAX */
} TaskTerms;

typedef enum TaskStage { TASK_ACCEPTED, TASK_ADMITTED, TASK_DISPATCHED, TASK_DROPPED, TASK_STAGE_COUNT } TaskStage;
typedef enum OutcomeSignal { SIGNAL_RETRY, SIGNAL_ESCALATE, SIGNAL_DROP, OUTCOME_SIGNAL_COUNT } OutcomeSignal;

typedef struct Task {
    TaskTerms terms;
    uint32_t spawn_count;           /* sub-routines spawned so far */
    uint32_t retry_depth;
    uint8_t stage;                  /* a TaskStage */
    uint8_t drop;                   /* a DropCause, of a dropped one */
    bool is_escalated;
} Task;

MUST_USE Status task_accept(const TaskTerms *terms, Task *out_task, Error *err);
/* One that was accepted before and has come to that stage, as its keeper knows it. */
Task task_restore(const TaskTerms *terms, TaskStage stage, uint32_t spawn_count, uint32_t retry_depth);

/* Decides on an accepted task: its group is counted where it is admitted. Anything else is refused as a drop that changes nothing
 * (a dropped one stays dropped, one that is on its way is not admitted a second time). */
Admission task_admit(Task *task, const Pressure *pressure);
/* The same, without changing anything. */
Admission task_ask(const Task *task, const Pressure *pressure);
/* Carries an admitted task out: one group, one call. False where nothing was issued: it was not admitted, or the transport had no
 * room and it stays admitted. */
bool task_dispatch(Task *task, SubRoutineGroup *group, DispatchCall call, void *destination, const void *cargo);
/* About a task that was dispatched, from whoever has seen what became of it. False where there is nothing to signal. */
bool task_signal(Task *task, OutcomeSignal signal);
/* About one that was dispatched and that nobody took: it is admitted anew, where its budget has something left. False as above. */
bool task_return(Task *task);
/* What a failure that may pass has to be signalled as: to escalate where the retry that follows is the last. */
OutcomeSignal task_signal_next(const Task *task);

/* It is a retry and the last, or with a group of that many cooperatives nothing is left of its budget: it is carried escalated, and is the
 * more urgent. */
bool task_is_last(const Task *task, uint32_t cooperative_count);

#endif
