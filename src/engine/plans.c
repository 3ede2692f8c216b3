/* plans.c - the plans that runs in memory are pinned to, read once each. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/json.h"
#include "value/schema.h"

static PlanEntry **slot_of(Engine *engine, const Digest *digest)
{
    return &engine->plans.slots[digest->bytes[0] % PLAN_SLOT_COUNT];
}

void engine_plan_free(EnginePlan *entry)
{
    if (!entry) return;
    condition_set_free(entry->conditions);
    run_index_deinit(&entry->schemas);
    arena_deinit(&entry->arena);
    free((char *)entry->text.ptr);
    free(entry);
}

PlanEntry *plan_cache_find(Engine *engine, const Digest *digest)
{
    for (PlanEntry *entry = *slot_of(engine, digest); entry; entry = entry->next)
        if (memcmp(&entry->digest, digest, sizeof *digest) == 0) {
            entry->used = engine->turn;
            return entry;
        }
    return NULL;
}

PlanEntry *mail_plan(Engine *engine, Mail *mail)
{
    if (!mail->entry) {
        mail->entry = plan_cache_find(engine, &mail->plan);
        if (mail->entry) plan_hold(mail->entry);
    }
    return mail->entry;
}

/* What its arena holds grows with the schemas that are compiled. */
static void weigh(Engine *engine, PlanEntry *entry)
{
    size_t size = sizeof *entry + entry->arena.size + entry->text.len;
    engine->plans.size += size - entry->size;
    entry->size = size;
}

static bool is_over(const Engine *engine)
{
    return engine->plans.count > ENGINE_PLAN_COUNT_MAX || engine->plans.size > ENGINE_PLAN_SIZE_MAX;
}

static bool is_free(const PlanEntry *entry) { return !entry->user_count && !entry->is_expected; }

/* What was found in this turn or the last one may be about to be used. */
static bool may_leave(const Engine *engine, const PlanEntry *entry)
{
    return is_free(entry) && entry->used + 1 < engine->turn && batch_is_durable(engine, entry->seq);
}

static void leave(Engine *engine, PlanEntry **place)
{
    PlanEntry *gone = *place;
    *place = gone->next;
    engine->plans.size -= gone->size;
    engine->plans.count--;
    engine_plan_free(gone);
}

/* Those that the store does not have, and nobody will ask for. */
static void drop_loose(Engine *engine)
{
    engine->plans.has_loose = false;
    for (uint32_t i = 0; i < PLAN_SLOT_COUNT; i++)
        for (PlanEntry **place = &engine->plans.slots[i]; *place;) {
            bool is_loose = !(*place)->is_stored && is_free(*place);
            if (is_loose && may_leave(engine, *place)) {
                leave(engine, place);
                continue;
            }
            engine->plans.has_loose = engine->plans.has_loose || is_loose;
            place = &(*place)->next;
        }
}

/* The plan that nobody uses and that was used longest ago; NULL: there is none. *out_later: some may leave in a later turn. */
static PlanEntry **find_oldest(Engine *engine, bool *out_later)
{
    PlanEntry **oldest = NULL;
    for (uint32_t i = 0; i < PLAN_SLOT_COUNT; i++)
        for (PlanEntry **place = &engine->plans.slots[i]; *place; place = &(*place)->next) {
            if (!may_leave(engine, *place)) *out_later = *out_later || !(*place)->user_count;
            else if (!oldest || (*place)->used < (*oldest)->used) oldest = place;
        }
    return oldest;
}

/* Between turns, when nobody has one at hand without holding it. Where all are in use the cache grows. */
void plan_cache_trim(Engine *engine)
{
    bool is_later = false;
    if (engine->plans.has_loose) drop_loose(engine);
    if (!engine->plans.is_due || !is_over(engine)) return;
    for (uint32_t i = 0; is_over(engine); i++) {
        PlanEntry **oldest = find_oldest(engine, &is_later);
        if (!oldest || i == ENGINE_PLAN_LEAVE_COUNT) {
            is_later = is_later || oldest;
            break;
        }
        leave(engine, oldest);
    }
    engine->plans.is_due = is_later;
}

