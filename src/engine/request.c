/* request.c - requests by their ids: one that comes again gets the first answer, and nothing is done twice.
 *
 * Whoever sends a command or a start may give it an id (Command.id). While such a request is being decided it is known here;
 * its answer is a row of the commit that holds what it did, and from then on the store knows it. What comes again meanwhile
 * waits for the first one's answer. Refusals that a later attempt might not meet (nothing is there, no room, a store that does
 * not answer) are not kept: the request may be sent again with the same id.
 *
 * A request may have a second id (Command.alias), one that its sender did not choose: a signature. Under that its answer is kept as
 * well, for whoever asks by it later; a repetition with another one is remembered by that, too.
 *
 * At most one question about an id is under way, since it is known here from the question on: no answer of the store can be
 * older than what has become durable meanwhile. Rows are forgotten in portions, and the next portion is asked for only when the
 * last one is durable, so that a row that has just been written anew is never the one that is deleted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/json.h"
#include "value/number.h"
#include "base/utf8.h"

/* What is asked: what it means here and, where its sender says so, as it was written. The same words may mean another revision, or another
 * trigger, when they come again; other words may mean the same. */
typedef struct Asked { Digest digests[2]; uint32_t count; } Asked;

struct KnownRequest {
    struct KnownRequest *next;          /* of the same hash */
    uint64_t hash;
    Asked asked;
    uint64_t seq;                       /* the batch with its answer; 0: it is not answered yet */
    EngineReply reply;
    Error error;
    MailList repeats;                   /* what came again before it was answered */
    Str tenant, key;
    char bytes[];
};

/* --- what is known in memory ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(Str tenant, Str key) { return hash_key(hash_text(hash_part(HASH_SEED, tenant), key)); }

static KnownRequest *known_find(const Engine *engine, Str tenant, Str key)
{
    KnownRequest *known = run_index_find(&engine->requests, hash_of(tenant, key));
    while (known && !(str_is(known->key, key) && str_is(known->tenant, tenant))) known = known->next;
    return known;
}

static KnownRequest *known_add(Engine *engine, Str tenant, Str key)
{
    KnownRequest *known = calloc(1, sizeof *known + tenant.len + key.len);
    CHECK(known);
    known->hash = hash_of(tenant, key);
    known->next = run_index_find(&engine->requests, known->hash);
    if (tenant.len) memcpy(known->bytes, tenant.ptr, tenant.len);
    memcpy(known->bytes + tenant.len, key.ptr, key.len);
    known->tenant = (Str){ known->bytes, tenant.len };
    known->key = (Str){ known->bytes + tenant.len, key.len };
    run_index_put(&engine->requests, known->hash, known);
    return known;
}

static void known_free(KnownRequest *known)
{
    for (Mail *mail; (mail = mail_list_take(&known->repeats));) mail_free(mail);
    free(known);
}

void request_forget(Engine *engine, Mail *mail)
{
    KnownRequest *known = mail->known;
    if (!known) return;
    mail->known = NULL;
    KnownRequest *first = run_index_find(&engine->requests, known->hash), **place = &first;
    while (*place != known) place = &(*place)->next;
    *place = known->next;
    if (first) run_index_put(&engine->requests, known->hash, first);
    else run_index_remove(&engine->requests, known->hash);
    known_free(known);
}

void requests_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->requests.capacity; i++)
        for (KnownRequest *known = engine->requests.slots[i].number ? engine->requests.slots[i].item : NULL, *next; known;
             known = next) {
            next = known->next;
            known_free(known);
        }
    run_index_deinit(&engine->requests);
}

/* --- what is asked ----------------------------------------------------------------------------------------------------------- */

static void put_number(Buf *buf, uint64_t number)
{
    buf_u64(buf, number);
    buf_char(buf, '\n');
}

static void put_text(Buf *buf, Str text)
{
    put_number(buf, text.len);
    buf_str(buf, text);
}

static bool is_of_an_attempt(CommandKind kind)
{
    return kind >= COMMAND_ACCEPT && kind <= COMMAND_COST;
}

/* How it is to be decided on or ended, beside what any command says. */
static bool has_terms(CommandKind kind)
{
    return kind >= COMMAND_CANCEL && kind <= COMMAND_SKIP_COMPENSATION;
}

