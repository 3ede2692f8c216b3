/* secret.c - secrets of tenants: sealed by whoever sends them, stored here with a record that says who did it.
 *
 * The engine has no key and opens nothing. It sees to it that a tenant has one key: whoever sealed under another one, because two
 * made the first key at the same time, is refused and seals anew. For that the store is asked what it has, and one request at a
 * time is looked at until what it changes is durable: so what the store says is all there is. Secrets are rarely changed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "engine/internal.h"

typedef enum Question { ASK_KEY, ASK_SECRET } Question;

struct Sealing {
    Mail *mail;                         /* NULL once it is in the batch */
    uint64_t seq;                       /* of that batch; 0: none yet */
    MailList waiting;
    bool is_answered, has_key, is_same_key, has_secret;
};

static void sealing_end(Engine *engine)
{
    Sealing *sealing = engine->sealing;
    engine->sealing = NULL;
    for (Mail *mail; (mail = mail_list_take(&sealing->waiting));) queue_mail(engine, tenant_of(engine, mail->tenant), mail);
    free(sealing);
}

void secrets_observe(Engine *engine)
{
    bool is_changed = engine->sealing && engine->sealing->seq && batch_is_durable(engine, engine->sealing->seq);
    if (is_changed && engine->observe) engine->observe(engine->observe_context, &(Observation){ .kind = OBSERVE_SECRETS });
}

void secrets_durable(Engine *engine)
{
    if (engine->sealing && engine->sealing->seq && batch_is_durable(engine, engine->sealing->seq)) sealing_end(engine);
}

void secrets_deinit(Engine *engine)
{
    if (!engine->sealing) return;
    for (Mail *mail; (mail = mail_list_take(&engine->sealing->waiting));) mail_free(mail);
    free(engine->sealing);
    engine->sealing = NULL;
}

/* --- what the store says --------------------------------------------------------------------------------------------- */

static bool ask(Engine *engine, Mail *mail, Question question)
{
    QueryAsk query = { .query = question == ASK_KEY ? QUERY_TENANT_KEY : QUERY_SECRET, .param_count = question == ASK_KEY ? 1 : 2,
                       .params = { cell_text(mail->tenant), cell_text(mail->command.name) } };
    return read_begin(engine, &query, &(PendingRead){ .kind = READ_SECRET, .part = question, .mail = mail });
}

static void refuse(Engine *engine, Mail *mail, Status status, const Error *err)
{
    sealing_end(engine);
    batch_reply(engine, NULL, mail, status, err, /* is_noop= */ false);
}

void secret_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer)
{
    Sealing *sealing = engine->sealing;
    Status status = answer->status;
    Error err = answer->error;
    CHECK(sealing && sealing->mail == mail);
    if (!status && part == ASK_KEY && answer->row_count) {
        const Cell *sealed = &answer->cells[TENANT_KEYS_sealed];
        sealing->has_key = true;
        sealing->is_same_key = sealed->kind == CELL_BLOB && str_is(sealed->text, mail->payload);
    }
    if (!status && part == ASK_SECRET) sealing->has_secret = answer->row_count != 0;
    if (!status && part == ASK_KEY && !ask(engine, mail, ASK_SECRET))
        status = error_set(&err, ERR_UNAVAILABLE, "the store takes no more questions now");
    if (status) {
        refuse(engine, mail, status, &err);
    } else if (part == ASK_SECRET) {
        sealing->is_answered = true;
        secret_mail(engine, mail);
    }
}

/* It is this mail's turn, and the store has answered; false where the mail was taken. */
static bool look(Engine *engine, Mail *mail)
{
    Sealing *other = engine->sealing;
    if (other && other->mail == mail) {
        CHECK(other->is_answered);
        return true;
    }
    if (other && other->waiting.count >= engine->options.queue_count_max) {
        Error err;
        error_set(&err, ERR_LIMIT, "%" PRIu32 " requests about secrets wait already", other->waiting.count);
        batch_reply(engine, NULL, mail, ERR_LIMIT, &err, /* is_noop= */ false);
        return false;
    }
    if (other) {
        mail_list_add(&other->waiting, mail);
        return false;
    }
    engine->sealing = calloc(1, sizeof *engine->sealing);
    CHECK(engine->sealing);
    engine->sealing->mail = mail;
    if (!ask(engine, mail, ASK_KEY)) {
        sealing_end(engine);
        queue_mail(engine, tenant_of(engine, mail->tenant), mail);
    }
    return false;
}

/* --- changes ----------------------------------------------------------------------------------------------------------- */

