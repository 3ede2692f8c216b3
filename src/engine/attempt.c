#include "engine/attempt.h"

#include "value/json.h"

bool attempt_id_is(const AttemptId *a, const AttemptId *b)
{
    return a->run_no == b->run_no && a->step == b->step && a->attempt == b->attempt && a->holder == b->holder
        && a->serial == b->serial;
}

Attempt attempt_copy(Arena *arena, const Attempt *attempt)
{
    Attempt copy = *attempt;
    Str *texts[] = { &copy.run_id, &copy.tenant, &copy.definition, &copy.step_id, &copy.runner, &copy.key,
                     &copy.traceparent, &copy.tracestate, &copy.directory, &copy.server, &copy.credential };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = arena_copy(arena, *texts[i]);
    Value *values[] = { &copy.settings, &copy.step, &copy.resources, &copy.input, &copy.params, &copy.context,
                        &copy.args };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) *values[i] = value_copy(arena, *values[i]);
    return copy;
}

size_t attempt_size(const Attempt *attempt)
{
    return value_copy_size(attempt->input) + value_copy_size(attempt->params) + value_copy_size(attempt->context) + value_copy_size(attempt->args);
}

int64_t attempt_left_ms(const Attempt *attempt, int64_t otherwise)
{
    if (attempt->deadline_ms == 0) return otherwise;
    return attempt->deadline_ms > attempt->now_ms ? attempt->deadline_ms - attempt->now_ms : 0;
}

static void text_member(Buf *buf, const char *name, Str text)
{
    buf_format(buf, ",\"%s\":", name);
    if (text.len) json_print_string(buf, text);
    else buf_text(buf, "null");
}

Status attempt_document(Buf *buf, const Attempt *attempt, Error *err)
{
    const struct { const char *name; Value value; } values[] = {
        { "input", attempt->input }, { "params", attempt->params }, { "context", attempt->context },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        buf_format(buf, "%s\"%s\":", i ? "," : "{", values[i].name);
        Status status = json_print(buf, values[i].value, JSON_COMPACT, err);
        if (status) return status;
    }
    buf_format(buf, ",\"attempt\":%u", (unsigned)attempt_number(attempt->id.attempt));
    buf_text(buf, ",\"deadline\":");
    if (attempt->deadline_ms) buf_i64(buf, attempt->deadline_ms);
    else buf_text(buf, "null");
    text_member(buf, "idempotencyKey", attempt->key);
    text_member(buf, "traceparent", attempt->traceparent);
    if (attempt->tracestate.len) text_member(buf, "tracestate", attempt->tracestate);
    text_member(buf, "run", attempt->run_id);
    text_member(buf, "step", attempt->step_id);
    if (attempt->credential.len) {
        text_member(buf, "server", attempt->server);
        text_member(buf, "credential", attempt->credential);
    }
    buf_char(buf, '}');
    if (buf_overflowed(buf)) return error_set(err, ERR_LIMIT, "its document exceeds %zu bytes", buf->size_max);
    return OK;
}