void plan_hold(PlanEntry *entry) { entry->user_count++; }

static void notice_free(PlanEntry *entry)
{
    entry->cache->is_due = true;
    if (!entry->is_stored && is_free(entry)) entry->cache->has_loose = true;
}

void plan_let_go(PlanEntry *entry)
{
    entry->user_count--;
    notice_free(entry);
}

void plan_release(Engine *engine, PlanEntry *entry)
{
    entry->used = engine->turn;
    entry->seq = engine->next_seq;                          /* its rows may borrow texts of it */
    weigh(engine, entry);
    plan_let_go(entry);
}

void plan_discarded(PlanEntry *entry)
{
    entry->is_stored = false;
    notice_free(entry);
}

Str offer_gate(Arena *arena, Str runner, const Executor *executor, bool is_choice)
{
    return is_choice ? arena_format(arena, "%.*s@%.*s", STR_ARG(runner), STR_ARG(executor->name)) : runner;
}

static uint32_t offer_lane(Str runner, Executor *executor)
{
    uint32_t own = executor->ops->lane ? executor->ops->lane(executor, runner) : 0;
    CHECK(own < executor->lane_count);
    return executor->lane_first + own;
}

/* Everybody who offers that runner. */
static OfferList list_offers(Engine *engine, PlanEntry *entry, Str runner)
{
    RunnerOffer *items = NULL, offer;
    size_t capacity = 0;
    uint32_t count = 0;
    for (; engine->options.runner(engine->options.context, entry->plan.tenant, runner, count, &offer); count++) {
        if (!offer.executor) break;
        items = arena_grow(&entry->arena, items, sizeof *items, count, &capacity);
        items[count] = offer;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i].gate = offer_gate(&entry->arena, runner, items[i].executor, count > 1);
        items[i].lane = offer_lane(runner, items[i].executor);
    }
    bool is_choice = count > 1 || (count && items[0].executor->site && items[0].executor->site->tenants.kind == VALUE_ARRAY);
    return (OfferList){ .items = items, .count = count, .is_choice = is_choice };
}

/* What undoes a step looks for where that was done, and whoever of a job has a choice for where the others went. Elsewhere nobody asks:
 * most runs have no choice at all, and remember nothing. */
static void find_homes(PlanEntry *entry)
{
    const Plan *plan = &entry->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) entry->offers[i].is_home = entry->undo_offers[i].is_choice;
    for (uint32_t j = 0; j < plan->job_count; j++) {
        OfferList *offers = &entry->offers[plan->jobs[j].step_first];
        bool has_choice = false;
        for (uint32_t s = 0; s < plan->jobs[j].step_count; s++) has_choice = has_choice || offers[s].is_choice;
        for (uint32_t s = 0; has_choice && s < plan->jobs[j].step_count; s++) offers[s].is_home = true;
    }
}

static void find_offers(Engine *engine, PlanEntry *entry)
{
    const Plan *plan = &entry->plan;
    entry->offers = ARENA_ARRAY(&entry->arena, OfferList, plan->step_count ? plan->step_count : 1);
    entry->undo_offers = ARENA_ARRAY(&entry->arena, OfferList, plan->step_count ? plan->step_count : 1);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        Str runner = plan->steps[i].runner, undo = plan->terms->steps[i].undo.runner;
        if (undo.len) entry->undo_offers[i] = list_offers(engine, entry, undo);
        if (!runner.len) continue;
        /* Neighbours often name the same runner. */
        if (i && str_is(runner, plan->steps[i - 1].runner)) entry->offers[i] = entry->offers[i - 1];
        else entry->offers[i] = list_offers(engine, entry, runner);
    }
    find_homes(entry);
}

static bool is_unknown(const OfferList *offers) { return offers->count && offers->items[0].is_unknown; }