static void put_terms(Buf *buf, const Command *command)
{
    const uint64_t numbers[] = { command->decision, command->scope, command->mode, command->undo, command->unknown, command->includes,
                                 command->revision };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put_number(buf, numbers[i]);
    put_text(buf, command->name);
}

/* Who asks and in which trace is no part of it: whoever asks again may be another process. Nor is what it saw before: the first one may have
 * changed that. */
static Digest digest_of_content(const Mail *mail)
{
    const Command *command = &mail->command;
    Buf buf;
    buf_init(&buf, SIZE_MAX);
    put_number(&buf, mail->is_start ? COMMAND_START : command->kind);
    put_text(&buf, command->rationale);
    if (mail->is_start) {
        const StartRequest *start = &mail->start;
        const Str texts[] = { { (const char *)mail->plan.bytes, DIGEST_SIZE }, mail->params, mail->payload, start->key, start->source,
                              start->parent };
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) put_text(&buf, texts[i]);
        put_number(&buf, start->is_again);
        put_number(&buf, start->revision);
        if (mail->is_stored_only) put_number(&buf, 1);
    } else {
        put_number(&buf, mail->run_no);
        put_text(&buf, mail->run_no ? (Str){ 0 } : id_peek(&mail->run_id));
        put_text(&buf, mail->value);
        put_number(&buf, command->is_denial);
    }
    if (mail->is_revision) {
        put_text(&buf, command->name);
        put_number(&buf, mail->start.revision);
        put_number(&buf, mail->is_activation);
        if (mail->is_removal) put_number(&buf, 1);
    }
    if (mail->is_secret) {
        put_text(&buf, command->name);
        put_text(&buf, mail->params);
        put_number(&buf, mail->is_removal);
        if (mail->is_new) put_number(&buf, 1);
    }
    if (mail->keep >= KEEP_OVERRIDE) {
        const Str texts[] = { command->name, command->report.message, mail->start.key, mail->payload };
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) put_text(&buf, texts[i]);
        put_number(&buf, mail->keep);
        put_number(&buf, command->number);
        put_number(&buf, (uint64_t)mail->due_ms);
        put_number(&buf, mail->start.revision);
    }
    if (command->kind == COMMAND_TRIGGER) put_text(&buf, command->name);
    if (command->job.len) put_text(&buf, command->job);
    if (has_terms(command->kind)) put_terms(&buf, command);
    if (command->kind == COMMAND_SIGNAL) {
        put_text(&buf, command->name);
        put_number(&buf, command->sort);
    }
    if (is_of_an_attempt(command->kind)) {
        const uint64_t numbers[] = { command->step, command->attempt, command->holder, (uint64_t)command->lease_ms, command->number,
                                     command->report.cause, command->is_committed | (unsigned)command->is_withdrawn << 1 };
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put_number(&buf, numbers[i]);
        put_text(&buf, command->report.message);
        put_text(&buf, mail->output);
    }
    Digest digest = digest_of(buf_peek(&buf));
    buf_deinit(&buf);
    return digest;
}

static Asked asked_of(const Mail *mail)
{
    Asked asked = { .digests = { digest_of_content(mail) }, .count = 1 };
    if (mail->command.asked.len) asked.digests[asked.count++] = digest_of(mail->command.asked);
    return asked;
}

static Asked asked_read(Str stored)
{
    Asked asked = { .count = stored.len == DIGEST_SIZE || stored.len == 2 * DIGEST_SIZE ? (uint32_t)(stored.len / DIGEST_SIZE) : 0 };
    memcpy(asked.digests, stored.ptr, asked.count * DIGEST_SIZE);
    return asked;
}

/* --- what was answered -------------------------------------------------------------------------------------------------------- */

