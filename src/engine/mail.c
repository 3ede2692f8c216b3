#include "engine/mail.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/json.h"

/* --- packing: first the size of all texts, then the texts behind the struct ------------------------------------------ */

typedef struct Packer { Mail *mail; size_t used; } Packer;

static Str pack(Packer *packer, Str text)
{
    if (!text.len) return (Str){ 0 };
    char *place = packer->mail->bytes + packer->used;
    memcpy(place, text.ptr, text.len);
    packer->used += text.len;
    return (Str){ place, text.len };
}

static size_t command_size(const Command *command)
{
    return command->id.len + command->alias.len + command->asked.len + command->actor.len + command->rationale.len + command->trace.len
         + command->tracestate.len + command->name.len + command->origin.len + command->bridge.len
         + command->job.len + command->report.message.len;
}

static void pack_command(Packer *packer, const Command *command)
{
    Command *copy = &packer->mail->command;
    *copy = *command;
    copy->id = pack(packer, command->id);
    copy->alias = pack(packer, command->alias);
    copy->asked = pack(packer, command->asked);
    copy->actor = pack(packer, command->actor);
    copy->rationale = pack(packer, command->rationale);
    copy->trace = pack(packer, command->trace);
    copy->tracestate = pack(packer, command->tracestate);
    copy->name = pack(packer, command->name);
    copy->job = pack(packer, command->job);
    copy->origin = pack(packer, command->origin);
    copy->bridge = pack(packer, command->bridge);
    copy->report.message = pack(packer, command->report.message);
    copy->value = copy->report.output = value_null();
}

/* A value as JSON; nothing for null. False where no record could hold it: it is larger than PAYLOAD_SIZE_MAX, or nests too deep. */
static bool print_value(Buf *buf, Value value)
{
    buf_init(buf, PAYLOAD_SIZE_MAX);
    if (value.kind == VALUE_NULL) return true;
    Error err;
    if (canonical_print(buf, value, &err) == OK && !buf_overflowed(buf)) return true;
    buf_clear(buf);
    return false;
}

static Mail *mail_alloc(size_t size)
{
    Mail *mail = malloc(sizeof *mail + size);
    CHECK(mail);
    *mail = (Mail){ .size = sizeof *mail + size };
    return mail;
}

static Mail *mail_of_command(const Command *command, Str tenant)
{
    Buf value, output;
    bool fits = print_value(&value, command->value);
    fits = print_value(&output, command->report.output) && fits;
    Mail *mail = mail_alloc(command_size(command) + tenant.len + value.len + output.len);
    Packer packer = { .mail = mail };
    pack_command(&packer, command);
    mail->is_unfit = !fits;
    mail->tenant = pack(&packer, tenant);
    mail->value = pack(&packer, buf_peek(&value));
    mail->output = pack(&packer, buf_peek(&output));
    buf_deinit(&value);
    buf_deinit(&output);
    return mail;
}

/* --- make ------------------------------------------------------------------------------------------------------------ */

Mail *mail_of_start(const EngineStart *start)
{
    Buf params, payload;
    bool fits = print_value(&params, start->request.params);
    fits = print_value(&payload, start->request.payload) && fits;
    const StartRequest *request = &start->request;
    Mail *mail = mail_alloc(command_size(&start->command) + start->tenant.len + params.len + payload.len
                            + request->key.len + request->source.len + request->parent.len + request->directory.len);
    Packer packer = { .mail = mail };
    pack_command(&packer, &start->command);
    mail->is_start = true;
    mail->is_unfit = !fits;
    mail->is_stored_only = start->is_stored_only;
    mail->seen = start->seen;
    mail->tenant = pack(&packer, start->tenant);
    mail->plan = start->plan;
    mail->params = pack(&packer, buf_peek(&params));
    mail->payload = pack(&packer, buf_peek(&payload));
    mail->start = *request;
    mail->start.key = pack(&packer, request->key);
    mail->start.source = pack(&packer, request->source);
    mail->start.parent = pack(&packer, request->parent);
    mail->start.directory = pack(&packer, request->directory);
    mail->start.params = mail->start.payload = value_null();
    mail->reply = start->reply;
    mail->context = start->context;
    buf_deinit(&params);
    buf_deinit(&payload);
    return mail;
}

Mail *mail_of_request(const EngineRequest *request)
{
    Mail *mail = mail_of_command(&request->command, request->tenant);
    mail->run_no = request->run_no;
    mail->run_id = request->run_id;
    mail->reply = request->reply;
    mail->context = request->context;
    return mail;
}

Mail *mail_of_revision(const EngineRevision *revision)
{
    Command command = revision->command;
    command.name = revision->workflow;
    command.value = command.report.output = value_null();
    Mail *mail = mail_of_command(&command, revision->tenant);
    mail->is_revision = true;
    mail->is_activation = revision->is_activation;
    mail->is_removal = revision->is_removal;
    mail->seen = revision->seen;
    mail->start.revision = revision->version;
    mail->reply = revision->reply;
    mail->context = revision->context;
    return mail;
}

Mail *mail_of_secret(const EngineSecret *secret)
{
    const Command *command = &secret->command;
    Mail *mail = mail_alloc(command_size(command) + secret->name.len + secret->tenant.len + secret->sealed.len
                            + secret->tenant_key.len);
    Packer packer = { .mail = mail };
    Command named = *command;
    named.name = secret->name;
    pack_command(&packer, &named);
    mail->is_secret = true;
    mail->is_removal = secret->is_removal;
    mail->is_new = secret->is_new;
    mail->tenant = pack(&packer, secret->tenant);
    mail->params = pack(&packer, secret->sealed);
    mail->payload = pack(&packer, secret->tenant_key);
    mail->reply = secret->reply;
    mail->context = secret->context;
    return mail;
}

