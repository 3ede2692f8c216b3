/* keep.c - what is kept that belongs to no run: refusals, starts that wait, uses of keys; overrides of schedules,
 * occurrences that started nothing, reviews of policies; requests that are asked for in parts.
 *
 * Each is one record of the log itself, and one row where there is something to read back. Of a key that was used there is the row
 * alone: the ledger tells what was done with it. So it is of a request in parts, whose row is that of its answer. Where the commit fails,
 * whoever sent it is told, and sends it again.
 */
#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

static Cell copied(EngineBatch *batch, Str text) { return cell_text(arena_copy(&batch->batch.arena, text)); }
static Cell copied_or_null(EngineBatch *batch, Str text) { return text.len ? copied(batch, text) : cell_null(); }

static void keep_refusal(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const Command *command = &mail->command;
    Event event = { .kind = EVENT_ACCESS_REFUSED, .tenant = mail->tenant, .name = command->name, .text = command->report.message,
                    .source = command->origin, .count = command->number, .flags = mail->start.revision, .payload = EVENT_NO_PAYLOAD };
    log_event_record(engine, batch, &event, command);
}

static void waiting_row(EngineBatch *batch, const Mail *mail, RowOp op)
{
    const TableInfo *info = table_info(TABLE_WAITING_STARTS);
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
    cells[WAITING_STARTS_tenant] = copied(batch, mail->tenant);
    cells[WAITING_STARTS_workflow_id] = copied(batch, mail->command.name);
    cells[WAITING_STARTS_trigger_key] = copied(batch, mail->start.key);
    cells[WAITING_STARTS_since_ms] = cell_int(mail->since_ms);
    cells[WAITING_STARTS_due_ms] = cell_int(mail->due_ms);
    cells[WAITING_STARTS_event_count] = cell_int((int64_t)mail->command.number);
    cells[WAITING_STARTS_actor] = copied(batch, mail->command.actor);
    cells[WAITING_STARTS_trace] = copied_or_null(batch, mail->command.trace);
    cells[WAITING_STARTS_payload] = copied_or_null(batch, mail->payload);
    projection_row(batch->projection, TABLE_WAITING_STARTS, op, op == ROW_DELETE ? 0 : table_mask(info), cells);
}

/* The same event is known again, whichever process it comes to. */
static void request_row(const Engine *engine, EngineBatch *batch, const Mail *mail, const Digest *digest)
{
    const TableInfo *info = table_info(TABLE_REQUESTS);
    Arena *arena = &batch->batch.arena;
    Cell *cells = ARENA_ARRAY(arena, Cell, info->column_count);
    int64_t keep_ms = engine->options.request_ms ? engine->options.request_ms : REQUEST_KEEP_MS;
    cells[REQUESTS_tenant] = copied(batch, mail->tenant);
    cells[REQUESTS_key] = copied(batch, mail->command.id);
    cells[REQUESTS_digest] = cell_blob(arena_copy(arena, (Str){ (const char *)digest->bytes, DIGEST_SIZE }));
    cells[REQUESTS_answer] = cell_text(STR("{}"));
    cells[REQUESTS_expires_ms] = cell_int(engine->now_ms + keep_ms);
    projection_row(batch->projection, TABLE_REQUESTS, ROW_PUT, table_mask(info), cells);
}

static void keep_waiting(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    Digest digest = digest_of(mail->payload);
    Event event = { .kind = EVENT_START_DEFERRED, .tenant = mail->tenant, .name = mail->command.name, .key = mail->start.key,
                    .count = mail->command.number, .due_ms = mail->due_ms, .digest = &digest, .payload = EVENT_NO_PAYLOAD };
    waiting_row(batch, mail, ROW_PUT);
    if (mail->command.id.len) request_row(engine, batch, mail, &digest);
    log_event_record(engine, batch, &event, &mail->command);
}

static void keep_settled(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    Event event = { .kind = EVENT_START_SETTLED, .tenant = mail->tenant, .name = mail->command.name, .key = mail->start.key,
                    .parent = mail->start.parent, .text = mail->command.report.message, .payload = EVENT_NO_PAYLOAD };
    waiting_row(batch, mail, ROW_DELETE);
    log_event_record(engine, batch, &event, &mail->command);
}

