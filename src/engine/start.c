/* start.c - the beginning of a run: its plan, its key, its revision, its first record.
 *
 * The same key is the same run: a start whose key is taken is answered with the run that has it. Whoever gives other parameters means
 * another run, and is refused with what differs. Parameters that are not given now and have a default count as given with it, unless
 * the plan is another one than then: then they are what the run has. Where the parameters of then were erased or archived, the key
 * alone counts. What a start without a key, or with one that nobody has, costs is nothing of this.
 */
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "engine/internal.h"
#include "ledger/record.h"
#include "value/json.h"

/* Where a start with this key, not durable yet, is found again. */
static uint64_t key_hash(Str tenant, Str definition, Str key, uint32_t generation)
{
    return hash_key(hash_number(hash_part(hash_part(hash_part(HASH_SEED, tenant), definition), key), generation));
}

static void refuse(Engine *engine, Mail *mail, Status status, const Error *err)
{
    revision_drop(engine, mail);
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
    if (fate == REVISION_IS_REFUSED) refuse(engine, mail, err.status, &err);
    if (fate != REVISION_IS_KNOWN) return;
    store_plan(engine, entry);
    revision_stored(engine, mail, entry, version);
}

static void begin(Engine *engine, Mail *mail, PlanEntry *entry, Str key, uint32_t generation)
{
    uint32_t version;
    Error err = { 0 };
    Tenant *tenant = tenant_of(engine, mail->tenant.len ? mail->tenant : entry->plan.tenant);
    if (plan_check_offers(entry, &err) || envelope_check_start(engine, tenant, entry, &mail->quota_ms, &err)) {
        mail->is_over_quota = err.status == ERR_LIMIT;
        refuse(engine, mail, err.status, &err);
        return;
    }
    RevisionFate fate = revision_look(engine, mail, entry, &version, &err);
    if (fate == REVISION_IS_REFUSED) refuse(engine, mail, err.status, &err);
    if (fate != REVISION_IS_KNOWN) return;
    uint8_t chance[ID_SIZE + sizeof(uint64_t)];
    engine->options.random(engine->options.context, chance, sizeof chance);
    Id id = id_make_run((uint64_t)engine->now_ms, chance);
    Resident *resident = resident_add(engine, engine->next_run_no, &id);
    resident_bind(engine, resident, entry, mail->tenant.len ? mail->tenant : entry->plan.tenant);
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
        refuse(engine, mail, status, &err);
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
    arena_reset(&engine->arena);
    StartRequest request;
    Error err = { 0 };
    Str key = { 0 };
    Status status = mail_open_start(mail, &engine->arena, &request, &err);
    if (!status && mail->tenant.len && !str_is(mail->tenant, entry->plan.tenant))
        status = error_set(&err, ERR_NOT_FOUND, "there is no such plan");       /* a run belongs to whom its plan belongs to */
    if (!status && !mail->is_stored_only) {
        status = decide_start_key(&entry->plan, &request, &engine->arena, &key, &err);
        mail->is_of_params = status == ERR_INVALID;
    }
    if (status) {
        refuse(engine, mail, status, &err);
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
    if (read_begin(engine, &ask, &(PendingRead){ .kind = READ_KEY, .mail = mail, .part = engine->key_round })) {
        engine->key_ask_counts[1]++;
        return;
    }
    queue_mail(engine, tenant_of(engine, tenant), mail);
}

/* A start with a key, once the store has answered. */
typedef struct Keyed {
    Mail *mail;
    PlanEntry *entry;
    StartRequest request;
    Str key;
} Keyed;

/* False after answering: the store did not. */
static bool keyed_open(Engine *engine, Mail *mail, const ReadAnswer *answer, Keyed *out)
{
    Error err = answer->error;
    Status status = answer->status;
    *out = (Keyed){ .mail = mail, .entry = mail->entry };
    CHECK(out->entry);                                      /* since with_plan() */
    arena_reset(&engine->arena);
    if (!status) status = mail_open_start(mail, &engine->arena, &out->request, &err);
    if (!status) status = decide_start_key(&out->entry->plan, &out->request, &engine->arena, &out->key, &err);
    if (status) refuse(engine, mail, status, &err);
    return !status;
}

static Str keyed_tenant(const Keyed *keyed) { return keyed->mail->tenant.len ? keyed->mail->tenant : keyed->entry->plan.tenant; }

/* --- the same start? ------------------------------------------------------------------------------------------------------ */

#define SHOWN_VALUE_SIZE 48u            /* bytes of a value that a refusal shows */

typedef struct Difference {
    Buf text;
    uint32_t count;
} Difference;

static void put_value(Buf *out, const Value *value)
{
    Buf text;
    Error err;
    buf_init(&text, JSON_SIZE_MAX);
    if (!value) buf_text(&text, "not given");
    else if (json_print(&text, *value, JSON_COMPACT, &err)) buf_text(&text, "?");
    Str shown = str_slice(buf_peek(&text), 0, SHOWN_VALUE_SIZE);
    buf_str(out, str_slice(shown, 0, utf8_valid_size(shown)));
    if (text.len > SHOWN_VALUE_SIZE) buf_text(out, "...");
    buf_deinit(&text);
}

static void compare(Difference *difference, Str name, const Value *there, const Value *here)
{
    if (there && here && value_compare(*there, *here) == 0) return;
    if (!there && !here) return;
    buf_format(&difference->text, "%s%.*s is ", difference->count++ ? ", " : "", STR_ARG(name));
    put_value(&difference->text, there);
    buf_text(&difference->text, " there and ");
    put_value(&difference->text, here);
    buf_text(&difference->text, " here");
}

/* `text`: {"params", "payload"} of the start that has the key; it was of the plan with that digest. */
static Status check_same(Engine *engine, const Keyed *keyed, const Id *run_id, const Digest *digest, Str text, Error *err)
{
    const Plan *plan = &keyed->entry->plan;
    char storage[ERROR_TEXT_SIZE / 2];
    Difference difference = { .text = buf_on(storage, sizeof storage) };
    const Value *declared = value_get_text(plan->document, "params");
    Value then;
    Status status = json_parse(&engine->arena, text, &then, err);
    const Value *there = status ? NULL : value_get_text(then, "params");
    if (!there || there->kind != VALUE_OBJECT) return status;
    bool is_same_plan = memcmp(digest, &plan->digest, sizeof *digest) == 0;
    for (uint32_t i = 0; declared && i < declared->count; i++) {
        Str name = value_get_string(declared->items[i], "name", STR(""));
        const Value *here = value_get(keyed->request.params, name);
        if (here || is_same_plan)
            compare(&difference, name, value_get(*there, name), here ? here : value_get_text(declared->items[i], "default"));
    }
    if (!difference.count) return OK;
    return error_set(err, ERR_CONFLICT, "the key '%.*s' belongs to run %s, which was started with other parameters: %.*s%s",
                     STR_ARG(keyed->key), run_id->text, STR_ARG(buf_peek(&difference.text)), buf_overflowed(&difference.text) ? " ..." : "");
}

/* Nothing begins: the mail is about to be answered. */
static void settle(Engine *engine, const Keyed *keyed, Status status)
{
    revision_drop(engine, keyed->mail);
    keyed->mail->is_other_start = status == ERR_CONFLICT;
}

/* What it needs is not there yet: it is looked at from the beginning. */
static void look_again(Engine *engine, const Keyed *keyed)
{
    queue_mail(engine, tenant_of(engine, keyed_tenant(keyed)), keyed->mail);
}

/* The run that has the key is in memory, and was not durable when the store was asked: its parameters are at hand until it is. */
static void repeat_fresh(Engine *engine, const Keyed *keyed, Resident *fresh)
{
    Error err = { 0 };
    Str text;
    if (!resident_text(fresh, MISSING_PARAMS, &text)) {
        look_again(engine, keyed);
        return;
    }
    Status status = check_same(engine, keyed, &fresh->id, &fresh->run.plan_digest, text, &err);
    settle(engine, keyed, status);
    batch_reply(engine, fresh, keyed->mail, status, &err, /* is_noop= */ !status);
}

/* The run that has the key is a row: what it was started with is asked for, unless that is not here any more. */
static void repeat_stored(Engine *engine, const Keyed *keyed, const Cell *row)
{
    Mail *mail = keyed->mail;
    RunState state = RUN_QUEUED;
    bool is_here = row[RUNS_archived_to].kind != CELL_TEXT && row[RUNS_params_at].kind == CELL_INT;
    QueryAsk ask = { .query = QUERY_RECORD, .params = { row[RUNS_params_at] }, .param_count = 1 };
    mail->run_no = (uint64_t)row[RUNS_run_no].integer;
    CHECK(id_read(row[RUNS_id].text, &mail->run_id));
    (void)run_state_find(row[RUNS_state].text, &state);
    if (!is_here) {
        settle(engine, keyed, OK);
        batch_reply_stored(engine, mail, state, OK, NULL);
    } else if (!read_begin(engine, &ask, &(PendingRead){ .kind = READ_START, .mail = mail, .part = state })) {
        look_again(engine, keyed);
    }
}

static Status read_started(Engine *engine, const ReadAnswer *answer, Digest *out_plan, Str *out_text, Error *err)
{
    Record record;
    Status status = record_decode(&engine->arena, answer->cells[LEDGER_record].text, &record, err);
    for (uint32_t i = 0; !status && i < record.event_count; i++) {
        const Event *event = &record.events[i];
        if (event->kind != EVENT_RUN_CREATED || event->payload == EVENT_NO_PAYLOAD) continue;
        *out_plan = *event->digest;
        status = record_payload(&record, answer->cells[LEDGER_payload].text, event->payload, out_text, err);
    }
    return status;
}

void start_record_answered(Engine *engine, Mail *mail, uint32_t state, const ReadAnswer *answer)
{
    Keyed keyed;
    Error err;
    Digest digest;
    Str text = { 0 };
    if (!keyed_open(engine, mail, answer, &keyed)) return;
    Status status = answer->row_count ? read_started(engine, answer, &digest, &text, &err) : OK;     /* none: archived meanwhile */
    if (status == ERR_NOT_FOUND) status = OK;                                                       /* erased */
    if (!status && text.len) status = check_same(engine, &keyed, &mail->run_id, &digest, text, &err);
    settle(engine, &keyed, status);
    batch_reply_stored(engine, mail, (RunState)state, status, &err);
}

/* --- answers that are too old ----------------------------------------------------------------------------------------------- */

#define ANY_GENERATION UINT32_MAX

void start_key_durable(Engine *engine, Resident *resident)
{
    const Run *run = &resident->run;
    run_index_remove(&engine->start_keys, resident->start_key);
    resident->start_key = 0;
    if (engine->key_ask_counts[0] + engine->key_ask_counts[1])
        run_index_put(&engine->durable_keys[1], key_hash(run->tenant, run->definition, run->key, ANY_GENERATION), engine);
}

static void end_question(Engine *engine, uint32_t round)
{
    engine->key_ask_counts[round == engine->key_round]--;
    if (engine->key_ask_counts[0] || !engine->durable_keys[1].count) return;
    run_index_deinit(&engine->durable_keys[0]);
    engine->durable_keys[0] = engine->durable_keys[1];
    engine->durable_keys[1] = (RunIndex){ 0 };
    engine->key_ask_counts[0] = engine->key_ask_counts[1];
    engine->key_ask_counts[1] = 0;
    engine->key_round++;
}

/* The store may have looked before a start of that key was durable, and answer when memory does not know it any more. */
static bool is_outdated(const Engine *engine, const Keyed *keyed, uint32_t round)
{
    uint64_t hash = key_hash(keyed_tenant(keyed), keyed->entry->plan.id, keyed->key, ANY_GENERATION);
    if (run_index_find(&engine->durable_keys[1], hash)) return true;
    return round != engine->key_round && run_index_find(&engine->durable_keys[0], hash);
}

/* --- what the store says of the key ---------------------------------------------------------------------------------------- */

/* The run that a start with this key has already, or the start itself. A start of the same key that is not durable yet is
 * found in memory; the newest generation counts. */
void start_key_answered(Engine *engine, Mail *mail, uint32_t round, const ReadAnswer *answer)
{
    Keyed keyed;
    bool is_open = keyed_open(engine, mail, answer, &keyed), is_old = is_open && is_outdated(engine, &keyed, round);
    end_question(engine, round);
    if (is_old) look_again(engine, &keyed);
    if (!is_open || is_old) return;
    Str tenant = keyed_tenant(&keyed), definition = keyed.entry->plan.id;
    uint32_t stored = answer->row_count ? (uint32_t)answer->cells[RUNS_key_generation].integer + 1 : 0;
    uint32_t newest = stored;
    Resident *fresh = NULL;
    for (Resident *next; (next = run_index_find(&engine->start_keys, key_hash(tenant, definition, keyed.key, newest))); newest++) fresh = next;
    if (!newest || keyed.request.is_again) begin(engine, mail, keyed.entry, keyed.key, newest);
    else if (fresh) repeat_fresh(engine, &keyed, fresh);
    else repeat_stored(engine, &keyed, answer->cells);
}

/* --- the plan ------------------------------------------------------------------------------------------------------------ */

void start_mail(Engine *engine, Mail *mail)
{
    if (mail_plan(engine, mail)) {
        with_plan(engine, mail, mail->entry);
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
        refuse(engine, mail, status, &err);
        return;
    }
    entry->is_stored = true;
    mail->entry = entry;
    plan_hold(entry);
    with_plan(engine, mail, entry);
}
