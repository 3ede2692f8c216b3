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

Task retry_task(const Plan *plan, const Run *run, uint32_t step)
{
    RetryTerms retry = reaction_retry(plan, run, step);
    const StepRun *state = &run->steps[step];
    TaskTerms terms = { .intent = plan->terms->steps[step].intent, .spawn_budget = retry.spawn_count_max,
                        .retry_depth_max = retry.attempt_count_max - 1, .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
    return task_restore(&terms, spawned(plan, run, step, state->attempt), state->retry);
}

DropCause retry_drop(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause)
{
    RetryTerms retry = reaction_retry(plan, run, step);
    bool is_tried = cause != CAUSE_NOT_ACCEPTED;
    if (run_is_winding(run) || (is_tried && !(retry.on >> cause & 1)) || cost_is_spent(plan, run)) return DROP_NONE;
    if (is_tried && run->steps[step].retry + 1u >= retry.attempt_count_max)
        return retry.attempt_count_max > 1 ? DROP_RETRY_DEPTH : DROP_NONE;         /* one that declares no retries has none to use up */
    return spawned(plan, run, step, attempt) >= retry.spawn_count_max ? DROP_SPAWN_BUDGET : DROP_NONE;
}

bool retry_is_due(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause, int64_t now_ms,
                  int64_t *out_due_ms)
{
    RetryTerms amplified = reaction_retry(plan, run, step);
    const RetryTerms *retry = &amplified;                                                                   /* F-055 */
    const StepRun *state = &run->steps[step];
    uint32_t failure_count = state->retry + 1u;
    uint32_t first = retry_first(plan, run, step);
    if (run_is_winding(run) || spawned(plan, run, step, attempt) >= retry->spawn_count_max) return false;           /* I7 */
    /* What nobody accepted was not tried: it is admitted again as long as dispatches are left. */
    bool is_tried = cause != CAUSE_NOT_ACCEPTED;
    if (is_tried && (!(retry->on >> cause & 1) || failure_count >= retry->attempt_count_max)) return false;
    if (cost_is_spent(plan, run)) return false;                                                             /* F-065 */
    int64_t due = now_ms + retry_delay_ms(retry, is_tried ? failure_count : attempt - first, retry_seed(run->seed, step, attempt));
    if (run->deadline_ms && due >= run->deadline_ms) return false;
    *out_due_ms = due;
    return true;
}
