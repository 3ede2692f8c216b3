/* effect_room.c - runs with something to begin that found no room: who is looked at next when there is some. */
#include "base/limits.h"
#include "core/retry.h"
#include "engine/effect_parts.h"

/* The last try that its budget permits is the more urgent (E-049): by one level, though never critical by that. */
static uint8_t urgency(const Plan *plan, const Run *run, uint32_t step, uint8_t level)
{
    if (!run->steps[step].retry || level >= PRIORITY_HIGH) return level;
    Task task = retry_task(plan, run, step, TASK_ACCEPTED);
    uint32_t count = cooperative_count(task.terms.intent, /* pressure= */ 0, task.retry_depth, task.terms.cooperative_max);
    return task_is_last(&task, count) ? (uint8_t)(level + 1) : level;
}

/* F-021: that of its most urgent step that may begin; of what undoes steps the run's own. */
static uint8_t wait_level(const Plan *plan, const Run *run)
{
    for (int level = PRIORITY_COUNT - 1; level >= 0; level--)
        if (run->ready[level].count) return urgency(plan, run, run->ready[level].first, (uint8_t)level);
    return run->priority < PRIORITY_COUNT ? run->priority : PRIORITY_NORMAL;
}

void effect_wait(Engine *engine, Resident *resident)
{
    uint8_t level = wait_level(&resident->plan->plan, &resident->run);
    bool is_nowhere = resident->is_waiting && place_is_nowhere(engine, resident->wait_lane);
    if (resident->is_waiting && level <= resident->wait_level && !is_nowhere) return;
    effect_forget_waiting(engine, resident);                    /* something more urgent has come up */
    /* It was its turn, and somebody else had the room: its tenant has that turn good. */
    RoomTurn *turn = &resident->tenant->turns[resident->woken_lane];
    if (resident->is_woken && turn->owed < resident->tenant->weight) turn->owed++;
    resident->is_woken = false;
    ResidentList *list = &resident->tenant->waiting[engine->place_lane][level];
    resident->is_waiting = true;
    resident->wait_lane = engine->place_lane;
    resident->wait_level = level;
    resident->wait_since = engine->now_ms;
    resident->wait_next = NULL;
    *(list->last ? &list->last->wait_next : &list->first) = resident;
    list->last = resident;
    list->count++;
    resident->tenant->waiting_count++;
    engine->waiting_count++;
    resident_cool(engine, resident);
}

static void stop_waiting(Engine *engine, Tenant *tenant, ResidentList *list, uint32_t lane)
{
    Resident *resident = list->first;
    list->first = resident->wait_next;
    if (!list->first) list->last = NULL;
    list->count--;
    meter_left(engine, METER_ROOM, resident->wait_since);
    resident->is_waiting = false;
    resident->is_woken = true;
    resident->woken_lane = lane;
    tenant->waiting_count--;
    engine->waiting_count--;
    queue_work(engine, resident);
}

static void better_list(Engine *engine, ResidentList *lists, ResidentList **best, int *best_level)
{
    for (int level = PRIORITY_COUNT - 1; level >= 0; level--) {
        ResidentList *list = &lists[level];
        if (!list->first) continue;
        bool is_old = engine->now_ms - list->first->wait_since >= PRIORITY_AGE_MS;
        int counted = is_old && level < PRIORITY_HIGH ? level + 1 : level;
        bool is_older = *best && counted == *best_level && list->first->wait_since < (*best)->first->wait_since;
        if (counted > *best_level || is_older) {
            *best = list;
            *best_level = counted;
        }
    }
}

/* The list whose first run goes first, of those of the lane and of the groups that its executor is in: the highest level, where one that has
 * waited long counts as one level higher, though never as critical. */
static ResidentList *first_list(Engine *engine, Tenant *tenant, uint32_t lane)
{
    ResidentList *best = NULL;
    int best_level = -1;
    uint32_t slot = engine->lane_slots[lane];
    better_list(engine, tenant->waiting[lane], &best, &best_level);
    for (uint32_t i = 0; i < engine->group_count && slot < 64; i++)
        if (engine->groups[i] >> slot & 1) better_list(engine, tenant->waiting[engine->lane_count + i], &best, &best_level);
    return best;
}

