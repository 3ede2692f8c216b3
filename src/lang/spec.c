#include "lang/spec.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "lang/shapes.h"
#include "value/json.h"

typedef struct Spec {
    Arena *arena;
    MemberList defs;
    const Shape *shapes[128];           /* already among the definitions */
    uint32_t shape_count;
} Spec;

static Value type_schema_of(Spec *spec, const Type *type);

static Value text(const char *string) { return value_string(str_of(string)); }

static MemberList object_begin(Spec *spec) { return (MemberList){ .arena = spec->arena }; }

static void put(MemberList *members, const char *key, Value value) { member_list_add(members, str_of(key), value); }

static Value patterned(Spec *spec, const char *pattern, const char *doc)
{
    MemberList members = object_begin(spec);
    put(&members, "type", text("string"));
    put(&members, "pattern", text(pattern));
    if (doc) put(&members, "description", text(doc));
    return member_list_object(&members);
}

static Value any_of(Spec *spec, const Value *items, uint32_t count)
{
    Value *copy = ARENA_ARRAY(spec->arena, Value, count);
    memcpy(copy, items, count * sizeof *copy);
    MemberList members = object_begin(spec);
    put(&members, "anyOf", value_array(copy, count));
    return member_list_object(&members);
}

/* --- scalars ---------------------------------------------------------------------------------------------------- */

static Value text_schema(Spec *spec, const Type *type)
{
    MemberList members = object_begin(spec);
    put(&members, "type", text("string"));
    if (type->min) put(&members, "pattern", text("[^ \\t]"));
    put(&members, "maxLength", value_int(type->max ? type->max : TEXT_SIZE_MAX));
    return member_list_object(&members);
}

static Value name_schema(Spec *spec, bool dotted)
{
    MemberList members = object_begin(spec);
    put(&members, "type", text("string"));
    put(&members, "pattern", text(dotted ? "^[A-Za-z0-9_][A-Za-z0-9_./@-]*$" : "^[A-Za-z0-9_][A-Za-z0-9_-]*$"));
    put(&members, "maxLength", value_int(NAME_SIZE_MAX));
    return member_list_object(&members);
}

static Value integer_schema(Spec *spec, const Type *type)
{
    MemberList members = object_begin(spec);
    put(&members, "type", text("integer"));
    put(&members, "minimum", value_int(type->min));
    if (type->max) put(&members, "maximum", value_int(type->max));
    return member_list_object(&members);
}

static Value money_schema(Spec *spec)
{
    Value schema;
    Error err;
    Status status = json_parse(
        spec->arena, STR("{\"type\":\"number\",\"minimum\":0,\"exclusiveMaximum\":1e12,\"multipleOf\":0.000001}"),
        &schema, &err);
    CHECK(status == OK);
    return schema;
}

static Value duration_schema(Spec *spec, const Type *type)
{
    Value written = patterned(spec, "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
                              "A duration: 500ms, 30s, 5m, 48h, 7d, 1h30m");
    MemberList members = object_begin(spec);
    for (uint32_t i = 0; i < written.count; i++)
        put(&members, value_text(written.members[i].key).ptr, written.members[i].value);
    put(&members, "minLength", value_int(1));
    written = member_list_object(&members);
    if (!type->seconds && !type->milliseconds) return written;
    MemberList seconds = object_begin(spec);
    put(&seconds, "type", text("integer"));
    put(&seconds, "minimum", value_int(type->min));
    put(&seconds, "maximum", value_int(type->seconds ? DURATION_MS_MAX / 1000 : DURATION_MS_MAX));
    put(&seconds, "description", text(type->seconds ? "Seconds" : "Milliseconds"));
    return any_of(spec, (Value[]){ written, member_list_object(&seconds) }, 2);
}

static Value enum_schema(Spec *spec, const Type *type)
{
    ValueList names = { .arena = spec->arena };
    for (const EnumName *name = type->names; name->name; name++) {
        if (name->also) value_list_add(&names, text(name->also));
        value_list_add(&names, text(name->name));
    }
    MemberList members = object_begin(spec);
    put(&members, "enum", value_list_array(&names));
    return member_list_object(&members);
}

