#include "core/retry.h"

#include "base/limits.h"
#include "core/reaction.h"

/* A finalizer of SplitMix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t retry_seed(uint64_t run_seed, uint32_t step, uint32_t attempt)
{
    return mix(run_seed ^ mix((uint64_t)step << 32 | attempt));
}

int64_t retry_delay_ms(const RetryTerms *terms, uint32_t failure_count, uint64_t seed)
{
    int64_t delay = terms->delay_ms;
    for (uint32_t i = 1; terms->is_exponential && i < failure_count && delay < terms->delay_ms_max; i++) {
        if (delay == 0) break;
        delay = delay > terms->delay_ms_max / 2 ? terms->delay_ms_max : delay * 2;
    }
    if (delay > terms->delay_ms_max) delay = terms->delay_ms_max;
    return delay + (int64_t)(mix(seed) % ((uint64_t)terms->jitter_ms + 1));
}

bool cost_is_spent(const Plan *plan, const Run *run)
{
    return plan->terms->has_cost_max && run->cost_micro && run->cost_micro >= (uint64_t)plan->terms->cost_max_micro;
}

uint32_t retry_first(const Plan *plan, const Run *run, uint32_t step)
{
    const StepTerms *terms = &plan->terms->steps[step];
    return step_polls(terms) ? run->polls[terms->poll.slot].attempt_first : 0;
}

/* Dispatches so far, those that were repeated after an owner's end included, and the cooperatives beside them. */
static uint32_t spawned(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt)
{
    uint32_t lost = step_lost(&run->steps[step]);
    uint32_t repeated = lost < LOST_COUNT_MAX ? lost : LOST_COUNT_MAX - 1;
    return attempt - retry_first(plan, run, step) + repeated + run_cooperatives(run, step);
}

static Task task_at(const Plan *plan, const Run *run, uint32_t step, TaskStage stage, uint32_t attempt)
{
    RetryTerms retry = reaction_retry(plan, run, step);                                                     /* F-055 */
    TaskTerms terms = { .intent = plan->terms->steps[step].intent, .spawn_budget = retry.spawn_count_max,
                        .retry_depth_max = retry.attempt_count_max - 1, .cooperative_max = plan->terms->cooperative_max };
    return task_restore(&terms, stage, spawned(plan, run, step, attempt), run->steps[step].retry);
}

Task retry_task(const Plan *plan, const Run *run, uint32_t step, TaskStage stage)
{
    return task_at(plan, run, step, stage, run->steps[step].attempt);
}

/* Whether the failure is one that passes, in a run that may still try: only then does the dispatch core hear of its task again. */
static bool may_pass(const Plan *plan, const Run *run, uint32_t step, Cause cause)
{
    RetryTerms retry = reaction_retry(plan, run, step);
    bool is_retried = cause == CAUSE_NOT_ACCEPTED || retry.on >> cause & 1;
    return is_retried && !run_is_winding(run) && !cost_is_spent(plan, run);                                 /* F-065 */
}

/* C-70: what was reported of its attempt becomes one signal to the dispatch core, and nothing else of it does. */
static Task signalled(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause)
{
    Task task = task_at(plan, run, step, TASK_DISPATCHED, attempt);
    if (cause == CAUSE_NOT_ACCEPTED) (void)task_return(&task);
    else (void)task_signal(&task, task_signal_next(&task));
    return task;
}

DropCause retry_drop(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause)
{
    if (!may_pass(plan, run, step, cause)) return DROP_NONE;
    Task task = signalled(plan, run, step, attempt, cause);
    bool has_retries = task.terms.retry_depth_max > 0;      /* one that declares none has none to use up */
    return task.stage == TASK_DROPPED && (has_retries || task.drop != DROP_RETRY_DEPTH) ? (DropCause)task.drop : DROP_NONE;
}

DropCause retry_drop_again(const Plan *plan, const Run *run, uint32_t step)
{
    Task task = retry_task(plan, run, step, TASK_DISPATCHED);
    (void)task_return(&task);                               /* nothing failed by it: it is no deeper */
    return (DropCause)task.drop;                                                                            /* I7 */
}

bool retry_is_due(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause, int64_t now_ms,
                  int64_t *out_due_ms)
{
    if (!may_pass(plan, run, step, cause) || signalled(plan, run, step, attempt, cause).stage == TASK_DROPPED) return false;    /* I7 */
    RetryTerms retry = reaction_retry(plan, run, step);
    uint32_t failure_count = cause == CAUSE_NOT_ACCEPTED ? attempt - retry_first(plan, run, step) : run->steps[step].retry + 1u;
    int64_t due = now_ms + retry_delay_ms(&retry, failure_count, retry_seed(run->seed, step, attempt));
    if (run->deadline_ms && due >= run->deadline_ms) return false;
    *out_due_ms = due;
    return true;
}
