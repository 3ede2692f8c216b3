/* The normal form of what shape_check() has accepted. */
#include <string.h>

#include "base/check.h"
#include "lang/shape.h"
#include "value/json.h"
#include "value/number.h"

/* A default of a table. Most are plain words and numbers, and are needed for every step of a plan: no parser for these. */
static Value constant(Arena *arena, const char *json)
{
    size_t size = strlen(json);
    uint64_t number;
    if (json[0] == '"' && !memchr(json, '\\', size)) return value_string((Str){ json + 1, size - 2 });
    if (str_to_u64(str_of(json), &number)) return value_int((int64_t)number);
    if (json[0] == 't' || json[0] == 'f') return value_bool(json[0] == 't');
    Value value;
    Error err;
    Status status = json_parse(arena, str_of(json), &value, &err);
    CHECK(status == OK);
    return value;
}

static Value duration_value(const Node *node, const Type *type)
{
    int64_t ms = 0;
    uint64_t seconds = 0;
    if (node->kind == NODE_TEXT) {
        bool is_read = duration_read(node_text(node), &ms);
        CHECK(is_read);
        return value_int(ms);
    }
    bool is_read = str_to_u64(node_text(node), &seconds);
    CHECK(is_read);
    return value_int((int64_t)seconds * (type->seconds ? 1000 : 1));
}

static Value rate_value(Arena *arena, const Node *node)
{
    int64_t count, per_ms;
    bool is_read = rate_read(node_text(node), &count, &per_ms);
    CHECK(is_read);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("count"), value_int(count));
    member_list_add(&members, STR("per_ms"), value_int(per_ms));
    return member_list_object(&members);
}

static Value list_value(Arena *arena, const Node *node, const Type *type)
{
    if (node->kind != NODE_LIST) {
        Value *item = ARENA_NEW(arena, Value);
        *item = shape_value(arena, node, type->item);
        return value_array(item, 1);
    }
    Value *items = ARENA_ARRAY(arena, Value, node->count);
    for (uint32_t i = 0; i < node->count; i++) items[i] = shape_value(arena, &node->items[i], type->item);
    return value_array(items, node->count);
}

static Value map_value(Arena *arena, const Node *node, const Type *type)
{
    Member *members = ARENA_ARRAY(arena, Member, node->count);
    for (uint32_t i = 0; i < node->count; i++)
        members[i] =
            (Member){ value_string(node_text(node_key(node, i))), shape_value(arena, node_value(node, i), type->item) };
    return value_object(arena, members, node->count);
}

/* The name a field has in the normal form: its unit becomes part of it. */
static Str field_key(Arena *arena, const Field *field)
{
    const char *name = field->as ? field->as : field->name;
    const char *unit = field->type->kind == TYPE_DURATION ? "_ms" : field->type->kind == TYPE_MONEY ? "_micro" : "";
    if (!*unit || str_ends(str_of(name), str_of(unit))) return str_of(name);
    return arena_format(arena, "%s%s", name, unit);
}

static const Field *field_of(const Shape *shape, const char *name)
{
    const Field *field = shape->fields;
    while (field->name && strcmp(field->name, name) != 0) field++;
    CHECK(field->name != NULL);
    return field;
}

void shape_add(Arena *arena, MemberList *members, const Shape *shape, const Node *map, const char *name)
{
    const Field *field = field_of(shape, name);
    const Node *value = node_get(map, name);
    if (value) member_list_add(members, field_key(arena, field), shape_value(arena, value, field->type));
    else if (field->otherwise) member_list_add(members, field_key(arena, field), constant(arena, field->otherwise));
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* Whether a default stands in: the field and everything that says the same are absent. */
static bool is_absent(const Shape *shape, const Node *map, const Field *field)
{
    const char *target = field->as ? field->as : field->name;
    for (const Field *other = shape->fields; other->name; other++)
        if (strcmp(other->as ? other->as : other->name, target) == 0 && node_get(map, other->name)) return false;
    return true;
}

void shape_add_all(Arena *arena, MemberList *members, const Shape *shape, const Node *map, const char *const *without)
{
    for (const Field *field = shape->fields; field->name; field++) {
        if (is_listed(without, field->as ? field->as : field->name)) continue;
        const Node *value = node_get(map, field->name);
        if (value) member_list_add(members, field_key(arena, field), shape_value(arena, value, field->type));
        else if (field->otherwise && is_absent(shape, map, field))
            member_list_add(members, field_key(arena, field), constant(arena, field->otherwise));
    }
}

static Value object_value(Arena *arena, const Node *node, const Shape *shape)
{
    MemberList members = { .arena = arena };
    shape_add_all(arena, &members, shape, node, NULL);
    return member_list_object(&members);
}

/* A shorthand (a text where a mapping may stand) is spelled out as the mapping with that one key. */
static Value either_value(Arena *arena, const Node *node, const Type *type)
{
    const Type *chosen = NULL;
    const Shape *long_form = NULL;
    for (const Type *const *one = type->either; *one; one++) {
        bool is_list = (*one)->kind == TYPE_LIST;
        bool fits = ((*one)->kind == TYPE_OBJECT || (*one)->kind == TYPE_MAP) == (node->kind == NODE_MAP);
        fits = fits && (node->kind == NODE_LIST ? is_list : !is_list || (*one)->lone);
        if (fits && !chosen) chosen = *one;
        if ((*one)->kind == TYPE_OBJECT && (*one)->shape->lone) long_form = (*one)->shape;
    }
    CHECK(chosen != NULL);
    if (node->kind == NODE_MAP || !long_form) return shape_value(arena, node, chosen);
    Node key = { .kind = NODE_TEXT, .text = long_form->lone, .count = (uint32_t)strlen(long_form->lone) };
    Node pair[2] = { key, *node };
    Node map = { .kind = NODE_MAP, .count = 1, .items = pair };
    return object_value(arena, &map, long_form);
}

Value shape_value(Arena *arena, const Node *node, const Type *type)
{
    switch (type->kind) {
    case TYPE_TEXT:
    case TYPE_NAME:
    case TYPE_TEMPLATE:
        return value_string(node_text(node));
    case TYPE_CRON:
    case TYPE_CONDITION:
        return value_string(str_trim(node_text(node)));
    case TYPE_BOOL:
    case TYPE_ANY:
    case TYPE_SCHEMA:
        return node_to_value(arena, node);
    case TYPE_NUMBER:
        return number_make(arena, node_text(node));
    case TYPE_INT: {
        int64_t integer = 0;
        bool is_read = number_to_int64(number_make(arena, node_text(node)), &integer);
        CHECK(is_read);
        return value_int(integer);
    }
    case TYPE_MONEY: {
        int64_t micro = 0;
        bool is_read = money_read(number_make(arena, node_text(node)), &micro);
        CHECK(is_read);
        return value_int(micro);
    }
    case TYPE_DURATION:
        return duration_value(node, type);
    case TYPE_RATE:
        return rate_value(arena, node);
    case TYPE_ENUM:
        return value_string(str_of(enum_find(type, node_text(node))->name));
    case TYPE_LIST:
        return list_value(arena, node, type);
    case TYPE_MAP:
        return map_value(arena, node, type);
    case TYPE_OBJECT:
        return object_value(arena, node, type->shape);
    case TYPE_EITHER:
        return either_value(arena, node, type);
    }
    CHECK(!"a kind of type");
    return value_null();
}
