#include "rego/types.h"

#include <string.h>

#include "value/json.h"
#include "value/number.h"

const Type type_anything = { TYPE_ANY }, type_boolean = { TYPE_BOOLEAN };
static const Type type_null = { TYPE_NULL }, type_number = { TYPE_NUMBER }, type_string = { TYPE_STRING };

/* Longer constants are not looked into: a table of ten thousand rows is an array of anything. */
#define STATIC_COUNT_MAX 64u
#define TYPE_WEIGHT_MAX 512u

/* --- making ------------------------------------------------------------------------------------------------------ */

static const Type *type_new(Arena *arena, Type type)
{
    uint64_t weight = 1 + (type.rest ? type.rest->weight : 0);
    for (uint32_t i = 0; i < type.count; i++) weight += 1 + type.items[i]->weight;
    if (weight > TYPE_WEIGHT_MAX) {
        if (type.kind == TYPE_CHOICE) return &type_anything;
        type = (Type){ .kind = type.kind, .rest = &type_anything };
        weight = 1;
    }
    type.weight = (uint32_t)weight;
    return arena_copy_items(arena, &type, sizeof type);
}

const Type *type_array(Arena *arena, const Type **items, uint32_t count)
{
    return type_new(arena, (Type){ .kind = TYPE_ARRAY, .count = count, .items = items });
}

const Type *type_set(Arena *arena, const Type *rest)
{
    return type_new(arena, (Type){ .kind = TYPE_SET, .rest = rest });
}

const Type *type_choice(Arena *arena, const Type *a, const Type *b)
{
    if (!a || a == b) return b;
    if (!b) return a;
    if (a->kind == TYPE_ANY || b->kind == TYPE_ANY) return &type_anything;
    if (a->kind == b->kind && a->kind >= TYPE_NULL && a->kind <= TYPE_STRING) return a;
    uint32_t count = a->kind == TYPE_CHOICE ? a->count : 1;
    if (b->kind == TYPE_CHOICE || count >= STATIC_COUNT_MAX) return &type_anything;
    const Type **items = ARENA_ARRAY(arena, const Type *, count + 1u);
    for (uint32_t i = 0; i < count; i++) items[i] = a->kind == TYPE_CHOICE ? a->items[i] : a;
    items[count] = b;
    return type_new(arena, (Type){ .kind = TYPE_CHOICE, .count = count + 1, .items = items });
}

const Type *type_of_value(Arena *arena, Value value)
{
    bool is_long = value.count > STATIC_COUNT_MAX;
    switch ((ValueKind)value.kind) {
    case VALUE_NULL: return &type_null;
    case VALUE_BOOL: return &type_boolean;
    case VALUE_INT:
    case VALUE_DECIMAL: return &type_number;
    case VALUE_STRING: return &type_string;
    case VALUE_SET: {
        const Type *rest = value.count && !is_long ? NULL : &type_anything;
        for (uint32_t i = 0; i < value.count && !is_long; i++) rest = type_choice(arena, rest, type_of_value(arena, value.items[i]));
        return type_set(arena, rest);
    }
    case VALUE_ARRAY: {
        if (is_long) return type_new(arena, (Type){ .kind = TYPE_ARRAY, .rest = &type_anything });
        const Type **items = ARENA_ARRAY(arena, const Type *, value.count + 1u);
        for (uint32_t i = 0; i < value.count; i++) items[i] = type_of_value(arena, value.items[i]);
        return type_array(arena, items, value.count);
    }
    case VALUE_OBJECT: {
        if (is_long) return type_new(arena, (Type){ .kind = TYPE_OBJECT, .rest = &type_anything });
        const Type **items = ARENA_ARRAY(arena, const Type *, value.count + 1u);
        Value *keys = ARENA_ARRAY(arena, Value, value.count + 1u);
        for (uint32_t i = 0; i < value.count; i++) {
            keys[i] = value.members[i].key;
            items[i] = type_of_value(arena, value.members[i].value);
        }
        return type_new(arena, (Type){ .kind = TYPE_OBJECT, .count = value.count, .keys = keys, .items = items });
    }
    }
    return &type_anything;
}

/* --- reading declarations ---------------------------------------------------------------------------------------- */

static bool word_take(const char **at, const char *word)
{
    size_t size = strlen(word);
    while (**at == ' ') (*at)++;
    if (strncmp(*at, word, size)) return false;
    *at += size;
    return true;
}

static const Type *read_type(Arena *arena, const char **at);

static uint32_t read_list(Arena *arena, const char **at, const Type **items, Value *keys)
{
    uint32_t count = 0;
    while (count < STATIC_COUNT_MAX && !word_take(at, ">")) {
        if (keys) {
            const char *from = *at;
            while (**at && **at != ':') (*at)++;
            while (*from == ' ') from++;
            keys[count] = value_string((Str){ from, (size_t)(*at - from) });
            word_take(at, ":");
        }
        items[count++] = read_type(arena, at);
        word_take(at, ",");
    }
    return count;
}

static const Type *read_container(Arena *arena, const char **at, TypeKind kind)
{
    Type type = { .kind = kind };
    if (word_take(at, "<")) {
        const Type **items = ARENA_ARRAY(arena, const Type *, STATIC_COUNT_MAX);
        Value *keys = kind == TYPE_OBJECT ? ARENA_ARRAY(arena, Value, STATIC_COUNT_MAX) : NULL;
        type.count = read_list(arena, at, items, keys);
        type.items = items;
        type.keys = keys;
    }
    if (word_take(at, "[")) {
        type.rest = read_type(arena, at);
        if (word_take(at, ":")) type.rest = read_type(arena, at);
        word_take(at, "]");
    }
    return type_new(arena, type);
}

