/* resident.c - the runs that are in memory, and the payloads kept at hand beside them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/internal.h"

static uint64_t id_hash(const Id *id) { return hash_key(hash_text(HASH_SEED, (Str){ id->text, ID_SIZE })); }

Resident *resident_find(Engine *engine, uint64_t run_no)
{
    return run_index_find(&engine->runs, run_no);
}

/* Two ids with one hash are possible: the other one is then found by way of the store. */
Resident *resident_of_id(Engine *engine, const Id *id)
{
    Resident *resident = run_index_find(&engine->ids, id_hash(id));
    return resident && memcmp(resident->id.text, id->text, ID_SIZE) == 0 ? resident : NULL;
}

static void unlink_age(Engine *engine, Resident *resident)
{
    *(resident->older ? &resident->older->newer : &engine->oldest) = resident->newer;
    *(resident->newer ? &resident->newer->older : &engine->newest) = resident->older;
    resident->older = resident->newer = NULL;
}

static void link_newest(Engine *engine, Resident *resident)
{
    resident->older = engine->newest;
    *(engine->newest ? &engine->newest->newer : &engine->oldest) = resident;
    engine->newest = resident;
}

Resident *resident_add(Engine *engine, uint64_t run_no, const Id *id)
{
    CHECK(!resident_find(engine, run_no));
    Resident *resident = calloc(1, sizeof *resident);
    CHECK(resident);
    resident->run_no = run_no;
    resident->serial = ++engine->next_serial;
    resident->id = *id;
    resident->fetching = STEP_NONE;
    run_index_put(&engine->runs, run_no, resident);
    run_index_put(&engine->ids, id_hash(id), resident);
    link_newest(engine, resident);
    resident->state_size = sizeof *resident;
    engine->state_size += sizeof *resident;
    engine->run_count++;
    return resident;
}

void resident_bind(Engine *engine, Resident *resident, PlanEntry *plan, Str tenant)
{
    resident->plan = plan;
    plan_hold(plan);
    resident->tenant = tenant_of(engine, tenant);
    resident->tenant->user_count++;
    run_init(&resident->run, &plan->plan, &resident->id, resident->run_no);
    uint32_t count = plan->plan.step_count;
    size_t size = count * (sizeof(StepRun) + sizeof *resident->since) + plan->plan.job_count * sizeof(JobRun);
    resident->state_size += size;
    engine->state_size += size;
    resident->since_base = engine->now_ms;
    resident->since = count <= RESIDENT_FEW_COUNT ? resident->since_few : calloc(count, sizeof *resident->since);
    CHECK(resident->since);
    if (!plan->plan.loop_count) return;
    resident->step_numbers = calloc(plan->plan.step_count, sizeof *resident->step_numbers);
    CHECK(resident->step_numbers);
}

/* Rows of batches that are still on their way borrow texts of the plan that it had. By the next time these are durable. */
void resident_revised(Engine *engine, Resident *resident, PlanEntry *before)
{
    if (resident->earlier) plan_release(engine, resident->earlier);
    resident->earlier = before;
    plan_hold(resident->plan);
}

void resident_touch(Engine *engine, Resident *resident)
{
    if (engine->newest == resident) return;
    unlink_age(engine, resident);
    link_newest(engine, resident);
}

void resident_keep_tracestate(Resident *resident, Str text)
{
    free((char *)(uintptr_t)resident->tracestate.ptr);
    resident->tracestate = (Str){ 0 };
    if (!text.len) return;
    char *copy = malloc(text.len);
    CHECK(copy);
    memcpy(copy, text.ptr, text.len);
    resident->tracestate = (Str){ copy, text.len };
}

static void hot_clear(Engine *engine, Resident *resident);

void resident_remove(Engine *engine, Resident *resident)
{
    CHECK(!resident->is_working && !resident->is_waiting && !resident->inbox.count);
    run_index_remove(&engine->runs, resident->run_no);
    if (resident_of_id(engine, &resident->id) == resident) run_index_remove(&engine->ids, id_hash(&resident->id));
    unlink_age(engine, resident);
    if (resident->plan) {
        inherit_leave(resident);
        hot_clear(engine, resident);
        free(resident->outputs);
        run_deinit(&resident->run);
        plan_release(engine, resident->plan);
        if (resident->earlier) plan_release(engine, resident->earlier);
        resident->tenant->user_count--;
    }
    load_unqueue(engine, resident);
    loader_free(resident->loader);
    key_question_free(resident->key_question);
    resident_keep_tracestate(resident, (Str){ 0 });
    if (resident->since != resident->since_few) free(resident->since);
    free(resident->step_numbers);
    engine->state_size -= resident->state_size;
    free(resident);
    engine->run_count--;
}