static Str answer_text(Arena *arena, const EngineReply *reply, const Error *error)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    MemberList members = { .arena = &scratch };
    member_list_add(&members, STR("status"), value_string(str_of(reply->status ? status_name(reply->status) : "ok")));
    if (reply->status) member_list_add(&members, STR("error"), value_string(str_of(error->text)));
    if (reply->run_no) {
        member_list_add(&members, STR("run"), value_string(id_peek(&reply->run_id)));
        member_list_add(&members, STR("number"), value_int((int64_t)reply->run_no));
        member_list_add(&members, STR("state"), value_string(str_of(run_state_name((RunState)reply->run_state))));
        member_list_add(&members, STR("resolution"), value_int(reply->resolution));
    }
    member_list_add(&members, STR("noop"), value_bool(reply->is_noop));
    member_list_add(&members, STR("repeat"), value_bool(reply->is_repeat));
    if (reply->outcome) member_list_add(&members, STR("outcome"), value_string(str_of(reply->outcome)));
    if (reply->is_other_start) member_list_add(&members, STR("other"), value_bool(true));
    if (reply->is_stale) member_list_add(&members, STR("stale"), value_bool(true));
    if (reply->is_inactive) member_list_add(&members, STR("inactive"), value_bool(true));
    if (reply->is_of_params) member_list_add(&members, STR("params"), value_bool(true));
    Buf buf;
    Error err;
    buf_init(&buf, JSON_SIZE_MAX);
    CHECK(json_print(&buf, member_list_object(&members), JSON_COMPACT, &err) == OK);
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    arena_deinit(&scratch);
    return text;
}

static const char *outcome_read(Str name)
{
    static const uint32_t flags[] = { 0, TRIGGER_IS_DENIAL, TRIGGER_IS_KEPT, TRIGGER_IS_UNMET };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (str_is_text(name, trigger_flags_name(flags[i]))) return trigger_flags_name(flags[i]);
    return NULL;
}

static Status answer_read(Str text, EngineReply *out_reply, Error *out_error, Error *err)
{
    Arena arena;
    Value value;
    arena_init(&arena, SIZE_MAX);
    Status status = json_parse(&arena, text, &value, err);
    *out_reply = (EngineReply){ 0 };
    if (!status) {
        Str name = value_get_string(value, "status", STR("")), error = value_get_string(value, "error", STR(""));
        RunState state;
        int64_t number = 0;
        for (int i = 1; i < STATUS_COUNT; i++)
            if (str_is_text(name, status_name((Status)i)))
                out_reply->status = error_set(out_error, (Status)i, "%.*s", STR_ARG(error));
        if (id_read(value_get_string(value, "run", STR("")), &out_reply->run_id)) {
            const Value *run_no = value_get_text(value, "number"), *resolution = value_get_text(value, "resolution");
            if (run_no && number_to_int64(*run_no, &number)) out_reply->run_no = (uint64_t)number;
            if (resolution && number_to_int64(*resolution, &number)) out_reply->resolution = (uint8_t)number;
        }
        if (run_state_find(value_get_string(value, "state", STR("")), &state)) out_reply->run_state = (uint8_t)state;
        out_reply->is_noop = value_get_bool(value, "noop", false);
        out_reply->is_repeat = value_get_bool(value, "repeat", false);
        out_reply->outcome = outcome_read(value_get_string(value, "outcome", STR("")));
        out_reply->is_other_start = value_get_bool(value, "other", false);
        out_reply->is_stale = value_get_bool(value, "stale", false);
        out_reply->is_inactive = value_get_bool(value, "inactive", false);
        out_reply->is_of_params = value_get_bool(value, "params", false);
    }
    arena_deinit(&arena);
    return status;
}

/* Is it an answer to what was asked, or a reason to ask again? */
static bool is_kept(const EngineReply *reply)
{
    Status status = reply->status;
    return !reply->is_overtaken && (status == OK || status == ERR_INVALID || status == ERR_DENIED || status == ERR_CONFLICT);
}