static const Type *read_type(Arena *arena, const char **at)
{
    static const struct { const char *word; const Type *type; } scalars[] = {
        { "null", &type_null }, { "boolean", &type_boolean }, { "number", &type_number }, { "string", &type_string },
    };
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        if (word_take(at, scalars[i].word)) return scalars[i].type;
    if (word_take(at, "array")) return read_container(arena, at, TYPE_ARRAY);
    if (word_take(at, "object")) return read_container(arena, at, TYPE_OBJECT);
    if (word_take(at, "set")) return read_container(arena, at, TYPE_SET);
    if (word_take(at, "any<")) {
        const Type **items = ARENA_ARRAY(arena, const Type *, STATIC_COUNT_MAX);
        uint32_t count = read_list(arena, at, items, NULL);
        return type_new(arena, (Type){ .kind = TYPE_CHOICE, .count = count, .items = items });
    }
    if (!word_take(at, "any") && **at) (*at)++;
    return &type_anything;
}

void type_of_signature(Arena *arena, const char *signature, const Type **out_args, uint32_t arg_count, const Type **out_result)
{
    const char *at = signature;
    word_take(&at, "(");
    for (uint32_t i = 0; i < arg_count; i++) {
        out_args[i] = read_type(arena, &at);
        word_take(&at, ",");
    }
    *out_result = &type_anything;
    if (word_take(&at, ")") && word_take(&at, "->")) *out_result = read_type(arena, &at);
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

static const Type *object_member(const Type *object, Value key)
{
    for (uint32_t i = 0; i < object->count; i++)
        if (value_equals(object->keys[i], key)) return object->items[i];
    return object->rest;
}

static bool objects_overlap(const Type *a, const Type *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const Type *other = object_member(b, a->keys[i]);
        if (!other && a->rest) continue;        /* members of an open object need not be there */
        if (!other || !type_overlaps(a->items[i], other)) return false;
    }
    return true;
}

static bool arrays_overlap(const Type *a, const Type *b)
{
    uint32_t count = a->count > b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++) {
        const Type *x = i < a->count ? a->items[i] : a->rest, *y = i < b->count ? b->items[i] : b->rest;
        if (!x || !y || !type_overlaps(x, y)) return false;
    }
    return true;
}

bool type_overlaps(const Type *a, const Type *b)
{
    if (a->kind == TYPE_ANY || b->kind == TYPE_ANY) return true;
    if (a->kind == TYPE_CHOICE || b->kind == TYPE_CHOICE) {
        const Type *choice = a->kind == TYPE_CHOICE ? a : b, *other = choice == a ? b : a;
        for (uint32_t i = 0; i < choice->count; i++)
            if (type_overlaps(choice->items[i], other)) return true;
        return false;
    }
    if (a->kind != b->kind) return false;
    if (a->kind == TYPE_OBJECT) return objects_overlap(a, b) && objects_overlap(b, a);
    if (a->kind == TYPE_ARRAY) return arrays_overlap(a, b);
    if (a->kind == TYPE_SET && a->rest && b->rest) return type_overlaps(a->rest, b->rest);
    return true;
}

const Type *type_step(Arena *arena, const Type *type, const Value *key)
{
    switch (type->kind) {
    case TYPE_ANY:
    case TYPE_CHOICE: return &type_anything;
    case TYPE_NULL:
    case TYPE_BOOLEAN:
    case TYPE_NUMBER:
    case TYPE_STRING: return NULL;
    case TYPE_OBJECT: return key ? object_member(type, *key) : &type_anything;
    case TYPE_SET: {
        if (!key || !type->rest) return type->rest ? type->rest : &type_anything;
        const Type *wanted = type_of_value(arena, *key);
        return type_overlaps(wanted, type->rest) ? wanted : NULL;
    }
    case TYPE_ARRAY: {
        int64_t index;
        if (!key) return type->rest ? type->rest : &type_anything;
        if (!value_is_number(*key) || !number_to_int64(*key, &index) || index < 0) return NULL;
        return index < type->count ? type->items[index] : type->rest;
    }
    }
    return &type_anything;
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print_items(Buf *buf, const Type *type)
{
    buf_char(buf, '<');
    for (uint32_t i = 0; i < type->count; i++) {
        Error err;
        if (i) buf_text(buf, ", ");
        if (type->keys) {
            if (type->keys[i].kind == VALUE_STRING) buf_str(buf, value_text(type->keys[i]));
            else if (json_print(buf, type->keys[i], JSON_COMPACT, &err)) buf_char(buf, '?');
            buf_text(buf, ": ");
        }
        type_print(buf, type->items[i]);
    }
    buf_char(buf, '>');
}

void type_print(Buf *buf, const Type *type)
{
    static const char *const names[] = { "any", "null", "boolean", "number", "string", "array", "object", "set", "any" };
    buf_text(buf, names[type->kind]);
    if (type->count) print_items(buf, type);
    if (!type->rest) return;
    buf_text(buf, type->kind == TYPE_OBJECT ? "[any: " : "[");
    type_print(buf, type->rest);
    buf_char(buf, ']');
}