static Value condition_schema(Spec *spec)
{
    MemberList members = object_begin(spec);
    ValueList types = { .arena = spec->arena };
    value_list_add(&types, text("string"));
    value_list_add(&types, text("boolean"));
    put(&members, "type", value_list_array(&types));
    put(&members, "minLength", value_int(1));
    put(&members, "maxLength", value_int(CONDITION_SIZE_MAX));
    put(&members, "description", text("A Rego expression over params, outputs, output, payload, run and poll"));
    return member_list_object(&members);
}

/* --- containers ------------------------------------------------------------------------------------------------- */

static Value list_schema(Spec *spec, const Type *type)
{
    Value item = type_schema_of(spec, type->item);
    MemberList members = object_begin(spec);
    put(&members, "type", text("array"));
    put(&members, "items", item);
    if (type->min) put(&members, "minItems", value_int(type->min));
    Value list = member_list_object(&members);
    return type->lone ? any_of(spec, (Value[]){ item, list }, 2) : list;
}

static Value map_schema(Spec *spec, const Type *type)
{
    MemberList members = object_begin(spec);
    put(&members, "type", text("object"));
    put(&members, "additionalProperties", type_schema_of(spec, type->item));
    put(&members, "propertyNames", name_schema(spec, type->dotted));
    if (type->min) put(&members, "minProperties", value_int(type->min));
    return member_list_object(&members);
}

static Value either_schema(Spec *spec, const Type *type)
{
    Value items[8];
    uint32_t count = 0;
    for (const Type *const *one = type->either; *one; one++) {
        CHECK(count < 8);
        items[count++] = type_schema_of(spec, *one);
    }
    return any_of(spec, items, count);
}

/* A field's own sentence goes beside its schema; in 2020-12 that is allowed beside a $ref as well. */
static Value field_schema(Spec *spec, const Field *field)
{
    Value schema = type_schema_of(spec, field->type);
    MemberList members = object_begin(spec);
    for (uint32_t i = 0; i < schema.count; i++)
        if (!str_is(value_text(schema.members[i].key), STR("description")))
            member_list_add(&members, value_text(schema.members[i].key), schema.members[i].value);
    put(&members, "description", text(field->doc));
    return member_list_object(&members);
}

/* Keys that say the same: one of them satisfies a demand. */
static Value demand(Spec *spec, const Shape *shape, const char *name)
{
    Value items[8];
    uint32_t count = 0;
    for (const Field *field = shape->fields; field->name; field++) {
        if (strcmp(field->as ? field->as : field->name, name) != 0) continue;
        ValueList keys = { .arena = spec->arena };
        MemberList members = object_begin(spec);
        value_list_add(&keys, text(field->name));
        put(&members, "required", value_list_array(&keys));
        CHECK(count < 8);
        items[count++] = member_list_object(&members);
    }
    return count == 1 ? items[0] : any_of(spec, items, count);
}

static Value shape_schema(Spec *spec, const Shape *shape)
{
    MemberList members = object_begin(spec), properties = object_begin(spec);
    ValueList demands = { .arena = spec->arena };
    for (const Field *field = shape->fields; field->name; field++) {
        put(&properties, field->name, field_schema(spec, field));
        if (field->flags & FIELD_REQUIRED) value_list_add(&demands, demand(spec, shape, field->name));
    }
    if (shape->exactly_one) {
        ValueList ways = { .arena = spec->arena };
        for (const char *const *name = shape->exactly_one; *name; name++)
            value_list_add(&ways, demand(spec, shape, *name));
        MemberList one = object_begin(spec);
        put(&one, "oneOf", value_list_array(&ways));
        value_list_add(&demands, member_list_object(&one));
    }
    put(&members, "type", text("object"));
    put(&members, "description", text(shape->doc));
    put(&members, "properties", member_list_object(&properties));
    put(&members, "additionalProperties", value_bool(false));
    if (demands.count) put(&members, "allOf", value_list_array(&demands));
    return member_list_object(&members);
}

/* The name of a shape among the definitions: two tables may call theirs the same, so the number tells them apart. */
static const char *shape_key(Spec *spec, const Shape *shape, uint32_t index)
{
    char *key = arena_alloc(spec->arena, strlen(shape->name) + 16);
    memcpy(key, shape->name, strlen(shape->name));
    for (char *c = key; *c; c++)
        if (*c == ' ') *c = '-';
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(spec->shapes[i]->name, shape->name) == 0) {
            memcpy(key + strlen(key), "-2", 3);
            break;
        }
    return key;
}

