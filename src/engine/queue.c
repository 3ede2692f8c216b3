/* queue.c - whose turn it is: queues per tenant, served by deficit round robin in events.
 *
 * Each tenant in turn may decide QUEUE_QUANTUM events for each of its weight; what it does not use up it keeps while it has work, what it overdraws
 * is taken from its next turn. So a tenant that offers fifty times the capacity waits for itself, not others for it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/internal.h"

static uint64_t name_hash(Str name) { return hash_key(hash_text(HASH_SEED, name)); }

Tenant *tenant_of(Engine *engine, Str name)
{
    uint64_t hash = name_hash(name);
    Tenant *first = run_index_find(&engine->tenants, hash);
    for (Tenant *tenant = first; tenant; tenant = tenant->same)
        if (str_is(tenant->name, name)) return tenant;
    uint32_t list_count = engine->lane_count + PLACEMENT_GROUP_COUNT_MAX;
    Tenant *fresh = calloc(1, sizeof *fresh);
    char *copy = malloc(name.len ? name.len : 1);
    CHECK(fresh && copy);
    memcpy(copy, name.ptr ? name.ptr : "", name.len);
    fresh->name = (Str){ copy, name.len };
    fresh->waiting = calloc(list_count, sizeof *fresh->waiting);
    fresh->turns = calloc(engine->lane_count + 1, sizeof *fresh->turns);
    CHECK(fresh->waiting && fresh->turns);
    fresh->next = engine->tenant ? engine->tenant->next : fresh;
    if (engine->tenant) engine->tenant->next = fresh;
    else engine->tenant = fresh;
    uint32_t weight = engine->options.weight ? engine->options.weight(engine->options.context, name) : 1;
    fresh->weight = weight < 1 ? 1 : weight < TENANT_WEIGHT_MAX ? weight : TENANT_WEIGHT_MAX;
    fresh->hash = hash;
    fresh->same = first;
    run_index_put(&engine->tenants, hash, fresh);
    engine->tenant_count++;
    return fresh;
}

Tenant *tenant_of_run(Engine *engine, uint64_t run_no)
{
    const Resident *resident = resident_find(engine, run_no);
    Tenant *tenant = resident && resident->tenant ? resident->tenant : effect_tenant(engine, run_no);
    return tenant ? tenant : tenant_of(engine, (Str){ 0 });
}

static void tenant_free(Tenant *tenant)
{
    free((char *)tenant->name.ptr);
    free(tenant->waiting);
    free(tenant->turns);
    free(tenant);
}

/* Of whom nothing waits, runs or is in memory: the next who comes by that name is as good. Called where nobody holds one. */
static void forget_idle(Engine *engine)
{
    Tenant *before = engine->tenant;
    for (uint32_t left = engine->tenant_count; left && engine->tenant_count > 1; left--) {
        Tenant *tenant = before->next;
        if (tenant->queue.count || tenant->user_count || tenant->running_count || tenant->envelope) {
            before = tenant;
            continue;
        }
        Tenant *first = run_index_find(&engine->tenants, tenant->hash), **place = &first;
        while (*place != tenant) place = &(*place)->same;
        *place = tenant->same;
        if (first) run_index_put(&engine->tenants, tenant->hash, first);
        else run_index_remove(&engine->tenants, tenant->hash);
        before->next = tenant->next;
        if (engine->last_tenant == tenant) engine->last_tenant = NULL;
        for (uint32_t lane = 0; lane < engine->lane_count; lane++)
            if (engine->room_tenants[lane] == tenant) engine->room_tenants[lane] = NULL;
        engine->tenant_count--;
        tenant_free(tenant);
    }
    engine->tenant = before;
}

void queue_mail(Engine *engine, Tenant *tenant, Mail *mail)
{
    mail->queued_ms = engine->now_ms;
    mail_hold(mail, &engine->mail_size);
    if (!engine->is_turning) {
        mail->fresh_next = engine->fresh;
        engine->fresh = mail;
    }
    mail_list_add(&tenant->queue, mail);
    engine->mail_count++;
}

void queue_stamp(Engine *engine)
{
    for (Mail *mail = engine->fresh; mail; mail = mail->fresh_next) mail->queued_ms = engine->now_ms;
    engine->fresh = NULL;
}

void queue_work(Engine *engine, Resident *resident)
{
    if (resident->is_working) return;
    ResidentList *work = &resident->tenant->work;
    resident->is_working = true;
    resident->work_since = engine->now_ms;
    resident->work_next = NULL;
    *(work->last ? &work->last->work_next : &work->first) = resident;
    work->last = resident;
    work->count++;
}

static Resident *take_work(Tenant *tenant)
{
    Resident *resident = tenant->work.first;
    if (!resident) return NULL;
    tenant->work.first = resident->work_next;
    if (!tenant->work.first) tenant->work.last = NULL;
    tenant->work.count--;
    resident->is_working = false;
    return resident;
}