static void keep_key_use(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const TableInfo *info = table_info(TABLE_KEY_USES);
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
    (void)engine;
    cells[KEY_USES_tenant] = copied(batch, mail->tenant);
    cells[KEY_USES_id] = copied(batch, mail->command.name);
    cells[KEY_USES_used_ms] = cell_int(mail->since_ms);
    cells[KEY_USES_source] = copied(batch, mail->command.origin);
    projection_row(batch->projection, TABLE_KEY_USES, ROW_PUT, table_mask(info), cells);
}

static void keep_override(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const TableInfo *info = table_info(TABLE_OVERRIDES);
    const Command *command = &mail->command;
    bool is_gone = mail->keep == KEEP_OVERRIDE_GONE;
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
    Event event = { .kind = is_gone ? EVENT_OVERRIDE_REMOVED : EVENT_SCHEDULE_OVERRIDDEN, .tenant = mail->tenant, .name = command->name,
                    .count = command->number, .due_ms = mail->due_ms, .text = is_gone ? (Str){ 0 } : command->report.message,
                    .payload = EVENT_NO_PAYLOAD };
    cells[OVERRIDES_tenant] = copied(batch, mail->tenant);
    cells[OVERRIDES_workflow_id] = copied(batch, command->name);
    cells[OVERRIDES_trigger_no] = cell_int((int64_t)command->number);
    cells[OVERRIDES_due_ms] = cell_int(mail->due_ms);
    cells[OVERRIDES_held_by] = copied(batch, command->report.message);
    cells[OVERRIDES_reason] = copied(batch, command->rationale);
    cells[OVERRIDES_created_ms] = cell_int(engine->now_ms);
    cells[OVERRIDES_created_by] = copied(batch, command->actor);
    projection_row(batch->projection, TABLE_OVERRIDES, is_gone ? ROW_DELETE : ROW_PUT, is_gone ? 0 : table_mask(info), cells);
    log_event_record(engine, batch, &event, command);
}

static void keep_review(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const TableInfo *info = table_info(TABLE_REVIEWS);
    const Command *command = &mail->command;
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
    Event event = { .kind = EVENT_POLICY_REVIEWED, .tenant = mail->tenant, .name = command->name, .key = mail->start.key, .source = mail->payload,
                    .flags = mail->start.revision, .text = command->report.message, .payload = EVENT_NO_PAYLOAD };
    cells[REVIEWS_tenant] = copied(batch, mail->tenant);
    cells[REVIEWS_policy] = copied(batch, command->name);
    cells[REVIEWS_digest] = copied(batch, mail->start.key);
    cells[REVIEWS_reviewer] = copied(batch, mail->payload);
    cells[REVIEWS_verdict] = cell_text(mail->start.revision == REVIEW_APPROVED ? STR("approved") : STR("rejected"));
    cells[REVIEWS_comment] = copied_or_null(batch, command->report.message);
    cells[REVIEWS_created_ms] = cell_int(engine->now_ms);
    cells[REVIEWS_created_by] = copied(batch, command->actor);
    projection_row(batch->projection, TABLE_REVIEWS, ROW_PUT, table_mask(info), cells);
    log_event_record(engine, batch, &event, command);
}

static void keep_skip(Engine *engine, EngineBatch *batch, const Mail *mail)
{
    const Command *command = &mail->command;
    Event event = { .kind = EVENT_OCCURRENCE_SKIPPED, .tenant = mail->tenant, .name = command->name, .count = command->number,
                    .due_ms = mail->due_ms, .flags = mail->start.revision, .text = command->report.message, .payload = EVENT_NO_PAYLOAD };
    log_event_record(engine, batch, &event, command);
}

/* That it is answered is all: the answer is the row. */
static void keep_request(Engine *engine, EngineBatch *batch, const Mail *mail) { (void)engine, (void)batch, (void)mail; }

void keep_mail(Engine *engine, Mail *mail)
{
    static void (*const kinds[])(Engine *engine, EngineBatch *batch, const Mail *mail) = {
        [KEEP_REFUSAL] = keep_refusal, [KEEP_WAITING] = keep_waiting, [KEEP_SETTLED] = keep_settled, [KEEP_KEY_USE] = keep_key_use,
        [KEEP_OVERRIDE] = keep_override, [KEEP_OVERRIDE_GONE] = keep_override, [KEEP_REVIEW] = keep_review,
        [KEEP_SKIP] = keep_skip, [KEEP_REQUEST] = keep_request,
    };
    CHECK(mail->keep && mail->keep < sizeof kinds / sizeof *kinds);
    kinds[mail->keep](engine, batch_open(engine), mail);
    batch_reply_open(engine, mail);
}