/* A shape becomes one definition and is referred to from wherever it is used; shapes may hold themselves. */
static Value object_schema(Spec *spec, const Shape *shape)
{
    uint32_t index = 0;
    while (index < spec->shape_count && spec->shapes[index] != shape) index++;
    if (index == spec->shape_count) {
        CHECK(index < sizeof spec->shapes / sizeof *spec->shapes);
        spec->shapes[spec->shape_count++] = shape;
        put(&spec->defs, shape_key(spec, shape, index), shape_schema(spec, shape));
    }
    MemberList members = object_begin(spec);
    put(&members, "$ref", value_string(arena_format(spec->arena, "#/$defs/%s", shape_key(spec, shape, index))));
    return member_list_object(&members);
}

static Value type_schema_of(Spec *spec, const Type *type)
{
    switch (type->kind) {
    case TYPE_TEXT:
    case TYPE_TEMPLATE:
        return text_schema(spec, type);
    case TYPE_NAME:
        return name_schema(spec, type->dotted);
    case TYPE_BOOL: {
        MemberList members = object_begin(spec);
        if (type->only_true) put(&members, "const", value_bool(true));
        else put(&members, "type", text("boolean"));
        return member_list_object(&members);
    }
    case TYPE_INT:
        return integer_schema(spec, type);
    case TYPE_NUMBER: {
        MemberList members = object_begin(spec);
        put(&members, "type", text("number"));
        if (type->min) put(&members, "exclusiveMinimum", value_int(0));
        return member_list_object(&members);
    }
    case TYPE_MONEY:
        return money_schema(spec);
    case TYPE_DURATION:
        return duration_schema(spec, type);
    case TYPE_RATE:
        return patterned(spec, "^[1-9][0-9]*/(ms|s|m|h|d)$", "A rate: 50/s, 60/m, 1000/h");
    case TYPE_ENUM:
        return enum_schema(spec, type);
    case TYPE_CONDITION:
        return condition_schema(spec);
    case TYPE_CRON:
        return patterned(spec, "^\\s*(@[A-Za-z]+|\\S+(\\s+\\S+){4,5})\\s*$", "A cron expression");
    case TYPE_ANY:
        return value_object(spec->arena, NULL, 0);
    case TYPE_SCHEMA: {
        MemberList members = object_begin(spec);
        ValueList types = { .arena = spec->arena };
        static const char *const kinds[] = { "string", "object", "boolean" };
        for (unsigned i = 0; i < 3; i++) value_list_add(&types, text(kinds[i]));
        put(&members, "type", value_list_array(&types));
        return member_list_object(&members);
    }
    case TYPE_LIST:
        return list_schema(spec, type);
    case TYPE_MAP:
        return map_schema(spec, type);
    case TYPE_OBJECT:
        return object_schema(spec, type->shape);
    case TYPE_EITHER:
        return either_schema(spec, type);
    }
    CHECK(!"a kind of type");
    return value_null();
}

/* --- documents -------------------------------------------------------------------------------------------------- */

static Value document(Spec *spec, const char *title, const Shape *const *shapes)
{
    MemberList members = object_begin(spec);
    spec->defs = object_begin(spec);
    put(&members, "$schema", text("https://json-schema.org/draft/2020-12/schema"));
    put(&members, "title", text(title));
    ValueList ways = { .arena = spec->arena };
    for (; *shapes; shapes++) value_list_add(&ways, object_schema(spec, *shapes));
    if (ways.count == 1) put(&members, "$ref", *value_get_text(ways.items[0], "$ref"));
    else put(&members, "oneOf", value_list_array(&ways));
    put(&members, "$defs", member_list_object(&spec->defs));
    return member_list_object(&members);
}

Value spec_definition(Arena *arena)
{
    static const Shape *const shapes[] = { &shape_workflow, &shape_runbook, NULL };
    return document(&(Spec){ .arena = arena }, "A Maestro definition: a workflow, a step tree or a runbook", shapes);
}

Value spec_config(Arena *arena)
{
    static const Shape *const shapes[] = { &shape_config, NULL };
    return document(&(Spec){ .arena = arena }, "A Maestro configuration: runners.yaml", shapes);
}

Value spec_server(Arena *arena)
{
    static const Shape *const shapes[] = { &shape_server, NULL };
    return document(&(Spec){ .arena = arena }, "How a Maestro server runs: the file of its option --config", shapes);
}
