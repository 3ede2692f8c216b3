/* start.c - the beginning of a run: its plan, its key, its revision, its first record. */
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

/* Where a start with this key, not durable yet, is found again. */
static uint64_t key_hash(Str tenant, Str definition, Str key, uint32_t generation)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const Str parts[] = { tenant, definition, key };
    for (uint32_t part = 0; part < 3; part++) {
        for (size_t i = 0; i < parts[part].len; i++) hash = (hash ^ (uint8_t)parts[part].ptr[i]) * 0x100000001b3u;
        hash = (hash ^ 0xff) * 0x100000001b3u;
    }
    hash = (hash ^ generation) * 0x100000001b3u;
    return hash ? hash : 1;
}

static void refuse(Engine *engine, Mail *mail, PlanEntry *entry, Status status, const Error *err)
{
    if (entry) entry->user_count--;
    revision_drop(engine, mail);
    engine->stats.refused_count++;
    batch_reply(engine, NULL, mail, status, err, /* is_noop= */ false);
}

/* --- begin --------------------------------------------------------------------------------------------------------------- */

static void store_plan(Engine *engine, PlanEntry *entry)
{
    if (entry->is_stored) return;
    EngineBatch *batch = batch_open(engine);
    entry->is_stored = true;
    entry->seq = batch->seq;
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, table_info(TABLE_PLANS)->column_count);
    cells[PLANS_digest] = cell_blob((Str){ (const char *)entry->digest.bytes, DIGEST_SIZE });
    cells[PLANS_document] = cell_text(arena_copy(&batch->batch.arena, entry->document));
    cells[PLANS_created_ms] = cell_int(engine->now_ms);
    projection_row(batch->projection, TABLE_PLANS, ROW_PUT, table_mask(table_info(TABLE_PLANS)), cells);
    batch->plans = arena_grow(&batch->batch.arena, batch->plans, sizeof *batch->plans, batch->plan_count,
                              &batch->plan_capacity);
    batch->plans[batch->plan_count++] = entry;
}

/* No run begins: the plan becomes a revision, and waits for its activation. */
static void store_only(Engine *engine, Mail *mail, PlanEntry *entry)
{
    uint32_t version;
    Error err = { 0 };
    RevisionFate fate = revision_look(engine, mail, entry, &version, &err);
    if (fate == REVISION_IS_REFUSED) refuse(engine, mail, entry, err.status, &err);
    else entry->user_count--;
    if (fate != REVISION_IS_KNOWN) return;
    store_plan(engine, entry);
    revision_stored(engine, mail, entry, version);
}

static void begin(Engine *engine, Mail *mail, PlanEntry *entry, Str key, uint32_t generation)
{
    uint32_t version;
    Error err = { 0 };
    Tenant *tenant = tenant_of(engine, mail->tenant.len ? mail->tenant : entry->plan.tenant);
    if (plan_check_offers(entry, &err) || envelope_check_start(engine, tenant, entry, &err)) {
        mail->is_over_quota = err.status == ERR_LIMIT;
        refuse(engine, mail, entry, err.status, &err);
        return;
    }
    RevisionFate fate = revision_look(engine, mail, entry, &version, &err);
    if (fate == REVISION_IS_REFUSED) refuse(engine, mail, entry, err.status, &err);
    else if (fate == REVISION_IS_TAKEN) entry->user_count--;
    if (fate != REVISION_IS_KNOWN) return;
    uint8_t chance[ID_SIZE + sizeof(uint64_t)];
    engine->options.random(engine->options.context, chance, sizeof chance);
    Id id = id_make_run((uint64_t)engine->now_ms, chance);
    Resident *resident = resident_add(engine, engine->next_run_no, &id);
    resident_bind(engine, resident, entry, mail->tenant.len ? mail->tenant : entry->plan.tenant);
    entry->user_count--;                                    /* the run holds it now */
    StartRequest request;
    Command command = mail->command;
    command.kind = COMMAND_START;
    Status status = mail_open_start(mail, &engine->arena, &request, &err);
    request.key = key;
    request.key_generation = generation;
    request.revision = version;
    memcpy(&request.seed, chance + ID_SIZE, sizeof request.seed);
    if (!status) status = decide_begin(engine, resident, &request, &command, &err);
    if (status) {
        resident_remove(engine, resident);
        refuse(engine, mail, NULL, status, &err);
        return;
    }
    engine->next_run_no++;
    engine->stats.start_count++;
    store_plan(engine, entry);
    revision_begun(engine, mail, entry, version);
    if (key.len) {
        uint64_t hash = key_hash(resident->run.tenant, resident->run.definition, key, generation);
        run_index_put(&engine->start_keys, hash, resident);
        resident->start_key = hash;
    }
    batch_reply(engine, resident, mail, OK, NULL, /* is_noop= */ false);
}