void queue_forget_work(Resident *resident)
{
    if (!resident->is_working) return;
    ResidentList *work = &resident->tenant->work;
    Resident **place = &work->first, *before = NULL;
    while (*place != resident) {
        before = *place;
        place = &before->work_next;
    }
    *place = resident->work_next;
    if (work->last == resident) work->last = before;
    work->count--;
    resident->is_working = false;
}

/* The store takes no more reads now. */
static void put_back(Engine *engine, Mail *mail)
{
    mail_list_put_back(&engine->tenant->queue, mail);
    engine->mail_count++;
}

/* One command to its run: by number, by id, or by way of the store. */
void queue_route(Engine *engine, Mail *mail)
{
    if (mail->is_start || mail->is_revision) {
        (mail->is_start ? start_mail : revision_mail)(engine, mail);
        return;
    }
    if (mail->is_secret || mail->keep) {
        (mail->is_secret ? secret_mail : keep_mail)(engine, mail);
        return;
    }
    Resident *resident = mail->run_no ? resident_find(engine, mail->run_no) : resident_of_id(engine, &mail->run_id);
    if (resident) {
        decide_mail(engine, resident, mail);
        return;
    }
    QueryAsk ask = mail->run_no
                       ? (QueryAsk){ .query = QUERY_RUN, .params = { cell_int((int64_t)mail->run_no) }, .param_count = 1 }
                       : (QueryAsk){ .query = QUERY_RUN_BY_ID, .params = { cell_text(id_peek(&mail->run_id)) },
                                     .param_count = 1 };
    if (!read_begin(engine, &ask, &(PendingRead){ .kind = READ_RUN_ID, .mail = mail })) put_back(engine, mail);
}

/* Serves one tenant until its share is used up. True where it did anything. */
static bool serve_tenant(Engine *engine, Tenant *tenant)
{
    if (!tenant->queue.count && !tenant->work.count) {
        tenant->deficit = 0;
        return false;
    }
    if (batch_is_full_for(engine, tenant)) return false;
    tenant->deficit += (int64_t)QUEUE_QUANTUM * tenant->weight;
    while (tenant->deficit > 0 && !batch_is_full_for(engine, tenant) && (tenant->queue.count || tenant->work.count)) {
        uint64_t before = engine->weight;
        Resident *resident = take_work(tenant);
        if (resident) {
            meter_left(engine, METER_CONSEQUENCES, resident->work_since);
            decide_more(engine, resident);
        }
        Mail *mail = mail_list_take(&tenant->queue);
        if (mail) {
            engine->mail_count--;
            int64_t queued_ms = mail->queued_ms;
            RequestFate fate = request_look(engine, mail);
            if (fate == REQUEST_IS_NEW) queue_route(engine, mail);
            if (fate == REQUEST_WAITS) put_back(engine, mail);
            else meter_left(engine, METER_COMMANDS, queued_ms);
        }
        if (engine->read_count >= ENGINE_READ_COUNT_MAX) break;
        int64_t spent = (int64_t)(engine->weight - before);
        tenant->deficit -= spent ? spent : 1;
    }
    return true;
}

bool queue_has_more(const Engine *engine)
{
    const Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; i < engine->tenant_count; i++, tenant = tenant->next)
        if ((tenant->queue.count || tenant->work.count) && !batch_is_full_for(engine, tenant)) return true;
    return false;
}

/* What executors and timers say waits until the store takes commits again; who asks for something is not left waiting. */
void queue_refuse(Engine *engine)
{
    Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; engine->mail_count && i < engine->tenant_count; i++, tenant = tenant->next) {
        for (uint32_t left = tenant->queue.count; left; left--) {
            Mail *mail = mail_list_take(&tenant->queue);
            engine->mail_count--;
            if (mail->reply && !mail->revising) batch_reply(engine, NULL, mail, ERR_UNAVAILABLE, &engine->trouble, /* is_noop= */ false);
            else queue_mail(engine, tenant, mail);
        }
    }
}

void queue_serve(Engine *engine)
{
    if (!engine->tenant_count) return;
    if (engine->tenant_count > TENANT_IDLE_COUNT_MAX) forget_idle(engine);
    for (uint32_t idle = 0; idle < engine->tenant_count && !batch_is_full(engine);) {
        bool did = serve_tenant(engine, engine->tenant);
        idle = did && engine->read_count < ENGINE_READ_COUNT_MAX ? 0 : idle + 1;
        engine->tenant = engine->tenant->next;
    }
}

void queues_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->tenant_count; i++) {
        Tenant *tenant = engine->tenant;
        engine->tenant = tenant->next;
        for (Mail *mail; (mail = mail_list_take(&tenant->queue));) mail_free(mail);
        tenant_free(tenant);
    }
    run_index_deinit(&engine->tenants);
    engine->tenant = NULL;
    engine->tenant_count = 0;
}