/* --- payloads at hand ------------------------------------------------------------------------------------------------ */

/* Its size stays known: whoever reads it again knows what it takes. */
static void hot_drop(Engine *engine, Resident *resident, HotText *hot)
{
    if (!hot->is_here) return;
    resident->hot_size -= hot->size;
    engine->hot_size -= hot->size;
    free(hot->ptr);
    hot->ptr = NULL;
    hot->is_here = false;
}

static void hot_clear(Engine *engine, Resident *resident)
{
    hot_drop(engine, resident, &resident->params);
    for (uint32_t i = 0; resident->outputs && i < run_value_count(&resident->run); i++) hot_drop(engine, resident, &resident->outputs[i]);
    resident->hot_limit = 0;
}

static HotText *hot_of(Resident *resident, uint32_t which)
{
    if (which == MISSING_PARAMS) return &resident->params;
    if (!resident->outputs) {
        resident->outputs = calloc(run_value_count(&resident->run), sizeof *resident->outputs);
        CHECK(resident->outputs);
    }
    return &resident->outputs[which];
}

static size_t outputs_size(const Resident *resident)
{
    return resident->hot_size - (resident->params.is_here ? resident->params.size : 0);
}

/* Outputs that nobody has asked for since the last time leave. One that a decision has found stays while it fetches the next one that
 * it misses: were all of them to leave, a decision that needs more than fits would fetch them in turns for ever. */
static void hot_sweep(Engine *engine, Resident *resident)
{
    for (uint32_t i = 0; resident->outputs && i < run_value_count(&resident->run); i++)
        if (resident->outputs[i].used != resident->hot_round) hot_drop(engine, resident, &resident->outputs[i]);
    resident->hot_round++;
    size_t left = outputs_size(resident);               /* looked through again once it has doubled, so that this costs little */
    resident->hot_limit = left > ENGINE_HOT_SIZE_MAX / 2 ? 2 * left : ENGINE_HOT_SIZE_MAX;
}

void resident_keep(Engine *engine, Resident *resident, uint32_t which, Str text)
{
    size_t limit = resident->hot_limit ? resident->hot_limit : ENGINE_HOT_SIZE_MAX;
    if (which != MISSING_PARAMS && outputs_size(resident) + text.len > limit) hot_sweep(engine, resident);
    HotText *hot = hot_of(resident, which);
    hot_drop(engine, resident, hot);
    *hot = (HotText){ .size = (uint32_t)text.len, .used = resident->hot_round, .is_here = true };
    if (text.len) {
        hot->ptr = malloc(text.len);
        CHECK(hot->ptr);
        memcpy(hot->ptr, text.ptr, text.len);
    }
    resident->hot_size += text.len;
    engine->hot_size += text.len;
}

void resident_forget(Engine *engine, Resident *resident, uint32_t which)
{
    if (!resident->outputs || which >= run_value_count(&resident->run)) return;
    hot_drop(engine, resident, &resident->outputs[which]);
}

bool resident_text(Resident *resident, uint32_t which, Str *out)
{
    HotText *hot = which == MISSING_PARAMS ? &resident->params : resident->outputs ? &resident->outputs[which] : NULL;
    if (!hot || !hot->is_here) return false;
    hot->used = resident->hot_round;
    *out = (Str){ hot->ptr, hot->size };
    return true;
}

uint32_t resident_text_size(const Resident *resident, uint32_t which)
{
    const HotText *hot = which == MISSING_PARAMS ? &resident->params : resident->outputs ? &resident->outputs[which] : NULL;
    return hot ? hot->size : 0;
}

bool hot_is_full(const Engine *engine)
{
    return engine->hot_size > engine->options.size_max / ENGINE_HOT_SHARE;
}

/* What is about to be handed over needs them at once. */
static bool has_unhanded(Engine *engine, const Resident *resident)
{
    const OutEntry *entry = run_index_find(&engine->outs, resident->run_no);
    while (entry && (entry->is_handed || entry->is_reported)) entry = entry->next;
    return entry != NULL;
}

void resident_cool(Engine *engine, Resident *resident)
{
    if (!hot_is_full(engine) || resident->hot_size <= ENGINE_HOT_SIZE_MIN) return;
    if (resident->is_working || resident->inbox.count || resident->fetching != STEP_NONE || has_unhanded(engine, resident)) return;
    hot_clear(engine, resident);
}

void residents_deinit(Engine *engine)
{
    while (engine->oldest) {
        Resident *resident = engine->oldest;
        resident->is_working = resident->is_waiting = false;
        for (Mail *mail; (mail = mail_list_take(&resident->inbox));) mail_free(mail);
        resident_remove(engine, resident);
    }
    run_index_deinit(&engine->runs);
    run_index_deinit(&engine->ids);
}