/* The digest is of sealed bytes, and tells nothing of what is in them; by it a row that was changed is noticed. */
static void note_change(Engine *engine, EngineBatch *batch, const Mail *mail, EventKind kind)
{
    Digest digest = digest_of(kind == EVENT_TENANT_KEY_MADE ? mail->payload : mail->params);
    Event event = { .kind = (uint8_t)kind, .tenant = mail->tenant, .payload = EVENT_NO_PAYLOAD };
    if (kind != EVENT_TENANT_KEY_MADE) event.name = mail->command.name;
    if (kind != EVENT_SECRET_REMOVED) event.digest = &digest;
    log_event_record(engine, batch, &event, &mail->command);
}

static void store_key(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const TableInfo *info = table_info(TABLE_TENANT_KEYS);
    Arena *arena = &batch->batch.arena;
    Cell *cells = ARENA_ARRAY(arena, Cell, info->column_count);
    cells[TENANT_KEYS_tenant] = cell_text(arena_copy(arena, mail->tenant));
    cells[TENANT_KEYS_sealed] = cell_blob(arena_copy(arena, mail->payload));
    cells[TENANT_KEYS_created_ms] = cell_int(engine->now_ms);
    cells[TENANT_KEYS_created_by] = cell_text(arena_copy(arena, mail->command.actor));
    projection_row(batch->projection, TABLE_TENANT_KEYS, ROW_INSERT, table_mask(info), cells);
    note_change(engine, batch, mail, EVENT_TENANT_KEY_MADE);
}

static void store_secret(Engine *engine, EngineBatch *batch, const Mail *mail, bool is_there)
{
    const TableInfo *info = table_info(TABLE_SECRETS);
    Arena *arena = &batch->batch.arena;
    Cell *cells = ARENA_ARRAY(arena, Cell, info->column_count);
    uint64_t changed = COLUMN_BIT(SECRETS_sealed) | COLUMN_BIT(SECRETS_updated_ms) | COLUMN_BIT(SECRETS_updated_by);
    cells[SECRETS_tenant] = cell_text(arena_copy(arena, mail->tenant));
    cells[SECRETS_name] = cell_text(arena_copy(arena, mail->command.name));
    if (mail->is_removal) {
        projection_row(batch->projection, TABLE_SECRETS, ROW_DELETE, 0, cells);
        note_change(engine, batch, mail, EVENT_SECRET_REMOVED);
        return;
    }
    cells[SECRETS_sealed] = cell_blob(arena_copy(arena, mail->params));
    cells[SECRETS_created_ms] = cells[SECRETS_updated_ms] = cell_int(engine->now_ms);
    cells[SECRETS_created_by] = cells[SECRETS_updated_by] = cell_text(arena_copy(arena, mail->command.actor));
    projection_row(batch->projection, TABLE_SECRETS, is_there ? ROW_UPDATE : ROW_INSERT, is_there ? changed : table_mask(info),
                   cells);
    note_change(engine, batch, mail, EVENT_SECRET_SET);
}

static Status check(const Sealing *sealing, Mail *mail, Error *err)
{
    mail->is_stale = mail->is_new && sealing->has_secret;
    if (mail->is_stale)
        return error_set(err, ERR_CONFLICT, "tenant '%.*s' has a secret '%.*s' already", STR_ARG(mail->tenant), STR_ARG(mail->command.name));
    if (mail->is_removal && !sealing->has_secret)
        return error_set(err, ERR_NOT_FOUND, "tenant '%.*s' has no secret '%.*s'", STR_ARG(mail->tenant),
                         STR_ARG(mail->command.name));
    if (!mail->is_removal && sealing->has_key && !sealing->is_same_key)
        return error_set(err, ERR_CONFLICT, "tenant '%.*s' has got another key meanwhile", STR_ARG(mail->tenant));
    return OK;
}

void secret_mail(Engine *engine, Mail *mail)
{
    if (!look(engine, mail)) return;
    Sealing *sealing = engine->sealing;
    Error err = { 0 };
    Status status = check(sealing, mail, &err);
    if (status) {
        refuse(engine, mail, status, &err);
        return;
    }
    bool is_key_new = !mail->is_removal && !sealing->has_key, is_secret = mail->command.name.len != 0;
    if (!is_key_new && !is_secret) {                        /* the key is there */
        sealing_end(engine);
        batch_reply(engine, NULL, mail, OK, NULL, /* is_noop= */ true);
        return;
    }
    EngineBatch *batch = batch_open(engine);
    if (is_key_new) store_key(engine, batch, mail);
    if (is_secret) store_secret(engine, batch, mail, sealing->has_secret);
    sealing->seq = batch->seq;
    sealing->mail = NULL;
    batch_reply_open(engine, mail);
}
