/* secret.c - ${secrets.NAME} in the input of an attempt: filled in when it is handed over, and nowhere else. */
#include "core/path.h"
#include "engine/internal.h"

static Status fill_text(Engine *engine, Str tenant, Arena *arena, Value *value, Error *err)
{
    Str text = value_text(*value);
    PathScan scan = { .text = text };
    Path path;
    Buf out;
    size_t copied = 0;
    bool any = false;
    buf_init(&out, SIZE_MAX);
    Status status = OK;
    for (PathStep step; !status && (step = path_next(&scan, &path)) != PATH_END;) {
        if (step != PATH_FOUND || path.part_count != 2 || !str_is(path.parts[0], STR("secrets"))) continue;
        Str secret;
        if (!engine->options.secret || !engine->options.secret(engine->options.context, tenant, path.parts[1], &secret)) {
            status = error_set(err, ERR_NOT_FOUND, "there is no secret '%.*s' of tenant '%.*s'", STR_ARG(path.parts[1]),
                               STR_ARG(tenant));
            break;
        }
        buf_str(&out, str_slice(text, copied, path.begin));
        buf_str(&out, secret);
        copied = path.end;
        any = true;
    }
    if (!status && any) {
        buf_str(&out, str_slice(text, copied, text.len));
        *value = value_string(arena_copy(arena, buf_peek(&out)));
    }
    buf_deinit(&out);
    return status;
}

Status secret_fill(Engine *engine, Str tenant, Arena *arena, Value *value, Error *err)
{
    Status status = OK;
    if (value->kind == VALUE_STRING) return fill_text(engine, tenant, arena, value, err);
    if (value->kind == VALUE_ARRAY && value->count) {
        Value *items = ARENA_ARRAY(arena, Value, value->count);
        for (uint32_t i = 0; i < value->count && !status; i++) {
            items[i] = value->items[i];
            status = secret_fill(engine, tenant, arena, &items[i], err);
        }
        *value = value_array(items, value->count);
    }
    if (value->kind == VALUE_OBJECT && value->count) {
        Member *members = ARENA_ARRAY(arena, Member, value->count);
        for (uint32_t i = 0; i < value->count && !status; i++) {
            members[i] = value->members[i];
            status = secret_fill(engine, tenant, arena, &members[i].value, err);
        }
        *value = value_object(arena, members, value->count);
    }
    return status;
}