Mail *mail_of_keep(const EngineKeep *keep)
{
    Command command = keep->command;
    command.name = keep->name;
    command.report.message = keep->text;
    command.number = keep->count;
    Mail *mail = mail_alloc(command_size(&command) + keep->tenant.len + keep->key.len + keep->run.len + keep->payload.len);
    Packer packer = { .mail = mail };
    pack_command(&packer, &command);
    mail->keep = keep->kind;
    mail->tenant = pack(&packer, keep->tenant);
    mail->start.key = pack(&packer, keep->key);
    mail->start.parent = pack(&packer, keep->run);
    mail->start.revision = keep->flags;
    mail->payload = pack(&packer, keep->payload);
    mail->since_ms = keep->since_ms;
    mail->due_ms = keep->due_ms;
    mail->reply = keep->reply;
    mail->context = keep->context;
    return mail;
}

Mail *mail_of_notice(const Notice *notice, Str executor)
{
    static const CommandKind kinds[] = { [NOTICE_REPORT] = COMMAND_REPORT, [NOTICE_EFFECT] = COMMAND_EFFECT,
                                         [NOTICE_COST] = COMMAND_COST, [NOTICE_SIGNAL] = COMMAND_SIGNAL };
    CHECK(notice->kind <= NOTICE_SIGNAL);
    char text[NAME_SIZE_MAX + sizeof "executor:"];
    Buf actor = buf_on(text, sizeof text);
    buf_text(&actor, "executor:");
    buf_str(&actor, str_slice(executor, 0, executor.len < NAME_SIZE_MAX ? executor.len : NAME_SIZE_MAX));
    Command command = {
        .kind = kinds[notice->kind], .actor = buf_peek(&actor), .step = notice->id.step, .attempt = notice->id.attempt,
        .holder = notice->id.holder, .number = notice->number, .name = notice->name, .sort = notice->sort,
        .value = notice->value, .report = notice->report, .is_committed = notice->is_committed, .is_withdrawn = notice->is_withdrawn,
    };
    Mail *mail = mail_of_command(&command, notice->tenant);
    mail->run_no = notice->id.run_no;
    mail->serial = notice->id.serial;
    mail->teller = notice->teller;
    mail->receipt = notice->receipt;
    mail->is_notice = true;
    return mail;
}

Mail *mail_of_engine(uint64_t run_no, const Command *command)
{
    Mail *mail = mail_of_command(command, (Str){ 0 });
    mail->run_no = run_no;
    return mail;
}

void mail_hold(Mail *mail, size_t *held)
{
    if (mail->held) return;
    mail->held = held;
    *held += mail->size;
}

void mail_free(Mail *mail)
{
    if (mail->held) *mail->held -= mail->size;
    if (mail->entry) plan_let_go(mail->entry);
    free(mail);
}

/* --- open ------------------------------------------------------------------------------------------------------------ */

static Status refuse_unfit(Error *err)
{
    return error_set(err, ERR_LIMIT, "a value exceeds PAYLOAD_SIZE_MAX (%u bytes as JSON) or nests deeper than JSON_DEPTH_MAX (%u)", PAYLOAD_SIZE_MAX,
                     JSON_DEPTH_MAX);
}

static Status open_value(Str text, Arena *arena, Value *out, Error *err)
{
    *out = value_null();
    return text.len ? json_parse(arena, text, out, err) : OK;
}

Status mail_open(const Mail *mail, Arena *arena, Command *out_command, Error *err)
{
    *out_command = mail->command;
    if (mail->is_unfit && mail->is_notice && mail->command.kind == COMMAND_REPORT) {
        Str text = arena_format(arena, "what it gave exceeds PAYLOAD_SIZE_MAX (%u bytes as JSON) or nests deeper than JSON_DEPTH_MAX (%u)",
                                PAYLOAD_SIZE_MAX, JSON_DEPTH_MAX);
        out_command->report = (Report){ .cause = CAUSE_OUTPUT_INVALID, .output = value_null(), .message = text };
        return OK;
    }
    if (mail->is_unfit) return refuse_unfit(err);
    Status status = open_value(mail->value, arena, &out_command->value, err);
    return status ? status : open_value(mail->output, arena, &out_command->report.output, err);
}

Status mail_open_start(const Mail *mail, Arena *arena, StartRequest *out_request, Error *err)
{
    *out_request = mail->start;
    if (mail->is_unfit) return refuse_unfit(err);
    Status status = open_value(mail->params, arena, &out_request->params, err);
    return status ? status : open_value(mail->payload, arena, &out_request->payload, err);
}

/* --- lists ----------------------------------------------------------------------------------------------------------- */

void mail_list_add(MailList *list, Mail *mail)
{
    mail->next = NULL;
    if (list->last) list->last->next = mail;
    else list->first = mail;
    list->last = mail;
    list->count++;
}

void mail_list_put_back(MailList *list, Mail *mail)
{
    mail->next = list->first;
    list->first = mail;
    if (!list->last) list->last = mail;
    list->count++;
}

Mail *mail_list_take(MailList *list)
{
    Mail *mail = list->first;
    if (!mail) return NULL;
    list->first = mail->next;
    if (!list->first) list->last = NULL;
    list->count--;
    mail->next = NULL;
    return mail;
}
