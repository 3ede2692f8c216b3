#include "engine/message.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "lang/shape.h"
#include "value/json.h"
#include "value/json_pointer.h"
#include "value/number.h"

#define MEMBER_NAME_SIZE_MAX 60u        /* so much is told of the name of a member that nobody knows */

typedef Status (*MessageRead)(Value value, Notice *notice, Error *err);

static Status read_effect(Value value, Notice *notice, Error *err);
static Status read_committed(Value value, Notice *notice, Error *err);
static Status read_cost(Value value, Notice *notice, Error *err);
static Status read_signal(Value value, Notice *notice, Error *err);
static Status read_progress(Value value, Notice *notice, Error *err);
static Status read_heartbeat(Value value, Notice *notice, Error *err);

static const struct { const char *name; NoticeKind kind; MessageRead read; } messages[] = {
    { "effect", NOTICE_EFFECT, read_effect },       { "effectCommitted", NOTICE_EFFECT, read_committed },
    { "cost", NOTICE_COST, read_cost },             { "signal", NOTICE_SIGNAL, read_signal },
    { "progress", NOTICE_PROGRESS, read_progress }, { "heartbeat", NOTICE_HEARTBEAT, read_heartbeat },
};

Status message_read(Arena *arena, Str line, Notice *out_notice, Error *err)
{
    Value message;
    Status status = json_parse(arena, line, &message, err);
    return status ? status : message_of(message, out_notice, err);
}

Status message_of(Value message, Notice *out_notice, Error *err)
{
    if (message.kind == VALUE_OBJECT && message.count == 1) {
        for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
            const Value *value = value_get_text(message, messages[i].name);
            if (!value) continue;
            Notice notice = { .kind = messages[i].kind };
            Status status = messages[i].read(*value, &notice, err);
            if (!status) *out_notice = notice;
            return status;
        }
    }
    return error_set(err, ERR_INVALID, "expected an object with exactly one of effect, effectCommitted, cost, signal, "
                     "progress and heartbeat");
}

static Status read_effect(Value value, Notice *notice, Error *err)
{
    notice->value = value;
    return OK;
}

static Status read_committed(Value value, Notice *notice, Error *err)
{
    if (value.kind != VALUE_BOOL) return error_set(err, ERR_INVALID, "effectCommitted: expected true or false");
    notice->is_committed = value_is_true(value);
    notice->is_withdrawn = !notice->is_committed;
    return OK;
}

static Status read_heartbeat(Value value, Notice *notice, Error *err)
{
    return value_is_true(value) ? OK : error_set(err, ERR_INVALID, "heartbeat: expected true");
}

static Status read_cost(Value value, Notice *notice, Error *err)
{
    int64_t micro;
    if (value_is_number(value) && money_read(value, &micro)) {
        notice->number = (uint64_t)micro;
        return OK;
    }
    return error_set(err, ERR_INVALID, "cost: expected a number of at most six decimals that is not negative");
}

static Status read_signal(Value value, Notice *notice, Error *err)
{
    const Value *name = value.kind == VALUE_STRING ? &value : value_get_text(value, "name");
    if (!name || name->kind != VALUE_STRING || name->count == 0 || name->count > NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "signal: expected a name of at most NAME_SIZE_MAX (%u) bytes, or {name, kind, "
                         "value}", NAME_SIZE_MAX);
    notice->name = value_text(*name);
    Str kind = value_get_string(value, "kind", STR("milestone"));
    if (!signal_kind_find(kind, &notice->sort))
        return error_set(err, ERR_INVALID, "signal: the kind '%.*s' is not known", STR_ARG(kind));
    const Value *carried = value_get_text(value, "value");
    if (carried) notice->value = *carried;
    return OK;
}

/* Thousandths; what lies beyond them does not move a bar. */
static Status read_progress(Value value, Notice *notice, Error *err)
{
    const Value *done = value_is_number(value) ? &value : value_get_text(value, "done");
    bool is_good = done && value_is_number(*done) && number_compare(*done, value_int(0)) >= 0
                && number_compare(*done, value_int(1)) <= 0;
    if (!is_good) return error_set(err, ERR_INVALID, "progress: expected a number from 0 to 1, or {done, text}");
    Number number;
    number_parts(*done, &number);
    uint64_t thousandths = 0;
    int32_t place = number.exponent;                        /* of the digit that is looked at */
    for (size_t i = 0; i < number.digits.len && place >= -3; i++) {
        if (number.digits.ptr[i] == '.') continue;
        uint64_t digit = (uint64_t)(number.digits.ptr[i] - '0');
        for (int32_t power = place + 3; power > 0; power--) digit *= 10;
        thousandths += digit;
        place--;
    }
    notice->number = thousandths;
    notice->text = value_get_string(value, "text", STR(""));
    return OK;
}