Status plan_check_offers(const PlanEntry *entry, Error *err)
{
    const Plan *plan = &entry->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!is_unknown(&entry->offers[i]) && !is_unknown(&entry->undo_offers[i])) continue;
        bool is_step = is_unknown(&entry->offers[i]);
        Str runner = is_step ? plan->steps[i].runner : plan->terms->steps[i].undo.runner;
        Str help = (is_step ? &entry->offers[i] : &entry->undo_offers[i])->items[0].help;
        return error_set(err, ERR_INVALID, "step %.*s: no executor offers the runner '%.*s'%s%.*s", STR_ARG(plan->steps[i].id),
                         STR_ARG(runner), help.len ? ": " : "", STR_ARG(help));
    }
    return OK;
}

/* All that takes long, and needs no engine. */
static Status entry_read(Str document, const Digest *digest, PlanEntry **out_entry, Error *err)
{
    PlanEntry *entry = calloc(1, sizeof *entry);
    CHECK(entry);
    arena_init(&entry->arena, PLAN_SIZE_MAX);
    entry->document = arena_copy(&entry->arena, document);
    entry->digest = *digest;
    Value value;
    Status status = json_parse(&entry->arena, entry->document, &value, err);
    if (!status) status = plan_read(&entry->arena, value, &entry->plan, err);
    if (!status) status = condition_set_make(&entry->plan, &entry->conditions, err);
    if (status) engine_plan_free(entry);
    else *out_entry = entry;
    return status;
}

Status engine_plan_read(Str document, EnginePlan **out_plan, Error *err)
{
    Digest digest = digest_of(document);
    return entry_read(document, &digest, out_plan, err);
}

const Plan *engine_plan_peek(const EnginePlan *plan, Digest *out_digest)
{
    *out_digest = plan->digest;
    return &plan->plan;
}

static void put(Engine *engine, PlanEntry *entry)
{
    PlanEntry **slot = slot_of(engine, &entry->digest);
    entry->cache = &engine->plans;
    entry->used = engine->turn;
    find_offers(engine, entry);
    entry->next = *slot;
    *slot = entry;
    engine->plans.count++;
    notice_free(entry);
    weigh(engine, entry);
}

PlanEntry *plan_cache_take(Engine *engine, PlanEntry *entry)
{
    PlanEntry *known = plan_cache_find(engine, &entry->digest);
    if (known) engine_plan_free(entry);
    else put(engine, entry);
    return known ? known : entry;
}

Status plan_cache_add(Engine *engine, Str document, PlanEntry **out_entry, Error *err)
{
    Digest digest = digest_of(document);
    PlanEntry *entry = plan_cache_find(engine, &digest);
    Status status = entry ? OK : entry_read(document, &digest, &entry, err);
    if (status) return status;
    if (!entry->cache) put(engine, entry);
    *out_entry = entry;
    return OK;
}

void plan_keep_text(Engine *engine, PlanEntry *entry, Str text)
{
    if (entry->text.len || !text.len) return;
    char *copy = malloc(text.len);
    CHECK(copy);
    entry->text = (Str){ memcpy(copy, text.ptr, text.len), text.len };
    weigh(engine, entry);
}

/* Schemas are compiled when they are first needed, and kept with the plan; they are told apart by where they lie in it. */
Status plan_schema_check(PlanEntry *entry, Value schema, Value instance, Arena *scratch, Error *err)
{
    uint64_t place = schema.kind == VALUE_OBJECT && schema.count ? (uint64_t)(uintptr_t)schema.members : 1;
    const Schema *compiled = run_index_find(&entry->schemas, place);
    if (!compiled) {
        Status status = schema_compile(&entry->arena, schema, &compiled, NULL, err);
        if (status) return status;
        run_index_put(&entry->schemas, place, (void *)compiled);
    }
    return schema_require(compiled, instance, scratch, err);
}

void plan_cache_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < PLAN_SLOT_COUNT; i++)
        while (engine->plans.slots[i]) {
            PlanEntry *entry = engine->plans.slots[i];
            engine->plans.slots[i] = entry->next;
            engine_plan_free(entry);
        }
}
