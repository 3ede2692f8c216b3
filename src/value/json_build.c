#include <assert.h>
#include <stdlib.h>

#include "base/check.h"
#include "value/json.h"
#include "value/number.h"

void json_builder_init(JsonBuilder *builder, Arena *arena)
{
    *builder = (JsonBuilder){ .arena = arena };
    arena_init(&builder->scratch, SIZE_MAX);
}

void json_builder_deinit(JsonBuilder *builder)
{
    free(builder->stack);
    free(builder->marks);
    arena_deinit(&builder->scratch);
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

/* A container is made when it closes: its items are known then, and take exactly the space they need. An object is
 * sorted where it stands on the stack, since a member is the two values that were pushed for it. */
static Value close_array(JsonBuilder *builder, const Value *items, size_t count)
{
    return value_array(arena_copy_items(builder->arena, items, count * sizeof *items), (uint32_t)count);
}

static int order_keys(const void *one, const void *other)
{
    return str_compare(value_text(((const Member *)one)->key), value_text(((const Member *)other)->key));
}

/* A name that is there twice. */
static Str find_twice(Member *members, size_t count)
{
    qsort(members, count, sizeof *members, order_keys);
    while (order_keys(members, members + 1) != 0) members++;
    return value_text(members->key);
}

static Value close_object(JsonBuilder *builder, Value *pairs, size_t count)
{
    Member *written = builder->is_strict ? arena_copy_items(&builder->scratch, pairs, count * sizeof *written) : NULL;
    Value object = value_object(&builder->scratch, (Member *)(void *)pairs, (uint32_t)count);
    if (written && object.count < count) builder->twice = find_twice(written, count);
    arena_reset(&builder->scratch);
    object.members = arena_copy_items(builder->arena, object.members, object.count * sizeof *object.members);
    return object;
}

static_assert(sizeof(Member) == 2 * sizeof(Value), "a member is its key and its value side by side");

static Value close_container(JsonBuilder *builder, bool is_object)
{
    size_t mark = builder->marks[--builder->mark_count];
    size_t count = builder->count - mark;
    Value *items = count ? builder->stack + mark : NULL;
    builder->count = mark;
    return is_object ? close_object(builder, items, count / 2) : close_array(builder, items, count);
}

/* The most that the arena has to hold after the token, beside what it has: what waits on the stack moves there when its containers close, so that
 * a text of many small values is refused as soon as they cannot all fit. */
static size_t size_ahead(const JsonBuilder *builder, const JsonEvent *event)
{
    return builder->count * sizeof(Value) + event->text.len + 1;
}

static Status build(void *context, const JsonEvent *event, Error *err)
{
    JsonBuilder *builder = context;
    if (!arena_fits(builder->arena, size_ahead(builder, event)))
        return error_at(err, ERR_LIMIT, event->line, event->column, "the values read so far exceed %zu bytes of memory",
                        builder->arena->size_max);
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
    case JSON_OBJECT_END:
        value = close_container(builder, event->token == JSON_OBJECT_END);
        if (builder->twice.ptr)
            return error_at(err, ERR_INVALID, event->line, event->column, "the object that ends here has '%.*s' twice", STR_ARG(builder->twice));
        break;
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

static Status parse(Arena *arena, Str text, bool is_strict, Value *out_value, Error *err)
{
    JsonBuilder builder;
    JsonReader reader;
    json_builder_init(&builder, arena);
    builder.is_strict = is_strict;
    json_reader_init(&reader, json_builder_sink(&builder), NULL);
    Status status = json_reader_feed(&reader, text, err);
    if (!status) status = json_reader_end(&reader, err);
    if (!status) *out_value = json_builder_take(&builder);
    json_reader_deinit(&reader);
    json_builder_deinit(&builder);
    return status;
}

Status json_parse(Arena *arena, Str text, Value *out_value, Error *err) { return parse(arena, text, /* is_strict= */ false, out_value, err); }

Status json_parse_strict(Arena *arena, Str text, Value *out_value, Error *err)
{
    return parse(arena, text, /* is_strict= */ true, out_value, err);
}