static void put_answer(Engine *engine, EngineBatch *batch, const Mail *mail, Str key, const Asked *asked, Str answer)
{
    Arena *arena = &batch->batch.arena;
    const TableInfo *info = table_info(TABLE_REQUESTS);
    int64_t keep_ms = engine->options.request_ms ? engine->options.request_ms : REQUEST_KEEP_MS;
    Cell *cells = ARENA_ARRAY(arena, Cell, info->column_count);
    cells[REQUESTS_tenant] = cell_text(arena_copy(arena, mail->tenant));
    cells[REQUESTS_key] = cell_text(arena_copy(arena, key));
    cells[REQUESTS_digest] = cell_blob(arena_copy(arena, (Str){ (const char *)asked->digests, asked->count * DIGEST_SIZE }));
    cells[REQUESTS_answer] = cell_text(answer);
    cells[REQUESTS_expires_ms] = cell_int(engine->now_ms + keep_ms);
    projection_row(batch->projection, TABLE_REQUESTS, ROW_PUT, table_mask(info), cells);
}

bool request_keep(Engine *engine, Mail *mail, const EngineReply *reply, const Error *error)
{
    KnownRequest *known = mail->known;
    if (!known || !is_kept(reply)) return false;
    EngineBatch *batch = batch_open(engine);
    Str answer = answer_text(&batch->batch.arena, reply, error);
    put_answer(engine, batch, mail, known->key, &known->asked, answer);
    if (mail->command.alias.len) put_answer(engine, batch, mail, mail->command.alias, &known->asked, answer);
    known->seq = batch->seq;
    known->reply = *reply;
    known->error = *error;
    return true;
}

/* --- coming in ----------------------------------------------------------------------------------------------------------------- */

static bool is_same(const Mail *mail, const Asked *first)
{
    Asked asked = asked_of(mail);
    uint32_t count = asked.count < first->count ? asked.count : first->count;
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(&asked.digests[i], &first->digests[i], DIGEST_SIZE) == 0) return true;
    return false;
}

/* It gets the first one's answer, once that is durable. A second id that it has is another one than the first had, and is kept, too. */
static void repeat(Engine *engine, uint64_t seq, const Asked *first, const ReplyEntry *entry)
{
    const Mail *mail = entry->mail;
    if (mail->command.alias.len && is_kept(&entry->reply)) {
        EngineBatch *batch = batch_open(engine);
        put_answer(engine, batch, mail, mail->command.alias, first, answer_text(&batch->batch.arena, &entry->reply, &entry->error));
        seq = batch->seq;
    }
    ReplyEntry again = *entry;
    again.reply.was_asked = true;
    batch_reply_with(engine, seq, &again);
}

static void refuse_other(Engine *engine, Mail *mail, uint64_t seq)
{
    ReplyEntry entry = { .mail = mail, .reply = { .is_other_request = true } };
    entry.reply.status = error_set(&entry.error, ERR_INVALID, "the id '%.*s' was given to another request before",
                                   STR_ARG(mail->command.id));
    batch_reply_with(engine, seq, &entry);
}

/* What waited for this answer gets it, where it asks for the same. Something else under that id is refused; but where the first
 * one came to nothing, it is the first one now. */
void request_share(Engine *engine, uint64_t seq, const ReplyEntry *entry)
{
    KnownRequest *known = entry->mail->known;
    if (!known) return;
    ReplyEntry again = *entry;
    MailList repeats = known->repeats;
    known->repeats = (MailList){ 0 };
    while ((again.mail = mail_list_take(&repeats))) {
        if (is_same(again.mail, &known->asked)) repeat(engine, seq, &known->asked, &again);
        else if (known->seq) refuse_other(engine, again.mail, seq);
        else queue_mail(engine, tenant_of(engine, again.mail->tenant), again.mail);
    }
    if (!known->seq) request_forget(engine, entry->mail);
}

static void answer_again(Engine *engine, Mail *mail, KnownRequest *known)
{
    if (known->seq && is_same(mail, &known->asked)) {
        repeat(engine, known->seq, &known->asked, &(ReplyEntry){ .mail = mail, .reply = known->reply, .error = known->error });
    } else if (known->seq) {
        refuse_other(engine, mail, known->seq);
    } else if (known->repeats.count < REQUEST_REPEAT_COUNT_MAX) {
        mail_list_add(&known->repeats, mail);
    } else {
        Error err;
        error_set(&err, ERR_LIMIT, "the request '%.*s' came REQUEST_REPEAT_COUNT_MAX (%u) times before it was answered",
                  STR_ARG(mail->command.id), REQUEST_REPEAT_COUNT_MAX);
        batch_reply(engine, NULL, mail, ERR_LIMIT, &err, /* is_noop= */ false);
    }
}