/* Tenants in turn, at each lane from call to call: each that waits gets as many of its runs looked at as it weighs, then the next. A
 * turn that came to nothing is had good once. So between two turns of a tenant that waits lie at most twice the weights of the
 * others that wait, and no turn is spent on one that does not. */
static void lane_room(Engine *engine, uint32_t lane, uint32_t count)
{
    Tenant **next = &engine->room_tenants[lane];
    if (!*next) *next = engine->tenant;
    for (uint32_t idle = 0; engine->waiting_count && count && idle < engine->tenant_count;) {
        Tenant *tenant = *next;
        RoomTurn *turn = &tenant->turns[lane];
        ResidentList *list = tenant->waiting_count ? first_list(engine, tenant, lane) : NULL;
        if (!list) {
            idle++;
            turn->left = 0;
            *next = tenant->next;
            continue;
        }
        idle = 0;
        count--;
        if (!turn->left) {
            turn->left = tenant->weight + turn->owed;
            turn->owed = 0;
        }
        if (--turn->left == 0) *next = tenant->next;
        stop_waiting(engine, tenant, list, lane);
    }
}

/* Room that is for one tenant alone takes nobody's turn. */
static void lane_room_of(Engine *engine, Tenant *tenant, uint32_t lane, uint32_t count)
{
    for (ResidentList *list; count && tenant->waiting_count && (list = first_list(engine, tenant, lane)); count--) {
        Resident *resident = list->first;
        stop_waiting(engine, tenant, list, lane);
        resident->is_woken = false;
    }
}

void effect_room(Engine *engine, const Executor *executor, uint32_t count)
{
    for (uint32_t i = 0; i < executor->lane_count && engine->waiting_count; i++) lane_room(engine, executor->lane_first + i, count);
}

/* What held a run back was its tenant's own: the first of those that wait, at each lane, is looked at again. */
void effect_room_of(Engine *engine, Tenant *tenant)
{
    for (uint32_t lane = 0; tenant->waiting_count && lane < engine->lane_count; lane++) lane_room_of(engine, tenant, lane, 1);
}

/* As whoever asks for work says it: for whom, in which lanes, and for how many in each. */
void effect_take_room(Engine *engine, const Executor *executor, const Notice *notice)
{
    uint32_t count = notice->number ? (uint32_t)notice->number : UINT32_MAX;
    for (uint32_t i = 0; i < executor->lane_count && engine->waiting_count; i++) {
        if (notice->lanes && !(notice->lanes >> i & 1)) continue;
        if (notice->tenant.len) lane_room_of(engine, tenant_of(engine, notice->tenant), executor->lane_first + i, count);
        else lane_room(engine, executor->lane_first + i, count);
    }
}

/* Who waits at an executor that has nothing to report is woken by no report: what kept it back was the queue. */
void effect_stir(Engine *engine)
{
    for (uint32_t i = 0; engine->waiting_count && !engine->mail_count && i < engine->options.executor_count; i++)
        if (!engine->options.executors[i]->under_way) effect_room(engine, engine->options.executors[i], 1);
}

void effect_forget_waiting(Engine *engine, Resident *resident)
{
    if (!resident->is_waiting) return;
    ResidentList *list = &resident->tenant->waiting[resident->wait_lane][resident->wait_level];
    Resident **place = &list->first, *before = NULL;
    while (*place != resident) {
        before = *place;
        place = &before->wait_next;
    }
    *place = resident->wait_next;
    if (list->last == resident) list->last = before;
    list->count--;
    resident->is_waiting = false;
    resident->tenant->waiting_count--;
    engine->waiting_count--;
}

void effect_room_behind(Engine *engine, Executor *executor)
{
    /* Of pulled work, who asks for more says that there is room; the end of one that others had no place beside does, too. */
    bool was_full = executor->capacity && executor->under_way + executor->inherited + executor->reserved + 1 >= executor->capacity;
    if (!executor->ops->has_room || was_full) effect_room(engine, executor, 1);
    /* With a ceiling a tenant may wait at one executor for what it has at another. */
    for (uint32_t i = 0; engine->options.tenant_running_max && i < engine->options.executor_count; i++)
        effect_room(engine, engine->options.executors[i], 1);
}