/* --- the end ---------------------------------------------------------------------------------------------------------- */

static const char *const causes[] = { "transient", "permanent", "input-invalid", "policy", "timeout", "cancelled", "error" };
static const Cause cause_of[] = { CAUSE_TRANSIENT, CAUSE_PERMANENT, CAUSE_INPUT_INVALID, CAUSE_POLICY, CAUSE_TIMEOUT, CAUSE_CANCELLED, CAUSE_ERROR };

static bool cause_read(Str name, Cause *out)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (str_is_text(name, causes[i])) {
            *out = cause_of[i];
            return true;
        }
    return false;
}

/* Why there is no such cause: whoever sent another one learns which there are. */
static Status refuse_cause(Error *err)
{
    char storage[ERROR_TEXT_SIZE];
    Buf known = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) buf_format(&known, "%s`%s`", i ? ", " : "", causes[i]);
    return error_set(err, ERR_INVALID, "/failure/cause: this is one of %.*s", STR_ARG(buf_peek(&known)));
}

Status message_report(Value item, Report *out_report, Error *err)
{
    const Value *failure = value_get_text(item, "failure"), *output = value_get_text(item, "output");
    if (!failure == !output) return error_set(err, ERR_INVALID, "a report has either `output` or `failure`");
    *out_report = (Report){ .output = output ? *output : value_null() };
    if (!failure) return OK;
    if (failure->kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "/failure: this is an object: {\"cause\", \"message\", \"details\"}");
    const Value *details = value_get_text(*failure, "details");
    *out_report = (Report){ .message = value_get_string(*failure, "message", STR("")), .output = details ? *details : value_null() };
    return cause_read(value_get_string(*failure, "cause", STR("error")), &out_report->cause) ? OK : refuse_cause(err);
}

static Status check_text(Value text, const char *place, Error *err)
{
    if (text.kind != VALUE_STRING) return error_set(err, ERR_INVALID, "%s: this is a text", place);
    return value_text(text).len <= TEXT_SIZE_MAX
         ? OK : error_set(err, ERR_LIMIT, "%s: it has more than TEXT_SIZE_MAX (%u) bytes", place, TEXT_SIZE_MAX);
}

/* The first member that is none of these; NULL where there is none. */
static const Member *member_beside(Value object, const char *const *names, size_t count)
{
    for (uint32_t i = 0; i < object.count; i++) {
        size_t j = 0;
        while (j < count && !(names[j] && str_is_text(value_text(object.members[i].key), names[j]))) j++;
        if (j == count) return &object.members[i];
    }
    return NULL;
}

static Status refuse_member(const Member *member, const char *within, const char *what, Error *err)
{
    char storage[2 * MEMBER_NAME_SIZE_MAX + 1];             /* each byte may be escaped by two */
    Buf pointer = buf_on(storage, sizeof storage);
    Str name = value_text(member->key);
    json_pointer_add(&pointer, str_slice(name, 0, utf8_valid_size(str_slice(name, 0, MEMBER_NAME_SIZE_MAX))));
    return error_set(err, ERR_INVALID, "%s%.*s: %s", within, STR_ARG(buf_peek(&pointer)), what);
}

Status message_report_check(Value item, const char *beside, Error *err)
{
    static const char *const of_failure[] = { "cause", "message", "details" };
    const char *const of_report[] = { "output", "failure", beside };
    Report report;
    Status status = message_report(item, &report, err);
    if (status) return status;
    const Member *other = member_beside(item, of_report, 3);
    if (other) return refuse_member(other, "", "a report has `output` or `failure`, and nothing beside it", err);
    const Value *failure = value_get_text(item, "failure");
    if (!failure) return OK;
    other = member_beside(*failure, of_failure, 3);
    if (other) return refuse_member(other, "/failure", "a failure has `cause`, `message` and `details`, and nothing else", err);
    const Value *cause = value_get_text(*failure, "cause"), *message = value_get_text(*failure, "message");
    if (cause && cause->kind != VALUE_STRING) return refuse_cause(err);
    return message ? check_text(*message, "/failure/message", err) : OK;
}
