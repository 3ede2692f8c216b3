#include "dispatch/task.h"

Status task_accept(const TaskTerms *terms, Task *out_task, Error *err)
{
    if (terms->spawn_budget < 1 || terms->spawn_budget > SPAWN_BUDGET_MAX)
        return error_set(err, ERR_INVALID, "a task needs a spawn budget from 1 to %u: %u is none", SPAWN_BUDGET_MAX, terms->spawn_budget);
    if (terms->cooperative_max > COOPERATIVE_COUNT_MAX)
        return error_set(err, ERR_INVALID, "at most %u cooperative sub-routines: %u are too many", COOPERATIVE_COUNT_MAX, terms->cooperative_max);
    if (terms->retry_depth_max >= ATTEMPT_COUNT_MAX)
        return error_set(err, ERR_INVALID, "a retry depth below %u: %u is too deep", ATTEMPT_COUNT_MAX, terms->retry_depth_max);
    *out_task = (Task){ .terms = *terms };
    return OK;
}

Task task_restore(const TaskTerms *terms, TaskStage stage, uint32_t spawn_count, uint32_t retry_depth)
{
    return (Task){ .terms = *terms, .stage = (uint8_t)stage, .spawn_count = spawn_count, .retry_depth = retry_depth };
}

static uint32_t budget_left(const Task *task)
{
    return task->spawn_count < task->terms.spawn_budget ? task->terms.spawn_budget - task->spawn_count : 0;
}

bool task_is_last(const Task *task, uint32_t cooperative_count)
{
    bool is_last_try = task->retry_depth && task->retry_depth >= task->terms.retry_depth_max;
    return is_last_try || budget_left(task) <= 1 + cooperative_count;
}

static Admission dropped(Admission admission, DropCause cause)
{
    admission.kind = ADMISSION_DROP;
    admission.drop = (uint8_t)cause;
    return admission;
}

Admission task_ask(const Task *task, const Pressure *pressure)
{
    uint32_t count = cooperative_count(task->terms.intent, pressure_of(pressure), task->retry_depth, task->terms.cooperative_max);
    AdmissionAsk ask = { .intent = task->terms.intent, .pressure = *pressure, .retry_depth = task->retry_depth,
                         .cooperative_max = task->terms.cooperative_max, .is_escalated = task->is_escalated || task_is_last(task, count) };
    Admission admission = admission_decide(&ask);
    if (task->stage != TASK_ACCEPTED) return dropped(admission, (DropCause)task->drop);
    if (task->retry_depth > task->terms.retry_depth_max) return dropped(admission, DROP_RETRY_DEPTH);
    uint32_t left = budget_left(task);
    if (!left) return dropped(admission, DROP_SPAWN_BUDGET);
    if (admission.cooperative_count >= left) admission.cooperative_count = (uint8_t)(left - 1);    /* E-017: those beyond it are not spawned */
    return admission;
}

static void task_drop(Task *task, DropCause cause)
{
    task->stage = TASK_DROPPED;
    task->drop = (uint8_t)cause;
}

Admission task_admit(Task *task, const Pressure *pressure)
{
    Admission admission = task_ask(task, pressure);
    if (task->stage != TASK_ACCEPTED) return admission;
    if (admission.kind == ADMISSION_DROP) task_drop(task, (DropCause)admission.drop);
    if (admission.kind != ADMISSION_ADMIT) return admission;
    task->stage = TASK_ADMITTED;
    task->is_escalated = admission.is_escalated;
    task->spawn_count += 1u + admission.cooperative_count;
    return admission;
}

bool task_dispatch(Task *task, SubRoutineGroup *group, DispatchCall call, void *destination, const void *cargo)
{
    if (task->stage != TASK_ADMITTED || !group_dispatch(group, call, destination, cargo)) return false;
    task->stage = TASK_DISPATCHED;
    return true;
}

bool task_signal(Task *task, OutcomeSignal signal)
{
    if (task->stage != TASK_DISPATCHED) return false;
    if (signal == SIGNAL_DROP || task->retry_depth >= task->terms.retry_depth_max) {
        task_drop(task, DROP_RETRY_DEPTH);
        return true;
    }
    task->retry_depth++;
    if (signal == SIGNAL_ESCALATE) task->is_escalated = true;
    return task_return(task);
}

bool task_return(Task *task)
{
    if (task->stage != TASK_DISPATCHED) return false;
    if (!budget_left(task)) task_drop(task, DROP_SPAWN_BUDGET);
    else task->stage = TASK_ACCEPTED;
    return true;
}

OutcomeSignal task_signal_next(const Task *task)
{
    bool is_last_try = task->retry_depth + 1 >= task->terms.retry_depth_max;
    return is_last_try || budget_left(task) == 1 ? SIGNAL_ESCALATE : SIGNAL_RETRY;
}
