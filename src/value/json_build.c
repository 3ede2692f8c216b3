#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "value/json.h"
#include "value/number.h"

void json_builder_init(JsonBuilder *builder, Arena *arena)
{
    *builder = (JsonBuilder){ .arena = arena };
}

void json_builder_deinit(JsonBuilder *builder)
{
    free(builder->stack);
    free(builder->marks);
    *builder = (JsonBuilder){ 0 };
}

static void *stack_grow(void *items, size_t size, size_t count, size_t *capacity)
{
    if (count < *capacity) return items;
    *capacity = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(items, *capacity * size);
    CHECK(grown != NULL);
    return grown;
}

static void push(JsonBuilder *builder, Value value)
{
    builder->stack = stack_grow(builder->stack, sizeof(Value), builder->count, &builder->capacity);
    builder->stack[builder->count++] = value;
}

/* A container is made when it closes: its items are known then, and take exactly the space they need. */
static Value close_array(JsonBuilder *builder, const Value *items, size_t count)
{
    Value *copy = ARENA_ARRAY(builder->arena, Value, count);
    if (count) memcpy(copy, items, count * sizeof *items);
    return value_array(copy, (uint32_t)count);
}

static Value close_object(JsonBuilder *builder, const Value *pairs, size_t count)
{
    Member *members = ARENA_ARRAY(builder->arena, Member, count);
    for (size_t i = 0; i < count; i++) members[i] = (Member){ pairs[2 * i], pairs[2 * i + 1] };
    return value_object(builder->arena, members, (uint32_t)count);
}

static Status build(void *context, const JsonEvent *event, Error *err)
{
    (void)err;
    JsonBuilder *builder = context;
    Value value = value_null();
    switch (event->token) {
    case JSON_NULL:
        break;
    case JSON_FALSE:
    case JSON_TRUE:
        value = value_bool(event->token == JSON_TRUE);
        break;
    case JSON_NUMBER:
        value = number_make(builder->arena, event->text);
        break;
    case JSON_STRING:
    case JSON_KEY:
        value = value_string(arena_copy(builder->arena, event->text));
        break;
    case JSON_ARRAY_BEGIN:
    case JSON_OBJECT_BEGIN:
        builder->marks = stack_grow(builder->marks, sizeof(size_t), builder->mark_count, &builder->mark_capacity);
        builder->marks[builder->mark_count++] = builder->count;
        return OK;
    case JSON_ARRAY_END:
    case JSON_OBJECT_END: {
        size_t mark = builder->marks[--builder->mark_count];
        size_t count = builder->count - mark;
        if (event->token == JSON_ARRAY_END) value = close_array(builder, builder->stack + mark, count);
        else value = close_object(builder, builder->stack + mark, count / 2);
        builder->count = mark;
        break;
    }
    }
    push(builder, value);
    return OK;
}

JsonSink json_builder_sink(JsonBuilder *builder)
{
    return (JsonSink){ build, builder };
}

Value json_builder_take(JsonBuilder *builder)
{
    CHECK(builder->count == 1 && builder->mark_count == 0);
    return builder->stack[--builder->count];
}

Status json_parse(Arena *arena, Str text, Value *out_value, Error *err)
{
    JsonBuilder builder;
    JsonReader reader;
    json_builder_init(&builder, arena);
    json_reader_init(&reader, json_builder_sink(&builder), NULL);
    Status status = json_reader_feed(&reader, text, err);
    if (!status) status = json_reader_end(&reader, err);
    if (!status) *out_value = json_builder_take(&builder);
    json_reader_deinit(&reader);
    json_builder_deinit(&builder);
    return status;
}
