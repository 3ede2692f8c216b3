#include "exec/worker/exchange.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "engine/message.h"
#include "engine/token.h"
#include "value/json_pointer.h"

const Value *exchange_list(Value request, const char *key)
{
    const Value *list = value_get_text(request, key);
    return list && list->kind == VALUE_ARRAY ? list : NULL;
}

uint32_t exchange_item_count(Value request, const char *key)
{
    const Value *list = exchange_list(request, key);
    return list ? list->count : 0;
}

Str exchange_token(Value item) { return value_get_string(item, "token", STR("")); }

bool exchange_list_has(Value list, Str text)
{
    for (uint32_t i = 0; i < list.count; i++)
        if (list.items[i].kind == VALUE_STRING && str_is(value_text(list.items[i]), text)) return true;
    return false;
}

#define MEMBER_SIZE_MAX 100u            /* so much is told of the name of a member that nobody knows */

/* --- checks ------------------------------------------------------------------------------------------------------------- */

/* {"token", "output"} or {"token", "failure": {"cause", "message", "details"}}. */
static Status check_report(Value item, Error *err)
{
    Token token;
    if (!token_read(exchange_token(item), &token)) return error_set(err, ERR_INVALID, "a report without the `token` of a lease");
    return message_report_check(item, "token", err);
}

static Status check_message(Value item, Error *err)
{
    Token token;
    Notice notice;
    const Value *message = value_get_text(item, "message");
    if (!message || item.count != 2 || !token_read(exchange_token(item), &token))
        return error_set(err, ERR_INVALID, "a message has `token` and `message`, and nothing else");
    return message_of(*message, &notice, err);
}

static Status check_log(Value item, Error *err)
{
    Token token;
    const Value *text = value_get_text(item, "text"), *is_error = value_get_text(item, "is_error");
    if (!token_read(exchange_token(item), &token) || !text || text->kind != VALUE_STRING || item.count != 2u + (is_error != NULL))
        return error_set(err, ERR_INVALID, "a log line has `token`, `text` and perhaps `is_error`, and nothing else");
    return !is_error || is_error->kind == VALUE_BOOL ? OK : error_set(err, ERR_INVALID, "`is_error` of a log line is true or false");
}

static Status check_heartbeat(Value item, Error *err)
{
    Token token;
    bool is_token = item.kind == VALUE_STRING && token_read(value_text(item), &token);
    return is_token ? OK : error_set(err, ERR_INVALID, "a heartbeat is the `token` of a lease");
}

static Status check_queue(Value item, Error *err)
{
    return item.kind == VALUE_STRING ? OK : error_set(err, ERR_INVALID, "a queue is named by a text");
}

static const struct { const char *name; Status (*check)(Value item, Error *err); } lists[] = {
    { "queues", check_queue }, { "reports", check_report }, { "messages", check_message }, { "logs", check_log }, { "heartbeats", check_heartbeat },
};
static Status check_name(Value name, Error *err)
{
    if (name.kind != VALUE_STRING) return error_set(err, ERR_INVALID, "`worker` is a text");
    return value_text(name).len <= WORKER_OWN_NAME_SIZE_MAX
         ? OK : error_set(err, ERR_INVALID, "the name of a worker has at most %u bytes", WORKER_OWN_NAME_SIZE_MAX);
}

static Status check_count(Value count, Error *err)
{
    return count.kind == VALUE_INT && count.integer >= 0 ? OK : error_set(err, ERR_INVALID, "this is a whole number from 0 on");
}

static const struct { const char *name; Status (*check)(Value value, Error *err); } plain[] = {
    { "worker", check_name }, { "want", check_count }, { "wait_ms", check_count },
};

/* What is wrong, with its place in front; where it has a place of its own inside of that one, both are one. */
static Status placed(const char *name, const uint32_t *index, Error *err)
{
    Error what = *err;
    const char *between = *what.text == '/' ? "" : ": ";
    if (index) return error_set(err, what.status, "/%s/%u%s%s", name, *index, between, what.text);
    return error_set(err, what.status, "/%s%s%s", name, between, what.text);
}

static Status check_list(const char *name, Value list, Status (*check)(Value item, Error *err), Error *err)
{
    if (list.kind == VALUE_NULL) return OK;
    if (list.kind != VALUE_ARRAY) return error_set(err, ERR_INVALID, "/%s: `%s` is not a list", name, name);
    if (list.count > WORKER_ITEM_COUNT_MAX) return error_set(err, ERR_LIMIT, "/%s: `%s` has more than %u items", name, name, WORKER_ITEM_COUNT_MAX);
    for (uint32_t i = 0; i < list.count; i++)
        if (check(list.items[i], err)) return placed(name, &i, err);
    return OK;
}

/* A member that is not known is most likely one that is: a heartbeat under another name would cost its attempt. */
static Status check_member(Str name, Value value, Error *err)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (str_is_text(name, lists[i].name)) return check_list(lists[i].name, value, lists[i].check, err);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (str_is_text(name, plain[i].name)) return plain[i].check(value, err) ? placed(plain[i].name, NULL, err) : OK;
    char storage[2 * MEMBER_SIZE_MAX + 1];              /* each byte may be escaped by two */
    Buf pointer = buf_on(storage, sizeof storage);
    json_pointer_add(&pointer, str_slice(name, 0, utf8_valid_size(str_slice(name, 0, MEMBER_SIZE_MAX))));
    return error_set(err, ERR_INVALID, "%.*s: an exchange has no such member", STR_ARG(buf_peek(&pointer)));
}

Status exchange_check(Value request, Error *err)
{
    if (request.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "an exchange is a JSON object");
    Status status = OK;
    for (uint32_t i = 0; !status && i < request.count; i++) status = check_member(value_text(request.members[i].key), request.members[i].value, err);
    return status;
}
