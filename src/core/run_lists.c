#include "core/run_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* --- linked lists of steps ------------------------------------------------------------------------------------------ */

static void list_add(StepRun *steps, StepList *list, uint32_t step)
{
    steps[step].next = STEP_NONE;
    if (list->count++ == 0) list->first = step;
    else steps[list->last].next = step;
    list->last = step;
}

static void list_leave(StepRun *steps, StepList *list, uint32_t step)
{
    uint32_t before = STEP_NONE, at = list->first;
    for (; at != step; at = steps[at].next) {
        CHECK(at != STEP_NONE);
        before = at;
    }
    if (before == STEP_NONE) list->first = steps[step].next;
    else steps[before].next = steps[step].next;
    if (list->last == step) list->last = before;
    list->count--;
}

void reached_add(Run *run, uint32_t step)
{
    run->steps[step].flags |= STEP_IN_REACHED;
    list_add(run->steps, &run->reached, step);
}

void ready_add(Run *run, const Plan *plan, uint32_t step, uint32_t since_s)
{
    run->steps[step].flags |= STEP_IN_READY;
    run->steps[step].need_left = since_s;
    run->paused_ready_count += run_holds_job(run, plan, step);
    list_add(run->steps, &run->ready[plan->steps[step].priority], step);
}

static void drop(Run *run, StepList *list, uint16_t flag)
{
    for (uint32_t at = list->first; at != STEP_NONE; at = run->steps[at].next) {
        run->steps[at].flags &= (uint16_t)~flag;
        if (flag == STEP_IN_READY) run->steps[at].need_left = 0;
    }
    *list = (StepList){ STEP_NONE, STEP_NONE, 0 };
}

void lists_drop(Run *run)
{
    run->paused_ready_count = 0;
    drop(run, &run->reached, STEP_IN_REACHED);
    for (int p = 0; p < PRIORITY_COUNT; p++) drop(run, &run->ready[p], STEP_IN_READY);
}

/* --- active --------------------------------------------------------------------------------------------------------- */

void *run_grow(void *items, size_t item_size, uint32_t count, uint32_t *capacity)
{
    if (count < *capacity) return items;
    uint32_t wanted = *capacity ? *capacity * 2 : 8;
    void *grown = realloc(items, wanted * item_size);
    CHECK(grown != NULL);           /* a machine out of memory stops the process; the ledger makes that safe */
    *capacity = wanted;
    return grown;
}

ActiveStep *active_add(Run *run, uint32_t step)
{
    run->active = run_grow(run->active, sizeof *run->active, run->active_count, &run->active_capacity);
    run->steps[step].flags |= STEP_IN_ACTIVE;
    run->steps[step].next = run->active_count;
    ActiveStep *active = &run->active[run->active_count++];
    *active = (ActiveStep){ .step = step };
    return active;
}

ActiveStep *active_of(Run *run, uint32_t step)
{
    CHECK(run->steps[step].flags & STEP_IN_ACTIVE);
    return &run->active[run->steps[step].next];
}

static void active_leave(Run *run, uint32_t step)
{
    uint32_t slot = run->steps[step].next;
    CHECK(slot < run->active_count && run->active[slot].step == step);
    if (run->active[slot].signal) run->satisfied_count--;
    run->active[slot] = run->active[--run->active_count];
    if (slot < run->active_count) run->steps[run->active[slot].step].next = slot;
}

void lists_leave(Run *run, const Plan *plan, uint32_t step)
{
    uint16_t flags = run->steps[step].flags;
    if (flags & STEP_IN_ACTIVE) active_leave(run, step);
    else if (flags & STEP_IN_READY) list_leave(run->steps, &run->ready[plan->steps[step].priority], step);
    else if (flags & STEP_IN_REACHED) list_leave(run->steps, &run->reached, step);
    if (flags & STEP_IN_READY) {
        run->steps[step].need_left = 0;
        run->paused_ready_count -= run_holds_job(run, plan, step);
    }
    run->steps[step].flags &= (uint16_t)~(STEP_IN_ACTIVE | STEP_IN_READY | STEP_IN_REACHED);
}

/* --- jobs ----------------------------------------------------------------------------------------------------------- */

void moved_add(Run *run, uint32_t job)
{
    run->jobs[job].flags |= JOB_IN_MOVED;
    run->jobs[job].next = STEP_NONE;
    if (run->moved.count++ == 0) run->moved.first = job;
    else run->jobs[run->moved.last].next = job;
    run->moved.last = job;
}

void moved_leave(Run *run, uint32_t job)
{
    uint32_t before = STEP_NONE, at = run->moved.first;
    for (; at != job; at = run->jobs[at].next) {
        CHECK(at != STEP_NONE);
        before = at;
    }
    if (before == STEP_NONE) run->moved.first = run->jobs[job].next;
    else run->jobs[before].next = run->jobs[job].next;
    if (run->moved.last == job) run->moved.last = before;
    run->moved.count--;
    run->jobs[job].flags &= (uint8_t)~JOB_IN_MOVED;
}

Str run_copy(Str text)
{
    if (text.len == 0) return (Str){ 0 };
    char *copy = malloc(text.len);
    CHECK(copy != NULL);
    memcpy(copy, text.ptr, text.len);
    return (Str){ copy, text.len };
}
