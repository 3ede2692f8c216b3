/* resident.c - the runs that are in memory, and the payloads kept at hand beside them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

static uint64_t id_hash(const Id *id)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < ID_SIZE; i++) hash = (hash ^ (uint8_t)id->text[i]) * 0x100000001b3u;
    return hash ? hash : 1;
}

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
    engine->run_count++;
    return resident;
}

void resident_bind(Engine *engine, Resident *resident, PlanEntry *plan, Str tenant)
{
    resident->plan = plan;
    plan->user_count++;
    resident->tenant = tenant_of(engine, tenant);
    resident->tenant->user_count++;
    run_init(&resident->run, &plan->plan, &resident->id, resident->run_no);
    uint32_t count = plan->plan.step_count;
    resident->since_base = engine->now_ms;
    resident->since = count <= RESIDENT_FEW_COUNT ? resident->since_few : calloc(count, sizeof *resident->since);
    CHECK(resident->since);
    if (!plan->plan.loop_count) return;
    resident->step_numbers = calloc(plan->plan.step_count, sizeof *resident->step_numbers);
    CHECK(resident->step_numbers);
}

/* Rows of batches that are still on their way borrow texts of the plan that it had. By the next time these are durable. */
void resident_revised(Resident *resident, PlanEntry *before)
{
    if (resident->earlier) resident->earlier->user_count--;
    resident->earlier = before;
    resident->plan->user_count++;
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

static void hot_clear(Resident *resident)
{
    free(resident->params.ptr);
    resident->params = (HotText){ 0 };
    if (resident->outputs)
        for (uint32_t i = 0; i < run_value_count(&resident->run); i++) free(resident->outputs[i].ptr);
    free(resident->outputs);
    resident->outputs = NULL;
    resident->hot_size = 0;
}

void resident_remove(Engine *engine, Resident *resident)
{
    CHECK(!resident->is_working && !resident->is_waiting && !resident->inbox.count);
    run_index_remove(&engine->runs, resident->run_no);
    if (resident_of_id(engine, &resident->id) == resident) run_index_remove(&engine->ids, id_hash(&resident->id));
    unlink_age(engine, resident);
    if (resident->plan) {
        inherit_leave(resident);
        hot_clear(resident);
        run_deinit(&resident->run);
        resident->plan->user_count--;
        if (resident->earlier) resident->earlier->user_count--;
        resident->tenant->user_count--;
    }
    loader_free(resident->loader);
    key_question_free(resident->key_question);
    resident_keep_tracestate(resident, (Str){ 0 });
    if (resident->since != resident->since_few) free(resident->since);
    free(resident->step_numbers);
    free(resident);
    engine->run_count--;
}

/* --- payloads at hand ------------------------------------------------------------------------------------------------ */

static HotText *hot_of(Resident *resident, uint32_t which)
{
    if (which == MISSING_PARAMS) return &resident->params;
    if (!resident->outputs) {
        resident->outputs = calloc(run_value_count(&resident->run), sizeof *resident->outputs);
        CHECK(resident->outputs);
    }
    return &resident->outputs[which];
}

void resident_keep(Resident *resident, uint32_t which, Str text)
{
    if (resident->hot_size + text.len > ENGINE_HOT_SIZE_MAX && which != MISSING_PARAMS) {
        HotText params = resident->params;
        resident->params = (HotText){ 0 };
        hot_clear(resident);                    /* a cache: what is needed again is fetched again */
        resident->params = params;
        resident->hot_size = params.size;
    }
    HotText *hot = hot_of(resident, which);
    resident->hot_size -= hot->size;
    free(hot->ptr);
    *hot = (HotText){ .size = (uint32_t)text.len, .is_here = true };
    if (text.len) {
        hot->ptr = malloc(text.len);
        CHECK(hot->ptr);
        memcpy(hot->ptr, text.ptr, text.len);
    }
    resident->hot_size += text.len;
}

void resident_forget(Resident *resident, uint32_t which)
{
    if (!resident->outputs || which >= run_value_count(&resident->run)) return;
    HotText *hot = &resident->outputs[which];
    resident->hot_size -= hot->size;
    free(hot->ptr);
    *hot = (HotText){ 0 };
}

bool resident_text(const Resident *resident, uint32_t which, Str *out)
{
    const HotText *hot = which == MISSING_PARAMS ? &resident->params
                         : resident->outputs     ? &resident->outputs[which]
                                                 : NULL;
    if (!hot || !hot->is_here) return false;
    *out = (Str){ hot->ptr, hot->size };
    return true;
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