/* --- the key ------------------------------------------------------------------------------------------------------------- */

static void with_plan(Engine *engine, Mail *mail, PlanEntry *entry)
{
    entry->user_count++;
    entry->is_awaited = false;
    arena_reset(&engine->arena);
    StartRequest request;
    Error err = { 0 };
    Str key = { 0 };
    Status status = mail_open_start(mail, &engine->arena, &request, &err);
    if (!status && mail->tenant.len && !str_is(mail->tenant, entry->plan.tenant))
        status = error_set(&err, ERR_NOT_FOUND, "there is no such plan");       /* a run belongs to whom its plan belongs to */
    if (!status && !mail->is_stored_only) status = decide_start_key(&entry->plan, &request, &engine->arena, &key, &err);
    if (status) {
        refuse(engine, mail, entry, status, &err);
        return;
    }
    if (mail->is_stored_only) {
        store_only(engine, mail, entry);
        return;
    }
    if (!key.len) {
        begin(engine, mail, entry, key, 0);
        return;
    }
    Str tenant = mail->tenant.len ? mail->tenant : entry->plan.tenant;
    QueryAsk ask = { .query = QUERY_RUN_BY_KEY, .param_count = 3,
                     .params = { cell_text(tenant), cell_text(entry->plan.id), cell_text(key) } };
    if (!read_begin(engine, &ask, &(PendingRead){ .kind = READ_KEY, .mail = mail })) {
        entry->user_count--;
        queue_mail(engine, tenant_of(engine, tenant), mail);
    }
}

/* The run that a start with this key has already, or the start itself. A start of the same key that is not durable yet is
 * found in memory; the newest generation counts. */
void start_key_answered(Engine *engine, Mail *mail, const ReadAnswer *answer)
{
    PlanEntry *entry = plan_cache_find(engine, &mail->plan);
    CHECK(entry);                                           /* held since with_plan() */
    arena_reset(&engine->arena);
    StartRequest request;
    Error err = answer->error;
    Str key = { 0 };
    Status status = answer->status;
    if (!status) status = mail_open_start(mail, &engine->arena, &request, &err);
    if (!status) status = decide_start_key(&entry->plan, &request, &engine->arena, &key, &err);
    if (status) {
        refuse(engine, mail, entry, status, &err);
        return;
    }
    Str tenant = mail->tenant.len ? mail->tenant : entry->plan.tenant;
    uint32_t stored = answer->row_count ? (uint32_t)answer->cells[RUNS_key_generation].integer + 1 : 0;
    uint32_t newest = stored;
    while (run_index_find(&engine->start_keys, key_hash(tenant, entry->plan.id, key, newest))) newest++;
    uint32_t wanted = request.is_again ? newest : newest ? newest - 1 : 0;
    if (wanted >= newest) {
        begin(engine, mail, entry, key, newest);
        return;
    }
    entry->user_count--;
    revision_drop(engine, mail);
    if (newest > stored) {
        Resident *fresh = run_index_find(&engine->start_keys, key_hash(tenant, entry->plan.id, key, newest - 1));
        batch_reply(engine, fresh, mail, OK, NULL, /* is_noop= */ true);
        return;
    }
    batch_reply_row(engine, mail, answer->cells);
}

/* --- the plan ------------------------------------------------------------------------------------------------------------ */

void start_mail(Engine *engine, Mail *mail)
{
    PlanEntry *entry = plan_cache_find(engine, &mail->plan);
    if (entry) {
        with_plan(engine, mail, entry);
        return;
    }
    Str digest = { (const char *)mail->plan.bytes, DIGEST_SIZE };
    QueryAsk ask = { .query = QUERY_PLAN, .params = { cell_blob(digest) }, .param_count = 1 };
    if (!read_begin(engine, &ask, &(PendingRead){ .kind = READ_PLAN, .mail = mail }))
        queue_mail(engine, tenant_of(engine, mail->tenant), mail);
}

void start_plan_answered(Engine *engine, Mail *mail, const ReadAnswer *answer)
{
    Error err = answer->error;
    PlanEntry *entry = NULL;
    Status status = answer->status;
    if (!status && !answer->row_count) status = error_set(&err, ERR_NOT_FOUND, "there is no such plan");
    if (!status) status = plan_cache_add(engine, answer->cells[PLANS_document].text, &entry, &err);
    if (status) {
        refuse(engine, mail, NULL, status, &err);
        return;
    }
    entry->is_stored = true;
    with_plan(engine, mail, entry);
}