static bool is_id(Str id) { return id.len <= REQUEST_ID_SIZE_MAX && utf8_valid_size(id) == id.len; }

RequestFate request_look(Engine *engine, Mail *mail)
{
    Str id = mail->command.id;
    if (!id.len || mail->known) return REQUEST_IS_NEW;
    if (!is_id(id) || !is_id(mail->command.alias)) {
        Error err;
        error_set(&err, ERR_INVALID, "the id of a request is UTF-8 of at most REQUEST_ID_SIZE_MAX (%u) bytes", REQUEST_ID_SIZE_MAX);
        batch_reply(engine, NULL, mail, ERR_INVALID, &err, /* is_noop= */ false);
        return REQUEST_IS_TAKEN;
    }
    KnownRequest *known = known_find(engine, mail->tenant, id);
    if (known) {
        answer_again(engine, mail, known);
        return REQUEST_IS_TAKEN;
    }
    QueryAsk ask = { .query = QUERY_REQUEST, .params = { cell_text(mail->tenant), cell_text(id) }, .param_count = 2 };
    if (!read_begin(engine, &ask, &(PendingRead){ .kind = READ_REQUEST, .mail = mail })) return REQUEST_WAITS;
    mail->known = known_add(engine, mail->tenant, id);
    mail->known->asked = asked_of(mail);
    return REQUEST_IS_TAKEN;
}

/* A row says what was answered then; without one it is a new request. */
void request_answered(Engine *engine, Mail *mail, const ReadAnswer *answer)
{
    Error err = answer->error;
    Status status = answer->status;
    if (!status && !answer->row_count) {
        queue_route(engine, mail);
        return;
    }
    KnownRequest *known = mail->known;
    ReplyEntry entry = { 0 };
    if (!status) status = answer_read(answer->cells[REQUESTS_answer].text, &entry.reply, &entry.error, &err);
    if (status) {
        batch_reply(engine, NULL, mail, status, &err, /* is_noop= */ false);
        return;
    }
    Asked first = asked_read(answer->cells[REQUESTS_digest].text);
    MailList repeats = known->repeats;
    known->repeats = (MailList){ 0 };
    request_forget(engine, mail);
    for (entry.mail = mail; entry.mail; entry.mail = mail_list_take(&repeats)) {
        if (is_same(entry.mail, &first)) repeat(engine, /* seq= */ 0, &first, &entry);
        else refuse_other(engine, entry.mail, /* seq= */ 0);
    }
}

/* --- forgetting ------------------------------------------------------------------------------------------------------------------ */

void request_purge(Engine *engine)
{
    if (engine->is_purging || engine->now_ms < engine->purge_at || !batch_is_durable(engine, engine->purge_seq)) return;
    QueryAsk ask = { .query = QUERY_REQUESTS_EXPIRED, .params = { cell_int(engine->now_ms) }, .param_count = 1,
                     .row_count_max = REQUEST_PURGE_COUNT };
    engine->is_purging = read_begin(engine, &ask, &(PendingRead){ .kind = READ_EXPIRED });
    engine->purge_at = engine->now_ms + REQUEST_PURGE_MS;
}

void request_purged(Engine *engine, const ReadAnswer *answer)
{
    engine->is_purging = false;
    if (answer->status || !answer->row_count) return;           /* the next time finds them */
    EngineBatch *batch = batch_open(engine);
    Arena *arena = &batch->batch.arena;
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const Cell *row = answer->cells + (size_t)i * answer->cell_count;
        Cell *cells = ARENA_ARRAY(arena, Cell, table_info(TABLE_REQUESTS)->column_count);
        cells[REQUESTS_tenant] = cell_text(arena_copy(arena, row[REQUESTS_tenant].text));
        cells[REQUESTS_key] = cell_text(arena_copy(arena, row[REQUESTS_key].text));
        projection_row(batch->projection, TABLE_REQUESTS, ROW_DELETE, 0, cells);
    }
    engine->purge_seq = batch->seq;
    if (answer->row_count == REQUEST_PURGE_COUNT) engine->purge_at = engine->now_ms;
}
